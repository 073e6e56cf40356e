"""What summarizers learn from references: rates, weights, policies and their rows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric.search.summaries.cluster import read_cluster
from argmetric.search.summaries.growth import Growth, best_of
from argmetric.search.summaries.material import (
    Budget,
    make_material,
    recall_steps,
    text_of,
)
from argmetric.search.summaries.policies import (
    Lesson,
    _weights,
    features,
    fixed_features,
    learn_dagger,
    lesson_steps,
)
from argmetric.search.summaries.rouge import rouge_recall, tokens
from argmetric.search.summaries.weights import (
    RidgeSums,
    _features,
    count_rates,
    fit_linear,
    gram_names,
    learn_weights,
    share_of_references,
)
from reviews import hotels
from twins import summaries as twin

# ---------------------------------------------------------------------- regression


def ridge(features, targets, penalty, weights):
    """Least squares of rows and of one row for each penalised weight."""
    weights = np.asarray(weights, dtype=float)
    mean = np.average(features, axis=0, weights=weights)
    spread = np.sqrt(np.average((features - mean) ** 2, axis=0, weights=weights))
    scaled = (features - mean) / np.where(spread > 0, spread, 1.0)
    root = np.sqrt(weights)
    n = features.shape[1]
    rows = np.column_stack([root, root[:, None] * scaled])
    more = np.column_stack([np.zeros(n), np.sqrt(penalty) * np.eye(n)])
    found, *_ = np.linalg.lstsq(
        np.vstack([rows, more]), np.append(root * targets, np.zeros(n)), rcond=None
    )

    def predict(x):
        return found[0] + (x - mean) / np.where(spread > 0, spread, 1.0) @ found[1:]

    return predict


@pytest.mark.parametrize("penalty", [1e-9, 1.0, 30.0])
def test_ridge_regression_is_least_squares_with_a_penalty(penalty):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 4)) * [1.0, 1e3, 1e-3, 5.0] + [0.0, 1e4, 0.0, -7.0]
    y = x @ [1.0, 1e-3, 400.0, 0.0] + rng.normal(size=40)
    new = rng.normal(size=(9, 4)) * [1.0, 1e3, 1e-3, 5.0]
    expected = ridge(x, y, penalty, np.ones(40))(new)
    assert fit_linear(x, y, penalty).predict(new) == pytest.approx(expected, rel=1e-7)
    weights = rng.uniform(0.1, 3.0, 40)
    sums = RidgeSums(4)
    sums.add(x[:25], y[:25], weights[:25])
    sums.add(x[25:], y[25:], weights[25:])
    expected = ridge(x, y, penalty, weights)(new)
    assert sums.fit(penalty).predict(new) == pytest.approx(expected, rel=1e-7)


def test_what_does_not_vary_has_no_weight():
    rng = np.random.default_rng(5)
    x = np.column_stack([rng.normal(size=30), np.full(30, 0.1), np.full(30, -3e8)])
    y = 2.0 * x[:, 0] + 1.0
    found = fit_linear(x, y, 1e-6)
    assert found.weights[1:].tolist() == [0.0, 0.0]
    assert found.predict(np.add(x, [0.0, 5.0, 5.0])) == pytest.approx(y, abs=1e-6)
    nothing = fit_linear(np.empty((0, 2)), np.empty(0), 1.0)
    assert nothing.predict(np.ones((3, 2))).tolist() == [0.0] * 3


# ------------------------------------------------------------------------- recall

WORDS = st.sampled_from(["a", "B", "c", "a-b", "c'c", "--", "é", "d."])
TEXTS = st.lists(WORDS, min_size=1, max_size=7).map(" ".join)
DOCUMENTS = st.lists(st.lists(TEXTS, min_size=1, max_size=3), min_size=1, max_size=2)
REFERENCES = st.lists(
    st.lists(st.sampled_from("abcde"), min_size=1, max_size=9).map(" ".join),
    min_size=1,
    max_size=3,
)


@given(DOCUMENTS, REFERENCES, st.data())
def test_steps_of_recall_sum_up_to_rouge(documents, references, data):
    cluster = read_cluster(documents, "it")
    material = make_material(cluster, "sentences", None, references)
    n = cluster.n_words
    kept = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    text = text_of(cluster.words, kept)
    counts = twin.grams_of(tokens(text))
    names = gram_names(material).tolist()
    numbers = {tuple(name.split()): i for i, name in enumerate(names)}
    steps = recall_steps(material.grams, material.references)
    [value] = twin.value_of(counts, numbers, steps)
    assert value == pytest.approx(rouge_recall(text, references)[0], abs=1e-12)


# -------------------------------------------------------------------------- rates


def materials_of(n, seed=0):
    clusters, references = hotels(n, seed)
    return [
        make_material(read_cluster(documents, "it"), "sentences", None, own)
        for documents, own in zip(clusters, references, strict=True)
    ]


@pytest.fixture(scope="module")
def materials():
    return materials_of(5)


@pytest.fixture(scope="module")
def shares(materials):
    return [share_of_references(material) for material in materials]


def test_rates_are_sums_over_clusters(materials, shares):
    rates = count_rates(materials, shares)
    assert rates.n_clusters == 5
    sources = [set(gram_names(m)[m.grams.times > 0].tolist()) for m in materials]
    said = [
        [{" ".join(gram) for gram in twin.grams_of(one)} for one in m.references]
        for m in materials
    ]
    expected = set().union(*sources, *(one for own in said for one in own))
    assert rates.names.tolist() == sorted(expected)
    for i, name in enumerate(rates.names.tolist()):
        share = [sum(name in one for one in own) / len(own) for own in said]
        inside = [name in own for own in sources]
        assert rates.clusters[i] == sum(inside)
        assert rates.references[i] == pytest.approx(sum(share))
        pairs = zip(share, inside, strict=True)
        assert rates.shares[i] == pytest.approx(sum(s for s, one in pairs if one))


def test_to_leave_one_out_is_to_count_without_it(materials, shares):
    every = count_rates(materials, shares)
    for i, material in enumerate(materials):
        others = count_rates(
            materials[:i] + materials[i + 1 :], shares[:i] + shares[i + 1 :]
        )
        found, expected = every.of(material, shares[i]), others.of(material, None)
        for one, other in zip(found, expected, strict=True):
            assert one == pytest.approx(other, abs=1e-12)
        assert np.abs(every.of(material, None)[0] - expected[0]).max() > 0.05


def test_of_what_no_cluster_knows_the_usual_rate_is_expected(materials, shares):
    rates = count_rates(materials, shares)
    cluster = read_cluster(["Zebras graze. The room was zebras."], "it")
    material = make_material(cluster, "sentences", None)
    rate, use, clusters = rates.of(material, None)
    names = gram_names(material).tolist()
    is_pair = np.array([" " in name for name in rates.names.tolist()])
    for name, chosen in (("zebras", ~is_pair), ("zebras graze", is_pair)):
        usual = rates.shares[chosen].sum() / rates.clusters[chosen].sum()
        i = names.index(name)
        assert rate[i] == pytest.approx(usual)
        assert use[i] == pytest.approx(np.log(0.1 / 5.1))
        assert clusters[i] == 0.0


# ------------------------------------------------------------------------ weights


def test_weights_are_regressions_on_the_expected_recall(materials, shares):
    weights = learn_weights(materials, shares)
    rows = {False: ([], []), True: ([], [])}
    for material, own in zip(materials, shares, strict=True):
        sizes = [len(one) - 1 for one in material.references]
        worth = np.mean([1.0 / size for size in sizes])
        both = _features(material, weights.rates, own)
        names = gram_names(material).tolist()
        for pairs in (False, True):
            numbers = [i for i, name in enumerate(names) if (" " in name) == pairs]
            for row, i in zip(both[pairs], numbers, strict=True):
                if material.grams.times[i]:
                    rows[pairs][0].append(row)
                    rows[pairs][1].append(100.0 * worth * own.sources[i])
    for pairs, linear in ((False, weights.of_tokens), (True, weights.of_pairs)):
        x, y = map(np.array, rows[pairs])
        expected = ridge(x, y, 30.0, np.ones(len(x)))(x)
        assert linear.predict(x) == pytest.approx(expected, abs=1e-8)
        assert np.corrcoef(linear.predict(x), y)[0, 1] > 0.5


def test_only_what_the_sources_say_has_a_weight(materials, shares):
    weights = learn_weights(materials, shares)
    cluster = read_cluster(["The room was. Clean and kind."], "it")
    material = make_material(cluster, "sentences", None, ["was clean and kind"])
    found = dict(
        zip(gram_names(material).tolist(), weights.of(material).tolist(), strict=True)
    )
    assert found["was clean"] == 0.0  # of the reference alone
    assert found["the room"] > 0.0
    assert min(found.values()) >= 0.0


# -------------------------------------------------------------------------- SEARN


def start(material, steps, words=12):
    is_open = np.ones(len(material.pieces), dtype=bool)
    return Growth(material, Budget(words, "words"), steps, is_open)


def recall_of(growth, references):
    text = text_of(growth.material.cluster.words, growth.kept)
    return rouge_recall(text, references)[0]


def rows_of(lessons, weights, iterations, beam=1):
    return list(learn_dagger(lessons, weights, start, iterations=iterations, beam=beam))


@pytest.mark.parametrize("n", [1, 2, 3, 299, 300, 301, 1000])
def test_the_best_pieces_of_a_state_have_half_of_its_weight(n):
    rates = np.random.default_rng(n).permutation(n).astype(float)
    weights = _weights(rates)
    n_best = min(n // 2, 150)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[rates >= n - n_best].sum() == pytest.approx(0.5 if n > 1 else 0.0)
    assert len(np.unique(weights)) == (1 if (n % 2 == 0 and n <= 300) or n == 1 else 2)


@pytest.fixture(scope="module")
def lessons():
    materials = materials_of(8)
    shares = [share_of_references(material) for material in materials]
    weights = learn_weights(materials, shares)
    made = [
        Lesson(material, lesson_steps(material, own, weights), fixed_features(material))
        for material, own in zip(materials, shares, strict=True)
    ]
    return made, weights, hotels(8)[1]


def test_rows_tell_of_the_policy_that_was_followed(lessons):
    made, weights, references = lessons
    rows = rows_of(made, weights, 2)
    assert [row.iteration for row, _ in rows] == [0, 1, 2]
    for (_, policy), (row, _) in pairwise(rows):
        recalls, regrets = [], []
        for lesson, own in zip(made, references, strict=True):
            growth = start(lesson.material, lesson.steps)
            before = 0.0
            while growth.measure():
                x = features(growth, lesson.fixed)
                known = 1200 * growth.values[:, 0] / np.maximum(growth.sizes, 1.0)
                piece = best_of(known + policy.linear.predict(x), growth)
                rates = []
                for other in np.flatnonzero(growth.sizes > 0.0).tolist():
                    after = growth.branch()
                    after.take(other, 0.0)
                    gain = recall_of(after, own) - before
                    rates.append((12 * gain / growth.sizes[other], other == piece))
                regrets.append(max(rates)[0] - sum(r for r, mine in rates if mine))
                growth.take(piece, 0.0)
                before = recall_of(growth, own)
            recalls.append(before)
        assert row.loss == pytest.approx(1.0 - np.mean(recalls), abs=1e-12)
        assert row.regret == pytest.approx(np.mean(regrets), abs=1e-12)
        assert row.steps == len(regrets) / len(made)


def test_a_policy_is_learned_from_the_states_of_all_before(lessons):
    made, weights, _ = lessons
    one, two = rows_of(made, weights, 1), rows_of(made, weights, 2)
    assert one[0][1].linear.weights.tolist() == two[0][1].linear.weights.tolist()
    assert one[1][1].linear.weights.tolist() == one[0][1].linear.weights.tolist()
    assert two[1][1].linear.weights.tolist() != two[0][1].linear.weights.tolist()
    assert two[2][1] is two[1][1]  # the last one is measured, no more
