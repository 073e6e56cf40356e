"""Linear-chain CRFs and spans against enumeration over all sequences of labels."""

import itertools

import numpy as np
import pytest

from argmetric.sequence import (
    LinearChainCRF,
    decode_spans,
    read_chunks,
    span_marginals,
    token_model,
    write_labels,
)
from refusing import refuses

IOB2 = ("O", "B-X", "I-X", "B-Y", "I-Y")
BIOES = ("I-X", "O", "E-X", "B-X", "S-X", "S-Y")


def random_crf(rng, n, labels=IOB2, *, scale=1.5, positional=False, forbid=0.0):
    n_labels = len(labels)
    shape = (max(n - 1, 0), n_labels, n_labels) if positional else (n_labels, n_labels)
    pairwise = scale * rng.standard_normal(shape)
    pairwise[rng.random(shape) < forbid] = -np.inf
    return LinearChainCRF(scale * rng.standard_normal((n, n_labels)), pairwise, labels)


def enumerate_probabilities(crf):
    """All sequences and their probabilities, one by one."""
    sequences = list(itertools.product(range(crf.n_labels), repeat=len(crf)))
    scores = np.array([crf.score(y) for y in sequences])
    top = scores.max()
    weights = np.exp(scores - top)
    log_z = top + np.log(weights.sum())
    return np.array(sequences), weights / weights.sum(), log_z


def worlds_of(crf, scheme):
    """Sets of spans and their probabilities."""
    sequences, p, _ = enumerate_probabilities(crf)
    worlds = {}
    for y, mass in zip(sequences, p, strict=True):
        key = frozenset(read_chunks([crf.labels[i] for i in y], scheme))
        worlds[key] = worlds.get(key, 0.0) + mass
    return worlds


def compatible_sets(spans, size=None):
    """Every set of non-overlapping spans."""
    if not spans:
        yield ()
        return
    first, rest = spans[0], spans[1:]
    yield from compatible_sets(rest)
    free = [s for s in rest if s[0] >= first[1] or s[1] <= first[0]]
    for others in compatible_sets(free):
        yield (first, *others)


@pytest.mark.parametrize("positional", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_messages_equal_enumeration(n, positional):
    rng = np.random.default_rng(n)
    crf = random_crf(rng, n, positional=positional, forbid=0.1)
    sequences, p, log_z = enumerate_probabilities(crf)
    assert crf.log_partition == pytest.approx(log_z, rel=1e-12)
    marginals = np.stack(
        [[p[sequences[:, t] == y].sum() for y in range(5)] for t in range(n)]
    )
    np.testing.assert_allclose(crf.marginals, marginals, atol=1e-14)
    assert crf.score(crf.viterbi()) == pytest.approx(
        max(crf.score(y) for y in sequences), rel=1e-12
    )
    pairs = np.zeros((n - 1, 5, 5))
    for t, x, y in itertools.product(range(n - 1), range(5), range(5)):
        pairs[t, x, y] = p[(sequences[:, t] == x) & (sequences[:, t + 1] == y)].sum()
    np.testing.assert_allclose(crf.pair_marginals, pairs, atol=1e-14)


def test_scores_of_any_size_are_safe():
    """The favourite of every token is forbidden by transitions: plain scaling fails."""
    unary = np.array([[5000.0, 0.0], [5000.0, 0.0], [-5000.0, 0.0]])
    pairwise = np.array([[-np.inf, -9000.0], [-np.inf, 0.0]])
    crf = LinearChainCRF(unary, pairwise)
    _, _, log_z = enumerate_probabilities(crf)
    assert crf.log_partition == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(crf.marginals[1:], [[0, 1], [0, 1]], atol=1e-300)
    assert crf.viterbi().tolist() == [1, 1, 1]
    long = LinearChainCRF(np.full((3000, 2), 300.0), np.zeros((2, 2)))
    assert long.log_partition == pytest.approx(3000 * (300 + np.log(2)), rel=1e-12)
    np.testing.assert_allclose(long.marginals, 0.5, rtol=1e-12)


def test_two_labels_are_a_markov_chain():
    rng = np.random.default_rng(0)
    crf = random_crf(rng, 6, ("0", "1"), positional=True)
    chain = crf.to_markov_chain()
    sequences, p, _ = enumerate_probabilities(crf)
    for y, mass in zip(sequences, p, strict=True):
        steps = [chain.transitions[t][y[t], y[t + 1]] for t in range(5)]
        assert chain.initial[y[0]] * np.prod(steps) == pytest.approx(mass, rel=1e-11)
    assert random_crf(rng, 1, ("0", "1")).to_markov_chain().transitions.shape[0] == 0
    with pytest.raises(ValueError, match="two labels"):
        random_crf(rng, 3).to_markov_chain()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], np.zeros((2, 2))), "unary must have shape"),
        ((np.zeros((3, 2)), np.zeros((3, 3))), r"needs \(2, 2\) or \(2, 2, 2\)"),
        (([[0.0, np.nan]], np.zeros((2, 2))), "unary is nan at row 0, column 1"),
        ((np.zeros((1, 2)), [[0, np.inf], [0, 0]]), "pairwise is inf at row 0"),
        ((np.zeros((2, 2)), np.zeros((2, 2)), ["O"]), "labels has 1 names"),
        ((np.zeros((2, 2)), np.zeros((2, 2)), ["O", "O"]), "a name twice"),
    ],
)
def test_bad_scores_are_refused(arguments, message):
    refuses(ValueError, message, LinearChainCRF, *arguments)


@pytest.mark.parametrize(
    "labels", [memoryview(np.zeros((2, 2))), np.array(2), {"a", "b"}, 2]
)
def test_labels_that_are_no_list_are_refused(labels):
    with pytest.raises(TypeError, match="labels must be a list of names, not"):
        LinearChainCRF(np.zeros((2, 2)), np.zeros((2, 2)), labels)


def test_bad_sequences_are_refused():
    crf = LinearChainCRF(np.zeros((2, 2)), np.zeros((2, 2)))
    refuses(ValueError, "label 2 at row 1; the model knows 0 to 1", crf.score, [0, 2])
    refuses(ValueError, "shape", crf.score, [0])
    dead = LinearChainCRF(np.zeros((2, 2)), np.full((2, 2), -np.inf))
    with pytest.raises(ValueError, match="sentence 0: no sequence"):
        dead.marginals  # noqa: B018
    refuses(ValueError, "names of the labels", span_marginals, crf)


@pytest.mark.parametrize(
    ("n", "scheme", "labels"),
    [
        *((n, "IOB2", IOB2) for n in (1, 2, 3, 5)),
        *((n, "BIOES", BIOES) for n in (1, 2, 3)),
        pytest.param(5, "BIOES", BIOES, marks=pytest.mark.slow),
    ],
)
def test_span_marginals_equal_enumeration_and_sum(n, scheme, labels):
    rng = np.random.default_rng(n)
    models = [random_crf(rng, n, labels, forbid=0.1 * i) for i in range(3)]
    found = span_marginals(models, scheme=scheme, min_probability=0.0)
    listed = {}
    for row in zip(
        found.sentence,
        found.start,
        found.stop,
        found.type,
        found.probability,
        strict=True,
    ):
        listed[(*map(int, row[:3]), row[3])] = row[4]
    assert len(listed) == len(found)
    for g, model in enumerate(models):
        true = {}
        for chunks, mass in worlds_of(model, scheme).items():
            for chunk in chunks:
                true[chunk] = true.get(chunk, 0.0) + mass
        mine = {key[1:]: p for key, p in listed.items() if key[0] == g}
        true = {key: p for key, p in true.items() if p > 0}
        assert mine.keys() == true.keys()
        for key, p in true.items():
            assert mine[tuple(key)] == pytest.approx(p, rel=1e-11)
        assert found.expected[g].sum() == pytest.approx(sum(true.values()), rel=1e-11)


@pytest.mark.parametrize(("scheme", "labels"), [("IOB2", IOB2), ("BIOES", BIOES)])
@pytest.mark.parametrize("most", [1, 40, 60, 100, 10**6])
def test_too_many_spans_are_cut_at_a_length(monkeypatch, scheme, labels, most):
    rng = np.random.default_rng(3)
    models = [random_crf(rng, n, labels) for n in (3, 0, 14, 1, 9)]
    every = span_marginals(models, scheme=scheme)
    full = span_marginals(models, scheme=scheme, min_probability=0.0)
    monkeypatch.setattr("argmetric.sequence._spans.MOST_SPANS", most)
    some = span_marginals(models, scheme=scheme)
    kept = every.stop - every.start <= some.reach[every.sentence]
    np.testing.assert_array_equal(some.flat, every.flat[kept])
    np.testing.assert_array_equal(some.probability, every.probability[kept])
    np.testing.assert_array_equal(some.expected, every.expected)
    left_out = every.probability[~kept].max(initial=some.min_probability)
    assert left_out <= some.unlisted
    assert some.cut.tolist() == (some.reach < [3, 0, 14, 1, 9]).tolist()
    assert (some.unlisted > some.min_probability) == some.cut.any()
    assert some.cut.any() or most > 40
    assert not some.cut.any() or most < 10**6
    if scheme == "IOB2":
        reach = [expected_reach(full, g, most) for g in range(5)]
        assert some.reach.tolist() == reach


def expected_reach(full, sentence, most):
    """The length up to which spans that may be listed are no more than `most`."""
    n = int(np.diff(full.batch.indptr)[sentence])
    total = 0
    for length in range(1, n + 1):
        part = (full.sentence == sentence) & (full.stop - full.start >= length)
        heads = full.start[part] * len(full.types) + full.flat[part, 2]
        total += int((np.bincount(heads, full.probability[part]) >= 1e-6).sum())
        if total > most and length > 1:
            return length - 1
    return n


def test_the_best_of_what_is_left_is_within_its_bound(monkeypatch):
    rng = np.random.default_rng(6)
    models = [random_crf(rng, 12) for _ in range(2)]
    for method in ("exact", "counts"):
        whole = decode_spans(models, method=method)
        with monkeypatch.context() as patch:
            patch.setattr("argmetric.sequence._spans.MOST_SPANS", 1)
            cut = decode_spans(models, method=method)
        assert (whole.n_cut, whole.cut_length) == (0, None)
        assert (cut.n_cut, cut.cut_length) == (2, 1)
        assert cut.expected < whole.expected <= cut.bound
        assert whole.proven
        assert not cut.proven


def test_what_would_take_minutes_is_not_exact():
    """All spans are alike, and the more the better: no size is ruled out."""
    p = np.tile([0.947, 0.003, 0.05], (3729, 1))
    found = decode_spans(token_model(p, ["O", "B-X", "I-X"]))
    assert found.method == "counts"
    assert found.n_spans > 1000
    few = decode_spans(token_model(p[:200], ["O", "B-X", "I-X"]))
    assert few.method == "exact"


@pytest.mark.parametrize("scheme", ["IOB2", "BIOES"])
def test_chunks_are_read_as_seqeval_reads_them(scheme):
    entities = pytest.importorskip("seqeval.scheme", reason="compares with seqeval")
    labels = {"IOB2": IOB2, "BIOES": BIOES}[scheme]
    reader = {"IOB2": entities.IOB2, "BIOES": entities.IOBES}[scheme]
    for n in range(1, 5):
        for tags in itertools.product(labels, repeat=n):
            theirs = entities.Entities([list(tags)], reader).entities[0]
            mine = read_chunks(tags, scheme)
            assert [tuple(c) for c in mine] == [(e.start, e.end, e.tag) for e in theirs]


@pytest.mark.parametrize("scheme", ["IOB2", "BIOES"])
def test_chunks_come_back_from_their_labels(scheme):
    chunks = [(0, 1, "X"), (1, 4, "X"), (5, 7, "Y")]
    labels = write_labels(chunks, 8, scheme)
    assert [tuple(c) for c in read_chunks(labels, scheme)] == chunks
    refuses(ValueError, "overlaps", write_labels, [(0, 2, "X"), (1, 3, "X")], 4)
    refuses(ValueError, "not within n=4 tokens", write_labels, [(3, 5, "X")], 4)
    refuses(ValueError, "label 'Z' is not of", read_chunks, ["Z"], scheme)


def test_tokens_are_independent_given_that_labels_are_well_formed():
    rng = np.random.default_rng(0)
    for scheme, labels in (("IOB2", IOB2), ("BIOES", (*BIOES, "B-Y", "E-Y"))):
        p = rng.dirichlet(np.ones(len(labels)), 4)
        model = token_model(p, labels, scheme=scheme)
        sequences, masses, _ = enumerate_probabilities(model)
        for y, mass in zip(sequences, masses, strict=True):
            tags = [labels[i] for i in y]
            inside = sum(c.stop - c.start for c in read_chunks(tags, scheme))
            formed = inside == sum(tag != "O" for tag in tags)
            assert (mass > 0) == formed
        free = token_model(p, labels, scheme=scheme, well_formed_only=False)
        np.testing.assert_allclose(free.marginals, p, rtol=1e-12)


def expected_f(chosen, worlds, beta, zero_division=0.0):
    total = 0.0
    for chunks, mass in worlds.items():
        below = len(chosen) + beta**2 * len(chunks)
        hits = len(set(chosen) & chunks)
        total += mass * ((1 + beta**2) * hits / below if below else zero_division)
    return total


def product_worlds(models, scheme):
    """Worlds of a document: spans tagged with the number of the sentence."""
    document = {frozenset(): 1.0}
    for g, model in enumerate(models):
        document = {
            known | {(c.start + 100 * g, c.stop + 100 * g, c.type) for c in chunks}: (
                mass * p
            )
            for known, mass in document.items()
            for chunks, p in worlds_of(model, scheme).items()
        }
    return document


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("scheme", "labels"), [("IOB2", IOB2), ("BIOES", BIOES)])
def test_exact_decoding_equals_enumeration(scheme, labels, beta, zero_division):
    from argmetric import FBeta

    rng = np.random.default_rng(7)
    metric = FBeta(beta, zero_division=zero_division)
    for _ in range(3):
        models = [random_crf(rng, 3, labels), random_crf(rng, 1, labels)]
        worlds = product_worlds(models, scheme)
        candidates = sorted(set().union(*worlds))
        best = max(
            expected_f(z, worlds, beta, zero_division)
            for z in compatible_sets(candidates)
        )
        options = {"scheme": scheme, "min_probability": 0.0}
        decision = decode_spans(models, metric=metric, method="exact", **options)
        chosen = [
            (s.start + 100 * g, s.stop + 100 * g, s.type)
            for g, spans in enumerate(decision.spans)
            for s in spans
        ]
        assert decision.expected == pytest.approx(best, rel=1e-11)
        assert expected_f(chosen, worlds, beta, zero_division) == pytest.approx(
            best, rel=1e-11
        )
        assert decision.proven
        auto = decode_spans(models, metric=metric, **options)
        assert (auto.method, auto.expected) == ("exact", decision.expected)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_counts_decoding_equals_enumeration(beta):
    rng = np.random.default_rng(3)
    gaps = []
    for _ in range(10):
        model = random_crf(rng, 4, IOB2[:3])
        found = span_marginals(model, min_probability=0.0)
        spans = list(zip(found.start, found.stop, found.type, strict=True))
        p = dict(zip(spans, found.probability, strict=True))
        mean = found.expected.sum()

        def ratio(z, p=p, mean=mean):
            hits = sum(p[s] for s in z)
            return (1 + beta**2) * hits / (len(z) + beta**2 * mean)

        best = max(ratio(z) for z in compatible_sets(spans))
        decision = decode_spans(found, metric=f"f{beta:g}", method="counts")
        assert decision.expected == pytest.approx(best, rel=1e-12)
        assert decision.proven
        chosen = [tuple(s[:3]) for s in decision.spans[0]]
        assert ratio(chosen) == pytest.approx(best, rel=1e-12)
        worlds = worlds_of(model, "IOB2")
        exact = decode_spans(model, metric=f"f{beta:g}", min_probability=0.0).expected
        gaps.append(exact - expected_f(chosen, worlds, beta))
    assert min(gaps) >= -1e-12  # what F of expected counts loses on four tokens
    assert max(gaps) < 0.05


def test_documents_are_decided_one_by_one():
    rng = np.random.default_rng(5)
    models = [random_crf(rng, n) for n in (3, 6, 2, 4)]
    together = decode_spans(
        models, level="document", documents=["b", "a", "b", "a"], min_probability=0
    )
    first = decode_spans([models[0], models[2]], min_probability=0)
    second = decode_spans([models[1], models[3]], min_probability=0)
    assert together.spans == [
        first.spans[0],
        second.spans[0],
        first.spans[1],
        second.spans[1],
    ]
    np.testing.assert_allclose(
        together.cell_expected, [first.expected, second.expected], rtol=1e-12
    )
    alone = decode_spans(models, level="document", min_probability=0)
    assert alone.spans[1] == decode_spans(models[1], min_probability=0).spans
    counts = decode_spans(models, level="document", method="counts")
    one = decode_spans(models[1], method="counts")
    assert counts.cell_expected[1] == pytest.approx(one.expected, rel=1e-12)


def test_types_may_have_their_own_measure():
    rng = np.random.default_rng(11)
    overlapped = 0
    for _ in range(15):
        model = random_crf(rng, 3)
        found = span_marginals(model, min_probability=0.0)
        spans = list(zip(found.start, found.stop, found.type, strict=True))
        p = dict(zip(spans, found.probability, strict=True))
        mean = dict(zip(found.types, found.expected[0], strict=True))

        def macro(z, p=p, mean=mean):
            values = []
            for kind, mu in mean.items():
                own = [s for s in z if s[2] == kind]
                values.append(2 * sum(p[s] for s in own) / (len(own) + mu))
            return np.mean(values)

        best = max(macro(z) for z in compatible_sets(spans))
        decision = decode_spans(found, per_type=True)
        pooled = decode_spans(found, method="counts").spans[0]
        likely = read_chunks([model.labels[y] for y in model.viterbi()])
        assert decision.expected >= macro([tuple(s[:3]) for s in pooled]) - 1e-12
        assert decision.expected >= macro([tuple(s) for s in likely]) - 1e-12
        assert decision.cell_expected.shape == (2,)
        assert decision.bound >= best - 1e-12
        assert decision.expected <= best + 1e-12
        chosen = [tuple(s[:3]) for s in decision.spans[0]]
        assert macro(chosen) == pytest.approx(decision.expected, rel=1e-12)
        if decision.proven:
            assert decision.expected == pytest.approx(best, rel=1e-12)
        else:
            overlapped += 1
            assert decision.expected < decision.bound
    assert 0 < overlapped < 15


def test_nothing_to_decode():
    decision = decode_spans([], metric="f1")
    assert (decision.spans, decision.expected, decision.n_spans) == ([], 0.0, 0)
    empty = random_crf(np.random.default_rng(0), 0)
    assert decode_spans([empty, empty]).labels == [[], []]


def test_bad_requests_are_refused():
    rng = np.random.default_rng(0)
    model = random_crf(rng, 3)
    for options, message in (
        ({"metric": "mcc"}, "metric must be an F-measure for spans, not 'mcc'"),
        ({"scheme": "IOB1"}, "scheme must be one of"),
        ({"level": "page"}, "level must be one of"),
        ({"documents": [1]}, "level='document'"),
        ({"tokens": ["a"]}, "sentence 0: 1 tokens but the model has 3"),
        ({"method": "exact", "per_type": True}, "method='exact' needs"),
        ({"min_probability": 2}, "between 0 and 1"),
    ):
        refuses(ValueError, message, decode_spans, model, **options)
    with pytest.raises(ValueError, match="sentence 1 has other labels"):
        decode_spans([model, random_crf(rng, 2, BIOES)])
    with pytest.raises(ValueError, match="label 'E-X' is not of IOB2"):
        decode_spans(random_crf(rng, 2, BIOES))


def test_nothing_but_outside_is_decoded():
    from argmetric import FBeta

    model = LinearChainCRF(np.zeros((3, 1)), np.zeros((1, 1)), ["O"])
    sure = FBeta(1.0, zero_division=1.0)
    for options in ({}, {"level": "document"}, {"per_type": True}):
        decision = decode_spans(model, metric=sure, **options)
        assert decision.labels == ["O", "O", "O"]
    assert decode_spans(model, metric=sure).expected == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("scheme", "labels"),
    [("BIOES", ("O", "B-X", "I-X")), ("IOB2", ("O", "I-X", "I-Y"))],
)
def test_labels_of_another_scheme_are_refused(scheme, labels):
    model = random_crf(np.random.default_rng(0), 3, labels)
    with pytest.raises(ValueError, match=f"no span of {scheme} can be written"):
        decode_spans(model, scheme=scheme)


def test_sentences_without_tokens_have_no_probabilities():
    empty = token_model([], ["O", "B-X"])
    assert len(empty) == 0
    assert decode_spans([empty, token_model([[0.2, 0.8]], ["O", "B-X"])]).labels == [
        [],
        ["B-X"],
    ]
