"""The numbers of positives at which a page knows the curves.

However many rows there are, a page holds about 512 of them: so chosen that straight
lines between them stay within half a pixel of every curve as it is drawn.
"""

from __future__ import annotations

import numpy as np

from argmetric._input.types import Booleans, Floats, Integers

KNOTS = 512
CANDIDATES = 8192  # of longer curves only so many places are looked at
HEIGHT = 300.0  # pixels of a curve as it is drawn
PIXELS_APART = 0.5  # pixels


def candidates(size: int, allowed: Booleans | None) -> Integers:
    """Places to choose from: all, or many that crowd at both ends."""
    if allowed is not None:
        places = np.flatnonzero(allowed)
        if places.size <= CANDIDATES:
            return places
    elif size < CANDIDATES:
        return np.arange(size + 1)
    crowded = np.geomspace(1.0, size, CANDIDATES // 3).astype(np.int64)
    even = np.linspace(0.0, size, CANDIDATES // 3).astype(np.int64)
    found = np.unique(np.concatenate([[0], crowded, size - crowded, even, [size]]))
    return found if allowed is None else nearest(places, found)


def nearest(places: Integers, wanted: Integers) -> Integers:
    """Of ascending places those that are next to the wanted ones."""
    at = np.searchsorted(places, wanted).clip(0, places.size - 1)
    return np.unique(places[at])


def choose_knots(places: Integers | Floats, curves: Floats, must: Integers) -> Integers:
    """Which of the places a page keeps.

    Parameters
    ----------
    places : ndarray
        Numbers of positives, or thresholds, ascending.
    curves : ndarray of shape (number of curves, number of places)
        Their scores, in units of the height of a picture.
    must : ndarray
        Places, by number, that are kept in any case.
    """
    kept = np.zeros(places.size, dtype=bool)
    kept[must] = kept[0] = kept[-1] = True
    while True:
        error = errors(places, curves, kept) * HEIGHT
        room = KNOTS - int(kept.sum())
        if room <= 0 or error.max(initial=0.0) <= PIXELS_APART:
            break
        interval = np.cumsum(kept)
        worst = np.lexsort((-error, interval))
        first = np.unique(interval[worst], return_index=True)[1]
        peaks = worst[first]
        peaks = peaks[error[peaks] > PIXELS_APART]
        kept[peaks[np.argsort(-error[peaks], kind="stable")][:room]] = True
    _fill(kept)
    return np.flatnonzero(kept)


def errors(places: Integers | Floats, curves: Floats, kept: Booleans) -> Floats:
    """How far straight lines between kept places are off, at worst, at each place."""
    worst = np.zeros(places.size)
    for curve in curves:
        line = np.interp(places, places[kept], curve[kept])
        np.maximum(worst, np.abs(np.nan_to_num(line - curve)), out=worst)
    return worst


def _fill(kept: Booleans) -> None:
    """Spread what is left of the knots over the places, for cuts to be moved to."""
    room = KNOTS - int(kept.sum())
    free = np.flatnonzero(~kept)
    if room > 0 and free.size:
        picks = np.linspace(0, free.size - 1, min(room, free.size)).astype(np.int64)
        kept[free[picks]] = True
