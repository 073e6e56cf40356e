"""Measure `decide` and `forecast` against the targets that were set for them.

    python benchmarks/decide.py                  # everything, about six minutes
    python benchmarks/decide.py curve errors     # some sections
    python benchmarks/decide.py --quick          # a smoke run: figures mean nothing
    python benchmarks/decide.py peers --table    # the README's table, as Markdown

Every line is one JSON object: what was measured, the value, the target and whether
it was met. Ratios are medians of calls timed in turns in the same run.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from harness import emit_machine, emit_summary, judge

SECTIONS = (
    "curve",
    "errors",
    "choices",
    "groups",
    "forecast",
    "peers",
    "cli",
    "limits",
    "per_row",
    "per_row_expected",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="section", help=str(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="tiny sizes, < 20 s")
    parser.add_argument(
        "--table", action="store_true", help="print the peers table as Markdown, last"
    )
    options = parser.parse_args()
    unknown = set(options.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown section {sorted(unknown)}; known: {', '.join(SECTIONS)}")
    judge(not options.quick)
    emit_machine()
    table = None
    for name in SECTIONS:
        if name in (options.sections or SECTIONS):
            section = importlib.import_module(f"decide_parts.{name}")
            outcome = section.run(quick=options.quick)
            table = outcome if name == "peers" else table
    emit_summary()
    if options.table and table is not None:
        print(f"\n{table}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
