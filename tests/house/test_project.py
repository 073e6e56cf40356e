"""What the files around the package say of it is true."""

import ast
import importlib
import importlib.util
import os
import re
import runpy
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

import argmetric as am
from processes import run_program

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/argmetric"
TEST_FILES = list((ROOT / "tests").rglob("test_*.py"))
DRAWING = runpy.run_path(str(ROOT / "docs/draw_architecture.py"))


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


def paths_in_contributing():
    text = text_of("CONTRIBUTING.md")
    quoted = re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./]+|[A-Z]+\.md)`", text)
    return sorted({*quoted, *re.findall(r"\]\(([\w./]+)\)", text)})


def paths_of_the_page():
    page = text_of("docs/architecture.rst") + text_of("docs/where_is.rst")
    return sorted(set(re.findall(r"``([\w./]+(?:\.py|\.toml|/))``", page)))


def test_the_drawing_is_that_of_the_present_imports():
    drawn = text_of("docs/_static/architecture.svg")
    assert drawn == DRAWING["draw"](ROOT), "run: python docs/draw_architecture.py"


def test_every_room_is_on_the_page_of_the_architecture():
    page = text_of("docs/architecture.rst")
    rooms = DRAWING["read_imports"](ROOT)
    assert [room for room in rooms if f"``{room}``" not in page] == []


def test_every_folder_is_on_the_page_of_the_architecture():
    folders = {
        str(path.parent.relative_to(PACKAGE)) + "/"
        for path in PACKAGE.glob("*/*/*")
        if path.suffix in (".py", ".html", ".css", ".js")
    }
    assert len(folders) > 20
    assert folders <= set(paths_of_the_page())


def test_folders_of_tests_are_those_of_the_package():
    rooms = {room.strip("_") for room in DRAWING["read_imports"](ROOT)}
    folders = {path.parent.relative_to(ROOT / "tests").parts[0] for path in TEST_FILES}
    assert folders - rooms == {"browser", "house"}


IN_THE_ROOT = {
    *(".ci", ".github", ".gitignore", ".pre-commit-config.yaml", "Makefile"),
    "pyproject.toml",
    *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md"),
    *(
        "SECURITY.md",
        "benchmarks",
        "conftest.py",
        "docs",
        "examples",
        "packaging",
        "src",
    ),
    "tests",
}


def git(*arguments, folder=ROOT):
    """What git says; the test is skipped where there is none, or no clone."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("this is no clone")
    return done.stdout


def test_the_root_holds_nothing_that_a_try_left():
    if Path(git("rev-parse", "--show-toplevel").strip()) != ROOT:
        pytest.skip("this is no clone")
    known = {line.partition("/")[0] for line in git("ls-files").splitlines()}
    assert known == IN_THE_ROOT


def test_lint_refuses_files_in_the_root_that_git_does_not_know(tmp_path):
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    (tmp_path / "Makefile").write_text(text_of("Makefile"))
    check = ["make", "--no-print-directory", "-C", str(tmp_path), "clean-tree"]
    none = {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}

    def checked():
        return subprocess.run(
            check, capture_output=True, text=True, check=False, env=os.environ | none
        )

    assert checked().returncode == 0  # without git
    git("init", "--quiet", folder=tmp_path)
    git("add", "Makefile", folder=tmp_path)
    assert (checked().returncode, checked().stdout) == (0, "")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "new.py").write_text("")
    git("add", "src", folder=tmp_path)
    (tmp_path / "src" / "newer.py").write_text("")  # one is at work on it
    assert checked().returncode == 0
    (tmp_path / "out.csv").write_text("p\n0.5\n")
    (tmp_path / "decided").mkdir()
    (tmp_path / "decided" / "part.csv").write_text("p\n0.5\n")
    assert checked().returncode != 0
    assert "git does not know these in the root: decided/ out.csv" in checked().stdout


def test_one_version():
    assert metadata.version("argmetric") == am.__version__
    cited = re.findall(r"^version: (.+)$", text_of("CITATION.cff"), re.MULTILINE)
    assert cited == [am.__version__]
    assert f"## [{am.__version__}]" in text_of("CHANGELOG.md")


@pytest.mark.parametrize("path", paths_in_contributing())
def test_paths_of_contributing_exist(path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("path", paths_of_the_page())
def test_paths_of_the_page_of_the_architecture_exist(path):
    assert (PACKAGE / path).exists() or (ROOT / path).exists()


def test_a_newcomer_finds_more_than_ten_things():
    assert len(paths_of_the_page()) > 10
    assert len(paths_in_contributing()) > 10


@pytest.mark.parametrize("path", re.findall(r"\]\(([\w./]+)\)", text_of("README.md")))
def test_links_of_the_readme_lead_somewhere(path):
    assert (ROOT / path).exists()


BARE = """
import doctest, sys

class Bare:
    def find_spec(self, name, *_):
        if name in (
            *("pandas", "polars", "matplotlib", "jinja2"),
            *("pyarrow", "cyclopts", "rich"),  # its model is of scikit-learn
        ):
            raise ModuleNotFoundError(f"a bare install has no {name}", name=name)

sys.meta_path.insert(0, Bare())
failed, tried = doctest.testfile(sys.argv[1], module_relative=False)
assert tried > 10
sys.exit(failed)
"""


def test_the_readme_runs_in_a_bare_install():
    run_program(BARE, str(ROOT / "README.md"))


def names_taken_from_the_package(path):
    """Pairs (module, name) of the imports of a file, functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            if str(node.module).split(".")[0] == "argmetric":
                yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (
                (alias.name, None)
                for alias in node.names
                if alias.name.split(".")[0] == "argmetric"
            )


def is_there(module, name):
    if importlib.util.find_spec(module) is None:
        return False
    found = importlib.import_module(module)
    if name is None or name in dir(found) or hasattr(found, name):
        return True  # `dir` names what needs an extra that may be missing
    return importlib.util.find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("folder", ["benchmarks", "examples"])
def test_what_benchmarks_and_examples_import_is_there(folder):
    # They run too long to be tested, and their peers may be missing: the names that
    # they take from the package can be checked all the same.
    taken = {
        (str(path.relative_to(ROOT)), *pair)
        for path in sorted((ROOT / folder).rglob("*.py"))
        for pair in names_taken_from_the_package(path)
    }
    assert taken
    assert [x for x in sorted(taken, key=str) if not is_there(*x[1:])] == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("plot_*.py")), ids=lambda path: path.stem
)
def test_an_example_of_the_gallery_is_short_and_draws_one_picture(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    assert text.count("plt.show()") == 1
