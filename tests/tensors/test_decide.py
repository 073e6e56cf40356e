"""Decisions on tensors against those on arrays."""

import math
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import argmetric as am
from argmetric import tensors
from processes import run_program
from refusing import refuses
from strategies import probability_vectors
from tensors.libraries import LIBRARIES, NEW_NUMPY, array, host, library

pytestmark = NEW_NUMPY

METRICS = (
    *(am.FBeta(1), am.FBeta(2), am.FBeta(0.5), am.Jaccard(), am.Tversky(0.3, 0.9)),
    *(am.LinearFractional((0, 2, 0, 1), (1, 0, 1, 1)), am.Precision(), am.Recall()),
    *(am.Specificity(), am.Accuracy(), am.BalancedAccuracy(), am.Youden()),
    *(am.FowlkesMallows(), am.Lift(), am.MCC(), am.Kappa(), am.Markedness()),
    *(am.Utility(1.0, -0.5, -0.2, 0.1), am.GMean(), am.HMean(), am.QMean()),
)
every_library = pytest.mark.parametrize("name", LIBRARIES)


def agree(decision, expected, labels, n_positives):
    np.testing.assert_array_equal(host(decision.labels), labels)
    np.testing.assert_array_equal(host(decision.n_positives), n_positives)
    np.testing.assert_allclose(
        host(decision.expected), expected, rtol=1e-12, atol=1e-13
    )


def both(p, metric, name="numpy", **options):
    """The decision on an array and on a tensor, or two refusals."""
    answers = []
    for decide, values in ((am.decide, p), (tensors.decide, array(name, p))):
        try:
            answers.append(decide(values, metric, **options))
        except ValueError as error:
            answers.append(error)
    refused = [isinstance(answer, ValueError) for answer in answers]
    assert refused[0] == refused[1], answers
    return None if refused[0] else answers


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@given(p=probability_vectors(max_size=9), zero=st.sampled_from([0.0, 1.0, math.nan]))
@settings(max_examples=25, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_vectors_get_the_labels_of_the_array_path(metric, p, zero):
    answers = both(p, metric.with_zero_division(zero))
    if answers is not None:
        plain, decision = answers
        with np.errstate(all="ignore"):
            behind = 1.0 - plain.curve / plain.expected
        assume(not np.any(np.abs(behind / 1e-12 - 1.0) < 0.01))  # a tie, or just none
        if math.isnan(plain.expected):
            assert math.isnan(decision.expected)
        elif metric.tie_floor(p.size) and decision.n_positives != plain.n_positives:
            # Parts that cancel: counts whose values differ by rounding are as good
            got = am.forecast(p, decision.labels, plain.metric).mean
            assert got == pytest.approx(plain.expected, abs=1e-13)
        else:
            agree(decision, plain.expected, plain.labels, plain.n_positives)


@every_library
@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
@pytest.mark.filterwarnings("ignore")
def test_matrices(name, metric, average):
    rng = np.random.default_rng(3)
    p = rng.beta(0.4, 1.0, (6, 9)).round(2)
    p[0], p[1, :4] = 0.0, 1.0
    answers = both(p, metric, name, average=average)
    assert answers is not None
    plain, decision = answers
    single = average == "micro"
    expected = plain.expected if single else plain.group_expected
    counts = plain.n_positives if single else plain.group_n_positives
    agree(decision, expected, plain.labels, counts)
    assert float(decision.mean_expected) == pytest.approx(plain.expected, abs=1e-12)


@every_library
@pytest.mark.parametrize("metric", ["f1", "mcc", "kappa", "balanced_accuracy"])
def test_groups_of_all_sizes(name, metric):
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(20), rng.integers(1, 14, 20))
    rng.shuffle(groups)
    p = rng.random(groups.size).round(1)
    options = {"average": "groups", "max_positives": 5}
    plain = am.decide(p, metric, groups=groups, **options)
    given = array(name, p), array(name, groups)
    decision = tensors.decide(given[0], metric, groups=given[1], **options)
    order = np.argsort(plain.group_ids)
    np.testing.assert_array_equal(host(decision.group_ids), np.sort(plain.group_ids))
    agree(
        decision,
        plain.group_expected[order],
        plain.labels,
        plain.group_n_positives[order],
    )
    pooled = tensors.decide(given[0], metric, groups=given[1], average="pooled")
    whole = am.decide(p, metric, groups=groups, average="pooled")
    agree(pooled, whole.expected, whole.labels, whole.n_positives)
    named = np.array([f"g{g:02d}" for g in groups])
    by_name = tensors.decide(given[0], metric, groups=named, **options)
    assert by_name.group_ids.tolist() == [f"g{g:02d}" for g in range(20)]
    np.testing.assert_array_equal(host(by_name.labels), plain.labels)


@pytest.mark.parametrize("zero_division", [0.0, math.nan])
@pytest.mark.parametrize(
    "limits",
    [
        {"min_positives": 2},
        {"max_positives": 1},
        {"min_precision": 0.6},
        {"min_recall": 0.7},
        {"min_recall": 0.5, "min_precision": 0.3, "max_positives": 8},
    ],
    ids=str,
)
def test_limits(limits, zero_division):
    p = np.random.default_rng(5).beta(0.5, 1.0, (8, 9))
    options = {"average": "samples", "zero_division": zero_division, **limits}
    answers = both(p, "f1", **options)
    if answers is not None:
        plain, decision = answers
        counts = plain.group_n_positives
        agree(decision, plain.group_expected, plain.labels, counts)


@every_library
def test_log_odds(name):
    x = np.random.default_rng(6).normal(0.0, 20.0, (5, 7))
    plain = am.decide(x, "jaccard", average="samples", logits=True)
    decision = tensors.decide(array(name, x), "jaccard", average="samples", logits=True)
    counts = plain.group_n_positives
    agree(decision, plain.group_expected, plain.labels, counts)


NEARLY_CERTAIN = {
    "all 0": lambda n: np.zeros(n),
    "all 1": lambda n: np.ones(n),
    "0 and 1": lambda n: (np.arange(n) % 7 == 0) * 1.0,
    "one of 1e-20": lambda n: np.eye(1, n)[0] * 1e-20,
    "up to 1e-300": lambda n: np.linspace(0.1, 1.0, n) * 1e-300,
    "up to 1e-14": lambda n: np.linspace(0.1, 1.0, n) * 1e-14,
    "up to 1e-6": lambda n: np.linspace(0.1, 1.0, n) * 1e-6,
    "near 0 and 1": lambda n: np.where(np.arange(n) % 9 > 6, 1 - 1e-9, 1e-9),
}


@every_library
@pytest.mark.parametrize("case", NEARLY_CERTAIN)
@pytest.mark.parametrize("metric", [am.MCC(), am.Kappa()])
@pytest.mark.filterwarnings("ignore:p has .* values, all of them 0 or 1")
def test_long_rows_that_are_nearly_certain(metric, case, name):
    for n in (1025, 1400):
        p = NEARLY_CERTAIN[case](n)
        plain, decision = both(p, metric, name)
        agree(decision, plain.expected, plain.labels, plain.n_positives)
        relative = pytest.approx(plain.expected, rel=1e-9, abs=0)
        assert float(decision.expected) == relative


@pytest.mark.filterwarnings("ignore:p has .* values, all of them 0 or 1")
def test_nearly_certain_rows_beside_others():
    n = 1500
    other = np.random.default_rng(0).beta(1, 5, n)
    P = np.stack([np.zeros(n), np.ones(n), other, np.full(n, 1e-15)])
    plain, decision = both(P, "mcc", average="samples")
    counts = plain.group_n_positives
    agree(decision, plain.group_expected, plain.labels, counts)


@pytest.mark.parametrize("metric", ["f1", "jaccard", "mcc", "kappa", "recall"])
@pytest.mark.parametrize("size", [1023, 1025, 3000])
def test_long_rows(metric, size):
    p = np.random.default_rng(7).beta(0.3, 3.0, size)
    plain = am.decide(p, metric)
    agree(tensors.decide(p, metric), plain.expected, plain.labels, plain.n_positives)


@every_library
def test_thresholds_give_the_labels(name):
    p = np.array([[0.9, 0.5, 0.5, 0.1], [0.5, 0.5, 0.5, 0.5], [0.01, 0.01, 0.0, 0.0]])
    decision = tensors.decide(array(name, p), "mcc", average="samples")
    cut, labels = host(decision.threshold), host(decision.labels)
    whole = ~np.isnan(cut)
    np.testing.assert_array_equal((p >= cut[:, None])[whole], labels[whole])
    one = tensors.decide(array(name, p[0]))
    assert float(one.threshold) == am.decide(p[0]).threshold
    nothing = tensors.decide(array(name, p[2]), zero_division=1.0)
    assert float(nothing.threshold) == math.inf


def test_rows_in_several_parts(monkeypatch):
    monkeypatch.setattr("argmetric.tensors._segments.CELLS_AT_ONCE", 20)
    rng = np.random.default_rng(8)
    p, groups = rng.random((7, 6)), rng.integers(0, 5, 42)
    plain = am.decide(p, average="samples")
    decision = tensors.decide(p, average="samples")
    counts = plain.group_n_positives
    agree(decision, plain.group_expected, plain.labels, counts)
    flat = p.ravel()
    grouped = tensors.decide(flat, groups=groups, average="groups")
    expected = am.decide(flat, groups=groups, average="groups").labels
    np.testing.assert_array_equal(grouped.labels, expected)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_types_of_torch(kind):
    torch = library("torch")
    p = torch.rand(5, 8, generator=torch.Generator().manual_seed(1))
    p = p.to(getattr(torch, kind))
    plain = am.decide(p.double().numpy(), average="samples")
    decision = am.decide(p, average="samples")
    counts = plain.group_n_positives
    agree(decision, plain.group_expected, plain.labels, counts)
    assert decision.labels.dtype == torch.bool
    assert decision.expected.dtype == torch.float64
    quick = tensors.decide(p, average="samples", dtype="float32")
    assert quick.expected.dtype == torch.float32
    np.testing.assert_allclose(quick.expected, plain.group_expected, rtol=1e-4)


@pytest.mark.parametrize("metric", ["mcc", "kappa"])
@pytest.mark.parametrize("p", [1e-12, 0.3, 1.0 - 1e-12])
def test_equal_items_tie_at_every_count(metric, p):
    """Of values that differ by rounding alone, the fewest positives win."""
    for n in (9, 10, 200):
        x = np.full((1, n), math.log(p / (1.0 - p)))
        options = {"average": "samples", "logits": True}
        plain = am.decide(x, metric, **options)
        decision = tensors.decide(x, metric, **options)
        np.testing.assert_array_equal(decision.n_positives, plain.group_n_positives)


def test_repr():
    p = np.array([[0.9, 0.4], [0.2, 0.1]])
    text = repr(tensors.decide(p, average="samples"))
    assert text == (
        "TensorDecision(expected F1 0.487, average='samples': 2 positives among 2×2 "
        "labels on cpu)"
    )


UNDEFINED = {"metric": "mcc", "zero_division": math.nan}
REFUSED = [  # p, options, and the words
    ([[0.5, 0.2], [0.3, 0.4]], {}, "a matrix needs average='samples'"),
    ([0.5, 0.2], {"average": "macro"}, "average='macro' needs groups"),
    ([0.5, math.nan], {}, "p has NaN at row 1; drop or fill it first"),
    ([0.5, -3.0], {}, "looks like logits: pass logits=True"),
    (np.zeros(0), {}, "p is empty"),
    (np.zeros((1, 1, 1)), {}, "one or two dimensions, not 3"),
    ([0.5, 0.2], {"min_positives": 3}, "min_positives=3 is more than the 2 items"),
    ([1.0, 1.0], UNDEFINED, "mcc is undefined for every number"),
    ([0.5, 0.2], {"min_recall": 0.99, "max_positives": 1}, "no number of positives m"),
    ([0.5, 0.2], {"groups": [1], "average": "groups"}, "groups has 1 rows but p has 2"),
]


@every_library
def test_refusals(name):
    decide = tensors.decide if name == "numpy" else am.decide
    for p, options, words in REFUSED:
        if "groups" in options:
            options = options | {"groups": array(name, options["groups"])}
        refuses(ValueError, words, decide, array(name, p), **options)
    whole = array(name, [1, 2])
    refuses(TypeError, "holds int64, and logits=True", decide, whole, logits=True)
    if name != "numpy":
        words = "prior and n_jobs cannot be used with te"
        refuses(ValueError, words, decide, array(name, [0.5]), prior=0.1, n_jobs=2)
    rounded = decide(array(name, [1.0 + 1e-8, 0.2]))
    assert host(rounded.labels).tolist() == [True, False]


def test_torch_alone():
    torch = library("torch")
    p = torch.tensor([0.5, 0.2])
    refuses(TypeError, r"pass p.detach\(\)", am.decide, p.requires_grad_())
    refuses(TypeError, "p is sparse", am.decide, p.detach().to_sparse())
    groups = torch.zeros(2, device="meta")
    with pytest.raises(ValueError, match="groups are on meta but p is on cpu"):
        am.decide(p.detach(), groups=groups, average="groups")


def test_nothing_of_torch_is_loaded_before_it_is_needed():
    program = (
        "import sys, argmetric, argmetric.tensors as t\n"
        "t.decide, t.forecast, t.decide_masks, argmetric.decide\n"
        "assert not {'torch', 'numba', 'triton'} & sys.modules.keys()"
    )
    run_program(program)


@pytest.mark.parametrize("name", ["ExpectedMetricLoss", "BestAchievable"])
def test_errors_name_the_extra(name, monkeypatch):
    for module in ("_losses", "_achievable"):
        monkeypatch.delitem(sys.modules, f"argmetric.tensors.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    refuses(ImportError, r"pip install 'argmetric\[torch\]'", getattr, tensors, name)
