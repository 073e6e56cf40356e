"""``argmetric tag``: train, predict, evaluate, templates."""

from __future__ import annotations

from argmetric.cli._examples import TRAINING_ENDINGS
from argmetric.cli._learning import command_group
from argmetric.cli.tag._evaluate import evaluate
from argmetric.cli.tag._predict import predict
from argmetric.cli.tag._train import templates, train

tag = command_group(
    "tag",
    "Tag text: chunks, named entities, parts of speech, or two at once.\n\n"
    "Files have a line for each token, its columns separated by blanks or tabs, and an "
    "empty line behind each sentence (CoNLL).",
    TRAINING_ENDINGS,
    train,
    predict,
    evaluate,
    templates,
)
