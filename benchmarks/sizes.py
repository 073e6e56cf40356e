"""Check the sizes of the subpackages, of the tests and of the benchmarks.

    python benchmarks/sizes.py            # sizes beside their limits; exit code 1 above
    python benchmarks/sizes.py --lower    # lower every limit to the size of now

A size counts lines of code: docstrings, comments and blank lines are free. The limits
stand in `[tool.sizes]` of pyproject.toml: a subpackage is a module or package directly
below `argmetric`; `all` is the whole package, `tests` and `benchmarks` are those
folders. `--lower` never raises a limit: that is a commit that says what it buys.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


def sizes(root: Path = ROOT) -> dict[str, int]:
    """Return the lines of code of each subpackage, and of the folders beside it."""
    package = root / "src/argmetric"
    counts: Counter[str] = Counter()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).parts[0].removesuffix(".py")
        counts[name] += code_lines(path.read_text(encoding="utf-8"))
    subpackages = dict(sorted(counts.items()))
    folders = {
        name: sum(
            code_lines(path.read_text(encoding="utf-8"))
            for path in (root / name).rglob("*.py")
        )
        for name in ("tests", "benchmarks")
    }
    return {**subpackages, "all": sum(subpackages.values()), **folders}


def code_lines(source: str) -> int:
    """Return how many lines have code: no docstring, comment or blank line."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines.difference(*docstring_lines(ast.parse(source))))


def docstring_lines(tree: ast.AST) -> Iterator[range]:
    """Yield the lines of each docstring of a module, its classes and functions."""
    documented = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False):
            first = node.body[0]
            yield range(first.lineno, (first.end_lineno or first.lineno) + 1)


def limits(root: Path = ROOT) -> dict[str, int]:
    """Return the limits of pyproject.toml."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    table: dict[str, int] = tomllib.loads(text)["tool"]["sizes"]
    return table


def faults(now: dict[str, int], most: dict[str, int]) -> list[str]:
    """Return a sentence for each limit that is exceeded, missing or out of date."""
    above = [
        f"{name} has {n:,} lines of code, the limit is {most[name]:,}: take lines "
        "away, or raise the limit in a commit that says what it buys"
        for name, n in now.items()
        if n > most.get(name, n)
    ]
    missing = [
        f"{name} has no limit: write {name} = {now[name]} into [tool.sizes] of "
        "pyproject.toml"
        for name in sorted(now.keys() - most.keys())
    ]
    gone = [
        f"{name} does not exist: delete its line from [tool.sizes] of pyproject.toml"
        for name in sorted(most.keys() - now.keys())
    ]
    return above + missing + gone


def lower(text: str, now: dict[str, int]) -> str:
    """Return the text of pyproject.toml with no limit above the size of now."""
    start = text.index("[tool.sizes]")
    end = text.find("\n[", start)
    end = len(text) if end < 0 else end

    def lower_line(line: re.Match[str]) -> str:
        name, most = line[1], int(line[2].replace("_", ""))
        return f"{name} = {min(most, now.get(name, most)):_}"

    table = re.sub(r"(?m)^(\w+) = ([\d_]+)", lower_line, text[start:end])
    return text[:start] + table + text[end:]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lower", action="store_true", help="lower all limits to now")
    options = parser.parse_args()
    now = sizes()
    if options.lower:
        path = ROOT / "pyproject.toml"
        path.write_text(lower(path.read_text(encoding="utf-8"), now), encoding="utf-8")
    most = limits()
    for name, n in now.items():
        print(f"{name:20} {n:8,} of {most.get(name, 0):8,}")
    messages = faults(now, most)
    for message in messages:
        print(f"sizes: {message}", file=sys.stderr)
    return int(bool(messages))


if __name__ == "__main__":
    sys.exit(main())
