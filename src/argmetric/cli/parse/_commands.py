"""``argmetric parse``: train, predict, evaluate."""

from __future__ import annotations

from collections.abc import Callable

from cyclopts import App

from argmetric.cli.parse._evaluate import evaluate
from argmetric.cli.parse._predict import predict
from argmetric.cli.parse._train import train

parse = App(
    name="parse",
    help="Parse sentences: the head of each word, and its relation to it.\n\n"
    "Files are CoNLL-U (.conllu), or have word, tag and head on a line (.dp), with an "
    "empty line behind each sentence; UTF-8.",
    help_epilogue="Exit codes: 0 done, 1 failure, 2 wrong usage, 3 gate not met, 130 "
    "interrupted. `-` is standard input or output. `--debug` (or `ARGMETRIC_DEBUG=1`) "
    "shows the traceback of a failure.",
)
_COMMANDS: tuple[Callable[..., int], ...] = train, predict, evaluate
for _place, _command in enumerate(_COMMANDS):
    parse.command(_command, sort_key=_place)
