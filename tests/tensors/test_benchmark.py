"""The parts of `benchmarks/tensors.py` that train networks, on a miniature input."""

import importlib
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

import argmetric as am
from argmetric.sequence import read_chunks, span_marginals, token_model
from tensors.libraries import library

torch = library("torch")  # skips this file where it is missing


@pytest.fixture
def part(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return lambda name: importlib.import_module(f"tensors_parts.{name}")


class Device:
    name = "cpu"
    torch = torch

    def __init__(self, **options):
        plain = {"small": True, "seeds": 1, "epochs": 1}
        plain |= {"read_scores": None, "write_scores": None}
        self.options = Namespace(**(plain | options))


SAID = (["dijo O"], ["Anabel B-PER", "Ramonita I-PER"], ["Murcia B-LOC"], ["Murcia O"])


def write_corpus(folder):
    """People, and a town whose label is wrong one time in seven."""
    rng = np.random.default_rng(0)
    (folder / "conll2002").mkdir()
    for name in ("train", "testa", "testb"):
        lines = []
        for _ in range(60):
            kinds = rng.choice(4, rng.integers(2, 6), p=[0.35, 0.3, 0.3, 0.05])
            lines += [line for kind in kinds for line in SAID[kind]]
            lines.append("")
        (folder / "conll2002" / f"esp.{name}").write_text("\n".join(lines))


def test_scores_are_written_read_and_decoded(part, monkeypatch, tmp_path):
    write_corpus(tmp_path)
    monkeypatch.setenv("ARGMETRIC_DATA", str(tmp_path))
    small = {"word": 8, "character": 6, "shapes": 8, "hidden": 24}
    monkeypatch.setattr(part("tagger"), "WIDTHS", small)
    monkeypatch.setattr(part("tagger"), "BATCH", 4)
    monkeypatch.setattr(part("tagger"), "RATE", 0.03)
    path, lines = tmp_path / "scores.npz", []

    def say(section, **line):
        lines.append(line)

    part("ner").ner(Device(write_scores=path, epochs=4), say)
    with np.load(path) as scores:
        found = set(scores)
        n = sum(len(words) for words, _ in part("ner").read_parts(True)["b"])
        assert scores["words_0_b"].shape == (n, 4)
        assert scores["all_0_b"].shape[0] > n  # pieces of words
    networks = ("words_0", "first_0", "all_0")
    assert found == {"labels", *(f"{one}_{x}" for one in networks for x in "ab")}
    lines.clear()
    part("ner").ner(Device(read_scores=path), say)
    table = {line["what"]: line["mean"] for line in lines if "what" in line}
    for way in ("argmax", "viterbi", "decode_spans", "recalibrated"):
        assert table[f"f1_{way}"] > 0.85
    kinds = [(one["network"], one.get("subwords")) for one in lines if "slope" in one]
    first, every = ("first_0", "all_0")
    assert kinds == [
        ("words_0", None),
        *((one, how) for one in (first, every) for how in ("first", "mean")),
    ]


def test_pieces_have_four_characters_and_the_number_of_their_word(part):
    pieces, numbers = part("tagger").in_pieces(["Barcelona", "es", "bella"])
    assert pieces == ["Barc", "##elon", "##a", "es", "bell", "##a"]
    assert numbers == [0, 0, 0, 1, 2, 2]


def test_a_label_that_goes_on_with_nothing_begins_a_span(part):
    labels = ["I-PER", "I-PER", "O", "I-LOC", "I-PER", "B-PER", "I-PER"]
    spans = read_chunks(part("ner").lenient(labels))
    assert [(a, b) for a, b, _ in spans] == [(0, 2), (3, 4), (4, 5), (5, 7)]


def test_pieces_of_a_span_and_added_spans_are_told_apart(part):
    names = ["O", "B-PER", "I-PER"]
    p = [[[0.2, 0.6, 0.2], [0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.6, 0.4, 0.0]]]
    spans = span_marginals(token_model(p, names))
    chance = dict(
        zip(
            zip(spans.start.tolist(), spans.stop.tolist(), strict=True),
            spans.probability.tolist(),
            strict=True,
        )
    )
    viterbi = [["B-PER", "I-PER", "O", "O"]]
    other = [["B-PER", "B-PER", "O", "B-PER"]]
    gold = [["B-PER", "I-PER", "O", "B-PER"]]
    assert part("ner").disputed(spans, gold, viterbi, other) == pytest.approx(
        {
            "f2_whole": 1,
            "f2_whole_probability": chance[0, 2],
            "f2_whole_right": 1,
            "f2_pieces": 2,
            "f2_pieces_probability": (chance[0, 1] + chance[1, 2]) / 2,
            "f2_pieces_right": 0,
            "f2_added": 1,
            "f2_added_probability": chance[3, 4],
            "f2_added_right": 1,
        }
    )


def test_f1_of_rows_and_columns_are_those_of_evaluate(part):
    rng = np.random.default_rng(1)
    Y, labels = (rng.random((2, 50, 6)) < 0.2).astype(float)
    Y[0] = labels[0] = 0.0
    rows = am.evaluate(Y, labels, "f1", average="samples", zero_division=1.0)
    assert part("helps").row_f1(Y, labels) == pytest.approx(rows, rel=1e-12)
    column = am.evaluate(Y[:, 0], labels[:, 0])
    assert part("helps").column_f1(Y[:, 0], labels[:, 0]) == pytest.approx(column)


def test_every_network_is_judged_with_and_without_calibration(part, monkeypatch):
    helps, lines = part("helps"), []
    monkeypatch.setattr(helps, "SETS", {"drawn": helps.drawn})
    helps.helps(Device(epochs=6), lambda section, **line: lines.append(line))
    assert len(lines) == 8
    for line in lines:
        for way in ("half", "one_cut", "cut_per_label", "decide", "decide_expected"):
            mean, sd = line[way]
            assert 0.0 < mean < 1.0
            assert sd == 0.0  # of one seed
