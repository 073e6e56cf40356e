"""What the package promises as a whole: light import, threads, files, messages."""

import threading

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import argmetric as am
from processes import run_program

HEAVY = [
    *("numba", "scipy", "sklearn", "pandas", "polars", "pyarrow", "narwhals"),
    *("matplotlib", "rich", "cyclopts", "distributed"),
]


NOT_FOR_FEW_ROWS = {
    "numpy.ma",
    "numpy.random",
    "pyarrow.compute",
    "argmetric._calibrate.calibrator",
    "argmetric.scale.files._features",
    "argmetric._forecast.group_mean",
    "argmetric._forecast.posterior_score",
}


def loaded_after(code):
    program = f"{code}\nimport sys\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    return run_program(program).stdout.strip().splitlines()[-1]


def test_importing_loads_numpy_and_nothing_heavier():
    assert loaded_after("import argmetric") == "[]"
    assert loaded_after("import argmetric; argmetric.FBeta; argmetric.decide") == "[]"
    assert loaded_after("import argmetric; argmetric.scale.ScaledDecision") == "[]"


def test_a_small_decision_needs_no_compiler():
    code = (
        "import argmetric as am; d = am.decide([.9, .4, .1] * 20, 'mcc');"
        "am.forecast([.9, .4, .1] * 20, d.labels, 'mcc')"
    )
    assert loaded_after(code) == "[]"


def loaded_by_command(tmp_path, *arguments):
    """Names of all modules that a command has loaded in the end."""
    code = (
        "import sys\n"
        "from argmetric.cli import main\n"
        f"code = main({list(arguments)!r})\n"
        "print()\n"
        "print(*sys.modules)\n"
        "sys.exit(code)"
    )
    done = run_program(code, folder=tmp_path, COLUMNS="80")
    return set(done.stdout.splitlines()[-1].split())


def test_the_command_decides_on_few_rows_with_what_it_needs(tmp_path):
    rows = "".join(f"{i},{i / 61:.4f}\n" for i in range(60))
    (tmp_path / "scores.csv").write_text(f"id,score\n{rows}")
    loaded = loaded_by_command(tmp_path, "decide", "scores.csv", "-o", "out.csv")
    assert (
        (tmp_path / "out.csv").read_text().startswith("id,score,decision\n0,0.0000,0")
    )
    assert loaded.intersection(HEAVY) == {"pyarrow", "rich", "cyclopts"}
    of_numpy = run_program("import sys, numpy; print(*sys.modules)").stdout.split()
    assert not loaded.intersection(NOT_FOR_FEW_ROWS).difference(of_numpy)
    rooms = {name.split(".")[1] for name in loaded if name.startswith("argmetric.")}
    assert not rooms & {"_report", "train", "search", "stream"}
    assert not any(name.startswith("argmetric.scale._") for name in loaded)


def test_version_and_help_load_no_command(tmp_path):
    assert "numpy" in loaded_by_command(tmp_path, "metrics")
    assert "numpy" not in loaded_by_command(tmp_path, "--help")
    loaded = loaded_by_command(tmp_path, "--version")
    assert not loaded & {"numpy", "cyclopts", "rich"}


def test_every_public_name_resolves_and_is_documented():
    for name in am.__all__:
        assert getattr(am, name).__doc__, name
    assert set(dir(am)) == set(am.__all__)


def test_kernels_work_where_no_cache_can_be_written(tmp_path):
    """numba raises at import when no cache folder is writable: we fall back."""
    code = (
        "import numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "from argmetric.sequence import Hamming, Independent, expectation\n"
        "print(expectation(Hamming(), [1, 0], Independent([.75, .25])).mean)\n"
        "import sys\n"
        "assert 'argmetric.sequence.kernels.automata' in sys.modules"
    )
    assert run_program(code).stdout.strip() == "0.5"


def grouped(n_groups=30_000, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 45, n_groups)
    ids = np.repeat(np.arange(n_groups), lengths)
    return rng.beta(0.3, 2, ids.size), ids


@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_results_do_not_depend_on_the_number_of_threads(metric):
    p, ids = grouped()
    one = am.decide(p, metric, groups=ids, average="groups", n_jobs=1)
    for n_jobs in (2, 3, -1):
        other = am.decide(p, metric, groups=ids, average="groups", n_jobs=n_jobs)
        np.testing.assert_array_equal(other.labels, one.labels)
        np.testing.assert_array_equal(other.group_expected, one.group_expected)
        assert other.expected == one.expected


def test_decisions_may_run_in_several_threads_at_once():
    p, ids = grouped(3_000)
    expected = am.decide(p, groups=ids, average="groups").expected
    results = []

    def work():
        results.append(am.decide(p, groups=ids, average="groups").expected)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_plots(tmp_path):
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 300)
    decision = am.decide(p)
    axes = decision.plot()
    assert axes.get_ylabel() == "Expected F1"
    shown = axes.lines[0].get_ydata()
    np.testing.assert_array_equal(shown, decision.curve[: shown.size])
    given = plt.subplots()[1]
    assert am.forecast(p, decision.labels).plot(ax=given) is given
    by_group = am.decide(p, groups=np.arange(300) // 10, average="groups")
    assert by_group.plot().get_ylabel() == "Groups"
    plt.close("all")


def test_results_speak():
    decision = am.decide([0.9, 0.45, 0.4, 0.1])
    assert "f1" in repr(decision)
    assert "0.690" in repr(decision)
    assert "<table" in decision._repr_html_()
    assert decision.to_dict()["best_cut"]["n_positives"] == 3
    frame = decision.to_frame("pyarrow")
    assert frame.column_names == ["k", "expected"]
    forecast = am.forecast([0.9, 0.45, 0.4, 0.1], decision.labels)
    assert "calibrated" in repr(forecast)
    assert "independent" in forecast._repr_html_()
    assert forecast.to_dict()["mean"] == pytest.approx(decision.expected, rel=1e-12)


ANSWERS = """
import numpy as np, argmetric as am
def answers():
    for rows in (10, 64, 65, 201, 1000, 4097):
        p = np.random.default_rng(rows).beta(0.5, 3, rows)
        for metric in METRICS:
            d = am.decide(p, metric)
            f = am.forecast(p, d.labels, metric)
            bits = np.concatenate([d.curve, f.values, f.probabilities])
            yield d.labels.tobytes(), bits.tobytes(), d.expected.hex(), d.plan
"""


def test_no_bit_of_an_answer_depends_on_warmup():
    """In a fresh process: what is loaded, and since when, decides about time alone."""
    metrics = "('f1', 'jaccard', 'mcc', 'gmean', 'recall', 'accuracy')"
    code = ANSWERS.replace("METRICS", metrics)
    code += "before = [*answers()]\nam.warmup()\nassert before == [*answers()]"
    run_program(code)


@pytest.mark.slow
def test_no_bit_of_an_answer_depends_on_the_cache(tmp_path):
    code = ANSWERS.replace("METRICS", "('f1', 'accuracy')")
    code += "import hashlib\nfound = repr([*answers()]).encode()\n"
    code += "print(hashlib.sha256(found).hexdigest())"
    cached, cold = run_program(code), run_program(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert cached.stdout == cold.stdout != ""


def test_warmup_leaves_nothing_to_compile():
    am.warmup()
    from argmetric._expected import kernels
    from argmetric.stream.kernels import rules, stream

    for name in kernels.__all__:
        assert getattr(kernels, name).signatures, name
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    used = [getattr(stream, name) for name in ("mixture_sparse", "compress")]
    used.append(rules.recompute)
    before = [list(kernel.signatures) for kernel in used]
    assert all(before)
    model = am.stream.OnlineClassifier().fit(X, y)
    model.partial_fit(csr_matrix(X), y, sample_weight=rng.random(50)).predict(X)
    assert [kernel.signatures for kernel in used] == before
