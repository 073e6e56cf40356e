"""The options of `Searn`, refused by name where they make no sense."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from argmetric._input.arguments import check_choice, check_count, shown, to_float
from argmetric.search._searn._costs import COSTS
from argmetric.search._searn._learners import KINDS
from argmetric.search._searn._task import check_is_task

_LEAST = {
    "iterations": 1,
    "beam": 1,
    "patience": 1,
    "n_rollouts": 1,
    "search_width": 1,
    "cross_validation": 2,
    "random_state": 0,
}
_MOST = {"iterations": 100_000, "n_rollouts": 100_000}
_CHOICES = {
    "costs": COSTS,
    "prediction": ("draw", "mean"),
    "beam_scores": ("log", "raw"),
}


def check_options(options: Mapping[str, Any]) -> None:
    """Check all arguments of the constructor."""
    check_is_task(options["task"])
    _check_learner(options["learner"])
    for name, choices in _CHOICES.items():
        check_choice(options[name], name, choices)
    beta = options["beta"]
    if isinstance(beta, str):
        check_choice(beta, "beta", ("search",))
    elif not isinstance(beta, Real) or not 0 < to_float(beta) <= 1:
        raise ValueError(f"beta must be above 0 and at most 1, not {shown(beta)}")
    if options["iterations"] is None and beta in ("search", 1):
        raise ValueError("iterations=None needs a fixed beta below 1")
    for name, least in _LEAST.items():
        value = options[name]
        if value is None and name in ("iterations", "cross_validation"):
            continue
        if not isinstance(value, Integral) or value < least:
            raise ValueError(
                f"{name} must be an integer of at least {least}, not {shown(value)}"
            )
        check_count(value, name, high=_MOST.get(name, 2**63 - 1))


def _check_learner(learner: Any) -> None:
    if isinstance(learner, str):
        check_choice(learner, "learner", KINDS)
    elif not hasattr(learner, "fit"):
        raise TypeError("learner must have a method fit(decisions, costs, rng)")
    elif hasattr(learner, "predict"):
        name = type(learner).__name__
        raise TypeError(
            f"{name} does not learn from costs: pass AllPairs({name}(...)) or "
            f"OneAgainstAll({name}(...))"
        )
