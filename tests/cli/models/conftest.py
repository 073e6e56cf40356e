"""A table to learn from, and what a saved model says of it."""

import os
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

from argmetric.cli import main
from cli_models import write_csv


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads that wait for each other make small work slow on a busy machine."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models that are trained once and only read."""
    folder = tmp_path_factory.mktemp("models")
    before = os.getcwd()
    os.chdir(folder)
    try:
        write_csv("data.csv")
        for kind in ("boosting", "logistic"):
            arguments = ["--model", kind, "--drop", "id", "-o", f"{kind}.skops"]
            assert main(["train", "data.csv", *arguments]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def run(models, run):
    """Run a command in a folder with the models."""
    for name in os.listdir(models):
        Path(name).write_bytes((models / name).read_bytes())
    return run
