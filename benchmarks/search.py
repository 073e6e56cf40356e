"""Measure search against the targets that were set for it.

    python benchmarks/search.py                     # everything, about 90 minutes
    python benchmarks/search.py chunk handwriting   # some sections
    python benchmarks/search.py --quick             # a smoke run: figures mean nothing
    python benchmarks/search.py chunk --table       # the tables of the docs, last

Table 1 of the SEARN paper is `benchmarks/table1.py`.

Every line is one JSON object: what was measured, the value, the target and whether it
was met. Scores are seqeval's, strict, IOB2, in percent. Times are CPU seconds with
extraction of features, so that other work on the machine does not count; compilers are
warm. Data: CoNLL-2000, CoNLL-2002 Spanish, the OCR letters and deptb, in the folder
that ARGMETRIC_DATA names, or in ../shared/data from the project's root. Peers:
python-crfsuite, vowpalwabbit and scikit-learn; seqeval is needed.
"""

from __future__ import annotations

import sys

from harness import run_sections

if __name__ == "__main__":
    sections = "chunk ner handwriting controls joint own_task"
    sys.exit(run_sections(__doc__, sections, "search_parts"))
