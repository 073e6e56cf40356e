"""Programs of Python in a process of their own."""

import os
import subprocess
import sys


def run_program(code, *arguments, fails=False, folder=None, **environment):
    """Return what a program left behind; unless it may fail, its exit code is 0."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | environment,
    )
    assert fails or done.returncode == 0, done.stdout + done.stderr
    return done
