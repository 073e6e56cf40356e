"""A Searn in a file: exactly what was learned, for the task that it was learned for."""

import json
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import argmetric as am
from argmetric.search import (
    AllPairs,
    JointTask,
    LinearLearner,
    QueueTask,
    RightToLeft,
    Searn,
    SequenceLabelling,
    Tagger,
    WordChunking,
)
from refusing import refuses

X = ["banana", "onion", "order", "yes", "bread"]
Y = ["cvcvcv", "vcvvc", "vccvc", "cvc", "ccvvc"]
OTHERS = ["bard", "", "queue", "rhythm", "aaaaa", "eland"]
CHUNKS = [["B-X", "I-X", "O"], ["O", "B-X"], ["B-X"]]
WORDS = [["big", "dogs", "bark"], ["yes", "dogs"], ["no"]]


@pytest.mark.parametrize(
    "options",
    [
        {"beta": 1.0, "iterations": 2},
        {"beta": 0.3, "iterations": 4, "random_state": np.int64(7)},
        {"beta": 0.3, "iterations": 3, "prediction": "mean", "beam": 3},
        {"beta": 0.5, "iterations": 2, "beam": 2, "train_beam": True},
        {"beta": 1.0, "iterations": 2, "cross_validation": 2, "learner": "svm"},
        {
            "beta": 0.5,
            "iterations": None,
            "learner": LinearLearner("perceptron", hash_bits=9, quadratic=True),
            "beam": 2,
            "beam_scores": "raw",
        },
    ],
    ids=lambda options: ",".join(options),
)
def test_what_is_loaded_predicts_exactly_alike(options, tmp_path):
    searn = Searn(SequenceLabelling("cv"), **options)
    searn.fit(X, Y, dev=(X[:2], Y[:2]) if options["beta"] == 1.0 else None)
    path = tmp_path / "vowels.searn"
    searn.save(path)
    task = SequenceLabelling("cv")
    again = Searn.load(path, task)
    assert again.task is task
    one, other = searn.get_params(), again.get_params()
    assert {**one, "task": None} == {**other, "task": None}
    assert again.history_ == searn.history_
    assert again.policy_.betas == searn.policy_.betas
    assert np.array_equal(again.policy_.weights, searn.policy_.weights)
    for a, b in zip(searn.policy_.learned, again.policy_.learned, strict=True):
        assert a.scorer.weights.dtype == b.scorer.weights.dtype == np.float64
        assert np.array_equal(a.scorer.weights, b.scorer.weights)
        assert (a.scorer.shift, a.scorer.quadratic) == (
            b.scorer.shift,
            b.scorer.quadratic,
        )
        assert b.folds == ()  # training inputs are inputs like others now
    assert again.predict(X + OTHERS) == searn.predict(X + OTHERS)
    assert again.fit(X, Y).predict(OTHERS) is not None


@pytest.mark.parametrize(
    "make",
    [
        lambda: WordChunking(["X"], metric=am.FBeta(2), history=1),
        lambda: RightToLeft(WordChunking(["X"])),
        lambda: QueueTask(WordChunking(["X"]), 2),
    ],
)
def test_tasks_in_tasks_are_known_again(make, tmp_path):
    path = tmp_path / "chunks"
    searn = Searn(make(), beta=1.0, iterations=1).fit(WORDS, CHUNKS)
    searn.save(path)
    again = Searn.load(path, make())
    assert again.predict(WORDS * 2) == searn.predict(WORDS * 2)


def saved(tmp_path, task, X=X, Y=Y):
    path = tmp_path / "policy.searn"
    Searn(task, beta=1.0, iterations=1).fit(X, Y).save(path)
    return path


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (WordChunking(["X"]), "was saved for the task SequenceLabelling, not for Word"),
        (
            SequenceLabelling("vc"),
            r"SequenceLabelling with labels=\['c', 'v'\], but here it is \['v', 'c'\]",
        ),
        (SequenceLabelling("cv", history=3), "history=2, but here it is 3"),
    ],
)
def test_other_tasks_are_refused(other, words, tmp_path):
    path = saved(tmp_path, SequenceLabelling("cv"))
    with pytest.raises(ValueError, match=words) as caught:
        Searn.load(path, other)
    assert "policy.searn" in str(caught.value)


def test_other_losses_and_other_tasks_inside_are_refused(tmp_path):
    path = saved(tmp_path, WordChunking(["X"], metric=am.FBeta(2)), WORDS, CHUNKS)
    with pytest.raises(ValueError, match="WordChunking with metric="):
        Searn.load(path, WordChunking(["X"]))
    vowels = SequenceLabelling("cv")
    path = saved(tmp_path, RightToLeft(vowels))
    with pytest.raises(ValueError, match="RightToLeft with task="):
        Searn.load(path, RightToLeft(SequenceLabelling("cv", history=1)))
    pairs = list(zip(Y, Y, strict=True))
    path = saved(tmp_path, JointTask(vowels, vowels, weights=(1, 2)), Y=pairs)
    assert Searn.load(path, JointTask(vowels, vowels, weights=(1, 2))).predict([""])
    with pytest.raises(ValueError, match="JointTask with weights="):
        Searn.load(path, JointTask(vowels, vowels))
    refuses(TypeError, "task must be a Task, not str", Searn.load, path, "cv")


def test_functions_and_what_a_task_remembers_are_not_compared(tmp_path):
    class Remembering(SequenceLabelling):
        def __init__(self, labels, table=None):
            super().__init__(labels, features=lambda x, i: [x[i]])
            self.table = np.zeros(20_000) if table is None else table
            self.seen = {}

        def features(self, x, state):
            self.seen[x] = len(self.seen)
            return super().features(x, state)

    path = saved(tmp_path, Remembering("cv"))
    again = Searn.load(path, Remembering("cv", np.ones(20_000)))
    assert again.predict(["banana"]) == [tuple("cvcvcv")]


def test_what_cannot_be_saved_is_told(tmp_path):
    path = tmp_path / "policy"
    task = SequenceLabelling("cv")
    with pytest.raises(ValueError, match="not fitted yet"):
        Searn(task).save(path)
    learner = AllPairs(LogisticRegression())
    searn = Searn(task, learner, beta=1.0, iterations=1).fit(X, Y)
    refuses(TypeError, r"learner AllPairs.* cannot be saved.*Linear", searn.save, path)
    assert not path.exists()
    with pytest.raises(ValueError, match=r"cannot write .*nowhere"):
        Searn(task, beta=1.0, iterations=1).fit(X, Y).save(tmp_path / "nowhere" / "p")


def rewritten(path, **changes):
    """The same archive with parts of its header changed."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = {**json.loads(arrays["header"].tobytes()), **changes}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 2}, "was written by a newer argmetric"),
        ({"format": "argmetric parser"}, "holds 'argmetric parser', not 'argmetric s"),
        ({"betas": []}, "is damaged: the Searn in it is not whole"),
        ({"betas": [1.0, 1.0]}, "is damaged"),
        ({"policies": [{"hash_bits": 17, "quadratic": False}]}, "is damaged"),
        ({"policies": [{"hash_bits": 60, "quadratic": False}]}, "is damaged"),
        ({"policies": []}, "is damaged"),
        ({"policies": [], "betas": []}, "is damaged"),
        ({"arguments": {"beam": 0}}, "is damaged"),
        ({"arguments": {"width": 1}}, "is damaged"),
        ({"learner": {"kind": "forest"}}, "is damaged"),
        ({"learner": None}, "is damaged"),
        ({"history": [{"number": 1}]}, "is damaged"),
        ({"task": "SequenceLabelling"}, "is damaged"),
    ],
)
def test_odd_files_are_refused_by_name(changes, words, tmp_path):
    path = saved(tmp_path, SequenceLabelling("cv"))
    rewritten(path, **changes)
    with pytest.raises(ValueError, match=words) as caught:
        Searn.load(path, SequenceLabelling("cv"))
    assert "policy.searn" in str(caught.value)


def test_cut_off_and_foreign_files_are_refused(tmp_path):
    task = SequenceLabelling("cv")
    path = saved(tmp_path, task)
    whole = path.read_bytes()
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        refuses(ValueError, r"policy\.searn", Searn.load, path, task)
    with pytest.raises(ValueError, match=r"cannot read .*missing"):
        Searn.load(tmp_path / "missing", task)
    tagger = Tagger("pos", hash_bits=8, epochs=1).fit([[("a", "b")]])
    tagger.save(path)
    refuses(ValueError, "holds 'argmetric tagger'", Searn.load, path, task)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "nothing")
    refuses(ValueError, r"policy\.searn", Searn.load, path, task)
