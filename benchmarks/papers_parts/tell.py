"""What is told of claims while they run, and where results are kept."""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_REPLACED = re.compile(r"\bstands? in\b|not available")  # data, not the paper's


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def told(
    asked: list[str],
    results: Iterator[dict[str, Any]],
    output: Path | None,
    *,
    as_json: bool,
) -> list[dict[str, Any]]:
    """Tell and keep every result as it comes, and return them."""
    start, every = time.monotonic(), []
    for place, name in enumerate(asked, start=1):
        say(f"{place} of {len(asked)}, {time.monotonic() - start:.0f} s: {name}")
        found = next(results)
        if output is not None:
            keep(output, found)
        every.append(found)
        if as_json:
            print(json.dumps(found, ensure_ascii=False), flush=True)
        else:
            print("\n".join(lines(found)), flush=True)
    return every


def summary(found: list[dict[str, Any]], stored: Mapping[str, str]) -> Iterator[str]:
    """Verdicts counted; then what was skipped, what stands in, and what is new."""
    counts = Counter(one["verdict"] for one in found)
    seconds = sum(one["cpu_seconds"] for one in found)
    verdicts = ", ".join(f"{verdict} {counts[verdict]}" for verdict in counts)
    yield f"{verdicts}; {seconds:.0f} s of CPU"
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


def lines(found: dict[str, Any]) -> list[str]:
    """A result for people."""
    facts = [("claim", f"{found['says']} ({found['place']})")]
    if (found["data"], found["seeds"]) != ("generated", "none"):
        facts.append(("data", f"{found['data']}; drawn: {found['seeds']}"))
    if found["verdict"] not in ("not run", "failed", "not testable"):
        parts = (part.partition(": ") for part in found["why"].split("; "))
        facts += [(answer, figures) for answer, _, figures in parts]
    else:
        facts.append(("why", found["why"]))
    others = (name for name in found["ours"] if name not in found["asked"])
    facts += [("besides", figure(name, found["ours"][name])) for name in others]
    facts += [("paper", f"{name} {text}") for name, text in found["printed"].items()]
    facts += [("remark", found["remark"])] if found["remark"] else []
    width = max(len(name) for name, _ in facts)
    shown = [f"{name:{width}}  {text}" for name, text in facts]
    return [f"{found['name']}: {found['verdict']}", *shown]


def figure(name: str, one: dict[str, Any]) -> str:
    value = "not finite" if one["value"] is None else f"{one['value']:.4g}"
    if one["interval"] is not None:
        low, high = ("?" if end is None else f"{end:.4g}" for end in one["interval"])
        value += f" ({low} to {high})"
    return f"{name} {value}"


def keep(path: Path, found: dict[str, Any]) -> None:
    """Put a result into a file, which is whole at any time."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = {json.loads(line)["name"]: line for line in text.splitlines()}
    lines[found["name"]] = json.dumps(found, ensure_ascii=False)
    beside = path.with_name(f"{path.name}.part")
    beside.write_text("\n".join([*lines.values(), ""]), encoding="utf-8")
    beside.replace(path)
