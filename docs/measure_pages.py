"""Print what a reader meets on every page, a JSON line each.

    python docs/measure_pages.py                         # words of the sources
    python docs/measure_pages.py docs/_build/html        # and the pages, in Chromium
    python docs/measure_pages.py docs/_build/html index  # some of them

Words are what stands between spaces in README.md and the .rst files, code and markup
included, without the files that the build writes. Screens are 1280 x 900. `cut` counts
the blocks of code that are wider than their box there; `wider` says by how much a page
is wider than a phone of 390. `axe` names what axe-core finds, on a light desk and on a
dark phone. Last come the page that the search of the pages finds first, and the one
that it should find.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.rst"))]
PAGES += sorted((DOCS / "tutorials").glob("*.rst"))
# What people type into the search, and the page that answers it.
SEARCHED = {
    "which model is better": "comparing",
    "best threshold": "tuning",
    "cross validation": "with_pipelines",
    "precision recall": "guarantees",
    "imbalanced": "imbalanced",
    "confidence": "guarantees",
    "judge": "judging",
    "abstain": "review",
    "fairness": "parity",
    "production": "production",
    "cost": "tuning",
    "confidence interval": "forecasting",
    "drift": "tutorials/monitoring",
    "top k": "deciding",
    "nan": "quickstart",
    "class weights": "resampled",
}
CUT = "[...document.querySelectorAll('pre')].filter(x => x.scrollWidth > x.clientWidth)"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
DARK = "document.documentElement.dataset.theme = 'dark'"
FOUND = "#search-results li a"


def words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def broken(tab: Any) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(tab).response["violations"]
    return [f"{x['id']}: {node['html'][:120]}" for x in found for node in x["nodes"]]


def look(tab: Any, page: Path) -> dict[str, Any]:
    """What a page shows on a light desk, and then on a dark phone."""
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.goto(page.resolve().as_uri())
    height = tab.evaluate("document.documentElement.scrollHeight")
    cut, axe = tab.evaluate(f"{CUT}.length"), broken(tab)
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.evaluate(DARK)
    wider, axe = tab.evaluate(WIDER), axe + broken(tab)
    return {"screens": round(height / 900, 1), "cut": cut, "wider": wider, "axe": axe}


def first_found(tab: Any, built: Path, query: str) -> str:
    tab.goto((built / "search.html").resolve().as_uri() + f"?q={query}")
    tab.wait_for_selector(FOUND)
    link = tab.locator(FOUND).first.get_attribute("href")
    return str(link).partition(".html")[0]


def visit(built: Path, names: list[str]) -> None:
    """Print what built pages show, generated ones among them, and the searches."""
    from playwright.sync_api import sync_playwright

    sources = {name_of(page): page for page in PAGES}
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        tab = browser.new_context(color_scheme="light").new_page()
        for page in sorted(built.rglob("*.html")):
            name = page.relative_to(built).with_suffix("").as_posix()
            if not names or name in names:
                count = words(sources[name]) if name in sources else None
                shown = {"page": name, "words": count, **look(tab, page)}
                print(json.dumps(shown), flush=True)
        for query, answer in SEARCHED.items():
            first = first_found(tab, built, query)
            print(json.dumps({"search": query, "first": first, "wanted": answer}))


def name_of(page: Path) -> str:
    return (
        page.relative_to(DOCS.parent).with_suffix("").as_posix().removeprefix("docs/")
    )


def main(built: str | None = None, *names: str) -> None:
    if built:
        visit(Path(built), list(names))
        return
    for page in PAGES:
        print(json.dumps({"page": name_of(page), "words": words(page)}))
    print(json.dumps({"page": "all", "words": sum(map(words, PAGES))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
