"""OMMA: the compiled rule equals a plain twin as published, and finds good labels."""

import itertools
import math

import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB

import argmetric as am
from argmetric.metrics import get_class_metric
from argmetric.stream import OFORule, OMMARule, OnlineClassifier, OnlineThreshold
from refusing import refuses
from stream_data import same_state

CLASS_METRICS = (
    *("f1", "f2", "jaccard", "precision", "recall", "balanced_accuracy"),
    *("gmean", "mcc", "kappa", "quadratic_kappa", "accuracy"),
)
LABEL_METRICS = (
    *("f1", "f2", "jaccard", "accuracy", "mcc", "kappa", "gmean", "hmean", "qmean"),
    *("balanced_accuracy", "youden", "fowlkes_mallows"),
)


def slopes(value, cells):
    """Central differences of a function in every cell of an array."""
    found = np.zeros(cells.shape)
    for at in np.ndindex(cells.shape):
        step = np.zeros(cells.shape)
        step[at] = 1e-5 * cells[at]
        found[at] = (value(cells + step) - value(cells - step)) / (2 * step[at])
    return found


def best(gains):
    """The first of the largest, but for what differences of slopes leave open."""
    return max(range(len(gains)), key=lambda z: (gains[z], -z))


RIGHT_CLASSES = np.eye(4)
RIGHT_LABELS = np.array([[1.0], [0.0], [0.0], [1.0]])  # tn and tp


def twin(value, right, expected, choices, p, y, *, soft=False, decay=1.0, prior=None):
    """OMMA as published: for any answers, with a gradient by differences.

    `expected(η, z)` is the confusion tensor of a row. The prior is one number in every
    cell, as published, or our default: 10 in cells of `right` answers, 1 in the others.
    Returns the answers, their margins over the next best, and the tensor.
    """
    counts, answers, margins = 0.0 * expected(y[0], choices[0]), [], []
    before = 1.0 + 9.0 * right if prior is None else prior
    for one, truth in zip(p, y, strict=True):
        gradient = slopes(value, counts + before)
        gains = [float((gradient * expected(one, z)).sum()) for z in choices]
        z = best(gains)
        order = sorted(gains)
        margins.append((order[-1] - order[-2]) / (abs(order[-1]) + abs(order[-2])))
        answers.append(choices[z])
        counts = counts * decay + expected(one if soft else truth, choices[z])
    return np.array(answers), np.array(margins), counts


def class_tensor(width):
    def expected(eta, z):
        table = np.zeros((width, width))
        table[:, z] = np.eye(width)[eta] if np.ndim(eta) == 0 else eta
        return table

    return expected


def label_tensor(eta, z):
    """Cells tn, fp, fn, tp of every label."""
    eta, z = np.asarray(eta, dtype=float), np.asarray(z)
    parts = (1 - eta) * (1 - z), (1 - eta) * z, eta * (1 - z), eta * z
    return np.stack(parts)


def label_value(metric, average):
    def value(cells):
        _, fp, fn, tp = cells
        counts = np.stack([tp, tp + fp, tp + fn, cells.sum(axis=0)])
        if average == "micro":
            return float(metric.value(*counts.sum(axis=1)))
        return float(metric.value(*counts).mean())

    return value


def classes_problem(n=70, width=4, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.arange(1.0, width + 1), n)
    return p, np.array([rng.choice(width, p=one) for one in p])


def labels_problem(n=60, width=3, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 3, (n, width))
    return p, (rng.random((n, width)) < p).astype(int)


def same_but_for_ties(found, wanted, margins, counts, own):
    """Equal up to the first row at which differences cannot tell two gains apart."""
    close = np.flatnonzero(margins < 1e-7)
    last = close[0] if close.size else len(wanted)
    assert last > 25
    np.testing.assert_array_equal(found[:last], wanted[:last])
    if last == len(wanted) and own is not None:
        np.testing.assert_allclose(own, counts, rtol=1e-9, atol=1e-9)


OPTIONS = {
    "plain": {},
    "small prior": {"prior": 1e-2},
    "soft": {"update": "probabilities"},
    "fading": {"forget": 20.0},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("metric", CLASS_METRICS)
def test_classes_equal_the_twin(metric, options):
    p, y = classes_problem()
    rule = OMMARule(**options)
    state = rule.init_state(metric, n_classes=4)
    found = rule.run(state, p, y)
    score = get_class_metric(metric, n_classes=4).score
    wanted = twin(
        lambda table: float(score(table)),
        *(RIGHT_CLASSES, class_tensor(4), range(4), p, y),
        soft="update" in options,
        decay=math.exp(-1 / 20) if "forget" in options else 1.0,
        prior=options.get("prior"),
    )
    same_but_for_ties(found, *wanted, rule.counts_of(state))


def test_weighted_means_and_costs_equal_the_twin():
    p, y = classes_problem()
    cost = np.random.default_rng(1).random((4, 4))
    costs = get_class_metric(cost=cost, n_classes=4)
    for metric, average in (("f1", "weighted"), (costs, "macro")):
        rule = OMMARule(average)
        state = rule.init_state(metric, n_classes=4)
        given = {"average": "weighted"} if average == "weighted" else {}
        score = get_class_metric(metric, n_classes=4, **given).score
        wanted = twin(
            lambda table, score=score: float(score(table)),
            *(RIGHT_CLASSES, class_tensor(4), range(4), p, y),
        )
        same_but_for_ties(rule.run(state, p, y), *wanted, rule.counts_of(state))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("metric", LABEL_METRICS)
def test_labels_equal_the_twin(metric, average, options):
    p, y = labels_problem()
    rule = OMMARule(average, **options)
    state = rule.init_state(metric, n_labels=3)
    found = rule.run(state, p, y)
    answers = list(itertools.product((0, 1), repeat=3))
    wanted, margins, cells = twin(
        label_value(am.get_metric(metric), average),
        *(RIGHT_LABELS, label_tensor, answers, p, y),
        soft="update" in options,
        decay=math.exp(-1 / 20) if "forget" in options else 1.0,
        prior=options.get("prior"),
    )
    _, fp, fn, tp = cells
    counts = np.stack([tp, tp + fp, tp + fn, cells.sum(axis=0)])
    same_but_for_ties(found, wanted, margins, counts, rule.counts_of(state))


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("metric", ["f1", "f2", "jaccard", "precision", "recall"])
def test_budgets_equal_the_twin(metric, average):
    p, y = labels_problem(width=4)
    rule = OMMARule(average, per_row=2)
    state = rule.init_state(metric, n_labels=4)
    found = rule.run(state, p, y)
    answers = [z for z in itertools.product((0, 1), repeat=4) if sum(z) == 2]
    wanted, margins, _ = twin(
        label_value(am.get_metric(metric), average),
        *(RIGHT_LABELS, label_tensor, answers, p, y),
    )
    same_but_for_ties(found, wanted, margins, None, None)
    assert (found.sum(axis=1) == 2).all()
    more = OMMARule(per_row=9)
    assert more.decide(more.init_state("f1", n_labels=4), p).all()


def test_of_one_label_it_is_the_level_at_the_counts():
    """With one label OMMA is OFO: F1's threshold is (tp + λ)/(k + t + 4λ)."""
    p, y = labels_problem(2000, 1)
    rule = OMMARule(prior=2.5)
    state = rule.init_state("f1", n_labels=1)
    ofo = OFORule(prior=(2.5, 10.0))
    run = ofo.run(ofo.init_state("f1"), p[:, 0], y[:, 0])
    np.testing.assert_array_equal(rule.run(state, p, y)[:, 0], run.labels)


@pytest.mark.parametrize("size", [1, 7])
def test_blocks_do_not_matter(size):
    for problem, kind in ((classes_problem, "n_classes"), (labels_problem, "n_labels")):
        p, y = problem()
        width = {kind: p.shape[1]}
        rule = OMMARule(forget=30.0)
        whole, parts = rule.init_state(**width), rule.init_state(**width)
        weight = np.random.default_rng(2).integers(0, 3, len(p))
        labels = rule.run(whole, p, y, sample_weight=weight)
        for i in range(0, len(p), size):
            cut = slice(i, i + size)
            np.testing.assert_array_equal(
                rule.run(parts, p[cut], y[cut], sample_weight=weight[cut]), labels[cut]
            )
        np.testing.assert_array_equal(whole, parts)
        before = whole.copy()
        assert rule.run(whole, p[:0], y[:0]).shape == y[:0].shape
        rule.decide(whole, p)
        np.testing.assert_array_equal(whole, before)
        light = rule.init_state(**width)
        rule.run(light, p, y, sample_weight=np.zeros(len(p)))
        assert not rule.counts_of(light).any()


def test_ties_and_certain_rows():
    rule = OMMARule()
    state = rule.init_state("f1", n_classes=3)
    np.testing.assert_array_equal(rule.decide(state, np.full((2, 3), 1 / 3)), [0, 0])
    np.testing.assert_array_equal(rule.run(state, np.eye(3), [0, 1, 2]), [0, 1, 2])
    rule = OMMARule(prior=(6, 2))  # the level is 3/8 before the first row
    state = rule.init_state("f1", n_labels=2)
    found = rule.decide(state, [[0.375, 0.376], [0.0, 1.0]])
    np.testing.assert_array_equal(found, [[0, 1], [0, 1]])
    assert (rule.gains_of(state, [[0.375, 0.376]]) > 0).tolist() == [[False, True]]
    never = rule.init_state("f1", n_classes=3)  # nobody sees class 2
    p = np.tile([0.55, 0.43, 0.02], (500, 1))
    rule.run(never, p, np.arange(500) % 2)
    assert rule.counts_of(never)[:, 2].sum() < 10


@pytest.mark.parametrize(("metric", "gain"), [("f1", 0.01), ("gmean", 0.1), ("mcc", 0)])
def test_with_true_probabilities_it_approaches_the_best_decision(metric, gain):
    p, y = classes_problem(20_000, 5, seed=3)
    value = get_class_metric(metric, n_classes=5).score

    def score(labels):
        table = np.bincount(y * 5 + labels, minlength=25).reshape(5, 5)
        return float(value(table))

    rule = OMMARule()
    online = score(rule.run(rule.init_state(metric, n_classes=5), p, y))
    whole = score(np.asarray(am.classes.decide(p, metric).labels, dtype=int))
    assert online > whole - 0.003
    assert online > score(p.argmax(axis=1)) + gain


def test_rare_labels_with_true_probabilities():
    rng = np.random.default_rng(0)
    p = rng.beta(0.05, 2.0, (40_000, 3))  # 2.5 % of the rows
    y = (rng.random(p.shape) < p).astype(int)

    def score(labels):
        return float(am.evaluate(y, labels, "f1", average="macro"))

    rule = OMMARule()
    online = score(rule.run(rule.init_state("f1", n_labels=3), p, y))
    best = score(am.decide(p, "f1", average="macro").labels)
    assert online > best - 0.003
    assert online > score((p > 0.5).astype(int)) + 0.05


@pytest.mark.parametrize("kind", ["n_classes", "n_labels"])
def test_one_number_is_the_prior_of_all_cells(kind):
    one, other = OMMARule(prior=2.0), OMMARule(prior=[2, 2])
    np.testing.assert_array_equal(
        one.init_state(**{kind: 3}), other.init_state(**{kind: 3})
    )
    assert other.prior == (2.0, 2.0)


@pytest.mark.parametrize("options", [{}, {"per_row": 2}, *list(OPTIONS.values())[1:]])
@pytest.mark.parametrize("average", ["macro", "micro"])
def test_sparse_labels_equal_dense_ones(average, options):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, (300, 6)) * (rng.random((300, 6)) < 0.5)
    if "per_row" in options:  # an absent cell may have the largest gain
        p = np.maximum(p, 0.01)
    y = (rng.random(p.shape) < p).astype(int)
    y[:, 5] |= rng.random(300) < 0.1  # some where the model has no entry
    rule = OMMARule(average, **options)
    weight = rng.integers(0, 3, 300)
    dense, sparse = rule.init_state(n_labels=6), rule.init_state(n_labels=6)
    wanted = rule.run(dense, p, y, sample_weight=weight)
    for kind, cut in ((csr_array, slice(0, 100)), (coo_matrix, slice(100, 300))):
        given = kind(p[cut]), csr_matrix(y[cut] if kind is csr_array else y[cut] == 1)
        found = rule.run(sparse, *given, sample_weight=weight[cut])
        np.testing.assert_array_equal(found.toarray(), wanted[cut])
        assert found.format == "csr"
        assert found.data.all()
    np.testing.assert_array_equal(sparse, dense)
    gains = rule.gains_of(sparse, csr_matrix(p))
    np.testing.assert_array_equal(
        gains.toarray()[p > 0], rule.gains_of(dense, p)[p > 0]
    )
    mixed = rule.init_state(n_labels=6)
    np.testing.assert_array_equal(
        rule.run(mixed, p, csr_matrix(y), sample_weight=weight), wanted
    )


def test_sparse_labels_of_an_estimator():
    X, _, Y = several(600)
    linear = SGDClassifier(loss="log_loss", random_state=0)
    wrapped = OnlineThreshold(MultiOutputClassifier(linear))
    for model in (OnlineClassifier(), wrapped):
        dense, sparse = clone(model).fit(X, Y), clone(model).fit(X, csr_matrix(Y))
        assert dense.score_ == sparse.score_
        assert dense.score(X, Y) == sparse.score(X, csr_matrix(Y))


def several(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, 5)), rng.normal(size=(5, 4))
    y = (X @ W + rng.gumbel(size=(n, 4)) - [0, 0, 2, 4]).argmax(axis=1)
    Y = (X @ W + rng.logistic(size=(n, 4)) > 2).astype(int)
    return X, np.array(list("abcd"))[y], Y


@pytest.mark.parametrize("metric", ["f1", "mcc", "quadratic_kappa"])
def test_the_classifier_of_several_classes(metric):
    X, y, _ = several()
    order = {"classes": list("abcd")}
    model = OnlineClassifier(metric, learner="sgd")
    labels, p = model.progressive(X, y, return_proba=True)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert model.score_ == pytest.approx(
        float(am.classes.evaluate(y, labels, metric, **order))
    )
    codes = np.searchsorted(model.classes_, y)
    rule = OMMARule()
    found = rule.run(rule.init_state(metric, n_classes=4), p, codes)
    np.testing.assert_array_equal(model.classes_[found], labels)
    assert model.coef_.shape == (4, 5)
    assert model.intercept_.shape == (4,)
    for c, name in enumerate("abcd"):  # each learner is that of two classes
        two = OnlineClassifier(learner="sgd", rule="fixed").fit(X, y == name)
        np.testing.assert_array_equal(two.coef_[0], model.coef_[c])
    predicted = model.predict(X)
    gains = model.decision_function(X)
    np.testing.assert_array_equal(model.classes_[gains.argmax(axis=1)], predicted)
    assert model.score(X, y) == pytest.approx(
        float(am.classes.evaluate(y, predicted, metric, **order))
    )
    parts = OnlineClassifier(metric, learner="sgd")
    for i in range(0, 3000, 700):
        cut = slice(i, i + 700)
        parts.partial_fit(X[cut], y[cut], classes=list("abcd"))
    same_state(parts, model)
    copy = OnlineClassifier(metric, learner="sgd").set_state(model.get_state())
    same_state(copy.partial_fit(X, y), model.partial_fit(X, y))


@pytest.mark.parametrize("average", ["macro", "micro", "samples"])
def test_the_classifier_of_labels(average):
    X, _, Y = several()
    model = OnlineClassifier(rule=OMMARule(average))
    labels, p = model.progressive(X, Y, return_proba=True)
    wanted = am.evaluate(Y, labels, "f1", average=average)
    assert model.score_ == pytest.approx(float(wanted), abs=1e-12)
    half = am.evaluate(Y, (p > 0.5).astype(int), "f1", average=average)
    assert model.score_ > float(half) + 0.05
    predicted = model.predict(X)
    np.testing.assert_array_equal(model.decision_function(X) > 0, predicted == 1)
    wanted = am.evaluate(Y, predicted, "f1", average=average)
    assert model.score(X, Y) == pytest.approx(float(wanted), abs=1e-12)
    if average == "samples":
        now = model.predict_proba(X)
        own = am.decide(now, "f1", average="samples").labels
        np.testing.assert_array_equal(predicted, own)
    copy = OnlineClassifier(rule=OMMARule(average)).set_state(model.get_state())
    same_state(copy.partial_fit(X, Y), model.partial_fit(X, Y))


def test_rows_one_by_one():
    X, y, Y = several(300)
    for truth in (y, Y):
        block = OnlineClassifier(learner="sgd").partial_fit(
            X[:0], truth[:0], classes=list("abcd") if truth is y else range(4)
        )
        alone = OnlineClassifier(learner="sgd").set_state(block.get_state())
        block.partial_fit(X, truth)
        for row, label in zip(X, truth.tolist(), strict=True):
            alone.learn_one(dict(enumerate(row)), label)
        assert alone.score_ == block.score_
        row = dict(enumerate(X[0]))
        assert alone.predict_one(row) == block.predict(X[:1]).tolist()[0]
        p = alone.predict_proba_one(row)
        np.testing.assert_allclose(list(p.values()), block.predict_proba(X[:1])[0])


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        SGDClassifier(loss="log_loss", random_state=0),
        SGDClassifier(random_state=0),
    ],
)
def test_a_wrapped_model_of_several_classes(model):
    X, y, _ = several()
    wrapped = OnlineThreshold(model).fit(X, y)
    labels = []
    again = OnlineThreshold(model)
    for i in range(0, 3000, 256):
        cut = slice(i, i + 256)
        labels.append(again.progressive(X[cut], y[cut], classes=list("abcd")))
    wanted = float(am.classes.evaluate(y, np.concatenate(labels), "f1"))
    assert wrapped.score_ == again.score_ == pytest.approx(wanted)
    wanted = float(am.classes.evaluate(y, wrapped.predict(X), "f1"))
    assert wrapped.score(X, y) == pytest.approx(wanted)
    assert wrapped.predict_proba(X).shape == (3000, 4)
    message = "threshold_ is only available for binary problems"
    refuses(AttributeError, message, getattr, wrapped, "threshold_")


def test_a_wrapped_model_of_labels():
    X, _, Y = several()
    model = MultiOutputClassifier(SGDClassifier(loss="log_loss", random_state=0))
    wrapped = OnlineThreshold(model, rule=OMMARule(per_row=2)).fit(X, Y)
    predicted = wrapped.predict(X)
    assert (predicted.sum(axis=1) == 2).all()
    wanted = am.evaluate(Y, predicted, "f1", average="macro")
    assert wrapped.score(X, Y) == pytest.approx(float(wanted), abs=1e-12)


def test_a_wrapped_model_of_river():
    naive_bayes = pytest.importorskip("river.naive_bayes")
    X, y, _ = several(300)
    wrapped = OnlineThreshold(naive_bayes.GaussianNB())
    wrapped.partial_fit([], [], classes=list("abcd"))
    rows = [dict(enumerate(row)) for row in X.tolist()]
    labels = []
    for row, label in zip(rows, y.tolist(), strict=True):
        labels.append(wrapped.predict_one(row))
        wrapped.learn_one(row, label)
    wanted = float(am.classes.evaluate(y, labels, "f1", classes=list("abcd")))
    assert wrapped.score_ == pytest.approx(wanted)
    assert sum(wrapped.predict_proba_one(rows[0]).values()) == pytest.approx(1.0)
    block = OnlineThreshold(naive_bayes.GaussianNB())
    found = block.progressive(rows, y, classes=list("abcd"))
    np.testing.assert_array_equal(found, labels)


P = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
Y2 = [[1, 0, 0], [0, 0, 1]]
REFUSED = {
    "average": (lambda: OMMARule("mean"), "average must be one of"),
    "prior": (lambda: OMMARule(prior=0), "prior must be"),
    "priors": (lambda: OMMARule(prior=(10, 0)), "prior must be"),
    "three": (lambda: OMMARule(prior=(1, 1, 1)), "prior must be"),
    "both": (lambda: OMMARule().init_state("f1"), "n_classes or n_labels"),
    "micro": (lambda: OMMARule("micro").init_state(n_classes=3), "has one class"),
    "weighted": (lambda: OMMARule("weighted").init_state(n_labels=3), "for classes"),
    "samples": (lambda: OMMARule("samples").init_state(n_labels=3), "no state"),
    "function": (lambda: OMMARule().init_state(np.trace, n_classes=3), "slopes"),
    "extreme": (lambda: OMMARule().init_state("recall", n_labels=3), "extreme"),
    "no ratio": (lambda: OMMARule(per_row=1).init_state("mcc", n_labels=3), "no ratio"),
    "width": (lambda: run(n_classes=4), "a matrix of 4 columns"),
    "sum": (lambda: run(P * 0.5, n_classes=3), "sums to 0.5 in row 0"),
    "range": (lambda: run(P * 5, n_classes=3), "p is 3 at row 0, column 0"),
    "nan": (lambda: run(P * np.nan, n_labels=3), "NaN at row 0, column 0"),
    "class": (lambda: run(y=[0, 3], n_classes=3), "y is 3 at row 1; classes are"),
    "codes": (lambda: run(y=["a", "b"], n_classes=3), "number of the true class"),
    "rows": (lambda: run(y=[0], n_classes=3), "y has 1 rows but p has 2"),
    "labels": (lambda: run(y=[0, 1], n_labels=3), "y has shape"),
    "state": (lambda: OMMARule().decide(np.zeros(30), P), "damaged"),
    "sparse": (lambda: run(csr_matrix(P), n_classes=3), "p must be an array"),
    "sparse width": (lambda: run(csr_matrix(P[:, 1:]), n_labels=3), "are 3 labels"),
    "sparse range": (lambda: run(csr_matrix(P * 5), Y2, n_labels=3), "row 0, column 0"),
    "sparse y": (
        lambda: run(csr_matrix(P), csr_matrix(Y2) * 2, n_labels=3),
        "y is 2 at row 0, column 0, not 0 or 1",
    ),
    "sparse rows": (
        lambda: run(csr_matrix(P), csr_matrix(Y2)[:1], n_labels=3),
        "y has 1 rows but p has 2",
    ),
    "no state": (lambda: OMMARule().decide([1.0], P), "must be the array"),
}


def run(p=P, y=(0, 1), **width):
    rule = OMMARule()
    return rule.run(rule.init_state("f1", **width), p, y)


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_of_the_rule(case):
    call, words = REFUSED[case]
    refuses((ValueError, TypeError), words, call)


def test_refusals_of_the_estimators():
    X, y, Y = several(60)
    for options in ({"rule": "newton"}, {"learner": "stamp"}):
        with pytest.raises(ValueError, match="Only binary classification is supp"):
            OnlineClassifier(**options).fit(X, y)
    with pytest.raises(ValueError, match="detector only supports binary problems"):
        OnlineClassifier(detector=OnlineClassifier()).fit(X, y)
    model = OnlineClassifier().partial_fit(X, y, classes=list("abcd"))
    refuses(ValueError, "y is 'e' at row 1", model.partial_fit, X[:2], ["a", "e"])
    message = "delayed labels only support binary classification"
    refuses(ValueError, message, model.predict_id, X)
    for name in ("threshold_", "history_"):
        message = f"{name} is only available for binary problems"
        refuses(AttributeError, message, getattr, model, name)
    labels = OnlineClassifier().fit(X, Y)
    refuses(ValueError, "y has shape", labels.partial_fit, X, Y[:, :2])
    with pytest.raises(ValueError, match="Only binary classification"):
        OnlineClassifier(pos_label="a").fit(X, y)
    state = model.get_state()
    with pytest.raises(ValueError, match="damaged"):
        OnlineClassifier().set_state(state | {"rule": state["rule"][:-1]})
    damaged = {name: one for name, one in state.items() if name != "labelled"}
    with pytest.raises(ValueError, match="damaged"):
        OnlineClassifier().set_state(damaged)


def test_two_classes_by_the_mean_over_both():
    X, y, _ = several()
    y = y == "a"
    model = OnlineClassifier(rule=OMMARule())
    labels = model.progressive(X, y)
    assert labels.dtype == bool
    assert model.score_ == pytest.approx(float(am.classes.evaluate(y, labels, "f1")))
