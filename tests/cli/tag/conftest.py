"""Tagged sentences in files."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from argmetric.cli import main
from cli_tag import QUICK, TEST, TRAIN, columns, text_of, write
from command import Run


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tagger of each task."""
    folder = tmp_path_factory.mktemp("models")
    texts = {
        "chunk": text_of(TRAIN),
        "ner": text_of(TRAIN),
        "pos": columns(TRAIN, 0, 1),
        "joint": text_of(TRAIN),
    }
    for task, text in texts.items():
        path = folder / f"{task}.txt"
        path.write_text(text, encoding="utf-8")
        target = str(folder / f"{task}.tag")
        options = ["--task", task, "--model", target, *QUICK]
        assert main(["tag", "train", str(path), *options]) == 0
    return folder


@pytest.fixture
def run(run: Run) -> Run:
    """Run `argmetric tag` in a folder with small files."""
    write("train.txt", text_of(TRAIN))
    write("test.txt", text_of(TEST))
    return functools.partial(run, "tag")
