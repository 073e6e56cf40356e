"""What the files around the package say of it is true."""

import re
import runpy
from importlib import metadata
from pathlib import Path

import pytest

import argmetric as am

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/argmetric"
DRAWING = runpy.run_path(str(ROOT / "docs/draw_architecture.py"))


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


def where_is():
    page = text_of("docs/architecture.rst")
    return page[page.index("Where is ...?") : page.index("The rooms\n")]


def paths_in_contributing():
    text = text_of("CONTRIBUTING.md")
    quoted = re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./]+|[A-Z]+\.md)`", text)
    return sorted({*quoted, *re.findall(r"\]\(([\w./]+)\)", text)})


def paths_in_the_table():
    return sorted(set(re.findall(r"``([\w./]+(?:\.py|\.toml|/))``", where_is())))


def test_the_drawing_is_that_of_the_present_imports():
    drawn = text_of("docs/_static/architecture.svg")
    assert drawn == DRAWING["draw"](ROOT), "run: python docs/draw_architecture.py"


def test_every_room_is_on_the_page_of_the_architecture():
    page = text_of("docs/architecture.rst")
    rooms = DRAWING["read_imports"](ROOT)
    assert [room for room in rooms if f"``{room}``" not in page] == []


def test_one_version():
    assert metadata.version("argmetric") == am.__version__
    cited = re.findall(r"^version: (.+)$", text_of("CITATION.cff"), re.MULTILINE)
    assert cited == [am.__version__]
    assert f"## [{am.__version__}]" in text_of("CHANGELOG.md")


@pytest.mark.parametrize("path", paths_in_contributing())
def test_paths_of_contributing_exist(path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("path", paths_in_the_table())
def test_paths_of_the_table_exist(path):
    assert (PACKAGE / path).exists() or (ROOT / path).exists()


def test_a_newcomer_finds_more_than_ten_things():
    assert len(paths_in_the_table()) > 10
    assert len(paths_in_contributing()) > 10


@pytest.mark.parametrize("path", re.findall(r"\]\(([\w./]+)\)", text_of("README.md")))
def test_links_of_the_readme_lead_somewhere(path):
    assert (ROOT / path).exists()
