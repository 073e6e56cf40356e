"""Figures 1 to 4 of the paper: online F1 against rows and against time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

COLORS = ("tab:gray", "tab:blue", "tab:red", "tab:green", "tab:orange")
OUR_COLORS = ("black", "tab:purple")


def draw(
    results: list[Any],
    paper: tuple[str, ...],
    ours: tuple[str, ...],
    methods: tuple[str, ...],
    folder: Path,
) -> None:
    """figure1.png to figure4.png: covtype and the rest, by rows and by seconds."""
    by_share = sorted(results, key=lambda found: -float(found.task.y.mean()))
    covtype = [found for found in by_share if found.task.family == "covtype"]
    rest = [found for found in by_share if found.task.family != "covtype"]
    for number, panels, seconds in (
        (1, covtype, False),
        (2, rest, False),
        (3, covtype, True),
        (4, rest, True),
    ):
        if panels:
            _figure(
                panels, paper, ours, methods, seconds, folder / f"figure{number}.png"
            )


def _figure(
    panels: list[Any],
    paper: tuple[str, ...],
    ours: tuple[str, ...],
    methods: tuple[str, ...],
    seconds: bool,
    path: Path,
) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    fig, axes = plt.subplots(
        rows,
        columns,
        figsize=(4 * columns, 3 * rows),
        layout="constrained",
        squeeze=False,
    )
    for ax in axes.flat[len(panels) :]:
        ax.axis("off")
    styles = [*zip(paper, COLORS, strict=True), *zip(ours, OUR_COLORS, strict=True)]
    for ax, found in zip(axes.flat, panels, strict=False):
        curves = found.curves.mean(axis=0)
        for name, color in styles:
            i = methods.index(name)
            x = found.ticks * found.seconds[i] if seconds else found.ticks
            style = "-" if name in paper else "--"
            ax.plot(x, curves[i], style, color=color, label=name, linewidth=1.2)
        ax.set_title(
            f"{found.task.name} (p = {100 * found.task.y.mean():.2f} %)",
            fontsize="medium",
        )
        shown = curves[[methods.index(name) for name, _ in styles]]
        ax.set_ylim(max(0.0, float(np.nanmin(shown)) - 2.0), None)
        ax.set_xlabel("CPU seconds" if seconds else "rows")
        if seconds:
            ax.set_xscale("log")
        else:
            ax.locator_params(axis="x", nbins=5)  # long numbers would touch
    axes[0, 0].set_ylabel("online F1")
    axes[0, 0].legend(fontsize="small")
    fig.savefig(path, dpi=110)
    plt.close(fig)
