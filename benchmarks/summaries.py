"""Measure summaries of reviews.

    python benchmarks/summaries.py              # everything
    python benchmarks/summaries.py fewsum       # some sections
    python benchmarks/summaries.py --quick      # a smoke run: figures mean nothing
    python benchmarks/summaries.py --table      # the tables of the docs, last

Every line is one JSON object. Scores are ROUGE-2 recall in percent, no stemming, the
mean over a cluster's references (the maximum beside it), as rouge-score counts it;
summaries have at most 60 white-space words on fewsum and 25 on opinosis. Intervals are
of 95 %, clusters resampled. What learns is judged on ten folds, SEARN extraction and
vine growth as published on five; choices were made on clusters that the figures are not
of (see summaries_parts/data.py). Times are CPU seconds unless they say otherwise;
compilers are warm. Data: summ/fewsum, summ/opinosis and deptb in the folder that
ARGMETRIC_DATA names, or in ../shared/data from the project's root.
"""

from __future__ import annotations

import sys
from functools import partial

from harness import run_sections
from summaries_parts import examples
from summaries_parts.sets import tell

if __name__ == "__main__":
    sections = {"fewsum": partial(tell, "fewsum"), "examples": examples.run}
    sections |= {"opinosis": partial(tell, "opinosis")}
    sys.exit(run_sections(__doc__, sections))
