"""Limits of a rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NoReturn

import numpy as np

from argmetric._expected import TIE
from argmetric._ground.arguments import check_fraction, check_number
from argmetric._ground.types import Booleans, Floats
from argmetric._verbs.tune._scan import Cuts

Numbers = Floats | float


@dataclass(frozen=True)
class RuleLimits:
    """`max_positives` is a count where it is an int, a share where it is a float."""

    min_precision: float | None = None
    min_recall: float | None = None
    max_positives: int | float | None = None
    min_specificity: float | None = None
    min_npv: float | None = None

    @property
    def given(self) -> dict[str, float]:
        """The limits that were set."""
        return {name: x for name, x in vars(self).items() if x is not None}

    def of_share(self, n: float) -> RuleLimits:
        """Limits for any number of rows: a count among n becomes a share."""
        most = self.max_positives
        return replace(self, max_positives=most / n) if isinstance(most, int) else self

    def allowed(self, tp: Floats, k: Floats, t: Numbers, n: Numbers) -> Booleans | None:
        """Which cells obey; an empty prediction passes the floor under precision."""
        if not self.given:
            return None
        result = np.ones(np.shape(k), dtype=bool)
        if self.min_precision is not None:
            result &= tp >= self.min_precision * k * (1.0 - TIE)
        if self.min_recall is not None:
            result &= tp >= self.min_recall * t * (1.0 - TIE)
        tn = n - t - (k - tp)
        if self.min_specificity is not None:
            result &= tn >= self.min_specificity * (n - t) * (1.0 - TIE)
        if self.min_npv is not None:
            result &= tn >= self.min_npv * (n - k) * (1.0 - TIE)
        return result & self.within_budget(k, n)

    def within_budget(self, k: Floats, n: Numbers) -> Booleans:
        most = self.max_positives
        if most is None:
            return np.ones(np.shape(k), dtype=bool)
        return np.asarray(
            k <= (most if isinstance(most, int) else most * n) * (1 + TIE)
        )

    def allowed_cuts(self, cuts: Cuts) -> Booleans | None:
        """Which cuts obey; an error that says what can be had, where none does."""
        allowed = self.allowed(cuts.tp, cuts.k, cuts.t, cuts.n)
        if allowed is not None and not allowed.any():
            self._refuse(cuts)
        return allowed

    def _refuse(self, cuts: Cuts) -> NoReturn:
        """Say of each floor the most that the other limits leave."""
        tp, k, t, n = cuts.tp, cuts.k, cuts.t, cuts.n
        tn = n - t - (k - tp)
        shares: dict[str, tuple[Floats, Any]] = {
            "min_recall": (tp, t),
            "min_precision": (tp, k),
            "min_specificity": (tn, n - t),
            "min_npv": (tn, n - k),
        }
        text = " and ".join(f"{name}={x:g}" for name, x in self.given.items())
        parts = []
        for name, (hits, of) in shares.items():
            without = replace(self, **{name: None})
            others = without.allowed(tp, k, t, n)
            if name not in self.given or others is None or not others.any():
                continue
            share = hits / np.where(np.greater(of, 0.0), of, 1.0)
            best = share[others].max()
            rest = " and ".join(f"{one}={x:g}" for one, x in without.given.items())
            kind = name.removeprefix("min_")
            parts.append(f"the best {kind} that {rest} can have is {best:.4g}")
        raise ValueError(f"no cut meets {text}: {', '.join(parts)}")


def check_tune_limits(
    min_precision: float | None,
    min_recall: float | None,
    max_positives: Any,
    **others: float | None,
) -> RuleLimits:
    floors = {"min_precision": min_precision, "min_recall": min_recall, **others}
    given = {name: x for name, x in floors.items() if x is not None}
    for name, value in given.items():
        check_fraction(value, name)
    most: int | float | None = None
    if max_positives is not None:
        most = check_number(max_positives, "max_positives")
        if isinstance(max_positives, Integral):  # 1 is a row, 1.0 all of them
            most = int(max_positives)
    if most is not None:
        if most < 0 or (most > 1 and most != int(most)):
            raise ValueError(
                "max_positives must be a whole number of rows, or a share from 0 to 1, "
                f"not {max_positives!r}"
            )
        if most > 1:
            most = int(most)
    parts = {name: float(value) for name, value in given.items()}
    return RuleLimits(max_positives=most, **parts)
