"""One weight for each of several classes, and the rule that they make."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from argmetric._calibrate.calibrate import deal
from argmetric._input.labels import plain_label
from argmetric._input.types import Booleans, Floats, Integers
from argmetric._input.validation import check_scores, to_floats
from argmetric._results.display import COUNT, INTERVAL, Field
from argmetric._results.pictures import bars_size, draw_bars, drawing
from argmetric._tune import (
    FEW_ROWS,
    N_DRAWS,
    PortableRule,
    SavedRule,
    Settings,
    files,
    mean_worth,
    new_tables,
    quantiles,
    within_range,
)
from argmetric.classes._logits import class_logits, class_values, exported_logits
from argmetric.classes._objectives import (
    ClassObjective,
    confusion,
    objective_of,
    score_confusion,
)
from argmetric.metrics import ClassMetric, Metric

SHOWN = 8  # classes in the printed form


@dataclass(frozen=True, repr=False, eq=False)
class MultiClassRule(SavedRule):
    """The class with the largest weighted probability.

    Attributes
    ----------
    classes : tuple
        The labels, in the order of the columns.
    weights : ndarray
        One per class; all 1 is the plain most probable class.
    offsets : ndarray
        Added to weight·p; all 0 for weights that were tuned on labels.
    metric : Metric or ClassMetric
        What it is best for: averaged over the classes, or in its form for several
        classes ("accuracy", "balanced_accuracy", "gmean", "kappa" and "mcc").
    score : float
        On the rows it was tuned on.
    argmax_score : float
        Of the plain most probable class, on the same rows.
    optimism, out_of_fold_score : float
        How much the score exceeds that of weights tuned on other folds; nan if unknown.
    score_interval : (float, float) or None
        Interval that holds the score on `n` new rows, as many as it was tuned on.

    Examples
    --------
    >>> import argmetric as am
    >>> y = ["a", "b", "c", "a", "b", "a", "a"]
    >>> p = [[.5, .3, .2], [.6, .4, 0], [.5, .1, .4], [.8, .1, .1],
    ...      [.4, .5, .1], [.9, .1, 0], [.6, .3, .1]]
    >>> rule = am.classes.tune(y, p, "f1", n_bootstrap=0, cv=None)
    >>> round(rule.argmax_score, 4), round(rule.score, 4)
    (0.4889, 1.0)
    >>> rule.apply([[0.5, 0.1, 0.4]])
    array(['c'], dtype='<U1')
    """

    kind: ClassVar[str] = "multiclass"

    classes: tuple[Any, ...]
    weights: Floats
    metric: Metric | ClassMetric
    score: float = math.nan
    argmax_score: float = math.nan
    optimism: float = math.nan
    out_of_fold_score: float = math.nan
    score_interval: tuple[float, float] | None = None
    n: int = 0
    coverage: float = 0.9
    calibrator: Any = None
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=files.current_versions)
    offsets: Floats | None = None

    def __post_init__(self) -> None:
        weights = files.read_only(self.weights)
        offsets = np.zeros(weights.shape) if self.offsets is None else self.offsets
        classes = tuple(map(plain_label, self.classes))
        if weights.shape != (len(classes),):
            raise ValueError(f"{len(classes)} classes but weights {weights.shape}")
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            raise ValueError("weights must be positive finite numbers")
        if np.shape(offsets) != weights.shape or not np.isfinite(offsets).all():
            raise ValueError("offsets must be finite numbers, one for each class")
        known = {"weights": weights, "classes": classes, "notes": tuple(self.notes)}
        known["offsets"] = files.read_only(offsets)
        known["versions"] = files.FrozenDict(self.versions)
        for name, value in (known | files.checked_facts(self)).items():
            object.__setattr__(self, name, value)

    def predicts(self, p: Any) -> npt.NDArray[np.int64]:
        """Column of the chosen class; ties go to the first.

        With a calibrator, classes whose values agree to 7 digits are ties.

        Parameters
        ----------
        p : array-like of shape (n, classes)
            Probabilities as they were tuned on.
        """
        scores = to_floats(p, "p")
        if scores.ndim != 2 or scores.shape[1] != len(self.classes):
            raise ValueError(
                f"p must have {len(self.classes)} columns, one per class, not shape "
                f"{scores.shape}"
            )
        scores = check_scores(scores, "p", logits=False)
        assert self.offsets is not None
        if self.calibrator is not None:
            logits = class_logits(self.calibrator, self.weights)
            if logits is not None:
                values = class_values(logits, scores, self.weights, self.offsets)
                return np.asarray(np.argmax(values, axis=1))
            scores = to_floats(
                files.calibrated(self.calibrator, scores), "calibrated p"
            )
        return np.asarray(np.argmax(scores * self.weights + self.offsets, axis=1))

    def apply(self, p: Any) -> Any:
        """Labels of the rows.

        Parameters
        ----------
        p : array-like of shape (n, classes)
            Probabilities as they were tuned on.
        """
        if len({type(one) for one in self.classes}) == 1:
            names = np.array(self.classes)
        else:
            names = np.fromiter(self.classes, dtype=object, count=len(self.classes))
        return names[self.predicts(p)]

    def fields(self) -> list[Field]:
        score = most_probable = held = None
        if not math.isnan(self.score):
            score = f"{self.score:.4f}"
            most_probable = f"{self.argmax_score:.4f} (all weights 1)"
        if not math.isnan(self.out_of_fold_score):
            held = f"{self.out_of_fold_score:.4f} (optimism {self.optimism:+.4f})"
        interval = f"{INTERVAL} ({self.coverage:.0%})"
        offsets = self._named(self.offsets, "+.4g") if self._plus else None
        return [
            *self._header(),
            Field("metric", lambda: files.saved_metric(self.metric)),
            *self._keys("classes", "weights", "offsets"),
            Field("score", self.score, "score", score),
            Field("argmax_score", self.argmax_score, "most probable", most_probable),
            Field("optimism", self.optimism),
            Field("out_of_fold_score", self.out_of_fold_score, "out of fold", held),
            self._field("score_interval", f"on {self.n:,} new rows", interval),
            Field(words="weights", text=self._named(self.weights, ".4g")),
            Field(words="offsets", text=offsets),
            self._field("n", "rows", COUNT),
            *self._keys("coverage", "notes", "versions"),
            Field("calibrator", lambda: files.saved_calibrator(self.calibrator)),
        ]

    def _named(self, values: Any, digits: str) -> str:
        pairs = list(zip(self.classes, values, strict=True))[:SHOWN]
        more = ", ..." if len(self.classes) > SHOWN else ""
        return ", ".join(f"{name} {value:{digits}}" for name, value in pairs) + more

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> MultiClassRule:
        number = files.number
        return cls(
            classes=tuple(values["classes"]),
            weights=np.array([number(x) for x in values["weights"]]),
            offsets=files.loaded_offsets(values.get("offsets")),
            metric=files.loaded_metric(values["metric"]),
            score=number(values["score"]),
            argmax_score=number(values["argmax_score"]),
            optimism=number(values["optimism"]),
            out_of_fold_score=number(values["out_of_fold_score"]),
            score_interval=files.interval(values["score_interval"]),
            n=files.count(values["n"]),
            coverage=number(values["coverage"]),
            calibrator=files.loaded_calibrator(values["calibrator"]),
            notes=tuple(values["notes"]),
            versions=values["versions"],
        )

    def _portable(self) -> PortableRule:
        assert self.offsets is not None
        weights, offsets = tuple(self.weights.tolist()), tuple(self.offsets.tolist())
        logits = exported_logits(self.calibrator, self.weights)
        names, title = tuple(map(str, self.classes)), self._title()
        return PortableRule(title, names, self.classes, (), weights, offsets, logits)

    def _title(self) -> str:
        return (
            f"MultiClassRule(argmax of weight x p{self._plus}, "
            f"{len(self.classes)} classes, metric={self.metric.name})"
        )

    @property
    def _plus(self) -> str:
        return " + offset" if self.offsets is not None and self.offsets.any() else ""

    def plot(self, ax: Any = None) -> Any:
        """Draw the weight of every class.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        names = [str(name) for name in self.classes]
        size = bars_size(len(names))
        with drawing(ax, size, xlabel="weight", title=self._title()) as ax:
            draw_bars(ax, names, self.weights)
        return ax


SWEEPS = 50  # over all classes; a search stops when one changes nothing
RESTARTS = (4, 20)  # from random weights around the best: fewer where rows are many
FEW_ENOUGH = 4_000  # more rows are searched on a sample first
MANY_ROWS = 20_000  # most rows that the search of a fold looks at
BETTER = 1e-12  # relative gain that counts as one
ROUNDING = 1e-14


@dataclass(frozen=True)
class ClassRows:
    """Probabilities, number of the true class, and weight of every row."""

    p: Floats
    true: Integers
    weight: Floats | None
    objective: ClassObjective
    sign: float

    @property
    def classes(self) -> int:
        return int(self.p.shape[1])

    def take(self, rows: Integers) -> ClassRows:
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, p=self.p[rows], true=self.true[rows], weight=weight)

    @property
    def weights(self) -> Floats:
        """Of the rows; empty where all weigh 1."""
        return np.empty(0) if self.weight is None else self.weight

    def predict(self, weights: Floats) -> Integers:
        return np.asarray(np.argmax(self.p * weights, axis=1))

    def table(self, predicted: Integers) -> Floats:
        return confusion(self.true, predicted, self.weight, self.classes)

    def gain(self, weights: Floats) -> float:
        """Score to be maximised; -inf where it is undefined."""
        from argmetric.classes.kernels.weights import confuse

        table = np.zeros((self.classes, self.classes))
        confuse(self.p, weights, self.true, self.weights, table)
        score = score_confusion(self.objective, table)
        return -math.inf if np.isnan(score) else self.sign * float(score)


@dataclass(frozen=True)
class Scan:
    """Scores for all values of one weight: below, between and above break points."""

    breaks: Floats
    scores: Floats

    @property
    def narrow(self) -> Booleans:
        """Scores between break points that rounding does not tell apart."""
        ends = np.concatenate([[0.0], self.breaks, [math.inf]])
        return np.asarray(ends[1:] <= ends[:-1] * (1.0 + ROUNDING))

    def weight(self, i: int) -> float | None:
        """A weight between the break points around score i; None without any."""
        breaks = self.breaks
        if not breaks.size:
            return None
        if i == 0:
            return float(breaks[0] / 2.0)
        if i == breaks.size:
            return float(breaks[-1] * 2.0)
        return math.sqrt(breaks[i - 1]) * math.sqrt(breaks[i])


def scan_class(rows: ClassRows, weights: Floats, j: int) -> Scan:
    """Scores of all predictions that weight j alone can make."""
    from argmetric.classes.kernels import weights as kernels

    size, weight = rows.true.size, rows.weights
    rival, turning = np.empty((2, size), dtype=np.int64)
    ratio, table = np.empty(size), np.zeros((rows.classes, rows.classes))
    count = kernels.rivals(
        rows.p, weights, j, rows.true, weight, rival, ratio, turning, table
    )
    t, k, tp = table.sum(axis=1), table.sum(axis=0), np.diagonal(table).copy()
    n = t.sum()
    turning = turning[:count]
    turning = turning[np.argsort(ratio[turning])]  # scores stand where ties end
    breaks = ratio[turning]
    start = rows.objective.parts(tp, k, t, n)
    sums = start.sum(axis=1)[:, None]
    if turning.size:
        ends = np.append(np.flatnonzero(breaks[1:] != breaks[:-1]), breaks.size - 1)
        counts = np.empty((4, turning.size))
        kernels.take_over(turning, rival, rows.true, weight, j, tp, k, *counts)
        own = rows.objective.parts(counts[0], counts[1], t[j], n)
        other = rows.objective.parts(counts[2], counts[3], t[rival[turning]], n)
        moved = np.empty_like(own)
        kernels.add_changes(turning, rival, own, other, start, j, moved)
        sums = np.concatenate([sums, moved[:, ends]], axis=1)
        breaks = breaks[ends]
    return Scan(breaks, rows.objective.combine(sums, t, n))


def _improved(
    scan: Scan, weights: Floats, j: int, sign: float, best: float, *, wide_only: bool
) -> Floats | None:
    """Weights with the best of the scan for class j; None if that is no better."""
    lost = np.isnan(scan.scores)
    if wide_only:
        lost |= scan.narrow
    gain = np.where(lost, -math.inf, sign * scan.scores)
    weight = scan.weight(int(np.argmax(gain)))
    if weight is None or not gain.max() > best + BETTER * max(1.0, abs(best)):
        return None
    if not 0 < weight < math.inf:
        return None
    tried = weights.copy()
    tried[j] = weight
    return tried


def climb(rows: ClassRows, weights: Floats) -> tuple[Floats, float]:
    """Improve one weight after the other until none can be improved."""
    weights = weights.copy()
    best = rows.gain(weights)
    idle = 0  # classes that were scanned since a weight changed
    for j in islice(cycle(range(rows.classes)), SWEEPS * rows.classes):
        scan = scan_class(rows, weights, j)
        idle += 1
        for wide_only in (False, True):
            tried = _improved(scan, weights, j, rows.sign, best, wide_only=wide_only)
            if tried is None:
                break
            # Rounding may turn a row at a break point: only what is seen counts.
            found = rows.gain(tried)
            if found > best:
                weights, best, idle = tried, found, 1
                break
        if idle == rows.classes:
            break
    return weights, best


def search(rows: ClassRows, rng: np.random.Generator, restarts: int) -> Floats:
    """The best weights of several starts; all 1 is one of them, and wins ties.

    Many rows are searched on a sample, and the best weights improved on all of them.
    """
    ones = np.ones(rows.classes)
    part = rows
    if rows.true.size > FEW_ENOUGH:
        part = rows.take(np.sort(rng.permutation(rows.true.size)[:FEW_ENOUGH]))
    share = np.bincount(part.true, part.weight, rows.classes)
    share = share / share.sum()
    inverse = 1.0 / np.maximum(share, 1e-3 / rows.classes)
    best, gain = climb(part, ones)
    for start in (inverse, np.sqrt(inverse)):
        found, value = climb(part, start / start.mean())
        if value > gain + BETTER * max(1.0, abs(gain)):
            best, gain = found, value
    for _ in range(restarts):
        found, value = climb(part, best * np.exp(rng.normal(0, 0.7, rows.classes)))
        if value > gain + BETTER * max(1.0, abs(gain)):
            best, gain = found, value
    if part is not rows:
        best, gain = climb(rows, best)
    return best if gain > rows.gain(ones) else ones


def tune_classes(
    p: Floats,
    true: Integers,
    classes: tuple[Any, ...],
    weight: Floats | None,
    metric: Metric,
    settings: Settings,
    *,
    by_support: bool = False,
) -> MultiClassRule:
    """Weights for one metric, with the optimism of tuning them."""
    sign = 1.0 if metric.greater_is_better else -1.0
    rows = ClassRows(p, true, weight, objective_of(metric, by_support=by_support), sign)
    seeds = settings.seeds()
    restarts = int(np.clip(4 * FEW_ENOUGH // true.size, *RESTARTS))
    weights = search(rows, np.random.default_rng(seeds[2]), restarts)
    if rows.gain(weights) == -math.inf:
        raise ValueError(f"{metric.name} is undefined on these rows")
    predicted = rows.predict(weights)
    score = float(_score(rows, predicted))
    held = _out_of_fold(rows, settings.cv, np.random.default_rng(seeds[1]))
    outside = math.nan if held is None else float(_score(rows, held))
    interval = None
    if settings.n_bootstrap:
        seen = rows.table(predicted if held is None else held)
        rng = np.random.default_rng(seeds[3])
        tables = new_tables(seen, mean_worth(weight), N_DRAWS, rng)
        scores = score_confusion(rows.objective, tables)
        interval = quantiles(scores, settings.coverage)
        interval = within_range(interval, metric, float(true.size))
    notes = []
    if true.size < FEW_ROWS:
        notes.append(f"tuned on {true.size} rows: the weights are little but a guess")
    return MultiClassRule(
        classes=classes,
        weights=weights,
        metric=metric,
        score=score,
        argmax_score=sign * rows.gain(np.ones(rows.classes)),
        optimism=sign * (score - outside),
        out_of_fold_score=outside,
        score_interval=interval,
        n=true.size,
        coverage=settings.coverage,
        notes=tuple(notes),
    )


def _score(rows: ClassRows, predicted: Integers) -> Floats:
    return score_confusion(rows.objective, rows.table(predicted))


def _out_of_fold(rows: ClassRows, cv: int, rng: np.random.Generator) -> Integers | None:
    """Classes of rows by weights found on the other folds, each class dealt evenly."""
    counts = np.bincount(rows.true)
    folds = min(cv, int(counts[counts > 0].min()))
    if folds < 2:
        return None
    return labels_by_folds(rows, deal(rng, rows.true, folds), rng)


def labels_by_folds(
    rows: ClassRows, fold: Integers, rng: np.random.Generator
) -> Integers:
    """Classes of rows by weights found on the other folds."""
    predicted = np.empty(fold.size, dtype=np.int64)
    for f in range(int(fold.max()) + 1):
        inside = np.flatnonzero(fold != f)
        if inside.size > MANY_ROWS:  # a smaller sample flatters more: a safe estimate
            inside = rng.permutation(inside)[:MANY_ROWS]
        weights = search(rows.take(inside), rng, 0)
        held = np.flatnonzero(fold == f)
        predicted[held] = rows.take(held).predict(weights)
    return predicted
