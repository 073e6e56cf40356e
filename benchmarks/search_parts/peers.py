"""Peers on the same sentences: crfsuite and Vowpal Wabbit's search.

Static templates of argmetric become attributes of the peers one for one; templates that
read labels have no counterpart there. crfsuite has transitions of two labels, Vowpal
Wabbit n-grams of the last three labels.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from zlib import crc32

from argmetric.search.learning import attribute_maker
from argmetric.search.tagging.templates import MEMORY, column_of, read_templates
from argmetric.sequence import standard_features
from search_parts.data import timed

Attributes = Callable[[Sequence[Sequence[str]]], list[list[str]]]
LBFGS = {"c1": 0.1, "c2": 0.1, "max_iterations": 100}
PERCEPTRON = {"max_iterations": 20}
VW_BITS, VW_PASSES = 24, 6


@dataclass(frozen=True)
class Run:
    """What a peer predicts, and what it took."""

    labels: list[list[str]]
    train_seconds: float
    tag_seconds: float


class TemplateAttributes:
    """The static templates of a table as attributes in text."""

    def __init__(self, table: str) -> None:
        self._templates = [
            x
            for x in read_templates(table)
            if not x.labels and all(name != MEMORY for name, _ in x.parts)
        ]
        names = {name for x in self._templates for name, _ in x.parts}
        self._makers = {name: attribute_maker(name) for name in names}
        self._made: dict[str, dict[str, str | None]] = {name: {} for name in names}

    def _values(self, name: str, column: Sequence[str]) -> list[str | None]:
        made, make = self._made[name], self._makers[name]
        for value in column:
            if value not in made:
                made[value] = make(value)
        return [made[value] for value in column]

    def __call__(self, columns: Sequence[Sequence[str]]) -> list[list[str]]:
        n = len(columns[0])
        made = {
            name: self._values(name, columns[column_of(name) or 0])
            for name in self._makers
        }
        rows: list[list[str]] = [[] for _ in range(n)]
        for template in self._templates:
            shifted = [_shifted(made[name], offset) for name, offset in template.parts]
            for i, parts in enumerate(
                zip(*shifted, strict=True) if shifted else [()] * n
            ):
                if None not in parts:
                    rows[i].append(f"{template.text}={'|'.join(parts)}")
        return rows


def _shifted(values: list[str | None], offset: int) -> list[str | None]:
    """Values `offset` places away; beyond the sentence, how far beyond."""
    n = len(values)
    before = [f"<{i}>" for i in range(offset, 0)][:n]
    after = [f"<+{i}>" for i in range(1, offset + 1)][-n:]
    if offset < 0:
        return [*before, *values[: n + offset if n + offset > 0 else 0]]
    return [*values[offset:], *after]


def train_crf(
    sentences: Sequence[Any],
    path: Path,
    attributes: Attributes = standard_features,
    algorithm: str = "lbfgs",
) -> None:
    """Train a model of crfsuite into a file; features are made here."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    for sentence in sentences:
        trainer.append(attributes(sentence.columns), sentence.labels)
    options = LBFGS if algorithm == "lbfgs" else PERCEPTRON
    trainer.set_params(options | {"feature.possible_transitions": True})
    trainer.train(str(path))


def crfsuite(
    train: Sequence[Any],
    test: Sequence[Any],
    attributes: Attributes,
    algorithm: str = "lbfgs",
) -> Run:
    """L-BFGS or averaged perceptron; features are within the times."""
    import pycrfsuite

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        _, train_seconds = timed(lambda: train_crf(train, path, attributes, algorithm))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(path))
        labels, tag_seconds = timed(
            lambda: [tagger.tag(attributes(s.columns)) for s in test]
        )
        tagger.close()
    return Run(labels, train_seconds, tag_seconds)


def vowpal_wabbit(
    train: Sequence[Any],
    test: Sequence[Any],
    attributes: Attributes,
    *options: str,
    bits: int = VW_BITS,
    passes: int = VW_PASSES,
) -> Run:
    """Its search, task sequence; files and features are within the times."""
    import_module("vowpalwabbit")  # missing: an ImportError, as of other peers
    names = sorted({label for s in train for label in s.labels})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def learn() -> None:
            _write(folder / "train", train, attributes, names)
            _vw(folder, "-d", "train", "-f", "model", "-k", "--cache_file", "cache",
                "--search", str(len(names)), "--search_task", "sequence",
                "--search_history_length", "3", "--search_rollout", "none",
                "--search_alpha", "1e-6", "-b", str(bits), "--passes", str(passes),
                "--holdout_off", *options)  # fmt: skip

        _, train_seconds = timed(learn)

        def tag() -> list[list[str]]:
            _write(folder / "test", test, attributes, names)
            _vw(folder, "-d", "test", "-i", "model", "-t", "-p", "found")
            lines = (folder / "found").read_text().splitlines()
            return [[names[int(x) - 1] for x in line.split()] for line in lines if line]

        labels, tag_seconds = timed(tag)
    assert [len(row) for row in labels] == [len(s) for s in test]
    return Run(labels, train_seconds, tag_seconds)


def _write(
    path: Path, sentences: Sequence[Any], attributes: Attributes, names: list[str]
) -> None:
    number = {name: i for i, name in enumerate(names, start=1)}
    with path.open("w") as file:
        for sentence in sentences:
            rows = attributes(sentence.columns)
            for label, row in zip(sentence.labels, rows, strict=True):
                codes = " ".join(str(crc32(a.encode())) for a in row)
                file.write(f"{number.get(label, 1)} | {codes}\n")
            file.write("\n")


def _vw(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "vowpalwabbit", "--quiet", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
