"""Utilities of segmentations: windows, and boundary similarity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from argmetric._ground.arguments import is_whole, shown
from argmetric._ground.types import Floats, Integers
from argmetric.search.learning import complete_docstrings
from argmetric.sequence._utilities import AutomatonTables, SimpleFunction, remaining

MAX_WINDOW = 20  # 2**window entries of a table


@complete_docstrings
@dataclass(frozen=True)
class _WindowFunction(SimpleFunction):
    """Mean over all windows of a loss of the labels in it."""

    window: int

    def __post_init__(self) -> None:
        if not is_whole(self.window) or self.window < 1:
            wanted = f"a positive integer, not {shown(self.window)}"
            raise ValueError(f"window must be {wanted}")

    def check(self, n: int) -> None:
        """Raise an error if no window fits."""
        if self.window > n:
            raise ValueError(
                f"window is {self.window} but the sequence has {n} labels: no window "
                "fits"
            )

    def n_windows(self, z: Integers) -> int:
        """Return the number of windows.

        Parameters
        ----------
        z : ndarray of shape (n,)
            Labels 0 and 1 of the hypothesis.

        Returns
        -------
        int
            How many fit.
        """
        return int(z.size) - self.window + 1

    def value(self, state: tuple[int, float], z: Integers) -> float:
        """Return the mean over windows."""
        return state[1] / self.n_windows(z)

    def bounds(self, z: Integers) -> tuple[float, float]:
        """Return 0 and 1."""
        return 0.0, 1.0

    def _tables(
        self, z: Integers, kind: Integers, follow: Integers, gain: Integers
    ) -> AutomatonTables:
        """Return the tables of an automaton that counts windows."""
        windows = self.n_windows(z)
        counted = (np.arange(z.size) >= self.window - 1).astype(np.int64)
        return AutomatonTables(
            kind=kind,
            follow=follow,
            gain=gain,
            cells=windows + 1,
            unit=1.0 / windows,
            worth=gain / windows,
            down=np.zeros_like(z),
            up=remaining(counted),
        )

    def _sums(self, z: Integers) -> Integers:
        """Return the ones of z in the window that ends at each position."""
        total = np.concatenate([[0], np.cumsum(z)])
        ends = np.arange(z.size) + 1
        return np.asarray(total[ends] - total[np.maximum(ends - self.window, 0)])


@complete_docstrings
@dataclass(frozen=True)
class Pk(_WindowFunction):
    """Share of windows with a boundary in exactly one of z and y; a loss.

    Parameters
    ----------
    window : int
        Number of labels in a window. The state is the number of labels since the
        last boundary of y, at most `window`, and the count of such windows.

    Examples
    --------
    >>> from argmetric.sequence import Pk, evaluate
    >>> round(evaluate(Pk(2), z=[0, 1, 0, 0], y=[0, 0, 1, 0]), 4)
    0.6667
    """

    greater_is_better = False

    def start(self) -> tuple[int, int]:
        """Return the state before the first label: no boundary, no window."""
        return self.window, 0

    def transition(
        self, state: tuple[int, int], z: Integers, i: int, y_i: int
    ) -> tuple[int, int]:
        """Return labels since the last boundary, and the count of unequal windows."""
        distance, count = state
        distance = 0 if y_i else min(distance + 1, self.window)
        if i >= self.window - 1:
            here = bool(z[i - self.window + 1 : i + 1].any())
            count += int((distance < self.window) != here)
        return distance, count

    def tables(self, z: Integers) -> AutomatonTables:
        """Return tables of three kinds: no window, z without and with a boundary."""
        w = self.window
        after = np.stack([np.minimum(np.arange(w + 1) + 1, w), np.zeros(w + 1)], axis=1)
        follow = np.tile(after.astype(np.int64), (3, 1, 1))
        found = (follow[0] < w).astype(np.int64)
        gain = np.stack([np.zeros_like(found), found, 1 - found])
        kind = np.where(self._sums(z) > 0, 2, 1)
        kind[: w - 1] = 0
        tables = self._tables(z, kind, follow, gain)
        return AutomatonTables(**(tables.__dict__ | {"start": w}))


@complete_docstrings
@dataclass(frozen=True)
class WindowDiff(_WindowFunction):
    """Share of windows with unequal numbers of boundaries in z and y; a loss.

    Parameters
    ----------
    window : int
        Number of labels in a window. The state holds the last window-1 labels of y.

    Examples
    --------
    >>> from argmetric.sequence import WindowDiff, evaluate
    >>> round(evaluate(WindowDiff(2), z=[0, 1, 0, 0], y=[0, 0, 1, 0]), 4)
    0.6667
    """

    greater_is_better = False

    def start(self) -> tuple[int, int]:
        """Return the state before the first label.

        Labels are bits, the last one lowest.
        """
        return 0, 0

    def transition(
        self, state: tuple[int, int], z: Integers, i: int, y_i: int
    ) -> tuple[int, int]:
        """Shift the label in; count the window if its boundaries differ in number."""
        labels, count = state
        labels = labels << 1 | y_i
        if i >= self.window - 1:
            here = int(z[i - self.window + 1 : i + 1].sum())
            count += int(labels.bit_count() != here)
        return labels & ((1 << (self.window - 1)) - 1), count

    def tables(self, z: Integers) -> AutomatonTables:
        """Return tables by the number of boundaries of z in the window.

        The last: none.
        """
        labels = _next_windows(self.window)
        ones = count_ones(labels)
        here = np.arange(self.window + 1)[:, None, None]
        gain = (ones[None] != here).astype(np.int64)
        gain = np.concatenate([gain, np.zeros_like(gain[:1])])
        kind = self._sums(z)
        kind[: self.window - 1] = self.window + 1
        follow = np.tile(labels & (labels.shape[0] - 1), (gain.shape[0], 1, 1))
        return self._tables(z, kind, follow, gain)


@complete_docstrings
@dataclass(frozen=True)
class WindowUtility(_WindowFunction):
    """Mean over all windows of a function of your own.

    Parameters
    ----------
    window : int
        Number of labels in a window.
    function : callable
        ``function(z_window, y_window)`` takes two tuples of labels and returns a
        finite number.
    greater_is_better : bool, default=True
        Whether the mean is maximised.

    Examples
    --------
    >>> from argmetric.sequence import WindowUtility, evaluate
    >>> pairs = WindowUtility(2, lambda z, y: float(z == y))
    >>> round(evaluate(pairs, z=[0, 1, 1, 0], y=[0, 1, 1, 1]), 4)
    0.6667
    """

    function: Callable[[tuple[int, ...], tuple[int, ...]], float]
    greater_is_better: bool = True

    def start(self) -> tuple[int, float]:
        """Return the state before the first label."""
        return 0, 0.0

    def transition(
        self, state: tuple[int, float], z: Integers, i: int, y_i: int
    ) -> tuple[int, float]:
        """Shift the label in, and add the function of the window."""
        labels, total = state
        labels = labels << 1 | y_i
        if i >= self.window - 1:
            here = tuple(z[i - self.window + 1 : i + 1].tolist())
            total += float(self.function(here, _bits(labels, self.window)))
        return labels & ((1 << (self.window - 1)) - 1), total

    def bounds(self, z: Integers) -> tuple[float, float]:
        """Return the smallest and largest value of the function at the windows of z."""
        _, worth = self._worth(z)
        return float(worth.min()), float(worth.max())

    def losses(self, here: Integers) -> Floats:
        """Return losses of windows of z (rows) against all windows of y.

        Parameters
        ----------
        here : ndarray of shape (n_windows,)
            Windows of z as numbers; the last label is the lowest bit.

        Returns
        -------
        ndarray of shape (n_windows, 2**window)
            Values.
        """
        if self.window > MAX_WINDOW:
            raise ValueError(f"window is {self.window}, more than {MAX_WINDOW}")
        theirs = [_bits(v, self.window) for v in range(1 << self.window)]
        rows = [
            [self.function(_bits(int(v), self.window), y) for y in theirs] for v in here
        ]
        return np.array(rows, dtype=np.float64)

    def _worth(self, z: Integers) -> tuple[Integers, Floats]:
        """Return the index of each window of z, and the values of the distinct ones."""
        codes = np.zeros(z.size, dtype=np.int64)  # bits: the window that ends there
        for j in range(min(self.window, z.size)):
            codes[j:] += z[: z.size - j] << j
        whole = codes[self.window - 1 :]
        distinct, place = np.unique(whole, return_inverse=True)
        return place, self.losses(distinct).reshape(distinct.size, -1, 2)

    def tables(self, z: Integers) -> AutomatonTables:
        """Return tables by distinct windows of z; the last: no whole window yet."""
        place, worth = self._worth(z)
        kind = np.full(z.size, worth.shape[0])
        kind[self.window - 1 :] = place
        worth = np.concatenate([worth, np.zeros_like(worth[:1])])
        labels = _next_windows(self.window)
        follow = np.tile(labels & (labels.shape[0] - 1), (worth.shape[0], 1, 1))
        windows = self.n_windows(z)
        whole = bool((worth == np.round(worth)).all() and worth.min() >= 0)
        gain = worth.astype(np.int64) if whole else None
        most = worth.max(axis=(1, 2))[kind]
        return AutomatonTables(
            kind=kind,
            follow=follow,
            gain=gain,
            cells=int(most.sum()) + 1 if whole else 0,
            unit=1.0 / windows,
            worth=worth / windows,
            down=np.zeros_like(z) if whole else None,
            up=remaining(most.astype(np.int64)) if whole else None,
        )


def _bits(code: int, window: int) -> tuple[int, ...]:
    """Return the labels of a window from left to right."""
    return tuple(code >> (window - 1 - j) & 1 for j in range(window))


def count_ones(codes: Integers) -> Integers:
    """Return the number of ones of each code."""
    return np.asarray(np.sum([codes >> j & 1 for j in range(MAX_WINDOW)], axis=0))


def _next_windows(window: int) -> Integers:
    """Return the window after every history of window-1 labels and every label."""
    if window > MAX_WINDOW:
        raise ValueError(
            f"window is {window}: its automaton would have 2**{window - 1} = "
            f"{1 << (window - 1):,} control states, more than the limit of "
            f"{1 << (MAX_WINDOW - 1):,}"
        )
    return np.arange(1 << window).reshape(-1, 2)


@complete_docstrings
@dataclass(frozen=True)
class BoundarySimilarity(SimpleFunction):
    """Boundary similarity of two segmentations (Fournier 2013), near misses by one.

    A boundary at the same place in z and y counts 1; a near miss by one place counts
    1/2. The sum is divided by the number of matches, near misses and unmatched
    boundaries: 1 - (A + T/2) / (A + T + M). Near misses are paired from left to right,
    which pairs as many as possible. Two segmentations without a boundary have the
    similarity 1.

    Examples
    --------
    >>> from argmetric.sequence import BoundarySimilarity, evaluate
    >>> evaluate(BoundarySimilarity(), z=[0, 1, 0, 0, 1], y=[0, 0, 1, 0, 1])
    0.75
    """

    def start(self) -> tuple[int, int, int]:
        """Return the state: nothing pending, no points, no boundary of y alone."""
        return 0, 0, 0

    def transition(
        self, state: tuple[int, int, int], z: Integers, i: int, y_i: int
    ) -> tuple[int, int, int]:
        """Return the next state.

        Pending: 1 for an unpaired boundary of z, 2 for one of y.
        """
        pending, points, alone = state
        mine = int(z[i])
        if mine != y_i and pending and pending != 1 + y_i:
            return 0, points + 1, alone
        alone += pending == 2
        if mine == y_i:
            return 0, points + 2 * mine, alone
        return 1 + y_i, points, alone

    def value(self, state: tuple[int, int, int], z: Integers) -> float:
        """Return points over twice the number of boundaries, pairs counted once."""
        pending, points, alone = state
        total = int(z.sum()) + alone + (pending == 2)
        return points / (2 * total) if total else 1.0

    def bounds(self, z: Integers) -> tuple[float, float]:
        """Return 0 and 1."""
        return 0.0, 1.0

    def tables(self, z: Integers) -> AutomatonTables:
        """Return tables.

        The counter is points·(zeros of z + 1) + boundaries of y alone.
        """
        k = int(z.sum())
        width = z.size - k + 1
        follow, gain = np.zeros((2, 3, 2), np.int64), np.zeros((2, 3, 2), np.int64)
        for mine in (0, 1):
            for pending in range(3):
                for y in (0, 1):
                    state = self.transition((pending, 0, 0), np.array([mine]), 0, y)
                    follow[mine, pending, y] = state[0]
                    gain[mine, pending, y] = state[1] * width + state[2]
        points = np.arange(2 * k + 1)[None, :, None]
        total = k + np.arange(width)[None, None, :] + np.array([0, 0, 1])[:, None, None]
        values = np.where(total > 0, points / (2 * np.maximum(total, 1)), 1.0)
        cells, table = (2 * k + 1) * width, values.reshape(3, -1)
        return AutomatonTables(z, follow, gain, cells, table=table)
