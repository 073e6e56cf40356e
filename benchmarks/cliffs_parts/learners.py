"""Cells of the verbs that fit, decode or read."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

import argmetric as am
from argmetric import search, sequence, stream
from cliffs_parts.cells import Cell, probabilities


def learner_cells(*, quick: bool) -> Iterator[Cell]:
    yield from calibration_cells(quick=quick)
    yield from sequence_cells(quick=quick)
    yield from search_cells(quick=quick)
    yield from model_cells(quick=quick)
    yield from file_cells(quick=quick)


def _scored(rows: int, positives: str = "10%") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rows)
    p = probabilities(rows, 1, positives, rng)
    return rng.random(rows) < p, p


def calibration_cells(*, quick: bool) -> Iterator[Cell]:
    sizes = (1_000, 100_000) if quick else (1_000, 10_000, 100_000, 1_000_000)

    def calibrate(rows: int) -> Callable[[int], Callable[[], Any]]:
        def build(_: int) -> Callable[[], Any]:
            y, p = _scored(rows)
            return lambda: am.calibrate(y, p)

        return build

    def check(rows: int, metric: str) -> Callable[[int], Callable[[], Any]]:
        def build(_: int) -> Callable[[], Any]:
            y, p = _scored(rows)
            return lambda: am.calibration_check(y, p, metric)

        return build

    for rows in sizes:
        layout = "one vector"
        yield Cell("calibrate", "", rows, "10%", layout, calibrate(rows), False)
        for metric in ("f1", "mcc", "gmean"):
            make = check(rows, metric)
            yield Cell("calibration_check", metric, rows, "10%", layout, make, False)


def sequence_cells(*, quick: bool) -> Iterator[Cell]:
    def decode(length: int, metric: str) -> Callable[[int], Callable[[], Any]]:
        def build(_: int) -> Callable[[], Any]:
            rng = np.random.default_rng(length)
            steps = rng.dirichlet((2.0, 2.0), (length - 1, 2))
            chain = sequence.MarkovChain([0.7, 0.3], steps)
            return lambda: sequence.decode(metric, chain)

        return build

    lengths = (20, 100) if quick else (5, 20, 50, 100, 200, 400)
    for metric in ("f1", "mcc", "accuracy"):
        for length in lengths:
            make = decode(length, metric)
            yield Cell("sequence.decode", metric, length, "", "one chain", make, False)

    def spans(length: int) -> Callable[[int], Callable[[], Any]]:
        def build(count: int) -> Callable[[], Any]:
            rng = np.random.default_rng(length)
            pairwise = rng.normal(size=(len(TAGS), len(TAGS)))
            models = [
                sequence.LinearChainCRF(rows, pairwise, TAGS)
                for rows in rng.normal(size=(count, length, len(TAGS)))
            ]
            return lambda: sequence.decode_spans(models)

        return build

    for length in (5, 20, 200) if quick else (2, 5, 20, 50, 100, 200, 500):
        yield Cell("decode_spans", "f1", length, "", "sentences", spans(length))


TAGS = ("O", "B-A", "I-A", "B-B", "I-B")


def search_cells(*, quick: bool) -> Iterator[Cell]:
    def searn(length: int) -> Callable[[int], Callable[[], Any]]:
        def build(count: int) -> Callable[[], Any]:
            rng = np.random.default_rng(length)
            letters = rng.choice(list("abcdefghij"), (count, length))
            words = ["".join(row) for row in letters]
            kinds = ["".join("v" if x in "aei" else "c" for x in w) for w in words]
            model = search.Searn(
                search.SequenceLabelling("cv"), iterations=2, random_state=0
            )
            return lambda: model.fit(words, kinds)

        return build

    for length in (10,) if quick else (5, 20, 100):
        yield Cell("Searn", "", length, "", "words", searn(length))


def model_cells(*, quick: bool) -> Iterator[Cell]:
    rows = 10_000

    def logistic(columns: int, objective: str) -> Callable[[int], Callable[[], Any]]:
        def build(_: int) -> Callable[[], Any]:
            X, y = _features(rows, columns)
            model = am.MetricLogisticRegression(metric="f1", objective=objective)
            return lambda: model.fit(X, y)

        return build

    def online(columns: int, **options: Any) -> Callable[[int], Callable[[], Any]]:
        def build(_: int) -> Callable[[], Any]:
            X, y = _features(rows, columns)
            return lambda: stream.OnlineClassifier(metric="f1", **options).partial_fit(
                X, y, classes=[0, 1]
            )

        return build

    for columns in (10, 60) if quick else (2, 10, 60, 300):
        for objective in ("soft", "expected"):
            make = logistic(columns, objective)
            name = "MetricLogisticRegression"
            layout = f"{columns} features, {objective}"
            yield Cell(name, "f1", rows, "20%", layout, make, False)
        make = online(columns)
        layout = f"{columns} features, mixture"
        yield Cell("OnlineClassifier", "f1", rows, "20%", layout, make, False)


def _features(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(columns)
    X = rng.normal(size=(rows, columns))
    score = X @ rng.normal(size=columns) / np.sqrt(columns) - 1.5
    return X, (rng.random(rows) < 1 / (1 + np.exp(-2 * score))).astype(np.int64)


def file_cells(*, quick: bool) -> Iterator[Cell]:
    rows = 100_000

    def decide_file(kind: str, grouped: bool) -> Callable[[int], Callable[[], Any]]:
        def build(_: int) -> Callable[[], Any]:
            import pyarrow as pa
            from pyarrow import csv, parquet

            folder = Path(tempfile.mkdtemp(prefix="cliffs-"))
            _, p = _scored(rows)
            table = pa.table({"order": np.arange(rows) // 20, "p": p})
            source, target = folder / f"in.{kind}", folder / f"out.{kind}"
            if kind == "csv":
                csv.write_csv(table, str(source))
            else:
                parquet.write_table(table, str(source))
            command = ["decide", str(source), "-o", str(target)]
            if grouped:
                command += ["--group", "order", "--average", "groups"]
            return lambda: _run(command)

        return build

    for kind in ("csv", "parquet"):
        for grouped in (False, True):
            layout = f"{kind}, {'groups of 20' if grouped else 'one vector'}"
            make = decide_file(kind, grouped)
            yield Cell("files", "f1", rows, "10%", layout, make, False)


def _run(command: list[str]) -> None:
    from argmetric.cli._command import app

    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        app(command, result_action="return_value")
