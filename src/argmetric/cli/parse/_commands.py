"""``argmetric parse``: train, predict, evaluate."""

from __future__ import annotations

from collections.abc import Callable

from cyclopts import App

from argmetric.cli._examples import TRAINING_ENDINGS, epilogue
from argmetric.cli.parse._evaluate import evaluate
from argmetric.cli.parse._predict import predict
from argmetric.cli.parse._train import train

parse = App(
    name="parse",
    help="Parse sentences: the head of each word, and its relation to it.\n\n"
    "Files are CoNLL-U (.conllu), or have word, tag and head on a line (.dp), with an "
    "empty line behind each sentence; UTF-8.",
    help_epilogue=epilogue("parse", TRAINING_ENDINGS),
)
_COMMANDS: tuple[Callable[..., int], ...] = train, predict, evaluate
for _place, _command in enumerate(_COMMANDS):
    _ending = epilogue(f"parse {_command.__name__}", TRAINING_ENDINGS)
    parse.command(_command, sort_key=_place, help_epilogue=_ending)
