"""``argmetric tag``: train, predict, evaluate, templates."""

from __future__ import annotations

from collections.abc import Callable

from cyclopts import App

from argmetric.cli.tag._evaluate import evaluate
from argmetric.cli.tag._predict import predict
from argmetric.cli.tag._templates import templates
from argmetric.cli.tag._train import train

tag = App(
    name="tag",
    help="Tag text: chunks, named entities, parts of speech, or two at once.\n\n"
    "Files have a line for each token, its columns separated by blanks or tabs, and an "
    "empty line behind each sentence (CoNLL).",
    help_epilogue="Exit codes: 0 done, 1 failure, 2 wrong usage, 3 gate not met, 130 "
    "interrupted. `-` is standard input or output. `--debug` (or `ARGMETRIC_DEBUG=1`) "
    "shows the traceback of a failure.",
)
_COMMANDS: tuple[Callable[..., int], ...] = train, predict, evaluate, templates
for _place, _command in enumerate(_COMMANDS):
    tag.command(_command, sort_key=_place)
