"""Measure dependency parsing against the targets that were set for it.

    python benchmarks/trees.py               # everything, about 40 minutes
    python benchmarks/trees.py deptb         # some sections
    python benchmarks/trees.py --quick       # a smoke run: figures mean nothing
    python benchmarks/trees.py --table       # the tables of the docs, last

Every line is one JSON object: what was measured, the value, the target and whether it
was met. UAS is in percent, over all words or without punctuation, with gold parts of
speech but for the section on tags; means of three seeds. Times are CPU seconds with
extraction of features; compilers are warm. Data: deptb (train.dp and test.dp) in the
folder that ARGMETRIC_DATA names, or in ../shared/data from the project's root. Peer:
vowpalwabbit, left out where it is not installed.
"""

from __future__ import annotations

import sys

from harness import run_sections

SECTIONS = ("deptb", "tags", "peer", "task")

if __name__ == "__main__":
    sys.exit(run_sections("trees_parts", SECTIONS, __doc__))
