"""ROUGE recall: the share of a reference's n-grams that a summary has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_items, check_texts, shown
from argmetric._ground.display import (
    Field,
    Headline,
    Result,
    counted,
    documented,
    number,
    only_shown,
    with_interval,
)
from argmetric._ground.pictures import drawing
from argmetric._ground.types import AnyArray, Axes, Interval
from argmetric.search.summaries.summary import Summary

COVERAGE = 0.95
CONVENTION = (
    "recall is averaged over the references of a cluster, then over clusters; with the "
    "best reference, it is that of the reference where it is highest"
)
_TOKEN = re.compile("[a-z0-9]+")
_DRAWS = 10_000
_BLOCK = 2**21  # clusters of samples that are held at once
_FIELDS = ("rouge_1", "rouge_2", "rouge_1_best", "rouge_2_best")


def tokens(text: str) -> list[str]:
    """Return the tokens of ROUGE: runs of a-z and 0-9 in lower case, no stemming.

    Examples
    --------
    >>> tokens("Don't touch my café!")
    ['don', 't', 'touch', 'my', 'caf']
    """
    return _TOKEN.findall(text.lower())


def rouge_recall(
    text: str, references: Sequence[str], n: int = 2
) -> tuple[float, float]:
    """Return the mean and maximum over the references of ROUGE-n recall.

    Of a reference without n-grams, recall is 0.
    """
    own = _ngrams(tokens(text), n)
    each = [_ngrams(tokens(reference), n) for reference in references]
    recalls = [(own & other).total() / max(other.total(), 1) for other in each]
    return float(np.mean(recalls)), max(recalls)


def _ngrams(words: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))


def read_references(
    references: object, clusters: Sequence[str], of: str = "clusters"
) -> list[list[str]]:
    """Read the references of each cluster; refuse missing and empty ones.

    Text in the place of a list is the only reference. Messages name the clusters, and
    what there is one `of` for each cluster.
    """
    wanted = "a list of lists of text, one list for each cluster"
    items = check_items(references, "references", wanted)
    if len(items) != len(clusters):
        raise ValueError(
            f"references of {len(items)} clusters for {len(clusters)} {of}: pass "
            f"{wanted}"
        )
    return list(map(_references, items, clusters))


def _references(given: object, cluster: str) -> list[str]:
    """Return the references of a cluster as a list; refuse empty ones."""
    name = f"references of {cluster}"
    texts = [given] if isinstance(given, str) else check_texts(given, name)
    if not texts:
        raise ValueError(f"{cluster} has no reference: leave it out, or write one")
    for i, text in enumerate(texts):
        if not tokens(text):
            raise ValueError(
                f"{cluster}: reference {i} is empty: {shown(text)} has no letter of "
                "a-z and no digit"
            )
    return texts


@dataclass(frozen=True, eq=False, repr=False)
class SummaryScores(Result):
    """ROUGE recall of summaries, by cluster.

    Recall is averaged over the references of a cluster, then over clusters. The recall
    with the best reference is given too. Tokens are runs of a-z and 0-9 in lower case,
    without stemming.

    Parameters
    ----------
    names : list of str
        Names of the clusters.
    by_cluster : structured ndarray
        One row for each cluster: rouge_1, rouge_2 (means over its references),
        rouge_1_best, rouge_2_best (maxima over them), words (of the summary).

    Examples
    --------
    >>> from argmetric.search import score_summaries
    >>> scores = score_summaries(["The room was clean."], [["A clean room."]])
    >>> round(scores.rouge_1, 3)
    0.667
    """

    names: list[str]
    by_cluster: AnyArray

    @property
    def rouge_1(self) -> float:
        """Return the mean ROUGE-1 recall."""
        return float(self.by_cluster["rouge_1"].mean())

    @property
    def rouge_2(self) -> float:
        """Return the mean ROUGE-2 recall."""
        return float(self.by_cluster["rouge_2"].mean())

    @property
    def words(self) -> float:
        """Return the mean number of words of a summary: recall rewards long ones."""
        return float(self.by_cluster["words"].mean())

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """Return 95 % intervals of the means by the bootstrap over clusters."""
        values = np.stack([self.by_cluster[name] for name in _FIELDS], axis=1)
        # Ends of the central interval of the mean of each column.
        n = len(values)
        rng = np.random.default_rng(0)
        step = max(1, _BLOCK // n)
        means = [
            values[rng.integers(n, size=(min(step, _DRAWS - first), n))].mean(axis=1)
            for first in range(0, _DRAWS, step)
        ]
        tail = (1.0 - COVERAGE) / 2.0
        low, high = np.quantile(np.concatenate(means), [tail, 1.0 - tail], axis=0)
        bounds = map(Interval, low.tolist(), high.tolist())
        return dict(zip(_FIELDS, bounds, strict=True))

    def _columns(self) -> dict[str, Any]:
        names = self.by_cluster.dtype.names or ()
        return {"name": self.names} | {x: self.by_cluster[x] for x in names}

    def _headline(self) -> Headline:
        interval = with_interval(self.intervals["rouge_2"], COVERAGE)
        more = f"{interval}, {counted(len(self.names), 'cluster')}"
        return Headline("ROUGE-2 recall", number(self.rouge_2), more)

    def fields(self) -> list[Field]:
        """Return the fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            A key, a value and a text for each.
        """
        rows = zip(self.names, self.by_cluster.tolist(), strict=True)
        keys, words = (
            ("name", *(self.by_cluster.dtype.names or ())),
            self.by_cluster["words"],
        )
        clusters = [dict(zip(keys, (name, *row), strict=True)) for name, row in rows]
        used = f"{self.words:.1f} on average, {words.min()} to {words.max()}"
        return [
            *only_shown([self._recall("rouge_2")[1:]]),
            Field("rouge_1", *self._recall("rouge_1")),
            Field("rouge_2", self._recall("rouge_2")[0]),
            Field("coverage", COVERAGE),
            Field("words", self.words, "words", used),
            Field("convention", CONVENTION),
            Field("clusters", clusters),
        ]

    def _recall(self, name: str) -> Any:
        """Return mean, interval and mean with the best reference, as text."""
        mean, interval = getattr(self, name), self.intervals[name]
        best = float(self.by_cluster[f"{name}_best"].mean())
        text = f"{number(mean)}, {with_interval(interval, COVERAGE)}"
        return (
            {"mean": mean, "interval": interval, "best": best},
            f"{name.upper().replace('_', '-')} recall",
            f"{text}; with the best reference {number(best)}",
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Return how recall is averaged."""
        return (CONVENTION,)

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how ROUGE-2 recall is spread over clusters."""
        with drawing(ax, xlabel="ROUGE-2 recall", ylabel="clusters") as ax:
            ax.hist(self.by_cluster["rouge_2"], bins=20, color="C0")
            interval = self.intervals["rouge_2"]
            ax.axvspan(*interval, color="C1", alpha=0.25, label="95 % of the mean")
            ax.axvline(self.rouge_2, color="C3", label=f"mean {self.rouge_2:.4f}")
        return ax


def score_summaries(summaries: object, references: object) -> SummaryScores:
    """Return ROUGE-1 and ROUGE-2 recall of summaries.

    Parameters
    ----------
    summaries : list of Summary or str
        A summary for each cluster.
    references : list of lists of str
        The references of each cluster.

    Returns
    -------
    SummaryScores
        Means, and the recall of each cluster.

    Examples
    --------
    >>> from argmetric.search import score_summaries
    >>> scores = score_summaries(
    ...     ["the cat sat on a mat"], [["the cat sat", "a cat on a mat"]]
    ... )
    >>> round(scores.rouge_2, 4)  # 2 of 2 bigrams, and 2 of 4
    0.75
    """
    items = check_items(summaries, "summaries", "a list of summaries")
    if not items:
        raise ValueError("summaries is empty: there is nothing to score")
    texts, names = [], []
    for i, item in enumerate(items):
        if not isinstance(item, str | Summary):
            raise TypeError(f"summary {i} must be text or a Summary, not {shown(item)}")
        texts.append(item if isinstance(item, str) else item.text)
        names.append(f"cluster {i}" if isinstance(item, str) else item.cluster.name)
    known = read_references(references, names, "summaries")
    found = np.empty(len(texts), [(f, np.float64) for f in _FIELDS] + [("words", "i8")])
    for n in (1, 2):
        pairs = [rouge_recall(*pair, n) for pair in zip(texts, known, strict=True)]
        found[f"rouge_{n}"], found[f"rouge_{n}_best"] = np.transpose(pairs)
    found["words"] = [len(text.split()) for text in texts]
    return SummaryScores(names, found)
