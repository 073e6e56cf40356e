"""Summarizers that learn: policies, histories, interrupts, files and clones."""

import io
import json
import sys
from itertools import pairwise

import numpy as np
import pytest

from argmetric.search import Summarizer, Tagger
from refusing import refuses
from reviews import DOCUMENTS, hotels
from treebank import treebank


def same(one, other):
    return [a.to_dict() for a in one] == [b.to_dict() for b in other]


def recalls(summarizer, clusters, references, **given):
    return summarizer.evaluate(clusters, references, **given).by_cluster["rouge_2"]


@pytest.fixture(scope="module")
def learned():
    """Clusters that were learned from, others, and summarizers by policy."""
    clusters, references = hotels(14)
    half = clusters[:8], references[:8]
    models = {
        name: Summarizer(policy=name, iterations=2).fit(*half, words=14)
        for name in ("weights", "dagger")
    }
    return clusters[8:], references[8:], models


# ------------------------------------------------------------------------- policies


def test_the_default_policy_before_and_after_the_fit():
    clusters, references = hotels(3)
    summarizer = Summarizer()
    assert summarizer.policy_ == "frequency"
    [found] = summarizer.predict([DOCUMENTS], words=9)
    assert found.policy == "frequency"
    assert found.limit == 9
    assert summarizer.predict([DOCUMENTS])[0].limit == 60
    assert summarizer.fit(clusters, references, words=11) is summarizer
    assert summarizer.policy_ == "weights"
    [found] = summarizer.predict([DOCUMENTS])
    assert (found.policy, found.limit) == ("weights", 11)
    summarizer.set_params(policy="frequency")
    assert summarizer.predict([DOCUMENTS])[0].policy == "frequency"


def test_a_policy_that_was_not_learned_is_told():
    clusters, references = hotels(3)
    for name in ("weights", "dagger"):
        with pytest.raises(
            ValueError, match=f"policy='{name}' has learned nothing yet"
        ):
            Summarizer(policy=name).predict([DOCUMENTS])
    learned = Summarizer(policy="weights").fit(clusters, references)
    with pytest.raises(ValueError, match="policy='dagger' has learned nothing yet"):
        learned.set_params(policy="dagger").predict([DOCUMENTS])
    with pytest.raises(ValueError, match="policy='frequency' learns nothing"):
        Summarizer(policy="frequency").fit(clusters, references)


def test_what_is_learned_helps_and_the_oracle_is_best(learned):
    clusters, references, models = learned
    frequency = Summarizer(policy="frequency")
    found = {
        name: recalls(model, clusters, references, words=14).mean()
        for name, model in (models | {"frequency": frequency}).items()
    }
    best = frequency.oracle(clusters, references, words=14)
    top = np.mean([one.gains.sum() for one in best])
    assert top >= max(found.values())
    assert top > found["weights"]
    assert found["weights"] > found["frequency"] + 0.1
    assert found["dagger"] > found["frequency"] + 0.1
    assert all(one.policy == "oracle" for one in best)
    scores = models["weights"].evaluate(clusters, references)
    words = [one.n_words for one in models["weights"].predict(clusters, words=14)]
    assert scores.by_cluster["words"].tolist() == words
    documents = ["big room. old lift.", "big room. old lift."]
    [whole] = frequency.predict(
        [documents], words=9
    )  # gains are shares of all there is
    assert whole.gains.sum() == pytest.approx(1.0)


# ------------------------------------------------------------------------- learning


def test_lines_and_history_of_dagger(capfd):
    clusters, references = hotels(4)
    model = Summarizer(policy="dagger", iterations=2, verbose=1)
    model.fit(clusters, references, words=14)
    rows = model.history_
    assert [row["iteration"] for row in rows] == [0, 1, 2]
    assert set(rows[0]) == {"iteration", "loss", "regret", "steps"}
    lines = capfd.readouterr().err.splitlines()
    names = ["initial", "iteration 1", "iteration 2"]
    assert lines == [
        f"{name} policy: loss {row['loss']:.4f}, regret {row['regret']:.4f}, "
        f"{row['steps']:.1f} steps"
        for name, row in zip(names, rows, strict=True)
    ]
    oracle = model.oracle(clusters, references)
    loss = 1.0 - np.mean([one.gains.sum() for one in oracle])
    assert rows[0]["loss"] == pytest.approx(loss, abs=1e-12)
    assert not model.interrupted_
    quiet = Summarizer(policy="weights").fit(clusters, references)
    assert quiet.history_ == []
    assert capfd.readouterr().err == ""


class Stopped(io.StringIO):
    """A standard error that is interrupted when a line is written."""

    def write(self, text):
        raise KeyboardInterrupt


def test_an_interrupt_keeps_the_policy_so_far(monkeypatch):
    clusters, references = hotels(4)
    whole = Summarizer(policy="dagger", iterations=1).fit(clusters, references)
    monkeypatch.setattr(sys, "stderr", Stopped())
    model = Summarizer(policy="dagger", iterations=3, verbose=1)
    with pytest.warns(UserWarning, match="interrupted: the policy so far is kept"):
        model.fit(clusters, references)
    assert model.interrupted_
    assert model.history_ == whole.history_[:1]
    assert same(model.predict(clusters), whole.predict(clusters))


@pytest.mark.parametrize("policy", ["weights", "dagger"])
@pytest.mark.parametrize(
    ("documents", "references"),
    [
        (["Good."], ["Good stuff"]),  # no pair in the sources
        (["Good bad ugly."], ["Good"]),  # no pair in the reference
        (["a a a a. a a."], ["a a a a a"]),  # nothing varies
    ],
)
def test_little_to_learn_from_is_no_error(policy, documents, references):
    model = Summarizer(policy=policy, iterations=1)
    model.fit([documents], [references], words=5)
    [found] = model.predict([["Good bad ugly. Good."]])
    assert found.n_words <= 5
    assert np.isfinite(found.gains).all()


# ---------------------------------------------------------------- files and clones


class KnownTrees:
    """A parser that knows the trees of its sentences."""

    def __init__(self, trees):
        self.trees = {tuple(tree.words): tree for tree in trees}

    def parse(self, sentences):
        return [self.trees[tuple(words)] for words in sentences]


@pytest.fixture(scope="module")
def compressor():
    """A summarizer that has learned, with a parser; and clusters."""
    parser = KnownTrees(treebank(60, seed=1))
    rng = np.random.default_rng(0)
    texts = [" ".join(tree.words) for tree in treebank(60, seed=1)]
    clusters = [[texts[i : i + 3], texts[i + 3 : i + 6]] for i in range(0, 60, 6)]
    references = [
        [" ".join(str(rng.choice(own[0])).split()[:8]) for _ in range(2)]
        for own in clusters
    ]
    model = Summarizer("compressed", policy="dagger", parser=parser, iterations=1)
    return model.fit(clusters[:6], references[:6], words=10), clusters, references


def test_compressed_summaries_are_parts_that_hang_together(compressor):
    model, clusters, references = compressor
    found = model.predict(clusters[6:])
    assert all(0 < one.n_words <= 10 for one in found)
    assert any(len(step.words) < 5 for one in found for step in one.steps)
    whole = Summarizer().oracle(clusters[6:], references[6:], words=10)
    parts = model.oracle(clusters[6:], references[6:], words=10)
    assert np.mean([one.gains.sum() for one in parts]) > np.mean(
        [one.gains.sum() for one in whole]
    )
    for one in [*found, *parts]:
        kept, words = one.is_kept, one.cluster.words
        trees = model.parser.parse(
            [words[a:b] for a, b in pairwise(one.cluster.sentence_starts.tolist())]
        )
        starts = one.cluster.sentence_starts.tolist()
        for tree, start in zip(trees, starts, strict=False):
            for i, head in enumerate(tree.heads.tolist()):
                if head and words[start + i] != ".":
                    assert not kept[start + i] or kept[start + head - 1]


def test_a_saved_summarizer_is_the_same(learned, tmp_path):
    clusters, _, models = learned
    for name, model in models.items():
        model.save(tmp_path / name)
        other = Summarizer.load(tmp_path / name)
        assert same(model.predict(clusters), other.predict(clusters))
        assert repr(other) == repr(model)
        assert other.get_params() == model.get_params()
        assert (other.words_, other.history_) == (model.words_, model.history_)
        assert (other.policy_, other.interrupted_) == (name, False)
        other.save(tmp_path / "again")
        again, first = ((tmp_path / one).read_bytes() for one in ("again", name))
        assert len(again) == len(first)


def test_a_parser_is_not_saved_and_can_be_set_again(compressor, tmp_path):
    model, clusters, _ = compressor
    model.save(tmp_path / "m")
    other = Summarizer.load(tmp_path / "m")
    refuses(ValueError, "has sentences without trees", other.predict, clusters)
    other.set_params(parser=model.parser)
    assert same(other.predict(clusters), model.predict(clusters))


def test_what_cannot_be_saved_is_told(tmp_path):
    with pytest.raises(ValueError, match="learned nothing yet: call fit first"):
        Summarizer().save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def damaged(path, **changed):
    """A file with some of its arrays replaced or, by None, left out."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files} | changed
    with open(path, "wb") as file:
        np.savez(file, **{k: v for k, v in arrays.items() if v is not None})


@pytest.mark.parametrize(
    "changed",
    [
        {"names": None},
        {"names": np.frombuffer(b"one\ntwo", dtype=np.uint8)},
        {"names": np.frombuffer(b"\xff", dtype=np.uint8)},
        {"clusters": np.zeros(3)},
        {"pieces": None},
        {"tokens": np.zeros(5)},
    ],
)
def test_damaged_files_are_told(learned, tmp_path, changed):
    path = tmp_path / "m"
    learned[2]["dagger"].save(path)
    damaged(path, **changed)
    refuses(ValueError, "is damaged", Summarizer.load, path)


def test_other_files_are_told(learned, tmp_path):
    path = tmp_path / "m"
    learned[2]["dagger"].save(path)
    data = path.read_bytes()
    with np.load(path) as archive:
        header = json.loads(archive["header"].tobytes()) | {"version": 99}
    damaged(path, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
    refuses(ValueError, "99", Summarizer.load, path)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match="not a summarizer of argmetric, or it is cut"):
        Summarizer.load(path)
    refuses(ValueError, "nix: No such file", Summarizer.load, tmp_path / "nix")
    Tagger("pos", epochs=1, hash_bits=8).fit([["a", "b"]], [["X", "Y"]]).save(path)
    with pytest.raises(ValueError, match="holds 'argmetric tagger', not 'argmetric su"):
        Summarizer.load(path)
