"""Verbs of files and of lazy tables: arguments are checked here, once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np

from argmetric._forecast.result import Forecast
from argmetric._ground.arguments import check_choice, check_share, refuses
from argmetric._ground.display import Shown
from argmetric._ground.labels import Labels
from argmetric._ground.types import Booleans, Floats, Label
from argmetric._verbs.decide import ActualScore, SegmentCounts, score_counts
from argmetric._verbs.tune import (
    CutLimits,
    Cuts,
    Rule,
    can_hold_the_best,
    check_settings,
    check_tune_limits,
    tune_cuts,
)
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined
from argmetric.scale.files import DataError

COLUMNS = "score", "label", "group", "weight", "decision_column", "scores"
MOST_ROUNDS = 20  # in which labelled scores are divided

LabelBins = Floats  # (bins, 4): smallest and largest score, rows, positives; ascending


class LabelledScores(NamedTuple):
    """Labelled scores that are counted in bins."""

    bins: LabelBins  # all rows in one bin, whose positives are not yet known
    # Returns finer bins of the rows between two scores, both included, of which there
    # are so many; at last every score by itself
    divide: Callable[[float, float, float, bool], LabelBins]
    few: int  # rows of which every score may be looked at
    labels: Labels


class Verbs(Shown):
    """Verbs that are the same for files and for lazy tables."""

    group: str | None

    def _subject(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        named = {name: getattr(self, name, None) for name in COLUMNS}
        found = [f"{name}={x!r}" for name, x in named.items() if x is not None]
        return f"<{', '.join([self._subject(), *found])}>"

    def _count_labels(self, pos_label: object, *, by_group: bool) -> SegmentCounts:
        """Return the counts of labels and decisions in all rows or by group."""
        raise NotImplementedError

    def _forecast(
        self, metric: Metric, coverage: float, pos_label: object, *, by_group: bool
    ) -> Forecast:
        raise NotImplementedError

    def _labelled_scores(
        self, pos_label: object
    ) -> AbstractContextManager[LabelledScores]:
        raise NotImplementedError

    def _by_group(self, average: str) -> bool:
        check_choice(average, "average", ("groups", "pooled"))
        return self.group is not None and average == "groups"

    def evaluate(
        self,
        metric: MetricLike = "f1",
        *,
        average: Literal["groups", "pooled"] = "groups",
        zero_division: float | None = None,
        pos_label: Label | None = None,
    ) -> ActualScore:
        r"""Return the actual score of a column of decisions.

        The score is that of `argmetric.evaluate` on all rows at once.

        Parameters
        ----------
        metric : str, Metric or callable, default="f1"
            What to compute.
        average : {"groups", "pooled"}, default="groups"
            With groups: their mean (default), or all rows pooled.
        zero_division, pos_label
            See `argmetric.evaluate`.

        Returns
        -------
        ActualScore
            The score, its interval and the counts of right and wrong labels.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from argmetric import scale
        >>> path = Path(tempfile.mkdtemp(), "scores.csv")
        >>> size = path.write_text("label,decision\n1,1\n0,1\n1,0\n")
        >>> scale.open(path).evaluate("f1").counts
        {'tp': 1, 'fp': 1, 'fn': 1, 'tn': 0}
        """
        metric = get_metric(metric, zero_division=zero_division)
        by_group = self._by_group(average)
        counts = self._count_labels(pos_label, by_group=by_group)
        return score_counts(counts, metric, "groups" if by_group else None)

    def forecast(
        self,
        metric: MetricLike = "f1",
        coverage: float = 0.9,
        *,
        average: Literal["groups", "pooled"] = "groups",
        zero_division: float | None = None,
        pos_label: Label | None = None,
    ) -> Forecast:
        r"""Forecast the score of a column of decisions.

        The forecast is that of `argmetric.forecast` on all rows at once. Where files
        have no column of decisions it is about those that `decide` makes. For groups
        that do not all fit in memory, the mean is normal with a correction for
        skewness, as in memory for as many groups. One vector of a lazy table with more
        than 2^20 rows gives sums of p, p² and p³ in 2^14 bins, which determine the
        distribution to 1e-9.

        Parameters
        ----------
        metric : str, Metric or callable, default="f1"
            The metric to forecast.
        coverage : float, default=0.9
            Probability that the interval contains the score.
        average : {"groups", "pooled"}, default="groups"
            With groups: their mean (default), or all rows pooled.
        zero_division, pos_label
            See `argmetric.forecast`.

        Returns
        -------
        Forecast
            The mean and the interval of the score on the true labels.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from argmetric import scale
        >>> path = Path(tempfile.mkdtemp(), "scores.csv")
        >>> size = path.write_text("score,decision\n0.9,1\n0.6,1\n0.1,0\n")
        >>> round(scale.open(path).forecast("f1").mean, 3)
        0.802
        """
        metric = get_metric(metric, zero_division=zero_division)
        coverage = check_share(coverage, "coverage")
        by_group = self._by_group(average)
        return self._forecast(metric, coverage, pos_label, by_group=by_group)

    @refuses("cost", "choice", "parity", limits=CutLimits)
    def tune(
        self,
        metric: MetricLike = "f1",
        *,
        zero_division: float | None = None,
        coverage: float = 0.9,
        n_bootstrap: int = 200,
        cv: int | None = 5,
        random_state: int | np.random.Generator | None = 0,
        pos_label: Label | None = None,
        **limits: Unpack[CutLimits],
    ) -> Rule:
        r"""Find the threshold with the best score on labelled rows.

        The threshold and its score are those of `argmetric.tune` on all rows at once:
        rows are counted in bins of the score, and only bins that can contain the best
        threshold are divided further, down to single scores. `thresholds` and `scores`
        of the rule have every threshold near the best one, and one per bin elsewhere.

        Parameters
        ----------
        metric : str, Metric or callable, default="f1"
            What to optimise.
        zero_division : {0.0, 1.0, nan}, optional
            See `argmetric.tune`.
        coverage, n_bootstrap, cv, random_state, pos_label
            See `argmetric.tune`. The bootstrap resamples rows in bins of
            neighbouring scores.
        **limits : float, int or str, optional
            What the threshold must keep: those of `argmetric.tune` without budget
            and parity.

        Returns
        -------
        Rule
            The threshold, its score, and the scores of other thresholds.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from argmetric import scale
        >>> path = Path(tempfile.mkdtemp(), "scores.csv")
        >>> size = path.write_text("score,label\n0.9,1\n0.6,1\n0.4,0\n0.1,0\n")
        >>> rule = scale.open(path).tune("f1", cv=None)
        >>> rule.threshold, rule.score
        (0.5, 1.0)
        """
        chosen = get_metric(metric, zero_division=zero_division)
        kept = check_tune_limits({**limits})
        how: Any = {"cv": cv, "random_state": random_state}
        settings = check_settings(kept, n_bootstrap, coverage, **how)
        if self.group is not None:
            raise ValueError(
                "a threshold for the mean over groups needs all rows in memory: open "
                "the rows without group, or see argmetric.tune"
            )
        with self._labelled_scores(pos_label) as scores:
            require_defined(chosen, int(scores.bins[0, 2]))
            cuts = label_cuts(
                scores, lambda cuts: can_hold_the_best(cuts, [chosen], kept)
            )
        return tune_cuts(cuts, [chosen], settings, scores.labels)[0]


def label_cuts(scores: LabelledScores, can_be_best: Callable[[Cuts], Booleans]) -> Cuts:
    """Return labels counted by score, down to single scores where the best cut can be.

    `can_be_best` says which steps between cuts can hide the best one.
    """
    bins, divide, few, _ = scores
    first, last, is_divided = 0, 0, True
    for _ in range(MOST_ROUNDS):
        is_one = bins[first, 0] == bins[last, 1]
        exactly = bins[first : last + 1, 2].sum() <= few or is_one or not is_divided
        if exactly:  # with both neighbours, where thresholds end
            first, last = max(first - 1, 0), min(last + 1, len(bins) - 1)
        n_rows = bins[first : last + 1, 2].sum()
        finer = divide(float(bins[first, 0]), float(bins[last, 1]), n_rows, exactly)
        is_divided = len(finer) > last - first + 1
        bins = np.concatenate([bins[:first], finer, bins[last + 1 :]])
        tp, k = (np.append(0.0, np.cumsum(bins[::-1, j])) for j in (3, 2))
        cuts = Cuts(bins[::-1, 0].copy(), tp, k - tp)
        places = np.flatnonzero(can_be_best(cuts)[::-1])
        if exactly or not places.size:
            return cuts
        first, last = int(places[0]), int(places[-1])
    raise too_many_cuts(bins[first : last + 1, 2].sum())


def too_many_cuts(n_rows: float) -> DataError:
    """Return the error of scores that cannot be divided further."""
    return DataError(
        f"cuts at {int(n_rows):,} rows are as good as the best one: round the scores, "
        "or tune in memory"
    )
