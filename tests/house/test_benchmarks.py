"""Every figure of a page has its command, and every section of a benchmark its page."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"
LINE = re.compile(r"^\| (?:`([\w./]+)` \| )?`(\w+\.py)((?: \w+)*)` \|", re.MULTILINE)
HELPERS = {"harness.py", "tabular.py"}


# Page ("" for a tool), script and sections of every line of the tables
ROWS = LINE.findall((FOLDER / "README.md").read_text(encoding="utf-8"))


def sections_of(script):
    """The sections that a script hands to `run_sections`, or None without one."""
    source = (FOLDER / script).read_text(encoding="utf-8")
    main = ast.parse(source).body[-1]
    calls = [node for node in ast.walk(main) if isinstance(node, ast.Call)]
    if "run_sections" not in [getattr(call.func, "id", None) for call in calls]:
        return None
    if dicts := [node for node in ast.walk(main) if isinstance(node, ast.Dict)]:
        return {key.value for one in dicts for key in one.keys}
    assigned = next(node for node in ast.walk(main) if isinstance(node, ast.Assign))
    names = set(ast.literal_eval(assigned.value).split())
    parts = FOLDER / f"{script.removesuffix('.py')}_parts"
    assert [name for name in names if not (parts / f"{name}.py").exists()] == []
    return names


@pytest.mark.parametrize("script", sorted({script for _, script, _ in ROWS}))
def test_every_section_stands_on_a_page(script):
    listed = {
        name for _, other, names in ROWS if other == script for name in names.split()
    }
    sections = sections_of(script)
    if sections is None:
        source = (FOLDER / script).read_text(encoding="utf-8")
        assert [name for name in listed if name not in source] == []
    else:
        assert listed == sections


def test_every_script_is_listed():
    scripts = {path.name for path in FOLDER.glob("*.py")}
    assert {script for _, script, _ in ROWS} == scripts - HELPERS


@pytest.mark.parametrize("page", sorted({page for page, _, _ in ROWS if page}))
def test_every_page_names_its_commands(page):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    listed = {script for other, script, _ in ROWS if other == page}
    assert set(re.findall(r"benchmarks/(\w+\.py)", text)) == listed


def test_every_page_with_a_command_is_listed():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.rst"))]
    naming = {
        str(path.relative_to(ROOT))
        for path in pages
        if re.search(r"benchmarks/\w+\.py", path.read_text(encoding="utf-8"))
    }
    assert naming == {page for page, _, _ in ROWS if page}
