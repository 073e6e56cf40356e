"""Measure `tune` against the targets that were set for it, and redo a paper's tables.

    python benchmarks/tune.py                  # everything, about ten minutes
    python benchmarks/tune.py speed ties       # some sections
    python benchmarks/tune.py --quick          # a smoke run: figures mean nothing
    python benchmarks/tune.py tables --table   # the tables of the docs, last

Every line is one JSON object: what was measured, the value, the target and whether it
was met. Ratios are of the least times of calls taken in turns in the same run.
The tables need the data that `tabular.py` names.
"""

from __future__ import annotations

import sys

from harness import run_sections

if __name__ == "__main__":
    sections = "speed rivals ties coverage tables"
    sys.exit(run_sections(__doc__, sections, "tune_parts"))
