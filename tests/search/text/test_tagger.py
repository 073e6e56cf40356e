"""Taggers learn rules, in every direction."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from argmetric.search import Tagger, default_templates
from argmetric.sequence import Sentence
from tagger_texts import joint_tags, small, text, words_alone


@pytest.mark.parametrize("direction", ["left", "right", "both"])
def test_rules_are_learned(direction):
    sentences, tags = text()
    tagger = small(direction=direction).fit(sentences, tags)
    others, right = text(seed=1)
    assert tagger.predict(others) == right
    assert tagger.score(others, right) == 1.0
    assert tagger.labels_ == ("B-NP", "B-VP", "I-NP", "O")


def test_three_ways_to_hand_over_sentences():
    sentences, tags = text(10)
    rows = [
        [(*token, tag) for token, tag in zip(s, t, strict=True)]
        for s, t in zip(sentences, tags, strict=True)
    ]
    objects = [
        Sentence(tuple(map(list, zip(*s, strict=True))), t)
        for s, t in zip(sentences, tags, strict=True)
    ]
    expected = small().fit(sentences, tags).predict(sentences)
    assert small().fit(rows).predict(rows) == expected
    assert small().fit(objects).predict(objects) == expected
    assert small().fit(iter(sentences), iter(tags)).predict(iter(sentences)) == expected
    alone = words_alone(sentences)
    assert small("pos").fit(alone, tags).score(alone, tags) > 0.5


def test_the_seed_decides_and_nothing_else_does(monkeypatch):
    sentences, tags = text()
    first, second = (small(random_state=3).fit(sentences, tags) for _ in range(2))
    whole = first.predict_nbest(sentences, 3)
    assert second.predict_nbest(sentences, 3) == whole
    monkeypatch.setattr("argmetric.search.tagging.tagger._BLOCK", 7)
    assert first.predict_nbest(sentences, 3) == whole


def test_empty_sentences_and_documents():
    sentences, tags = text()
    document = [("-DOCSTART-", "-X-")]
    tagger = small().fit([document, [], *sentences], [["O"], [], *tags])
    errors = [row["error"] for row in tagger.history_]
    same = small().fit([[], *sentences], [[], *tags])
    assert [row["error"] for row in same.history_] == errors
    assert tagger.predict([document, [], sentences[0]]) == [["O"], [], tags[0]]
    assert tagger.predict([]) == []
    assert tagger.predict([[]]) == [[]]
    assert tagger.predict_nbest([[]]) == [[([], 0.0)]]
    # A line of a document has one best sequence
    lists = tagger.predict_nbest([document, [("the", "D")]], 3)
    assert [labels for labels, _ in lists[0]] == [["O"]]
    assert len(lists[1]) == 3
    # Nothing of nothing is all of it
    judged = tagger.evaluate([[("of", "P")]], [["O"]])["t"]
    assert (judged.precision, judged.recall, judged.f1) == (1.0, 1.0, 1.0)


def test_scores_are_those_of_seqeval():
    metrics = pytest.importorskip("seqeval.metrics")
    scheme = pytest.importorskip("seqeval.scheme").IOB2
    sentences, tags = text(60)
    tagger = small(epochs=1, templates="w[1]").fit(sentences[:10], tags[:10])
    found = tagger.evaluate(sentences, tags)["t"]
    own = tagger.predict(sentences)
    options = {"mode": "strict", "scheme": scheme}
    assert 0 < found.f1 < 1
    for name in ("f1", "precision", "recall"):
        theirs = getattr(metrics, f"{name}_score")(tags, own, **options)
        assert getattr(found, name) == pytest.approx(theirs)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(tags, own))


def test_dangling_labels_are_repaired_with_a_warning():
    sentences, tags = text()
    assert tags[1][0] == "B-NP"
    broken = [tags[0], ["I-NP", *tags[1][1:]], *tags[2:]]
    where = r"1 of them, the first in sentence 1, token 0 \(I-NP\)"
    with pytest.warns(UserWarning, match=where):
        tagger = small().fit(sentences, broken)
    assert tagger.predict(sentences) == tags


@pytest.mark.parametrize("task", ["ner", "chunk"])
def test_parts_of_speech_are_optional(task, tmp_path):
    sentences, labels = text()
    words = words_alone(sentences)
    tagger = small(task).fit(words, labels)
    few = small(task, templates=default_templates(task, n_columns=1))
    assert tagger.n_columns_ == 1
    assert tagger.recipe()["templates"] == few.recipe()["templates"]
    others, right = text(seed=1)
    bare = words_alone(others)
    found = few.fit(words, labels).predict(bare)
    assert tagger.predict(bare) == found
    wrong = sum(a != b for a, b in zip(found, right, strict=True))
    assert wrong <= 1
    assert (tagger.score(bare, right) == 1.0) == (wrong == 0)
    assert small(task).fit(words, labels, dev=(bare, right)).score(bare, right) > 0.98
    # Labels as the last column, and columns that the tagger does not read
    rows = [list(zip(s, y, strict=True)) for s, y in zip(words, labels, strict=True)]
    assert small(task).fit(rows).predict(bare) == tagger.predict(others) == found
    tagger.save(tmp_path / "words.tag")
    assert Tagger.load(tmp_path / "words.tag").predict(bare) == found
    # With parts of speech, all templates are taken
    whole = small(task).fit(sentences, labels)
    assert whole.n_columns_ == 2
    assert whole.recipe() == small(task).recipe()


def test_any_text_can_be_a_label(tmp_path):
    label = "B-\ud800 é 東"
    tagger = small().fit([[("a", "b")]] * 3, [[label]] * 3)
    tagger.save(tmp_path / "m.tag")
    assert Tagger.load(tmp_path / "m.tag").predict([[("a", "b")]]) == [[label]]


def test_all_sequences_of_two_directions_have_the_product_of_both():
    sentences, tags = text(10)
    short = [sentence[:length] for length, sentence in enumerate(sentences[:4])]
    left, right, both = (
        [
            {tuple(labels): score for labels, score in pairs}
            for pairs in small(direction=name, epochs=2)
            .fit(sentences, tags)
            .predict_nbest(short, 2000)
        ]
        for name in ("left", "right", "both")
    )
    for a, b, product in zip(left, right, both, strict=True):
        assert a.keys() == b.keys() == product.keys()
        assert sum(map(math.exp, a.values())) == pytest.approx(1)
        for labels, score in product.items():
            assert score == pytest.approx(a[labels] + b[labels], abs=1e-4)
        assert list(product.values()) == sorted(product.values(), reverse=True)


def test_joint_labels_are_learned():
    sentences, tags = text()
    words = words_alone(sentences)
    both = joint_tags(sentences, tags)
    tagger = small("joint").fit(words, both)
    assert tagger.predict(words) == both
    found = tagger.evaluate(words, both)
    assert {k: v.score for k, v in found.items()} == {"tag": 1.0, "chunk": 1.0}
    columns = [
        [(w, *pair) for w, pair in zip(s, pairs, strict=True)]
        for s, pairs in zip(words, both, strict=True)
    ]
    assert small("joint").fit(columns).predict(words) == both


def test_memory_tells_what_the_word_was_elsewhere(monkeypatch):
    monkeypatch.setattr("argmetric.search.tagging.templates._WINDOW", 200)

    # "x" is a name in one half of the text and none in the other: only the sentences
    # near by tell which
    def story(name):
        known = [("Mr", "N"), ("x", "N")], ["O", "B-PER" if name else "O"]
        if not name:
            known = [("the", "D"), ("x", "N")], ["O", "O"]
        plain = [("x", "N"), ("ran", "V")], ["B-PER" if name else "O", "O"]
        return [known] * 3 + [plain] + [known] * 3

    far = ([("and", "C")] * 100, ["O"] * 100)
    pairs = []
    for i in range(12):
        pairs += story(i % 2 == 0) + [far] * 3
    sentences, tags = ([pair[i] for pair in pairs] for i in (0, 1))
    options = {"epochs": 10, "direction": "left"}
    tagger = small("ner", **options).fit(sentences, tags)
    plain = small("ner", memory="none", **options).fit(sentences, tags)
    assert tagger.score(sentences, tags) == 1.0
    assert plain.score(sentences, tags) < 1.0


def letters(seed, n=60):
    """Images of 3 letters; two of them differ by what stands before them only."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, n)
    images, labels = [], []
    for length in lengths:
        before = "a"
        for _ in range(length):
            kind = rng.integers(2)
            label = "a" if kind == 0 else ("b" if before == "a" else "c")
            image = np.zeros((4, 3), bool)
            image[kind * 2 :][:2] = rng.random((2, 3)) < 0.8
            images.append(image.ravel())
            labels.append(label)
            before = label
    return np.array(images), np.array(labels), lengths


@pytest.mark.parametrize("scores", ["log", "raw"])
@pytest.mark.parametrize("direction", ["left", "right"])
def test_sequences_of_images(tmp_path, scores, direction):
    images, labels, lengths = letters(0)
    X = csr_matrix(images.astype(np.float32))
    tagger = Tagger("label", beam_scores=scores, direction=direction, history_value=4.0)
    tagger.fit_matrix(X, labels, lengths, dev=(X, labels, lengths))
    assert tagger.score_matrix(X, labels, lengths) > (
        0.97 if direction == "left" else 0.7
    )
    tagger.save(tmp_path / "m.tag")
    again = Tagger.load(tmp_path / "m.tag").predict_matrix(X, lengths)
    np.testing.assert_array_equal(again, tagger.predict_matrix(X, lengths))
    dense = X.toarray()
    np.testing.assert_array_equal(tagger.predict_matrix(dense, lengths), again)
