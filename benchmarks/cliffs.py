"""Map the cost per row of every verb, and print the dearest cells first.

    python benchmarks/cliffs.py                     # the whole map, and memory
    python benchmarks/cliffs.py cost --quick        # short calls, 2 minutes
    python benchmarks/cliffs.py cost --quick --repeat 3     # the least of three rounds
    python benchmarks/cliffs.py memory --rows 5000000       # peaks of memory

Every line is one JSON object. A cell is a verb, a metric, the rows of a group, its
expected positives and the layout; its value is CPU time per row, `times_best` that of
the cheapest cell of the same verb. A call on fewer rows than 10,000 is reckoned as one
on so many, as it has costs of its own. Cells are as large as fits a fraction of a
second; the lines of `memory` are peaks in arrays of 64-bit numbers with one entry per
row, over all that a user may pass. Interrupted, the table shows the cells that it has.
"""

from __future__ import annotations

import contextlib

from cliffs_parts import memory
from cliffs_parts.cells import Cell, Measured, measure
from cliffs_parts.verbs import all_cells
from harness import emit, run_sections

LIMIT = 20.0  # times the cheapest cell of the verb
FULL = 10_000  # rows from which a cell can be the best of its verb
BUDGET, QUICK_BUDGET = 0.5, 0.06  # CPU seconds of one call


def cost(*, quick: bool, repeat: int) -> None:
    """Time every cell; the dearest beside the best of their verb come first."""
    found: dict[Cell, Measured] = {}
    with contextlib.suppress(KeyboardInterrupt):
        for cell in list(all_cells()) * repeat:
            one = measure(cell, QUICK_BUDGET if quick else BUDGET)
            found[cell] = min(found.get(cell, one), one, key=lambda one: one.ns_per_row)
    best: dict[str, float] = {}
    for one in sorted(
        found.values(), key=lambda one: (-min(one.timed_rows, FULL), one.ns_per_row)
    ):
        best.setdefault(one.cell.verb, one.ns_per_row)
    for one in sorted(found.values(), key=lambda x: -x.ns_per_row / best[x.cell.verb]):
        cell, times = one.cell, one.ns_per_row / best[one.cell.verb]
        emit(
            *("cost", f"{cell.verb}, {cell.metric}, {cell.layout}"),
            *(one.ns_per_row, "ns of CPU time per row"),
            rows=cell.rows,
            positives=cell.positives,
            times_best=times,
            below_limit=times <= LIMIT,
            timed_rows=one.timed_rows,
        )


if __name__ == "__main__":
    sections = {"cost": cost, "memory": memory.run}
    raise SystemExit(run_sections(__doc__, sections, repeat=1, rows=1_000_000))
