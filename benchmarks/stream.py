"""Measure learning on streams against the targets that were set for it.

    python benchmarks/stream.py                     # everything, about 25 minutes
    python benchmarks/stream.py tasks convergence   # some sections
    python benchmarks/stream.py --quick             # a smoke run: figures mean nothing
    python benchmarks/stream.py tasks --table       # the tables of the docs, last

Every line is one JSON object: what was measured, the value, the target and whether it
was met. Ratios are of calls taken in turns in the same run. The sections `speed`,
`paper`, `tasks`, `several` and `prior` need the data that `tabular.py` and
`stream_parts/class_streams.py` name; `speed` and `several` need river, `speed`
vowpalwabbit too, and leave out with a line of their own what is not installed.
"""

from __future__ import annotations

import sys

from harness import run_sections

if __name__ == "__main__":
    sections = "speed paper tasks convergence drift several long prior"
    sys.exit(run_sections(__doc__, sections, "stream_parts"))
