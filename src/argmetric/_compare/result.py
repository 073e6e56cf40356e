"""Result of `compare`: scores, differences, and which rows to label next."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from argmetric._compare.strata import with_labels
from argmetric._compare.table import (
    SAFETY,
    SAME_ROWS,
    UNLABELLED,
    PatternTable,
    ScoredGroups,
)
from argmetric._forecast.forecast import refuse_undefined
from argmetric._ground import arguments as check
from argmetric._ground import display
from argmetric._ground.discrete import central_interval
from argmetric._ground.display import ASSUMES, Field, Result, documented, hide_private
from argmetric._ground.labels import read_together
from argmetric._ground.pictures import drawing, small_densities, small_difference
from argmetric._ground.saving import Saved, check_version, is_file_of, with_intervals
from argmetric._ground.types import (
    ArrayLike,
    Axes,
    Floats,
    Integers,
    Interval,
    Label,
    RandomState,
)
from argmetric._ground.validation import to_numpy
from argmetric.metrics import Metric, metric_from_dict, metric_to_dict

FORMAT = 2  # of the saved form; 1 was never released
NAME = "argmetric comparison"
# In the saved form, and of what kind
ARRAYS: dict[str, Any] = {"decisions": bool, "pattern": int, "cell": int, "odds": float}
SURE, LIKELY = 0.99, 0.9  # probabilities from which a verdict says so
VERDICTS = ("sure", "likely", "cannot tell", "same score", "counted")
STILL_BEST = 0.02  # added to the probability to be best of a model that hardly is


class ModelScore(NamedTuple):
    """Posterior mean of the score of a model, and its central interval."""

    mean: float
    interval: tuple[float, float]


def draws_summary(draws: Floats, coverage: float) -> ModelScore:
    """Return mean and interval of equally likely values, nan without one."""
    if not draws.size:
        return ModelScore(np.nan, Interval(np.nan, np.nan))
    even = np.full(draws.size, 1.0 / draws.size)
    interval = central_interval(np.sort(draws), even, coverage)
    return ModelScore(float(draws.mean()), interval)


class ForecastScore(NamedTuple):
    """Forecast of the score of a model, as by `forecast` without a reference."""

    mean: float
    interval: tuple[float, float]
    moved: float  # from the mean under the joint probabilities of all models


class Best(NamedTuple):
    """Name of the model most likely to be the best, and the probability that it is."""

    model: str
    probability: float


class PastEstimate(NamedTuple):
    """Estimate of a difference, and its interval, after the first `n_labels` labels."""

    n_labels: int
    mean: float
    low: float
    high: float


@hide_private
@dataclass(frozen=True, repr=False, eq=False)
class Difference(Result):
    """Paired difference of the scores of two models on the same rows.

    Parameters
    ----------
    first, second : str
        The models: the difference is the score of the first minus that of the second.
    mean : float
        The expected difference.
    interval : tuple of two floats
        Interval that contains the difference with the probability `coverage`.
    coverage : float
        The probability asked for.
    probability : float
        Posterior probability that the first model is better. It is no p-value.

    Examples
    --------
    >>> import argmetric as am
    >>> am.Difference("a", "b", 0.05, (0.02, 0.08), 0.9, 0.998).verdict
    'sure'
    """

    first: str
    second: str
    mean: float
    interval: tuple[float, float]
    coverage: float
    probability: float
    _counted: bool = True  # where all draws are equal: whether all labels are known
    _is_unlabelled: bool = False  # what the models know beyond p is not counted

    @property
    def verdict(self) -> str:
        """How sure it is which model is better, or that nothing is estimated."""
        if self.interval[0] == self.interval[1] and (self._counted or not self.mean):
            return VERDICTS[4 if self.mean else 3]
        most = max(self.probability, 1.0 - self.probability)
        is_sure = most >= SURE and not self._is_unlabelled
        return VERDICTS[0 if is_sure else 1 if most >= LIKELY else 2]

    def _answer(self, title: str, *, greater_is_better: bool, several: bool) -> str:
        """Return which model is better in one sentence; `title`: of the metric.

        Of several models the second is named too.
        """
        names, surety = (self.first, self.second), self.probability
        if self.verdict == VERDICTS[3]:
            return f"{names[0]} and {names[1]} have the same {title}"
        sign, (low, high) = 1 if greater_is_better else -1, self.interval
        gap, ends = sign * self.mean, sorted((sign * low, sign * high))
        open_ = self.verdict == VERDICTS[2]
        if gap < 0.0 if open_ else surety < 0.5:
            names, gap, ends = names[::-1], -gap, [0.0 - ends[1], 0.0 - ends[0]]
            surety = 1.0 - surety
        than = f" {'of' if open_ else 'than'} {names[1]}" if several else ""
        by = f"by {gap:.3f} {title}"
        if self.verdict == VERDICTS[4]:
            better = f"{names[0]} is better{than} {by} on these rows"
            return f"{better}, whose labels are all known; others may differ"
        by = f"{by} ({ends[0]:+.3f} to {ends[1]:+.3f})"
        if open_:
            return f"Cannot tell yet: {names[0]} ahead{than} {by}"
        how = "better" if self.verdict == VERDICTS[0] else "likely better"
        likely = f"{surety:.3f}".removeprefix("0").replace("1.000", "over .999")
        return f"{names[0]} is {how}{than} {by}, probability {likely}"

    def _title(self) -> str:
        low, high = self.interval
        gap = f"{self.first} - {self.second}: {self.mean:+.4f}"
        return f"{gap} ({low:+.4f} to {high:+.4f}), {self.verdict}"

    def fields(self) -> list[Field]:
        """Return all fields of the result.

        Returns
        -------
        list of Field
            In the order of the summary.
        """
        (low, high), better = self.interval, f"{self.probability:.3f}"
        within = f", {self.coverage:.0%} interval {low:+.4f} to {high:+.4f}"
        if self._counted and low == high:
            within = better = ""
        words = f"P({self.first} is better)"
        return [
            *self._keys("first", "second", "coverage", "interval"),
            self._field("mean", f"{self.first} - {self.second}", "{:+.4f}" + within),
            Field("probability", self.probability, words, better or None),
            self._field("verdict", "verdict"),
        ]


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Saved["Comparison"]):
    """Which of several models has the better score, and which rows to label next.

    `compare` returns it; `add` adds labels and returns a new one.

    Parameters
    ----------
    names : tuple of str
        The models.
    coverage : float
        Probability that an interval contains what it is for.
    table : PatternTable
        Rows by pattern of predictions, with the labels that are known.
    reference : tuple of two int
        Labelled rows of the reference, and the positives among them.
    history : tuple of PastEstimate
        What was known after fewer labels.
    notes, assumptions : tuple of str
        What the reader should know, and what the answer takes for granted.
    forecasts : tuple of ForecastScore
        The score of each model without labels and reference.

    Attributes
    ----------
    metric : Metric
        What the models are compared by.
    mean, interval
        Of `difference()`; of a single model its score.
    n, n_labels : int
        Rows, and those whose label is known by now.

    Examples
    --------
    >>> import argmetric as am
    >>> p, labels = [0.9, 0.6, 0.4, 0.1], {"a": [1, 1, 0, 0], "b": [1, 0, 0, 1]}
    >>> comparison = am.compare(p, labels, "accuracy")
    >>> comparison.best().model, comparison.next_rows(2)
    ('a', array([1, 3]))
    """

    _what: ClassVar[str] = "comparison"
    kind: ClassVar[str] = "comparison"

    names: tuple[str, ...]
    coverage: float
    table: PatternTable
    reference: tuple[int, int]  # labelled rows, and positives among them
    history: tuple[PastEstimate, ...] = ()
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    # Of every model, as long as there are neither labels nor a reference
    forecasts: tuple[ForecastScore, ...] = ()

    _told = ("verdict",)

    def __post_init__(self) -> None:
        """Drop the note on no labels where some are, and what all labels leave out."""
        notes = (x for x in self.notes if x != UNLABELLED or not self.n_labels)
        object.__setattr__(self, "notes", tuple(notes))
        if self.n_labels == self.n:
            object.__setattr__(self, "assumptions", ())

    @property
    def metric(self) -> Metric:
        return self.table.metric

    @property
    def n(self) -> int:
        return int(self.table.y.size)

    @property
    def n_labels(self) -> int:
        return int(self.table.is_labelled.sum())

    @cached_property
    def _draws(self) -> Floats:
        """(models, draws) where all scores are defined."""
        drawn = self.table.score_draws
        if self.forecasts:
            low, high = self.table.score_range
            shift = np.array([[one.moved] for one in self.forecasts])
            inside = np.clip(drawn, low[:, None] + 1e-9, high[:, None] - 1e-9) == drawn
            if (inside | (shift == 0)).mean() > 0.95:  # few rows often score 0 or 1
                drawn = np.clip(drawn + shift, low[:, None], high[:, None])
        drawn = drawn[:, np.isfinite(drawn).all(axis=0)]
        refuse_undefined(drawn, self.metric)
        return drawn

    @cached_property
    def _ahead(self) -> Floats:
        """Draws by which more is better."""
        return self._draws if self.metric.greater_is_better else -self._draws

    @cached_property
    def _p_best(self) -> Floats:
        """Probability of each model to be the best; ties are shared out."""
        first = self._ahead == self._ahead.max(axis=0)
        return np.asarray((first / first.sum(axis=0)).mean(axis=1))

    @cached_property
    def _ranking(self) -> list[int]:
        """Models, the most likely best first."""
        return [*map(int, np.lexsort((-self._ahead.mean(axis=1), -self._p_best)))]

    def scores(self) -> dict[str, ModelScore]:
        """Return the score of every model on these rows.

        Returns
        -------
        dict
            By the name of the model, `mean` and `interval`.
        """
        own = self.forecasts or [draws_summary(x, self.coverage) for x in self._draws]
        known = (ModelScore(one.mean, one.interval) for one in own)
        return dict(zip(self.names, known, strict=True))

    def best(self) -> Best:
        """Return the model that is most likely the best.

        Returns
        -------
        Best
            `model`, its name, and the `probability` that it is the best.
        """
        place = self._ranking[0]
        return Best(self.names[place], float(self._p_best[place]))

    def difference(
        self, first: int | str | None = None, second: int | str | None = None
    ) -> Difference:
        """Return the paired difference of two models.

        Parameters
        ----------
        first, second : str or int, optional
            The models, by name or number. By default the two that there are; of more,
            the two that are most likely the best.

        Returns
        -------
        Difference
            `mean`, `interval`, and the `probability` that the first is better.
        """
        a, b = self._pair(first, second)
        gap = draws_summary(self._draws[a] - self._draws[b], self.coverage)
        if self.forecasts:
            gap = gap._replace(mean=self.forecasts[a].mean - self.forecasts[b].mean)
        ahead = self._ahead[a] - self._ahead[b]
        better = float((ahead > 0).mean() + (ahead == 0).mean() / 2)
        names, known = (self.names[a], self.names[b]), self.n_labels == self.n
        return Difference(
            *names, *gap, self.coverage, better, known, self._is_unlabelled
        )

    def _pair(self, *models: Any) -> tuple[int, int]:
        """Return the indices of two models, by default of the first two in rank."""
        if len(self.names) < 2:
            raise ValueError("there is one model: a difference needs two")
        if all(one is None for one in models):
            a, b = (0, 1) if len(self.names) == 2 else self._ranking[:2]
            return a, b
        a, b = map(self._place, models)
        if a == b:
            name = self.names[a]
            raise ValueError(f"first and second are one model, {name!r}: pass two")
        return a, b

    def _place(self, model: Any) -> int:
        """Return the index of a model, from its name or its number."""
        if isinstance(model, str) and model in self.names:
            return self.names.index(model)
        if isinstance(model, str) or model is None:
            known = ", ".join(map(repr, self.names))
            raise ValueError(f"there is no model {model!r}: there are {known}")
        return check.check_count(model, "model", high=len(self.names) - 1)

    @cached_property
    def _main(self) -> Any:
        alone = len(self.names) == 1
        return self.scores()[self.names[0]] if alone else self.difference()

    @property
    def mean(self) -> float:
        return float(self._main.mean)

    @property
    def interval(self) -> tuple[float, float]:
        return self._main.interval  # type: ignore[no-any-return]

    def sure(self, level: float = SURE) -> str | None:
        """Return the best model once its probability is high enough, else None.

        It may be asked after every batch; that it holds at any time is measured
        (docs/comparing.rst), not proven. A judge alone, without any label, is not sure.

        Parameters
        ----------
        level : float, default=0.99
            The probability that is enough.

        Returns
        -------
        str or None
            The name of the model.
        """
        best, level = self.best(), check.check_share(level, "level")
        enough = best.probability >= level and not self._is_unlabelled
        return best.model if enough else None

    @property
    def _is_unlabelled(self) -> bool:
        return not (self.n_labels or {UNLABELLED, SAME_ROWS}.isdisjoint(self.notes))

    def _contrasts(self) -> Floats:
        """Return contrasts of models that the next labels are meant to settle."""
        count = len(self.names)
        if count <= 2 or not self.table.is_labelled.any():
            return self.table.first_contrasts()
        lead, eye = self._ranking[0], np.eye(count)
        others = np.delete(np.arange(count), lead)
        weight = np.sqrt(self._p_best[others] + STILL_BEST)
        return np.asarray(weight[:, None] * (eye[lead] - eye[others]))

    def next_rows(self, n: int, *, random_state: RandomState = 0) -> Integers:
        """Return the rows whose labels are most informative, drawn at random in strata.

        Parameters
        ----------
        n : int
            How many. Fewer where fewer labels are missing.
        random_state : int, Generator or None
            Seed of the draw.

        Returns
        -------
        ndarray
            Numbers of the rows, rising. They stay the same until labels are added.
        """
        n = check.check_count(n, "n", low=1)
        check.check_seed(random_state)
        if self.n_labels == self.n:
            raise ValueError("the labels of all rows are known already")
        return self.table.next_rows(n, self._contrasts(), random_state)

    def add(
        self, rows: ArrayLike, y: ArrayLike, *, pos_label: Label | None = None
    ) -> Comparison:
        """Add labels of rows: those of `next_rows`, or of rows drawn at random.

        Parameters
        ----------
        rows : array-like of int
            Numbers of the rows.
        y : array-like
            Their true labels; nan or None where one is missing.
        pos_label : object, optional
            The label that counts as positive.

        Returns
        -------
        Comparison
            A new one; this one stays as it is.
        """
        array = to_numpy(rows, "rows").ravel()
        if array.dtype.kind not in "iu" and array.size:
            raise TypeError(f"rows must be whole numbers, not {array.dtype}")
        out = np.flatnonzero((array < 0) | (array >= self.n))
        if out.size:
            raise ValueError(
                f"rows has {array[out[0]]} at position {out[0]}: the {self.n:,} rows "
                f"are numbered from 0 to {self.n - 1}"
            )
        how: Any = {"shape": array.shape, "other": "rows", "missing": "y"}
        (found,) = read_together(pos_label, y=y, **how)
        there = ~np.isnan(found)
        array, found = array[there].astype(np.int64), found[there]
        table = replace(self.table, y=with_labels(self.table.y, array, found))
        if self.table.is_labelled[array].all():
            return self
        return replace(self, table=table, history=self.estimates(), forecasts=())

    def labels_needed(self, gap: float, power: float = 0.8) -> int:
        """Return how many more labels of `next_rows` show a difference of this size.

        Parameters
        ----------
        gap : float
            The difference that matters, 0.02 for two points.
        power : float, default=0.8
            Probability that the interval then excludes 0, if the gap is real.

        Returns
        -------
        int
            All rows without a label, where fewer do not do.
        """
        from scipy.special import ndtri

        gap = check.check_number(gap, "gap", low=0.0, strict=True)
        power = check.check_share(power, "power")
        reach = ndtri((1 + self.coverage) / 2) + ndtri(power)
        contrast = np.subtract(*np.eye(len(self.names))[[*self._pair(None, None)]])

        def is_enough(m: int) -> bool:
            return bool(SAFETY * reach * self.table.expected_sd(m, contrast) <= gap)

        most = self.n - self.n_labels
        return min(most, 1 + bisect_left(range(1, most), True, key=is_enough))

    def estimates(self) -> tuple[PastEstimate, ...]:
        """Return what was known after fewer labels, and what is known now.

        Returns
        -------
        tuple of PastEstimate
            `n_labels`, `mean`, `low` and `high`, the fewest labels first.
        """
        return (*self.history, PastEstimate(self.n_labels, self.mean, *self.interval))

    def _title(self) -> str:
        title = display.metric_title(self.metric.name)
        if len(self.names) == 1:
            return f"{title} of {self.names[0]}: {_between(self._main)}"
        up, several = self.metric.greater_is_better, len(self.names) > 2
        gap = self.difference()
        return gap._answer(title, greater_is_better=up, several=several)

    def _picture(self) -> str:
        title = display.metric_title(self.metric.name)
        draws = dict(zip(self.names, self._draws, strict=True))
        scores = small_densities(draws, f"Distribution of {title} of each model")
        if len(self.names) == 1:
            return scores
        a, b = self._pair(None, None)
        gap = self._draws[a] - self._draws[b]
        name = f"{title} of {self.names[a]} - {self.names[b]}"
        return scores + small_difference(gap, Interval(*self.interval), name)

    def fields(self) -> list[Field]:
        """Return all fields of the result.

        Returns
        -------
        list of Field
            In the order of the summary.
        """
        scores, table, groups = self.scores(), self.table, self.table.groups
        n_old, positive = self.reference
        old = f"{n_old:,} labelled rows, {positive:,} positive" if n_old else None
        labels = display.part_text(self.n_labels, self.n, " rows")
        rows, assumed = np.flatnonzero(table.is_labelled), "; ".join(self.assumptions)
        return [
            Field("file", NAME),
            Field("format", FORMAT),
            *display.metric_fields(self.metric),
            Field("metric_form", metric_to_dict(self.metric)),
            Field("names", self.names),
            *(Field(words=name, text=_between(one)) for name, one in scores.items()),
            Field("scores", {name: one._asdict() for name, one in scores.items()}),
            *(self._main.fields()[3:] if len(self.names) > 1 else ()),
            Field("best", self.best()),
            Field("p_best", self._p_best),
            Field("n", self.n),
            Field("assumptions", self.assumptions, ASSUMES, assumed or None),
            Field("n_labels", self.n_labels, "labels", labels),
            Field("reference", self.reference, "reference", old),
            *self._keys("coverage", "history", "notes"),
            Field("decisions", table.decisions),
            Field("pattern", table.pattern),
            Field("cell", table.bin),
            Field("odds", table.odds),
            Field("labelled", [rows, table.y[rows].astype(np.int64)]),
            Field("raw", table.raw),
            Field("judged", table.judged),
            Field("forecasts", [one._asdict() for one in self.forecasts]),
            Field("groups", None if groups is None else [groups.code, groups.size]),
        ]

    @classmethod
    def _kind_of(cls, values: Any) -> str:
        """Return the kind of a saved comparison; refuse others and newer formats."""
        if not is_file_of(values, NAME):
            raise ValueError(f"this is no saved comparison: 'file' is not {NAME!r}")
        check_version(values.get("format"), FORMAT, "this comparison")
        return cls.kind

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> Comparison:
        """Return the comparison that a file holds, with its parts checked."""
        decisions, pattern, bin_, odds = (
            np.array(values[key], dtype=kind) for key, kind in ARRAYS.items()
        )
        y, groups = np.full(pattern.size, np.nan), values["groups"]
        y[np.array(values["labelled"][0], dtype=np.int64)] = values["labelled"][1]
        shape = [pattern.size, len(decisions), decisions.shape[1], odds.shape[1]]
        parts = [bin_.size, len(values["names"]), pattern.max() + 1, bin_.max() + 1]
        if groups is not None:
            groups = ScoredGroups(np.array(groups[0]), np.array(groups[1], dtype=float))
            shape += groups.code.shape + groups.size.shape
            parts += [pattern.size, groups.code.max() + 1]
        if shape != parts:
            raise ValueError("its parts do not fit together")
        kinds = bool(values["raw"]), bool(values["judged"])
        metric = metric_from_dict(values["metric_form"])
        table = PatternTable(decisions, pattern, bin_, odds, y, metric, *kinds, groups)
        saved = [[float(x) for x in one.values()] for one in values["history"]]
        history = tuple(PastEstimate(int(first), *rest) for first, *rest in saved)
        forecasts = (ForecastScore(**with_intervals(x)) for x in values["forecasts"])
        keys = "names", "reference", "notes", "assumptions"
        names, old, *texts = (tuple(values[key]) for key in keys)
        rest: Any = table, old, history, *texts, tuple(forecasts)
        return cls(names, float(values["coverage"]), *rest)

    def _columns(self) -> dict[str, Any]:
        mean, interval = zip(*self.scores().values(), strict=True)
        return {
            "model": self.names,
            "mean": mean,
            "interval": interval,
            "p_best": self._p_best,
            "n_positives": self.table.n_predicted.astype(np.int64),
        }

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the difference over the labels, with its interval."""
        several, what = len(self.names) > 1, display.metric_title(self.metric.name)
        if several:
            what = f"{what} of {self._main.first} - {self._main.second}"
        with drawing(ax, xlabel="Labels of these rows", ylabel=what) as ax:
            x, mean, low, high = np.array(self.estimates()).T
            bars = np.maximum([mean - low, high - mean], 0.0)
            label = f"mean and {self.coverage:.0%} interval"
            ax.errorbar(x, mean, bars, fmt="o-", color="C0", capsize=3, label=label)
            if several:
                ax.axhline(0.0, color="black", linestyle=":", label="no difference")
        return ax


def _between(score: ModelScore) -> str:
    return "{0:.4f} ({1[0]:.4f} to {1[1]:.4f})".format(*score)
