"""Check docs/results.rst against what commands print with ``--json``, or mend it.

    python docs/write_json.py             # where the page is wrong
    python docs/write_json.py --write     # mend its tables

Every command is called. The keys of a table and their types are those of the objects
that were printed; when a key is null and what it means are the words of the page, which
stay. A new key gets an empty meaning, to be written by hand. Neighbours of one type and
one meaning share a line.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from argmetric.cli import main

PAGE = Path(__file__).parent / "results.rst"
TABLE = re.compile(
    r"^( *\.\. keys:: (\w+)(?:, with ([\w, ]+))?\n)((?:\n(?: +[\w, ]+: .*\n)+)?)",
    re.MULTILINE,
)
COMMON = "Common"  # the table of keys that others name one by one
# A call for each shape of each summary; later calls use the files of earlier ones
CALLS: tuple[tuple[str, str], ...] = (
    ("metrics", "list of ``MetricEntry``"),
    ("decide rows.csv --group g", "``DecideSummary``"),
    ("decide none.csv", "``DecideSummary``"),
    ("decide rows.csv --reference rows.csv --prior estimate", "``DecideSummary``"),
    ("decide many --group g -o out", "``ManySummary``"),
    ("forecast rows.csv --known y --threshold 0.5", "``ForecastSummary``"),
    (
        "monitor rows.csv --reference rows.csv --every 100 --by g --append state.json",
        "``MonitorSummary``",
    ),
    (
        "compare wide.csv --scores p_* --threshold 0.5 --next 3 -o next.csv",
        "``CompareSummary``",
    ),
    ("evaluate decided.csv --label y --score p --group g", "``EvaluateSummary``"),
    ("evaluate decided.csv --label y", "``EvaluateSummary``"),
    ("evaluate judged --label y --group g", "``EvaluateSummary``"),
    ("tune rows.csv -m f1 -m mcc -o rule-{metric}.json", "``TuneSummary``"),
    ("tune rows.csv --cost-fp 1 --cost-fn 3 --group g", "``TuneSummary``"),
    ("tune rows.csv --no-label", "``TuneSummary``"),
    ("decide rows.csv --rule rule-f1.json -o by.csv", "``DecideSummary``"),
    (
        "decide wide.csv --scores p_* --labels y_* -o wide-out.csv",
        "``DecideSummary``",
    ),
    ("forecast wide-out.csv --scores p_*", "``ForecastSummary``"),
    ("evaluate wide-out.csv --labels y_*", "``EvaluateSummary``"),
    ("tune wide.csv --scores p_* --labels y_* -o wide.json", "``TuneSummary``"),
    ("decide wide.csv --scores p_* --rule wide.json", "``DecideSummary``"),
    ("decide kinds.csv --scores p_* --one-label -o kinds-out.csv", "``DecideSummary``"),
    (
        "decide kinds.csv --scores p_* --one-label --reference kinds.csv --group g",
        "``DecideSummary``",
    ),
    ("decide kinds.csv --scores p_* --one-label -m mcc", "``DecideSummary``"),
    ("decide unnamed.csv --scores p_* --one-label", "``DecideSummary``"),
    ("forecast kinds-out.csv --scores p_* --one-label", "``ForecastSummary``"),
    ("forecast kinds.csv --scores p_* --one-label", "``ForecastSummary``"),
    ("calibrate kinds.csv --scores p_* --one-label", "``CheckSummary``"),
    (
        "calibrate kinds.csv --scores p_* --one-label -o class-map.json",
        "``CheckSummary``",
    ),
    ("tune kinds.csv --scores p_* --one-label", "``TuneSummary``"),
    ("tune kinds.csv --scores p_* --one-label -o w.json", "``TuneSummary``"),
    ("evaluate kinds-out.csv --one-label", "``EvaluateSummary``"),
    ("evaluate kinds-out.csv --one-label -m mcc", "``EvaluateSummary``"),
    ("calibrate rows.csv -o map.json", "``CheckSummary``"),
    ("calibrate rows.csv --map map.json", "``MapSummary``"),
    ("train table.csv --model logistic -o m.skops", "``TrainSummary``"),
    ("predict m.skops table.csv", "``PredictSummary``"),
    ("expect rows.csv decided.csv --label y", "``ExpectSummary``"),
    ("expect rows.csv decided.csv --label y --quantiles", "``ExpectSummary``"),
    ("stream some.csv --on-error skip", "``StreamSummary``"),
    ("stream some.csv --on-error skip --checkpoint kept", "``StreamSummary``"),
    ("stream predict kept some.csv --on-error skip", "``StreamPredictSummary``"),
    ("spans rows.jsonl --names O,B-X", "``SpansSummary``"),
    (
        "tag train text.txt --task chunk --epochs 1 --dev text.txt -o t.tagger",
        "``TagTrainSummary``",
    ),
    ("tag predict t.tagger text.txt -o tagged.txt", "``TagPredictSummary``"),
    ("tag evaluate tagged.txt", "``TagEvaluateSummary``"),
    ("tag evaluate tagged.txt --task pos", "``TagEvaluateSummary``"),
    ("tag evaluate joint.txt", "``TagEvaluateSummary``"),
    ("summarize sources --words 9", "``SummarizeSummary``"),
    ("summarize sources --references gold.txt --report p.html", "``SummarizeSummary``"),
    (
        "summarize train clusters.jsonl --words 5 -o s.model",
        "``SummarizeTrainSummary``",
    ),
    (
        "summarize train clusters.jsonl --policy dagger --iterations 1 -o dagger.model",
        "``SummarizeTrainSummary``",
    ),
    (
        "summarize evaluate clusters.jsonl --model s.model",
        "``SummarizeEvaluateSummary``",
    ),
)


class Key(NamedTuple):
    """A row of a table: the key, its type, when it is null, what it means.

    A type that ends with a question mark may be null: undefined or not asked for.
    """

    name: str
    kind: str
    null: str
    meaning: str


class Page:
    """The tables of the page, each with the keys of those that it names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tables: dict[str, list[Key]] = {}
        self.inherited: dict[str, list[Key]] = {}
        for _, name, bases, lines in TABLE.findall(text):
            shared = {key.name: [key] for key in self.tables.get(COMMON, [])}
            known = shared | self.tables
            above = [key for base in _names(bases) for key in known[base]]
            self.inherited[name] = above
            own = [key for line in lines.split("\n") if line for key in _keys(line)]
            self.tables[name] = [*above, *own]
        self.printed: dict[str, list[dict[str, Any]]] = {}  # objects of each table

    def problems(self, value: Any, kind: str, where: str, words: str) -> Iterator[str]:
        """Where a value is not of a type, as the page writes types.

        Parameters
        ----------
        value : object
            What was printed.
        kind : str
            The type.
        where : str
            The place of the value, for messages.
        words : str
            What the page says of the key; a null inside of a list is mentioned there.
        """
        found = []
        parts = kind.split(" or ")
        for part in parts:
            before = {name: len(objects) for name, objects in self.printed.items()}
            wrong = list(self._problems(value, part, where, words))
            if not wrong:
                return
            found.append(wrong)
            if len(parts) > 1:  # it is of another type
                for name, objects in self.printed.items():
                    del objects[before.get(name, 0) :]
        yield from found[0]

    def _problems(self, value: Any, kind: str, where: str, words: str) -> Iterator[str]:
        kind = kind.removesuffix("?")
        outer, _, inner = kind.partition(" of ")
        name = kind.strip("`")
        if name in self.tables:
            if not isinstance(value, dict):
                yield f"{where}: {value!r} is no object"
                return
            self.printed.setdefault(name, []).append(value)
            keys = {key.name: key for key in self.tables[name]}
            yield from (f"{where}.{key} is not printed" for key in keys - value.keys())
            for key, one in value.items():
                if key not in keys:
                    yield f"{where}.{key} is not on the page"
                else:
                    yield from self._key_problems(one, keys[key], f"{where}.{key}")
        elif kind.startswith("`"):
            if value != name:
                yield f"{where}: {value!r} is not {name}"
        elif outer in ("list", "pair", "object"):
            if not isinstance(value, dict if outer == "object" else list):
                yield f"{where}: {value!r} is no {outer}"
                return
            if outer == "pair" and len(value) != 2:
                yield f"{where}: {len(value)} values, not 2"
            for one in value.values() if outer == "object" else value:
                may_be_null = inner.endswith("number") or "null" in words
                if inner and not (one is None and may_be_null):
                    yield from self.problems(one, inner, f"{where}[]", words)
        elif kind != "any" and kind not in observed(value):
            yield f"{where}: {value!r} is no {kind}"

    def _key_problems(self, value: Any, key: Key, where: str) -> Iterator[str]:
        if value is not None:
            yield from self.problems(value, key.kind, where, key.meaning)
        elif key.null == "never" and not key.kind.endswith("?"):
            yield f"{where} is null"

    def mended(self) -> str:
        """The page with the keys and types of what was printed."""

        def table(found: re.Match[str]) -> str:
            head, name = found[1], found[2]
            if name not in self.printed:
                return found[0]
            known = {key.name: key for key in self.tables[name]}
            above = {key.name for key in self.inherited[name]}
            rows = {
                key: known.get(key, Key(key, "", "never", ""))
                for one in self.printed[name]
                for key in one
                if key not in above
            }
            seen = [self._seen(row, self.printed[name]) for row in rows.values()]
            margin = " " * (head.index("..") + 3)
            lines = "".join(f"{margin}{_line(key)}\n" for key in _shared(seen))
            return head + (lines and f"\n{lines}")

        return TABLE.sub(table, self.text)

    def _seen(self, key: Key, objects: list[dict[str, Any]]) -> Key:
        values = [one[key.name] for one in objects if key.name in one]
        there = [value for value in values if value is not None]
        kind, null = key.kind, key.null
        if not kind or any(
            list(self.problems(v, kind, "", key.meaning)) for v in there
        ):
            kind = " or ".join(dict.fromkeys(observed(value)[0] for value in there))
        if null == "never" and len(there) < len(values) and not kind.endswith("?"):
            kind += "?"
        return key._replace(kind=kind, null=null)


def _shared(keys: list[Key]) -> Iterator[Key]:
    """Neighbours of one type and one meaning as one key, its name all of theirs."""
    for (*_, meaning), alike in groupby(keys, key=lambda key: key[1:]):
        found = list(alike)
        if meaning:
            name = ", ".join(key.name for key in found)
            yield found[0]._replace(name=name)
        else:
            yield from found


def _line(key: Key) -> str:
    null = "" if key.null == "never" else f"; null {key.null}"
    return f"{key.name}: {key.kind}: {key.meaning}{null}"


def _keys(line: str) -> Iterator[Key]:
    names, kind, meaning = line.strip().split(":", 2)
    meaning, _, null = meaning.strip().partition("; null ")
    for name in _names(names):
        yield Key(name, kind.strip(), null or "never", meaning)


def _names(text: str) -> list[str]:
    return text.split(", ") if text else []


def observed(value: Any) -> list[str]:
    """The types that a value is of, the narrowest first."""
    if isinstance(value, bool):
        return ["boolean"]
    if isinstance(value, int):
        return ["integer", "number"]
    if isinstance(value, dict):
        return ["object"]
    if isinstance(value, list):
        inner = dict.fromkeys(observed(one)[0] for one in value)
        return [f"list of {' or '.join(inner) or 'any'}"]
    return ["text" if isinstance(value, str) else "number"]


def compared(page: Page, printed: dict[str, Any]) -> Iterator[str]:
    """Where the page is not what was printed."""
    for call, kind in CALLS:
        yield from page.problems(printed[call], kind, f"`{call}`", "")
    bases = {x for _, _, names, _ in TABLE.findall(page.text) for x in _names(names)}
    for name in page.tables.keys() - page.printed.keys() - bases - {COMMON}:
        yield f"no call prints {name}"
    for name, keys in page.tables.items():
        yield from (
            f"{name}.{key.name}: what is it?" for key in keys if not key.meaning
        )


def print_all(folder: Path) -> dict[str, Any]:
    """Make every call in a folder, and return what each prints."""
    make_files(folder)
    found = {}
    with contextlib.chdir(folder), contextlib.redirect_stderr(io.StringIO()):
        for call, _ in CALLS:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                code = main([*call.split(), "--json"])
            if code != 0:
                raise RuntimeError(f"argmetric {call} ends with {code}")
            found[call] = json.loads(out.getvalue())
    return found


def make_files(folder: Path) -> None:
    """Small files of all kinds."""
    rng = np.random.default_rng(0)
    p = rng.random(200).round(4)
    y = (rng.random(200) < p).astype(int)
    rows = [f"{a},{b},{i % 4}" for i, (a, b) in enumerate(zip(p, y, strict=True))]
    (folder / "rows.csv").write_text("\n".join(["p,y,g", *rows, ""]))
    cells = [f"{a},{a},{b},{b}" for a, b in zip(p, y, strict=True)]
    (folder / "wide.csv").write_text("\n".join(["p_a,p_b,y_a,y_b", *cells, ""]))
    pairs = enumerate(zip(p, y, strict=True))
    kinds = [f"{a},{round(1 - a, 4)},{'ab'[1 - b]},{i % 4}" for i, (a, b) in pairs]
    (folder / "kinds.csv").write_text("\n".join(["p_a,p_b,y,g", *kinds, ""]))
    (folder / "unnamed.csv").write_text("p_a,p_b\n0.3,0.7\n")
    (folder / "none.csv").write_text("p\n0\n")
    (folder / "many").mkdir()
    for i in range(2):
        table = pa.table({"p": p[i::2], "g": np.arange(100) % 4})
        pq.write_table(table, folder / "many" / f"{i}.parquet")
    (folder / "judged").mkdir()
    table = pa.table({"y": y, "g": np.arange(200) % 4, "decision": (p > 0.5) * 1})
    pq.write_table(table, folder / "judged" / "0.parquet")
    (folder / "decided.csv").write_text(
        "\n".join(["p,y,g,decision", *(f"{row},{i % 2}" for i, row in enumerate(rows))])
    )
    (folder / "table.csv").write_text(
        "\n".join(["x,y,word", *(f"{row[:-1]}w{row[-1]}" for row in rows), ""])
    )
    lines = [f"{b},{a},1" for a, b in zip(p, y, strict=True)]
    (folder / "some.csv").write_text("\n".join(["y,a,b", *lines, "1,x,1", ""]))
    sentence = {"tokens": ["Ana", "va"], "probabilities": [[0.6, 0.4], [0.9, 0.1]]}
    (folder / "rows.jsonl").write_text(json.dumps(sentence) + "\n")
    (folder / "joint.txt").write_text("the DT B-NP DT B-NP\ndog NN I-NP VB O\n")
    (folder / "text.txt").write_text("the DT B-NP\ndog NN I-NP\nruns VB O\n\n" * 5)
    (folder / "sources").mkdir()
    (folder / "sources" / "a.txt").write_text("The room was big. It was clean, too.")
    (folder / "sources" / "b.txt").write_text("A big room. No lift. We liked it.")
    (folder / "gold.txt").write_text("The room was big and clean.")
    documents = ["The room was big. It was clean.", "A big room! No lift at all."]
    row = {"documents": documents, "references": ["a big room", "big and clean"]}
    (folder / "clusters.jsonl").write_text(f"{json.dumps(row)}\n" * 6)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        page, answers = Page(PAGE.read_text(encoding="utf-8")), print_all(Path(made))
    wrong = list(compared(page, answers))
    if "--write" in sys.argv:
        PAGE.write_text(page.mended(), encoding="utf-8")
    else:
        print("\n".join(wrong) or "docs/results.rst is up to date")
        sys.exit(bool(wrong))
