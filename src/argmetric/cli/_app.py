"""The commands, each loaded only when it is called."""

from __future__ import annotations

from cyclopts import App

from argmetric import __version__
from argmetric.cli._examples import ENDINGS, ROWS_ENDINGS, epilogue

_COMMANDS = {
    "decide": "scores._decide",
    "forecast": "scores._forecast",
    "report": "scores._page",
    "evaluate": "scores._evaluate",
    "tune": "scores._tune",
    "calibrate": "scores._calibrate",
    "train": "models._train",
    "predict": "models._predict",
    "expect": "scores._expect",
    "stream": "stream._commands",
    "spans": "_spans",
    "tag": "tag._commands",
    "parse": "parse._commands",
    "summarize": "summarize._commands",
    "papers": "papers._commands",
    "metrics": "_metrics",
    "demo": "_demo",
}

app = App(
    name="argmetric",
    version=__version__,
    help="Decide for the metric you are judged by: the labels that maximise the "
    "expected metric, and the score to expect.",
    help_format="markdown",
    suppress_keyboard_interrupt=False,  # `main` answers for it
    help_epilogue=epilogue("", ROWS_ENDINGS),
)
for _place, (_command, _module) in enumerate(_COMMANDS.items()):
    _is_group = _module.endswith("_commands")  # which has an ending of its own
    _ending = {} if _is_group else {"help_epilogue": epilogue(_command, ROWS_ENDINGS)}
    app.command(
        f"argmetric.cli.{_module}:{_command}",
        name=_command,
        sort_key=_place,
        **_ending,
    )
app.command(
    "argmetric.cli._completion:install_completion",
    name="--install-completion",
    help_epilogue=epilogue("--install-completion", ENDINGS),
)
