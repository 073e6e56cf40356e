"""Every claim of the five papers that can be run, with its verdict.

    make papers                                            # all of them, fast
    python benchmarks/papers.py --list
    python benchmarks/papers.py --fast                     # six minutes at most
    python benchmarks/papers.py daume2009 -o results.jsonl # a paper, or single claims
    python docs/write_papers.py                            # the page of the docs

The exit code is 0 whatever the verdicts, 1 if an experiment failed, 2 for wrong usage.
A claim whose data or packages are missing is not run, and says what it needs.

A claim is declared in the module of its paper in `papers_parts`; its experiment calls
the sections of the other benchmarks, which need the data that they need.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness import ROOT
from papers_parts import runner, tell
from papers_parts.claim import CLAIMS as EVERY
from papers_parts.claim import DECLARED, PAPERS, Claim

STORED = ROOT / "docs" / "papers.jsonl"
for _module in Path(runner.__file__).parent.glob("*20[0-9][0-9]*.py"):
    importlib.import_module(f"papers_parts.{_module.stem}")
CLAIMS: tuple[Claim, ...] = tuple(EVERY[name] for name in DECLARED)


def run(names: Sequence[str], *, fast: bool) -> Iterator[dict[str, Any]]:
    """What was found, claim by claim."""
    return runner.run(chosen(names), fast=fast)


def stored_verdicts() -> dict[str, str]:
    """The verdicts of the page in the docs, by claim."""
    if not STORED.is_file():
        return {}
    lines = map(json.loads, STORED.read_text(encoding="utf-8").splitlines())
    return {one["name"]: one["verdict"] for one in lines}


def chosen(names: Sequence[str]) -> list[Claim]:
    """The claims of these names or papers; all of them where nothing is named."""
    for name in names:
        known = [*PAPERS, *(claim.name for claim in CLAIMS)]
        if name not in known:
            near = difflib.get_close_matches(name, known)
            meant = f"did you mean {' or '.join(near)}?" if near else "see the list"
            raise ValueError(f"no claim and no paper is called {name!r}: {meant}")
    return [c for c in CLAIMS if not names or c.name in names or c.paper in names]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="claims or papers; else all")
    parser.add_argument("--list", action="store_true", help="what is declared")
    parser.add_argument("--fast", action="store_true", help="smaller samples")
    parser.add_argument("-o", "--output", type=Path, help="keep results, JSON lines")
    parser.add_argument("--json", action="store_true", help="a JSON object a line")
    options = parser.parse_args(arguments)
    try:
        claims = chosen(options.names)
    except ValueError as error:
        tell.say(str(error))
        return 2
    if options.list:
        for one in map(runner.entry, claims):
            print(json.dumps(one) if options.json else listed(one))
        return 0
    stored = stored_verdicts()  # before --output may replace them
    asked = [claim.name for claim in claims]
    results = run(options.names, fast=options.fast)
    found = tell.told(asked, results, options.output, as_json=options.json)
    for line in tell.summary(found, stored):
        tell.say(line)
    return int(any(one["verdict"] == "failed" for one in found))


def listed(one: dict[str, Any]) -> str:
    return f"{one['name']}: {one['says']} ({one['place']})"


if __name__ == "__main__":
    sys.exit(main())
