"""Count retired words, and names of functions that say nothing, in every folder.

    python benchmarks/words.py           # counts, and exit code 1 where there are more
    python benchmarks/words.py --places  # every place

pyproject.toml has the retired words with better ones, phrases in which they may stand,
and how many each folder may still have ([tool.words]): none where none is named.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ENDINGS = {".py", ".rst", ".md", ".html", ".js", ".json"}
FOLDERS = ("src/argmetric", "tests", "docs", "examples", "benchmarks")
QUESTIONS = {"what", "which", "why", "how", "where", "who", "when", "whether", "whose"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--places", action="store_true", help="print every place")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    rules = settings["tool"]["words"]
    places = sorted(find_places(rules))
    if parser.parse_args().places:
        print(*(f"{area}: {place}" for area, place in places), sep="\n")
    counts, left = Counter(area for area, _ in places), rules["left"]
    for area in sorted({*counts, *left}):
        print(f"{area:20} {counts[area]:6,} of {left.get(area, 0):6,}")
    beyond = [area for area in counts if counts[area] > left.get(area, 0)]
    for area, place in places:
        if area in beyond and not left.get(area):
            print(f"words: {place}", file=sys.stderr)
    if beyond:
        names = ", ".join(beyond)
        print(f"words: more than [tool.words.left] allows: {names}", file=sys.stderr)
    return int(bool(beyond))


def find_places(rules: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the folder and a description of each retired word and bare name."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT / folder)
            if path.suffix not in ENDINGS or "_build" in name.parts:
                continue
            area = name.parts[0] if folder == "src/argmetric" else folder
            text = path.read_text("utf-8")
            for word, instead in find_words(text, rules):
                yield area, f"{folder}/{name}: {word!r}: write {instead}"
            if folder == "src/argmetric" and path.suffix == ".py":
                for line, bare in find_bare_names(text, rules["names"]):
                    yield area, f"{folder}/{name}:{line}: {bare} is no noun nor verb"


def find_words(text: str, rules: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each retired word of a text, parts of identifiers too, and a better one."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s\"'_#]+", " ", text).lower()
    for phrase in rules["allowed"]:
        text = text.replace(phrase, "")
    for word, instead in rules["retired"].items():
        for match in re.finditer(rf"\b(?:{word})\b", text):
            yield match[0], instead


def find_bare_names(text: str, names: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield line and name of functions that are a participle or begin with what."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first, *more = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", node.name) or ["_"]
            word = first.lower()
            participle = word.endswith("ed") and word not in names["nouns"]
            alone = not more and (participle or word in names["participles"])
            if (alone or word in QUESTIONS) and node.name not in names["public"]:
                yield node.lineno, node.name


if __name__ == "__main__":
    raise SystemExit(main())
