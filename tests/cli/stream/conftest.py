"""Rows of a stream in files."""

import functools

import pytest


@pytest.fixture
def run(run):
    return functools.partial(run, "stream")
