"""Write docs/papers.rst from the results in docs/papers.jsonl.

argmetric papers run -o docs/papers.jsonl       # or some of the claims, or --fast
python docs/write_papers.py
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
VERDICTS = ("holds", "in part", "does not hold", "not run", "failed")
HEAD = """\
The papers, run again
=====================

What the five papers claim, each claim run by ``argmetric papers run`` and judged by a
rule that was declared with it: the figure that is asked for, and what it has to be. All
questions of a claim answered *so*: it holds; all *not so*: it does not; else it holds
in part. A question is *open* where the 95 % interval of an estimate has both answers in
it. Where the paper's data are not to be had, others stand in, as it is said there: then
it is the claim that is judged, not the paper's figures. A claim marked *small samples*
was run with ``--fast``. Corrections of what does not hold are in :doc:`errata`.

This page is written by ``python docs/write_papers.py`` from the results in
``docs/papers.jsonl``; :doc:`command_line` says how to run them.
"""


def main() -> int:
    sys.path.insert(0, str(DOCS.parent / "benchmarks"))
    from papers_parts.claim import PAPERS

    PAGE.write_text(page(results(), PAPERS), encoding="utf-8")
    return 0


def results() -> list[dict[str, Any]]:
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def page(found: Sequence[dict[str, Any]], papers: dict[str, str]) -> str:
    """The page: how many of what, then a table for each paper."""
    parts = [HEAD, _counts(found, papers)]
    for paper, title in papers.items():
        mine = [one for one in found if one["paper"] == paper]
        parts.append("\n".join([title, "-" * len(title), "", *_table(mine)]) + "\n")
    return "\n".join(parts)


def _counts(found: Sequence[dict[str, Any]], papers: dict[str, str]) -> str:
    shown = [v for v in VERDICTS if any(one["verdict"] == v for one in found)]
    rows = [["", *shown, "claims"]]
    for paper, title in [*papers.items(), ("", "all")]:
        mine = [one for one in found if one["paper"].startswith(paper)]
        numbers = [sum(one["verdict"] == verdict for one in mine) for verdict in shown]
        rows.append([title.split(":")[0], *map(str, numbers), str(len(mine))])
    return "\n".join(_list_table(rows, widths="30" + " 12" * (len(shown) + 1))) + "\n"


def _table(found: Sequence[dict[str, Any]]) -> list[str]:
    rows = [["Claim", "Here", "Verdict"]]
    for one in found:
        small = "; small samples" if one["fast"] else ""
        claim = f"*{one['place']}*. {_plain(one['says'])}\n\n``{one['name']}``"
        if one["data"] != "generated" or one["seeds"] != "none":
            claim += f"\n\nData: {_plain(one['data'])}; drawn: {one['seeds']}{small}."
        verdict = f"**{one['verdict']}**"
        if one["verdict"] in ("not run", "failed"):
            verdict += f": {_plain(one['why'])}"
        if one["remark"]:
            verdict += f". {_plain(one['remark'])}"
        rows.append([claim, "\n".join(_figures(one)), verdict])
    return _list_table(rows, widths="38 40 22")


def _figures(one: dict[str, Any]) -> Iterator[str]:
    """A line for each figure: ours, what was asked, and the paper's."""
    for name, figure in one["ours"].items():
        notes = []
        if name in one["asked"]:
            notes.append(f"asked {one['asked'][name]}")
        if name in one["printed"]:
            notes.append(f"in the paper {one['printed'][name]}")
        told = f" ({'; '.join(notes)})" if notes else ""
        yield f"- {_plain(name)}: {_value(figure)}{told}"
    for name, printed in one["printed"].items():
        if name not in one["ours"]:
            yield f"- in the paper, {_plain(name)}: {printed}"


def _plain(text: str) -> str:
    """Text in which nothing is markup: |θ - θ*|, c_max."""
    return re.sub(r"([*|`_])", r"\\\1", text)


def _value(figure: dict[str, Any]) -> str:
    value = "not finite" if figure["value"] is None else f"{figure['value']:.4g}"
    if figure["interval"] is not None:
        low, high = ("?" if end is None else f"{end:.4g}" for end in figure["interval"])
        value += f", {low} to {high}"
    return value


def _list_table(rows: Sequence[Sequence[str]], *, widths: str) -> list[str]:
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for row in rows:
        for i, cell in enumerate(row):
            body = textwrap.indent(cell, " " * 7).lstrip()
            lines.append(f"   {'*' if i == 0 else ' '} - {body}".rstrip())
    return lines


if __name__ == "__main__":
    sys.exit(main())
