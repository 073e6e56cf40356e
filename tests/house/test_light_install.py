"""What works with the required libraries alone, and what is said of the others."""

import re
import tomllib
from pathlib import Path

import pytest

from processes import run_program

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]

# A module that is None in sys.modules is not found, as if it were not installed
WITHOUT = """
import sys
for name in ("sklearn", "pyarrow", "cyclopts", "rich", "pandas", "jinja2"):
    sys.modules[name] = None
import numpy as np
import argmetric as am
rng = np.random.default_rng(0)
p = rng.beta(1, 3, 300)
y = (rng.random(300) < p).astype(int)
groups = np.arange(300) // 10
P = rng.dirichlet([1, 1, 1], 300)
Y = np.array([rng.choice(3, p=row) for row in P])
"""

VERBS = """
decision = am.decide(p, "f1", groups=groups)
rule = am.tune(y, p, "f1")
answers = [
    decision,
    decision.forecast(),
    am.decide(p, "mcc", reference=(y, p)),
    am.forecast(p, decision.labels, "f1", reference=(y, p)),
    am.evaluate(y, rule.predict(p)),
    rule,
    am.tune(y, p, "f1", min_precision=0.3),
    am.calibrate(y, p),
    am.calibration_check(y, p),
    am.adjust_prior(p, reference_prevalence=0.25),
    am.monitor(p, decision.labels, every=100, reference=(y, p)),
    am.compare(p, {"a": decision.labels, "b": p > 0.5}),
    am.classes.decide(P, "f1"),
    am.classes.tune(Y, P, "f1"),
    am.classes.check(Y, P),
    am.sets.decide([[["a", "b"], ["a"], ["b", "c"]]]),
    am.sequence.LinearChainCRF,
    am.search.Searn,
    am.Rule.from_dict(rule.to_dict()),
]
for answer in answers:
    repr(answer)
loaded = {"sklearn", "pyarrow", "cyclopts", "rich"} & {
    name for name, module in sys.modules.items() if module is not None
}
print(len(answers), sorted(loaded))
"""

NEEDS = {
    "am.MetricClassifier": ("scikit-learn", "sklearn"),
    "am.MetricLogisticRegression": ("scikit-learn", "sklearn"),
    "am.stream.OnlineClassifier": ("scikit-learn", "sklearn"),
    "am.scale.open": ("pyarrow", "files"),
    "am.monitor(p, p > 0.5, reference=(y, p), time=['2026-01-01'] * 300)": (
        "pyarrow",
        "files",
    ),
}


def test_verbs_on_arrays_need_the_required_libraries_alone():
    assert run_program(WITHOUT + VERBS).stdout.split("\n")[-2] == "19 []"


def test_what_needs_an_extra_names_it():
    tries = "".join(
        f"try:\n    {code}\nexcept ModuleNotFoundError as error:\n    print(error)\n"
        for code in NEEDS
    )
    done = run_program(WITHOUT + tries)
    wanted = [
        f"this needs {name}: pip install 'argmetric[{extra}]'"
        for name, extra in NEEDS.values()
    ]
    assert done.stdout.splitlines() == wanted


def test_the_command_names_its_extra():
    demo = "from argmetric.cli import main\nsys.exit(main(['demo']))"
    done = run_program(WITHOUT + demo, fails=True)
    assert (done.returncode, done.stdout) == (1, "")
    wanted = "argmetric: this command needs cyclopts: pip install 'argmetric[cli]'\n"
    assert done.stderr == wanted


def test_every_extra_that_a_message_names_exists():
    named = set()
    for path in (ROOT / "src").rglob("*.py"):
        named.update(re.findall(r"\binstall\(\"([\w-]+)\"\)", path.read_text("utf-8")))
        named.update(re.findall(r"\binstall\('([\w-]+)'\)", path.read_text("utf-8")))
    from argmetric._ground import lazy

    named.update(lazy._EXTRAS.values())
    assert len(named) > 10
    assert named <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("library", ["numpy", "scipy", "numba", "narwhals"])
def test_what_is_required_is_needed_by_the_verbs(library):
    required = {re.split(r"[<>=]", one)[0] for one in PROJECT["dependencies"]}
    assert required == {"numpy", "scipy", "numba", "narwhals"}
    source = "".join(
        path.read_text("utf-8")
        for room in ("_ground", "_verbs", "_expected", "_forecast", "_calibrate")
        for path in (ROOT / "src/argmetric" / room).rglob("*.py")
    )
    assert re.search(rf"(import|from) {library}\b", source)
