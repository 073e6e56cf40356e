"""Search that knows the references: beams and vines; SEARN of vines; queries."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argmetric.search import Summarizer, Tree, score_summaries
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


@pytest.mark.parametrize("mode", ["sentences", "compressed"])
def test_what_is_learned_helps_and_nothing_of_the_initial_policy_is_left(data, mode):
    model = fitted(data, mode)
    rows = model.history_
    assert [row["iteration"] for row in rows] == [0, 1, 2]
    oracle = Summarizer(mode, policy="vine", parser=Flat()).oracle(*data[:2], words=8)
    loss = 1.0 - np.mean([one.gains.sum() for one in oracle])
    assert rows[0]["loss"] == pytest.approx(loss, abs=1e-12)
    assert rows[0]["loss"] < rows[1]["loss"] < rows[2]["loss"]
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
