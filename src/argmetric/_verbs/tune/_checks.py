"""Arguments of `tune`, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_count, check_number, shown
from argmetric._ground.groups import code_groups
from argmetric._ground.labels import label_array, one_per_row
from argmetric._ground.types import AnyArray, Floats
from argmetric._ground.validation import (
    check_choice,
    check_length,
    check_scores,
    check_weight,
    is_sparse,
    place,
    read_scores,
    to_floats,
)
from argmetric._verbs.tune._binary import Group, Settings
from argmetric._verbs.tune._files import calibrated
from argmetric.metrics import Metric, MetricLike, Utility, get_metric

LOGITS = "looks like logits: make probabilities of them, 1/(1+exp(-x))"
Cost = Mapping[str, float] | tuple[float, float]


def one_metric(
    metric: MetricLike | None, cost: Cost | None, zero_division: float | None
) -> Metric:
    if cost is None:
        chosen = "f1" if metric is None else metric
        return get_metric(chosen, zero_division=zero_division)
    if metric is not None:
        raise ValueError("cost stands in place of a metric: pass one of them")
    names = ("fp", "fn", "tp", "tn")
    if isinstance(cost, Mapping):
        odd = [key for key in cost if not (isinstance(key, str) and key in names)]
        if odd or len(cost) == 0:
            known_keys = ", ".join(names)
            raise ValueError(f"cost has keys among {known_keys}, not {shown(odd)}")
        known = dict(cost)
    else:
        if np.array(cost, dtype=object).shape != (2,):
            raise ValueError(
                f"cost must be a dict, or the pair (fp, fn), not {shown(cost)}; a "
                "matrix of the costs of classes goes with argmetric.classes.tune"
            )
        known = dict(zip(names, cost, strict=False))
    costs = {name: check_number(x, f"the {name} of cost") for name, x in known.items()}
    return Utility(**{name: 0.0 - costs.get(name, 0.0) for name in names})


def refuse_same_names(metrics: list[Metric]) -> None:
    """The rules of several metrics are found by name."""
    names = [one.name for one in metrics]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"two metrics are called {twice[0]!r}, and rules are found by name: name a "
            "function of your own with CustomMetric(function, name=...)"
        )


def check_p(p: Any, calibrator: Any) -> Floats:
    """Finite scores in one or two dimensions, calibrated where that is asked for."""
    scores = read_scores(p, "p", logits=calibrator is None, hint=LOGITS)
    if scores.ndim not in (1, 2):
        raise ValueError(f"p must have one or two dimensions, not {scores.ndim}")
    if scores.size == 0:
        raise ValueError("p is empty: there is nothing to tune on")
    if not (math.isfinite(scores.max()) and math.isfinite(scores.min())):
        index = int(np.flatnonzero(np.isinf(scores.ravel()))[0])
        where = place(index, scores.shape)
        raise ValueError(
            f"p is {scores.ravel()[index]:g} at {where}: scores must be finite, clip "
            "them first"
        )
    if calibrator is not None:
        shape = scores.shape
        scores = to_floats(calibrated(calibrator, scores), "calibrated p")
        if scores.shape != shape:
            raise ValueError(
                f"the calibrator gives shape {scores.shape} for p of shape {shape}"
            )
        scores = check_scores(scores, "calibrated p", logits=False)
    return scores


def column_of_labels(y: Any, n: int) -> AnyArray:
    """One label per row."""
    if is_sparse(y):
        raise TypeError("y must be dense: pass y.toarray()")
    array = one_per_row(label_array(y), "y")
    check_length(array, "y", n)
    return array


def check_row_weight(sample_weight: Any, n: int) -> Floats | None:
    """One weight per row, not all of them 0."""
    weight = check_weight(sample_weight, (n,))
    if weight is not None and not weight.any():
        raise ValueError("sample_weight is 0 on every row")
    return weight


def check_group(groups: Any, n: int, average: Any) -> Group | None:
    if groups is None:
        if average is not None:
            raise ValueError(f"average={shown(average)} needs groups, or p as a matrix")
        return None
    check_choice(
        "groups" if average is None else average, "average", ("groups", "pooled")
    )
    coded = code_groups(groups, n)
    return Group(coded.codes, coded.count, average != "pooled")


def population_scores(
    settings: Settings, groups: Any, pos_label: Any, scores: Floats
) -> Floats:
    """Without labels there is one column of probabilities, and no floors."""
    if scores.ndim != 1:
        raise ValueError(
            "without labels (y is None) p must be one column of probabilities, such as "
            "p[:, 1]"
        )
    scores = check_scores(scores, "p", logits=False, hint=LOGITS)
    if settings.limits.given:
        names = ", ".join(settings.limits.given)
        raise ValueError(
            f"{names} need labels in tune(), and y is None; decide() obeys them"
        )
    if groups is not None or pos_label is not None:
        name = "groups" if groups is not None else "pos_label"
        raise ValueError(f"{name} needs labels in tune(); y is None")
    if settings.choice != "best":
        raise ValueError("choice='one_se' needs labels; y is None")
    return scores


def check_folds(cv: Any) -> int:
    count = 0 if cv is None else check_count(cv, "cv")
    if count == 1:
        raise ValueError("cv must be at least 2 folds, or None, not 1")
    return count


def seed_of(random_state: Any) -> np.random.SeedSequence:
    """A fixed seed for a number; a fresh one for None; one drawn from a generator."""
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**31)))
    return np.random.SeedSequence(check_count(random_state, "random_state"))
