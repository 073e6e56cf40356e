"""Vine growth as published: completions, costs, mixtures, and what may be added."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric._text.summaries import vines as _vines
from argmetric._text.summaries.cluster import read_cluster
from argmetric._text.summaries.growth import Growth
from argmetric._text.summaries.material import Budget, make_material
from argmetric._text.summaries.rouge import rouge_recall, tokens
from argmetric._text.summaries.vines import (
    Completions,
    mixture_shares,
    subtree_sums,
    with_parents,
)
from argmetric.search import Summarizer, Tree
from reviews import Chain, Flat, hotels
from twins import summaries as twin

WORDS = st.sampled_from(["a", "b", "c", "a-b", "--", "x", "y"])
REFERENCES = st.lists(
    st.lists(st.sampled_from("abcx"), min_size=2, max_size=6).map(" ".join),
    min_size=1,
    max_size=2,
)


@st.composite
def parsed(draw):
    """A sentence with a tree."""
    own = draw(st.lists(WORDS, min_size=1, max_size=5))
    heads = [0, *(draw(st.integers(1, i)) for i in range(1, len(own)))]
    order = draw(st.permutations(range(len(own))))
    place = {old: new for new, old in enumerate(order)}
    shuffled = [own[i] for i in order]
    turned = [0 if not heads[i] else place[heads[i] - 1] + 1 for i in order]
    return Tree(shuffled, None, turned)


@given(st.lists(parsed(), min_size=1, max_size=2), REFERENCES, st.data())
def test_a_wide_beam_finds_the_best_completion(trees, references, data):
    material = make_material(
        read_cluster([[tree] for tree in trees], "it"),
        "compressed",
        None,
        references,
        vine=True,
    )
    n, room = len(material.pieces), data.draw(st.integers(0, 4))
    parents = material.parents.tolist()
    grown = sorted(map(sorted, twin.vines(parents, (), 2)))
    start = data.draw(st.sampled_from(grown))
    kept = np.zeros(n, dtype=np.uint8)
    kept[start] = 1

    def recall(nodes):
        text = " ".join(material.cluster.words[i] for i in sorted(nodes))
        return twin.rouge_2(tokens(text), material.references)

    best = max(recall(one) for one in twin.vines(parents, start, room))
    completions = Completions(material, Budget(9, "words"), 4000)
    gain, path = completions.best(kept, float(room))
    assert gain == pytest.approx(best - recall(start), abs=1e-12)
    assert len(path) <= room
    for i, node in enumerate(path):
        assert parents[node] < 0 or parents[node] in {*start, *path[:i]}
    assert gain == pytest.approx(recall({*start, *path}) - recall(start), abs=1e-12)
    narrow, some = Completions(material, Budget(9, "words"), 1).best(kept, float(room))
    assert narrow <= gain + 1e-12
    assert narrow == pytest.approx(recall({*start, *some}) - recall(start), abs=1e-12)


def test_of_summaries_with_equal_recall_the_one_with_more_tokens_goes_on():
    """No root makes a pair; a beam of 1 takes the one that a reference has."""
    trees = [Tree(["x", "y"], None, [0, 1]), Tree(["a", "b"], None, [0, 1])]
    cluster = read_cluster([[tree] for tree in trees], "it")
    material = make_material(cluster, "compressed", None, ["a b"], vine=True)
    gain, path = Completions(material, Budget(2, "words"), 1).best(
        np.zeros(4, dtype=np.uint8), 2.0
    )
    assert (gain, path) == (1.0, [2, 3])


def test_trees_are_summed_from_below_and_marked_from_above():
    parents = np.array([1, -1, 1, 2, -1])
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    assert subtree_sums(values, parents).tolist() == [1, 15, 12, 8, 16]
    chosen = np.array([False, False, False, True, False])
    assert with_parents(chosen, parents).tolist() == [False, True, True, True, False]


def test_shares_of_a_mixture():
    assert mixture_shares([0.5, 0.25]).tolist() == [0.375, 0.375, 0.25]
    assert mixture_shares([1.0]).tolist() == [0.0, 1.0]


@pytest.fixture(scope="module")
def data():
    clusters, references = hotels(9)
    return clusters[:6], references[:6], clusters[6:], references[6:]


def fitted(data, mode="compressed", **options):
    given = {"parser": Flat()} if mode == "compressed" else {}
    model = Summarizer(mode, policy="vine", iterations=2, **given, **options)
    return model.fit(*data[:2], words=8)


def test_words_are_added_one_by_one_after_their_heads(data):
    model = Summarizer("compressed", policy="vine", parser=Chain(), iterations=1)
    model.fit(*data[:2], words=8)
    for one in model.predict(data[2]):
        assert [len(step.words) for step in one.steps] == [1] * one.n_words
        assert one.n_words == 8
        starts = pairwise(one.cluster.sentence_starts.tolist())
        for a, b in starts:  # of a chain, only beginnings of sentences
            kept = one.is_kept[a:b]
            assert kept[: kept.sum()].all()
        assert (np.diff(one.step_of_word[one.is_kept]) != 0).all()


def test_costs_are_what_the_best_summary_loses(data):
    """Of a handful of states, by searching on from each action anew."""
    clusters, references = data[:2]
    material = make_material(
        read_cluster(clusters[0][:2], "it"), "sentences", None, references[0], vine=True
    )
    budget = Budget(12, "words")
    completions = Completions(material, budget, 50)
    steps = _vines.recall_steps(material.grams, material.references)
    growth = Growth(material, budget, steps, np.ones(len(material.pieces), dtype=bool))
    assert growth.measure()
    actions = np.flatnonzero(growth.sizes > 0.0)
    starts = material.cluster.sentence_starts
    sizes = np.diff(starts)

    def recall(nodes):
        own = [material.cluster.words[a:b] for a, b in pairwise(starts.tolist())]
        text = " ".join(" ".join(own[i]) for i in sorted(nodes))
        return rouge_recall(text, references[0])[0]

    totals = []
    for action in actions.tolist():
        sets = [
            {i for i in range(len(sizes)) if code >> i & 1}
            for code in range(1 << len(sizes))
            if code >> action & 1
        ]
        fits = [one for one in sets if sizes[sorted(one)].sum() <= 12]
        totals.append(max(map(recall, fits)))
    expected = 100.0 * (max(totals) - np.array(totals))
    assert _vines._costs(completions, growth, actions) == pytest.approx(expected)


@pytest.mark.parametrize("mode", ["sentences", "compressed"])
def test_what_is_learned_helps_and_nothing_of_the_initial_policy_is_left(data, mode):
    model = fitted(data, mode)
    rows = model.history_
    assert [row["iteration"] for row in rows] == [0, 1, 2]
    oracle = Summarizer(mode, policy="vine", parser=Flat()).oracle(*data[:2], words=8)
    loss = 1.0 - np.mean([one.gains.sum() for one in oracle])
    assert rows[0]["loss"] == pytest.approx(loss, abs=1e-12)
    assert rows[0]["loss"] < rows[1]["loss"] < rows[2]["loss"]
    policy = model._learned[1]
    assert policy.shares.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert len(policy.learned) == 2
    found = model.evaluate(*data[2:]).rouge_2
    worst = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        must = [[(int(rng.integers(len(own))), 0)] for own in data[2]]
        some = Summarizer().predict(data[2], words=12, must=must)
        texts = [" ".join(one.text.split()[:8]) for one in some]
        worst.append(
            np.mean(
                [rouge_recall(t, r)[0] for t, r in zip(texts, data[3], strict=True)]
            )
        )
    assert found > np.mean(worst)


def test_a_seed_decides_and_a_file_keeps_it(data, tmp_path):
    one, again, other = (fitted(data, random_state=seed) for seed in (1, 1, 2))
    texts = [[s.text for s in m.predict(data[2])] for m in (one, again, other)]
    assert texts[0] == texts[1]
    assert one.history_ == again.history_ != other.history_
    model = fitted(data, "sentences", random_state=3)
    model.save(tmp_path / "m")
    loaded = Summarizer.load(tmp_path / "m")
    assert loaded.policy_ == "vine"
    assert [s.to_dict() for s in loaded.predict(data[2])] == [
        s.to_dict() for s in model.predict(data[2])
    ]


def test_sentences_that_must_be_in_are_taken_whole(data):
    model = fitted(data)
    [found, *_] = model.predict(data[2], words=12, must=[[(0, 1)], [], []])
    first, end = found.cluster.sentence_starts[1:3]
    assert found.is_kept[first:end].all()


def test_an_old_name_still_works_and_is_warned_of(data, tmp_path):
    with pytest.warns(FutureWarning, match="'searn' is called 'dagger' now"):
        old = Summarizer(policy="searn", iterations=1).fit(*data[:2], words=9)
    assert old.policy_ == "dagger"
    new = Summarizer(policy="dagger", iterations=1).fit(*data[:2], words=9)
    old.save(tmp_path / "m")
    loaded = Summarizer.load(tmp_path / "m")
    assert loaded.policy == "dagger"
    texts = [[s.text for s in m.predict(data[2])] for m in (new, loaded)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": 0}, "beta must be above 0"),
        ({"beta": 1.5}, "beta"),
        ({"random_state": -1}, "random_state"),
        ({"oracle_beam": 0}, "oracle_beam"),
        ({"min_words": 2}, "min_words is not for vine growth"),
    ],
)
def test_bad_options_are_told(data, options, message):
    with pytest.raises(ValueError, match=message):
        fitted(data, **options)


# ------------------------------------------------------------------------- queries

ASKED = [
    ["The room was big. The lift was slow. The pool was cold."],
    ["A big room. The slow lift. A pool nobody saw."],
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [("the lifts", "lift"), ("rooms", "room"), ("What about pools?", "pool")],
)
def test_without_references_the_query_decides(query, expected):
    [plain] = Summarizer().predict([[one[0] for one in ASKED]], words=4)
    [found] = Summarizer().predict(
        [[one[0] for one in ASKED]], words=4, queries=[query]
    )
    assert expected in found.text
    assert found.query == query
    assert plain.query is None
    assert f"query      {query}" in repr(found)


def about(n, seed=0):
    """Reviews of three things; references take up the one that is asked for."""
    rng = np.random.default_rng(seed)
    clusters, references, queries = [], [], []
    for _ in range(n):
        said = [
            f"The {thing} was {rng.choice(['big', 'cold', 'old', 'fine', 'odd'])}."
            for thing in ("room", "pool", "staff", "food", "lift", "bar")
        ]
        clusters.append([" ".join(rng.permutation(said).tolist()) for _ in range(3)])
        one = said[int(rng.integers(len(said)))]
        references.append([one])
        queries.append(f"How was the {one.split()[1]}?")
    return clusters, references, queries


@pytest.mark.parametrize(
    ("policy", "mode"),
    [
        ("weights", "sentences"),
        ("dagger", "sentences"),
        ("vine", "sentences"),
        ("weights", "compressed"),
    ],
)
def test_learned_policies_follow_queries(policy, mode, tmp_path):
    clusters, references, queries = about(24)
    given = {"parser": Flat()} if mode == "compressed" else {}
    model = Summarizer(mode, policy=policy, iterations=2, **given)
    model.fit(clusters[:16], references[:16], words=4, queries=queries[:16])
    test = clusters[16:], references[16:]
    right = model.evaluate(*test, queries=queries[16:]).rouge_2
    wrong = model.evaluate(*test, queries=["tennis"] * 8).rouge_2
    assert right > 0.9
    assert wrong < 0.7
    message = f"policy='{policy}' has learned with queries: pass queries"
    with pytest.raises(ValueError, match=message):
        model.predict(clusters)
    if mode == "sentences":
        model.save(tmp_path / "m")
        loaded = Summarizer.load(tmp_path / "m")
        assert loaded.evaluate(*test, queries=queries[16:]).rouge_2 == right
    model.fit(clusters[:16], references[:16], words=4)
    with pytest.raises(ValueError, match="has learned without queries: pass queries"):
        model.predict(clusters, queries=queries)


@pytest.mark.parametrize(
    ("queries", "error", "message"),
    [
        ("rooms", TypeError, r"not text: pass \[query\] for one cluster"),
        (["rooms"], ValueError, "1 queries for 2 clusters: pass one for each"),
        (["rooms", 3], TypeError, "query of cluster 1 must be text, not 3"),
        (["rooms", None], TypeError, "query of cluster 1 must be text, not None"),
        (["rooms", " ?"], ValueError, "query of cluster 1 is empty"),
        (["rooms", "what is it"], ValueError, "has only words of grammar"),
        (7, TypeError, "queries"),
    ],
)
def test_bad_queries_are_told(queries, error, message):
    with pytest.raises(error, match=message):
        Summarizer().predict([ASKED[0], ASKED[1]], queries=queries)
    with pytest.raises(error, match=message):
        Summarizer().fit([ASKED[0], ASKED[1]], [["a b"], ["c d"]], queries=queries)
