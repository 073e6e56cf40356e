"""``argmetric summarize``: files themselves, train, evaluate."""

from __future__ import annotations

from collections.abc import Callable

from cyclopts import App

from argmetric.cli._examples import ENDINGS, epilogue
from argmetric.cli.summarize._evaluate import evaluate
from argmetric.cli.summarize._summarize import summarize as _of_files
from argmetric.cli.summarize._train import train

summarize = App(
    name="summarize",
    help_epilogue=epilogue(
        "summarize",
        "A file or folder that is called train or evaluate is ./train or ./evaluate."
        f"\n\n{ENDINGS}",
    ),
)
summarize.default(_of_files)
_COMMANDS: tuple[Callable[..., int], ...] = train, evaluate
for _place, _command in enumerate(_COMMANDS):
    _ending = epilogue(f"summarize {_command.__name__}", ENDINGS)
    summarize.command(_command, sort_key=_place, help_epilogue=_ending)
