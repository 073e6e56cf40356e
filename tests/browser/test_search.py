"""The search of the built pages, as a reader types into it; `make docs` runs this."""

import os
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILT = os.environ.get("ARGMETRIC_HTML")  # the folder of the built pages


@pytest.mark.skipif(BUILT is None, reason="needs built pages: make docs")
def test_the_search_finds_first_what_answers(chromium):
    pages = runpy.run_path(str(ROOT / "docs/measure_pages.py"))
    wanted, tab = pages["SEARCHED"], chromium.new_page()
    assert len(wanted) > 15
    first = {query: pages["first_found"](tab, Path(BUILT), query) for query in wanted}
    assert first == wanted
