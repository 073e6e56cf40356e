"""Pictures of a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._display import new_axes

if TYPE_CHECKING:
    from argmetric._decide._result import Decision


def plot_decision(decision: Decision, ax: Any) -> Any:
    """Expected metric against k; with segments, a histogram over them."""
    ax = new_axes(ax)
    name = decision.metric.name
    if decision.curve is None:
        assert decision.group_expected is not None
        values = decision.group_expected[np.isfinite(decision.group_expected)]
        ax.hist(values, bins=40, color="C0", alpha=0.8)
        ax.axvline(decision.expected, color="C3", label=f"mean {decision.expected:.3f}")
        ax.set(xlabel=f"expected {name} of a group", ylabel="groups")
        ax.legend()
        return ax
    k = np.arange(decision.curve.size)
    ax.plot(k, decision.curve, color="C0", label=f"expected {name} of the top k")
    ax.plot(
        decision.n_positives,
        decision.expected,
        "o",
        color="C3",
        label=f"decision: k = {decision.n_positives:,}, {decision.expected:.3f}",
    )
    half = decision.cut_half
    ax.plot(
        half.n_positives,
        half.expected,
        "s",
        color="C7",
        label=f"cut at 0.5: k = {half.n_positives:,}, {half.expected:.3f}",
    )
    ax.set(xlabel="k, items predicted positive", ylabel=f"expected {name}")
    ax.legend()
    return ax
