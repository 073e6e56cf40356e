"""``argmetric papers``: list, run."""

from __future__ import annotations

import contextlib
import importlib
import json as json_
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

import argmetric
from argmetric.cli import _report
from argmetric.cli._errors import DONE, FAILURE, UsageError, say
from argmetric.cli._examples import epilogue
from argmetric.cli._options import Flag, Json

if TYPE_CHECKING:
    from rich.console import Console

_REPOSITORY = "https://github.com/argmetric/argmetric"
_REPLACED = re.compile(r"\bstands? in\b|not to be had")  # data, not the paper's
Name = Annotated[
    str,
    Parameter(metavar="NAME", help="Claims, or papers with all of theirs; else all."),
]
Benchmarks = Annotated[
    Path | None,
    Parameter(
        metavar="DIR",
        help="The folder benchmarks of a checkout; needed only outside of one.",
    ),
]

_ENDINGS = (
    "Exit codes: 0 done, whatever the verdicts; 1 an experiment failed; 2 wrong usage. "
    "A claim whose data or packages are missing is not run, and says what it needs. A "
    "fast run that leaves a question of a claim out does not decide it."
)
papers = App(
    name="papers",
    help="Re-run the claims of the papers and report which hold.\n\nThe experiments "
    "come with the sources, in their folder benchmarks.",
    help_epilogue=epilogue("papers", _ENDINGS),
)


@papers.command(
    name="list", sort_key=0, help_epilogue=epilogue("papers list", _ENDINGS)
)
def list_(*names: Name, benchmarks: Benchmarks = None, json: Json = False) -> int:
    """List the claims: name, place in the paper, what it says."""
    with _experiments(benchmarks) as experiments:
        entries = _entries(experiments, names)
    if json:
        _report.print_json(entries)
        return DONE
    rows = [[one["name"], one["place"], one["says"]] for one in entries]
    target = _report.console(stderr=False)
    _report.print_table(target, ["name", "place", "claim"], rows, numbers_from=3)
    return DONE


@papers.command(sort_key=1, help_epilogue=epilogue("papers run", _ENDINGS))
def run(
    *names: Name,
    fast: Annotated[bool, Flag] = False,
    data: Annotated[Path | None, Parameter(metavar="DIR")] = None,
    output: Annotated[Path | None, Parameter(alias="-o", metavar="FILE")] = None,
    benchmarks: Benchmarks = None,
    json: Json = False,
) -> int:
    """Run claims and judge them by their declared rules.

    Parameters
    ----------
    fast
        Smaller samples: all claims in a few minutes. A claim with questions that this
        leaves out or open has the verdict "fast: not decided".
    data
        The folder of the data sets; by default the one that ARGMETRIC_DATA names, or
        shared/data beside the checkout.
    output
        Keep results here, one JSON object a line, each as soon as it is there. Results
        of other claims that are in the file stay.
    """
    with _experiments(benchmarks) as experiments:
        asked = [one["name"] for one in _entries(experiments, names)]
        try:
            say(experiments.use_data(data))
        except NotADirectoryError as missing:
            raise UsageError(str(missing)) from None
        stored = experiments.stored_verdicts()  # before --output may replace them
        results = experiments.run(names, fast=fast)
        found = _told(asked, results, _KeptClaims(output), json=json)
    for line in _summary(found, stored):
        say(line)
    return FAILURE if any(one["verdict"] == "failed" for one in found) else DONE


def _told(
    asked: list[str],
    results: Iterator[_report.Values],
    kept: _KeptClaims,
    *,
    json: bool,
) -> list[_report.Values]:
    """Tell every result as it comes, and return them."""
    target = _report.console(stderr=False)
    start = time.monotonic()
    every = []
    for place, name in enumerate(asked, start=1):
        say(f"{place} of {len(asked)}, {time.monotonic() - start:.0f} s: {name}")
        found = next(results)
        kept.add(found)
        every.append(found)
        if json:
            print(json_.dumps(found, ensure_ascii=False), flush=True)
        else:
            _print(target, found)
    return every


def _summary(found: list[_report.Values], stored: Mapping[str, str]) -> Iterator[str]:
    """Verdicts counted; then what was skipped, what stands in, and what is new."""
    counts = Counter(one["verdict"] for one in found)
    seconds = sum(one["cpu_seconds"] for one in found)
    told = ", ".join(f"{verdict} {counts[verdict]}" for verdict in counts)
    yield f"{told}; {seconds:.0f} s of CPU"
    skipped = defaultdict(list)
    for one in found:
        if one["verdict"] == "not run":
            skipped[one["why"]].append(one["name"])
    for why, names in skipped.items():
        yield f"not run: {', '.join(names)} ({why})"
    left = [one["name"] for one in found if one["verdict"] == "fast: not decided"]
    if left:
        yield f"decided only without --fast: {', '.join(left)}"
    every = (one["data"] for one in found if _REPLACED.search(one["data"]))
    for data in dict.fromkeys(every):
        yield f"not the paper's own data: {data}"
    undecided = ("not run", "failed", "fast: not decided")
    for one in found:
        before = stored.get(one["name"], one["verdict"])
        if one["verdict"] not in (before, *undecided):
            yield f"{one['name']}: {one['verdict']}, and in docs/papers.jsonl {before}"


def _entries(experiments: Any, names: tuple[str, ...]) -> list[_report.Values]:
    try:
        entries: list[_report.Values] = experiments.entries(names)
    except ValueError as unknown:
        raise UsageError(f"{unknown} (argmetric papers list)") from None
    return entries


def _print(target: Console, found: _report.Values) -> None:
    facts = [("claim", f"{found['says']} ({found['place']})")]
    if (found["data"], found["seeds"]) != ("generated", "none"):
        facts.append(("data", f"{found['data']}; drawn: {found['seeds']}"))
    if found["verdict"] not in ("not run", "failed", "not a claim"):
        facts += [_answered(part) for part in found["why"].split("; ")]
    else:
        facts.append(("why", found["why"]))
    others = (name for name in found["ours"] if name not in found["asked"])
    facts += [("besides", _figure(name, found["ours"][name])) for name in others]
    facts += [("paper", f"{name} {text}") for name, text in found["printed"].items()]
    facts += [("remark", found["remark"])] if found["remark"] else []
    _report.print_facts(target, f"{found['name']}: {found['verdict']}", facts)


def _answered(part: str) -> tuple[str, str]:
    answer, _, figures = part.partition(": ")
    return answer, figures


def _figure(name: str, one: _report.Values) -> str:
    value = "not finite" if one["value"] is None else f"{one['value']:.4g}"
    if one["interval"] is not None:
        low, high = ("?" if end is None else f"{end:.4g}" for end in one["interval"])
        value += f" ({low} to {high})"
    return f"{name} {value}"


class _KeptClaims:
    """A file of results, whole at any time."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lines: dict[str, str] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._lines[json_.loads(line)["name"]] = line

    def add(self, found: _report.Values) -> None:
        if self._path is None:
            return
        self._lines[found["name"]] = json_.dumps(found, ensure_ascii=False)
        beside = self._path.with_name(f"{self._path.name}.part")
        beside.write_text("\n".join([*self._lines.values(), ""]), encoding="utf-8")
        beside.replace(self._path)


@contextlib.contextmanager
def _experiments(folder: Path | None) -> Iterator[Any]:
    """The module that declares the claims; its neighbours are found on the path."""
    path = str(_folder(folder))
    sys.path.insert(0, path)
    try:
        yield importlib.import_module("papers")
    finally:
        sys.path.remove(path)


def _folder(given: Path | None) -> Path:
    """The folder of the experiments: given, of the checkout here, or of the package."""
    here, package = Path.cwd(), Path(argmetric.__file__).resolve().parent
    if given is None:
        roots = [here, *here.parents, package.parents[1]]
        folders = [root / "benchmarks" for root in roots]
        looked = f"benchmarks/papers.py in {here}, above it or beside {package}"
    else:
        folders, looked = [given], f"papers.py in {given}"
    for folder in folders:
        if (folder / "papers.py").is_file() and (folder / "papers_parts").is_dir():
            return folder.resolve()
    raise UsageError(
        f"no {looked}: the experiments come with the sources, not with the installed "
        f"package. Run `git clone {_REPOSITORY}`, then this command in the folder "
        "argmetric, or pass --benchmarks argmetric/benchmarks"
    )
