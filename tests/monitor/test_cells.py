"""Cells of the score give the expected score that all rows give."""

import numpy as np
import pytest

from argmetric._calibrate.resolve import resolve_reference
from argmetric._monitor._cells import Cells
from argmetric._monitor._law import Maps


def ratio(c, selected):
    return 2 * c[selected].sum() / (selected.sum() + c.sum())


@pytest.mark.parametrize("share", [0.01, 0.03, 0.2])
@pytest.mark.parametrize("logits", [False, True])
def test_cells_give_the_expected_score_of_the_rows(share, logits):
    """With ten positives quantiles alone gave 0.02 to 0.05 less."""
    gaps = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = rng.random(6000) < share
        x = rng.normal(np.where(y, 0.0, -6.0), 2.0) + np.log(share / 0.03)
        s = x if logits else 1 / (1 + np.exp(-x))
        found = resolve_reference(None, (y[:1000], s[:1000]), logits=logits)
        cut = float(np.quantile(s[:1000], 1 - share))
        cells = Cells.of(found.rows, cut)
        inside = (s >= s[:1000].min()) & (s <= s[:1000].max())
        new = s[inside][1000:]
        cell = np.searchsorted(cells.edges, new, side="right")
        chances = Maps.of(found.calibrator, cells).chances
        for one, c in zip(found.calibrator.alternatives, chances, strict=True):
            exact = ratio(one.apply(new, logits=logits), new >= cut)
            gaps.append(ratio(c[cell], new >= cut) - exact)
    assert abs(np.mean(gaps)) < 0.002
    assert np.abs(gaps).max() < 0.025


def test_a_score_that_stands_for_a_cell_is_inside_of_it():
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.1
    p = np.round(rng.beta(0.3 + y, 3.0), 2)
    rows = resolve_reference(None, (y, p)).rows
    cells = Cells.of(rows, 0.35)
    low, high = cells.edges[:-1], cells.edges[1:]
    assert (cells.scores[1:-1] >= low).all()
    assert (cells.scores[1:-1] <= high).all()
    cell = np.searchsorted(cells.edges, p, side="right")
    for number in np.unique(cell):
        values = np.unique(p[cell == number])
        if values.size == 1:  # of equal scores nothing is lost
            assert cells.scores[number] == values[0]
