"""``argmetric stream``: the run itself, predict."""

from __future__ import annotations

from cyclopts import App

from argmetric.cli._examples import ENDINGS, epilogue
from argmetric.cli.stream._command import stream as _of_rows
from argmetric.cli.stream._predict import predict

stream = App(
    name="stream",
    help_epilogue=epilogue(
        "stream", f"A file that is called predict is ./predict.\n\n{ENDINGS}"
    ),
)
stream.default(_of_rows)
stream.command(predict, help_epilogue=epilogue("stream predict", ENDINGS))
