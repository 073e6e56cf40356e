"""Print the words and the height of every page, a JSON line each.

    python docs/measure_pages.py                         # words of the sources
    python docs/measure_pages.py docs/_build/html        # and heights, in Chromium

Words are what stands between spaces in README.md and the .rst files, code and markup
included, without the files that the build writes. Heights are screens of 1280 x 900.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

DOCS = Path(__file__).parent
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.rst"))]
PAGES += sorted((DOCS / "tutorials").glob("*.rst"))


def words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def heights(built: Path) -> dict[str, float]:
    """Screens of every built page, by its path without the ending."""
    from playwright.sync_api import sync_playwright

    found = {}
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        for page in sorted(built.rglob("*.html")):
            tab.goto(page.resolve().as_uri())
            pixels = tab.evaluate("document.documentElement.scrollHeight")
            name = page.relative_to(built).with_suffix("").as_posix()
            found[name] = round(pixels / 900, 1)
    return found


def main(built: str | None = None) -> None:
    screens = heights(Path(built)) if built else {}
    names = {p.relative_to(DOCS.parent).as_posix(): p for p in PAGES}
    for name, page in names.items():
        shown = screens.pop(name.removeprefix("docs/").removesuffix(".rst"), None)
        print(json.dumps({"page": name, "words": words(page), "screens": shown}))
    for name, shown in screens.items():  # generated: gallery, API
        print(json.dumps({"page": name, "words": None, "screens": shown}))
    print(json.dumps({"page": "all", "words": sum(map(words, PAGES))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
