"""Search that knows the references: beams and vines; SEARN of vines; queries."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from argmetric.search import LinearLearner, Summarizer, Tree, score_summaries
from argmetric.search._searn._decisions import HashedRows, hash_name
from argmetric.search.summaries import vines
from argmetric.search.summaries.cluster import read_cluster
from argmetric.search.summaries.growth import Growth
from argmetric.search.summaries.material import Budget, make_material, recall_steps
from argmetric.search.summaries.vines import Completions, VineFeatures, beside
from refusing import refuses
from reviews import Chain, Flat, hotels
from slow import SLOW
from twins import summaries as twin

WORDS = st.sampled_from(["a", "b", "c", "a-b", "x", "y"])
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


def recall(text, references):
    return score_summaries([text], [references]).rouge_2


@given(st.lists(parsed(), min_size=1, max_size=2), REFERENCES, st.integers(1, 5))
@settings(max_examples=100 if SLOW else 20)
def test_a_wide_beam_finds_the_best_vine(trees, references, room):
    model = Summarizer("compressed", policy="vine", oracle_beam=1024)
    [found] = model.oracle([[[tree] for tree in trees]], [references], words=room)
    words = [word for tree in trees for word in tree.words]
    firsts = np.cumsum([0, *map(len, trees)])
    parents = [
        int(first) + head - 1 if head else -1
        for tree, first in zip(trees, firsts, strict=False)
        for head in tree.heads.tolist()
    ]

    def worth(nodes):
        return recall(" ".join(words[i] for i in sorted(nodes)), references)

    best = max(map(worth, twin.vines(parents, (), room)))
    assert found.gains.sum() == pytest.approx(best, abs=1e-12)
    assert worth(np.flatnonzero(found.is_kept).tolist()) == pytest.approx(best)
    for node in np.flatnonzero(found.is_kept).tolist():
        above, step = parents[node], found.step_of_word
        assert above < 0 or 0 <= step[above] < step[node]
    narrow = Summarizer("compressed", policy="vine", oracle_beam=1)
    [some] = narrow.oracle([[[tree] for tree in trees]], [references], words=room)
    assert some.gains.sum() <= best + 1e-12


PLAIN = st.sampled_from("abcxy")


@st.composite
def half_grown(draw):
    """Words, parents, sentences, references, kept nodes, and the room that is left."""
    words, parents, starts = [], [], []
    for _ in range(draw(st.integers(1, 3))):
        first, n = len(words), draw(st.integers(1, 5))
        starts.append(first)
        words += draw(st.lists(PLAIN, min_size=n, max_size=n))
        order = draw(st.permutations(range(n)))
        above = [-1, *(draw(st.integers(0, i - 1)) for i in range(1, n))]
        own = [0] * n
        for i, place in enumerate(order):
            own[place] = first + order[above[i]] if above[i] >= 0 else -1
        parents += own
    references = draw(
        st.lists(st.lists(PLAIN, min_size=2, max_size=6), min_size=1, max_size=2)
    )
    kept = set()
    for _ in range(draw(st.integers(0, 3))):
        can = [
            v for v, u in enumerate(parents) if v not in kept and (u < 0 or u in kept)
        ]
        if can:
            kept.add(draw(st.sampled_from(can)))
    return words, parents, starts, references, kept, draw(st.integers(1, 5))


def growing(words, parents, starts, references, kept, room):
    """The same state in the package."""
    trees = [
        Tree(words[a:b], None, [u - a + 1 if u >= 0 else 0 for u in parents[a:b]])
        for a, b in pairwise([*starts, len(words)])
    ]
    texts = [" ".join(one) for one in references]
    cluster = read_cluster([[tree] for tree in trees], "cluster")
    material = make_material(cluster, "compressed", None, texts, vine=True)
    budget = Budget(room + len(kept), "words")
    steps = recall_steps(material.grams, material.references)
    growth = Growth(material, budget, steps, np.ones(len(words), dtype=bool))
    while left := [v for v in sorted(kept) if not growth.is_kept[v]]:
        for v in left:
            if parents[v] < 0 or growth.is_kept[parents[v]]:
                growth.take(v, 0.0)
    growth.measure()
    return material, budget, growth


@given(half_grown(), st.sampled_from([1, 2, 5]), st.booleans())
@settings(max_examples=150 if SLOW else 30)
def test_regrets_of_all_actions_equal_the_twin(state, beam, has_plan):
    words, parents, _, references, kept, room = state
    material, budget, growth = growing(*state)
    np.testing.assert_array_equal(material.parents, parents)
    can = np.flatnonzero(growth.sizes > 0.0)
    given = words, parents, references, kept, room
    plan = list(twin.completion(*given, 1)[1]) if has_plan else []
    costs, best_plan = twin.vine_costs(*given, beam, plan)
    assert can.tolist() == sorted(costs)
    assume(costs)
    found, way = Completions(material, budget, beam).regrets(growth, can, plan)
    best = max(costs.values())
    expected = [best - costs[v] for v in can.tolist()]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert way == best_plan


@given(half_grown())
@settings(max_examples=100 if SLOW else 20)
def test_regrets_of_a_wide_beam_are_those_of_the_best_of_all_vines(state):
    words, parents, _, references, kept, room = state
    material, budget, growth = growing(*state)
    can = np.flatnonzero(growth.sizes > 0.0)
    assume(len(can))

    def most(nodes):
        every = twin.vines(parents, nodes, room + len(kept) - len(nodes))
        texts = ([words[u] for u in sorted(one)] for one in every)
        return max(twin.rouge_2(text, references) for text in texts)

    best = [most(kept | {v}) for v in can.tolist()]
    found, way = Completions(material, budget, 1024).regrets(growth, can, [])
    np.testing.assert_allclose(found, max(best) - np.array(best), atol=1e-9)
    assert not way or found[can == way[0]] == pytest.approx(0.0, abs=1e-12)


def test_a_node_costs_no_more_than_the_best_summary_cut_to_have_it():
    """After "x" a beam of 1 finds "c d", as the root "c" comes first, not "a b c"."""
    words = ["c", "d", "a", "b", "c", "d", "x"]
    parents = [-1, 0, -1, 2, 3, 4, -1]
    state = words, parents, [0, 2, 6], [["a b c d"]], set(), 4
    material, budget, growth = growing(*state)
    can = np.flatnonzero(growth.sizes > 0.0)
    alone = [
        twin.completion(words, parents, [list("abcd")], {v}, 3, 1)[0] for v in (0, 2, 6)
    ]
    assert alone == pytest.approx([2 / 3, 1.0, 1 / 3])
    found, way = Completions(material, budget, 1).regrets(growth, can, [])
    assert (can.tolist(), way) == ([0, 2, 6], [2, 3, 4, 5])
    assert found.tolist() == pytest.approx([1 / 3, 0.0, 1 / 3])


def test_nodes_that_are_not_useful_are_known_to_lead_to_the_same():
    """Two of them side by side, one apart from them, and one without a token."""
    words = ["x", "y", "a", "z", "b", "--"]
    state = words, [-1] * 6, range(6), [["a", "b"]], {2}, 2
    material, budget, growth = growing(*state)
    can = np.flatnonzero(growth.sizes > 0.0)
    found, way = Completions(material, budget, 2).regrets(growth, can, [4])
    assert way == [4]
    assert dict(zip(can.tolist(), found.tolist(), strict=True)) == {
        0: 0.0, 1: 0.0, 3: 1.0, 4: 0.0, 5: 0.0,
    }  # fmt: skip


def test_features_name_words_stems_tags_and_relations():
    trees = [
        Tree(["Rooms", "were", "clean"], ["NOUN", "AUX", "ADJ"], [3, 3, 0],
             ["nsubj", "cop", "root"]),
        Tree(["Clean", "rooms", "--"], ["ADJ", "NOUN", "PUNCT"], [2, 0, 2]),
    ]  # fmt: skip
    cluster = read_cluster([trees], "cluster")
    material = make_material(cluster, "compressed", None, vine=True)
    rows = VineFeatures(material).fixed
    expected = [
        twin.vine_names("rooms", "NOUN", "nsubj", "ADJ", True, "room"),
        twin.vine_names("were", "AUX", "cop", "ADJ", True, "wer"),
        twin.vine_names("clean", "ADJ", "root", "root", False, "clean"),
        twin.vine_names("clean", "ADJ", "", "NOUN", True, "clean"),
        twin.vine_names("rooms", "NOUN", "", "root", False, "room"),
        {("tag", "PUNCT"), ("relation", "PUNCT>NOUN")},  # no token of ROUGE
    ]
    for v, names in enumerate(expected):
        a, b = rows.indptr[v : v + 2]
        hashes = rows.hashes[a:b].tolist()
        assert len(set(hashes)) == b - a
        assert {hash_name(name) for name in names} <= set(hashes)
        fixed = [h for h in hashes if h not in {hash_name(name) for name in names}]
        assert fixed == [hash_name(("fixed", i)) for i in range(len(fixed))]
        assert len(fixed) == 30


def test_rows_beside_each_other_have_the_features_of_both():
    one, other = (
        HashedRows(np.array(ends), np.array(hashes, np.uint64), np.array(hashes) / 2)
        for ends, hashes in (([0, 2, 2, 3], [1, 2, 3]), ([0, 0, 1, 3], [7, 8, 9]))
    )
    found = beside(one, other)
    assert found.indptr.tolist() == [0, 2, 3, 6]
    assert found.hashes.tolist() == [1, 2, 7, 3, 8, 9]
    assert found.values.tolist() == [0.5, 1.0, 3.5, 1.5, 4.0, 4.5]


def test_of_vines_with_equal_recall_the_one_with_more_tokens_goes_on():
    """No root makes a pair; a beam of 1 takes the one that a reference has."""
    trees = [Tree(["x", "y"], None, [0, 1]), Tree(["a", "b"], None, [0, 1])]
    model = Summarizer("compressed", policy="vine", oracle_beam=1)
    [found] = model.oracle([[[tree] for tree in trees]], [["a b"]], words=2)
    assert (found.text, found.gains.sum()) == ("a b", 1.0)


SENTENCES = st.lists(
    st.lists(
        st.sampled_from(["a", "B", "c", "a-b", "c'c", "--", "é", "d."]),
        min_size=1,
        max_size=7,
    ).map(" ".join),
    min_size=1,
    max_size=3,
)


@given(
    st.lists(SENTENCES, min_size=1, max_size=2),
    REFERENCES,
    st.integers(7, 20),
    st.sampled_from([1, 4]),
)
def test_gains_of_the_oracle_sum_up_to_rouge(documents, references, words, beam):
    summarizer = Summarizer(oracle_beam=beam)
    [found] = summarizer.oracle([documents], [references], words=words)
    worth = recall(found.text, references)
    assert found.gains.sum() == pytest.approx(worth, abs=1e-12)
    assert (found.gains > 0.0).all()


@pytest.mark.parametrize(
    ("documents", "reference", "words", "gains"),
    [
        # 3 pairs for 4 words, then no sentence fits; two others have 5, and "g h"
        (["a b c d. e f g. h i j."], "a b c d e f g h i j", 6, [3 / 9, 5 / 9]),
        # Of a narrow beam the best rates go on
        (
            [["b d e f.", "c e b.", "f b e b."]],
            "e b b f f a e f a a",
            9,
            [2 / 9, 3 / 9],
        ),
        # Where a beam loses (3 / 13), the greedy path is taken
        (
            [
                ["a c a g g a a.", "a b.", "c a a b a g."],
                ["h g c g f.", "c c f e b a a.", "h b d b h b b."],
            ],
            "b b h d f e f d f g d h c g",
            19,
            [4 / 13, 4 / 13],
        ),
    ],
)
def test_beams_by_hand(documents, reference, words, gains):
    found = [
        Summarizer(oracle_beam=beam).oracle([documents], [[reference]], words=words)[0]
        for beam in (1, 3 if words == 6 else 2)
    ]
    assert [one.gains.sum() for one in found] == pytest.approx(gains)


def test_a_wide_beam_finds_the_best_sentences():
    """Of few sentences, by enumeration of all sets that fit."""
    clusters, references = hotels(4, 7)
    for documents, own in zip(clusters, references, strict=True):
        text = [" ".join(documents[:2])]
        [found] = Summarizer(oracle_beam=500).oracle([text], [own], words=12)
        starts = pairwise(found.cluster.sentence_starts.tolist())
        sentences = [" ".join(found.cluster.words[a:b]) for a, b in starts]
        some = (
            " ".join(one for i, one in enumerate(sentences) if code >> i & 1)
            for code in range(1 << len(sentences))
        )
        best = max(recall(one, own) for one in some if len(one.split()) <= 12)
        assert found.gains.sum() == pytest.approx(best, abs=1e-12)


# --------------------------------------------------------------------------- SEARN


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


def test_all_actions_in_the_states_of_the_mixture_are_learned_from(data, monkeypatch):
    """Of few clusters all states; a root for each sentence can be added at first."""
    examples = []

    class Recording(LinearLearner):
        def fit(self, decisions, costs, rng):
            examples.append((decisions, costs))
            return super().fit(decisions, costs, rng)

    monkeypatch.setattr(vines, "_LEARNER", Recording())
    model = fitted(data)
    assert len(examples) == 2
    for row, (decisions, costs) in zip(model.history_, examples, strict=False):
        assert len(decisions) == round(row["steps"] * len(data[0]))
        parts = np.split(costs, decisions.indptr[1:-1])
        assert [part.min() for part in parts] == [0.0] * len(parts)
        assert max(map(max, parts)) > 0.0
        n_sentences = sum(one.count(".") + one.count("!") for one in data[0][0])
        assert len(parts[0]) == n_sentences
    assert len(model._learned[1].learned) == 2


@pytest.mark.parametrize(
    ("reference", "words"), [("Nobody knows tennis.", 8), ("The room was clean.", 1)]
)
def test_where_nothing_can_be_learned_the_reasons_are_named(reference, words):
    model = Summarizer("sentences", policy="vine")
    given = [["The room was clean."]], [[reference]]
    message = "no sentence of the clusters fits the budget, or none leads to two words"
    with pytest.raises(ValueError, match=message):
        model.fit(*given, words=words)


@pytest.mark.parametrize("mode", ["sentences", "compressed"])
def test_what_is_learned_helps_and_nothing_of_the_initial_policy_is_left(data, mode):
    model = fitted(data, mode)
    rows = model.history_
    assert [row["iteration"] for row in rows] == [0, 1, 2]
    oracle = Summarizer(mode, policy="vine", parser=Flat()).oracle(*data[:2], words=8)
    loss = 1.0 - np.mean([one.gains.sum() for one in oracle])
    assert rows[0]["loss"] <= loss + 1e-12  # a better completion is followed
    assert rows[0]["loss"] <= min(row["loss"] for row in rows[1:]) + 1e-12
    assert rows[0]["regret"] == pytest.approx(0.0, abs=0.01)  # it takes the best
    found = model.evaluate(*data[2:]).rouge_2
    worst = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        must = [[(int(rng.integers(len(own))), 0)] for own in data[2]]
        some = Summarizer().predict(data[2], words=12, must=must)
        texts = [" ".join(one.text.split()[:8]) for one in some]
        worst.append(score_summaries(texts, data[3]).rouge_2)
    assert found > np.mean(worst)


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
    refuses(ValueError, message, fitted, data, **options)


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
    refuses(ValueError, message, model.predict, clusters)
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
