"""Shares of classes that are known or estimated, and probabilities that have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from argmetric._calibrate.class_maps import (
    SHOWN,
    ClassMap,
    check_class_columns,
    finite_array,
    log_softmax,
)
from argmetric._input.arguments import shown
from argmetric._input.classes import (
    check_class_probabilities,
    check_shares,
    class_names,
)
from argmetric._input.types import Floats
from argmetric._results.display import Lines

ROUNDS = 2000
SETTLED = 1e-10  # change of a share at which rounds end


def at_shares(p: Floats, shares: Floats) -> Floats:
    """Rows proportional to p times a factor per class, such that means are the shares.

    The factors grow where a class is too rare and shrink where it is too frequent,
    round by round.
    """
    if (p.sum(axis=0)[shares > 0.0] == 0.0).any():
        raise ValueError("prior gives a share to a class that has p = 0 in every row")
    factor = np.where(shares > 0.0, 1.0, 0.0)
    for _ in range(ROUNDS):
        moved = p * factor
        total = moved.sum(axis=1, keepdims=True)
        if (total == 0.0).any():
            row = int(np.argmin(total))
            raise ValueError(f"row {row} has probability only in classes of share 0")
        moved /= total
        mean = moved.mean(axis=0)
        if np.abs(mean - shares).max() < SETTLED:
            break
        factor = factor * np.where(shares > 0.0, shares / np.maximum(mean, 1e-300), 0.0)
        factor /= factor.max()
    return np.asarray(moved)


def estimated_shares(p: Floats, reference: Floats) -> Floats:
    """The likeliest shares, if every class still looks as it did in the reference.

    Expectation and maximisation (Saerens et al. 2002): p was right at the shares of the
    reference; each round takes the mean of p at the shares of the round before. A class
    without rows in the reference counts as frequent there as p says.
    """
    shares = p.mean(axis=0)
    safe = np.where(reference > 0.0, reference, np.maximum(shares, 1e-300))
    for _ in range(ROUNDS):
        moved = p * (shares / safe)
        moved /= moved.sum(axis=1, keepdims=True)
        found = moved.mean(axis=0)
        done = np.abs(found - shares).max() < SETTLED
        shares = found
        if done:
            break
    return np.asarray(shares)


@dataclass(frozen=True, repr=False, eq=False)
class ClassPriorShift(ClassMap):
    """Rows proportional to p times π'/π of each class, Bayes' rule for new shares π'.

    Attributes
    ----------
    shares : ndarray
        The share π' of each class that holds now.
    reference_shares : ndarray
        The share π of each class where the probabilities were calibrated.
    classes : tuple or None
        Names of the columns.
    n : int
        Unlabelled rows that the shares were found on; 0 where they were known.
    """

    shares: Floats
    reference_shares: Floats
    classes: tuple[Any, ...] | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "class_prior_shift"
    method: ClassVar[str] = "prior shift"

    def _check(self) -> None:
        for name in ("shares", "reference_shares"):
            value = finite_array(getattr(self, name), name, (np.size(self.shares),))
            object.__setattr__(self, name, value)
        if (self.shares < 0.0).any() or (self.reference_shares <= 0.0).any():
            raise ValueError("shares must be 0 or more, reference shares more than 0")
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))

    def _map(self, x: Floats) -> Floats:
        check_class_columns(x, self.shares.size)
        with np.errstate(divide="ignore"):
            moved = x + np.log(self.shares / self.reference_shares)
        if np.isneginf(moved.max(axis=1)).any():
            row = int(np.argmin(moved.max(axis=1)))
            raise ValueError(f"row {row} has probability only in classes of share 0")
        return log_softmax(moved)

    @property
    def summary(self) -> str:
        found = f", found on {self.n:,} unlabelled rows" if self.n else ""
        return f"a prior shift of {self.shares.size} classes{found}"

    @property
    def formula(self) -> str:
        return f"p' ∝ p · new share / old share, {self.shares.size} classes"

    def _source(self) -> Lines:
        names = range(self.shares.size) if self.classes is None else self.classes
        rows = list(zip(names, self.reference_shares, self.shares, strict=True))
        words = [f"{name} {old:.3g} → {new:.3g}" for name, old, new in rows[:SHOWN]]
        more = ", ..." if len(rows) > SHOWN else ""
        how = f"found on {self.n:,} unlabelled rows" if self.n else "known"
        return [("shares", ", ".join(words) + more), ("new shares", how)]


def adjust_class_prior(
    p: Any, prevalence: Any, reference_prevalence: Any, classes: Any, *, logits: bool
) -> ClassPriorShift:
    """The shift of class probabilities; parameters as for `adjust_prior`."""
    scores = check_class_probabilities(p, logits=logits)
    names = class_names(p, scores.shape[1], classes)
    old = check_shares(reference_prevalence, names, "reference_prevalence")
    if (old == 0.0).any():
        raise ValueError(
            f"reference_prevalence is 0 for the class {shown(names[int(old.argmin())])}"
            ": p cannot have been calibrated on it; give it a small share"
        )
    if prevalence is not None and not isinstance(prevalence, str):
        new = check_shares(prevalence, names, "prevalence")
        return ClassPriorShift(new, old, classes=names)
    if prevalence not in (None, "estimate"):
        raise ValueError(
            'prevalence must be a share for each class, or "estimate", not '
            f"{shown(prevalence)}"
        )
    if scores.shape[0] == 0:
        raise ValueError("p is empty: no prevalence can be found from it")
    found = estimated_shares(np.exp(log_softmax(scores)) if logits else scores, old)
    return ClassPriorShift(found, old, classes=names, n=scores.shape[0])
