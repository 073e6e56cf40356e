"""Taggers that are interrupted, judged, saved and cloned, and what they refuse."""

import contextlib
import gc
import json
import re

import numpy as np
import pytest

from argmetric.search import Tagger
from refusing import refuses
from tagger_texts import joint_tags, small, text, words_alone


def interrupted(task, epochs, **options):
    """A tagger whose fit is interrupted behind so many epochs, and its text."""
    rows, data = [], text()

    def tell(row):
        rows.append(row)
        if len(rows) == epochs:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        tagger = small(task, **options).fit(*data, on_epoch=tell)
    assert tagger.interrupted_
    assert len(tagger.history_) == epochs
    return tagger, *data


# Six epochs of a side; a first pass, one for each of five folds, then both sides
@pytest.mark.parametrize(
    ("task", "epochs", "direction"),
    [
        ("chunk", 1, "left"),
        ("chunk", 3, "left"),
        ("chunk", 6, "left"),
        ("chunk", 8, "left"),
        ("ner", 2, "left"),
        ("ner", 7, "left"),
        ("ner", 31, "left"),
    ],
)
def test_an_interrupt_keeps_the_best_policy_so_far(tmp_path, task, epochs, direction):
    tagger, sentences, tags = interrupted(task, epochs, direction="both")
    assert tagger.direction_ == direction
    assert tagger.score(sentences, tags) > 0.9
    tagger.save(tmp_path / "m.tag")
    again = Tagger.load(tmp_path / "m.tag")
    assert again.predict(sentences) == tagger.predict(sentences)


def test_an_interrupt_before_anything_is_learned_is_passed_on(monkeypatch):
    def stop(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("argmetric.search.learning.Learning.run_epoch", stop)
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


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("chunk", {}),
        ("chunk", {"direction": "right", "beam": 1}),
        ("chunk", {"templates": ["w[0]", "t[-1]|pos[0]"], "direction": "left"}),
        ("ner", {}),
        ("ner", {"memory": "past"}),
        ("ner", {"memory": "none"}),
        ("pos", {"beam_scores": "raw", "direction": "left"}),
        ("joint", {}),
        ("chunk", {"roll_in": "none", "step": 1e6}),  # weights beyond halves
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


def test_a_label_never_seen_is_missed():
    sentences, labels = text(20)
    tagger = small(epochs=3).fit(sentences, labels)
    strange = [["B-LST"] * len(labels[0]), *labels[1:]]
    found = tagger.evaluate(sentences, strange)
    assert list(found) == ["t"]
    assert found["t"].unknown == len(labels[0])
    assert tagger.score(sentences, strange) == found["t"].f1 < 1.0
    with pytest.raises(ValueError, match="learned nothing yet"):
        Tagger().evaluate(sentences, labels)


def test_taggers_are_cloned():
    from sklearn.base import clone

    tagger = Tagger(templates=["w[0]"], epochs=2)
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


def test_labels_are_still_taken_by_their_old_name():
    sentences, labels = text(5)
    tagger = Tagger(hash_bits=12, epochs=1)
    for method in (tagger.fit, tagger.evaluate, tagger.score):
        with pytest.warns(FutureWarning, match="tags is now called labels") as caught:
            old = method(sentences, tags=labels)
        assert [warning.filename for warning in caught] == [__file__]
    assert tagger.score(sentences, labels=labels) == old
    refuses(TypeError, "pass labels alone", tagger.fit, sentences, labels, tags=labels)


def test_a_recipe_is_told_before_anything_is_learned():
    recipe = Tagger("ner", beam=3, templates="w[0]\nt[-1]").recipe()
    assert recipe["templates"] == ["w[0]", "t[-1]"]
    found = [recipe[name] for name in ("direction", "memory", "beam")]
    assert found == ["both", "both", 3]
    assert list(recipe) == list(Tagger().get_params())
    assert set(Tagger("joint").recipe()["templates"]) == {"tag", "chunk"}
    assert Tagger(direction="right").recipe()["direction"] == "right"
    tagger = small(direction="right").fit(*text(5))
    assert (tagger.direction_, tagger.n_columns_) == ("right", 2)


# -- refusals ----------------------------------------------------------------------


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


def test_text_with_fewer_columns_than_in_fit_is_refused():
    sentences, labels = text()
    words = words_alone(sentences)
    tagger = small("ner").fit(sentences, labels)
    message = re.escape(
        "the tagger reads 2 columns of each token (words first), but these tokens have "
        "1: pass tuples such as ('Hello', 'UH'), or fit it without the missing column"
    )
    for call in (
        lambda: tagger.predict(words),
        lambda: tagger.predict_nbest(words),
        lambda: tagger.score(words, labels),
        lambda: small("ner").fit(sentences, labels, dev=(words, labels)),
        lambda: small(templates="w[0]\npos[0]").fit(words, labels),
    ):
        refuses(ValueError, message, call)


def test_a_damaged_file_is_told_and_closed(tmp_path):
    Tagger(hash_bits=10, epochs=1).fit(*text(10)).save(tmp_path / "m.tag")
    data, bad = (tmp_path / "m.tag").read_bytes(), tmp_path / "bad.tag"
    with np.load(tmp_path / "m.tag") as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())
    for size in (0, 1, 100, len(data) // 2, len(data) - 1):
        bad.write_bytes(data[:size])
        refuses(ValueError, "is not a tagger of argmetric, or it is", Tagger.load, bad)
    rng = np.random.default_rng(0)
    for _ in range(25):
        broken = bytearray(data)
        for place in rng.integers(len(data), size=5):
            broken[place] ^= 1 << int(rng.integers(8))
        bad.write_bytes(broken)
        with contextlib.suppress(ValueError):  # not every bit counts
            Tagger.load(bad)
    weights = next(name for name in arrays if name.endswith("_weights"))
    for changes, message in (
        ({"arguments": {"colour": 1}}, "is damaged"),
        ({"arguments": None}, "is damaged"),
        ({"format": "argmetric rule"}, "holds 'argmetric rule', not 'argmetric"),
        ({"version": 99}, "has version 99"),
        ({}, "is damaged"),  # without weights
    ):
        coded = np.frombuffer(json.dumps(header | changes).encode(), dtype=np.uint8)
        kept = {k: v for k, v in arrays.items() if changes or k != weights}
        with open(bad, "wb") as file:
            np.savez(file, **{**kept, "header": coded})
        refuses(ValueError, message, Tagger.load, bad)
    gc.collect()  # a file left open is a warning, and so an error


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
    refuses(ValueError, "predict_matrix", tagger.predict, [["a"]])
    with pytest.raises(ValueError, match="2 columns, the tagger learned with 4"):
        tagger.predict_matrix([[1.0, 2.0]], [1])
    with pytest.raises(ValueError, match="needs task='label'"):
        Tagger("chunk").fit_matrix([[1.0]], [0], [1])
    with pytest.raises(ValueError, match="X has values beyond"):
        tagger.fit_matrix([[1e39], [0.0]], ["a", "b"], [2])
    with pytest.raises(ValueError, match="lengths is ragged"):
        tagger.fit_matrix(np.eye(2), ["a", "b"], [1, [1]])


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
    refuses(TypeError, r"labels must be .* at position 0", tagger.fit, [["a"]], [3])


def test_a_number_of_lists_is_a_whole_number():
    tagger = Tagger("pos", epochs=1, hash_bits=10).fit([["a"]], [["N"]])
    for n in (0, 1.5, np.nan, "2", np.timedelta64(1, "s"), 10**12):
        with pytest.raises((TypeError, ValueError), match="n must be a whole number"):
            tagger.predict_nbest([["a"]], n=n)
