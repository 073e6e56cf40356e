"""Readers meet plain words: the glossary has the terms, and old riddles stay away."""

import re
import runpy
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOUND_FIRST = runpy.run_path(str(ROOT / "docs/measure_pages.py"))["SEARCHED"]
PLACES = {
    "docs": (".rst", ".py"),
    "examples": (".rst", ".py"),
    "src": (".py", ".html", ".js"),
}
FILES = [
    ROOT / "README.md",
    *(
        path
        for folder, endings in PLACES.items()
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in endings and "_build" not in path.parts
    ),
]
# A riddle, and what to write instead.
RIDDLES = {
    "answers another question": "a 0.5 cut-off is usually not the best one",
    "the interval does not hide it": "the wide interval shows it",
    "yours to say": "`zero_division` sets how an empty answer scores",
    "its value and the way out": "the error names the row, the value and the fix",
    "claim and judges it": "re-runs the papers' claims and reports which hold",
    "that nothing was chosen on": "data sets not used for any design choice",
    "there are two of it": "that raises two questions",
    "the one that is had": "checks whether the forecast matches the actual score",
    "advised way to labels": "the score gained by the advised method",
    "would have held": "only 30 % of those intervals would have contained the score",
    "leads to expect": "forecast 0.610, actual 0.700",
    "fit to forecast with: ": "forecasts are reliable after recalibration",
    "that was had": "actual F1",
    "would not be seen": "this sample cannot detect a loss below 0.069 F1",
    "questions of a claim answered": "a claim holds if every check passes",
}
TERMS = (
    *("actual score", "calibrated", "drift", "forecast", "group", "imbalanced"),
    *("interval", "multi-label", "out of fold", "recalibrate", "reference"),
    "threshold",
)
SEARCHED = (
    "imbalanced",
    "class weights",
    "scale_pos_weight",
    "SMOTE",
    "threshold",
    "production",
    "drift",
    "torch",
    "pandas",
    "multi-label",
)


WORDS = runpy.run_path(str(ROOT / "benchmarks/words.py"))
RULES = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["words"]


def plain(text):
    return re.sub(r"[\s\"']+", " ", text).lower()


TEXTS = {path: plain(path.read_text(encoding="utf-8")) for path in FILES}


@pytest.mark.parametrize("riddle", RIDDLES)
def test_no_riddles(riddle):
    found = [
        str(path.relative_to(ROOT)) for path, text in TEXTS.items() if riddle in text
    ]
    assert found == [], f"write: {RIDDLES[riddle]}"


def test_riddles_are_found_across_lines():
    assert "that was had" in plain('"the score that "\n    "was had"')


def test_no_folder_has_more_retired_words_than_it_may():
    counts = Counter(area for area, _ in WORDS["find_places"](RULES))
    assert counts <= Counter(RULES["left"]), counts - Counter(RULES["left"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("law_of_count(p)", ["law"]),
        ("class CountLaws:", ["laws"]),
        ("the share\n    of positives", ["share of positives"]),
        ('"the share "\n    "of positives"', ["share of positives"]),
        ("a law and a chance", ["law", "chance"]),
        ("by the law of large numbers this may be chance", []),
        ("flaws, lawn and a bitmap of scores", []),
    ],
)
def test_retired_words_are_found(text, words):
    assert [word for word, _ in WORDS["find_words"](text, RULES)] == words


@pytest.mark.parametrize(
    ("name", "is_bare"),
    [
        *[("drawn", True), ("_fitted", True), ("Found", True), ("what_is_left", True)],
        *[("fitted_values", False), ("seed", False), ("count_pairs", False)],
    ],
)
def test_bare_names_are_found(name, is_bare):
    found = WORDS["find_bare_names"](f"def {name}(): ...", RULES["names"])
    assert bool(list(found)) == is_bare


@pytest.mark.parametrize("term", TERMS)
def test_the_glossary_has_the_term(term):
    glossary = (ROOT / "docs/glossary.rst").read_text(encoding="utf-8")
    assert f"\n   {term}\n      " in glossary


@pytest.mark.parametrize("word", SEARCHED)
def test_the_search_finds_what_people_type(word):
    pages = [text for path, text in TEXTS.items() if path.suffix == ".rst"]
    assert any(word.lower() in text for text in pages)


@pytest.mark.parametrize(("query", "page"), FOUND_FIRST.items())
def test_the_index_leads_the_search_to_the_page(query, page):
    """A main entry that equals the query scores 100, all else 26 and less."""
    docs = ROOT / "docs"
    leads = []
    for path in (*docs.glob("*.rst"), *docs.glob("tutorials/*.rst")):
        text = path.read_text(encoding="utf-8")
        lines = re.findall(r"^\.\. index:: (.*)$", text, re.MULTILINE)
        if f"! {query}" in ", ".join(lines).split(", "):
            leads.append(str(path.relative_to(docs).with_suffix("")))
    assert leads == [page]


def test_the_picture_of_functions_fits_a_phone():
    drawn = (ROOT / "docs/_static/which.svg").read_text(encoding="utf-8")
    points = float(re.search(r'width="([\d.]+)pt"', drawn)[1])
    assert points * 4 / 3 <= 390 - 32  # pixels, less the margins of the page
    assert min(map(float, re.findall(r"font-size: ([\d.]+)px", drawn))) >= 9


def test_the_readme_is_short():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    top = lines[: lines.index("## Beside other tools")]
    assert len(top) <= 120
    first = top.index("| You have | You call |") + 2
    rows = [line for line in top[first:] if line.startswith("|")]
    assert 0 < len(rows) <= 12


def test_pages_for_users_are_short():
    """All pages but those under Project, as `wc -w` counts."""
    project = (ROOT / "docs/project.rst").read_text(encoding="utf-8")
    names = {"project", *re.findall(r"^   ([a-z_]+)$", project, re.MULTILINE)}
    assert names > {"papers", "errata", "architecture", "where_is"}
    folders = ROOT / "docs", ROOT / "docs/tutorials"
    pages = [path for folder in folders for path in folder.glob("*.rst")]
    assert len(pages) > 50
    users = [ROOT / "README.md", *(path for path in pages if path.stem not in names)]
    words = {path.name: len(path.read_text(encoding="utf-8").split()) for path in users}
    assert sum(words.values()) <= 44_200, sorted(words.items(), key=lambda one: -one[1])


RESULTS = [*sorted((ROOT / "docs").glob("*_results.rst")), ROOT / "docs/peers.rst"]


@pytest.mark.parametrize("path", [*RESULTS, ROOT / "docs/accuracy.rst"])
def test_pages_of_results_begin_with_a_picture(path):
    text = path.read_text(encoding="utf-8")
    first = re.search(r"^\.\. (?!currentmodule)(\w[\w-]*):: (.*)", text, re.MULTILINE)
    assert first[1] == "figure"
    assert (ROOT / "docs" / first[2]).exists()
    assert text.index(".. figure::") < 200


def test_works_that_are_cited_stand_among_the_references():
    """`Ross and Bagnell 2014`, `Liu et al. (2018)`: the first name and the year."""
    page = (ROOT / "docs/references.rst").read_text(encoding="utf-8")
    names = r"([A-ZÀ-Ž][\w-]+)((?:, [A-ZÀ-Ž][\w-]+)* and [A-ZÀ-Ž]\w+| et al\.)"
    cited = {
        (first, year)
        for path in FILES
        for first, _, year in re.findall(
            names + r"\s+\(?(\d{4})\b", path.read_text(encoding="utf-8")
        )
    }
    listed = set(re.findall(r"^- ([\w-]+), .*? \((\d{4})\)\.", page, re.M | re.S))
    assert len(cited) > 12
    assert cited <= listed, sorted(cited - listed)
