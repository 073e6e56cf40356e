"""``argmetric --install-completion``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from argmetric._results.whole_files import writing
from argmetric.cli._errors import DONE, UsageError, say
from argmetric.cli._options import FilePath


def install_completion(
    *,
    shell: Literal["bash", "zsh", "fish", "powershell"] | None = None,
    output: Annotated[FilePath | None, Parameter(alias="-o")] = None,
) -> int:
    """Let the shell complete commands, options and their values.

    The script goes where the shell looks for it, and a line that loads it to the file
    that the shell reads when it starts, if there is none yet.

    Parameters
    ----------
    shell
        The shell. By default the one that this runs in.
    output
        Write the script to this file alone, or for - to standard output.
    """
    from cyclopts.completion.detect import ShellDetectionError

    from argmetric.cli._app import app

    app.resolved_commands()
    try:
        if output == "-":
            sys.stdout.write(app.generate_completion(shell=shell))
            return DONE
        path = None if output is None else Path(output)
        with writing(output or "the script"):
            written = app.install_completion(
                shell=shell, output=path, add_to_startup=path is None
            )
    except ShellDetectionError:
        raise UsageError(
            f"which shell is this ({os.environ.get('SHELL', 'unknown')})? Pass --shell "
            "bash, zsh, fish or powershell"
        ) from None
    say(f"written: {written}; a new shell completes `argmetric `")
    return DONE
