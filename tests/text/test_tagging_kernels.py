"""The kernels of tagging equal their plain Python twins."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argmetric._text.kernels import tagging_features, tagging_segments, tagging_train
from argmetric._text.tagging._model import TaggerPolicy, beam, greedy, score_candidates
from argmetric._text.tagging._recipes import TaggerRecipe
from argmetric._text.tagging._training import make_learning
from argmetric._text.tagging.features import Extractor
from argmetric._text.tagging.labels import Tier, make_choices
from argmetric._text.tagging.matrix import pixel_pairs
from argmetric._text.tagging.segments import read_span_templates
from argmetric._text.tagging.templates import read_templates
from twins import tagging as twin

LABELS = ("B-X", "B-Y", "I-X", "I-Y", "O")
TABLE = """
bias
w[0]
suffix2[0]|w[-1]
pos[1]
t[-1]
t[-2]|t[-1]
t[-1]|w[0]
t[-1]|suffix2[0]
"""
JOINT = {"tag": "w[0]\nt[-1]\nchunk[-1]|w[0]", "chunk": "w[0]\nw[1]\ntag[0]\nt[-1]"}
TAGS = ("D", "N", "V")


def words(rng, n):
    vocabulary = ["a", "be", "cat", "does", "eaten"]
    pos = ["P", "QQ", "R"]
    return [list(rng.choice(vocabulary, n)), list(rng.choice(pos, n))]


def problem(seed, lengths=(3, 0, 1, 4), *, joint=False, bits=8):
    """Rows, choices and random weights of a small text."""
    rng = np.random.default_rng(seed)
    sentences = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    names = ("tag", "chunk") if joint else ("t",)
    tiers = [Tier("t", LABELS, True)]
    tables = [read_templates(TABLE)]
    if joint:
        tiers = [Tier("tag", TAGS, False), Tier("chunk", LABELS, True)]
        tables = [read_templates(JOINT[name], names) for name in names]
    extractor = Extractor(tables, bits)
    columns = words(rng, int(sentences[-1]))
    attributes = extractor.attributes(columns, int(sentences[-1]))
    choices = make_choices(tiers, tables, hash_bits=bits)
    weights = rng.normal(size=int(choices.starts[-1])).astype(np.float32)
    return (
        extractor.rows(attributes, sentences),
        choices,
        weights,
        attributes,
        extractor,
    )


def split(labels, sentences):
    return [labels[a:b].tolist() for a, b in itertools.pairwise(sentences)]


@pytest.mark.parametrize("joint", [False, True])
def test_features_are_hashed_like_the_twin(joint):
    rows, _, _, attributes, extractor = problem(1, joint=joint)
    n_tiers = 2 if joint else 1
    tokens = rows.sentences // n_tiers
    for begin, end in itertools.pairwise(tokens.tolist()):
        for token, tier in itertools.product(range(begin, end), range(n_tiers)):
            place = token * n_tiers + tier
            arguments = attributes, begin, end, token
            hashes = twin.template_hashes(*arguments, extractor._static, tier)
            expected = [twin.mix(h) >> 56 for h in hashes if h]
            own = rows.indices[rows.indptr[place] : rows.indptr[place + 1]]
            assert own.tolist() == expected
            halves = twin.template_hashes(*arguments, extractor._history, tier)
            assert rows.halves[place, : len(halves)].tolist() == halves


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_searches_equal_the_twin(seed, joint):
    rows, choices, weights, *_ = problem(seed, joint=joint)
    policy = TaggerPolicy(choices, weights)
    own = split(greedy(policy, rows), rows.sentences)
    assert own == twin.greedy(rows, choices, weights)
    for width, kind in itertools.product((1, 2, 5), ("log", "raw")):
        lists = beam(policy, rows, width, width, kind)
        expected = twin.beam(rows, choices, weights, width, log_scale=kind == "log")
        for s, found in enumerate(expected):
            begin, end = rows.sentences[s], rows.sentences[s + 1]
            for r, (labels, total) in enumerate(found):
                assert lists.labels[r, begin:end].tolist() == labels
                assert lists.totals[s, r] == pytest.approx(total, rel=1e-5, abs=1e-5)
            assert np.isneginf(lists.totals[s, len(found) :]).all()


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_beam_of_width_one_is_greedy_search(seed, joint, coarse):
    rows, choices, weights, *_ = problem(seed, (5, 2, 0, 9), joint=joint)
    if coarse:  # many ties
        weights = np.round(weights * 2)
    policy = TaggerPolicy(choices, weights)
    labels = greedy(policy, rows)
    for kind in ("log", "raw"):
        np.testing.assert_array_equal(beam(policy, rows, 1, 1, kind).labels[0], labels)


@pytest.mark.parametrize("joint", [False, True])
def test_a_wide_beam_is_exhaustive_and_forced_scores_agree(joint):
    lengths = (2,) if joint else (3,)
    rows, choices, weights, *_ = problem(7, lengths, joint=joint)
    policy = TaggerPolicy(choices, weights)
    lists = beam(policy, rows, 1000, 200)
    legal = int(np.isfinite(lists.totals).sum())
    assert np.exp(lists.totals[0, :legal]).sum() == pytest.approx(1, abs=1e-6)
    assert (np.diff(lists.totals[0, :legal]) <= 0).all()
    known = np.isneginf(lists.totals)
    forced = score_candidates(
        policy, rows, lists.static, lists.labels, np.zeros_like(lists.totals), known
    )
    np.testing.assert_array_equal(forced[0, :legal], lists.totals[0, :legal])
    for r in range(legal):
        labels = lists.labels[r].tolist()
        expected = twin.log_probability(rows, choices, weights, 0, labels)
        assert lists.totals[0, r] == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_illegal_sequences_have_no_probability():
    rows, choices, weights, *_ = problem(3, (2,))
    policy = TaggerPolicy(choices, weights)
    lists = beam(policy, rows, 2, 2)
    inside = np.array([[2, 2], [0, 3]])  # I-X I-X, and B-X I-Y
    scores = score_candidates(
        policy, rows, lists.static, inside, np.zeros((1, 2)), np.zeros((1, 2), bool)
    )
    assert np.isneginf(scores).all()


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("learner", ["logistic", "perceptron", "svm"])
@pytest.mark.parametrize("roll_in", ["gold", "own"])
def test_learning_equals_the_twin(learner, roll_in, joint):
    rows, choices, _, *_ = problem(5, (3, 0, 4), joint=joint)
    rng = np.random.default_rng(11)
    gold = []
    for i in range(int(rows.sentences[-1])):
        tier = i % len(choices.n_labels)
        gold.append(int(rng.integers(choices.n_labels[tier])))
    gold = np.array(gold)
    if not joint:
        gold = np.array([0, 2, 4, 1, 3, 3, 0])
    else:
        gold[1::2] = [0, 2, 4, 1, 3, 3, 0]
    recipe = TaggerRecipe(roll_in, 3, 0.1, 0.0, learner, "zero_one")
    learning = make_learning(choices, recipe, rows, gold, 2)
    plain = [learning.weights.astype(float), learning.squares.astype(float)]
    plain.append(learning.sums.astype(float))
    when = 0.0
    share = 1.0 if roll_in == "gold" else 0.0
    order = np.random.default_rng(2)
    for epoch in range(3):
        learning.run_epoch()
        growth = 0.0 if epoch == 0 else 1 / len(gold) / 2
        kind = ["logistic", "perceptron", "svm"].index(learner)
        plan = twin.Settings(kind, 0.1, 0.0, share, 0.0, growth)
        when = twin.train(
            rows, choices, plan, gold, order.permutation(np.arange(3)), *plain, when
        )
    np.testing.assert_allclose(learning.weights, plain[0], rtol=2e-4, atol=2e-5)
    assert learning.time == pytest.approx(when) == pytest.approx(1)
    average = plain[0] - plain[2] / when
    np.testing.assert_allclose(learning.average(), average, rtol=2e-4, atol=2e-5)
    if learner != "perceptron":  # which may have nothing to learn after one epoch
        assert np.any(learning.average() != learning.weights)


def legal_sequences(n):
    for labels in itertools.product(range(5), repeat=n):
        names = [LABELS[k] for k in labels]
        before = ["O", *names]
        if all(
            not name.startswith("I") or last[2:] == name[2:]
            for last, name in zip(before, names, strict=False)
        ):
            yield labels


def test_regrets_equal_brute_force_on_every_state_of_small_problems():
    _, choices, *_ = problem(0)
    n = 4
    ends = np.empty(n, np.int64)
    found = np.empty(5)
    checked = 0
    everything = list(legal_sequences(n))
    for gold in everything[::7]:
        target = np.array(gold)
        count = tagging_train.gold_ends(tuple(choices), 0, target, 0, n, ends)
        best = {}
        for labels in everything:
            f1 = twin.best_f1(choices, list(gold), list(labels))
            for t in range(n + 1):
                best[labels[:t]] = max(best.get(labels[:t], 0.0), f1)
        for prefix in [p for p in best if len(p) < n]:
            tracker = np.array([0, 0, -1, count, 0])
            for t, label in enumerate(prefix):
                state = tuple(choices), 0, label, target, (0, t), ends, tracker
                tagging_train.follow(*state)
            t = len(prefix)
            allowed = choices.allowed[0, prefix[-1] + 1 if prefix else 0]
            state = tuple(choices), 0, target, (0, t), ends, tracker
            tagging_train.regrets(*state, allowed, found)
            legal = np.flatnonzero(allowed)
            values = np.array([best[(*prefix, k)] for k in legal])
            expected = (values.max() - values) * max(count, 1)
            np.testing.assert_allclose(found[legal], expected, atol=1e-9)
            checked += len(legal)
    assert checked > 4_000


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("learner", ["logistic", "perceptron", "svm"])
def test_regret_margins_teach_what_costs(learner, joint):
    rows, choices, *_ = problem(5, (3, 4), joint=joint, bits=10)
    gold = np.array([0, 2, 4, 1, 3, 3, 0])
    if joint:
        gold = np.stack([gold % 3, gold], axis=1).ravel()
    recipe = TaggerRecipe("own", 30, 0.1, 0.0, learner, "regret")
    learning = make_learning(choices, recipe, rows, gold, 0)
    for _ in range(30):
        learning.run_epoch()
    found = greedy(TaggerPolicy(choices, learning.average()), rows)
    np.testing.assert_array_equal(found, gold)


@given(st.data())
def test_memory_equals_the_twin(data):
    lengths = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    n = sum(lengths)
    vocabulary = st.integers(0, 2)
    words = np.array(data.draw(st.lists(vocabulary, min_size=n, max_size=n)), np.int64)
    labels = np.array(data.draw(st.lists(vocabulary, min_size=n, max_size=n)), np.int64)
    window, past = data.draw(st.integers(0, 8)), data.draw(st.booleans())
    owners = np.repeat(np.arange(len(lengths)), lengths)
    memory = np.zeros(n, np.uint32)
    order = np.argsort(words, kind="stable")
    tagging_features.remembered(words, order, owners, labels, 3, window, past, memory)
    expected = twin.remembered(words, owners, labels, 3, window, past)
    assert memory.tolist() == expected


def matrix_offsets(radius: int) -> list[tuple[int, int]]:
    """Steps down and across from a pixel to the later one of a pair, in order."""
    steps = [(0, across) for across in range(1, radius + 1)]
    sides = range(-radius, radius + 1)
    return steps + [(d, a) for d in range(1, radius + 1) for a in sides]


@pytest.mark.parametrize("radius", [0, 1, 3])
def test_pixel_pairs_equal_the_twin(radius):
    rng = np.random.default_rng(radius)
    images = rng.random((20, 5, 4)) < 0.4
    X = pixel_pairs(images.reshape(20, -1), (5, 4), radius=radius)
    offsets = matrix_offsets(radius)
    for i, image in enumerate(images):
        columns = X.indices[X.indptr[i] : X.indptr[i + 1]]
        count, pairs = twin.pixel_pairs(image, radius)
        assert np.sum(columns < 20) == count
        found = set()
        for column in columns[columns >= 20] - 20:
            first, (down, across) = (
                column // len(offsets),
                offsets[column % len(offsets)],
            )
            found.add((first, first + 4 * down + across))
        assert found == pairs
        assert len(set(columns)) == len(columns)
    assert (X.data == 1).all()


SPANS = "length\nw[s]\npos[*]\nw[e+1]|w[s-1]\nw[+]\nw[+-1]|w[+]\nt[-1]\nt[-1]|pos[*]"


def span_features(text, plan, bits, begin, end, s, m, code):
    """Rows of the features of a span, by the definition of each template."""
    rows = []
    for j in range(len(plan.salts)):
        for last in range(s, s + m) if plan.kinds[j] == 1 else [s + m - 1]:
            codes = []
            for column, anchor, offset in plan.parts[plan.ends[j] : plan.ends[j + 1]]:
                if anchor == 4:
                    codes.append([m])
                elif anchor == 2:
                    codes.append(text[s : s + m, column].tolist())
                else:
                    there = (s if anchor == 0 else last) + offset
                    if anchor == 3 and there < s:
                        codes = None
                        break
                    codes.append([twin.code_at(text, column, there, begin, end)])
            if codes is None:
                continue
            rows.append((j, plan.kinds[j], last, codes))
    return rows


def test_chunks_decided_whole_search_like_enumeration():
    rng = np.random.default_rng(4)
    plan, names = read_span_templates(SPANS, 8)
    K, M, n = 3, 3, 5
    text = rng.integers(1, 4, (n, len(names))).astype(np.uint32)
    weights = rng.normal(size=K << 8).astype(np.float32)
    sentences = np.array([0, n])

    def best_of(width):
        labels, totals = np.empty(n, np.int64), np.empty(1)
        tagging_segments.search(
            text,
            sentences,
            tuple(plan),
            weights,
            K,
            M,
            width,
            labels,
            totals,
        )
        return labels, totals[0]

    every = list(segmentations(n, K, M))
    totals = {way: way_score(text, plan, weights, K, M, n, way) for way in every}
    assert sum(np.exp(t) for t in totals.values()) == pytest.approx(1, abs=1e-5)
    way = max(every, key=totals.__getitem__)
    labels, total = best_of(len(every))
    assert total == pytest.approx(totals[way], abs=1e-5)
    assert [x for x in labels if x >= 0] == [m * K + k for m, k in way]
    greedy_way, greedy_total = best_of(1)
    assert greedy_total <= total
    taken = tuple((x // K, x % K) for x in greedy_way if x >= 0)
    assert greedy_total == pytest.approx(totals[taken], abs=1e-5)


def segmentations(n, K, M):
    if n == 0:
        yield ()
    for m in range(1, min(M, n) + 1):
        for k in range(K if m == 1 else K - 1):
            for rest in segmentations(n - m, K, M):
                yield ((m, k), *rest)


def way_score(text, plan, weights, K, M, n, way):
    """Log probability of a segmentation, features by the definition."""
    s, code, total = 0, 0, 0.0
    for length, label in way:
        chances = span_chances(text, plan, weights, K, M, n, s, code)
        total += np.log(chances[length, label])
        code = (code << 8 | label + 1) & (1 << 64) - 1
        s += length
    return total


def span_chances(text, plan, weights, K, M, n, s, code):
    """Probability of every length and label of the span that starts at s."""
    own = {}
    for m in range(1, min(M, n - s) + 1):
        rows = [row for *_, row in span_rows(text, plan, K, n, s, m, code)]
        scores = sum((weights[row : row + K] for row in rows), np.zeros(K))
        own |= {(m, k): scores[k] for k in range(K if m == 1 else K - 1)}
    values = np.exp(np.array(list(own.values())) - max(own.values()))
    return dict(zip(own, values / values.sum(), strict=True))


def span_rows(text, plan, K, n, s, m, code):
    """Kind, last token and first weight of every feature of a span."""
    for j, kind, last, groups in span_features(text, plan, 8, 0, n, s, m, code):
        h = span_hash(plan, j, groups)
        if h == 0:
            continue
        if kind == 2:
            mask = int(plan.masks[plan.places[j]])
            h ^= (code & mask) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
        yield kind, last, (twin.mix(h) >> 56) * K


def test_learning_of_whole_chunks_equals_the_definition():
    """AdaGrad down the gradient of -log P of the gold chunk, along the gold ones."""
    rng = np.random.default_rng(6)
    plan, names = read_span_templates(SPANS, 8)
    K, M, n = 3, 3, 6
    text = rng.integers(1, 4, (n, len(names))).astype(np.uint32)
    gold = np.array([2 * K + 1, -1, -1, 3 * K, -1, -1])
    learned = [np.zeros(K << 8, np.float32), np.full(K << 8, 0.5, np.float32)]
    learned.append(np.zeros(K << 8, np.float32))
    plain = [array.astype(float) for array in learned]
    when = plain_when = 0.0
    for _ in range(3):
        wrong, decisions, when = tagging_segments.train(
            text, np.array([0, n]), tuple(plan), (0.2, 0.0, 1.0, 0.1), gold,
            np.array([0]), tuple(learned), when, np.zeros(1, np.uint64), K, M,
        )  # fmt: skip
        plain_when = learn_along(text, plan, gold, 0.2, 0.1, plain, plain_when, K, M)
    assert when == pytest.approx(plain_when) == pytest.approx(3 * 0.1 * n)
    assert (wrong, decisions) == (0, 3)
    for own, expected in zip(learned, plain, strict=True):
        np.testing.assert_allclose(own, expected, rtol=2e-4, atol=2e-5)


def learn_along(text, plan, gold, step, averaging, learned, when, K, M):
    """One pass over one sentence, as `train` has it, from the definition."""
    weights, squares, sums = learned
    s, code, n = 0, 0, len(gold)
    while s < n:
        length, label = divmod(int(gold[s]), K) if gold[s] >= 0 else (1, K - 1)
        chances = span_chances(text, plan, weights, K, M, n, s, code)
        slopes = np.zeros((min(M, n - s) + 1, K))
        for (m, k), chance in chances.items():
            slopes[m, k] = chance - ((m, k) == (length, label))
        of_span, of_history, of_token = [], [], []
        for m in range(1, len(slopes)):
            for kind, last, row in span_rows(text, plan, K, n, s, m, code):
                if kind == 2:
                    of_history.append((m, row, slopes[m]))
                elif kind == 0:
                    of_span.append((m, row, slopes[m]))
                elif last == s + m - 1:  # a token counts in every span that reaches it
                    of_token.append((m, row, slopes[m:].sum(axis=0)))
        by_length = sorted(of_span + of_history, key=lambda one: one[0])
        sure = chances[length, label] > 0.99
        for _, row, slope in [] if sure else by_length + of_token:
            for k in np.flatnonzero(np.abs(slope) >= 0.002):
                squares[row + k] += slope[k] ** 2
                change = -step * slope[k] / np.sqrt(squares[row + k])
                weights[row + k] += change
                sums[row + k] += change * when
        code = (code << 8 | label + 1) & (1 << 64) - 1
        s += length
        when += averaging * length
    return when


def span_hash(plan, j, groups):
    """As `span_hash` of the kernel: one more scattering after a whole span."""
    word, golden = (1 << 64) - 1, 0x9E3779B97F4A7C15
    h = int(plan.salts[j])
    parts = plan.parts[plan.ends[j] : plan.ends[j + 1]]
    for (_, anchor, _), codes in zip(parts, groups, strict=True):
        for code in codes:
            h = (h ^ int(code)) * golden & word
            if anchor == 2:
                h ^= h >> 29
        h ^= h >> 29
    return h | 1
