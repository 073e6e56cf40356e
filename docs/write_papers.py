"""Write docs/papers.rst from the results in docs/papers.jsonl.

argmetric papers run -o docs/papers.jsonl       # or some of the claims
python docs/write_papers.py                     # judge by the present rules, and write
python docs/write_papers.py FILE.jsonl ...      # take in the results of files first

Figures are kept as they were measured; words, questions and verdicts are those that the
claims declare now. A file may also hold rows of the table of systems, which replace
those of the same task: what `python benchmarks/table1.py FILE.jsonl --summary` prints.
"""

from __future__ import annotations

import json
import re
import statistics
import string
import sys
import textwrap
from collections import Counter
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
    "not contradicted",
    "not testable",
    "fast: not decided",
    "not run",
    "failed",
)
ANSWERS = {"so": "✓", "not so": "✗", "open": "?", "left out": "–"}
HEAD = """\
The papers, run again
=====================

``make papers`` re-runs the claims of five papers and reports which hold. Each
claim was declared with its checks: a figure, and what it has to be. **Click on a
claim** to see its result and its name. ``python benchmarks/papers.py NAME`` runs it
again and prints every figure, the data and the samples.

.. csv-table::
   :widths: 22 78
   :class: compact

   "**holds** 3/3","Every check passes (✓), three of three."
   "**in part**","Some checks pass; others fail (✗) or stay open (?)."
   "**does not hold**","Every check fails."
   "**open**","No check passes, and a 95 % interval contains both answers."
   "**not contradicted**","Every check passes, and would without a term of the claim."
   "**not testable**","What the claim is about is not at hand."

A result is our value, the 95 % interval of a check in brackets, and the paper's value.
Where a paper's data cannot be obtained, other data stand in: then the claim is checked,
not the paper's values. :doc:`errata` lists corrections, and :doc:`papers_differences`
our own systems.
"""
TABLE_1_HEAD = """\
Systems of Daumé et al.'s Table 1
---------------------------------

F1 or accuracy in percent (the bottom half of the table), the standard error over seeds
or folds, and their number in parentheses. ``python benchmarks/table1.py FILE.jsonl``
runs cells, and with ``--summary`` prints these figures. *Chunk at a time* is the
paper's setting for chunks and entities: an action is a type and a length, six words at
most; the features are ours. Tasks of *1,000 sentences* learn from the first 1,000 and
are judged on the whole test set. Rows show the last iteration; none is chosen by its
score. MEMM is the first iteration of SEARN. *SVM, quadratic kernel* is ``SVC`` of
degree 2 on pixels and the letter before, with C (0.3, 1 or 3) chosen on a quarter of
the training words, and three iterations. *Pairs of pixels* are features of a linear
learner, without products with the letter before. *NER, small* has 300 sentences to
learn from. Joint labels see the last two; *four labels back* has the features of
section 6.1.4. Empty cells were not run.
"""
TABLE_1_GAINS = """\
What systems gain over others, in points, over the seeds or folds that both have; with
standard errors where there are several. With beam 10, the paper's setting, SEARN gains
a point or more over its first iteration on large letters only, and 0.4 points at most
elsewhere. LOLS and AggreVaTe lose on small letters. LOLS with a coin for each
action, as published, loses on entities, too; elsewhere they lead by some half a point
at most. The expected loss over the coin wins back 0.7 points on small letters. Weighted
all pairs with costing gain 1 and 2 points on letters and lose 3 to 9 on text. Costs by
F1 differ between sentences: a draw keeps 13 % of the rows of 300 sentences of chunks,
and all of the letters. Three are drawn; twenty (``DRAWS`` of ``search_parts/searn.py``)
win back 2.8 points of entities and 0.7 of chunks from 1,000 sentences. With these
features, chunk at a time is below word at a time on all chunks and entities. A
quadratic kernel adds 6.0 points to SEARN with a linear SVM on small letters. On 300
sentences SEARN is 6 to 7 points above independent labels. The paper's 94.47 for chunks
and 87.6 for small letters (quadratic kernel) are not reached.
"""
_SEARN, _BEAM = "SEARN β = 1", "beam 10"
_KERNEL = "SVM, quadratic kernel"
_COIN = "LOLS, a coin for each action"
GAINS = (
    (_SEARN, "MEMM"),
    (f"{_SEARN}, {_BEAM}", f"MEMM, {_BEAM}"),
    (f"{_SEARN}, {_BEAM}", _SEARN),
    (f"{_SEARN}, weighted all pairs with costing, {_BEAM}", f"{_SEARN}, {_BEAM}"),
    (f"{_SEARN}, {_KERNEL}, {_BEAM}", f"MEMM, {_KERNEL}, {_BEAM}"),
    (f"{_SEARN}, {_KERNEL}, {_BEAM}", f"{_SEARN}, SVM, {_BEAM}"),
    (f"LOLS, {_BEAM}", f"{_SEARN}, {_BEAM}"),
    (f"{_COIN}, {_BEAM}", f"{_SEARN}, {_BEAM}"),
    (f"LOLS, {_BEAM}", f"{_COIN}, {_BEAM}"),
    (f"AggreVaTe, {_BEAM}", f"{_SEARN}, {_BEAM}"),
)
TABLE_1_WHOLE = """\
Sequences that are right as a whole, in percent (the top half of the table). Rows *for
whole sequences* are trained for that loss. With beam 10 they get more of them right on
large letters, and there no more than the first iteration, and on 300 sentences.
"""


def main(files: Sequence[str]) -> int:
    sys.path.insert(0, str(DOCS.parent / "benchmarks"))
    import papers

    stored = {one["name"]: one for one in results()}
    for file in files:
        rows = _lines(Path(file))
        stored |= {one["name"]: one for one in rows if "name" in one}
        if systems := [_system(one) for one in rows if "system" in one]:
            kept = {(one["task"], one["system"]): one for one in [*table_1(), *systems]}
            _write(TABLE_1, list(kept.values()))
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
    asks = [*claim.asks, *claim.deleted]
    measured = stored["ours"].keys() or {ask.figure for ask in asks}
    skipped = {ask.figure for ask in asks if stored["fast"] and ask.full_only}
    missing = {ask.figure for ask in asks} - skipped - measured
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
        notes = _notes(mine)
        lines = [title, "-" * len(title), ""]
        lines += [f"- {mark}: {_plain(text)}" for text, mark in notes.items()]
        lines += [""] if notes else []
        parts.append("\n".join([*lines, *(_claim(one, notes) for one in mine)]))
    if systems:
        parts += [TABLE_1_HEAD, "\n".join(_systems(systems, "score", "error")) + "\n"]
        parts += [f"{told}\n" for told in [_not_run(systems)] if told]
        if table := _gains(systems):
            parts += [TABLE_1_GAINS, "\n".join(table) + "\n"]
        whole = [one for one in systems if one.get("whole") is not None]
        table = _systems(whole, "whole", "whole_error")
        parts += [TABLE_1_WHOLE, "\n".join(table) + "\n"] if whole else []
    return "\n".join(parts)


def _counts(found: Sequence[dict[str, Any]], papers: dict[str, str]) -> str:
    shown = [v for v in VERDICTS if any(one["verdict"] == v for one in found)]
    rows = [["paper", *shown, "entries"]]
    for paper, title in [*papers.items(), ("", "all")]:
        mine = [one for one in found if one["paper"].startswith(paper)]
        numbers = [sum(one["verdict"] == verdict for one in mine) for verdict in shown]
        rows.append([title.split(":")[0], *map(str, numbers), str(len(mine))])
    return "\n".join(_csv_table(rows)) + "\n"


def _notes(found: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Long texts that several claims of a paper share, with the marks A, B, C ..."""
    shared = Counter(text for one in found for text in _words(one))
    kept = [x for x, n in shared.items() if n > 1 and len(x.split()) > 3]
    return dict(zip(kept, string.ascii_uppercase, strict=False))


def _words(one: dict[str, Any]) -> list[str]:
    """The data of a claim, unless generated, and the sentences of its remark."""
    texts = [] if one["data"].startswith("generated") else [f"Data: {one['data']}."]
    if not one["fast"]:
        texts = [re.sub(r" \(fast: [^)]*\)", "", text) for text in texts]
    return [*texts, *re.split(r"(?<=\.) (?=[A-ZΘθ])", one["remark"])]


def _claim(one: dict[str, Any], notes: dict[str, str]) -> str:
    """A line, which opens to the result."""
    facts = textwrap.indent("\n\n".join(_facts(one, notes)), "   ")
    passed = f" {[*one['answers'].values()].count('so')}/{len(one['answers'])}"
    verdict = one["verdict"] + (passed if one["answers"] else "")
    line = "; ".join([verdict, _plain(one["place"]), _plain(one["says"])])
    return f".. claim:: {line}\n\n{facts}\n"


def _facts(one: dict[str, Any], notes: dict[str, str]) -> Iterator[str]:
    """What opens below a claim, a paragraph each."""
    if one["verdict"] in ("not run", "failed", "not testable"):
        yield f"{one['verdict'].capitalize()}: {_plain(one['why'])}"
    if one["verdict"] == "not contradicted":
        yield f"Passes too: {_plain(one['why'].partition('; not seen: ')[2])}"
    if one["verdict"] == "holds":
        yield from filter(None, [_passed(one)])
    elif figures := "\n".join(_figures(_not_passed(one))):
        yield figures
    if extra := "\n".join(_only_printed(one)):
        yield extra
    words = [text for text in _words(one) if text]
    marks = [notes[text] for text in words if text in notes]
    told = [_plain(text) for text in words if text not in notes]
    if one["verdict"] == "holds":
        told = [text for text in told if re.search("errat|count|means", text)]
    told += ["Note" + "s" * (len(marks) > 1) + f" {', '.join(marks)}."] if marks else []
    told += ["Fast run."] if one["fast"] else []
    yield " ".join([*told, f"``{one['name']}``"])


def _passed(one: dict[str, Any]) -> str:
    """A measured figure of a claim that holds; empty for a claim of mathematics."""
    asked = [name for name in one["asked"] if name in one["ours"]]
    measured = [name for name in asked if one["ours"][name]["interval"] is not None]
    shown = [name for name in asked if name in one["printed"]] or measured
    return _told(one, shown[0], named=True) if shown else ""


def _not_passed(one: dict[str, Any]) -> dict[str, Any]:
    """The result without checks that pass, unless the paper prints their figures."""
    passed = {name for name, answer in one["answers"].items() if answer == "so"}
    kept = {k: x for k, x in one["ours"].items() if k not in passed - {*one["printed"]}}
    return {**one, "ours": kept}


def _figures(one: dict[str, Any]) -> Iterator[str]:
    """The checks, and the figures that the paper prints: a list, or a shorter table."""
    shown = [x for x in one["ours"] if x in one["asked"] or x in one["printed"]]
    listed = {name: f"- {_told(one, name, named=True)}" for name in shown}
    ways = [list(listed.values())]
    for split in (_FIRST, _LAST, _MIDDLE):
        cells = _cells(shown, split)
        single = [line for name, line in listed.items() if name not in cells.values()]
        if table := _crossed(one, cells):
            ways.append([*single, *[""][: len(single)], *table])
    yield from min(ways, key=lambda lines: len(" ".join(lines).split()))


def _only_printed(one: dict[str, Any]) -> Iterator[str]:
    """What the paper prints and we have no figure for."""
    for name, printed in one["printed"].items():
        if name not in one["ours"]:
            yield f"- {_plain(name)}: {_plain(printed)} in the paper"


# Commas between the parts of a name; none in Beta(1/2, 1/2), nor before a unit.
_COMMA = re.compile(r", (?![^(]*\)|%|β =|T =|small|300)")
_FIRST = re.compile(rf"(?P<row>.*?){_COMMA.pattern}(?P<column>.*)")
_LAST = re.compile(rf"(?P<row>.*){_COMMA.pattern}(?P<column>.*)")
_MIDDLE = re.compile(rf"(?P<column>.*?){_COMMA.pattern}(?P<row>.*){_COMMA.pattern}(.*)")
MOST_COLUMNS = 4


def _cells(names: Sequence[str], split: re.Pattern[str]) -> dict[tuple[str, str], str]:
    """Figures by two parts of their names, each of which another figure shares."""
    cells = {}
    for name in names:
        if place := split.fullmatch(name):
            column = ", ".join([place["column"], *place.groups()[2:]])
            cells[place["row"], column] = name
    used = Counter(part for place in cells for part in place)
    return {
        place: name
        for place, name in cells.items()
        if used[place[0]] > 1 or used[place[1]] > 1
    }


def _crossed(one: dict[str, Any], cells: dict[tuple[str, str], str]) -> list[str]:
    """The figures as a table; empty if it would have too many columns."""
    if not cells:
        return []
    if len({column for _, column in cells}) > MOST_COLUMNS:
        cells = {(column, row): name for (row, column), name in cells.items()}
    rows, columns = (list(dict.fromkeys(x)) for x in zip(*cells, strict=True))
    if len(columns) > MOST_COLUMNS:
        return []
    along = {x: _rule(one, [n for (r, _), n in cells.items() if r == x]) for x in rows}
    down = {
        y: _rule(one, [n for (_, c), n in cells.items() if c == y]) for y in columns
    }
    in_cells = None in down.values() and None in along.values()
    if None in along.values() or (None not in down.values() and len(rows) > 1):
        along = dict.fromkeys(rows, "")
    if in_cells or any(along.values()):
        down = dict.fromkeys(columns, "")
    ends = {row.rpartition(", ")[2] for row in rows}
    end = ends.pop() if len(ends) == 1 < len(rows) else ""
    table = [[_plain(end) or "check", *(f"{_plain(y)}{down[y]}" for y in columns)]]
    for row in rows:
        names = [cells.get((row, y), "") for y in columns]
        told = [name and _told(one, name, ruled=in_cells) for name in names]
        table.append([f"{_plain(row.removesuffix(f', {end}'))}{along[row]}", *told])
    return _csv_table(table)


def _rule(one: dict[str, Any], names: Sequence[str]) -> str | None:
    """What is asked of each of these figures, in parentheses; None if it differs."""
    asked = {one["asked"].get(name, "") for name in names}
    if len(asked) > 1:
        return None
    told = asked.pop().replace("<=", "≤").replace(">=", "≥")
    low, _, high = told.partition(" to ")
    told = low if low == high else told
    return f" ({told})" if told else ""


def _told(
    one: dict[str, Any], name: str, *, named: bool = False, ruled: bool = False
) -> str:
    """The answer, our value and the paper's."""
    figure = one["ours"][name]
    if name not in one["asked"]:
        figure = {**figure, "interval": None}
    mark = ANSWERS.get(one["answers"].get(name, ""), "")
    check = f"{_plain(name)}{_rule(one, [name])}: " if named else ""
    rule = _rule(one, [name]) if ruled else ""
    printed = one["printed"].get(name)
    paper = f", paper {_plain(printed)}" if printed else ""
    return f"{mark} {check}{_value(figure)}{rule}{paper}".lstrip()


def _systems(rows: Sequence[dict[str, Any]], score: str, error: str) -> list[str]:
    tasks = list(dict.fromkeys(one["task"] for one in rows))
    systems = list(dict.fromkeys(one["system"] for one in rows))
    cells = {(one["system"], one["task"]): _cell(one, score, error) for one in rows}
    table = [["System", *map(_plain, tasks)]]
    for system in systems:
        table.append([_plain(system), *(cells.get((system, x), "") for x in tasks)])
    return _csv_table(table)


_MORE = ("whole", "whole_error", "scores", "why")


def _system(row: dict[str, Any]) -> dict[str, Any]:
    """What the table needs of a row, by the names of the benchmark or by ours."""
    return {
        "task": row["task"],
        "system": row["system"],
        "score": row.get("score", row.get("value")),
        "error": row.get("error", row.get("standard_error")),
        "seconds": row.get("seconds", row.get("cpu_seconds")),
        "seeds": row.get("seeds"),
        **{name: row[name] for name in _MORE if name in row},
    }


def _gains(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What systems gain over others, by task."""
    known = {(one["task"], one["system"]): one for one in rows if one["score"]}
    tasks = list(dict.fromkeys(task for task, _ in known))
    found = [["Difference", *map(_plain, tasks)]]
    for one, other in GAINS:
        pairs = [(known.get((x, one)), known.get((x, other))) for x in tasks]
        cells = [_gain(*pair) if all(pair) else "" for pair in pairs]
        if any(cells):
            found.append([_plain(f"{one}, less {other}"), *cells])
    kept = [i for i, column in enumerate(zip(*found[1:], strict=True)) if any(column)]
    return _csv_table([[row[i] for i in kept] for row in found]) if kept else []


def _gain(one: Any, other: Any) -> str:
    """The mean difference over the seeds of both; of the means where none are known."""
    scores = one.get("scores", {}), other.get("scores", {})
    gaps = [scores[0][seed] - scores[1][seed] for seed in scores[0].keys() & scores[1]]
    if not gaps:
        return f"{one['score'] - other['score']:+.2f}"
    told = f"{statistics.mean(gaps):+.2f}"
    if len(gaps) > 1:
        told += f" ± {statistics.stdev(gaps) / len(gaps) ** 0.5:.2f}"
    return told


def _not_run(rows: Sequence[dict[str, Any]]) -> str:
    """The systems without figures, and why."""
    systems: dict[str, list[str]] = {}
    for system, why in {
        one["system"]: one["why"] for one in rows if "why" in one
    }.items():
        systems.setdefault(why, []).append(f"*{_plain(system)}*")
    told = (f"{' and '.join(x)}: {_plain(why)}." for why, x in systems.items())
    return textwrap.fill(" ".join(["Not run:", *told]), 88) if systems else ""


def _cell(one: dict[str, Any], score: str, error: str) -> str:
    if one[score] is None:
        return "not run" if "why" in one else ""
    spread = f" ± {one[error]:.2f}" if one.get(error) else ""
    return f"{one[score]:.2f}{spread}" + (f" ({one['seeds']})" if one["seeds"] else "")


def _plain(text: str) -> str:
    """Text in which nothing is markup: |θ - θ*|, c_max."""
    return re.sub(r"([*|`_])", r"\\\1", text)


def _value(figure: dict[str, Any]) -> str:
    value = "not finite" if figure["value"] is None else _digits(figure["value"])
    if figure["interval"] is not None:
        low, high = ("?" if x is None else _digits(x) for x in figure["interval"])
        value += f" [{low}, {high}]"
    return value


def _digits(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _csv_table(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [".. csv-table::", "   :header-rows: 1", "   :class: compact", ""]
    return lines + ["   " + ",".join(f'"{cell}"' for cell in row) for row in rows]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
