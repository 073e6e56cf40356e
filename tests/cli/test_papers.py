"""``argmetric papers``."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from argmetric.cli import main
from argmetric.cli.papers import _commands

FOOTNOTE, THEOREM = "jansche2007-footnote-3", "jansche2007-theorem-1"


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Results, or errors, that the experiments are made to give."""
    given: list[Any] = []

    def run(names: tuple[str, ...], *, fast: bool) -> Any:
        for one in given:
            if isinstance(one, BaseException):
                raise one
            yield one

    with _commands._experiments(None) as experiments:
        monkeypatch.setattr(experiments, "run", run)
        monkeypatch.setattr(experiments, "use_data", lambda data: "data in FOLDER")
        monkeypatch.setattr(experiments, "stored_verdicts", lambda: {THEOREM: "holds"})
    return given


def result(name: str, verdict: str, **ours: float) -> dict[str, Any]:
    figures = {k: {"value": v, "interval": None} for k, v in ours.items()}
    told = {"says": "It is so.", "place": "Page 1", "printed": {"a": ".5"}}
    told |= {"remark": "", "asked": {"a": ">= 0.5"}, "data": "B stands in for A"}
    told |= {"seeds": "one", "cpu_seconds": 1.5}
    why = "not so: a 0.25 (asked >= 0.5)" if ours else "no data"
    return {"name": name, **told, "ours": figures, "verdict": verdict, "why": why}


def test_claims_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "list"]) == 0
    out = capsys.readouterr().out
    assert FOOTNOTE in out
    assert "Footnote 3" in out
    assert main(["papers", "list", "liu2018", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {one["paper"] for one in listed} <= {"liu2018"}


def test_a_failed_experiment_is_told_by_the_exit_code(
    results: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    first = result(THEOREM, "does not hold", a=0.25, b=1.0)
    results += [first, result(FOOTNOTE, "not run")]
    assert main(["papers", "run", THEOREM, FOOTNOTE]) == 0
    told = capsys.readouterr()
    assert [line.rstrip() for line in told.out.splitlines()] == [
        f"{THEOREM}: does not hold",
        "claim    It is so. (Page 1)",
        "data     B stands in for A; drawn: one",
        "not so   a 0.25 (asked >= 0.5)",
        "besides  b 1",
        "paper    a .5",
        f"{FOOTNOTE}: not run",
        "claim  It is so. (Page 1)",
        "data   B stands in for A; drawn: one",
        "why    no data",
        "paper  a .5",
    ]
    assert told.err.splitlines() == [
        "argmetric: data in FOLDER",
        f"argmetric: 1 of 2, 0 s: {THEOREM}",
        f"argmetric: 2 of 2, 0 s: {FOOTNOTE}",
        "argmetric: does not hold 1, not run 1; 3 s of CPU",
        f"argmetric: not run: {FOOTNOTE} (no data)",
        "argmetric: not the paper's own data: B stands in for A",
        f"argmetric: {THEOREM}: does not hold, and in docs/papers.jsonl holds",
    ]
    results[1] = result(FOOTNOTE, "failed")
    assert main(["papers", "run", THEOREM, FOOTNOTE]) == 1


def test_an_interrupted_run_keeps_what_was_done(
    results: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "results.jsonl"
    old = {"name": "liu2018-old", "verdict": "holds"}
    kept.write_text(json.dumps(old) + "\n" + json.dumps({"name": THEOREM}) + "\n")
    results += [result(THEOREM, "holds"), KeyboardInterrupt()]
    asked = ["papers", "run", THEOREM, FOOTNOTE, "-o", str(kept), "--json"]
    assert main(asked) == 130
    printed = [json.loads(x) for x in capsys.readouterr().out.splitlines()]
    assert printed == [result(THEOREM, "holds")]
    lines = [json.loads(x) for x in kept.read_text().splitlines()]
    assert lines == [old, result(THEOREM, "holds")]
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]


def test_what_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["papers", "run", "jansche2007-footnote-4"]) == 2
    assert "did you mean jansche2007-footnote-3" in capsys.readouterr().err
    assert main(["papers", "list", "--benchmarks", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert f"no papers.py in {tmp_path}: the experiments come with the sources" in told
    assert "--benchmarks argmetric/benchmarks" in told
    assert main(["papers", "run", FOOTNOTE, "--data", str(tmp_path / "no")]) == 2
    assert "--data names" in capsys.readouterr().err


def test_a_fast_run_tells_what_it_left_out(
    results: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    results.append(result(THEOREM, "fast: not decided", a=0.25))
    results[0]["why"] += "; left out: b"
    assert main(["papers", "run", THEOREM, "--fast"]) == 0
    told = capsys.readouterr()
    assert "left out  b" in told.out
    assert f"argmetric: decided only without --fast: {THEOREM}" in told.err
    assert "docs/papers.jsonl" not in told.err


def test_a_checkout_is_found_from_any_folder_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = Path(__file__).parents[2] / "benchmarks"
    monkeypatch.chdir(tmp_path)
    assert _commands._folder(None) == beside
    inside = tmp_path / "docs" / "deep"
    inside.mkdir(parents=True)
    (tmp_path / "benchmarks" / "papers_parts").mkdir(parents=True)
    (tmp_path / "benchmarks" / "papers.py").touch()
    monkeypatch.chdir(inside)
    assert _commands._folder(None) == tmp_path / "benchmarks"


def test_outside_of_a_checkout_the_way_to_one_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    installed = tmp_path / "lib" / "site-packages" / "argmetric" / "__init__.py"
    monkeypatch.setattr(_commands.argmetric, "__file__", str(installed))
    assert main(["papers", "run"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"no benchmarks/papers.py in {tmp_path}, above it or beside" in told
    assert "Run `git clone https://github.com/argmetric/argmetric`" in told


def test_the_path_is_left_as_it_was() -> None:
    import sys

    before = list(sys.path)
    with _commands._experiments(None) as experiments:
        assert experiments is importlib.import_module("papers")
    assert sys.path == before
