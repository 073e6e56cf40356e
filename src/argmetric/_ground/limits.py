"""Limits on the number of predicted positives."""

from __future__ import annotations

from typing import Any, NamedTuple

from argmetric._ground.arguments import check_count, check_fraction, count_or_share

UNLIMITED = 2**63 - 1


class Limits(NamedTuple):
    """Limits on the number of predicted positives of a segment."""

    least: int
    most: int | str  # a count, or a share of the segment such as "5%"
    min_precision: float
    min_recall: float

    def most_of(self, n: object) -> Any:
        """Return the largest allowed count of segments of n rows."""
        if isinstance(self.most, int):
            return self.most
        return count_or_share(self.most, "max_positives", n)

    @property
    def none(self) -> bool:
        """Whether every number of positives is allowed."""
        return self.no_floor and self.most == UNLIMITED

    @property
    def no_floor(self) -> bool:
        return (self.least, self.min_precision, self.min_recall) == (0, 0.0, 0.0)


def check_limits(
    least: int,
    most: int | str | None,
    min_precision: float | None,
    min_recall: float | None,
) -> Limits:
    none = most is None and min_precision is None and min_recall is None
    if none and type(least) is int and least == 0:
        return Limits(0, UNLIMITED, 0.0, 0.0)
    least = check_count(least, "min_positives")
    if most is not None:
        count = count_or_share(most, "max_positives", 0)  # refuses what is no limit
        most = most if isinstance(most, str) else count
    if isinstance(most, int) and most < least:
        raise ValueError(f"max_positives={most} is below min_positives={least}")
    return Limits(
        least,
        UNLIMITED if most is None else most,
        check_fraction(min_precision, "min_precision"),
        check_fraction(min_recall, "min_recall"),
    )


def refuse_more_than_all(limits: Limits, n: int, where: str = "") -> None:
    if limits.least > n:
        raise ValueError(
            f"min_positives={limits.least} is more than the {n} items{where}"
        )
    most = limits.most_of(n)
    if most < limits.least:
        raise ValueError(
            f"max_positives={limits.most!r} of {n} items is {most}{where}, below "
            f"min_positives={limits.least}"
        )
