"""The commands, each loaded only when it is called."""

from __future__ import annotations

from cyclopts import App

from argmetric import __version__

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
    "stream": "stream._command",
    "spans": "_spans",
    "tag": "tag._commands",
    "parse": "parse._commands",
    "summarize": "summarize._commands",
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
    help_epilogue="Exit codes: 0 done, 1 failure, 2 wrong usage, 3 gate not met.\n\n"
    "Files: CSV, TSV and JSONL (also .gz, .zst), Parquet, Arrow (Feather), Excel; `-` "
    "is standard input or output. `--debug` (or `ARGMETRIC_DEBUG=1`) shows the "
    "traceback of a failure.",
)
for _place, (_command, _module) in enumerate(_COMMANDS.items()):
    app.command(f"argmetric.cli.{_module}:{_command}", name=_command, sort_key=_place)
