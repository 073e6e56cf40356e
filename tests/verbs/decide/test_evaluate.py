"""The result of evaluate: a float with counts, an interval and a picture."""

import copy
import json
import pickle

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.metrics import confusion_matrix, f1_score

import argmetric as am

RNG = np.random.default_rng(3)
Y = (RNG.random(400) < 0.3).astype(int)
PREDICTED = np.where(RNG.random(400) < 0.8, Y, 1 - Y)
GROUPS = np.arange(400) % 40


def pickled(value):
    return pickle.loads(pickle.dumps(value))


def test_it_is_a_float_in_every_respect():
    score = am.evaluate(Y, PREDICTED)
    value = f1_score(Y, PREDICTED)
    assert isinstance(score, float)
    assert score == pytest.approx(value, rel=1e-12)
    assert (repr(score), str(score), f"{score:.3f}") == (
        repr(float(score)),
        str(float(score)),
        f"{value:.3f}",
    )
    assert json.loads(json.dumps({"score": score})) == {"score": float(score)}
    for found in (score + 1, 2 * score, -score, abs(score), round(score, 2), score**2):
        assert type(found) is float
    assert type(score.score) is float
    assert {score: 1}[float(score)] == 1


def test_counts_are_those_of_the_confusion_matrix():
    score = am.evaluate(Y, PREDICTED, "mcc")
    (tn, fp), (fn, tp) = confusion_matrix(Y, PREDICTED).tolist()
    assert score.counts == {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    assert score.n == 400
    assert (score.average, score.n_groups, score.metric.name) == (None, None, "mcc")


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickled])
def test_copies_keep_everything(make):
    score = am.evaluate(Y, PREDICTED, groups=GROUPS)
    again = make(score)
    assert type(again) is type(score)
    assert again == score
    assert again.to_dict() == score.to_dict()


@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_the_interval_holds_the_score_of_the_population_as_often_as_it_says(metric):
    """True shares are known: 300 samples, each with an interval of its own."""
    shares = np.array([0.2, 0.1, 0.1, 0.6])
    tp, fp, fn, _ = shares
    truth = float(am.get_metric(metric).value(tp, tp + fp, tp + fn, 1.0))
    cells = np.array([(1, 1), (0, 1), (1, 0), (0, 0)])
    rng, inside = np.random.default_rng(8), 0
    for _ in range(300):
        y, predicted = cells[rng.choice(4, 60, p=shares)].T
        low, high = am.evaluate(y, predicted, metric).interval
        inside += low <= truth <= high
    assert inside / 300 == pytest.approx(0.9, abs=0.05)


def test_few_rows_have_a_wide_interval_that_holds_the_score():
    perfect = am.evaluate([1, 0] * 5, [1, 0] * 5)
    low, high = perfect.interval
    assert high == perfect == 1.0
    assert low < 0.8
    many = am.evaluate([1, 0] * 500, [1, 0] * 500).interval
    assert many[0] > 0.99


def test_the_interval_of_a_mean_over_groups_is_that_of_its_standard_error():
    score = am.evaluate(Y, PREDICTED, "accuracy", groups=GROUPS)
    own = np.array([(Y == PREDICTED)[g == GROUPS].mean() for g in range(40)])
    reach = 1.645 * own.std(ddof=1) / np.sqrt(40)
    assert score.interval == pytest.approx((own.mean() - reach, own.mean() + reach))
    assert (score.average, score.n_groups) == ("groups", 40)
    assert score.counts == am.evaluate(Y, PREDICTED).counts


def test_averages_over_matrices():
    truth, predicted = Y.reshape(100, 4), PREDICTED.reshape(100, 4)
    found = {
        average: am.evaluate(truth, predicted, average=average, zero_division=np.nan)
        for average in ("samples", "macro", "micro")
    }
    assert found["macro"].interval[0] < found["macro"] < found["macro"].interval[1]
    assert found["macro"].n_groups == 4
    assert found["micro"].interval == am.evaluate(Y, PREDICTED).interval
    defined = ((truth + predicted).sum(axis=1) > 0).sum()
    assert found["samples"].n_groups == defined < 100
    assert am.evaluate(Y, PREDICTED, groups=np.zeros(400)).interval is None


def test_pictures_and_tables_name_the_actual_score():
    plt = pytest.importorskip("matplotlib.pyplot")
    score = am.evaluate(Y, PREDICTED)
    ax = score.plot()
    title = f"Actual F1: {score:.3f}"
    assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == (
        title,
        "Predicted",
        "Actual",
    )
    assert any(f"{score.counts['tp']:,}" in one.get_text() for one in ax.texts)
    plt.close("all")
    assert f">{score:.3f}</div>" in score._repr_html_()
    assert "90% interval" in score._repr_html_()


WEIGHT = RNG.gamma(0.7, 2.0, 400) * (RNG.random(400) < 0.9)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("f1", sk.f1_score),
        ("f2", lambda *a, **how: sk.fbeta_score(*a, beta=2, **how)),
        ("jaccard", sk.jaccard_score),
        ("mcc", sk.matthews_corrcoef),
        ("kappa", sk.cohen_kappa_score),
        ("balanced_accuracy", sk.balanced_accuracy_score),
        ("precision", sk.precision_score),
        ("accuracy", sk.accuracy_score),
    ],
)
def test_weights_are_those_of_scikit_learn(name, theirs):
    score = am.evaluate(Y, PREDICTED, name, sample_weight=WEIGHT)
    wanted = theirs(Y, PREDICTED, sample_weight=WEIGHT)
    assert score == pytest.approx(wanted, rel=1e-12)
    table = confusion_matrix(Y, PREDICTED, sample_weight=WEIGHT).ravel()
    assert [score.counts[x] for x in ("tn", "fp", "fn", "tp")] == pytest.approx(table)
    assert score.n == np.count_nonzero(WEIGHT)
    low, high = score.interval
    assert low < score < high


@pytest.mark.parametrize("average", ["macro", "micro", "samples"])
def test_weights_of_rows_of_a_matrix_are_those_of_scikit_learn(average):
    y, predicted, weight = Y.reshape(100, 4), PREDICTED.reshape(100, 4), WEIGHT[:100]
    how = {"average": average, "sample_weight": weight, "zero_division": 0.0}
    score = am.evaluate(y, predicted, "f1", **how)
    assert score == pytest.approx(f1_score(y, predicted, **how), rel=1e-12)


def test_weights_of_groups_are_those_of_their_rows():
    """Each group is scored by its weights; one without any is left out."""
    weight = np.where(GROUPS == 3, 0.0, WEIGHT)
    how = {"groups": GROUPS, "sample_weight": weight, "zero_division": 1.0}
    score = am.evaluate(Y, PREDICTED, **how)
    parts = [
        f1_score(Y[rows], PREDICTED[rows], sample_weight=weight[rows], zero_division=1)
        for rows in (g == GROUPS for g in range(40) if g != 3)
    ]
    assert score == pytest.approx(np.mean(parts), rel=1e-12)
    assert score.n_groups == 39
    reach = 1.645 * np.std(parts, ddof=1) / 39**0.5
    assert score.interval == pytest.approx((score - reach, score + reach))


@pytest.mark.parametrize("average", [None, "groups", "pooled"])
def test_equal_weights_change_nothing(average):
    how = {"groups": None if average is None else GROUPS, "average": average}
    plain = am.evaluate(Y, PREDICTED, **how)
    for each in (1.0, 7.5):
        score = am.evaluate(Y, PREDICTED, sample_weight=np.full(400, each), **how)
        assert score == pytest.approx(plain, rel=1e-12)
        assert score.interval == pytest.approx(plain.interval, rel=1e-9)


def test_an_interval_with_weights_holds_the_score_of_the_population():
    """Rows drawn from a population, weighted as a rare half of it would be."""
    rng = np.random.default_rng(5)
    held = wide = 0
    rare = np.array([0.2, 5.0])
    for _ in range(200):
        half = (rng.random(300) < 0.5).astype(int)
        y = rng.random(300) < np.array([0.2, 0.6])[half]
        labels = np.where(rng.random(300) < np.array([0.9, 0.7])[half], y, ~y)
        low, high = am.evaluate(y, labels, sample_weight=rare[half]).interval
        share = 0.5 * rare
        tp = share @ np.array([0.2 * 0.9, 0.6 * 0.7])
        wrong = share @ np.array([0.1, 0.3])
        held += low <= 2 * tp / (2 * tp + wrong) <= high
        wide += high - low
        plain = am.evaluate(y, labels).interval
        wide -= plain[1] - plain[0]
    assert 168 <= held <= 191  # 90 % of 200, three standard errors on both sides
    assert wide > 0.0  # fewer rows carry the weight


def test_what_has_no_weights_says_why():
    with pytest.raises(ValueError, match="0 on every row"):
        am.evaluate(Y, PREDICTED, sample_weight=np.zeros(400))
    with pytest.raises(ValueError, match="sample_weight has shape"):
        am.evaluate(Y, PREDICTED, sample_weight=[1.0])
    found = am.forecast(np.full(400, 0.3), PREDICTED)
    with pytest.raises(ValueError, match="forecast counts every row once"):
        am.evaluate(Y, PREDICTED, sample_weight=WEIGHT, forecast=found)
    p = np.full((6, 3), 1 / 3)
    for call in (
        lambda **how: am.decide(p[:, 0], **how),
        lambda **how: am.forecast(p[:, 0], [1] * 6, **how),
        lambda **how: am.classes.decide(p, **how),
        lambda **how: am.classes.forecast(p, [0] * 6, **how),
    ):
        call(sample_weight=None)
        with pytest.raises(TypeError, match=r"no sample_weight: .*np\.repeat") as told:
            call(sample_weight=np.ones(6))
        assert "evaluate(..., sample_weight=...)" in str(told.value)
        with pytest.raises(TypeError, match="unexpected keyword"):
            call(sampleweight=np.ones(6))


def test_weights_of_classes_are_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=300)
    labels = np.where(rng.random(300) < 0.7, y, rng.integers(3, size=300))
    weight = WEIGHT[:300]
    how = {"average": "macro", "sample_weight": weight}
    score = am.classes.evaluate(y, labels, "f1", sample_weight=weight)
    assert score == pytest.approx(f1_score(y, labels, **how), rel=1e-12)
    assert score.n == np.count_nonzero(weight)
    assert score.interval[0] < score < score.interval[1]
    plain = am.classes.evaluate(y, labels, "f1")
    same = am.classes.evaluate(y, labels, "f1", sample_weight=np.full(300, 2.5))
    assert same.interval == pytest.approx(plain.interval, rel=1e-9)
    groups = np.arange(300) % 10
    weight = np.where(groups == 0, 0.0, weight)
    found = am.classes.evaluate(y, labels, groups=groups, sample_weight=weight)
    each = [
        f1_score(y[rows], labels[rows], average="macro", sample_weight=weight[rows])
        for rows in (groups == g for g in range(1, 10))
    ]
    assert found == pytest.approx(np.mean(each), rel=1e-12)
    with pytest.raises(ValueError, match="0 on every row"):
        am.classes.evaluate(y, labels, sample_weight=np.zeros(300))
