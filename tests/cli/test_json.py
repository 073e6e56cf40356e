"""What ``--json`` prints: as declared, and as documented in docs/json.rst."""

from __future__ import annotations

import contextlib
import io
import json
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from argmetric.cli import _summary, main
from argmetric.cli._app import app
from argmetric.cli._metrics import MetricEntry
from argmetric.cli._spans import SpansSummary
from argmetric.cli.models._predict import PredictSummary
from argmetric.cli.models._train import TrainSummary
from argmetric.cli.papers._commands import ClaimEntry, ClaimResult
from argmetric.cli.parse._evaluate import ParseEvaluateSummary
from argmetric.cli.parse._predict import ParsePredictSummary
from argmetric.cli.parse._train import ParseTrainSummary
from argmetric.cli.scores._apply import RuleSummary
from argmetric.cli.scores._calibrate import CheckSummary, MapSummary
from argmetric.cli.scores._decided import DecideSummary
from argmetric.cli.scores._evaluate import EvaluateSummary
from argmetric.cli.scores._expect import ExpectSummary
from argmetric.cli.scores._forecasted import ForecastSummary
from argmetric.cli.scores._many import ManySummary
from argmetric.cli.scores._tuned import TuneSummary
from argmetric.cli.scores.wide._columns import WideAsked
from argmetric.cli.scores.wide._evaluate import WideEvaluateSummary
from argmetric.cli.scores.wide._told import WideSummary
from argmetric.cli.scores.wide._tune import WideTuneSummary
from argmetric.cli.stream._predict import StreamPredictSummary
from argmetric.cli.stream._report import StreamSummary
from argmetric.cli.summarize._evaluate import SummarizeEvaluateSummary
from argmetric.cli.summarize._summarize import SummarizeSummary
from argmetric.cli.summarize._train import SummarizeTrainSummary
from argmetric.cli.tag._evaluate import TagEvaluateSummary
from argmetric.cli.tag._predict import TagPredictSummary
from argmetric.cli.tag._train import TagTrainSummary

PAGE = Path(__file__).parents[2] / "docs" / "json.rst"
WORDS = {str: "text", int: "integer", float: "number", bool: "boolean", Any: "any"}
GROUPS = "tag", "parse", "summarize", "stream", "papers"  # of commands
# A call for each shape of each summary; later calls use the files of earlier ones
CALLS: tuple[tuple[str, Any], ...] = (
    ("metrics", list[MetricEntry]),
    ("papers list", list[ClaimEntry]),
    ("papers run jansche2007-footnote-3 --fast", ClaimResult),
    ("decide rows.csv --group g", DecideSummary),
    ("decide none.csv", DecideSummary),
    ("decide rows.csv --reference rows.csv --prior estimate", DecideSummary),
    ("decide rows.csv --reference rows.csv --route decide", DecideSummary),
    ("decide rows.csv --reference rows.csv --route tune", RuleSummary),
    ("decide many --group g -o out", ManySummary),
    ("forecast rows.csv --known y --threshold 0.5", ForecastSummary),
    ("evaluate decided.csv --label y --score p --group g", EvaluateSummary),
    ("evaluate decided.csv --label y", EvaluateSummary),
    ("tune rows.csv -m f1 -m mcc -o rule-{metric}.json", TuneSummary),
    ("tune rows.csv --cost-fp 1 --cost-fn 3 --group g", TuneSummary),
    ("tune rows.csv --no-label", TuneSummary),
    ("decide rows.csv --rule rule-f1.json -o by.csv", RuleSummary),
    ("decide wide.csv --scores p_* --labels y_* -o wide-out.csv", WideSummary),
    ("forecast wide-out.csv --scores p_*", WideSummary),
    ("evaluate wide-out.csv --labels y_*", WideEvaluateSummary),
    ("tune wide.csv --scores p_* --labels y_* -o wide.json", WideTuneSummary),
    ("decide wide.csv --scores p_* --rule wide.json", WideSummary),
    ("calibrate rows.csv -o map.json", CheckSummary),
    ("calibrate rows.csv --map map.json", MapSummary),
    ("train table.csv --model logistic -o m.skops", TrainSummary),
    ("predict m.skops table.csv", PredictSummary),
    ("expect rows.csv decided.csv --label y", ExpectSummary),
    ("expect rows.csv decided.csv --label y --quantiles", ExpectSummary),
    ("stream rows.svm --on-error skip", StreamSummary),
    ("stream rows.svm --on-error skip --hash-bits 8", StreamSummary),
    ("stream rows.svm --on-error skip --checkpoint kept", StreamSummary),
    ("stream predict kept rows.svm --on-error skip", StreamPredictSummary),
    ("spans rows.jsonl --names O,B-X", SpansSummary),
    (
        "tag train text.txt --task chunk --epochs 1 --dev text.txt -o t.tagger",
        TagTrainSummary,
    ),
    ("tag predict t.tagger text.txt -o tagged.txt", TagPredictSummary),
    ("tag evaluate tagged.txt", TagEvaluateSummary),
    ("tag evaluate tagged.txt --task pos", TagEvaluateSummary),
    ("tag evaluate joint.txt", TagEvaluateSummary),
    ("summarize sources --words 9", SummarizeSummary),
    ("summarize sources --references gold.txt --html p.html", SummarizeSummary),
    ("summarize train clusters.jsonl --words 5 -o s.model", SummarizeTrainSummary),
    ("summarize evaluate clusters.jsonl --model s.model", SummarizeEvaluateSummary),
    (
        "parse train trees.conllu --epochs 1 --dev trees.conllu -o t.parser",
        ParseTrainSummary,
    ),
    ("parse predict t.parser trees.conllu -o parsed.conllu", ParsePredictSummary),
    ("parse evaluate trees.conllu others.conllu", ParseEvaluateSummary),
)

SHARED = {
    one.__name__: one
    for one in (
        _summary.RowsAsked,
        _summary.GroupsAsked,
        _summary.Asked,
        _summary.SentencesAsked,
        WideAsked,
    )
}


def hints_of(declared: Any) -> dict[str, Any]:
    return get_type_hints(declared, include_extras=True)


def parts_of(hint: Any) -> list[Any]:
    """The types that a value may have."""
    if get_origin(hint) in (Union, types.UnionType):
        return [part for one in get_args(hint) for part in parts_of(one)]
    if get_origin(hint) is Annotated:
        inner, note = get_args(hint)
        assert note == _summary.NULL_IF_NOT_FINITE
        return [inner, types.NoneType]
    return [hint]


def problems(value: Any, hint: Any, where: str) -> Iterator[str]:
    """Where a value is not what was declared."""
    found = [list(_problems(value, part, where)) for part in parts_of(hint)]
    if all(found):
        yield from found[0]


def _problems(value: Any, hint: Any, where: str) -> Iterator[str]:
    origin, arguments = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        declared = hints_of(hint)
        if not isinstance(value, dict) or value.keys() != declared.keys():
            yield f"{where}: {value!r} has not the keys of {hint.__name__}"
            return
        for key, inner in declared.items():
            yield from problems(value[key], inner, f"{where}.{key}")
    elif origin in (list, tuple):
        if not isinstance(value, list):
            yield f"{where}: {value!r} is no list"
            return
        inners = arguments * len(value) if origin is list else arguments
        if len(inners) != len(value):
            yield f"{where}: {len(value)} values, not {len(inners)}"
            return
        for i, (one, inner) in enumerate(zip(value, inners, strict=True)):
            yield from problems(one, inner, f"{where}[{i}]")
    elif origin is dict:
        if not isinstance(value, dict):
            yield f"{where}: {value!r} is no object"
            return
        for key, one in value.items():
            yield from problems(one, arguments[1], f"{where}.{key}")
    elif origin is Literal:
        if value not in arguments:
            yield f"{where}: {value!r} is none of {arguments}"
    elif hint is not Any:
        known = (int, float) if hint is float else hint
        if not isinstance(value, known) or (
            isinstance(value, bool) and hint is not bool
        ):
            yield f"{where}: {value!r} is no {hint.__name__}"


def worded(hint: Any) -> str:
    """A type as the documentation writes it, without null."""
    texts = []
    for part in parts_of(hint):
        origin, arguments = get_origin(part), get_args(part)
        if part is types.NoneType:
            continue
        if is_typeddict(part):
            texts.append(f"``{part.__name__}``")
        elif origin is list:
            texts.append(f"list of {worded(arguments[0])}")
        elif origin is tuple:
            texts.append(f"pair of {worded(arguments[0])}")
        elif origin is dict:
            texts.append(
                "object" if arguments[1] is Any else f"object of {worded(arguments[1])}"
            )
        elif origin is Literal:
            texts += [f"``{one}``" for one in arguments]
        else:
            texts.append(WORDS[part])
    return " or ".join(texts)


def may_be_null(hint: Any) -> bool:
    return types.NoneType in parts_of(hint) or hint is Any


def tables() -> dict[str, Any]:
    """Every object that is printed, by its name: summaries and what is in them."""
    found: dict[str, Any] = {}

    def add(hint: Any) -> None:
        for part in parts_of(hint):
            if is_typeddict(part):
                if part.__name__ not in found:
                    found[part.__name__] = part
                    for inner in hints_of(part).values():
                        add(inner)
            else:
                for inner in get_args(part):
                    if not isinstance(inner, str):
                        add(inner)

    for _, declared in CALLS:
        add(declared)
    return found


def documented() -> dict[str, list[tuple[str, str, str]]]:
    """Key, type and when it is null, of every table of the page.

    A table may go on from another one, which stands before it.
    """
    title = r"^\.\. csv-table:: ``(\w+)``(?:, with all of ``(\w+)``)?\n"
    body = r"(?:   :.*\n)+\n((?:   .*\n)+)"
    found: dict[str, list[tuple[str, str, str]]] = {}
    for name, base, lines in re.findall(title + body, PAGE.read_text(), re.MULTILINE):
        rows = [line.split("|") for line in lines.splitlines()]
        own = [(k.strip(" `"), kind.strip(), null.strip()) for k, kind, null, _ in rows]
        found[name] = [*found.get(base, []), *own]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small files of all kinds."""
    rng = np.random.default_rng(0)
    p = rng.random(200).round(4)
    y = (rng.random(200) < p).astype(int)
    folder = tmp_path_factory.mktemp("json")
    rows = [f"{a},{b},{i % 4}" for i, (a, b) in enumerate(zip(p, y, strict=True))]
    (folder / "rows.csv").write_text("\n".join(["p,y,g", *rows, ""]))
    cells = [f"{a},{a},{b},{b}" for a, b in zip(p, y, strict=True)]
    (folder / "wide.csv").write_text("\n".join(["p_a,p_b,y_a,y_b", *cells, ""]))
    (folder / "none.csv").write_text("p\n0\n")
    (folder / "many").mkdir()
    for i in range(2):
        table = pa.table({"p": p[i::2], "g": np.arange(100) % 4})
        pq.write_table(table, folder / "many" / f"{i}.parquet")
    (folder / "decided.csv").write_text(
        "\n".join(["p,y,g,decision", *(f"{row},{i % 2}" for i, row in enumerate(rows))])
    )
    (folder / "table.csv").write_text(
        "\n".join(["x,y,word", *(f"{row[:-1]}w{row[-1]}" for row in rows), ""])
    )
    lines = [f"{b} 1:{a} 2:1" for a, b in zip(p, y, strict=True)]
    (folder / "rows.svm").write_text("\n".join([*lines, "1 x", ""]))
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
    row = "{}\t{}\t_\tX\t_\t_\t{}\tr\t_\t_\n"
    for name, heads in (("trees", (0, 1)), ("others", (2, 0))):
        words = [row.format(i, "ab"[i - 1], h) for i, h in enumerate(heads, start=1)]
        (folder / f"{name}.conllu").write_text(("".join(words) + "\n") * 5)
    return folder


@pytest.fixture(scope="module")
def printed(folder: Path) -> dict[str, Any]:
    """What every call prints."""
    found = {}
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.chdir(folder)
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        for call, _ in CALLS:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                assert main([*call.split(), "--json"]) == 0, call
            found[call] = json.loads(out.getvalue())
    return found


@pytest.mark.parametrize(("call", "declared"), CALLS)
def test_a_summary_is_what_is_declared(
    call: str, declared: Any, printed: dict[str, Any]
) -> None:
    assert list(problems(printed[call], declared, "")) == []


def test_every_command_with_json_is_called() -> None:
    called = {" ".join(call.split()[:2]) for call, _ in CALLS}
    commands = {
        f"{prefix}{name}"
        for prefix, level in (("", app), *((f"{one} ", app[one]) for one in GROUPS))
        for name, command in level.resolved_commands().items()
        if not name.startswith("-") and name not in GROUPS
        if any("--json" in one.names for one in command.assemble_argument_collection())
    }
    assert len(commands) > 10
    assert [one for one in commands if not any(c.startswith(one) for c in called)] == []


def test_the_checker_finds_what_is_wrong() -> None:
    good = {"tp": 1, "fp": 0, "fn": 0, "tn": 2}
    assert list(problems(good, _summary.Confusion, "counts")) == []
    for wrong in (
        {**good, "tp": None},
        {**good, "tp": 1.5},
        {**good, "tp": True},
        {**good, "more": 1},
        {"tp": 1},
        [1],
    ):
        assert list(problems(wrong, _summary.Confusion, "counts"))
    assert list(problems([0.5, None], _summary.Interval, "interval")) == []
    assert list(problems([0.5], _summary.Interval, "interval"))
    assert list(problems("x", Literal["a"] | None, "choice"))
    assert list(problems({"a": "b"}, dict[str, int], "sizes"))


def test_the_page_tells_of_all_keys() -> None:
    declared = {
        name: [
            (key, worded(hint), may_be_null(hint))
            for key, hint in hints_of(table).items()
        ]
        for name, table in (tables() | SHARED).items()
    }
    told = {
        name: [(key, kind, null != "never") for key, kind, null in rows]
        for name, rows in documented().items()
    }
    assert told == declared
