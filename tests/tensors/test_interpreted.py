"""The kernels for a GPU on a CPU, by Triton's interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensors.libraries import library

library("torch")
triton = library("triton")
if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 9):
    pytest.skip("the interpreter of Triton 3.9 is needed", allow_module_level=True)


def test_interpreted_kernels_are_equal_to_their_twins():
    program = Path(__file__).with_name("interpreted.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(program)],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "all equal\n", done.stderr
