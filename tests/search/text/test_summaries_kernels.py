"""The kernels and the learning of summaries equal recounting and plain loops."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric.search.kernels import summaries as kernels
from argmetric.search.summaries.cluster import read_cluster
from argmetric.search.summaries.growth import Growth, best_of
from argmetric.search.summaries.material import (
    Budget,
    make_material,
    number_grams,
    text_of,
)
from argmetric.search.summaries.policies import (
    Lesson,
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

# Words of no token, of one, and of several
WORDS = st.sampled_from(["a", "b", "C", "a-b", "b'b", "--", "é", "x,"])
SENTENCES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
CLUSTERS = st.lists(
    st.lists(SENTENCES, min_size=1, max_size=3), min_size=1, max_size=2
).map(lambda documents: read_cluster(documents, "it"))
REFERENCES = st.lists(st.lists(st.sampled_from("abcxz"), max_size=5), max_size=2)


# --------------------------------------------------------------------------- grams


def numbers_of(grams):
    """Numbers of grams by their tokens."""
    types = grams.types
    pairs = zip(grams.lefts.tolist(), grams.rights.tolist(), strict=True)
    single = {(token,): i for i, token in enumerate(types)}
    return single | {
        (types[a], types[b]): len(types) + i for i, (a, b) in enumerate(pairs)
    }


def counted(cluster, kept):
    """Grams of the kept words, by reading their text."""
    words = [word for word, one in zip(cluster.words, kept, strict=True) if one]
    return twin.grams_of(tokens(" ".join(words)))


@given(CLUSTERS, REFERENCES)
def test_grams_are_those_of_the_sentences_and_of_the_references(cluster, references):
    grams = number_grams(cluster, references)
    numbers = numbers_of(grams)
    bounds = pairwise(cluster.sentence_starts.tolist())
    own = [twin.grams_of(tokens(" ".join(cluster.words[a:b]))) for a, b in bounds]
    wanted = set().union(*own) | {
        pair
        for one in references
        for pair in pairwise(one)
        if all((token,) in numbers for token in pair)
    }
    assert set(numbers) == wanted
    assert len(grams) == len(wanted)
    places = cluster.sentence_documents.tolist()
    if len(cluster.documents) == 1:
        places = list(range(cluster.n_sentences))
    assert grams.n_documents == len(set(places))
    for gram, number in numbers.items():
        assert grams.times[number] == sum(one[gram] for one in own)
        where = {place for place, one in zip(places, own, strict=True) if one[gram]}
        assert grams.documents[number] == len(where)


@given(CLUSTERS, REFERENCES, st.data())
def test_grams_of_kept_words_are_counted(cluster, references, data):
    grams = number_grams(cluster, references)
    n = cluster.n_words
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), "u1")
    counts = np.full(len(grams), 7)
    kernels.count_grams(cluster.sentence_starts, grams.text, grams.table, kept, counts)
    expected = counted(cluster, kept)
    assert {gram: counts[number] for gram, number in numbers_of(grams).items()} == {
        gram: expected[gram] for gram in numbers_of(grams)
    }


# -------------------------------------------------------------------------- pieces


@st.composite
def states(draw):
    """A cluster, what is kept of it, pieces, and values and costs of whole numbers."""
    cluster = draw(CLUSTERS)
    grams = number_grams(cluster, draw(REFERENCES))
    n = cluster.n_words
    kept = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    pieces = []
    for s, (low, high) in enumerate(pairwise(cluster.sentence_starts.tolist())):
        own = st.sets(st.integers(low, high - 1), min_size=1)
        pieces += [(s, sorted(one)) for one in draw(st.lists(own, max_size=3))]
    if draw(st.booleans()):
        pieces = draw(st.permutations(pieces))
    shape = draw(st.integers(1, 3)), len(grams), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    steps = rng.integers(-9, 10, shape).astype(float)
    costs = rng.integers(1, 4, n).astype(float)
    room = float(draw(st.integers(0, 12)))
    return cluster, grams, kept, pieces, steps, costs, room


@given(states())
def test_pieces_bring_what_recounting_the_text_says(state):
    cluster, grams, kept, pieces, steps, costs, room = state
    n_values = len(steps)
    numbers = numbers_of(grams)
    is_kept = np.array(kept, dtype=np.uint8)
    counts = np.zeros(len(grams), dtype=np.int64)
    text = cluster.sentence_starts, grams.text, grams.table
    kernels.count_grams(*text, is_kept, counts)
    before = counts.copy()
    words = [word for _, own in pieces for word in own]
    ends = np.append(0, np.cumsum([len(own) for _, own in pieces], dtype=np.int64))
    sizes, gains = np.full(len(pieces), 7.0), np.full((len(pieces), n_values), 7.0)
    owners = np.array([s for s, _ in pieces], np.int64)
    candidates = owners, ends, np.array(words, np.int64)
    whole = [np.empty(n, np.int64) for n in (cluster.n_sentences,) * 2]
    scratch = (
        *(*whole, np.empty(cluster.n_words, np.int64)),
        *(np.empty(n_values), np.empty(n_values)),
    )
    kernels.measure_pieces(
        *(*text, candidates, is_kept, counts, steps, costs, room),
        *(scratch, sizes, gains),
    )
    assert counts.tolist() == before.tolist()
    assert is_kept.tolist() == kept
    now = twin.value_of(counted(cluster, kept), numbers, steps)
    for c, (_, own) in enumerate(pieces):
        then = [one or i in own for i, one in enumerate(kept)]
        cost = sum(costs[i] for i in own if not kept[i])
        if cost > room:
            assert (sizes[c], gains[c].tolist()) == (-1.0, [0.0] * n_values)
            continue
        with_it = twin.value_of(counted(cluster, then), numbers, steps)
        assert sizes[c] == cost
        assert gains[c].tolist() == [b - a for a, b in zip(now, with_it, strict=True)]


@st.composite
def needs_of_words(draw):
    """Sizes of sentences, and for each word other words of its sentence."""
    sizes = draw(st.lists(st.integers(1, 7), min_size=1, max_size=3))
    return [
        [
            draw(st.sets(st.integers(0, n - 1), max_size=2) if n > 1 else st.just(()))
            for _ in range(n)
        ]
        for n in sizes
    ]


def closed_spans(sizes, needs, longest):
    """Pieces by the kernel: sentence and words of each."""
    sentences = np.append(0, np.cumsum(sizes))
    flat = [
        sorted(low + int(other) for other in own)
        for low, sentence in zip(sentences.tolist(), needs, strict=False)
        for own in sentence
    ]
    places = np.append(0, np.cumsum([len(own) for own in flat], dtype=np.int64))
    edges = np.array([other for own in flat for other in own], dtype=np.int64)
    nothing = np.empty(0, dtype=np.int64)
    given = sentences, places, edges, longest
    n_pieces, n_members = kernels.close_spans(*given, nothing, nothing, nothing)
    starts = np.full(n_pieces + 1, -7)
    members, owners = np.full(n_members, -7), np.full(n_pieces, -7)
    assert kernels.close_spans(*given, starts, members, owners) == (n_pieces, n_members)
    assert starts[0] == 0
    assert starts[-1] == n_members
    return [
        (owner, members[a:b].tolist())
        for owner, (a, b) in zip(
            owners.tolist(), pairwise(starts.tolist()), strict=True
        )
    ]


@given(needs_of_words(), st.integers(1, 8))
def test_spans_are_closed_under_what_they_need(needs, longest):
    sizes = list(map(len, needs))
    found = closed_spans(sizes, needs, longest)
    low = 0
    for s, (n, own) in enumerate(zip(sizes, needs, strict=True)):
        sets = [
            frozenset(word - low for word in words) for one, words in found if one == s
        ]
        expected = {twin.closure(span, own) for span in twin.spans(n, longest)}
        assert len(sets) == len(set(sets)), "each set is there once"
        assert set(sets) == expected
        assert frozenset(range(n)) in sets
        low += n
    assert [s for s, _ in found] == sorted(s for s, _ in found)
    assert all(words == sorted(words) for _, words in found)


# --------------------------------------------------------------------------- heads


@st.composite
def parted_sentences(draw):
    """Heads of parts, the word of each part, and which parts are marks."""
    n = draw(st.integers(1, 8))
    order = draw(st.permutations(range(n)))
    heads = [0] * n
    for i, part in enumerate(order):
        above = draw(st.integers(-1, i - 1))
        heads[part] = order[above] + 1 if above >= 0 else 0
    sizes = draw(st.lists(st.booleans(), min_size=n - 1, max_size=n - 1))
    words = np.append(0, np.cumsum(sizes, dtype=np.int64)).tolist()
    is_mark = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return heads, words, is_mark


@given(st.lists(parted_sentences(), min_size=1, max_size=3))
def test_words_hang_as_their_parts_do(sentences):
    sizes = [len(heads) for heads, _, _ in sentences]
    firsts = np.append(0, np.cumsum(sizes))
    n_words = np.append(0, np.cumsum([max(words) + 1 for _, words, _ in sentences]))
    result, chosen = np.full(n_words[-1], 7), np.full(n_words[-1], 7)
    kernels.word_heads(
        np.concatenate([heads for heads, _, _ in sentences]),
        firsts,
        np.concatenate(
            [
                np.array(one[1]) + low
                for one, low in zip(sentences, n_words, strict=False)
            ]
        ),
        np.concatenate([is_mark for _, _, is_mark in sentences]),
        result,
        chosen,
    )
    places = zip(sentences, firsts.tolist(), n_words.tolist(), strict=False)
    for sentence, first, low in places:
        heads, at = twin.word_heads(*sentence)
        high = low + len(heads)
        assert result[low:high].tolist() == [h + low if h >= 0 else -1 for h in heads]
        assert chosen[low:high].tolist() == [part + first for part in at]
    for word in range(n_words[-1]):
        seen = set()
        while word >= 0:
            assert word not in seen, "heads go in a circle"
            seen.add(word)
            word = int(result[word])


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


# -------------------------------------------------------------------------- SEARN


def start(material, steps, words=12):
    is_open = np.ones(len(material.pieces), dtype=bool)
    return Growth(material, Budget(words, "words"), steps, is_open)


def recall_of(growth, references):
    text = text_of(growth.material.cluster.words, growth.is_kept)
    return rouge_recall(text, references)[0]


def rows_of(lessons, weights, iterations, beam=1):
    return list(learn_dagger(lessons, weights, start, iterations=iterations, beam=beam))


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
