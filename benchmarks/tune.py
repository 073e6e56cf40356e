"""Measure `tune` against the targets that were set for it, and redo a paper's tables.

    python benchmarks/tune.py                  # everything, about six minutes
    python benchmarks/tune.py speed ties       # some sections
    python benchmarks/tune.py --quick          # a smoke run: figures mean nothing
    python benchmarks/tune.py tables --table   # the tables of the docs, last

Every line is one JSON object: what was measured, the value, the target and whether it
was met. Ratios are of the least times of calls taken in turns in the same run.
The tables need the data that `tabular.py` names.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from harness import emit_machine, emit_summary, judge

SECTIONS = ("speed", "rivals", "ties", "tables")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="section", help=str(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="small sizes, < 30 s")
    parser.add_argument(
        "--table", action="store_true", help="print the tables of the docs, last"
    )
    options = parser.parse_args()
    unknown = set(options.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown section {sorted(unknown)}; known: {', '.join(SECTIONS)}")
    judge(not options.quick)
    emit_machine()
    tables = []
    for name in SECTIONS:
        if name in (options.sections or SECTIONS):
            section = importlib.import_module(f"tune_parts.{name}")
            tables.append(section.run(quick=options.quick))
    emit_summary()
    if options.table:
        print("\n" + "\n\n".join(table for table in tables if table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
