"""Picture of a calibrator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._display import new_axes

if TYPE_CHECKING:
    from argmetric._calibrate._base import Calibrator


def plot_map(calibrator: Calibrator, ax: Any) -> Any:
    """The map over the diagonal."""
    ax = new_axes(ax, (4.4, 4.2))
    p = np.linspace(0.0, 1.0, 1001)
    ax.plot([0, 1], [0, 1], color="C7", linestyle=":", label="unchanged")
    ax.plot(p, calibrator.apply(p), color="C0", label=calibrator.method)
    ax.set(
        xlabel="p as given",
        ylabel="p calibrated",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
    )
    ax.legend()
    return ax
