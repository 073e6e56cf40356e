"""Threshold rules over a stream of probabilities, in memory that does not grow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from argmetric._input.arguments import check_count, check_flag, check_number, shown
from argmetric._input.labels import clear_labels
from argmetric._input.odds import expit
from argmetric._input.types import Floats
from argmetric._input.validation import (
    check_scores,
    to_floats,
)
from argmetric._results.display import Shown, table
from argmetric.metrics import MetricLike, get_metric
from argmetric.stream._learners import check_weight, rare_rule
from argmetric.stream._metric import LevelForm, level_form

RuleName = Literal["histogram", "newton", "ofo", "fofo", "fixed"]


class RuleRun(NamedTuple):
    """What a rule did on each row, before it saw the label of that row."""

    labels: npt.NDArray[np.int64]
    thresholds: Floats

    def _repr_html_(self) -> str:
        """A table for notebooks; a named tuple has no other base."""
        positives = f"{int(self.labels.sum()):,} of {self.labels.size:,}"
        lines = [("positives", positives)]
        if self.labels.size:
            first, last = self.thresholds[[0, -1]]
            lines.append(("threshold", f"{first:.4g} at first, {last:.4g} at last"))
        return table("RuleRun", lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the threshold that every row met.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from argmetric.stream._display import StreamDisplay

        rows = np.arange(1.0, self.thresholds.size + 1)
        return StreamDisplay(rows, self.thresholds).plot(ax).ax_


LONGEST = 2**26  # bins, or rows of a window: 64 million hold a gigabyte


@dataclass(frozen=True)
class ThresholdRule(Shown):
    """A threshold that learns from each row after it has decided it.

    The state is one float64 array, made by `init_state` and changed in place by
    `update` and `run`; the rule itself is a value.
    """

    name: ClassVar[str] = ""

    def _read(self, check: Callable[..., Any], *names: str, **options: Any) -> None:
        """Options as plain numbers, refused by name; None stays as it is."""
        for name in names:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check(value, name, **options))

    def init_state(self, metric: MetricLike = "f1") -> Floats:
        """State before the first row.

        Parameters
        ----------
        metric : str, Metric or callable, default="f1"
            A ratio of affine counts, MCC, kappa, a mean of the two rates or
            Fowlkes-Mallows.
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
        """Length of the state behind its header."""
        return 0

    def _fill(self, state: Floats, form: LevelForm, kernels: Any) -> None:
        raise NotImplementedError

    def update(
        self, state: Floats, score: float, y: int, *, logits: bool = False
    ) -> int:
        """Decide one row, then learn from its label; returns the decision."""
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
            Weights; a row of weight 0 is decided and not learned from.
        logits : bool, default=False
            Whether the scores are log-odds.

        Returns
        -------
        RuleRun
            `labels`, and the `thresholds` on probabilities that they met.
        """
        from argmetric.stream.kernels import rules as kernels

        length = kernels.HEADER + self._extra()
        _check_state(state)
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
        """Labels under the rule as it stands; the state is left alone."""
        values = to_floats(scores, "scores")
        zeros = np.zeros(values.size, dtype=bool)
        return self.run(
            state, values, zeros, sample_weight=np.zeros(values.size), logits=logits
        ).labels

    def threshold_of(self, state: Floats) -> float:
        """The threshold on probabilities that the next row will meet."""
        from argmetric.stream.kernels import rules as kernels

        _check_state(state)
        if state.shape < (kernels.HEADER,):
            raise ValueError(f"the state has the shape {state.shape}: is it of a rule?")
        if state[kernels.RULE] != kernels.HISTOGRAM:
            return float(state[kernels.THETA])
        return float(expit(state[kernels.CUT]))

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, for JSON."""
        return {"rule": self.name} | asdict(self)


def _check_state(state: Any) -> None:
    if not isinstance(state, np.ndarray) or state.dtype != np.float64:
        raise TypeError(
            "the state must be the array that init_state gave, not "
            f"{type(state).__name__}"
        )


@dataclass(frozen=True)
class FixedRule(ThresholdRule):
    """A threshold that never moves: positive where p ≥ threshold.

    Parameters
    ----------
    threshold : float, default=0.5
        From 0 to 1.

    Examples
    --------
    >>> from argmetric.stream import FixedRule
    >>> rule = FixedRule(0.3)
    >>> rule.run(rule.init_state("f1"), [0.2, 0.4], [0, 1]).labels
    array([0, 1])
    """

    threshold: float = 0.5
    name: ClassVar[str] = "fixed"

    def __post_init__(self) -> None:
        threshold = check_number(self.threshold, "threshold", low=0.0, high=1.0)
        object.__setattr__(self, "threshold", threshold)

    def _fill(self, state: Floats, form: LevelForm, kernels: Any) -> None:
        state[kernels.RULE] = kernels.FIXED
        state[kernels.THETA] = self.threshold


@dataclass(frozen=True)
class OFORule(ThresholdRule):
    """The level at the counts so far; for F1 half the running F (Busa-Fekete 2015).

    θ = (tp + a) / (k + t + b) for F1. The bare rule, `prior=(0, 0)`, starts at 0 and is
    a weak baseline: one unlucky start holds it near 0 for long.

    Parameters
    ----------
    prior : tuple of two floats, default=(10, 20)
        Pseudo-counts (a, b). For F_β, b is scaled by (1+β²)/2, so that (10, 20) always
        starts at the threshold of a perfect model, 1/(1+β²).
    forget : float, optional
        Counts fade by 1/e for every `forget` positives.
    window : int, optional
        Counts of the last `window` rows alone.

    Examples
    --------
    >>> from argmetric.stream import OFORule
    >>> rule = OFORule()
    >>> rule.threshold_of(rule.init_state("f1"))
    0.5
    """

    prior: tuple[float, float] = (10.0, 20.0)
    forget: float | None = None
    window: int | None = None
    name: ClassVar[str] = "ofo"

    def __post_init__(self) -> None:
        if np.array(self.prior, dtype=object).shape != (2,):
            raise TypeError(f"prior must be two numbers, not {shown(self.prior)}")
        a, b = (check_number(x, "prior", low=0.0) for x in self.prior)
        object.__setattr__(self, "prior", (a, b))
        if 2.0 * a > b:
            raise ValueError(f"prior (a, b) needs 2a ≤ b, an F of at most 1: {a}, {b}")
        self._read(check_number, "forget", low=0.0, strict=True)
        self._read(check_count, "window", low=1, high=LONGEST)
        if self.forget is not None and self.window is not None:
            raise ValueError("give forget or window, not both")

    def _extra(self) -> int:
        return 2 * (self.window or 0)

    def _fill(self, state: Floats, form: LevelForm, kernels: Any) -> None:
        a, b = self.prior
        scale = (1.0 + form.b2) / 2.0 if form.code == kernels.F_FAMILY else 1.0
        state[kernels.RULE] = kernels.OFO
        state[kernels.MASS] = b * scale
        state[kernels.CENTRE] = state[kernels.THETA] = a / (b * scale) if b else 0.0
        state[kernels.WINDOW] = self.window or 0
        if self.forget is not None:
            state[kernels.RECENT] = math.exp(-1.0 / self.forget)


@dataclass(frozen=True)
class FOFORule(ThresholdRule):
    """Fast online F-measure optimisation (Liu et al. 2018), Algorithms 1 and 2.

    Stages k = 1..m of n₀ = ⌊n/m⌋ rows, m = max(1, ⌊½·log₂(2n/log₂n)⌋ - 1), each with
    the step γ_k = R_{k-1}/√(10·n₀) and half the radius of the one before; θ moves by
    -γ_k·∂Q̂_t(θ), ∂Q̂_t(θ) = β²·π̂_t·θ - (p_t - θ)₊, within [0, 1/(1+β²)] and R_{k-1} of
    the start of the stage; rows are decided by the average θ̄ of the stage, which is the
    start of the next. The rows left over after m·n₀, and those beyond n, run in the
    last stage.

    For metrics outside of the F family (ours, not the paper's) the gradient is
    (π̂ + ρ̂)·(θ - L), L the level at the soft counts so far.

    Parameters
    ----------
    n : int, optional
        Length of the stream. Without it the algorithm is run for 64, 128, 256, ...
        rows in turn, each run from the threshold that the one before ended with.
    start : float, default=0.0
        θ⁽⁰⁾; the paper prints 0.

    Examples
    --------
    >>> from argmetric.stream import FOFORule
    >>> rule = FOFORule(n=1000)
    >>> rule.run(rule.init_state("f1"), [0.2, 0.4], [0, 1]).labels
    array([1, 1])
    """

    n: int | None = None
    start: float = 0.0
    name: ClassVar[str] = "fofo"

    def __post_init__(self) -> None:
        self._read(check_count, "n", low=1)
        start = check_number(self.start, "start", low=0.0, high=1.0)
        object.__setattr__(self, "start", start)

    def _fill(self, state: Floats, form: LevelForm, kernels: Any) -> None:
        state[kernels.RULE] = kernels.FOFO
        state[kernels.HORIZON] = 64 if self.n is None else self.n
        state[kernels.ANYTIME] = self.n is None
        state[kernels.THETA] = min(self.start, form.ceiling)
        kernels.plan(state)


@dataclass(frozen=True)
class NewtonRule(ThresholdRule):
    """Stochastic Newton steps on the paper's Q; no step size, no horizon.

    θ ← θ - (β²·π̂·θ - (p - θ)₊) / (β²·s + c + 1), s positives and c rows above θ so
    far. For other metrics θ is the level at the soft counts (Σ p above θ, c, s, n):
    the same iteration, since for a ratio of counts Newton's step is Dinkelbach's. For
    MCC the soft hits are kept between max(0, c + s - n) and min(c, s), and 20
    pseudo-counts stand behind the level: it is steep where all rows are positive.

    Parameters
    ----------
    forget : float, optional
        Sums fade by 1/e for every `forget` positives.
    """

    forget: float | None = None
    name: ClassVar[str] = "newton"

    def __post_init__(self) -> None:
        self._read(check_number, "forget", low=0.0, strict=True)

    def _fill(self, state: Floats, form: LevelForm, kernels: Any) -> None:
        state[kernels.RULE] = kernels.NEWTON
        if self.forget is not None:
            state[kernels.DECAY] = math.exp(-1.0 / self.forget)


@dataclass(frozen=True)
class HistogramRule(ThresholdRule):
    """An exponential-weights median over the cuts of a small histogram of log-odds.

    With n_b rows and P_b positives in bin b, e_b its nominal probability and
    L = (tp + prior·θ)/(D + prior) the running level (D = β²·t + k):
    S_b = n_b·e_b·(P_b + a)/(n_b·e_b + a),  G_c = Σ_{b ≥ c} (S_b - L·n_b), and the cut
    is the median of exp(κ·G_c - λ·abs(z_c - logit θ)) over the edges z_c; θ is that of
    Newton.
    The bins remember m = max(forget, t/4) positives: at each they fade by 1/(1 + 1/m);
    t counts them since the stream last changed. It did where the labels of the rows
    within 2 of the cut are five standard deviations from what bins of more than eight
    rows let expect; then bins are left with forget/4 positives.
    Where the rows between the cut and logit θ hold Δ positives more than expected, with
    variance V, the cut goes (1 - forget/m)·min(1, V/Δ²) of the way back to logit θ:
    with a long memory, a calibrated model keeps θ.
    The cut is computed anew every min(256, 1 + n/32) rows, n those so far.

    Parameters
    ----------
    bins : int, default=128
        Bins from -8 to 8 in log-odds; four numbers each.
    kappa : float, default=0.5
        Inverse temperature of the median (noted κ above).
    shrink : float, default=1.0
        Strength of the pull of the bins towards the model's own probabilities.
    lam : float, default=2.0
        Pull of the cut towards Newton's threshold (noted λ above).
    prior : float, default=40.0
        Pseudo-counts behind the level.
    forget : float or None, default=500.0
        The bins remember at least so many positives; None: all of them.
    grow : bool, default=True
        Whether the memory grows while the stream does not change, by which the cut
        converges; False: it holds `forget` positives always.
    window : int, optional
        Bins of the last `window` rows alone, in place of `forget`.
    recent : bool, default=False
        Whether the counts behind the level fade too: for the score of late rather than
        of the whole stream. Needs `forget`.

    Examples
    --------
    >>> from argmetric.stream import HistogramRule
    >>> rule = HistogramRule()
    >>> state = rule.init_state("f1")
    >>> run = rule.run(state, [0.3, 0.1, 0.7, 0.2], [1, 0, 1, 0])
    >>> run.labels
    array([1, 0, 1, 0])
    """

    bins: int = 128
    kappa: float = 0.5
    shrink: float = 1.0
    lam: float = 2.0
    prior: float = 40.0
    forget: float | None = 500.0
    grow: bool = True
    window: int | None = None
    recent: bool = False
    name: ClassVar[str] = "histogram"

    def __post_init__(self) -> None:
        for name in ("bins", "kappa", "shrink", "lam", "prior"):
            if getattr(self, name) is None:
                raise TypeError(f"{name} must be a number, not None")
        self._read(check_count, "bins", low=2, high=LONGEST)
        self._read(check_number, "kappa", low=0.0, strict=True)
        self._read(check_number, "shrink", "lam", "prior", low=0.0)
        self._read(check_flag, "grow", "recent")
        self._read(check_number, "forget", low=0.0, strict=True)
        self._read(check_count, "window", low=1, high=LONGEST)
        if self.forget is not None and self.window is not None:
            raise ValueError("window replaces forgetting: give forget=None with it")
        if self.recent and self.forget is None:
            raise ValueError("recent=True fades the counts by `forget`: give a number")

    def _extra(self) -> int:
        return 4 * self.bins + 2 * (self.window or 0)

    def _fill(self, state: Floats, form: LevelForm, kernels: Any) -> None:
        width = 2.0 * kernels.EDGE / self.bins
        state[kernels.RULE] = kernels.HISTOGRAM
        state[kernels.BINS], state[kernels.KAPPA] = self.bins, self.kappa
        state[kernels.CELLS] = 16
        state[kernels.SHRINK] = 8.0 * self.shrink * width
        state[kernels.LAMBDA], state[kernels.MASS] = self.lam, self.prior
        state[kernels.WINDOW] = self.window or 0
        if self.forget is not None:
            state[kernels.FORGET] = self.forget
            state[kernels.GROW] = 0.25 if self.grow else 0.0
            if self.recent:
                state[kernels.RECENT] = math.exp(-1.0 / self.forget)
        centres = (np.arange(self.bins) + 0.5) * width - kernels.EDGE
        first = kernels.HEADER + 2 * self.bins
        state[first : first + self.bins] = expit(centres)
        kernels.recompute(state, rare_rule(state))


_RULES: dict[str, type[ThresholdRule]] = {
    rule.name: rule
    for rule in (FixedRule, OFORule, FOFORule, NewtonRule, HistogramRule)
}


def get_rule(rule: RuleName | ThresholdRule | dict[str, Any]) -> ThresholdRule:
    """The rule of a name, of a saved dict, or the rule itself.

    Examples
    --------
    >>> from argmetric.stream import get_rule
    >>> get_rule("newton")
    NewtonRule(forget=None)
    """
    if isinstance(rule, ThresholdRule):
        return rule
    if isinstance(rule, dict):
        options = {key: value for key, value in rule.items() if key != "rule"}
        if "prior" in options and isinstance(options["prior"], list):
            options["prior"] = tuple(options["prior"])
        return type(get_rule(rule.get("rule")))(**options)  # type: ignore[arg-type]
    if not isinstance(rule, str) or rule not in _RULES:
        words = ", ".join(map(repr, _RULES))
        raise ValueError(f"rule must be one of {words} or a rule, not {shown(rule)}")
    return _RULES[rule]()


def undecided(rule: RuleName | ThresholdRule, metric: MetricLike) -> bool:
    """What a rule that has seen nothing says of a row of probability ½."""
    found = get_rule(rule)
    return bool(found.decide(found.init_state(metric), [0.5])[0])
