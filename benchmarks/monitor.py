"""Measure `monitor` on periods of real scores whose labels are known afterwards.

    python benchmarks/monitor.py                     # everything, about half an hour
    python benchmarks/monitor.py coverage verdicts   # both from one run
    python benchmarks/monitor.py --half show         # without the sets of the choices
    python benchmarks/monitor.py --quick             # a smoke run: figures mean nothing

coverage: how often the 90 % interval contains the actual F1 when nothing happened, the
share of positives moved, or other rows came; beside it CBPE by NannyML's formula, and
NannyML where it is installed. verdicts: what is said of these periods. quiet: both
where nothing happened, from more references. kinds: coverage by verdict and by kind of
model, naive Bayes and over-fitted boosting too, on sets of its own. order: both in real
time order. metrics: other metrics than F1. small: references of 200 rows and of few
positives. alarms: false alarms of quiet years, and how soon a fall is found. years:
quiet years by the size of the reference, and how soon scores that rise are found.
label: the interval of `to_label` against that of random labels. nearer: the errors of a
period with 50 labels of it and without. features: what `features=` gains. undo:
sampling and weights undone. speed: 10^7 rows, and a daily job.

Every line is one JSON object: what was measured, the value, the target and whether it
was met. Constants were chosen on the sets of the choose half; read the figures of the
show half. It had no part in it but twice: that maps of few positives are taken further
apart followed misses on both halves, and two intervals of the population's share were
run on both. Models are fitted once, and their scores are kept in the temporary folder.
The data are those that `tabular.py` names. The section groups has means over groups,
classes and class_years rows that have one of several classes.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings

from harness import emit_machine, emit_summary, judge

SECTIONS = (
    "coverage",
    "verdicts",
    "quiet",
    "kinds",
    "order",
    "metrics",
    "groups",
    "classes",
    "class_years",
    "small",
    "alarms",
    "years",
    "label",
    "nearer",
    "features",
    "undo",
    "speed",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS])
    parser.add_argument("--quick", action="store_true", help="figures mean nothing")
    parser.add_argument(
        "--half", choices=("choose", "show"), help="the sets of this half alone"
    )
    parser.add_argument("--seed", type=int, default=0, help="of all draws")
    given = parser.parse_args()
    judge(not given.quick)
    emit_machine()
    warnings.simplefilter("ignore")
    for name in SECTIONS:
        if name in (given.sections or SECTIONS):
            section = importlib.import_module(f"monitor_parts.{name}")
            section.run(quick=given.quick, half=given.half, seed=given.seed)
    emit_summary()
    return 0


if __name__ == "__main__":
    sys.exit(main())
