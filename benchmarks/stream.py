"""Measure learning on streams against the targets that were set for it.

    python benchmarks/stream.py                     # everything, about 25 minutes
    python benchmarks/stream.py tasks convergence   # some sections
    python benchmarks/stream.py --quick             # a smoke run: figures mean nothing
    python benchmarks/stream.py paper --figures DIR # with Figures 1 to 4 as PNG files
    python benchmarks/stream.py tasks --table       # the tables of the docs, last

Every line is one JSON object: what was measured, the value, the target and whether it
was met. Ratios are of calls taken in turns in the same run. The sections `speed`,
`paper` and `tasks` need the data that `tabular.py` names; `speed` needs river and
vowpalwabbit, and leaves out with a line of its own what is not installed.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from harness import emit_machine, emit_summary, judge

SECTIONS = ("speed", "paper", "tasks", "convergence", "long")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="section", help=str(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="few and small, < 60 s")
    parser.add_argument(
        "--table", action="store_true", help="print the tables of the docs, last"
    )
    parser.add_argument(
        "--figures", type=Path, metavar="DIR", help="write plots into this folder"
    )
    options = parser.parse_args()
    unknown = set(options.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown section {sorted(unknown)}; known: {', '.join(SECTIONS)}")
    if options.figures is not None:
        options.figures.mkdir(parents=True, exist_ok=True)
    judge(not options.quick)
    emit_machine()
    tables = []
    for name in SECTIONS:
        if name in (options.sections or SECTIONS):
            section = importlib.import_module(f"stream_parts.{name}")
            tables.append(section.run(quick=options.quick, figures=options.figures))
    emit_summary()
    if options.table:
        print("\n" + "\n\n".join(table for table in tables if table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
