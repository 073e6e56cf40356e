"""Arguments of `tune`, read and checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from argmetric._ground.arguments import check_count, check_share, refuse_given, shown
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
from argmetric._verbs.tune._scan import RuleLimits
from argmetric.metrics import Metric, MetricLike, get_metric

if TYPE_CHECKING:
    from argmetric._calibrate.calibrator import Calibrator

MOST_SAMPLES = 1_000_000  # a bootstrap of more is a slip of the pen
LOGITS = "looks like logits: make probabilities of them, 1/(1+exp(-x))"


def listed_metrics(
    metrics: Sequence[MetricLike], zero_division: float | None
) -> list[Metric]:
    """Return several metrics by name."""
    if not metrics:
        raise ValueError("metric is an empty list: name at least one metric")
    own = [get_metric(one) for one in metrics]
    found = [one.with_zero_division(zero_division) for one in own]
    if zero_division is not None and not any(
        one._obeys(float(zero_division)) for one in own
    ):
        get_metric(own[0], zero_division=zero_division)  # refuses what changes nothing
    names = [one.name for one in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"two metrics are called {twice[0]!r}, and rules are found by name: name a "
            "function of your own with CustomMetric(function, name=...)"
        )
    return found


def check_p(p: object, *, logits: bool = True) -> Floats:
    """Return finite scores of one or two dimensions; probabilities for a calibrator."""
    scores = read_scores(p, "p", logits=logits, hint=LOGITS)
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
    return scores


def mapped_scores(calibrator: Calibrator, scores: Floats) -> Floats:
    """Return calibrated scores, checked."""
    mapped = to_floats(calibrator.apply(scores), "calibrated p")
    if mapped.shape != scores.shape:
        raise ValueError(
            f"the calibrator gives shape {mapped.shape} for p of shape {scores.shape}"
        )
    return check_scores(mapped, "calibrated p", logits=False)


def column_of_labels(y: object, n: int) -> AnyArray:
    """Return one label per row."""
    if is_sparse(y):
        raise TypeError("y must be dense: pass y.toarray()")
    array = label_array(y)
    if array.ndim > 1 and array.shape[1] > 1:
        raise ValueError(
            f"y must hold one label for each row of p, not be of shape {array.shape}"
        )
    check_length(one_per_row(array, "y"), "y", n)
    return array


def check_row_weight(sample_weight: object, n: int) -> Floats | None:
    """Return one weight per row; refuse weights that are all 0."""
    weight = check_weight(sample_weight, (n,))
    if weight is not None and not weight.any():
        raise ValueError("sample_weight is 0 on every row")
    return weight


def check_group(groups: object, n: int, average: object) -> Group | None:
    """Return the coded groups and whether their mean counts; None without groups."""
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
    settings: Settings, groups: object, pos_label: object, scores: Floats
) -> Floats:
    """Return the checked column p of a call without labels; refuse floors."""
    if scores.ndim != 1:
        raise ValueError(
            "without labels (y is None) p must be one column of probabilities, such as "
            "p[:, 1]"
        )
    scores = check_scores(scores, "p", logits=False, hint=LOGITS)
    if settings.limits.named_limits:
        names = [*settings.limits.named_limits]
        words = ("needs", "it") if len(names) == 1 else ("need", "them")
        raise ValueError(
            "{} {} labels in tune(), and y is None; decide() obeys {}".format(
                ", ".join(names), *words
            )
        )
    options = {"groups": groups, "pos_label": pos_label}
    refuse_given(options, "needs labels in tune(); y is None")
    return scores


def check_folds(cv: object) -> int:
    count = 0 if cv is None else check_count(cv, "cv")
    if count == 1:
        raise ValueError("cv must be at least 2 folds, or None, not 1")
    return count


def seed_of(random_state: object) -> np.random.SeedSequence:
    """Return a seed: fixed for a number, fresh for None, drawn from a generator."""
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(2**31)))
    return np.random.SeedSequence(check_count(random_state, "random_state"))


def check_settings(
    limits: RuleLimits,
    n_bootstrap: int,
    coverage: float,
    *,
    cv: int | None,
    random_state: object,
) -> Settings:
    """Return the checked options of `tune`."""
    return Settings(
        limits,
        check_count(n_bootstrap, "n_bootstrap", high=MOST_SAMPLES),
        check_share(coverage, "coverage"),
        check_folds(cv),
        seed_of(random_state),
    )
