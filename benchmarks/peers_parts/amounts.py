"""empulse: decisions where an error costs something else in each row."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import argmetric as am
from peers_parts.cases import models
from peers_parts.rows import Row

THEIRS = 'CSThresholdClassifier(CalibratedClassifierCV(model, "sigmoid"))'
ISOTONIC = 'CSThresholdClassifier(CalibratedClassifierCV(model, "isotonic"))'
OURS = "decide(p, Utility(tp, fp, fn, tn), reference=(y, p out of fold))"
NEW, LABELLED = 3_000, (500, 2_000)
CELLS = "tp", "fp", "fn", "tn"
Costs = dict[str, np.ndarray]


def run(fast: bool) -> list[Row]:
    """Both get the same rows of the sets that empulse ships, and the same model.

    What is saved is in per cent of the cost of the better of all and none. Its
    `calibrator` is not fitted where costs come with `predict` (0.13.1): the model is
    calibrated before, as its documentation says that it is.
    """
    from empulse.models import CSThresholdClassifier
    from sklearn.base import clone
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import cross_val_predict

    saved = {
        (n, name): Row(f"costs saved, {n:,} labels", "%", "higher", name, OURS)
        for n in LABELLED
        for name in (THEIRS, ISOTONIC)
    }
    for name, X, y, costs in _sets(fast):
        for n, seed in product(LABELLED[: 1 if fast else 2], range(1 if fast else 3)):
            order = np.random.default_rng([n, seed]).permutation(y.size)
            fit, new = order[:n], order[n : n + NEW]
            cost = {key: one[new] for key, one in costs.items()}
            utility = am.Utility(**{key: -one for key, one in cost.items()})
            for kind, model in _models().items():
                fitted = clone(model).fit(X[fit], y[fit])
                p = cross_val_predict(
                    clone(model), X[fit], y[fit], method="predict_proba"
                )[:, 1]
                q = fitted.predict_proba(X[new])[:, 1]
                ours = am.decide(q, utility, reference=(y[fit], p)).labels
                case = f"{name}, {kind}, seed {seed}"
                for peer, how in ((THEIRS, "sigmoid"), (ISOTONIC, "isotonic")):
                    inner = CalibratedClassifierCV(
                        clone(model), method=how, ensemble=False
                    )
                    outer = CSThresholdClassifier(inner, calibrator=None)
                    named = {f"{key}_cost": one for key, one in cost.items()}
                    labels = outer.fit(X[fit], y[fit]).predict(X[new], **named)
                    pair = (_saved(y[new], one, cost) for one in (labels, ours))
                    saved[n, peer].add(case, *pair, unit=name)
    return [row for row in saved.values() if row.cases]


def _models() -> dict[str, Any]:
    return {kind: models()[kind] for kind in ("logistic", "boosting", "bayes")}


def _sets(fast: bool) -> list[tuple[str, Any, Any, Costs]]:
    """Features, labels, and costs of tp, fp, fn and tn by row, as empulse has them."""
    import pandas as pd
    from empulse import datasets

    found = []
    for name, load in (
        ("churn", datasets.load_churn_tv_subscriptions),
        ("upsell", datasets.load_upsell_bank_telemarketing),
        ("PAKDD credit", datasets.load_credit_scoring_pakdd),
        ("VUB credit", datasets.load_vub_credit_scoring),
    )[: 1 if fast else None]:
        data = load(backend="pandas")
        X = pd.get_dummies(data.data).astype(float)
        y = np.asarray(data.target).astype(int)
        known = dict(data.instance_costs)
        none = np.zeros(y.size)
        costs = {"tp": none, "tn": none}
        if "balance" in known:  # c = 1, d = 0.25 and r = 0.02463333, its defaults
            fn = np.maximum(1.0, known["balance"] * 0.25 * 0.02463333)
            costs |= {"tp": none + 1.0, "fp": none + 1.0, "fn": fn}
        elif "cl" in known:  # a loss given default of 0.75
            costs |= {"fp": known["fp_cost"], "fn": known["cl"] * 0.75}
        else:
            costs = {key: np.asarray(known[f"{key}_cost"]) for key in CELLS}
        found.append((name, X.to_numpy(), y, costs))
    return found


def _saved(y: np.ndarray, labels: Any, costs: Costs) -> float:
    tp, fp, fn, tn = (costs[key] for key in CELLS)

    def cost(z: np.ndarray) -> float:
        return float(np.where(z, np.where(y, tp, fp), np.where(y, fn, tn)).sum())

    chosen = np.asarray(labels).astype(int) == 1
    best = min(cost(np.ones(y.size, bool)), cost(np.zeros(y.size, bool)))
    return 100.0 * (best - cost(chosen)) / abs(best)
