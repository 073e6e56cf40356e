"""Measure training for the metric against the targets that were set for it.

    python benchmarks/train.py                    # everything, about 30 minutes
    python benchmarks/train.py gradients speed    # some sections
    python benchmarks/train.py --quick            # a smoke run: figures mean nothing
    python benchmarks/train.py scores --table     # the tables of the docs, last

Every line is one JSON object: what was measured, the value, the target and whether it
was met. Ratios are of the least times of calls taken in turns in the same run.
All but the gradients need the data that `tabular.py` names.
"""

from __future__ import annotations

import sys

from harness import run_sections

SECTIONS = ("gradients", "speed", "scores", "jansche", "boosting")

if __name__ == "__main__":
    sys.exit(run_sections("train_parts", SECTIONS, __doc__))
