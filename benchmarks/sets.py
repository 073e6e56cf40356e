"""Measure `sets.decide`: one set from several sampled answers, on models of many kinds.

    python benchmarks/sets.py                       # everything: ten minutes
    python benchmarks/sets.py coverage --table      # one section, and its table
    python benchmarks/sets.py --quick               # few and small, to see that it runs

Data: CoNLL-2000, CoNLL-2002 (Spanish), written words and SCENE, in the folder that
ARGMETRIC_DATA names, or in ../shared/data from the project's root. No language model is
run: answers are samples of a CRF, of logistic regressions, of the leaves of a forest
and of nearest neighbours. One JSON object a line.
"""

from __future__ import annotations

import sys

from harness import run_sections

if __name__ == "__main__":
    sections = "quality reference coverage times"
    sys.exit(run_sections(__doc__, sections, "sets_parts"))
