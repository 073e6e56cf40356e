"""One weight for each of several classes, and the rule of such weights."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from argmetric._calibrate.calibrate import deal
from argmetric._calibrate.calibrator import Calibrator
from argmetric._ground.display import (
    COUNT,
    Field,
    Headline,
    between,
    documented,
    metric_title,
    number,
    with_interval,
)
from argmetric._ground.labels import plain_label
from argmetric._ground.odds import NEAREST
from argmetric._ground.pictures import bars_size, draw_bars, drawing
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Axes,
    ClassTuple,
    Floats,
    Integers,
    Interval,
    SharesLike,
)
from argmetric._ground.validation import check_scores, to_floats
from argmetric._verbs.tune import (
    FEW_ROWS,
    LEAST_EXPONENT,
    N_DRAWS,
    STEP,
    ClassLogits,
    PortableRule,
    SavedRule,
    Settings,
    files,
    mean_worth,
    new_tables,
    portable_cut,
    quantiles,
    within_range,
)
from argmetric.classes._calibrate import ClassPriorShift
from argmetric.classes._calibrators import (
    ClassMatrixCalibrator,
    ClassTemperatureCalibrator,
    log_softmax,
)
from argmetric.classes._input import (
    check_class_limits,
    check_class_probabilities,
    first_texts,
    labels_of,
    limits_note,
)
from argmetric.classes._means import check_means
from argmetric.classes._search import (
    FEW_ENOUGH,
    LIMITED_RESTARTS,
    ClassRows,
    labels_by_folds,
    score_confusion,
    search,
)
from argmetric.metrics import ClassGain, ClassMetric, Metric


def class_values(
    logits: ClassLogits,
    p: Floats,
    weights: Floats,
    offsets: Floats,
    gains: Floats | None = None,
) -> Floats:
    """Return the values whose largest gives the class, (n_rows, n_classes).

    Without offsets the logits y, in steps. With offsets b and weights w, in steps,

        a_i + b_i·Σ_j a_j / w_j,   a_i = exp(y_i - max y),

    which is weight·p + offset times a factor that all classes share. With gains g the
    first a_i is Σ_j a_j·g_ji.

    Parameters
    ----------
    logits : ClassLogits
    p : ndarray of shape (n_rows, n_classes)
    weights, offsets : ndarray of shape (n_classes,)
    gains : ndarray of shape (n_classes, n_classes), optional

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    x = np.log(np.maximum(check_class_probabilities(p), NEAREST))
    if logits.temperature != 1.0:
        x = log_softmax(x / logits.temperature)
    is_low = None
    if logits.floor is not None:
        is_low = x <= logits.floor
        x = np.maximum(x, logits.floor)
    y = np.asarray(x @ logits.matrix + logits.biases)
    if is_low is not None and logits.lump:
        np.add(y, logits.lump, out=y, where=is_low)
    if gains is not None or offsets.any():
        a = np.exp(np.maximum(y - y.max(axis=1, keepdims=True), LEAST_EXPONENT))
        y = a if gains is None else a @ gains
        y = y + offsets * (a / weights).sum(axis=1, keepdims=True)
    return np.asarray(np.floor(y / STEP + 0.5))


def class_logits(calibrator: object, weights: Floats) -> ClassLogits | None:
    """Return a chain of calibrators as one matrix of log p, or None if it is not one.

    Temperatures and prior shifts only scale and move the logits of a calibrator before
    them. A matrix after another calibrator would need its probabilities.
    """
    parts = calibrator.parts if isinstance(calibrator, Calibrator) else (calibrator,)
    temperature, floor, lump = 1.0, None, 0.0
    matrix, biases = np.eye(weights.size), np.zeros(weights.size)
    for place, one in enumerate(parts):
        sized = one.prevalences if isinstance(one, ClassPriorShift) else weights
        if getattr(one, "n_classes", np.size(sized)) != weights.size:
            return None  # for another number of classes: `apply` refuses it
        if isinstance(one, ClassMatrixCalibrator) and place == 0:
            temperature, lump, biases = one.temperature, one.lump, one.biases
            matrix = one.slope * matrix
            if one.matrix is not None and one.centre is not None:
                matrix = matrix + one.matrix
                biases = biases - one.centre @ one.matrix
            if one.floor is not None:  # one step above: the floor itself is not above
                floor = math.log(max(one.floor, NEAREST)) + STEP
        elif isinstance(one, ClassTemperatureCalibrator):
            matrix, biases = matrix / one.temperature, biases / one.temperature
            lump /= one.temperature
        elif isinstance(one, ClassPriorShift):
            with np.errstate(divide="ignore"):
                biases = biases + np.log(one.prevalences / one.reference_prevalences)
        else:
            return None
    biases = np.maximum(biases + np.log(weights), -1e300)  # never of 0
    return ClassLogits(temperature, floor, lump, matrix, biases)


def exported_logits(calibrator: object, weights: Floats) -> ClassLogits | None:
    """Return the calibrator as logits to export; None without one, or an error."""
    if calibrator is None:
        return None
    logits = class_logits(calibrator, weights)
    if logits is None:
        raise ValueError(
            "this calibrator cannot be exported: it is a function, or a chain whose "
            "matrix calibrator is not the first. Export dataclasses.replace(rule, "
            "calibrator=None), and apply the calibrator before it"
        )
    return logits


def class_scores(p: ArrayLike, classes: ClassTuple, calibrator: Any = None) -> Floats:
    """Return checked and calibrated scores for a rule of classes."""
    scores = to_floats(p, "p")
    if scores.ndim != 2 or scores.shape[1] != len(classes):
        raise ValueError(
            f"p must have {len(classes)} columns, one per class, not shape "
            f"{scores.shape}"
            + "; a rule of predicted means is tuned with mean="
            * (scores.ndim == 1)
        )
    scores = check_scores(scores, "p", logits=False)
    if calibrator is None:
        return scores
    return to_floats(files.apply_calibrator(calibrator, scores), "calibrated p")


SHOWN = 8  # classes in the printed form


@dataclass(frozen=True, repr=False, eq=False)
class MultiClassRule(SavedRule):
    """Rule that gives a row the class with the largest weighted probability.

    Of kappas of classes in order and of costs, the class with the largest p·gains +
    offset; of a predicted mean, the class between two cuts.

    Parameters
    ----------
    classes : tuple
        The labels, in the order of the columns.
    weights : ndarray
        One per class; all 1 is the plain most probable class.
    offsets : ndarray
        Added to weight·p or p·gains; all 0 for weights that were tuned on labels.
    metric : Metric or ClassMetric
        What it is best for: averaged over the classes, or in its form for several
        classes ("accuracy", "balanced_accuracy", "gmean", "kappa" and "mcc").
    score : float
        On the rows it was tuned on.
    argmax_score : float
        Score of the most probable class, on the same rows.
    optimism, mean : float
        `mean` is what is forecast for new rows: the score of rows by weights that were
        tuned on other folds. `optimism` is how much `score` exceeds it; nan if unknown.
    interval : Interval or None
        Interval that holds the score on `n` new rows, as many as it was tuned on.
    n : int
        Rows that it was tuned on.
    coverage : float
        Of `interval`.
    calibrator : Calibrator or callable, optional
        Applied to probabilities before the weights.
    notes : tuple of str
        Remarks on the rule.
    versions : dict
        Libraries that it was made with.
    gains : ndarray or None
        Gain of a label (column) where a class (row) is true, in place of weights.
    cuts : ndarray or None
        The rule takes a predicted mean, not probabilities: a row gets the class of
        the number of cuts that its mean reaches.

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

    classes: ClassTuple
    weights: Floats
    metric: Metric | ClassMetric
    score: float = math.nan
    argmax_score: float = math.nan
    optimism: float = math.nan
    mean: float = math.nan
    interval: Interval | None = None
    n: int = 0
    coverage: float = 0.9
    calibrator: Any = None
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=files.current_versions)
    offsets: Floats | None = None
    gains: Floats | None = None
    cuts: Floats | None = None

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
        known: dict[str, Any] = {"weights": weights, "classes": classes}
        known["offsets"] = files.read_only(offsets)
        for name, shape in ("gains", weights.shape * 2), ("cuts", (len(classes) - 1,)):
            if getattr(self, name) is None:
                continue
            value = files.read_only(getattr(self, name))
            if value.shape != shape or np.isnan(value).any():
                raise ValueError(f"{name} must be numbers of shape {shape}")
            if (weights != 1.0).any():
                raise ValueError(f"{name} go without weights: all must be 1")
            if name == "cuts" and (value[1:] < value[:-1]).any():
                raise ValueError("cuts must ascend")
            known[name] = value
        self._freeze(**known | files.check_fields(self))

    def predicts(self, p: ArrayLike) -> npt.NDArray[np.int64]:
        """Return the column of the chosen class, (n,); ties go to the first.

        With a calibrator, classes whose values agree to 7 digits are ties.

        Parameters
        ----------
        p : array-like of shape (n, classes)
            Probabilities as they were tuned on; of a rule with cuts the predicted
            means, of shape (n,).

        Returns
        -------
        ndarray of shape (n,)
            Numbers of columns.
        """
        if self.cuts is not None:
            return np.searchsorted(self.cuts, check_means(p, "p"), side="right")
        return np.asarray(np.argmax(self._values(p), axis=1))

    def _values(self, p: ArrayLike) -> Floats:
        """Return the values of the classes, of which each row takes the largest."""
        scores = class_scores(p, self.classes)
        assert self.offsets is not None
        if self._chain is not None:
            logits, gains = class_logits(self._chain, self.weights), self.gains
            if logits is not None:
                return class_values(logits, scores, self.weights, self.offsets, gains)
            scores = class_scores(scores, self.classes, self._chain)
        scores = scores * self.weights if self.gains is None else scores @ self.gains
        return np.asarray(scores + self.offsets)

    @property
    def _chain(self) -> Any:
        """Calibrators before the weights; gains need p that sum to 1."""
        if self.calibrator is None and self.gains is not None:
            return ClassTemperatureCalibrator(1.0, len(self.classes))
        return self.calibrator

    def apply(self, p: ArrayLike) -> AnyArray:
        """Return the labels of the rows.

        Parameters
        ----------
        p : array-like of shape (n, classes)
            Probabilities, or predicted means, as they were tuned on.

        Returns
        -------
        ndarray of shape (n,)
            A class for each row.
        """
        return labels_of(self.predicts(p), self.classes)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions behind `mean` and `interval`."""
        if math.isnan(self.score):
            return ()
        return "new rows come from where these rows came from", "rows are independent"

    def _columns(self) -> dict[str, object]:
        names = [str(name) for name in self.classes]
        if self.cuts is not None:
            return {"class": names, "from": np.append(-np.inf, self.cuts)}
        columns = {"class": names, "weight": self.weights, "offset": self.offsets}
        if self.gains is not None:
            columns |= {
                f"gain of {name}": self.gains[:, i] for i, name in enumerate(names)
            }
        return columns

    _told = ("interval",)

    def _headline(self) -> Headline | None:
        name, classes = metric_title(self.metric.name), len(self.classes)
        if not math.isnan(self.mean):
            interval = with_interval(self.interval, self.coverage)
            more = (
                f"{interval}, {classes} classes" if interval else f"{classes} classes"
            )
            return Headline(f"{name} on new rows", number(self.mean), more)
        if math.isnan(self.score):
            return None
        return Headline(
            f"{name} on these rows", number(self.score), f"{classes} classes"
        )

    def fields(self) -> list[Field]:
        """Return all fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            Keys with values for JSON, and words with text for the summary.
        """
        score = most_probable = held = None

        def on_new(pair: Interval) -> str:
            return f"{between(pair)} ({self.coverage:.0%}, on {self.n:,} new rows)"

        if not math.isnan(self.score):
            score = number(self.score)
            most_probable = number(self.argmax_score)
            if self.gains is None and self.cuts is None:
                most_probable += " (all weights 1)"
        if not math.isnan(self.mean):
            held = f"{number(self.mean)} (optimism {self.optimism:+.3f})"
        weights, offsets, cuts = None, None, self._cuts
        if cuts is None and self.gains is None:
            weights = self._by_class(self.weights, ".3g")
        if cuts is None and self._plus:
            offsets = self._by_class(self.offsets, "+.3g")
        return [
            *self._header(),
            Field("metric", lambda: files.saved_metric(self.metric)),
            *self._keys("classes", "weights", "offsets", "gains", "cuts"),
            Field("score", self.score, "score", score),
            Field("argmax_score", self.argmax_score, "most probable", most_probable),
            Field("optimism", self.optimism),
            Field("mean", self.mean, "mean", held),
            self._field("interval", "interval", on_new),
            Field(words="weights", text=weights),
            Field(words="offsets", text=offsets),
            Field(words="cuts", text=self._cut_words(cuts)),
            self._field("n", "rows", COUNT),
            *self._keys("coverage", "notes", "versions"),
            Field("calibrator", lambda: files.saved_calibrator(self.calibrator)),
        ]

    @property
    def _cuts(self) -> Floats | None:
        """Cuts of the mean, or of the expected class, which is the number of a column.

        Of gains i·j of class i and label j they are what the offsets fall by.
        """
        if self.cuts is not None or self.gains is None or self.offsets is None:
            return self.cuts
        steps = np.arange(len(self.classes))
        if np.array_equal(self.gains, np.outer(steps, steps)):
            return np.asarray(-np.diff(self.offsets))
        return None

    def _cut_words(self, cuts: Floats | None) -> str | None:
        if cuts is None:
            return None
        of = "expected column, from 0" if self.cuts is None else "predicted mean"
        pairs = zip(cuts, self.classes[1:], strict=True)
        texts = [f"{one} from {cut:.3g}" for cut, one in pairs]
        return f"{first_texts(texts, SHOWN)} ({of})"

    def _by_class(self, values: Any, digits: str) -> str:
        pairs = zip(self.classes, values, strict=True)
        return first_texts([f"{name} {x:{digits}}" for name, x in pairs], SHOWN)

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> MultiClassRule:
        """Return the rule that a file holds, with its numbers checked."""
        arrays = ("weights", "offsets", "gains", "cuts")  # older files have the first
        values = dict.fromkeys(arrays[1:]) | values
        known = files.read_fields(cls, values)
        numbers = np.vectorize(files.number, otypes=[np.float64])
        return cls(**known | {x: known[x] and numbers(known[x]) for x in arrays})

    def _portable(self) -> PortableRule:
        """Return the rule as weights and offsets, or cuts, for other languages."""
        assert self.offsets is not None
        if self.cuts is not None:
            most = sys.float_info.max
            raw = (portable_cut(x, ">=", unit=False) for x in self.cuts.tolist())
            cuts = tuple(cut._replace(low=-most, high=most) for cut in raw)
            return PortableRule(
                self._title(), ("mean",), self.classes, cuts, single=True
            )
        weights, offsets = tuple(self.weights.tolist()), tuple(self.offsets.tolist())
        logits = exported_logits(self._chain, self.weights)
        gains = () if self.gains is None else tuple(map(tuple, self.gains.tolist()))
        names, title = tuple(map(str, self.classes)), self._title()
        plain = title, names, self.classes, (), weights, offsets, logits
        return PortableRule(*plain, gains=gains)

    def _title(self) -> str:
        how = "argmax of weight x p" if self.gains is None else "argmax of p x gains"
        how = f"{how}{self._plus}"
        if self._cuts is not None:
            what = "expected class" if self.cuts is None else "predicted mean"
            how = f"cuts of the {what}"
        count = len(self.classes)
        return f"MultiClassRule({how}, {count} classes, metric={self.metric.name})"

    @property
    def _plus(self) -> str:
        return " + offset" if self.offsets is not None and self.offsets.any() else ""

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the weight of every class, or its offset, or where its cut is."""
        names, cuts = list(map(str, self.classes)), self._cuts
        values, what = self.weights, "weight"
        if self.gains is not None and self.offsets is not None:
            values, what = self.offsets, "offset"
        if cuts is not None:
            names = [f"to {name}" for name in names[1:]]
            values, what = np.where(np.isfinite(cuts), cuts, np.nan), "cut"
        with drawing(ax, bars_size(len(names)), xlabel=what, title=self._title()) as ax:
            draw_bars(ax, names, values)
        return ax


LabelsByFolds = Callable[[ClassRows, Integers, np.random.Generator], Integers]
# From random weights around the best: fewer where rows are many
FEWEST_RESTARTS, RESTARTS = 4, 20


def tune_classes(
    rows: ClassRows,
    classes: ClassTuple,
    metric: Metric | ClassGain,
    settings: Settings,
    *,
    max_per_class: SharesLike | str | None = None,
    min_recall: SharesLike | None = None,
) -> MultiClassRule:
    """Tune weights for one metric, or matrix of gains, and measure the optimism.

    Parameters
    ----------
    rows : ClassRows
        Calibrated, with the objective of the metric.
    classes : tuple
    metric : Metric or ClassGain
    settings : Settings
    max_per_class, min_recall
        As for `tune`.
    """
    counts = np.bincount(rows.true, rows.weight, len(classes))
    limits = check_class_limits(max_per_class, min_recall, classes, counts)
    sign = 1.0 if metric.greater_is_better else -1.0
    rows = replace(rows, sign=sign, limits=limits)
    most = RESTARTS if limits is None else LIMITED_RESTARTS
    restarts = int(np.clip(4 * FEW_ENOUGH // rows.true.size, FEWEST_RESTARTS, most))
    weights = search(rows, np.random.default_rng(settings.seeds()[2]), restarts)
    missed, gain = rows.worth(weights)
    if limits is not None and missed < 0.0:
        limits.refuse(rows.confusion(weights), classes)
    if gain == -math.inf:
        raise ValueError(f"{metric.name} is undefined on these rows")
    notes = () if limits is None else (limits_note(max_per_class, min_recall),)
    rule = MultiClassRule(classes, weights, metric, notes=notes)
    return measure_rule(rule, rows, rows.predict(weights), settings, labels_by_folds)


def measure_rule(
    rule: MultiClassRule,
    rows: ClassRows,
    predicted: Integers,
    settings: Settings,
    labels_by_folds: LabelsByFolds,
) -> MultiClassRule:
    """Return the rule with its score on the rows it was tuned on, and on new ones.

    Parameters
    ----------
    rule : MultiClassRule
    rows : ClassRows
    predicted : ndarray of shape (n_rows,)
        Columns of the labels.
    settings : Settings
    labels_by_folds : callable
        Columns of the labels by rules that were tuned on other folds.
    """
    seeds, metric, true = settings.seeds(), rule.metric, rows.true
    score = float(_score(rows, predicted))
    counts = np.bincount(true)
    folds, held = min(settings.cv, int(counts[counts > 0].min())), None
    outside = math.nan
    if folds >= 2:
        rng = np.random.default_rng(seeds[1])
        held = labels_by_folds(rows, deal(rng, true, folds), rng)
        outside = float(_score(rows, held))
    interval = None
    if settings.n_bootstrap:
        seen = rows.table(predicted if held is None else held)
        rng = np.random.default_rng(seeds[3])
        tables = new_tables(seen, mean_worth(rows.weight), N_DRAWS, rng)
        scores = score_confusion(rows.objective, tables)
        interval = quantiles(scores, settings.coverage)
        if isinstance(metric, Metric):  # gains of drawn tables lie in their range
            interval = within_range(interval, metric, float(true.size))
    notes = rule.notes
    if true.size < FEW_ROWS:
        notes += (f"tuned on {true.size} rows: the rule is little but a guess",)
    return replace(
        rule,
        score=score,
        argmax_score=float(_score(rows, rows.predict(np.ones(rows.classes)))),
        optimism=rows.sign * (score - outside),
        mean=outside,
        interval=interval,
        n=true.size,
        coverage=settings.coverage,
        notes=notes,
    )


def _score(rows: ClassRows, predicted: Integers) -> Floats:
    return score_confusion(rows.objective, rows.table(predicted))
