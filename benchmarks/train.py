"""Measure training for the metric against the targets that were set for it.

    python benchmarks/train.py                    # everything, about 20 minutes
    python benchmarks/train.py gradients speed    # some sections
    python benchmarks/train.py --quick            # a smoke run: figures mean nothing
    python benchmarks/train.py scores --table     # the tables of the docs, last

Every line is one JSON object: what was measured, the value, the target and whether it
was met. Ratios are of the least times of calls taken in turns in the same run.
All but the gradients need the data that `tabular.py` names.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from harness import emit_machine, emit_summary, judge

SECTIONS = ("gradients", "speed", "scores", "jansche")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="section", help=str(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="few and small, < 60 s")
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
            section = importlib.import_module(f"train_parts.{name}")
            tables.append(section.run(quick=options.quick))
    emit_summary()
    if options.table:
        print("\n" + "\n\n".join(table for table in tables if table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
