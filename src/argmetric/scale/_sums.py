"""Sums over labelled rows with the same score, or about the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._calibrate import Counted
from argmetric._input.odds import logit
from argmetric._input.types import Floats, Hashes, Integers
from argmetric.scale._cells import keys_of

BINS = 1 << 12  # to a unit of log-odds
MOST_PARTS = 32  # batches, or files, that wait to become one
FAR = 64.0  # log-odds beyond which bins are as wide as these are large
_MIDDLE = 1 << 40


@dataclass(frozen=True)
class Sums:
    """Sums over the rows of one class whose scores have a number in common.

    Attributes
    ----------
    number : ndarray
        What they have in common, ascending.
    rows, weight, square : ndarray
        How many, and their weights and the squares of these added up.
    said, odds : ndarray
        Their scores and log-odds, by weight; log-odds that are infinite count as 0.
    low, high : ndarray
        The lowest and the highest of their scores.
    """

    number: Hashes
    rows: Integers
    weight: Floats
    square: Floats
    said: Floats
    odds: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, number: Hashes, scores: Floats, odds: Floats, w: Floats) -> Sums:
        finite = np.where(np.isfinite(odds), odds, 0.0)
        said = np.where(np.isfinite(scores), scores, 0.0)
        ones = np.ones(w.size, dtype=np.int64)
        return cls(number, ones, w, w * w, w * said, w * finite, scores, scores).added()

    def added(self) -> Sums:
        """Those with the same number become one."""
        number, place = np.unique(self.number, return_inverse=True)
        size = number.size

        def total(values: Any) -> Floats:
            return np.bincount(place, values, size).astype(np.float64, copy=False)

        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        np.minimum.at(low, place, self.low)
        np.maximum.at(high, place, self.high)
        rows = total(self.rows).astype(np.int64)  # exact up to 2^53
        weight, square = total(self.weight), total(self.square)
        said, odds = total(self.said), total(self.odds)
        return Sums(number, rows, weight, square, said, odds, low, high)

    def means(self, *, logits: bool) -> tuple[Floats, Floats]:
        """Mean scores and log-odds; of equal scores these, to the last digit."""
        alone, low = self.low == self.high, self.low
        odds = np.where(alone, low if logits else logit(low), self.odds / self.weight)
        said = np.where(alone, low, self.said / self.weight)
        return (odds if logits else said), odds

    @classmethod
    def merged(cls, parts: list[Sums]) -> Sums:
        """Sums over the rows of all parts, added up in their order."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns)).added()


class Total:
    """Sums of the negatives and the positives, to which more are added in order."""

    def __init__(self) -> None:
        nothing = np.zeros(0)
        empty = Sums.of(keys_of(nothing), nothing, nothing, nothing)
        self._parts = [[empty, empty]]

    def add(self, sums: list[Sums]) -> None:
        self._parts.append(sums)
        if len(self._parts) > MOST_PARTS:
            self._parts = [self.sums()]

    def sums(self) -> list[Sums]:
        return [Sums.merged(list(one)) for one in zip(*self._parts, strict=True)]


def bins_of(odds: Floats) -> Hashes:
    """Numbers of bins of log-odds; infinite ones have their own."""
    size = np.abs(odds)
    far = np.isfinite(size) & (size > FAR)
    ratio = np.where(far, size / FAR, 1.0)
    size = np.where(far, FAR * (1.0 + np.log(ratio)), size)
    size = np.where(np.isfinite(size), size, float(_MIDDLE // (2 * BINS)))
    number = np.floor(np.copysign(size, odds) * BINS) + _MIDDLE
    return np.asarray(number, dtype=np.uint64)


def counted(classes: list[Sums], *, logits: bool, together: bool) -> Counted:
    """The reference that sums of the negatives and the positives stand for.

    With `together` scores with a number in common are one score, whatever their class:
    else a map of steps would tell the classes apart within a bin.
    """
    if together:
        both = Sums.merged(classes)
        place = [np.searchsorted(both.number, one.number) for one in classes]
        parts = [[mean[i] for mean in both.means(logits=logits)] for i in place]
    else:
        parts = [list(one.means(logits=logits)) for one in classes]
    scores, odds = map(np.concatenate, zip(*parts, strict=True))
    whole = {
        name: np.concatenate([getattr(one, name) for one in classes])
        for name in ("rows", "weight", "square", "low", "high")
    }
    y = np.repeat([False, True], [one.number.size for one in classes])
    order = np.argsort(odds, kind="stable")
    return Counted(
        scores[order],
        y[order],
        whole["weight"][order],
        logits,
        True,
        odds[order],
        rows=whole["rows"][order],
        squares=whole["square"][order],
        low=whole["low"][order],
        high=whole["high"][order],
    )
