"""Modules of a subpackage import each other in one direction, late imports counted."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "src/argmetric"
SUBPACKAGES = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
# Numbers of modules in the circles of a subpackage: to be taken apart, never to grow
LEFT = {}


def graph_of(modules):
    """Return which of the modules each imports, anywhere in its text.

    modules : dict
        Syntax trees by dotted name; a package has the name of its folder.
    """
    graph = {name: set() for name in modules}
    for name, tree in modules.items():
        hidden = {  # imports that only type checkers see
            id(child)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for part in node.body
            for child in ast.walk(part)
        }
        for node in ast.walk(tree):
            if id(node) in hidden:
                continue
            if isinstance(node, ast.ImportFrom) and node.module:
                targets = [f"{node.module}.{alias.name}" for alias in node.names]
                found = {t if t in modules else node.module for t in targets}
            elif isinstance(node, ast.Import):
                found = {alias.name for alias in node.names}
            else:
                continue
            graph[name] |= {t for t in found & set(modules) if t != name}
    return graph


def circles(graph):
    """Return the strongly connected components of two modules or more."""
    reach = {}
    for name in graph:
        seen, left = set(), list(graph[name])
        while left:
            one = left.pop()
            if one not in seen:
                seen.add(one)
                left += graph[one]
        reach[name] = seen
    return {
        frozenset({a, *(b for b in reach[a] if a in reach[b])})
        for a in graph
        if a in reach[a]
    }


def modules_of(subpackage):
    folder = ROOT / subpackage
    return {
        ".".join(
            ["argmetric", *path.relative_to(ROOT).with_suffix("").parts]
        ).removesuffix(".__init__"): ast.parse(path.read_text(encoding="utf-8"))
        for path in folder.rglob("*.py")
    }


@pytest.mark.parametrize("subpackage", SUBPACKAGES)
def test_no_new_circles(subpackage):
    found = circles(graph_of(modules_of(subpackage)))
    sizes = sorted(map(len, found), reverse=True)
    assert sizes == LEFT.get(subpackage, []), [sorted(one) for one in found]


@pytest.mark.parametrize(
    ("texts", "size"),
    [
        ({"p.a": "from p.b import x", "p.b": "def f():\n    import p.a"}, [2]),
        ({"p.a": "from p import b", "p.b": "from p.c import y", "p.c": ""}, []),
        ({"p.a": "from p.b import x", "p.b": "import p.c", "p.c": "import p.a"}, [3]),
        (
            {
                "p.a": "from p.b import x",
                "p.b": "if TYPE_CHECKING:\n    from p.a import y",
            },
            [],
        ),
    ],
)
def test_circles_are_seen(texts, size):
    trees = {name: ast.parse(text) for name, text in texts.items()}
    assert sorted(map(len, circles(graph_of(trees)))) == size
