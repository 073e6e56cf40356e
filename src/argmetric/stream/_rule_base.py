"""Base classes of threshold rules over a stream.

At an optimum of Φ(tp, k, t, n) a row is predicted positive where its probability
exceeds the level -(∂Φ/∂k)/(∂Φ/∂tp), taken at the counts that the decisions lead to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_flag
from argmetric._ground.display import Shown, table
from argmetric._ground.labels import clear_labels
from argmetric._ground.odds import expit
from argmetric._ground.types import ArrayLike, Axes, Floats
from argmetric._ground.validation import (
    check_length,
    check_scores,
    is_masked,
    to_floats,
)
from argmetric.metrics import (
    MCC,
    BalancedAccuracy,
    FowlkesMallows,
    GMean,
    HMean,
    Kappa,
    MeanForm,
    Metric,
    MetricLike,
    QMean,
    RatioForm,
    Recall,
    Specificity,
    Youden,
    get_metric,
)
from argmetric.stream._history import StreamDisplay

Coefficients = tuple[float, float, float, float]
_NONE: Coefficients = (0.0, 0.0, 0.0, 0.0)

# Codes of the compiled `level`; 0 and 1 are the families of ratios.
_SMOOTH: dict[type[Metric], int] = {
    MCC: 2,
    Kappa: 3,
    FowlkesMallows: 4,
    GMean: 5,
    BalancedAccuracy: 6,
    Youden: 6,
    HMean: 7,
    QMean: 8,
}
_IGNORED: dict[type[Metric], str] = {
    Recall: "false positives",
    Specificity: "missed positives",
}


@dataclass(frozen=True)
class LevelForm:
    """Coefficients of a metric, from which rules compute its level.

    `b2` is β² where the metric orders decisions as F_β does (Jaccard and Tversky
    among them), with the optimal threshold in [0, ceiling] = [0, 1/(1+β²)].
    """

    code: int
    b2: float
    ceiling: float
    start: float
    c: Coefficients = _NONE
    d: Coefficients = _NONE


def coefficients(metric: Metric) -> tuple[Coefficients, Coefficients] | None:
    """Return numerator and denominator over (n, tp, k, t), or None for another form."""
    known = getattr(metric, "coefficients", None)
    if known is not None:
        c, d = known
        return tuple(c), tuple(d)
    form = metric.form
    if isinstance(form, RatioForm):
        return form.c, form.d
    if isinstance(form, MeanForm) and form.cells is not None and form.scale is not None:
        tp, fp, fn, tn = form.cells  # a sum over cells, for fixed n: divide by n
        return (tn, tp - fp - fn + tn, fp - tn, fn - tn), (1.0, 0.0, 0.0, 0.0)
    return None


def level_form(metric: Metric) -> LevelForm:
    """Return the metric in the form that the compiled rules take."""
    for kind, code in _SMOOTH.items():
        if isinstance(metric, kind):
            return LevelForm(code, 1.0, 1.0, 0.25)
    ignored = _IGNORED.get(type(metric))
    if ignored is not None:
        raise ValueError(
            f"{metric.name} does not punish {ignored}: its best threshold is an "
            'extreme; use a metric that does, such as "f0.5", "f2" or "gmean"'
        )
    ratio = coefficients(metric)
    if ratio is None or not metric.greater_is_better:
        raise ValueError(
            f"no threshold rule for {metric.name}: rules on streams support ratios of "
            "affine counts (F-beta, Jaccard, Tversky, accuracy, utilities, ...), MCC, "
            "kappa, G-mean, H-mean, Q-mean, balanced accuracy, Youden and "
            "Fowlkes-Mallows"
        )
    c, d = ratio
    if c[0] == c[2] == c[3] == d[0] == 0.0 and c[1] > 0.0:
        # Φ = c1·tp/(d1·tp + d2·k + d3·t) rises with tp/(k + (d3/d2)·t), as F_β does
        if d[2] > 0.0 and d[3] > 0.0:
            b2 = d[3] / d[2]
            ceiling = 1.0 / (1.0 + b2)
            return LevelForm(0, b2, ceiling, 0.5 * ceiling, c, d)
        what = "false positives" if d[2] <= 0.0 else "missed positives"
        raise ValueError(
            f"{metric.name} does not punish {what}: its best threshold is an extreme; "
            'use a metric that does, such as "f0.5" or "f2"'
        )
    holds = metric.ranking_principle(64).holds  # positive above a threshold
    rising = c[1] - min(0.0, d[1]) > 0.0 or c[1] > 0.0
    if not (holds and rising and math.isfinite(sum(c) + sum(d))):
        raise ValueError(
            f"{metric.name} does not rise with the number of true positives, so no "
            "threshold on probabilities is optimal for it"
        )
    gain = c[1] - 0.5 * d[1]
    start = (0.5 * d[2] - c[2]) / gain if gain > 0.0 else 0.25
    return LevelForm(1, 1.0, 1.0, min(max(start, 1e-4), 0.9999), c, d)


Weights = tuple[Floats, int]  # weights, and the step between two rows: 0 if all are 1
UNWEIGHTED: Weights = (np.ones(1), 0)


def check_weight(weights: ArrayLike | None, n: int) -> Weights:
    """Return weights and the stride between rows, 0 if all weights are 1."""
    if weights is None:
        return UNWEIGHTED
    values = to_floats(weights, "sample_weight")
    if values.ndim == 0 or values.ndim > 1:
        raise ValueError("sample_weight must have one dimension")
    check_length(values, "sample_weight", n, "X")
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))
    if wrong.size:
        raise ValueError(
            f"sample_weight is {values[wrong[0]]:g} at row {wrong[0]}; weights are "
            "finite and not negative"
        )
    return values, 1


def rare_rule(state: Floats) -> bool | None:
    """Return None for the default rule, else True: kernels compile less for None."""
    from argmetric.stream.kernels import rules

    slots = [rules.RULE, rules.METRIC, rules.WINDOW, rules.DECAY, rules.RECENT]
    usual = [rules.HISTOGRAM, rules.F_FAMILY, 0.0, 1.0, 1.0]
    return None if state[slots].tolist() == usual else True


class RuleRun(NamedTuple):
    """Labels and thresholds of each row, before the rule saw its label.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Decisions, 0 and 1.
    thresholds : ndarray of shape (n_samples,)
        Thresholds on probabilities that were used.

    Examples
    --------
    >>> from argmetric.stream import FixedRule
    >>> rule = FixedRule(0.3)
    >>> rule.run(rule.init_state("f1"), [0.2, 0.4], [0, 1]).thresholds
    array([0.3, 0.3])
    """

    labels: npt.NDArray[np.int64]
    thresholds: Floats

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        positives = f"{int(self.labels.sum()):,} of {self.labels.size:,}"
        lines = [("positives", positives)]
        if self.labels.size:
            first, last = self.thresholds[[0, -1]]
            lines.append(("threshold", f"{first:.4g} at first, {last:.4g} at last"))
        return table("RuleRun", lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the threshold that was used for each row.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
            The axes drawn on.
        """
        rows = np.arange(1.0, self.thresholds.size + 1)
        drawn: Axes = StreamDisplay(rows, self.thresholds).plot(ax).ax_
        return drawn


@dataclass(frozen=True)
class StreamRule(Shown):
    """Base of all rules: a name, and options that are plain numbers."""

    name: ClassVar[str] = ""

    def _read(self, check: Callable[..., Any], *names: str, **options: Any) -> None:
        """Check options and store them as plain numbers; None stays."""
        for name in names:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check(value, name, **options))

    def to_dict(self) -> dict[str, Any]:
        """Return the name and the parameters, for JSON.

        Returns
        -------
        dict
            For `get_rule`.
        """
        return {"rule": self.name} | asdict(self)


@dataclass(frozen=True)
class ThresholdRule(StreamRule):
    """A threshold that learns from each row after it has decided it.

    The state is one float64 array, made by `init_state` and changed in place by
    `update` and `run`; the rule itself is a value.

    Examples
    --------
    >>> from argmetric.stream import get_rule
    >>> rule = get_rule("newton")
    >>> state = rule.init_state("f1")
    >>> rule.update(state, 0.7, 1), rule.decide(state, [0.1, 0.9])
    (1, array([0, 1]))
    """

    def init_state(self, metric: MetricLike = "f1") -> Floats:
        """Return the state before the first row.

        Parameters
        ----------
        metric : str, Metric or callable, default="f1"
            A ratio of affine counts, MCC, kappa, a mean of the two rates or
            Fowlkes-Mallows.

        Returns
        -------
        ndarray of float
            The state, for `run`, `update` and `decide`.
        """
        from argmetric.stream.kernels import rules as kernels

        form = level_form(get_metric(metric))
        state = np.zeros(kernels.HEADER + self._extra())
        state[kernels.METRIC], state[kernels.B2] = form.code, form.b2
        state[kernels.CEILING], state[kernels.START] = form.ceiling, form.start
        state[kernels.C0 : kernels.C0 + 4] = form.c
        state[kernels.D0 : kernels.D0 + 4] = form.d
        state[kernels.THETA] = form.start
        state[[kernels.DECAY, kernels.RECENT, kernels.UNIT]] = 1.0
        self._fill(state, form, kernels)
        return state

    def _extra(self) -> int:
        """Return how many numbers the state has after its header."""
        return 0

    def _fill(self, state: Floats, form: LevelForm, kernels: ModuleType) -> None:
        """Set the slots of the state that are particular to the rule."""
        raise NotImplementedError

    def update(
        self, state: Floats, score: float, y: int, *, logits: bool = False
    ) -> int:
        """Decide one row, then learn from its label; return the decision.

        Parameters
        ----------
        state : ndarray
            From `init_state`; changed in place.
        score : float
            The probability, or log-odds with `logits=True`.
        y : int
            The label, 0 or 1.
        logits : bool, default=False
            Whether the score is log-odds.

        Returns
        -------
        int
            The decision, 0 or 1.
        """
        return int(self.run(state, [score], [y], logits=logits).labels[0])

    def run(
        self,
        state: Floats,
        scores: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        logits: bool = False,
    ) -> RuleRun:
        """Decide each row before its label is seen, and learn from the label.

        Parameters
        ----------
        state : ndarray
            From `init_state`; changed in place. Blocks of any size give the same bits.
        scores : array-like of shape (n_samples,)
            Probabilities, or log-odds with `logits=True`.
        y : array-like of shape (n_samples,)
            Labels 0 and 1.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a row of weight 0 is decided but not learned.
        logits : bool, default=False
            Whether the scores are log-odds.

        Returns
        -------
        RuleRun
            `labels`, and the `thresholds` on probabilities that were used.
        """
        from argmetric.stream.kernels import rules as kernels

        length = kernels.HEADER + self._extra()
        check_state(state)
        if not state.flags.writeable:
            raise ValueError("the state is read-only: pass a copy of it")
        if np.shape(state) != (length,):  # compiled code would write beyond its end
            raise ValueError(
                f"the state has the shape {np.shape(state)} in place of ({length},): "
                "is it that of another rule, or of another version of argmetric?"
            )
        # Compiled code reads and writes at the places that these name
        bins, window = getattr(self, "bins", 0), getattr(self, "window", None) or 0
        layout = state[[kernels.BINS, kernels.WINDOW]].tolist()
        place = state[kernels.PLACE]
        if layout != [bins, window] or not 0 <= place < max(window, 1):
            raise ValueError("the state is damaged: it is not that of this rule")
        logits = check_flag(logits, "logits")
        values = to_floats(scores, "scores")
        if values.ndim != 1:
            raise ValueError(f"scores must have one dimension, not {values.ndim}")
        values = check_scores(values, "scores", logits=logits)
        truth = clear_labels(y, shape=values.shape, other="scores").view(np.uint8)
        weight, pace = check_weight(sample_weight, values.size)
        labels = np.empty(values.size, dtype=np.uint8)
        thresholds = np.empty(values.size)
        given = (values, logits, truth, weight, pace)
        kernels.run_rule(state, rare_rule(state), *given, labels, thresholds)
        return RuleRun(labels.astype(np.int64), thresholds)

    def decide(
        self, state: Floats, scores: npt.ArrayLike, *, logits: bool = False
    ) -> npt.NDArray[np.int64]:
        """Return labels by the current threshold; the state does not change.

        Parameters
        ----------
        state : ndarray
            From `init_state`.
        scores : array-like of shape (n_samples,)
            Probabilities, or log-odds with `logits=True`.
        logits : bool, default=False
            Whether the scores are log-odds.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels 0 and 1.
        """
        values = to_floats(scores, "scores")
        zeros = np.zeros(values.size, dtype=bool)
        return self.run(
            state, values, zeros, sample_weight=np.zeros(values.size), logits=logits
        ).labels

    def threshold_of(self, state: Floats) -> float:
        """Return the threshold on probabilities for the next row.

        Parameters
        ----------
        state : ndarray
            From `init_state`.

        Returns
        -------
        float
            From 0 to 1.
        """
        from argmetric.stream.kernels import rules as kernels

        check_state(state)
        if state.shape < (kernels.HEADER,):
            raise ValueError(f"the state has the shape {state.shape}: is it of a rule?")
        if state[kernels.RULE] != kernels.HISTOGRAM:
            return float(state[kernels.THETA])
        return float(expit(state[kernels.CUT]))


def check_state(state: object) -> None:
    """Raise an error if the state is not an array of floats."""
    is_array = isinstance(state, np.ndarray) and state.dtype == np.float64
    if not is_array or is_masked(state):
        raise TypeError(
            f"the state must be the array from init_state, not {type(state).__name__}"
        )
