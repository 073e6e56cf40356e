"""The commands, each loaded only when it is called."""

from __future__ import annotations

from typing import Any

from cyclopts import App

from argmetric import __version__
from argmetric.cli._examples import ENDINGS, ROWS_ENDINGS, epilogue

_COMMANDS = {
    "decide": "scores._decide",
    "forecast": "scores._decide",
    "monitor": "scores._monitor",
    "report": "scores._page",
    "evaluate": "scores._evaluate",
    "tune": "scores._tune",
    "calibrate": "scores._calibrate",
    "train": "models._train",
    "predict": "models._train",
    "export": "scores._export",
    "expect": "scores._expect",
    "stream": "stream._commands",
    "spans": "_spans",
    "tag": "tag._commands",
    "parse": "parse._commands",
    "summarize": "summarize._commands",
    "metrics": "_metrics",
    "demo": "_demo",
    "--install-completion": "_completion",
}
# How the help of each begins; a test compares them.
FIRST_LINES = {
    "decide": "Choose the labels that maximise the expected metric, and write them to "
    "the rows.",
    "forecast": "Forecast the score of a decision before its labels are known.",
    "monitor": "Say whether the model is still good, period by period, before the "
    "labels come.",
    "report": "Report on a decision: its forecast, and what would change it.",
    "evaluate": "Score decisions, or one threshold, against the true labels.",
    "tune": "Find the threshold with the best score on labelled rows, and keep it as a "
    "rule.",
    "calibrate": "Check probabilities against labels; fit or apply a map that "
    "recalibrates them.",
    "train": "Train a classifier that decides for the metric, and keep it in a file.",
    "predict": "Score and label new rows by a model of `argmetric train`.",
    "export": "Write a rule for a program that does not have argmetric.",
    "expect": "Expected utility of one label sequence when the other is drawn from a "
    "model.",
    "stream": "Learn from a stream in one pass, for the metric; every row is predicted "
    "first.",
    "spans": "Choose the spans (entities, chunks) with the best expected F-measure.",
    "tag": "Tag text: chunks, named entities, parts of speech, or two at once.",
    "parse": "Parse sentences: the head of each word, and its relation to it.",
    "summarize": "Summarise texts in their own words, within a word limit.",
    "metrics": "List the metrics: formulas, what an empty answer counts, how they are "
    "computed.",
    "demo": "Decide and forecast on generated data, then compare with the actual "
    "score.",
    "--install-completion": "Let the shell complete commands, options and their "
    "values.",
}


def make_app(*, listed: bool = False) -> App:
    """Return the application.

    Parameters
    ----------
    listed : bool, optional
        Whether it is only for the list of commands, of which none is loaded then.
    """
    made = App(
        name="argmetric",
        version=__version__,
        help="Decide for the metric you are judged by: the labels that maximise the "
        "expected metric, and the score to expect.",
        help_format="markdown",
        suppress_keyboard_interrupt=False,  # `main` answers for it
        help_epilogue=epilogue("", ROWS_ENDINGS),
    )
    for place, (command, module) in enumerate(_COMMANDS.items()):
        options: dict[str, Any] = {}
        if listed:
            options["help"] = FIRST_LINES[command]
        elif not module.endswith("_commands"):  # a group has an ending of its own
            ending = ENDINGS if command.startswith("-") else ROWS_ENDINGS
            options["help_epilogue"] = epilogue(command, ending)
        if not command.startswith("-"):
            options["sort_key"] = place
        function = command.lstrip("-").replace("-", "_")
        path = f"argmetric.cli.{module}:{function}"
        made.command(path, name=command, **options)
    return made


app = make_app()
