"""``argmetric tag``: train, predict, evaluate, templates."""

from __future__ import annotations

from collections.abc import Callable

from cyclopts import App

from argmetric.cli._examples import TRAINING_ENDINGS, epilogue
from argmetric.cli.tag._evaluate import evaluate
from argmetric.cli.tag._predict import predict
from argmetric.cli.tag._templates import templates
from argmetric.cli.tag._train import train

tag = App(
    name="tag",
    help="Tag text: chunks, named entities, parts of speech, or two at once.\n\n"
    "Files have a line for each token, its columns separated by blanks or tabs, and an "
    "empty line behind each sentence (CoNLL).",
    help_epilogue=epilogue("tag", TRAINING_ENDINGS),
)
_COMMANDS: tuple[Callable[..., int], ...] = train, predict, evaluate, templates
for _place, _command in enumerate(_COMMANDS):
    _ending = epilogue(f"tag {_command.__name__}", TRAINING_ENDINGS)
    tag.command(_command, sort_key=_place, help_epilogue=_ending)
