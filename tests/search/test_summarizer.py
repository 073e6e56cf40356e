"""Summarizers: budgets, what is chosen, policies, files, and what they refuse."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from argmetric._saving import DataError
from argmetric.search import Parser, Summarizer, Tagger, Tree
from argmetric.search._summaries import _summarizer
from argmetric.search._summaries._rouge import tokens
from argmetric.search._summaries._word_lists import STOP_WORDS
from treebank import treebank

DOCUMENTS = [
    "The room was clean. We ate at a bar nearby. The pool is not open in May.",
    "Parking is hard to find. The room was clean and quiet. Staff: kind!",
    "The pool is not open. The staff was kind. We would not come again, ever.",
]


def hotels(n, seed=0):
    """Clusters of reviews, and summaries that say what most reviews say."""
    rng = np.random.default_rng(seed)
    things = ["room", "staff", "pool", "lift", "food", "bar"]
    words = ["clean", "kind", "cold", "old", "good", "far away"]
    clusters, references = [], []
    for _ in range(n):
        said = [f"The {thing} was {rng.choice(words)}" for thing in things]
        documents = []
        for _ in range(4):
            lines = [f"{one}." for one in said if rng.random() < 0.4]
            lines += [f"I saw a {rng.choice(words)} {rng.choice(things)}, I think."] * 2
            documents.append(" ".join(rng.permutation(lines).tolist()))
        clusters.append(documents)
        references.append(
            [f"{said[0]} and {said[1].lower()}.", f"{said[0]}; {said[2].lower()}."]
        )
    return clusters, references


def same(one, other):
    return [a.to_dict() for a in one] == [b.to_dict() for b in other]


def recalls(summarizer, clusters, references, **given):
    return summarizer.evaluate(clusters, references, **given).by_cluster["rouge_2"]


class Chain:
    """A parser: each word hangs on the one before it, so that pieces are prefixes."""

    def parse(self, sentences):
        return [Tree(list(own), None, list(range(len(own)))) for own in sentences]


class Flat:
    """A parser: all words hang on the first one."""

    def parse(self, sentences):
        return [Tree(list(own), None, [0] + [1] * (len(own) - 1)) for own in sentences]


MODES = [
    Summarizer(),
    Summarizer("compressed", parser=Chain()),
    Summarizer("compressed", parser=Flat()),
]


@pytest.fixture(scope="module")
def learned():
    """Clusters that were learned from, others, and summarizers by policy."""
    clusters, references = hotels(14)
    half = clusters[:8], references[:8]
    models = {
        name: Summarizer(policy=name, iterations=2).fit(*half, words=14)
        for name in ("weights", "searn")
    }
    return clusters[8:], references[8:], models


# -------------------------------------------------------------------------- budgets


@pytest.mark.parametrize("summarizer", MODES)
@pytest.mark.parametrize("words", [5, 9, 14, 100])
def test_a_budget_of_words_is_kept(summarizer, words):
    [found] = summarizer.predict([DOCUMENTS], words=words)
    assert 0 < found.n_words == len(found.text.split()) == found.size <= words
    assert (found.limit, found.unit) == (words, "words")


@pytest.mark.parametrize("summarizer", MODES)
@pytest.mark.parametrize("characters", [19, 40, 77])
def test_a_budget_of_characters_is_kept(summarizer, characters):
    [found] = summarizer.predict([DOCUMENTS], characters=characters)
    assert 0 < len(found.text) == found.size <= characters
    assert (found.limit, found.unit) == (characters, "characters")


def test_a_budget_is_used_to_its_last_unit():
    [found] = Summarizer().predict([["The room was clean."] * 2], characters=19)
    assert found.text == "The room was clean."
    with pytest.raises(
        ValueError, match="has 19 characters, more than the budget of 18"
    ):
        Summarizer().predict([["The room was clean."] * 2], characters=18)
    [found] = Summarizer().predict([["The room was clean."] * 2], words=4)
    assert found.size == 4


COUNTS = {
    "characters": len,
    "bytes": lambda text: len(text.encode()),
    "words and two marks": lambda text: 2 + len(text.split()),
    "four characters": lambda text: -(-len(text) // 4),
    "kinds of words": lambda text: len(set(text.split())),
    "squares": lambda text: len(text.split()) ** 2,
    "nothing": lambda text: 0,
    "whole floats": lambda text: float(len(text.split())),
    "numpy": lambda text: np.int64(len(text.split())),
}


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("summarizer", MODES)
@pytest.mark.parametrize("budget", [19, 45])
def test_the_users_own_budget_is_kept(summarizer, name, budget):
    count = COUNTS[name]
    [found] = summarizer.predict([DOCUMENTS], budget=budget, count=count)
    assert found.text
    assert found.size == count(found.text) <= budget
    assert (found.limit, found.unit) == (budget, "units")


def test_the_users_own_budget_is_used_up():
    """As that of words or characters is, whatever every text costs beside."""
    for own, mine in [
        ({"budget": 14, "count": COUNTS["numpy"]}, {"words": 14}),
        ({"budget": 16, "count": COUNTS["words and two marks"]}, {"words": 14}),
        ({"budget": 60, "count": len}, {"characters": 60}),
        ({"budget": 15, "count": COUNTS["four characters"]}, {"characters": 60}),
    ]:
        for summarizer in MODES:
            [one] = summarizer.predict([DOCUMENTS], **own)
            [other] = summarizer.predict([DOCUMENTS], **mine)
            assert one.text == other.text, own


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"words": 0}, ValueError, "words must be a whole number ≥ 1, not 0"),
        ({"words": 2.5}, ValueError, "words must be a whole number ≥ 1, not 2.5"),
        ({"characters": "9"}, TypeError, "characters must be a whole number"),
        ({"words": 3, "characters": 9}, ValueError, "one of words and characters"),
        ({"budget": 9}, ValueError, "budget and count go together: pass count"),
        ({"count": len}, ValueError, "budget and count go together: pass budget"),
        ({"budget": 9, "count": 3}, TypeError, "count must be a function .* not 3"),
        ({"budget": 9, "count": lambda _: None}, TypeError, "what count gives .* None"),
        ({"budget": 9, "count": lambda _: 1.5}, ValueError, "what count gives .* 1.5"),
        ({"budget": 9, "count": lambda _: -1}, ValueError, "what count gives .* -1"),
        (
            {"words": 1},
            ValueError,
            "cluster 0: the shortest piece .* has 2 words, more",
        ),
        ({"characters": 11}, ValueError, "has 12 characters, more than .* of 11"),
        ({"budget": 11, "count": len}, ValueError, "has 12 units, more than .* of 11"),
    ],
)
def test_budgets_that_cannot_be_are_told(given, error, message):
    with pytest.raises(error, match=message):
        Summarizer().predict(
            [["Staff: kind! The room was clean. No lift here."]], **given
        )


def test_a_sentence_of_400_words():
    long = " ".join(f"word{i}" for i in range(399)) + " end."
    with pytest.raises(ValueError, match="has 400 words, more than the budget of 60"):
        Summarizer().predict([[long, long]], words=60)
    for parser in (Chain(), Flat()):
        summarizer = Summarizer("compressed", parser=parser)
        [found] = summarizer.predict([[long, long]], words=60)
        assert found.n_words == 60
    [found] = Summarizer().predict([[long + " Nice room.", "A nice room."]], words=60)
    assert found.text in ("Nice room.", "A nice room.")


# ------------------------------------------------------------------- what is chosen


def test_words_stand_in_the_order_of_the_sources(learned):
    clusters, _, models = learned
    for summarizer in models.values():
        for found in summarizer.predict(clusters):
            places = [(d, a) for d, _, a, _ in found.positions.tolist()]
            assert places == sorted(set(places))
            assert [
                found.cluster.documents[d][a:b] for d, _, a, b in found.positions
            ] == found.text.split()


def test_sentences_are_kept_whole(learned):
    clusters, _, models = learned
    for found in models["searn"].predict(clusters):
        starts = found.cluster.sentence_starts.tolist()
        for a, b in pairwise(starts):
            assert len(set(found.step_of_word[a:b].tolist())) == 1


def test_what_must_be_in_is_in_and_first():
    asked = [[(1, 0), (2, 2)]]
    for summarizer in MODES:
        [found] = summarizer.predict([DOCUMENTS], words=15, must=asked)
        assert "Parking is hard to find." in found.sentences
        assert "We would not come again, ever." in found.sentences
        assert [" ".join(step.words) for step in found.steps[:2]] == [
            "Parking is hard to find.",
            "We would not come again, ever.",
        ]
        assert found.gains[:2].tolist() == [0.0, 0.0]
        assert found.n_words <= 15
        [twice] = summarizer.predict(
            [DOCUMENTS], words=15, must=[asked[0] + [(np.int64(1), 0)]]
        )
        assert twice.to_dict() == found.to_dict()
    [one, other] = Summarizer().predict([DOCUMENTS] * 2, words=9, must=[None, [(0, 1)]])
    assert "We ate at a bar nearby." in other.text
    assert one.to_dict()["text"] == Summarizer().predict([DOCUMENTS], words=9)[0].text


def test_of_what_is_never_in_nothing_is():
    for summarizer in MODES:
        [free] = summarizer.predict([DOCUMENTS], words=12)
        out = sorted({(d, s) for d, s, _, _ in free.positions.tolist()})
        [found] = summarizer.predict([DOCUMENTS], words=12, never=[out])
        kept = {(d, s) for d, s, _, _ in found.positions.tolist()}
        assert kept
        assert not kept & set(out)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (3, "a list for each cluster of pairs"),
        ([], "must is a list for each cluster .*: 0 lists for 1 clusters"),
        ([[3]], r"named by a pair \(document, sentence\), not 3"),
        ([[(0, 1, 2)]], r"a pair .* not \(0, 1, 2\)"),
        ([[(0.5, 1)]], r"a pair .* not \(0.5, 1\)"),
        ([["01"]], "a pair .* not '01'"),
        ([[(3, 0)]], "has no document 3; they are counted from 0 to 2"),
        ([[(-1, 0)]], "has no document -1"),
        ([[(1, 3)]], "document 1 of cluster 0 has no sentence 3; .* from 0 to 2"),
        ([[(0, 0), (0, 1), (0, 2)]], "must be in do not fit the budget of 12 words"),
    ],
)
def test_sentences_that_there_are_not_are_told(asked, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Summarizer().predict([DOCUMENTS], words=12, must=asked)


def test_contradictions_are_told():
    with pytest.raises(ValueError, match="cluster 0: a sentence is in both must and"):
        Summarizer().predict([DOCUMENTS], must=[[(0, 0)]], never=[[(0, 0)]])
    with pytest.raises(ValueError, match="must be in do not fit the budget of 9 units"):
        Summarizer().predict([DOCUMENTS], budget=9, count=len, must=[[(0, 0)]])
    every = [(d, s) for d in range(3) for s in range(3)]
    with pytest.raises(
        ValueError, match="there is nothing to take; never and min_word"
    ):
        Summarizer().predict([DOCUMENTS], never=[every])
    with pytest.raises(ValueError, match="there is nothing to take"):
        Summarizer(min_words=50).predict([DOCUMENTS])


@pytest.mark.parametrize("summarizer", MODES)
@pytest.mark.parametrize("floor", [1, 4, 6])
def test_no_sentence_is_shorter_than_asked(summarizer, floor):
    model = clone(summarizer).set_params(min_words=floor)
    [found] = model.predict([DOCUMENTS], words=17)
    sizes = [len(one.split()) for one in found.sentences]
    assert sizes
    assert min(sizes) >= floor


def content(text):
    return set(tokens(text)) - STOP_WORDS


@given(
    st.lists(
        st.lists(
            st.sampled_from(["room", "big", "the", "lift", "old", "is"]), min_size=2
        )
        .map(lambda words: " ".join(words[:5]))
        .map("{}.".format),
        min_size=2,
        max_size=6,
    ),
    st.sampled_from([0.0, 0.5, 0.7, 1.0]),
)
@settings(max_examples=60)
def test_new_sentences_repeat_no_more_than_they_may(sentences, share):
    [found] = Summarizer(redundancy=share).predict([[sentences, sentences]], words=40)
    so_far = set()
    for step in found.steps:
        own = content(" ".join(step.words))
        assert len(own & so_far) <= share * len(own)
        so_far |= own


def test_redundancy_by_hand():
    documents = ["The big room. A big old bed."] * 2

    def sentences(share):
        model = Summarizer(redundancy=share)
        return model.predict([documents], words=20, must=[[(0, 0)]])[0].sentences

    # "big" is one of three words that are not of grammar
    assert sentences(0.0) == sentences(0.33) == ["The big room."]
    assert sentences(0.34) == sentences(1.0) == ["The big room.", "A big old bed."]


def test_documents_with_nothing_in_common_have_a_summary():
    [found] = Summarizer().predict([["It was red.", "It was blue."]], words=3)
    assert found.text in ("It was red.", "It was blue.")
    [found] = Summarizer().predict([["Red sun. Blue moon."]], words=2)
    assert found.n_words == 2


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
    for name in ("weights", "searn"):
        with pytest.raises(
            ValueError, match=f"policy='{name}' has learned nothing yet"
        ):
            Summarizer(policy=name).predict([DOCUMENTS])
    learned = Summarizer(policy="weights").fit(clusters, references)
    with pytest.raises(ValueError, match="policy='searn' has learned nothing yet"):
        learned.set_params(policy="searn").predict([DOCUMENTS])
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
    assert found["searn"] > found["frequency"] + 0.1
    assert all(one.policy == "oracle" for one in best)


def test_scores_are_those_of_the_summaries(learned):
    clusters, references, models = learned
    scores = models["weights"].evaluate(clusters, references)
    found = models["weights"].predict(clusters, words=14)
    assert scores.by_cluster["words"].tolist() == [one.n_words for one in found]


def test_gains_of_frequency_are_shares_of_what_there_is():
    documents = ["big room. old lift.", "big room. old lift."]
    [found] = Summarizer().predict([documents], words=9)
    assert found.gains.sum() == pytest.approx(1.0)
    assert len(found.steps) == 2


def test_what_is_learned_depends_on_the_seed_alone(learned):
    clusters, references, _ = learned
    many = [[text.replace(". ", ".\n\n") for text in own * 20] for own in clusters[:2]]

    def fitted(seed):
        model = Summarizer(policy="searn", iterations=1, random_state=seed)
        return model.fit(many, references[:2], words=14)

    one, again, other = fitted(0), fitted(0), fitted(1)
    assert one.history_ == again.history_
    assert same(one.predict(clusters), again.predict(clusters))
    weights = [model._learned[1].linear.weights for model in (one, again, other)]
    assert (weights[0] == weights[1]).all()
    assert (weights[0] != weights[2]).any()  # of 300 and more sentences, some are drawn


# ------------------------------------------------------------------------- learning


def test_lines_and_history_of_searn(capfd):
    clusters, references = hotels(4)
    model = Summarizer(policy="searn", iterations=2, verbose=1)
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


def interrupted(after):
    real = _summarizer.learn_searn

    def learn(*given, **named):
        for i, row in enumerate(real(*given, **named)):
            if i == after:
                raise KeyboardInterrupt
            yield row

    return learn


def test_an_interrupt_keeps_the_policy_so_far(monkeypatch):
    clusters, references = hotels(4)
    whole = Summarizer(policy="searn", iterations=1).fit(clusters, references)
    monkeypatch.setattr(_summarizer, "learn_searn", interrupted(1))
    model = Summarizer(policy="searn", iterations=3)
    with pytest.warns(UserWarning, match="interrupted: the policy so far is kept"):
        model.fit(clusters, references)
    assert model.interrupted_
    assert model.history_ == whole.history_[:1]
    assert same(model.predict(clusters), whole.predict(clusters))


def test_a_fit_that_fails_leaves_what_was_learned(monkeypatch):
    clusters, references = hotels(4)
    model = Summarizer(policy="searn", iterations=1)
    before = model.fit(clusters, references, words=14).predict(clusters)
    rows = model.history_
    with pytest.raises(ValueError, match="no sentence of the clusters fits the budget"):
        model.fit(clusters, references, words=1)
    monkeypatch.setattr(_summarizer, "learn_searn", interrupted(0))
    with pytest.raises(KeyboardInterrupt):
        model.fit(clusters, references, words=9)
    assert (model.words_, model.history_) == (14, rows)
    assert same(model.predict(clusters), before)


@pytest.mark.parametrize("policy", ["weights", "searn"])
@pytest.mark.parametrize(
    ("documents", "references"),
    [
        (["Good."], ["Good stuff"]),  # no pair in the sources
        (["Привет мир."], ["Good stuff"]),  # no token
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


@pytest.fixture(scope="module")
def compressor():
    """A summarizer that has learned, with a parser that tags; and clusters."""
    trees = treebank(60)
    parser = Parser(hash_bits=10, epochs=2, direction="left", beam=2)
    parser.fit(trees, tagger=Tagger("pos", epochs=1, hash_bits=10))
    rng = np.random.default_rng(0)
    texts = [" ".join(tree.words) for tree in treebank(60, seed=1)]
    clusters = [[texts[i : i + 3], texts[i + 3 : i + 6]] for i in range(0, 60, 6)]
    references = [
        [" ".join(str(rng.choice(own[0])).split()[:8]) for _ in range(2)]
        for own in clusters
    ]
    model = Summarizer("compressed", policy="searn", parser=parser, iterations=1)
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


def test_a_saved_summarizer_has_its_parser(compressor, tmp_path):
    model, clusters, _ = compressor
    model.save(tmp_path / "m")
    other = Summarizer.load(tmp_path / "m")
    assert other.mode == "compressed"
    assert isinstance(other.parser.tagger_, Tagger)
    assert same(model.predict(clusters), other.predict(clusters))


def test_the_parser_may_be_a_path(compressor, tmp_path):
    model, clusters, references = compressor
    model.parser.save(tmp_path / "p")
    by_path = clone(model).set_params(parser=str(tmp_path / "p"))
    by_path.fit(clusters[:6], references[:6], words=10)
    by_path.save(tmp_path / "m")
    expected = model.predict(clusters)
    assert same(by_path.predict(clusters), expected)
    (tmp_path / "p").unlink()
    assert same(Summarizer.load(tmp_path / "m").predict(clusters), expected)


def test_a_clone_has_learned_nothing_but_has_its_parser(compressor):
    model, clusters, _ = compressor
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.parser is model.parser
    assert not hasattr(copy, "words_")
    copy.set_params(policy=None)
    assert copy.policy_ == "frequency"
    assert copy.predict(clusters[:1], words=9)[0].n_words <= 9


def test_parameters():
    model = Summarizer(redundancy=0.5)
    assert repr(model) == "Summarizer(mode='sentences', redundancy=0.5)"
    assert model.set_params(mode="compressed", min_words=3) is model
    assert model.get_params() == {
        "mode": "compressed",
        "policy": None,
        "parser": None,
        "min_words": 3,
        "redundancy": 0.5,
        "iterations": 3,
        "oracle_beam": 1,
        "random_state": 0,
        "verbose": 0,
    }
    with pytest.raises(ValueError, match="Summarizer has no parameter 'beam'"):
        model.set_params(beam=3)


def test_what_cannot_be_saved_is_told(tmp_path):
    with pytest.raises(ValueError, match="learned nothing yet: call fit first"):
        Summarizer().save(tmp_path / "m")
    clusters, references = hotels(2)
    model = Summarizer("compressed", parser=Chain()).fit(clusters, references)
    with pytest.raises(ValueError, match="the parser cannot be saved: pass a Parser"):
        model.save(tmp_path / "m")
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
        {"parser": np.frombuffer(b"no parser", dtype=np.uint8)},
    ],
)
def test_damaged_files_are_told(learned, tmp_path, changed):
    path = tmp_path / "m"
    learned[2]["searn"].save(path)
    damaged(path, **changed)
    with pytest.raises(DataError):
        Summarizer.load(path)


def test_other_files_are_told(learned, tmp_path):
    path = tmp_path / "m"
    learned[2]["searn"].save(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match="not a summarizer of argmetric, or it is cut"):
        Summarizer.load(path)
    with pytest.raises(DataError, match="nix: No such file"):
        Summarizer.load(tmp_path / "nix")
    tagger = Tagger("pos", epochs=1, hash_bits=8).fit([["a", "b"]], [["X", "Y"]])
    tagger.save(path)
    with pytest.raises(
        DataError, match="holds 'argmetric tagger', not 'argmetric summ"
    ):
        Summarizer.load(path)
    path.write_bytes(data)
    with np.load(path) as archive:
        header = json.loads(archive["header"].tobytes())
    header["version"] = 99
    damaged(path, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
    with pytest.raises(DataError, match="99"):
        Summarizer.load(path)


# -------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mode": "headlines"}, "mode must be"),
        ({"policy": "magic"}, "policy must be"),
        ({"min_words": 0}, "min_words must be a whole number ≥ 1"),
        ({"redundancy": 1.5}, "redundancy must lie between 0 and 1, not 1.5"),
        ({"iterations": 0}, "iterations must be a whole number from 1"),
        ({"oracle_beam": 0}, "oracle_beam must be a whole number from 1"),
        ({"random_state": -1}, "random_state must be a whole number ≥ 0"),
    ],
)
def test_options_that_cannot_be_are_told(given, message):
    clusters, references = hotels(2)
    model = Summarizer(**given)
    for call in (
        lambda: model.fit(clusters, references),
        lambda: model.predict(clusters),
        lambda: model.oracle(clusters, references),
        lambda: model.evaluate(clusters, references),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            call()


@pytest.mark.parametrize(
    ("parser", "message"),
    [
        (None, "cluster 0 has sentences without trees, and mode='compressed' needs"),
        (3, "parser must be a fitted Parser or a path, not 3"),
        (Parser(), "the parser has learned nothing yet"),
        ("nix.parser", "cannot read nix.parser"),
    ],
)
def test_compressed_summaries_need_a_parser(parser, message):
    model = Summarizer("compressed", parser=parser)
    with pytest.raises((ValueError, TypeError), match=message):
        model.predict([DOCUMENTS])


def test_a_parser_that_does_not_tag_is_told():
    trees = treebank(8)
    parser = Parser(hash_bits=8, epochs=1, direction="left").fit(trees)
    with pytest.raises((ValueError, TypeError), match="tag"):
        Summarizer("compressed", parser=parser).predict([DOCUMENTS])


def test_trees_need_no_parser():
    tree = Tree(
        ["The", "new", "bed", "is", "not", "very", "soft", "."],
        ["DT", "JJ", "NN", "VBZ", "RB", "RB", "JJ", "."],
        [3, 3, 4, 0, 4, 7, 4, 4],
    )
    model = Summarizer("compressed")
    [found] = model.predict([[[tree], [tree]]], words=6)
    assert found.text == "The bed is not very soft"
    assert found.positions["start"].tolist() == [0, 8, 12, 15, 19, 24]
    with pytest.raises(ValueError, match="has 6 words, more than the budget of 5"):
        model.predict([[[tree], [tree]]], words=5)


REFERENCES = ["The room was clean."]


@pytest.mark.parametrize(
    ("clusters", "references", "message"),
    [
        ([], [], "clusters is empty: there is nothing to learn from"),
        ([DOCUMENTS, []], [REFERENCES] * 2, "cluster 1 has no document: leave it out"),
        ([["a b", " "]], [REFERENCES], "cluster 0, document 1 is empty: leave it out"),
        ([DOCUMENTS], [], "references of 0 clusters for 1 clusters"),
        ([DOCUMENTS], [[]], "cluster 0 has no reference: leave it out, or write one"),
        ([DOCUMENTS], [["ok", "?"]], r"cluster 0: reference 1 is empty: '\?' has no"),
        ([DOCUMENTS], [[3]], "references of cluster 0 must be a list of text"),
        ([DOCUMENTS], "text", "references must be a list of lists of text"),
        ([DOCUMENTS], None, "references must be a list of lists of text"),
        (DOCUMENTS, REFERENCES, "cluster 0 must be a list of documents, not text"),
        ("text", REFERENCES, "clusters must be a list of clusters"),
        ([[[["a"]]]], [REFERENCES], "sentence 0 must be text or a Tree"),
    ],
)
def test_what_cannot_be_learned_from_is_told(clusters, references, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Summarizer().fit(clusters, references)
    if clusters:
        with pytest.raises((ValueError, TypeError), match=message):
            Summarizer().oracle(clusters, references)
        with pytest.raises((ValueError, TypeError), match=message):
            Summarizer().evaluate(clusters, references)


def test_no_cluster_has_no_summary():
    assert Summarizer().predict([]) == []
    with pytest.raises(ValueError, match="cluster 0 has no document"):
        Summarizer().predict([[]])


def test_the_budget_of_the_oracle_is_one_that_fits():
    with pytest.raises(ValueError, match="has 2 words, more than the budget of 1"):
        Summarizer().oracle([DOCUMENTS], [REFERENCES], words=1)
