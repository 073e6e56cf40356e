"""Wrong usage and bad input: messages and exit codes."""

import contextlib
import importlib
import io
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am
from argmetric.cli._command import app
from argmetric.cli._values import written_path
from cli_scores import DECIDED, ORDER, P, Y, decisions, write_csv

PAIRS = list(zip(P.tolist(), Y.tolist(), strict=True))


def test_the_mistakes_of_the_table_get_one_line_each(monkeypatch):
    """`python benchmarks/mistakes.py` prints them."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    mistakes = importlib.import_module("mistakes")
    found = dict(mistakes.answers())
    assert list(found) == mistakes.MISTAKES
    assert len(found) >= 78
    for typed, (code, message) in found.items():
        assert code in (1, 2), typed
        assert message.startswith("argmetric: "), typed
        assert "\n" not in message, typed
        # Options as they are typed, no arguments of Python
        assert not re.search(r"\b[a-z]+_?[a-z]*=|`|None|Error", message), typed


def test_decimal_commas_are_read_and_kept(run):
    rows = [f"{i};{str(p).replace('.', ',')};{y}" for i, (p, y) in enumerate(PAIRS)]
    Path("comma.csv").write_text("\n".join(["id;score;label", *rows]) + "\n")
    ended = run("decide", "comma.csv", "--decimal", ",")
    assert ended.code == 0
    decided = [line.rsplit(";", 1) for line in ended.out.splitlines()[1:]]
    assert [row for row, _ in decided] == rows
    assert [int(label) for _, label in decided] == DECIDED.tolist()
    assert run("decide", "comma.csv", "--decimal", ",", "-o", "o.parquet").code == 0
    assert pq.read_table("o.parquet")["score"].to_pylist() == P.tolist()
    call = ("evaluate", "comma.csv", "--threshold", "0.3", "--json")
    assert "decimal comma" in run(*call).err
    score = json.loads(run(*call, "--decimal", ",").out)["actual"]["score"]
    assert score == am.evaluate(Y, P >= 0.3, "f1")


@pytest.mark.parametrize("option", ["--label", "--target"])
def test_the_label_has_two_names_where_a_model_learns(run, option):
    write_csv(bought=Y)
    for command in ("train", "stream"):
        run(command, "scores.csv", option, "bough", "--drop", "id").failed(
            1, "no column 'bough' in scores.csv; did you mean 'bought'?"
        )
    ended = run("stream", "scores.csv", option, "bought", "--drop", "id", "--json")
    assert json.loads(ended.out)["target"] == "bought"


def test_limits_are_whole_numbers_or_percentages(run):
    write_csv(label=Y, order=ORDER)
    for value, count in (("5%", 3), ("+5%", 3), ("4.99%", 2), ("100%", 60), ("3", 3)):
        call = ("decide", "scores.csv", "--max-positives", value, "--json", "-m", "f2")
        wanted = am.decide(P, "f2", max_positives=count)
        assert json.loads(run(*call).out)["n_positives"] == wanted.n_positives
    grouped = ("--group", "order", "--max-positives", "10%")
    assert run("report", "scores.csv", *grouped).code == 0
    for average in ("groups", "pooled"):
        found = run("decide", "scores.csv", *grouped, "--average", average, "--json")
        how = {"groups": ORDER, "average": average, "max_positives": "10%"}
        assert json.loads(found.out)["n_positives"] == am.decide(P, **how).n_positives


@pytest.mark.parametrize("target", ["--output=link.csv", "-osame.csv"])
def test_no_output_overwrites_a_file_that_is_read_by_another_name(run, target):
    write_csv(label=Y)
    Path("link.csv").symlink_to("scores.csv")
    Path("same.csv").hardlink_to("scores.csv")
    before = Path("scores.csv").read_bytes()
    run("decide", "scores.csv", target).failed(2, "is also an input: pass another name")
    assert Path("scores.csv").read_bytes() == before


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_no_file_of_a_metric_overwrites_one_that_is_read(run, option):
    write_csv("a-f1.md", label=Y)
    call = "tune", "a-f1.md", "--format", "csv", option, "a-{metric}.md"
    before = Path("a-f1.md").read_bytes()
    run(*call).failed(2, f"{option} a-f1.md is also an input: pass another name")
    assert Path("a-f1.md").read_bytes() == before
    assert run(*call, "-m", "mcc").code == 0
    assert run(*call, "--force").code == 0
    assert Path("a-f1.md").read_bytes() != before


def commands(app, words=()):
    """Every command with its options, of those that have any."""
    for name in app:
        if not name.startswith("-"):
            inner = app[name]
            with contextlib.suppress(ValueError):  # it only has commands within it
                yield (*words, name), [*inner.assemble_argument_collection()]
            yield from commands(inner, (*words, name))


def test_two_outputs_of_a_command_are_two_files(run):
    """Whatever the command and the pair; an input that is not there is never opened."""
    app.resolved_commands()
    pairs = 0
    for words, options in commands(app):
        written = [x.name for x in options if x.parameter.converter is written_path]
        for one, other in itertools.combinations(written, 2):
            for force in ((), ("--force",)):
                ended = run(*words, one, "a.json", other, "./a.json", *force)
                assert (ended.code, ended.out) == (2, "")
                said = f"{one} a.json and {other} ./a.json are the same file: pass"
                assert said in ended.err
            pairs += 1
    assert pairs >= 6
    assert os.listdir() == []


def test_outputs_are_compared_as_files(run):
    write_csv(label=Y)
    Path("b.json").symlink_to("a.json")
    call = "decide", "scores.csv", "-o"
    ended = run(*call, "a.json", "--report", "b.json")
    assert "-o a.json and --report b.json are the same file" in ended.err
    assert run(*call, "a.json", "--report", "c.json").code == 0
    assert len(Path("a.json").read_text().splitlines()) == len(Y)
    nowhere = run(*call, os.devnull, "--report", os.devnull)  # refused for its name
    assert "the name of a report ends in" in nowhere.err


def test_blanks_around_the_names_of_columns_do_not_count(run):
    Path("s.csv").write_text('id, g, "p" ,y \n1, a, 0.9, 1\n2, b, 0.2, 0\n')
    ended = run("decide", "s.csv", "--group", "g", "-o", "-")
    assert ended.code == 0, ended.err
    assert ended.out == "id,g,p,y,decision\n1, a, 0.9, 1,1\n2, b, 0.2, 0,1\n"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_lines_that_end_in_a_carriage_return_alone(run, encoding):
    rows = "p;y;who\n0.9;1;Zoë\n0.2;0;Al\n0.3;x;Bo\n"
    for name, text in (("lf.csv", rows), ("cr.csv", rows.replace("\n", "\r"))):
        Path(name).write_bytes(text.encode(encoding))
    how = "--encoding", encoding, "-o", "-"
    lf, cr = (run("decide", name, *how) for name in ("lf.csv", "cr.csv"))
    assert cr.code == 0, cr.err
    assert cr.out == lf.out
    assert cr.out.startswith("p;y;who;decision\n0.9;1;Zoë;1\n")
    lf, cr = (run("tune", name, *how[:2]) for name in ("lf.csv", "cr.csv"))
    assert cr.err == lf.err.replace("lf.csv", "cr.csv") != ""


def test_a_file_that_is_read_is_overwritten_by_force(run):
    write_csv(label=Y)
    ended = run("decide", "scores.csv", "-o", "scores.csv", "--force")
    assert ended.code == 0
    assert decisions(Path("scores.csv").read_text()) == DECIDED.tolist()
    # Another file may be there, and force changes nothing else
    write_csv("new.csv")
    assert run("decide", "new.csv", "-o", "scores.csv").code == 0
    assert run("decide", "new.csv", "-o", "none/x.csv", "--force").code == 1
    assert run("decide", "new.csv", "-o", "new.csv").code == 2


def test_binary_rows_are_not_for_a_terminal(run, monkeypatch):
    pq.write_table(pa.table({"score": P}), "scores.parquet")

    class Terminal(io.BytesIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Terminal()))
    run("decide", "scores.parquet").failed(
        1, exactly="parquet is not for a terminal; pass -o FILE or use a pipe"
    )


def test_bugs_show_a_traceback_only_on_demand(run, monkeypatch):
    write_csv()

    def broken(*args, **options):
        raise KeyError("oops")

    monkeypatch.setattr(am, "decide", broken)
    run("decide", "scores.csv").failed(
        1, exactly="unexpected KeyError: 'oops' (run again with --debug)"
    )
    assert "Traceback" in run("decide", "scores.csv", "--debug").err
    monkeypatch.setenv("ARGMETRIC_DEBUG", "1")
    assert "Traceback" in run("decide", "scores.csv").err
    monkeypatch.setenv("ARGMETRIC_DEBUG", "0")
    assert "Traceback" not in run("decide", "scores.csv").err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MemoryError(), 1, "argmetric: not enough memory\n"),
        (KeyboardInterrupt(), 130, "argmetric: interrupted\n"),
        (BrokenPipeError(), 141, ""),
    ],
)
def test_other_ends(run, monkeypatch, error, code, message):
    write_csv()

    def fail(*args, **options):
        raise error

    monkeypatch.setattr(am, "decide", fail)
    ended = run("decide", "scores.csv")
    assert (ended.code, ended.err) == (code, message)


def test_warnings_of_libraries_are_not_shown():
    write_csv()
    code = """
import sys, warnings
import numpy as np
import argmetric as am
from argmetric._ground.validation import warn_user
from argmetric.cli import main

decide = am.decide

def noisy(*args, **options):
    np.array([1.0]) / np.array([0.0])
    warnings.warn("of another package", FutureWarning)
    warn_user("this is ours: pass `logits`")
    return decide(*args, **options)

am.decide = noisy
sys.argv = ["argmetric", *sys.argv[1:]]
sys.exit(main())
"""
    ended = subprocess.run(
        [sys.executable, "-c", code, "decide", "scores.csv", "-o", "out.csv"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "another package" not in ended.stderr
    assert "divide by zero" not in ended.stderr
    assert "argmetric: note: this is ours: pass --logits\n" in ended.stderr
