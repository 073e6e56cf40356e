"""Taggers: fitting, tagging, files, and what they refuse."""

import contextlib
import gc
import itertools
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argmetric._files import DataError
from argmetric._text.learning import Learning
from argmetric._text.tagging import _base
from argmetric._text.tagging._model import Policy, beam, combine, recode
from argmetric._text.tagging.labels import Codec, Tier
from argmetric.search import (
    SegmentTagger,
    Tagger,
    default_templates,
    pixel_pairs,
)
from argmetric.sequence import Sentence, read_chunks, read_sentences, write_labels

WORDS = {
    "D": ["the", "a"],
    "N": ["Cat", "dog", "U.S."],
    "V": ["sees", "ran"],
    "P": ["of"],
}
RULE = {"D": "B-NP", "N": "I-NP", "V": "B-VP", "P": "O"}


def text(n=40, seed=0):
    """Sentences whose chunks follow from the parts of speech."""
    rng = np.random.default_rng(seed)
    sentences, tags = [], []
    for _ in range(n):
        order, labels = [], []
        for _ in range(rng.integers(1, 4)):
            order += [*"DN"] if rng.random() < 0.5 else ["N"]
            labels += ["B-NP", "I-NP"] if order[-2:] == ["D", "N"] else ["B-NP"]
            if rng.random() < 0.7:
                order.append(rng.choice(["V", "P"]))
                labels.append("B-VP" if order[-1] == "V" else "O")
        sentences.append([(str(rng.choice(WORDS[p])), str(p)) for p in order])
        # A noun after a determiner goes on with its chunk
        for i in range(1, len(order)):
            if order[i - 1] == "D":
                labels[i] = "I-NP"
        tags.append(labels)
    return sentences, tags


def small(task="chunk", **options):
    return Tagger(task, **{"hash_bits": 14, **options})


@pytest.mark.parametrize("direction", ["left", "right", "both"])
@pytest.mark.parametrize("learner", ["logistic", "perceptron", "svm"])
def test_rules_are_learned(direction, learner):
    sentences, tags = text()
    tagger = small(direction=direction, learner=learner).fit(sentences, tags)
    others, right = text(seed=1)
    if learner == "perceptron":
        assert tagger.score(others, right) > 0.9
    else:
        assert tagger.predict(others) == right
        assert tagger.score(others, right) == 1.0
    assert tagger.labels_ == ("B-NP", "B-VP", "I-NP", "O")


@pytest.mark.parametrize("costs", ["zero_one", "regret"])
@pytest.mark.parametrize("roll_in", ["mixed", "gold", "own", "none"])
def test_every_roll_in_learns(roll_in, costs):
    sentences, tags = text()
    tagger = small(roll_in=roll_in, costs=costs).fit(sentences, tags)
    assert tagger.score(sentences, tags) == 1.0


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
    alone = [[word for word, _ in s] for s in sentences]
    assert small("pos").fit(alone, tags).score(alone, tags) > 0.5


def test_the_seed_decides_and_nothing_else_does(monkeypatch):
    sentences, tags = text()
    first, second = (small(random_state=3).fit(sentences, tags) for _ in range(2))
    np.testing.assert_array_equal(
        first._model.sides[0].policy.weights, second._model.sides[0].policy.weights
    )
    whole = first.predict_nbest(sentences, 3)
    monkeypatch.setattr(_base, "_BLOCK", 7)
    assert first.predict_nbest(sentences, 3) == whole


def test_empty_sentences_and_documents():
    sentences, tags = text()
    document = [("-DOCSTART-", "-X-")]
    tagger = small().fit([document, [], *sentences], [["O"], [], *tags])
    assert tagger.history_ == [
        {**row, "seconds": own["seconds"]}
        for row, own in zip(
            small().fit([[], *sentences], [[], *tags]).history_,
            tagger.history_,
            strict=True,
        )
    ]
    assert tagger.predict([document, [], sentences[0]]) == [["O"], [], tags[0]]
    assert tagger.predict([]) == []
    assert tagger.predict([[]]) == [[]]
    assert tagger.predict_nbest([[]]) == [[([], 0.0)]]


def test_a_label_never_seen_is_missed():
    sentences, tags = text()
    tagger = small().fit(sentences, tags)
    strange = [["B-LST"] * len(t) for t in tags[:1]]
    result = tagger.evaluate(sentences[:1], strange)["t"]
    assert (result.unknown, result.accuracy, result.f1) == (len(tags[0]), 0.0, 0.0)


def test_scores_are_those_of_seqeval():
    metrics = pytest.importorskip("seqeval.metrics")
    scheme = pytest.importorskip("seqeval.scheme").IOB2
    sentences, tags = text(60)
    tagger = small(epochs=1, templates="w[1]").fit(sentences[:10], tags[:10])
    found = tagger.evaluate(sentences, tags)["t"]
    own = tagger.predict(sentences)
    options = {"mode": "strict", "scheme": scheme}
    assert 0 < found.f1 < 1
    assert found.f1 == pytest.approx(metrics.f1_score(tags, own, **options))
    assert found.precision == pytest.approx(
        metrics.precision_score(tags, own, **options)
    )
    assert found.recall == pytest.approx(metrics.recall_score(tags, own, **options))
    assert found.accuracy == pytest.approx(metrics.accuracy_score(tags, own))


def test_dangling_labels_are_repaired_with_a_warning():
    sentences, tags = text()
    assert tags[1][0] == "B-NP"
    broken = [tags[0], ["I-NP", *tags[1][1:]], *tags[2:]]
    where = r"1 of them, the first in sentence 1, token 0 \(I-NP\)"
    with pytest.warns(UserWarning, match=where):
        tagger = small().fit(sentences, broken)
    assert tagger.predict(sentences) == tags


def test_predicted_chunks_are_always_well_formed():
    rng = np.random.default_rng(0)
    sentences, _ = text(30)
    tags = [
        write_labels([(0, len(s), "AB"[i % 2])], len(s))
        for i, s in enumerate(sentences)
    ]
    noisy = [
        [("B-A", "I-A", "B-B", "O")[i] for i in rng.integers(4, size=len(s))]
        for s in sentences
    ]
    with pytest.warns(UserWarning, match="not open"):
        tagger = small(epochs=1).fit(sentences + sentences, tags + noisy)
    for labels in tagger.predict(sentences):
        n = sum(label != "O" for label in labels)
        assert n == sum(c.stop - c.start for c in read_chunks(labels))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": "parse"}, "task must be one of"),
        ({"direction": "up"}, "direction must be one of"),
        ({"beam": 0}, "beam must be an integer"),
        ({"epochs": True}, "epochs must be"),
        ({"step": float("nan")}, "step must be positive"),
        ({"dropout": 1.0}, "dropout must be"),
        ({"hash_bits": 40}, "hash_bits must be"),
        ({"hash_bits": 12.0}, "hash_bits must be an integer from 8 to 28, not 12.0"),
        ({"step": "fast"}, "step must be a number, not 'fast'"),
        ({"random_state": 2**70}, "random_state must be an integer from 0 to"),
        ({"templates": ["w[0]", 3]}, "template 2 must be text, not 3"),
        ({"templates": "w(0)"}, "is no part of a template"),
        ({"templates": "wrod[0]"}, "no attribute 'wrod'"),
        ({"templates": "t[0]"}, "not decided yet"),
        ({"templates": "t[-9]"}, "8 is the farthest"),
        ({"templates": {"tag": "w[0]"}}, "a dict of templates"),
        ({"beam_scores": "raw", "direction": "both"}, "no probabilities"),
        ({"task": "pos", "memory": "both"}, "memory is for spans"),
    ],
)
def test_bad_options_are_refused(arguments, message):
    sentences, tags = text(3)
    with pytest.raises(ValueError, match=message):
        Tagger(**arguments).fit(sentences, tags)


@pytest.mark.parametrize(
    ("sentences", "tags", "message"),
    [
        ([["a", ("b", "X")]], [["O", "O"]], "sentence 0, token 1: 2 columns"),
        ([[("a", "X")], [("b",)]], [["O"], ["O"]], "sentence 1, token 0: 1 columns"),
        ([["a"]], [["O", "O"]], "sentence 0 has 1 tokens but 2 labels"),
        ([["a"]], [["O"], []], "2 lists of labels for 1 sentences"),
        ([["a"]], None, "1 columns: words and 1 of labels"),
        ([[("a", "X")]], [["S-A"]], "label 'S-A' is not of IOB2"),
        ([[("a", 3)]], [["O"]], "column 1 of the tokens holds 3"),
        ([[7]], [["O"]], "a token must be text or a tuple of columns, not 7"),
        ([[("a", "X")]], [[None]], "a label must be text"),
        (["a b"], [["O"]], "list of sentences"),
        ([[]], [[]], "no token to learn from"),
    ],
)
def test_bad_sentences_are_refused(sentences, tags, message):
    with pytest.raises(ValueError, match=message):
        small().fit(sentences, tags)


def words_alone(sentences):
    return [[word for word, _ in sentence] for sentence in sentences]


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


def test_text_with_fewer_columns_than_in_fit_is_refused():
    sentences, labels = text()
    words = words_alone(sentences)
    tagger = small("ner").fit(sentences, labels)
    message = re.escape(
        "the tagger reads 2 columns of each token (words first), but these tokens have "
        "1: pass tuples such as ('Hello', 'UH'), or fit it without the missing column"
    )
    for call in (tagger.predict, tagger.predict_nbest):
        with pytest.raises(ValueError, match=message):
            call(words)
    with pytest.raises(ValueError, match=message):
        tagger.score(words, labels)
    with pytest.raises(ValueError, match=message):
        small("ner").fit(sentences, labels, dev=(words, labels))
    with pytest.raises(ValueError, match=message):
        small(templates="w[0]\npos[0]").fit(words, labels)


def test_a_tagger_that_learned_nothing_says_so(tmp_path):
    with pytest.raises(ValueError, match="call fit first"):
        Tagger().predict([["a"]])
    with pytest.raises(DataError, match="cannot read"):
        Tagger.load(tmp_path / "none.tag")
    (tmp_path / "text.tag").write_text("hello")
    with pytest.raises(DataError, match="not a tagger"):
        Tagger.load(tmp_path / "text.tag")
    np.savez(tmp_path / "arrays.npz", x=np.zeros(2))
    with pytest.raises(DataError, match="not a tagger"):
        Tagger.load(tmp_path / "arrays.npz")


@pytest.mark.parametrize("kind", [Tagger, SegmentTagger])
def test_a_damaged_file_is_told_and_closed(tmp_path, kind):
    sentences, tags = text(10)
    tagger = kind(hash_bits=10, epochs=1).fit(sentences, tags)
    tagger.save(tmp_path / "m.tag")
    data = (tmp_path / "m.tag").read_bytes()
    with np.load(tmp_path / "m.tag") as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())

    def refused(message):
        with pytest.raises(DataError, match=message):
            kind.load(tmp_path / "bad.tag")

    for size in (0, 1, 100, len(data) // 2, len(data) - 1):
        (tmp_path / "bad.tag").write_bytes(data[:size])
        refused("is not a tagger of argmetric, or it is cut off")
    rng = np.random.default_rng(0)
    for _ in range(25):
        broken = bytearray(data)
        for place in rng.integers(len(data), size=5):
            broken[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "bad.tag").write_bytes(broken)
        with contextlib.suppress(DataError):  # not every bit counts
            kind.load(tmp_path / "bad.tag")

    def written(**changes):
        text = json.dumps({**header, **changes}).encode()
        coded = np.frombuffer(text, dtype=np.uint8)
        with open(tmp_path / "bad.tag", "wb") as file:
            np.savez(file, **{**arrays, "header": coded})

    for changes in ({"arguments": {"colour": 1}}, {"arguments": None}):
        written(**changes)
        refused("is damaged")
    written(format="argmetric rule")
    refused("holds 'argmetric rule', not 'argmetric")
    written(version=99)
    refused("has version 99")
    del arrays[next(name for name in arrays if name.endswith("_weights"))]
    written()
    refused("is damaged")
    gc.collect()  # a file left open is a warning, and so an error


def test_numbers_and_text_of_numpy_will_do(tmp_path):
    sentences, tags = text(10)
    plain = small(beam=3, step=0.125, direction="left").fit(sentences, tags)
    tagger = small(beam=np.int64(3), step=np.float32(0.125), direction="left")
    tagger.fit([np.array(s) for s in sentences], [np.array(t) for t in tags])
    tagger.save(tmp_path / "m.tag")
    loaded = Tagger.load(tmp_path / "m.tag")
    assert loaded.predict_nbest(sentences, 3) == plain.predict_nbest(sentences, 3)
    assert loaded.beam == 3
    assert {type(label) for label in tagger.labels_} == {str}


def test_any_text_can_be_a_label(tmp_path):
    label = "B-\ud800 é 東"
    tagger = small().fit([[("a", "b")]] * 3, [[label]] * 3)
    tagger.save(tmp_path / "m.tag")
    assert Tagger.load(tmp_path / "m.tag").predict([[("a", "b")]]) == [[label]]


def test_a_document_line_has_one_best_sequence():
    tagger = small().fit(*text(10))
    lists = tagger.predict_nbest([[("-DOCSTART-", "-X-")], [("the", "D")]], 3)
    assert [labels for labels, _ in lists[0]] == [["O"]]
    assert len(lists[1]) == 3


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


def test_bad_joint_tags_are_shown():
    for bad in ("O", ("N", 1), ("N",), 3):
        with pytest.raises(ValueError, match=re.escape(f"2 texts, not {bad!r}")):
            small("joint").fit([["a", "b"]], [[("N", "O"), bad]])


def test_labels_of_a_matrix_are_checked():
    X = np.eye(4)
    tagger = small("label", epochs=1)
    with pytest.raises(ValueError, match=r"text or integers, not bytes_"):
        tagger.fit_matrix(X, np.array([b"a", b"b"] * 2), [4])
    with pytest.raises(ValueError, match=r"y of dev has the shape \(2,\)"):
        tagger.fit_matrix(X, [1, 2, 1, 2], [4], dev=(X, [1, 2], [4]))
    with pytest.raises(ValueError, match="dev must be a tuple"):
        tagger.fit_matrix(X, [1, 2, 1, 2], [4], dev=(X, [1, 2]))
    tagger.fit_matrix(X, np.array(list("abab"), dtype=object), [4])
    assert tagger.labels_ == ("a", "b")
    with pytest.raises(ValueError, match=r"y has the shape \(1,\), but X has 4 rows"):
        tagger.score_matrix(X, ["a"], [4])
    assert tagger.score_matrix(X[:0], [], []) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hash_bits": 99}, "hash_bits must be an integer from 8 to 28, not 99"),
        ({"max_length": 2.5}, "max_length must be an integer from 1 to 1000, not 2.5"),
        ({"beam": 0}, "beam must be an integer from 1, not 0"),
        ({"step": -1.0}, "step must be positive"),
        ({"dropout": 2.0}, "dropout must be at least 0 and below 1"),
        ({"roll_in": "none"}, "roll_in must be one of"),
    ],
)
def test_bad_options_of_a_chunker_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        SegmentTagger(**options).fit(*text(3))


def interrupt_after(monkeypatch, epochs):
    """An interrupt in the epoch behind so many, when some of it is learned."""
    run = Learning.run_epoch
    left = [epochs]

    def stop(self):
        error = run(self)
        if left[0] == 0:
            self.epoch -= 1
            raise KeyboardInterrupt
        left[0] -= 1
        return error

    monkeypatch.setattr(Learning, "run_epoch", stop)


@pytest.mark.parametrize("epochs_done", [0, 2, 6, 8])
def test_an_interrupt_keeps_the_best_policy_so_far(monkeypatch, tmp_path, epochs_done):
    sentences, tags = text()
    interrupt_after(monkeypatch, epochs_done)
    with pytest.warns(UserWarning, match="interrupted"):
        tagger = small(direction="both").fit(sentences, tags)
    assert tagger.interrupted_
    assert len(tagger.history_) == epochs_done
    assert len(tagger._model.sides) == 1
    assert tagger.score(sentences, tags) > 0.9
    tagger.save(tmp_path / "m.tag")
    assert Tagger.load(tmp_path / "m.tag").predict(sentences) == tagger.predict(
        sentences
    )


def test_an_interrupt_of_the_first_pass_keeps_it(monkeypatch, tmp_path):
    sentences, tags = text()
    interrupt_after(monkeypatch, 7)
    with pytest.warns(UserWarning, match="interrupted"):
        tagger = small("ner").fit(sentences, tags)
    assert tagger._model.first is None
    tagger.save(tmp_path / "m.tag")
    assert Tagger.load(tmp_path / "m.tag").predict(sentences) == tagger.predict(
        sentences
    )


@pytest.mark.parametrize("name", ["greedy", "memory_of"])
def test_an_interrupt_behind_the_first_pass_keeps_it(monkeypatch, name):
    def stop(*arguments):
        raise KeyboardInterrupt

    sentences, tags = text()
    monkeypatch.setattr(f"argmetric._text.tagging._training.{name}", stop)
    with pytest.warns(UserWarning, match="interrupted"):
        tagger = small("ner").fit(sentences, tags)
    assert tagger.interrupted_
    assert tagger._model.first is None
    assert tagger.score(sentences, tags) > 0.9


@pytest.mark.parametrize(("epochs_done", "first"), [(0, False), (1, True)])
def test_less_than_an_epoch_does_not_replace_the_first_pass(
    monkeypatch, epochs_done, first
):
    sentences, tags = text()
    stages = 6  # the first pass, and one for each fold
    interrupt_after(monkeypatch, 2 * stages + epochs_done)
    with pytest.warns(UserWarning, match="interrupted"):
        tagger = small("ner", epochs=2).fit(sentences, tags)
    assert len(tagger.history_) == 2 * stages + epochs_done
    assert (tagger._model.first is not None) == first


def test_an_interrupt_before_anything_is_learned_is_passed_on(monkeypatch):
    def stop(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Learning, "run_epoch", stop)
    with pytest.raises(KeyboardInterrupt):
        small().fit(*text(3))


def test_the_best_epoch_on_development_data_is_kept():
    sentences, tags = text()
    rows = []
    tagger = small(direction="left", beam=1, templates="w[0]\nt[-1]")
    tagger.fit(sentences[:5], tags[:5], dev=(sentences, tags), on_epoch=rows.append)
    assert rows == tagger.history_
    best = max(row["score"] for row in rows)
    assert tagger.score(sentences, tags) == pytest.approx(best, abs=0.02)
    assert {row["stage"] for row in rows} == {"left"}


def test_progress_is_written_where_it_is_asked_for(capsys):
    small(verbose=1, epochs=1).fit(*text(3))
    assert "left, epoch 1" in capsys.readouterr().err


JOINT = [[(w, p) for w, p in s] for s in text()[0]]


def joint_tags(sentences, tags):
    return [
        [(p, t) for (_, p), t in zip(s, labels, strict=True)]
        for s, labels in zip(sentences, tags, strict=True)
    ]


def test_joint_labels_are_learned():
    sentences, tags = text()
    words = [[w for w, _ in s] for s in sentences]
    both = joint_tags(sentences, tags)
    tagger = small("joint").fit(words, both)
    assert tagger.predict(words) == both
    assert {k: v.score for k, v in tagger.evaluate(words, both).items()} == {
        "tag": 1.0,
        "chunk": 1.0,
    }
    columns = [
        [(w, *pair) for w, pair in zip(s, pairs, strict=True)]
        for s, pairs in zip(words, both, strict=True)
    ]
    assert small("joint").fit(columns).predict(words) == both


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("chunk", {}),
        ("chunk", {"direction": "right", "beam": 1, "learner": "perceptron"}),
        ("chunk", {"templates": ["w[0]", "t[-1]|pos[0]"], "direction": "left"}),
        ("ner", {}),
        ("ner", {"memory": "past"}),
        ("ner", {"memory": "none"}),
        ("pos", {"beam_scores": "raw", "direction": "left"}),
        ("joint", {}),
        ("chunk", {"roll_in": "none"}),
    ],
)
def test_a_saved_tagger_tags_exactly_alike(tmp_path, task, options):
    sentences, tags = text()
    others, _ = text(seed=5)
    right = joint_tags(sentences, tags) if task == "joint" else tags
    tagger = small(task, epochs=2, **options).fit(sentences, right)
    tagger.save(tmp_path / "m.tag")
    again = Tagger.load(tmp_path / "m.tag")
    assert again.predict_nbest(others, 4) == tagger.predict_nbest(others, 4)
    assert again.predict(others) == tagger.predict(others)
    assert repr(again) == repr(tagger)
    assert again.history_ == tagger.history_
    assert again.labels_ == tagger.labels_


def test_a_file_holds_arrays_and_text_only(tmp_path):
    tagger = small().fit(*text(5))
    tagger.save(tmp_path / "m.tag")
    with np.load(tmp_path / "m.tag", allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
        assert all(archive[name].dtype != object for name in archive.files)
    assert header["tables"][0][:2] == ["bias", "w[-2]"]
    header["version"] = 99
    broken = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(tmp_path / "new.npz", header=broken)
    with pytest.raises(DataError, match="version 99"):
        Tagger.load(tmp_path / "new.npz")


def test_templates_can_be_added():
    sentences, tags = text()
    table = default_templates("chunk") + "shape[2]|w[0] # my own\n"
    tagger = small(templates=table).fit(sentences, tags)
    assert (
        len(tagger._options.tables[0])
        == len(small().fit(sentences, tags)._options.tables[0]) + 1
    )
    assert tagger.score(sentences, tags) == 1.0


LABELS = ("B-A", "B-B", "I-A", "I-B", "O")


@st.composite
def chunked(draw):
    lengths = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4))
    labels = []
    for n in lengths:
        before = "O"
        for _ in range(n):
            options = [x for x in LABELS if x[0] != "I" or before[2:] == x[2:]]
            before = draw(st.sampled_from(options))
            labels.append(before)
    return lengths, labels


@given(chunked())
@settings(max_examples=100, deadline=None)
def test_mirrored_labels_begin_chunks_at_their_end(problem):
    lengths, labels = problem
    codec = Codec(Tier("t", LABELS, True))
    sentences = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    numbers = codec.encode(labels)
    mirrored = codec.mirrored(numbers, sentences)
    np.testing.assert_array_equal(codec.mirrored(mirrored, sentences), numbers)
    for a, b in itertools.pairwise(sentences.tolist()):
        spans = [
            (b - a - c.stop, b - a - c.start, c.type) for c in read_chunks(labels[a:b])
        ]
        expected = write_labels(spans, b - a)
        assert [LABELS[k] for k in mirrored[a:b]] == expected


def test_two_directions_take_the_best_product_of_all_candidates():
    sentences, tags = text(25)
    tagger = small(direction="both", epochs=1, templates="w[0]\nt[-1]\nt[-1]|w[1]")
    tagger.fit(sentences[:4], tags[:4])
    model = tagger._model
    source = model.source(_base.read_corpus(sentences, None, 1, labelled=False))
    places = source.sentences
    found = []
    for side in model.sides:
        rows = source.rows(reverse=side.reverse)
        found.append((side.policy, rows, beam(side.policy, rows, 3, 3)))

    def mirror(decisions):
        return recode(decisions, model.codecs, places)

    labels, totals = combine(*found, mirror, 0.5)
    wide = [beam(p, r, 4000, 4000) for p, r, _ in found]
    whole = mirror(wide[1].labels)
    for s, (a, b) in enumerate(itertools.pairwise(places.tolist())):
        if b - a > 4:
            continue
        left = {
            tuple(wide[0].labels[r, a:b]): wide[0].totals[s, r]
            for r in range(4000)
            if np.isfinite(wide[0].totals[s, r])
        }
        right = {
            tuple(whole[r, a:b]): wide[1].totals[s, r]
            for r in range(4000)
            if np.isfinite(wide[1].totals[s, r])
        }
        assert left.keys() == right.keys()
        candidates = {
            tuple(found[0][2].labels[r, a:b])
            for r in range(3)
            if np.isfinite(found[0][2].totals[s, r])
        }
        theirs = mirror(found[1][2].labels)
        candidates |= {
            tuple(theirs[r, a:b])
            for r in range(3)
            if np.isfinite(found[1][2].totals[s, r])
        }
        own = {
            tuple(labels[r, a:b]): totals[s, r]
            for r in range(6)
            if np.isfinite(totals[s, r])
        }
        assert own.keys() == candidates
        for way, total in own.items():
            assert total == pytest.approx(left[way] + 0.5 * right[way], abs=1e-9)
        assert (np.diff(list(own.values())) <= 0).all()


def test_memory_tells_what_the_word_was_elsewhere(monkeypatch):
    monkeypatch.setattr("argmetric._text.tagging.features._WINDOW", 200)

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


def test_a_sentence_of_more_than_a_thousand_tokens():
    sentences, tags = text(400)
    long = list(itertools.chain.from_iterable(sentences))[:1238]
    labels = list(itertools.chain.from_iterable(tags))[:1238]
    for task in ("chunk", "ner"):
        tagger = small(task).fit([long, *sentences[:20]], [labels, *tags[:20]])
        assert tagger.score([long], [labels]) == 1.0
    segments = SegmentTagger(hash_bits=14).fit([long], [labels])
    assert segments.score([long], [labels]) == 1.0


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
    X = pixel_pairs(images, (4, 3), radius=1)
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


def test_weights_of_features_count():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] > X[:, 1]).astype(int)
    tagger = Tagger("label", epochs=30, step=0.1).fit_matrix(X, y, [3] * 100)
    assert tagger.score_matrix(X, y, [3] * 100) > 0.95
    assert tagger.labels_ == (0, 1)


@pytest.mark.parametrize(
    ("X", "y", "lengths", "message"),
    [
        ([[1.0]], [0], [2], "lengths add up to 2"),
        ([[1.0]], [0, 1], [1], "y has the shape"),
        ([[np.inf]], [0], [1], "row 0 of X"),
        ([[1.0]], [0], [0.5], "lengths must be"),
        ([[1.0]], [0.5], [1], "y must hold"),
    ],
)
def test_bad_matrices_are_refused(X, y, lengths, message):
    with pytest.raises(ValueError, match=message):
        Tagger("label").fit_matrix(X, y, lengths)


def test_text_and_matrix_are_not_mixed_up():
    tagger = Tagger("label").fit_matrix([[1.0], [2.0]], ["a", "b"], [2])
    with pytest.raises(ValueError, match="predict_matrix"):
        tagger.predict([["a"]])
    with pytest.raises(ValueError, match="2 columns, the tagger learned with 1"):
        tagger.predict_matrix([[1.0, 2.0]], [1])
    with pytest.raises(ValueError, match="needs task='label'"):
        Tagger("chunk").fit_matrix([[1.0]], [0], [1])


@pytest.mark.parametrize("beam_width", [1, 5])
def test_chunks_are_decided_whole(beam_width):
    sentences, tags = text()
    tagger = SegmentTagger(hash_bits=14, beam=beam_width).fit(sentences, tags)
    others, right = text(seed=1)
    assert tagger.predict([*others, []]) == [*right, []]
    assert tagger.score(others, right) == 1.0


def test_a_saved_chunker_chunks_exactly_alike(tmp_path):
    sentences, tags = text()
    tagger = SegmentTagger(hash_bits=14, epochs=1).fit(sentences[:5], tags[:5])
    tagger.save(tmp_path / "m.tag")
    again = SegmentTagger.load(tmp_path / "m.tag")
    document = [("-DOCSTART-", "-X-")]
    assert again.predict([document, *sentences]) == tagger.predict(
        [document, *sentences]
    )
    assert again.predict([document]) == [["O"]]
    with pytest.raises(DataError, match="'argmetric segment tagger', not 'argmetric t"):
        Tagger.load(tmp_path / "m.tag")
    with pytest.raises(ValueError, match="2 columns"):
        again.predict([["the"]])


def test_chunks_longer_than_the_longest_are_missed():
    sentences = [[("a", "A"), ("b", "B"), ("c", "C"), ("d", "D")]] * 3
    tags = [["B-X", "I-X", "I-X", "B-Y"]] * 3
    tagger = SegmentTagger(hash_bits=12, max_length=2).fit(sentences, tags)
    assert tagger.predict(sentences[:1]) == [["O", "O", "O", "B-Y"]]


def test_real_chunks(data_folder):
    training = read_sentences(data_folder / "conll2000" / "train.txt")[:400]
    test = read_sentences(data_folder / "conll2000" / "test.txt")[:200]
    tagger = Tagger("chunk", hash_bits=16).fit(training)
    result = tagger.evaluate(test)["t"]
    assert result.f1 > 0.87
    assert tagger.predict(test[:20]) == [tagger.predict([s])[0] for s in test[:20]]


def test_policies_of_saved_taggers_have_the_weights_to_the_last_bit(tmp_path):
    sentences, tags = text(5)
    tagger = small(learner="perceptron", step=1e5).fit(sentences, tags)  # beyond halves
    tagger.save(tmp_path / "m.tag")
    again = Tagger.load(tmp_path / "m.tag")
    for own, other in zip(tagger._model.sides, again._model.sides, strict=True):
        assert isinstance(own.policy, Policy)
        np.testing.assert_array_equal(own.policy.weights, other.policy.weights)


# -- what both taggers answer --------------------------------------------------

BOTH = pytest.mark.parametrize("kind", [Tagger, SegmentTagger])


@BOTH
def test_taggers_answer_alike(tmp_path, kind):
    sentences, labels = text(20)
    rows = []
    tagger = kind(hash_bits=12, epochs=3)
    tagger.fit(sentences, labels, dev=(sentences[:5], labels[:5]), on_epoch=rows.append)
    assert rows == tagger.history_
    assert all(0.0 <= row["score"] <= 1.0 for row in rows)
    assert tagger.labels_ == ("B-NP", "B-VP", "I-NP", "O")
    strange = [["B-LST"] * len(labels[0]), *labels[1:]]
    found = tagger.evaluate(sentences, strange)
    assert list(found) == ["t"]
    assert found["t"].unknown == len(labels[0])
    assert tagger.score(sentences, strange) == found["t"].f1
    tagger.save(tmp_path / "m.tag")
    again = kind.load(tmp_path / "m.tag")
    assert again.evaluate(sentences, strange) == found
    assert again.get_params() == tagger.get_params()
    with pytest.raises(ValueError, match="learned nothing yet"):
        kind().evaluate(sentences, labels)


def test_the_best_epoch_of_a_segment_tagger_is_kept():
    sentences, labels = text(30)
    noisy = [["O" if i % 2 else k for i, k in enumerate(s)] for s in labels]
    noisy = [write_labels(read_chunks(s), len(s)) for s in noisy]
    tagger = SegmentTagger(hash_bits=12, epochs=5)
    tagger.fit(sentences, noisy, dev=(sentences, labels))
    best = max(row["score"] for row in tagger.history_)
    assert tagger.score(sentences, labels) == best


@BOTH
def test_taggers_are_cloned(kind):
    from sklearn.base import clone

    tagger = kind(templates=["w[0]"] if kind is Tagger else ["w[s]"], epochs=2)
    tagger.fit(*text(5))
    copy = clone(tagger)
    assert copy.get_params() == tagger.get_params()
    assert not hasattr(copy, "history_")
    assert copy.set_params(epochs=1, hash_bits=12) is copy
    assert (copy.epochs, copy.hash_bits, tagger.epochs) == (1, 12, 2)
    assert repr(copy).endswith("hash_bits=12)")
    with pytest.raises(ValueError, match=r"has no parameter 'colour'; it has .*epochs"):
        copy.set_params(beam=1, colour="red")
    assert copy.beam == tagger.beam


@BOTH
def test_labels_are_still_taken_by_their_old_name(kind):
    sentences, labels = text(5)
    tagger = kind(hash_bits=12, epochs=1)
    for method in (tagger.fit, tagger.evaluate, tagger.score):
        with pytest.warns(FutureWarning, match="tags is now called labels") as caught:
            old = method(sentences, tags=labels)
        assert [warning.filename for warning in caught] == [__file__]
    assert tagger.score(sentences, labels=labels) == old
    with pytest.raises(TypeError, match="pass labels alone"):
        tagger.fit(sentences, labels, tags=labels)


@BOTH
def test_warnings_of_fit_name_the_line_of_its_caller(kind):
    broken = [["I-NP", "O"]]
    with pytest.warns(UserWarning, match="not open") as caught:
        kind(hash_bits=12, epochs=1).fit([[("a", "DT"), ("b", "NN")]], broken)
    assert [warning.filename for warning in caught] == [__file__]


def test_a_recipe_is_told_before_anything_is_learned():
    recipe = Tagger("ner", beam=3, templates="w[0]\nt[-1]").recipe()
    assert recipe["templates"] == ["w[0]", "t[-1]"]
    assert (recipe["direction"], recipe["memory"], recipe["beam"]) == (
        "both",
        "both",
        3,
    )
    assert list(recipe) == list(Tagger().get_params())
    assert set(Tagger("joint").recipe()["templates"]) == {"tag", "chunk"}
    assert Tagger(direction="right").recipe()["direction"] == "right"
    with pytest.raises(ValueError, match="memory is for spans"):
        Tagger("pos", memory="both").recipe()
    tagger = small(direction="right").fit(*text(5))
    assert (tagger.direction_, tagger.n_columns_) == ("right", 2)


def test_default_templates_for_fewer_columns():
    few = default_templates("chunk", n_columns=1)
    assert "pos" not in "".join(line.partition("#")[0] for line in few.splitlines())
    assert "t[-1]" in few
    assert default_templates("chunk", n_columns=2) == default_templates("chunk")
    assert small(templates=few).fit(*text(5)).n_columns_ == 1
    with pytest.raises(ValueError, match="n_columns"):
        default_templates("chunk", n_columns=0)


@pytest.mark.parametrize("odd", [0.5, None, np.array(0.5), {"a"}])
def test_sentences_and_labels_that_are_no_lists_are_refused_by_name(odd):
    tagger = Tagger("pos", epochs=1, hash_bits=10)
    with pytest.raises(TypeError, match="sentences must be a list of lists of tokens"):
        tagger.fit(odd, [["N"]])
    with pytest.raises(TypeError, match=r"sentences must be .* at position 1"):
        tagger.fit([["a"], 3], [["N"], ["N"]])
    if odd is not None:
        with pytest.raises(TypeError, match="labels must be a list of labels for each"):
            tagger.fit([["a"]], odd)
    with pytest.raises(TypeError, match=r"labels must be .* at position 0"):
        tagger.fit([["a"]], [3])


def test_sentences_may_come_one_by_one():
    sentences, labels = [["a", "b"], ["b"]], [["N", "V"], ["V"]]
    tagger = Tagger("pos", epochs=1, hash_bits=10).fit(iter(sentences), iter(labels))
    assert tagger.predict(iter(sentences)) == tagger.predict(sentences)


def test_a_number_of_lists_is_a_whole_number():
    tagger = Tagger("pos", epochs=1, hash_bits=10).fit([["a"]], [["N"]])
    for n in (0, 1.5, np.nan, "2", np.timedelta64(1, "s"), 10**12):
        with pytest.raises((TypeError, ValueError), match="n must be a whole number"):
            tagger.predict_nbest([["a"]], n=n)


@pytest.mark.parametrize("X", [[[1.0], 2.0], [["a"], ["b"]], "ab", (), 3])
def test_a_matrix_that_is_none_is_refused_by_name(X):
    tagger = Tagger("label", epochs=1, hash_bits=10)
    with pytest.raises((TypeError, ValueError), match=r"\bX\b"):
        tagger.fit_matrix(X, ["a", "b"], [2])
    with pytest.raises(ValueError, match="X has values beyond"):
        tagger.fit_matrix([[1e39], [0.0]], ["a", "b"], [2])
    with pytest.raises(ValueError, match="lengths is ragged"):
        tagger.fit_matrix(np.eye(2), ["a", "b"], [1, [1]])
