"""Taggers that are interrupted, judged, saved and cloned."""

import json

import numpy as np
import pytest

from argmetric._files import DataError
from argmetric._text.learning import Learning
from argmetric._text.tagging._model import TaggerPolicy
from argmetric.search import Tagger
from tagger_texts import joint_tags, small, text


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


def test_policies_of_saved_taggers_have_the_weights_to_the_last_bit(tmp_path):
    sentences, tags = text(5)
    tagger = small(step=1e6).fit(sentences, tags)  # beyond halves
    tagger.save(tmp_path / "m.tag")
    again = Tagger.load(tmp_path / "m.tag")
    for own, other in zip(tagger._model.sides, again._model.sides, strict=True):
        assert isinstance(own.policy, TaggerPolicy)
        np.testing.assert_array_equal(own.policy.weights, other.policy.weights)


def test_a_tagger_is_judged_alike_by_all_its_methods(tmp_path):
    sentences, labels = text(20)
    rows = []
    tagger = Tagger(hash_bits=12, epochs=3)
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
    again = Tagger.load(tmp_path / "m.tag")
    assert again.evaluate(sentences, strange) == found
    assert again.get_params() == tagger.get_params()
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
    with pytest.raises(TypeError, match="pass labels alone"):
        tagger.fit(sentences, labels, tags=labels)


def test_warnings_of_fit_name_the_line_of_its_caller():
    broken = [["I-NP", "O"]]
    with pytest.warns(UserWarning, match="not open") as caught:
        Tagger(hash_bits=12, epochs=1).fit([[("a", "DT"), ("b", "NN")]], broken)
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
