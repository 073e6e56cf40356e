"""Measure search against the targets that were set for it.

    python benchmarks/search.py                     # everything, about 90 minutes
    python benchmarks/search.py chunk handwriting   # some sections
    python benchmarks/search.py --quick             # a smoke run: figures mean nothing
    python benchmarks/search.py paper --figures DIR # with Fig. 6 as an SVG file
    python benchmarks/search.py chunk --table       # the tables of the docs, last

Every line is one JSON object: what was measured, the value, the target and whether it
was met. Scores are seqeval's, strict, IOB2, in percent. Times are CPU seconds with
extraction of features, so that other work on the machine does not count; compilers are
warm. Data: CoNLL-2000, CoNLL-2002 Spanish and the OCR letters, in the folder that
ARGMETRIC_DATA names, or in ../shared/data from the project's root. Peers:
python-crfsuite, vowpalwabbit and scikit-learn; seqeval is needed.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from harness import emit_machine, emit_summary, judge

SECTIONS = ("chunk", "ner", "handwriting", "controls", "joint", "paper", "cost")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="section", help=str(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="few and small")
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
    try:
        import seqeval  # noqa: F401
    except ImportError:
        sys.exit("seqeval is missing: pip install seqeval")
    if options.figures is not None:
        options.figures.mkdir(parents=True, exist_ok=True)
    judge(not options.quick)
    emit_machine()
    tables = []
    for name in SECTIONS:
        if name in (options.sections or SECTIONS):
            section = importlib.import_module(f"search_parts.{name}")
            tables.append(section.run(quick=options.quick, figures=options.figures))
    emit_summary()
    if options.table:
        print("\n" + "\n\n".join(table for table in tables if table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
