"""Measure `decide` and `forecast` against the targets that were set for them.

    python benchmarks/decide.py                  # everything, about six minutes
    python benchmarks/decide.py limits per_row   # some sections
    python benchmarks/decide.py --quick          # a smoke run: figures mean nothing
    python benchmarks/decide.py peers --table    # the README's table, as Markdown

Every line is one JSON object: what was measured, the value, the target and whether
it was met. Ratios are medians of calls timed in turns in the same run.
"""

from __future__ import annotations

import sys

from harness import run_sections

if __name__ == "__main__":
    sections = "limits peers per_row per_row_expected missed"
    sys.exit(run_sections(__doc__, sections, "decide_parts"))
