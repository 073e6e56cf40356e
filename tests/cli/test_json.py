"""What ``--json`` prints: as docs/results.rst tells it, for every command."""

import importlib.util
import re
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "write_json.py"

spec = importlib.util.spec_from_file_location("write_json", SCRIPT)
page_script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page_script)


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What every call prints."""
    return page_script.print_all(tmp_path_factory.mktemp("json"))


@pytest.fixture
def page():
    return page_script.Page(page_script.PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("call", "kind"), page_script.CALLS)
def test_an_answer_is_what_the_page_says(call, kind, printed, page):
    assert list(page.problems(printed[call], kind, call, "")) == []


def test_the_page_tells_of_all_keys(printed, page):
    assert list(page_script.compared(page, printed)) == []
    assert page.mended() == page.text  # as `python docs/write_json.py --write` has it


def test_every_command_with_json_is_called(run):
    called = {" ".join(call.split()[:2]) for call, _ in page_script.CALLS}

    def commands(level=""):
        shown = run(*level.split(), "--help").out.partition("Commands")[2]
        names = re.findall(r"^│ ([a-z]+) ", shown, re.MULTILINE)
        found = {f"{level} {name}".strip() for name in names}
        return found.union(*(commands(one) for one in found))

    with_json = {
        one for one in commands() if "--json" in run(*one.split(), "--help").out
    }
    assert len(with_json) > 10
    assert [x for x in with_json if not any(c.startswith(x) for c in called)] == []


def test_the_checker_finds_what_is_wrong(page):
    good = {"tp": 1, "fp": 0, "fn": 0, "tn": 2}

    def wrong(value, kind):
        return list(page.problems(value, kind, "here", ""))

    assert wrong(good, "``Confusion``") == []
    for bad in (
        {**good, "tp": None},
        {**good, "tp": 1.5},
        {**good, "tp": True},
        {**good, "more": 1},
        {"tp": 1},
        [1],
    ):
        assert wrong(bad, "``Confusion``")
    assert wrong([0.5, None], "pair of number") == []
    assert wrong([0.5], "pair of number")
    assert wrong(["a", None], "list of text")
    assert wrong("x", "``a`` or ``b``")
    assert wrong({"a": "b"}, "object of integer")


def test_a_key_that_is_new_or_gone_is_mended(page):
    counts = {"tp": 1, "fp": 0, "fn": 0, "more": [1]}
    said = list(page.problems(counts, "``Confusion``", "counts", ""))
    assert said == ["counts.tn is not printed", "counts.more is not on the page"]
    mended = page_script.Page(page.mended())
    names = [key.name for key in mended.tables["Confusion"]]
    assert names == ["tp", "fp", "fn", "more"]
    assert mended.tables["Confusion"][-1] == ("more", "list of integer", "never", "")
    assert mended.tables["Confusion"][0] == page.tables["Confusion"][0]
