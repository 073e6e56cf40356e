"""Map the cost per row of every verb, and print the dearest cells first.

    python benchmarks/cliffs.py                     # the whole map, about an hour
    python benchmarks/cliffs.py --quick             # a tenth of the cells, 2 minutes
    python benchmarks/cliffs.py decide forecast     # some verbs
    python benchmarks/cliffs.py --metric gmean mcc  # some metrics
    python benchmarks/cliffs.py --budget .05        # all cells, shorter calls
    python benchmarks/cliffs.py --quick --repeat 3  # the least of three rounds
    python benchmarks/cliffs.py --table             # the worst of every verb, Markdown
    python benchmarks/cliffs.py switches            # both sides of every switch
    python benchmarks/cliffs.py values              # what a function of your own costs
    python benchmarks/cliffs.py memory [verbs] --rows 5000000   # peaks of memory

Every line is one JSON object. A cell is a verb, a metric, the rows of a group, its
expected positives and the layout; `ns_per_row` is CPU time, `times_best` that of the
cheapest cell of the same verb. A call on fewer rows than 10,000 is reckoned as one on
so many, as it has costs of its own. Cells are as large as fits a fraction of a second.
`arrays` is the peak of memory in arrays of 64-bit numbers with one entry per row. The
lines of `switches` tell the cost per row on either side of a size or a variance at
which `decide` or `forecast` takes another route, and their ratio. Those of `values`
tell how many values `decide` asks a function of the user's own for, what each costs
with all that is around it, and how many times what the function alone takes for as many
numbers. Those of `memory` tell `arrays` over all that a user may pass, at so many rows
as asked for. Interrupted, the map shows the cells that it has.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys

from cliffs_parts import memory, switches, values
from cliffs_parts.cells import Cell, Measured, measure
from cliffs_parts.verbs import VERBS, all_cells
from harness import emit_machine

SECTIONS = {"switches": switches, "values": values}
LIMIT, AIM = 20.0, 8.0
FULL = 10_000  # rows from which a cell can be the best of its verb
BUDGET, QUICK_BUDGET = 0.5, 0.06  # CPU seconds of one call


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sections = (*VERBS, "report", "memory", *SECTIONS)
    parser.add_argument("verbs", nargs="*", metavar="verb", help=", ".join(sections))
    parser.add_argument("--metric", nargs="*", help="only these metrics")
    parser.add_argument("--quick", action="store_true", help="few cells, 2 minutes")
    parser.add_argument("--budget", type=float, help="CPU seconds of one call")
    parser.add_argument(
        "--repeat", type=int, default=1, help="rounds; the least counts"
    )
    parser.add_argument("--table", action="store_true", help="the worst, as Markdown")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of `memory`")
    options = parser.parse_args()
    unknown = set(options.verbs) - set(sections)
    if unknown:
        parser.error(f"unknown verb {sorted(unknown)}; known: {', '.join(sections)}")
    emit_machine()
    if "memory" in options.verbs:
        memory.run(options.rows, set(options.verbs) - {"memory"})
        return 0
    asked = [name for name in options.verbs if name in SECTIONS]
    for name in asked:
        SECTIONS[name].run()
        options.verbs.remove(name)
    if asked and not options.verbs:
        return 0
    cells = [
        cell
        for cell in all_cells(quick=options.quick)
        if (not options.verbs or cell.verb in options.verbs)
        and (not options.metric or cell.metric in options.metric)
    ]
    budget = options.budget or (QUICK_BUDGET if options.quick else BUDGET)
    found: dict[Cell, Measured] = {}
    with contextlib.suppress(KeyboardInterrupt):
        for cell in cells * options.repeat:
            one = measure(cell, budget)
            found[cell] = min(found.get(cell, one), one, key=lambda one: one.ns_per_row)
    lines = worst_first(list(found.values()))
    for line in lines:
        print(json.dumps(line), flush=True)
    print(json.dumps(summary(lines)), flush=True)
    if options.table:
        print("\n" + table(lines))
    return 0


def worst_first(found: list[Measured]) -> list[dict[str, object]]:
    """Lines of all cells, those first that cost most beside the best of their verb."""
    best: dict[str, float] = {}
    for one in sorted(
        found, key=lambda one: (-min(one.timed_rows, FULL), one.ns_per_row)
    ):
        best.setdefault(one.cell.verb, one.ns_per_row)
    ranked = sorted(found, key=lambda one: -one.ns_per_row / best[one.cell.verb])
    return [line_of(one, best[one.cell.verb]) for one in ranked]


def line_of(one: Measured, best: float) -> dict[str, object]:
    cell: Cell = one.cell
    return {
        "verb": cell.verb,
        "metric": cell.metric,
        "rows": cell.rows,
        "positives": cell.positives,
        "layout": cell.layout,
        "ns_per_row": float(f"{one.ns_per_row:.3g}"),
        "million_rows_per_s": float(f"{1e3 / one.ns_per_row:.3g}"),
        "times_best": float(f"{one.ns_per_row / best:.3g}"),
        "timed_rows": one.timed_rows,
        "arrays": None if one.arrays is None else float(f"{one.arrays:.3g}"),
    }


def summary(lines: list[dict[str, object]]) -> dict[str, object]:
    """Per verb: cells, those above the aim and the limit, and the largest memory."""
    result: dict[str, object] = {"section": "summary"}
    for verb in VERBS:
        own = [line for line in lines if line["verb"] == verb]
        if own:
            times = [float(str(line["times_best"])) for line in own]
            memory = [float(str(x["arrays"])) for x in own if x["arrays"] is not None]
            result[verb] = {
                "cells": len(own),
                f"above {AIM:g}": sum(x > AIM for x in times),
                f"above {LIMIT:g}": sum(x > LIMIT for x in times),
                "worst": max(times),
                "arrays": max(memory, default=None),
            }
    return result


def table(lines: list[dict[str, object]], worst: int = 5) -> str:
    """The best and the worst cells of every verb, as Markdown."""
    rows = ["| cell | million rows/s | × best | arrays |", "|---|---|---|---|"]
    for verb in VERBS:
        own = [line for line in lines if line["verb"] == verb]
        for line in own[:worst] + own[-1:] if len(own) > worst else own:
            name = f"`{verb}`, {line['metric']}, {line['layout']}, {line['rows']} rows"
            memory = "" if line["arrays"] is None else line["arrays"]
            rows.append(
                f"| {name}, {line['positives']} positives | "
                f"{line['million_rows_per_s']} | {line['times_best']} | {memory} |"
            )
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
