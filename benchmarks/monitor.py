"""Measure `monitor` on periods of real scores whose labels are known afterwards.

    python benchmarks/monitor.py                     # everything, about half an hour
    python benchmarks/monitor.py coverage verdicts   # both from one run
    python benchmarks/monitor.py --half choose       # the sets of the choices
    python benchmarks/monitor.py --quick             # a smoke run: figures mean nothing

coverage: how often the 90 % interval contains the actual F1 when nothing happened, the
prevalence or the inputs changed; beside it CBPE by NannyML's formula. verdicts: what is
said of these periods. quiet: the same where nothing happened, from more references.
kinds: coverage by verdict and by kind of model, naive Bayes and over-fitted boosting
too, on sets of its own. order: both in real time order. alarms: false alarms of quiet
years, and how soon a fall is found. years: quiet years by the size of the reference,
and how soon scores that rise are found. label: the interval of `to_label` against that
of random labels. nearer: the errors of a period with 50 labels of it and without.
speed: 10^7 rows, and a daily job. The sections classes and class_years have rows that
have one of several classes.

Every line is one JSON object: what was measured, the value, the target and whether it
was met. Constants were chosen on the sets of the choose half; figures are those of the
show half. It had no part in it but twice: that maps of few positives are taken further
apart followed misses on both halves, and two intervals of the population's share were
run on both. Models are fitted once, and their scores are kept in the temporary folder.
The data are those that `tabular.py` names.
"""

from __future__ import annotations

import sys

from harness import run_sections

if __name__ == "__main__":
    sections = (
        "coverage verdicts quiet kinds order classes class_years alarms years label "
        "nearer speed"
    )
    half = ("show", "choose")
    sys.exit(run_sections(__doc__, sections, "monitor_parts", half=half, seed=0))
