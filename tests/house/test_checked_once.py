"""Input is checked where it comes in, and what is checked is not checked again."""

import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am
from argmetric._calibrate.calibrator import FunctionCalibrator  # noqa: F401  # loaded unwatched
from argmetric._calibrate.resolve import recalibrate_layout  # noqa: F401  # loaded unwatched
from argmetric._ground import groups as _groups
from argmetric._ground import validation as _validation
from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.validation import Probabilities, read_scores
from argmetric.scale import files as _files

RNG = np.random.default_rng(3)
N = 600
P = RNG.beta(1.0, 3.0, N)
Y = (RNG.random(N) < P).astype(int)
IDS = np.array([f"order {i}" for i in RNG.integers(0, 30, N)])


@pytest.fixture
def counts(monkeypatch):
    """How often all rows are checked or coded."""
    seen = Counter()

    def watch(owner, name, least=N):
        original = getattr(owner, name)

        def counted(values, *rest, **options):
            if not isinstance(values, np.ndarray) or values.size >= least:
                seen[name] += 1
            return original(values, *rest, **options)

        monkeypatch.setattr(owner, name, counted)

    watch(_files, "probabilities")
    watch(_files, "groups")
    watch(_validation, "check_scores")
    watch(_groups, "check_groups")
    watch(_groups, "factorize", N // 2)  # runs of rows of one group count once
    return seen


COMMANDS = {
    "decide": (["--group", "g"], {"probabilities": 1, "groups": 1}),
    "decide pooled": (
        ["--group", "g", "--average", "pooled"],
        {"probabilities": 1, "groups": 1},
    ),
    "decide reference": (
        ["--group", "g", "--reference", "t.parquet"],
        {"probabilities": 2, "groups": 1},
    ),
    "forecast": (["--group", "g"], {"probabilities": 1, "groups": 1}),
    "evaluate": (["--group", "g", "--decision-column", "d"], {"groups": 1}),
    # Scores of any size: they are only looked through for NaN, by tune itself
    "tune": (["--group", "g"], {"groups": 1, "check_scores": 1}),
    "calibrate": (["--output", "map.json"], {"probabilities": 1}),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(run, counts, command):
    columns = {"score": P, "label": Y, "g": IDS, "d": (P > 0.4).astype(int)}
    pq.write_table(pa.table(columns), "t.parquet")
    arguments, expected = COMMANDS[command]
    ended = run(command.split()[0], "t.parquet", *arguments, "--json")
    assert ended.code == 0, ended.err
    assert counts == expected


def test_the_report_command(run, counts):
    pq.write_table(pa.table({"score": P, "label": Y}), "t.parquet")
    ended = run("report", "t.parquet", "--report", "page.html")
    assert ended.code == 0, ended.err
    assert counts == {"probabilities": 1}


def test_functions(counts):
    am.decide(P, groups=IDS, average="groups")
    am.forecast(P, Y, groups=IDS)
    am.tune(Y, P, groups=IDS, n_bootstrap=0)
    each = {"check_scores": 3, "check_groups": 3, "factorize": 3}
    assert counts == each
    counts.clear()
    am.calibration_check(Y, P, groups=IDS, n_bootstrap=2)
    assert (counts["check_scores"], counts["check_groups"]) == (1, 1)


def calls_of_checks(call):
    """How often each function of `_ground` that checks or refuses is called."""
    call()  # modules are loaded, kernels compiled
    seen = Counter()

    def watch(frame, event, _):
        code = frame.f_code
        checks = code.co_name.startswith(("check_", "refuse_"))
        if event == "call" and checks and "_ground" in code.co_filename:
            seen[code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(before)
    return seen


LABELS = (P > 0.4).astype(int)
RULE = am.tune(Y, P, n_bootstrap=0, cv=None)
# The most checks that each call may make, small values and options included.
VERBS = {
    "decide": (5, lambda: am.decide(P)),
    "decide by group": (8, lambda: am.decide(P, groups=IDS, average="groups")),
    "decide by reference": (17, lambda: am.decide(P, reference=(Y, P))),
    "forecast": (7, lambda: am.forecast(P, LABELS)),
    "forecast by group": (10, lambda: am.forecast(P, LABELS, groups=IDS)),
    "forecast by reference": (19, lambda: am.forecast(P, LABELS, reference=(Y, P))),
    "forecast of a share": (
        25,
        lambda: am.forecast(P, LABELS, reference=(Y, P), prior="estimate"),
    ),
    "evaluate": (3, lambda: am.evaluate(Y, LABELS)),
    "tune": (14, lambda: am.tune(Y, P, n_bootstrap=0)),
    "apply": (0, lambda: RULE.apply(Probabilities(P))),
    "calibrate": (12, lambda: am.calibrate(Y, P)),
    "adjust_prior": (10, lambda: am.adjust_prior(P, reference_prevalence=0.2)),
    # A rule is tuned in five folds, 14 checks of small values each
    "calibration_check": (140, lambda: am.calibration_check(Y, P, n_bootstrap=2)),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_makes_few_checks(verb):
    most, call = VERBS[verb]
    found = calls_of_checks(call)
    assert found.total() <= most, found


def test_alternatives_are_made_once_and_not_checked():
    calibrator = am.calibrate(Y, P)
    assert calibrator.alternatives is calibrator.alternatives
    chain = calibrator.then(
        am.adjust_prior(P, prevalence=0.2, reference_prevalence=0.3)
    )
    again = am.Calibrator.from_dict(chain.to_dict())
    assert calls_of_checks(lambda: again.alternatives).total() == 0
    assert again.alternatives == chain.alternatives


@pytest.mark.parametrize("verb", ["decide", "calibration_check"])
def test_reports_check_no_row_again(verb, counts):
    made = am.decide(P) if verb == "decide" else am.calibration_check(Y, P)
    counts.clear()
    am.report(made)
    assert counts["check_scores"] == (1 if verb == "decide" else 0)


def test_what_is_checked_is_taken_as_arrays_are():
    groups, p = code_groups(IDS, N), Probabilities(P)
    for average in ("groups", "pooled"):
        plain = am.decide(P, groups=IDS, average=average)
        found = am.decide(p, groups=groups, average=average)
        assert found.expected == plain.expected
        np.testing.assert_array_equal(found.labels, plain.labels)
    assert am.forecast(p, Y, groups=groups).mean == am.forecast(P, Y, groups=IDS).mean
    assert am.evaluate(Y, Y[::-1], groups=groups) == am.evaluate(Y, Y[::-1], groups=IDS)
    assert am.calibrate(Y, p) == am.calibrate(Y, P)
    assert am.tune(Y, p, groups=groups) == am.tune(Y, P, groups=IDS)
    np.testing.assert_array_equal(am.calibrate(Y, P).apply(p), am.calibrate(Y, P)(P))


def test_log_odds_are_no_probabilities():
    odds = Probabilities(np.array([-3.0, 2.0]), logits=True)
    assert read_scores(odds, "p", logits=True) is odds.values
    with pytest.raises(ValueError, match="p is -3 at row 0, outside of"):
        am.decide(odds)
    with pytest.raises(ValueError, match="groups has 600 rows but p has 2"):
        am.decide([0.1, 0.2], groups=code_groups(IDS, N), average="groups")


def test_groups_lie_behind_each_other():
    groups = code_groups(["b", "a", "b", "c"], 4)
    assert groups.codes.tolist() == [0, 1, 0, 2]
    assert groups.ids.tolist() == ["b", "a", "c"]
    assert groups.indptr.tolist() == [0, 2, 3, 4]
    assert groups.rows is not None
    assert groups.rows.tolist() == [0, 2, 1, 3]
    some = groups.take(np.array([1, 3]))
    assert (some.codes.tolist(), some.ids.tolist()) == ([0, 1], ["a", "c"])
    assert code_groups(groups, 4) is groups
    runs = Groups(np.array([0, 0, 1]), np.array([7, 8]))
    assert runs.rows is None
    assert runs.indptr.tolist() == [0, 2, 3]
