"""The commands, each loaded only when it is called."""

from __future__ import annotations

from typing import Any

from cyclopts import App

from argmetric import __version__
from argmetric.cli._examples import ENDINGS, ROWS_ENDINGS, epilogue
from argmetric.cli._values import entries

# Of each its module, and how its help begins; a test compares them.
_TABLE = entries("""
decide: scores._decide Choose the labels that maximise the expected metric, and
    write them to the rows.
forecast: scores._decide Forecast the score of a decision before its labels are
    known.
monitor: scores._monitor Say whether the model is still good, period by period,
    before the labels come.
compare: scores._compare Say which model is better on the same rows, and which
    labels would tell.
report: scores._page Report on a decision: its forecast, and what would change it.
evaluate: scores._decide Score decisions, or one threshold, against the true
    labels.
tune: scores._fit Find the threshold with the best score on labelled rows, and keep
    it as a rule.
calibrate: scores._fit Check probabilities against labels; fit or apply a map
    that recalibrates them.
train: models._train Train a classifier that decides for the metric, and keep it in
    a file.
predict: models._train Score and label new rows by a model of `argmetric train`.
export: _tools Write a rule for a program that does not have argmetric.
expect: _tools Expected utility of one label sequence when the other is
    drawn from a model.
stream: stream._commands Learn from a stream in one pass, for the metric; every row
    is predicted first.
spans: _spans Choose the spans (entities, chunks) with the best expected F-measure.
tag: tag._commands Tag text: chunks, named entities, parts of speech, or two at
    once.
parse: parse._commands Parse sentences: the head of each word, and its relation to
    it.
summarize: summarize._commands Summarise texts in their own words, within a word
    limit.
metrics: _tools List the metrics: formulas, what an empty answer counts, how they
    are computed.
demo: _demo Decide and forecast on generated data, then compare with the actual
    score.
--install-completion: _tools Let the shell complete commands, options and their
    values.
""")
_COMMANDS = {name: text.split(" ", 1) for name, text in _TABLE}
FIRST_LINES = {name: line for name, (_, line) in _COMMANDS.items()}


def make_app(*, listed: bool = False) -> App:
    """Return the application; of one that is only `listed` no command is loaded."""
    made = App(
        name="argmetric",
        version=__version__,
        help="Decide for the metric you are judged by: the labels that maximise the "
        "expected metric, and the score to expect.",
        help_format="markdown",
        suppress_keyboard_interrupt=False,  # `main` answers for it
        help_epilogue=epilogue("", ROWS_ENDINGS),
    )
    for place, (command, (module, _)) in enumerate(_COMMANDS.items()):
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
