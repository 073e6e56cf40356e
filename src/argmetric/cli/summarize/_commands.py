"""``argmetric summarize``: files themselves, train, evaluate."""

from __future__ import annotations

from cyclopts import App

from argmetric.cli.summarize._evaluate import evaluate
from argmetric.cli.summarize._summarize import summarize as _of_files
from argmetric.cli.summarize._train import train

summarize = App(
    name="summarize",
    help_epilogue="A file or folder that is called train or evaluate is ./train or "
    "./evaluate.\n\n"
    "Exit codes: 0 done, 1 failure, 2 wrong usage, 3 gate not met. `-` is standard "
    "input or output. `--debug` (or `ARGMETRIC_DEBUG=1`) shows the traceback of a "
    "failure.",
)
summarize.default(_of_files)
summarize.command(train, sort_key=0)
summarize.command(evaluate, sort_key=1)
