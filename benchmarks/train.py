"""Measure training for the metric against the targets that were set for it.

    python benchmarks/train.py                    # everything, about 30 minutes
    python benchmarks/train.py scores speed       # some sections
    python benchmarks/train.py --quick            # a smoke run: figures mean nothing
    python benchmarks/train.py scores --table     # the tables of the docs, last

Every line is one JSON object: what was measured, the value, the target and whether it
was met. Ratios are of the least times of calls taken in turns in the same run.
They need the data that `tabular.py` names.
"""

from __future__ import annotations

import sys

from harness import run_sections

if __name__ == "__main__":
    sections = "speed scores boosting mixtures"
    sys.exit(run_sections(__doc__, sections, "train_parts"))
