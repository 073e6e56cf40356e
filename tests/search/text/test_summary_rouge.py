"""ROUGE by our own counts: that of rouge-score, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric.search import score_summaries


def rouge_recall(text, references, n=2):
    """Mean and best recall of one summary."""
    found = score_summaries([text], [references]).by_cluster[0]
    return found[f"rouge_{n}"], found[f"rouge_{n}_best"]


def their_recalls(text, references, n):
    scorer = pytest.importorskip(
        "rouge_score.rouge_scorer", reason="rouge-score is not installed"
    )
    judge = scorer.RougeScorer([f"rouge{n}"], use_stemmer=False)
    return [judge.score(one, text)[f"rouge{n}"].recall for one in references]


def test_recall_counts_a_bigram_as_often_as_both_have_it():
    text = "very very very good"  # very very (2), very good
    assert rouge_recall(text, ["very very good good"]) == (2 / 3, 2 / 3)
    assert rouge_recall("very good", ["very very very very"]) == (0.0, 0.0)
    assert rouge_recall(text, ["very good", "very bad day"]) == (0.5, 1.0)
    assert rouge_recall(text, ["very good day"], 1) == (2 / 3, 2 / 3)
    assert rouge_recall("good", ["good"]) == (0.0, 0.0)  # which has no bigram
    assert rouge_recall("good", ["good"], 1) == (1.0, 1.0)
    # Runs of a-z and 0-9 in lower case count
    words = "Don't touch my CAFÉ-bar2! İstanbul １２"
    assert rouge_recall(words, ["don t touch my caf bar2 i stanbul"], 2) == (1.0, 1.0)


TEXTS = st.lists(
    st.sampled_from(
        ["good", "Good", "a", "A.", "!?", "é", "naïve", "\n", "x-y", "2", ""]
    )
    | st.text(max_size=4)
).map(" ".join)


@given(
    TEXTS,
    st.lists(TEXTS.map("z {}".format), min_size=1, max_size=3),
    st.sampled_from([1, 2]),
)
def test_the_same_as_rouge_score_on_nasty_texts(text, references, n):
    theirs = their_recalls(text, references, n)
    assert rouge_recall(text, references, n) == (float(np.mean(theirs)), max(theirs))


def fewsum(folder):
    for path in sorted((folder / "summ" / "fewsum").glob("*.csv")):
        header, *rows = (
            line.split("\t") for line in path.read_text("utf-8").splitlines()
        )
        first, last = header.index("rev1"), header.index("summ1")
        for row in rows:
            yield row[first : first + 8], row[last : last + 3]


def opinosis(folder):
    root = folder / "summ" / "opinosis"
    for path in sorted((root / "topics").iterdir()):
        gold = root / "summaries-gold" / path.name.removesuffix(".txt.data")
        references = [one.read_text("latin-1") for one in sorted(gold.glob("*.gold"))]
        yield path.read_text("latin-1").splitlines(), references


@pytest.mark.data
@pytest.mark.parametrize(
    ("clusters", "n_clusters", "limit"), [(fewsum, 160, 60), (opinosis, 51, 25)]
)
def test_the_same_as_rouge_score_on_every_cluster(
    data_folder, clusters, n_clusters, limit
):
    documents, references = zip(*clusters(data_folder), strict=True)
    assert len(documents) == n_clusters
    leads = [" ".join(" ".join(texts).split()[:limit]) for texts in documents]
    scores = score_summaries(leads, references)
    for n in (1, 2):
        pairs = zip(leads, references, strict=True)
        theirs = [their_recalls(*pair, n) for pair in pairs]
        means = [float(np.mean(one)) for one in theirs]
        assert scores.by_cluster[f"rouge_{n}"].tolist() == means
        assert scores.by_cluster[f"rouge_{n}_best"].tolist() == list(map(max, theirs))
    assert scores.by_cluster["words"].max() == limit


def scores_of_three():
    return score_summaries(
        ["a b c", "a b", "x"], [["a b c", "a b d"], ["b a"], "x y z"]
    )


def test_scores_are_means_over_references_and_then_over_clusters():
    scores = scores_of_three()
    assert scores.by_cluster["rouge_2"].tolist() == [0.75, 0.0, 0.0]
    assert scores.by_cluster["rouge_2_best"].tolist() == [1.0, 0.0, 0.0]
    assert scores.by_cluster["rouge_1"].tolist() == [(1 + 2 / 3) / 2, 1.0, 1 / 3]
    assert scores.rouge_2 == 0.25
    assert scores.rouge_1 == pytest.approx(13 / 18)
    assert scores.words == 2.0
    assert scores.names == ["cluster 0", "cluster 1", "cluster 2"]


def test_the_interval_is_that_of_the_mean():
    # The mean of three draws from {.75, 0, 0}: no draw of the first has 8/27, all 1/27
    assert scores_of_three().intervals["rouge_2"] == (0.0, 0.75)
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(list("abc"), 6)) for _ in range(200)]
    scores = score_summaries(texts, [["a b c a b c"]] * 200)
    low, high = scores.intervals["rouge_2"]
    error = scores.by_cluster["rouge_2"].std() / np.sqrt(200)
    assert (high - low) / (2 * 1.96 * error) == pytest.approx(1.0, abs=0.05)
    assert low < scores.rouge_2 < high


def test_scores_as_text_and_as_plain_values():
    lines = repr(scores_of_three()).splitlines()
    told = "95% interval 0.000 to 0.750"
    assert lines[0] == f"SummaryScores: ROUGE-2 recall 0.250, {told}, 3 clusters"
    assert lines[1] == (
        f"  ROUGE-2 recall  0.250, {told}; with the best reference 0.333"
    )
    assert lines[3] == "  words           2.0 on average, 1 to 3"
    assert "averaged over the references of a cluster" in lines[4]
    found = scores_of_three().to_dict()
    mean, interval, best = found["rouge_2"].values()
    assert (mean, interval, best) == (0.25, [0.0, 0.75], pytest.approx(1 / 3))
    assert list(found["clusters"][1].values()) == ["cluster 1", 1.0, 0.0, 1.0, 0.0, 2]


@pytest.mark.parametrize(
    ("summaries", "references", "message"),
    [
        ([], [], "nothing to score"),
        (["a"], [["a"], ["b"]], "references of 2 clusters for 1 summaries"),
        (["a"], [[]], "cluster 0 has no reference"),
        (["a", "b"], [["a"], ["b", " ?"]], "cluster 1: reference 1 is empty: ' [?]'"),
        (["a"], "a", "references must be a list of lists of text"),
        (["a"], [[3]], "references of cluster 0 must be a list of text, not 3"),
        ([3], [["a"]], "summary 0 must be text or a Summary, not 3"),
        ("a", [["a"]], "summaries must be a list of summaries, not 'a'"),
    ],
)
def test_what_cannot_be_scored_is_told(summaries, references, message):
    with pytest.raises((ValueError, TypeError), match=message):
        score_summaries(summaries, references)
