"""Rows of a stream in files."""

from __future__ import annotations

import functools

import pytest

from command import Run


@pytest.fixture
def run(run: Run) -> Run:
    return functools.partial(run, "stream")
