"""The paper's figure: mean F1 by the size of the groups, three ways to decide.

Calibrated probabilities of generated groups; labels are drawn from them, and every way
is scored on the labels. The command `python packaging/paper/draw_figure.py` writes
figure.png beside this file, and prints the numbers as JSON.
"""

import json
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import argmetric as am

SIZES = [5, 10, 20, 50, 100, 200, 500]
ROWS = 200_000


def scores(size: int, rng: np.random.Generator) -> dict[str, float]:
    n_groups = ROWS // size
    groups = np.repeat(np.arange(n_groups), size)
    share = np.repeat(rng.normal(-2.2, 1.0, n_groups), size)  # differs between groups
    p = 1 / (1 + np.exp(-share - rng.normal(0, 1.5, groups.size)))
    y = (rng.random(p.size) < p).astype(int)

    def mean(labels: np.ndarray) -> float:
        return am.evaluate(y, labels, "f1", groups=groups, zero_division=1.0).score

    cuts = np.linspace(0.02, 0.98, 49)
    return {
        "cut at 0.5": mean(p >= 0.5),
        "best single threshold, found on these labels": max(mean(p >= t) for t in cuts),
        "argmetric": mean(am.decide(p, "f1", groups=groups, zero_division=1.0).labels),
        "argmetric's forecast": am.decide(
            p, "f1", groups=groups, zero_division=1.0
        ).expected,
    }


def main() -> None:
    rng = np.random.default_rng(0)
    found = [scores(size, rng) for size in SIZES]
    print(json.dumps({"sizes": SIZES, "mean_f1": found}))
    _, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    styles = {"cut at 0.5": ":", "argmetric": "-", "argmetric's forecast": ""}
    for name in found[0]:
        values = [one[name] for one in found]
        forecast = name == "argmetric's forecast"
        axes.plot(
            *(SIZES, values),
            linestyle=styles.get(name, "--") or "none",
            marker="x" if forecast else "o",
            markersize=8 if forecast else 4,
            label=name,
        )
    axes.set_xscale("log")
    axes.set_xticks(SIZES, SIZES)
    axes.minorticks_off()
    axes.set_xlabel("Rows in a group")
    axes.set_ylabel("Mean F1 over groups")
    axes.legend(frameon=False, fontsize=8)
    plt.savefig(Path(__file__).with_name("figure.png"), dpi=200)


if __name__ == "__main__":
    main()
