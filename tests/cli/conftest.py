"""Every test of the command line runs in an empty folder of its own."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from command import Run


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    # Files that a test writes without asking for a folder came back into the root twice
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def answer(run: Run) -> Callable[..., Any]:
    """Run a command line with ``--json``, and return what it prints."""
    return lambda line, *more: json.loads(run(*line.split(), *more, "--json").out)
