"""Hold what the numbers promise against what comes true, on real models.

    python benchmarks/trust.py                # everything, about an hour
    python benchmarks/trust.py ends verdicts  # some sections
    python benchmarks/trust.py --quick        # a smoke run: figures mean nothing
    python benchmarks/trust.py ends --table   # the tables of the docs, last

ends: the default with a reference, by kind of model and size of the reference: how
often the actual score lies below and above the 90 % interval, and what the reference
gains.
verdicts: whether what `calibration_check` says of a reference holds on new rows, and
what its route is worth. classifier: whether the interval of `MetricClassifier.forecast`
holds the actual score. share: the prevalence changed, and is known, estimated
or not thought of; one split, some minutes. generated: what the default does to scores
that are right already. one_rule: the five scores of one rule, and what each says; half
a minute.

Every line is one JSON object. All choices were made on one half of the sets; figures
are given for both. Models are fitted once, and their scores are kept in the temporary
folder. The data are those that `tabular.py` names.
"""

from __future__ import annotations

import sys

from harness import run_sections

if __name__ == "__main__":
    sections = "ends verdicts classifier share generated one_rule"
    sys.exit(run_sections(__doc__, sections, "trust_parts"))
