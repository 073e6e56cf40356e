"""Logits of sub-words, candidate spans: against plain loops and enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric.sequence import (
    decode_logits,
    decode_spans,
    recalibrate,
    token_model,
)

LABELS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def words_by_hand(logits, word_ids, mask, subwords):
    """Label probabilities of the words of one sentence, token by token."""
    words, seen = [], []
    for row, word, kept in zip(softmax(logits), word_ids, mask, strict=True):
        if word is None or not kept:
            continue
        if word not in seen:
            seen.append(word)
            words.append([])
        words[-1].append(row)
    if subwords == "first":
        return np.array([rows[0] for rows in words])
    return np.array([np.mean(rows, axis=0) for rows in words])


@pytest.mark.parametrize("subwords", ["first", "mean"])
def test_words_are_read_from_their_tokens(subwords):
    rng = np.random.default_rng(0)
    logits = 2 * rng.standard_normal((3, 7, 5))
    ids = [
        [None, 0, 0, 1, 2, 2, None],
        [None, 0, 1, 2, 3, 4, 5],
        [None, 3, 3, 3, 9, None, None],
    ]
    mask = np.ones((3, 7), dtype=int)
    mask[1, 4:] = 0
    models = token_model(
        logits, LABELS, logits=True, word_ids=ids, mask=mask, subwords=subwords
    )
    assert [len(one) for one in models] == [3, 3, 2]
    for one, x, words, kept in zip(models, logits, ids, mask, strict=True):
        p = words_by_hand(x, words, kept, subwords)
        plain = token_model(p, LABELS)
        np.testing.assert_allclose(one.marginals, plain.marginals, rtol=1e-12)


def test_decode_logits_is_decode_spans_of_the_words():
    rng = np.random.default_rng(1)
    logits = 1.5 * rng.standard_normal((4, 6, 5))
    by_hand = decode_spans([token_model(softmax(x), LABELS) for x in logits])
    found = decode_logits(logits, dict(enumerate(LABELS)))
    assert found.labels == by_hand.labels
    assert found.expected == pytest.approx(by_hand.expected, rel=1e-12)
    assert found.offsets is None
    same = decode_logits(softmax(logits), LABELS, probabilities=True)
    assert same.labels == found.labels


def test_offsets_are_those_of_the_text():
    text = "Ana Luz vino"
    offsets = [[(0, 0), (0, 2), (2, 3), (4, 7), (8, 12), (0, 0)]]
    ids = [[None, 0, 0, 1, 2, None]]
    p = np.full((1, 6, 3), 1e-3)
    p[0, [1, 2], 1] = p[0, 3, 2] = p[0, 4, 0] = p[0, [0, 5], 0] = 1.0
    p /= p.sum(axis=2, keepdims=True)
    found = decode_logits(
        np.log(p), ["O", "B-P", "I-P"], word_ids=ids, offsets=offsets, text=[text]
    )
    assert found.offsets == [[(0, 7)]]
    assert found.spans[0][0].text == "Ana Luz"
    assert (found.spans[0][0].start, found.spans[0][0].stop) == (0, 2)
    alone = decode_logits(np.log(p), ["O", "B-P", "I-P"], offsets=offsets)
    assert len(alone.labels[0]) == 4  # every token is a word, special ones apart


def test_a_scheme_is_read_from_the_labels():
    labels = ["O", "B-X", "I-X", "E-X", "S-X"]
    logits = np.zeros((1, 1, 5))
    logits[0, 0, 4] = 9.0
    assert decode_logits(logits, labels).labels == [["S-X"]]
    with pytest.raises(ValueError, match="LABEL_0"):
        decode_logits(logits, [f"LABEL_{i}" for i in range(5)])


def test_a_reference_recalibrates():
    rng = np.random.default_rng(2)
    true = 1.5 * rng.standard_normal((200, 8, 3))
    names = ["O", "B-X", "I-X"]
    drawn = (true - np.log(-np.log(rng.random(true.shape)))).argmax(axis=2)
    drawn[:, 0] = np.minimum(drawn[:, 0], 1)
    for t in range(1, 8):  # an I-X needs something to go on from
        drawn[:, t] = np.where(
            (drawn[:, t] == 2) & (drawn[:, t - 1] == 0), 0, drawn[:, t]
        )
    gold = drawn.copy()
    gold[:100, 7] = -100
    loud = 3.0 * true  # an overconfident network
    found = decode_logits(loud, names, reference=(gold, loud))
    models = [
        token_model(softmax(x)[y >= 0], names) for x, y in zip(loud, gold, strict=True)
    ]
    labels = [[names[i] for i in y[y >= 0]] for y in gold]
    by_hand = recalibrate(models, labels)
    whole = decode_spans(
        [token_model(softmax(x), names) for x in loud], reference=by_hand
    )
    assert found.labels == whole.labels
    assert found.expected == pytest.approx(whole.expected, rel=1e-12)
    assert found.expected < decode_logits(loud, names).expected - 0.1
    assert decode_logits(loud, names, reference=by_hand).labels == found.labels
    with pytest.raises(TypeError, match="or a Recalibration, not 3"):
        decode_logits(loud, names, reference=3)


def compatible(spans):
    return all(
        a[1] <= b[0] or b[1] <= a[0] for a, b in itertools.combinations(spans, 2)
    )


candidate = st.tuples(
    st.integers(0, 5),
    st.integers(1, 3),
    st.sampled_from("XY"),
    st.sampled_from([0.0, 1e-300, 0.2, 0.5, 0.5, 0.9, 1 - 1e-16, 1.0]),
)


@given(st.lists(st.lists(candidate, max_size=5), max_size=2), st.sampled_from([1, 2]))
def test_candidates_against_all_sets(drawn, beta):
    sentences = [[(a, a + n, kind, p) for a, n, kind, p in one] for one in drawn]
    found = decode_spans(candidates=sentences, metric=f"f{beta}")
    mean = sum(span[3] for one in sentences for span in one)
    best = 0.0
    sets = [
        [
            chosen
            for size in range(len(one) + 1)
            for chosen in itertools.combinations(one, size)
            if compatible(chosen)
        ]
        for one in sentences
    ]
    for chosen in itertools.product(*sets):
        spans = [span for one in chosen for span in one]
        below = len(spans) + beta**2 * mean
        if below:
            hits = sum(span[3] for span in spans)
            best = max(best, (1 + beta**2) * hits / below)
    assert found.expected == pytest.approx(best, rel=1e-12, abs=1e-290)
    for one in found.spans:
        assert compatible([span[:2] for span in one])


def test_candidates_have_texts_and_labels():
    words = [["New", "York", "City", "is", "big"], ["yes"]]
    found = decode_spans(
        None,
        words,
        candidates=[[(0, 2, "LOC", 0.4), (0, 3, "LOC", 0.9), (4, 5, "ORG", 0.1)], []],
    )
    assert found.spans[0][0][:5] == (0, 3, "LOC", 0.9, "New York City")
    assert found.labels == [["B-LOC", "I-LOC", "I-LOC", "O", "O"], ["O"]]
    assert found.expected == pytest.approx(2 * 0.9 / (1 + 1.4))


def test_tensors_are_taken_from_any_type():
    torch = pytest.importorskip("torch", reason="needs extra 'torch'")
    x = torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(0))
    want = decode_logits(x.numpy(), LABELS)
    assert decode_logits(x.clone().requires_grad_(), LABELS).labels == want.labels
    half = decode_logits(x.bfloat16(), LABELS)
    assert half.labels == decode_logits(x.bfloat16().float().numpy(), LABELS).labels


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"logits": np.zeros((2, 3))}, r"shape \(2, 3\), not \(batch, tokens, 5\)"),
        ({"logits": np.full((1, 2, 5), np.nan)}, "not finite at sentence 0, token 0"),
        ({"probabilities": True}, "sums to 0 at sentence 0, token 0.*logits=True"),
        ({"word_ids": [[0, 1]]}, r"word_ids has shape \(1, 2\)"),
        ({"word_ids": [[2, 1, 3]] * 2}, "falls from 2 to 1 in sentence 0"),
        ({"mask": [1, 1]}, "mask has shape"),
        ({"text": ["a", "b"]}, "text goes with offsets"),
        ({"offsets": np.zeros((2, 3))}, r"not \(batch, tokens, 2\)"),
        ({"offsets": np.ones((2, 3, 2)), "text": ["a"]}, "text has 1 texts"),
        ({"labels": {0: "O", 7: "B-X"}}, r"columns 0 to 1, not \[0, 7\]"),
        ({"labels": {"O": 0}}, "as id2label does"),
        ({"subwords": "last"}, "subwords must be"),
        ({"reference": ([[7, 0]], np.zeros((1, 2, 5)))}, "gold is 7 at sentence 0"),
    ],
)
def test_bad_input(arguments, message):
    given_ = {"logits": np.zeros((2, 3, 5)), "labels": LABELS} | arguments
    with pytest.raises(ValueError, match=message):
        decode_logits(given_.pop("logits"), given_.pop("labels"), **given_)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([[(0, 0, "X", 0.5)]], r"candidates\[0\] has \(0, 0, 'X', 0.5\)"),
        ([[], [(0, 1, "X")]], r"candidates\[1\] has"),
        ([[(0.5, 1, "X", 0.5)]], "a span is"),
        ([[(0, 1, "X", 1.5)]], "probability"),
    ],
)
def test_bad_candidates(candidates, message):
    with pytest.raises(ValueError, match=message):
        decode_spans(candidates=candidates)
