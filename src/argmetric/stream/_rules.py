"""Threshold rules over a stream of probabilities, in constant memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Literal

import numpy as np

from argmetric._ground.arguments import (
    check_count,
    check_flag,
    check_number,
    is_sparse,
    shown,
)
from argmetric._ground.odds import expit
from argmetric._ground.types import Floats
from argmetric.metrics import MetricLike
from argmetric.stream._history import LONGEST
from argmetric.stream._rule_base import LevelForm, ThresholdRule, rare_rule

RuleName = Literal["histogram", "newton", "ofo", "fofo", "sfo", "fixed"]


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

    def _fill(self, state: Floats, form: LevelForm, kernels: ModuleType) -> None:
        state[kernels.RULE] = kernels.FIXED
        state[kernels.THETA] = self.threshold


@dataclass(frozen=True)
class OFORule(ThresholdRule):
    """Threshold from the counts so far: for F1, half the running F (Busa-Fekete 2015).

    θ = (tp + a) / (k + t + b) for F1. The published rule, `prior=(0, 0)`, starts at 0
    and is a weak baseline: an unlucky start keeps it near 0 for long.

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
            raise ValueError("pass forget or window, not both")

    def _extra(self) -> int:
        return 2 * (self.window or 0)

    def _fill(self, state: Floats, form: LevelForm, kernels: ModuleType) -> None:
        """Start at θ = a/(b·scale); scale is (1 + β²)/2 for F-measures, else 1."""
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

    def _fill(self, state: Floats, form: LevelForm, kernels: ModuleType) -> None:
        """Write the parameters of the rule into its state."""
        state[kernels.RULE] = {"fofo": kernels.FOFO, "sfo": kernels.SFO}[self.name]
        state[kernels.THETA] = min(self.start, form.ceiling)
        state[kernels.HORIZON] = 64 if self.n is None else self.n
        state[kernels.ANYTIME] = self.n is None
        state[kernels.RADIUS] = form.ceiling
        kernels.plan(state)


@dataclass(frozen=True)
class SFORule(FOFORule):
    """Stochastic F-measure optimisation (Liu et al. 2018), Algorithm 2: one stage.

    θ moves by -γ·∂Q̂_t(θ), ∂Q̂_t(θ) = β²·π̂_t·θ - (p_t - θ)₊, with the one step
    γ = R/√(10·n) of Theorem 2, within [0, 1/(1+β²)] and R of the start; rows are
    decided by the average θ̄ of all thresholds so far. `FOFORule` runs several such
    stages and halves R after each.

    Parameters
    ----------
    n : int, optional
        Length of the stream, noted T in the paper. Without it the algorithm is run for
        64, 128, 256, ... rows in turn, each run from the threshold that the one before
        ended with.
    start : float, default=0.0
        θ₁.
    radius : float, optional
        R, at least the distance of the best threshold from the start; by default the
        largest that it can be, 1/(1+β²).

    Examples
    --------
    >>> from argmetric.stream import SFORule
    >>> rule = SFORule(n=1000, start=0.3, radius=0.2)
    >>> rule.run(rule.init_state("f1"), [0.2, 0.4], [0, 1]).labels
    array([0, 1])
    """

    radius: float | None = None
    name: ClassVar[str] = "sfo"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._read(check_number, "radius", low=0.0, strict=True)

    def _fill(self, state: Floats, form: LevelForm, kernels: ModuleType) -> None:
        super()._fill(state, form, kernels)
        if self.radius is not None:
            state[kernels.RADIUS] = self.radius
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

    Examples
    --------
    >>> from argmetric.stream import NewtonRule
    >>> rule = NewtonRule()
    >>> rule.run(rule.init_state("f1"), [0.2, 0.4], [0, 1]).labels
    array([0, 1])
    """

    forget: float | None = None
    name: ClassVar[str] = "newton"

    def __post_init__(self) -> None:
        self._read(check_number, "forget", low=0.0, strict=True)

    def _fill(self, state: Floats, form: LevelForm, kernels: ModuleType) -> None:
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
    The bins remember m = max(forget, t/4) positives: each positive fades them by
    1/(1 + 1/m), and t counts the positives since the last change of the stream. A
    change is assumed if the labels within 2 of the cut differ by five standard
    deviations from the rates of bins with more than eight rows; the bins then keep
    forget/4 positives.
    If the rows between the cut and logit θ have Δ positives more than expected, with
    variance V, the cut goes (1 - forget/m)·min(1, V/Δ²) of the way back to logit θ:
    with a long memory, a calibrated model keeps θ.
    The cut is recomputed every min(256, 1 + n/32) rows, where n counts the rows so far.

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
        Smallest number of positives that the bins remember; None: all of them.
    grow : bool, default=True
        Whether the memory grows while the stream does not change, so that the cut
        converges; False: it always holds `forget` positives.
    window : int, optional
        Bins of the last `window` rows only, instead of `forget`.
    recent : bool, default=False
        Whether the counts behind the level fade too, to optimise the recent score
        instead of that of the whole stream. Needs `forget`.

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
            raise ValueError("window replaces forgetting: pass forget=None with it")
        if self.recent and self.forget is None:
            raise ValueError("recent=True fades the counts by forget: pass a number")

    def _extra(self) -> int:
        return 4 * self.bins + 2 * (self.window or 0)

    def _fill(self, state: Floats, form: LevelForm, kernels: ModuleType) -> None:
        """Write the parameters of the rule, and empty bins, into its state."""
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
    for rule in (FixedRule, OFORule, FOFORule, SFORule, NewtonRule, HistogramRule)
}


def get_rule(rule: RuleName | ThresholdRule | dict[str, Any]) -> ThresholdRule:
    """Return the rule of a name or of a saved dict, or the rule itself.

    Parameters
    ----------
    rule : str, dict or ThresholdRule
        A name such as "histogram", or what `to_dict` returned.

    Returns
    -------
    ThresholdRule
        The rule.

    Examples
    --------
    >>> from argmetric.stream import get_rule
    >>> get_rule("newton")
    NewtonRule(forget=None)
    """
    if isinstance(rule, ThresholdRule):
        return rule
    if isinstance(rule, dict) and not is_sparse(rule):
        options = {key: value for key, value in rule.items() if key != "rule"}
        if "prior" in options and isinstance(options["prior"], list):
            options["prior"] = tuple(options["prior"])
        return type(get_rule(rule.get("rule")))(**options)  # type: ignore[arg-type]
    if not isinstance(rule, str) or rule not in _RULES:
        words = ", ".join(map(repr, _RULES))
        raise ValueError(f"rule must be one of {words} or a rule, not {shown(rule)}")
    return _RULES[rule]()


def first_decision(rule: Any, metric: MetricLike) -> bool:
    """Return the decision of an untrained rule for a row with probability ½.

    It is False for a rule for several classes, as none is known yet.
    """
    from argmetric.stream._omma import OMMARule

    if isinstance(rule, OMMARule):
        return False
    fresh = get_rule(rule)
    return bool(fresh.decide(fresh.init_state(metric), [0.5])[0])
