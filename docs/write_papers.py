"""Write docs/papers.rst from the results in docs/papers.jsonl.

argmetric papers run -o docs/papers.jsonl       # or some of the claims
python docs/write_papers.py                     # judge by the present rules, and write
python docs/write_papers.py FILE.jsonl ...      # take in the results of files first

Figures are kept as they were measured; words, questions and verdicts are those that the
claims declare now. A file may also hold rows of the table of systems: what
`python benchmarks/search.py table1` prints.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
RESULTS, PAGE = DOCS / "papers.jsonl", DOCS / "papers.rst"
TABLE_1 = DOCS / "papers_table1.jsonl"
VERDICTS = (
    "holds",
    "in part",
    "does not hold",
    "open",
    "not a claim",
    "fast: not decided",
    "not run",
    "failed",
)
ANSWERS = {"so": "✓", "not so": "✗", "open": "?", "left out": "–"}
HEAD = """\
The papers, run again
=====================

What the five papers claim, each claim run by ``argmetric papers run`` and judged by
rules that were declared with it: a figure, and what it has to be. **Click on a claim**
for its figures (✓ passes, ✗ fails, ? open), its data, and the paper's figures.

.. list-table::
   :widths: 22 78
   :class: compact

   * - **holds**
     - Every check passes.
   * - **in part**
     - Some checks pass, others fail or stay open.
   * - **does not hold**
     - Every check fails.
   * - **open**
     - No check passes, and at least one is open: the 95 % interval of its estimate
       contains both answers.
   * - **not a claim**
     - The paper states no such thing, or only defines it; the reason is given.
   * - **fast: not decided**
     - A run with ``--fast`` left a check out or open. Nothing is concluded from a
       part of the checks.

Where the paper's data are not to be had, others stand in, and the row says so: then the
claim is judged, not the paper's figures. The papers were read in texts that a machine
converted from the published pages, so that a wrong symbol may be the conversion's.
Corrections are in :doc:`errata`. Systems of ours that are not the papers', and so have
names of their own, are on :doc:`papers_differences`.

This page is written by ``python docs/write_papers.py`` from the results in
``docs/papers.jsonl``; :doc:`command_line` says how to run them.
"""
TABLE_1_HEAD = """\
Systems of Daumé et al.'s Table 1
---------------------------------

F1 or accuracy in percent, with the standard error over seeds; below it the CPU seconds
of one training and the number of seeds or folds. Measured by ``python
benchmarks/search.py table1 > table1.jsonl`` and taken in by ``python
docs/write_papers.py table1.jsonl``.
"""


def main(files: Sequence[str]) -> int:
    sys.path.insert(0, str(DOCS.parent / "benchmarks"))
    import papers

    stored = {one["name"]: one for one in results()}
    for file in files:
        rows = _lines(Path(file))
        stored |= {one["name"]: one for one in rows if "name" in one}
        if systems := [_system(one) for one in rows if "system" in one]:
            _write(TABLE_1, systems)
    found = []
    for claim in papers.CLAIMS:
        if claim.name not in stored:
            print(f"{claim.name}: no result yet", file=sys.stderr)
            continue
        before = stored.pop(claim.name)
        if problem := stale(claim, before):
            print(f"{claim.name}: {problem}; run it again", file=sys.stderr)
            found.append({"answers": {}, **before})
            continue
        after = papers.runner.judged_again(claim, before)
        found.append(after)
        if after["verdict"] != before["verdict"]:
            told = f"{before['verdict']}, judged again {after['verdict']}"
            print(f"{claim.name}: {told}", file=sys.stderr)
    for name in stored:
        print(f"{name}: no claim any more, dropped", file=sys.stderr)
    _write(RESULTS, found)
    PAGE.write_text(page(found, papers.PAPERS, table_1()), encoding="utf-8")
    return 0


def stale(claim: Any, stored: dict[str, Any]) -> str:
    """Why a stored result is none of the claim that is declared now; else empty."""
    if (stored["data"], stored["seeds"]) != (claim.data, claim.seeds):
        return "other data or seeds are declared than were run"
    measured = stored["ours"].keys() or {ask.figure for ask in claim.asks}
    skipped = {ask.figure for ask in claim.asks if stored["fast"] and ask.full_only}
    missing = {ask.figure for ask in claim.asks} - skipped - measured
    return f"no figure {', '.join(sorted(missing))}" if missing else ""


def results() -> list[dict[str, Any]]:
    return _lines(RESULTS)


def table_1() -> list[dict[str, Any]]:
    return _lines(TABLE_1) if TABLE_1.exists() else []


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(x) for x in path.read_text(encoding="utf-8").splitlines()]


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    lines = [json.dumps(one, ensure_ascii=False) + "\n" for one in rows]
    path.write_text("".join(lines), encoding="utf-8")


def page(
    found: Sequence[dict[str, Any]],
    papers: dict[str, str],
    systems: Sequence[dict[str, Any]] = (),
) -> str:
    """The page: how many of what, a table for each paper, and the tagging systems."""
    parts = [HEAD, _counts(found, papers)]
    for paper, title in papers.items():
        mine = [one for one in found if one["paper"] == paper]
        parts.append("\n".join([title, "-" * len(title), "", *_table(mine)]) + "\n")
    if systems:
        parts += [TABLE_1_HEAD, "\n".join(_systems(systems)) + "\n"]
    return "\n".join(parts)


def _counts(found: Sequence[dict[str, Any]], papers: dict[str, str]) -> str:
    shown = [v for v in VERDICTS if any(one["verdict"] == v for one in found)]
    rows = [["", *shown, "entries"]]
    for paper, title in [*papers.items(), ("", "all")]:
        mine = [one for one in found if one["paper"].startswith(paper)]
        numbers = [sum(one["verdict"] == verdict for one in mine) for verdict in shown]
        rows.append([title.split(":")[0], *map(str, numbers), str(len(mine))])
    return "\n".join(_list_table(rows, widths="30" + " 12" * (len(shown) + 1))) + "\n"


def _table(found: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each claim, which opens to its figures."""
    rows = [["Place", "Claim", "Verdict"]]
    for one in found:
        claim = [
            ".. raw:: html\n\n   <details><summary>\n",
            f"{_plain(one['says'])}\n",
            ".. raw:: html\n\n   </summary>\n",
            *(f"{line}\n" for line in _facts(one)),
            ".. raw:: html\n\n   </details>",
        ]
        rows.append([_plain(one["place"]), "\n".join(claim), one["verdict"]])
    return _list_table(rows, widths="20 64 16", kind="claims")


def _facts(one: dict[str, Any]) -> Iterator[str]:
    """What opens below a claim, a paragraph each."""
    if one["verdict"] in ("not run", "failed", "not a claim"):
        yield f"{one['verdict'].capitalize()}: {_plain(one['why'])}"
    if figures := "\n".join(_figures(one)):
        yield figures
    if one["remark"]:
        yield _plain(one["remark"])
    small = " Small samples (``--fast``)." if one["fast"] else ""
    yield f"Data: {_plain(one['data'])}. Drawn: {_plain(one['seeds'])}.{small}"
    yield f"``argmetric papers run {one['name']}``, {one['cpu_seconds']:.0f} s"


def _figures(one: dict[str, Any]) -> Iterator[str]:
    """A line for each figure: the answer, ours, what was asked, and the paper's."""
    for name, figure in one["ours"].items():
        notes = []
        if name in one["asked"]:
            notes.append(f"asked {one['asked'][name]}")
        if name in one["printed"]:
            notes.append(f"in the paper {_plain(one['printed'][name])}")
        told = f" ({'; '.join(notes)})" if notes else ""
        mark = ANSWERS.get(one["answers"].get(name, ""), "")
        yield f"- {mark} {_plain(name)}: {_value(figure)}{told}"
    for name, printed in one["printed"].items():
        if name not in one["ours"]:
            yield f"- in the paper, {_plain(name)}: {_plain(printed)}"


def _systems(rows: Sequence[dict[str, Any]]) -> list[str]:
    tasks = list(dict.fromkeys(one["task"] for one in rows))
    systems = list(dict.fromkeys(one["system"] for one in rows))
    cells = {(one["system"], one["task"]): _cell(one) for one in rows}
    table = [["System", *map(_plain, tasks)]]
    for system in systems:
        table.append([_plain(system), *(cells.get((system, x), "") for x in tasks)])
    return _list_table(table, widths="24" + " 12" * len(tasks))


def _system(row: dict[str, Any]) -> dict[str, Any]:
    """What the table needs of a row, by the names of the benchmark or by ours."""
    return {
        "task": row["task"],
        "system": row["system"],
        "score": row.get("score", row.get("value")),
        "error": row.get("error", row.get("standard_error")),
        "seconds": row.get("seconds", row.get("cpu_seconds")),
        "seeds": row.get("seeds"),
    }


def _cell(one: dict[str, Any]) -> str:
    if one["score"] is None:
        return ""
    seconds, seeds = one["seconds"], one["seeds"]
    error = f" ± {one['error']:.2f}" if one["error"] else ""
    below = [f"{seconds:.0f} s"] if seconds is not None else []
    below += [f"{seeds} seed{'s' * (seeds != 1)}"] if seeds else []
    return f"{one['score']:.2f}{error}" + (f"\n\n{', '.join(below)}" if below else "")


def _plain(text: str) -> str:
    """Text in which nothing is markup: |θ - θ*|, c_max."""
    return re.sub(r"([*|`_])", r"\\\1", text)


def _value(figure: dict[str, Any]) -> str:
    value = "not finite" if figure["value"] is None else f"{figure['value']:.4g}"
    if figure["interval"] is not None:
        low, high = ("?" if end is None else f"{end:.4g}" for end in figure["interval"])
        value += f", {low} to {high}"
    return value


def _list_table(
    rows: Sequence[Sequence[str]], *, widths: str, kind: str = "compact"
) -> list[str]:
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}"]
    lines += [f"   :class: {kind}", ""]
    for row in rows:
        for i, cell in enumerate(row):
            body = textwrap.indent(cell, " " * 7).lstrip()
            lines.append(f"   {'*' if i == 0 else ' '} - {body}".rstrip())
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
