"""Everything up to the button of a release is there, and agrees."""

import importlib
import json
import re
import subprocess
import tomllib
import unicodedata
from pathlib import Path

import pytest

import argmetric as am

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.fixture
def release(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return importlib.import_module("release")


@pytest.fixture
def checkout(tmp_path):
    """A small clone with the files that carry the version."""
    for name in ("CHANGELOG.md", "CITATION.cff", "src/argmetric/__init__.py"):
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text((ROOT / name).read_text("utf-8"), "utf-8")
    for command in (
        ["init", "--quiet", "--initial-branch", "main"],
        ["add", "."],
        [*("-c", "user.name=a", "-c", "user.email=a@b"), "commit", "-qm", "first"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def test_the_version_is_written_to_its_places(release, checkout):
    text = (checkout / "CHANGELOG.md").read_text("utf-8")
    head = "## [9.8.7] - unreleased\n\n- News.\n\n"
    text = text.replace("## [", f"{head}## [", 1)
    (checkout / "CHANGELOG.md").write_text(text, "utf-8")
    assert release.section(text, "9.8.7") == ("unreleased", "- News.")
    release.write_version(checkout, "9.8.7", "2027-01-02")
    written = {
        path: (checkout / path).read_text("utf-8")
        for path in ("CHANGELOG.md", "CITATION.cff", "src/argmetric/__init__.py")
    }
    assert "\n## [9.8.7] - 2027-01-02\n" in written["CHANGELOG.md"]
    cited = "\nversion: 9.8.7\ndate-released: 2027-01-02\n"
    assert cited in written["CITATION.cff"]
    assert '\n__version__ = "9.8.7"\n' in written["src/argmetric/__init__.py"]
    release.write_version(checkout, "9.8.7", "2027-01-03")  # a second try
    assert (checkout / "CITATION.cff").read_text("utf-8").count("date-released") == 1


def test_what_stands_in_the_way_is_said(release, checkout):
    for version in ("v1.0.0", "1.0", "1.0.0rc1", ""):
        with pytest.raises(release.CannotReleaseError, match="is no version such as"):
            release.check_version(version)
    release.check_tree(checkout, "0.1.0")
    subprocess.run(["git", "tag", "v0.1.0"], cwd=checkout, check=True)
    with pytest.raises(release.CannotReleaseError, match=r"the tag v0.1.0 exists"):
        release.check_tree(checkout, "0.1.0")
    (checkout / "new.txt").write_text("x")
    with pytest.raises(release.CannotReleaseError, match=r"not clean(.|\n)*new\.txt"):
        release.check_tree(checkout, "0.2.0")
    with pytest.raises(release.CannotReleaseError, match=r"no section '## .9\.9\.9"):
        release.section("## [0.1.0] - unreleased\ntext\n", "9.9.9")
    with pytest.raises(release.CannotReleaseError, match="is empty"):
        release.section(
            "## [0.1.0] - unreleased\n\n## [0.0.1] - 2020-01-01\na", "0.1.0"
        )
    with pytest.raises(release.CannotReleaseError, match="has 0 places"):
        release.replaced("text", "^version", "", "CITATION.cff")


def test_the_version_of_the_sources_can_be_released(release):
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert len(release.section(text, am.__version__)[1].split()) > 100


def test_bounds_of_libraries_are_those_that_are_tried():
    text = (ROOT / "packaging/lowest.txt").read_text("utf-8")
    tried = dict(re.findall(r"^([\w-]+)==([\d.]+)$", text, re.MULTILINE))
    extras = PROJECT["optional-dependencies"]
    named = [*PROJECT["dependencies"], *extras["cli"], *extras["files"]]
    named += [*extras["sklearn"], *extras["plot"], *extras["report"], *extras["dask"]]
    bounds = dict(re.findall(r"^([\w-]+)>=([\d.]+)$", "\n".join(named), re.MULTILINE))
    assert len(bounds) >= 11
    for library, bound in bounds.items():
        assert tried[library].startswith(bound), library


def test_actions_are_pinned_by_their_hashes():
    used = [
        (path.name, line)
        for path in WORKFLOWS
        for line in re.findall(r"uses: (\S+.*)", path.read_text("utf-8"))
        if not line.startswith("./")
    ]
    assert len(used) > 15
    pinned = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [one for one in used if not pinned.fullmatch(one[1])] == []


def test_workflows_try_every_python_and_system():
    text = (ROOT / ".github/workflows/ci.yml").read_text("utf-8")
    for one in PROJECT["classifiers"]:
        if match := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one):
            assert f'"{match[1]}"' in text, one
    for system in ("ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "windows-2025"):
        assert f"system: {system}," in text


def test_the_recipe_has_the_requirements_of_the_project():
    text = (ROOT / "packaging/recipe.yaml").read_text("utf-8")
    assert f'version: "{am.__version__}"' in text
    run = text.partition("  run:\n")[2].partition("\n\n")[0]
    listed = re.findall(r"^ +- ([\w-]+ ?>=[\d.]+|python .+)$", run, re.MULTILINE)
    required = [one.replace(">=", " >=") for one in PROJECT["dependencies"]]
    assert sorted(listed[1:]) == sorted(required)


def test_documentation_lies_beside_that_of_other_versions(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    publish = importlib.import_module("publish").publish
    html, site = tmp_path / "html", tmp_path / "site"
    html.mkdir()
    site.mkdir()
    for ref, expected in (
        ("main", ["dev"]),
        ("v0.9.0", ["0.9", "dev"]),
        ("v0.10.1", ["0.10", "0.9", "dev"]),
        ("v0.9.1", ["0.10", "0.9", "dev"]),
    ):
        (html / "index.html").write_text(ref)
        assert publish(html, site, ref) == expected
    assert (site / "0.9/index.html").read_text() == "v0.9.1"
    assert "url=0.10/" in (site / "index.html").read_text()
    listed = json.loads((site / "versions.json").read_text())
    assert [one["name"] for one in listed] == ["0.10 (stable)", "0.9", "dev"]


def entries_of_the_paper():
    """Fields by key, without TeX's braces and accents."""
    text = (ROOT / "packaging/paper/paper.bib").read_text("utf-8")
    entries = {}
    for key, body in re.findall(r"^@\w+\{(\w+),\n(.*?)\n\}", text, re.M | re.S):
        fields = re.findall(r"^  (\w+) = \{(.*)\},?$", body, re.M)
        entries[key] = {name: untexed(value) for name, value in fields}
    return entries


def untexed(value):
    value = value.replace(r"{\l}", "ł")
    for sign, mark in (
        ("'", "\N{COMBINING ACUTE ACCENT}"),
        ('"', "\N{COMBINING DIAERESIS}"),
    ):
        value = re.sub(r"\{\\" + sign + r"(\w)\}", r"\1" + mark, value)
    return unicodedata.normalize("NFC", value).replace("{", "").replace("}", "")


def test_the_paper_and_the_page_of_references_agree():
    page = (ROOT / "docs/references.rst").read_text("utf-8")
    listed = [" ".join(one.split()) for one in re.split(r"^- ", page, flags=re.M)[1:]]
    for key, entry in entries_of_the_paper().items():
        title = f" {entry['title']}".casefold()
        found = [one for one in listed if title in one.casefold()]
        assert len(found) == 1, f"{key}: {len(found)} references have its title"
        before = found[0][: found[0].casefold().index(title)]
        names = [name.split(",")[0] for name in entry["author"].split(" and ")]
        assert [name for name in names if f"{name}," not in before] == [], key
        assert ("year" not in entry) or before.endswith(f"({entry['year']})."), key
        assert {"doi", "url"} & set(entry), f"{key} has neither a DOI nor an address"
        for doi in re.findall(r"doi:(\S+) <", found[0]):
            assert doi == entry["doi"]


def test_the_paper_is_as_long_as_the_journal_asks():
    text = (ROOT / "packaging/paper/paper.md").read_text("utf-8")
    body = text.split("---", 2)[2].partition("# References")[0]
    assert 750 <= len(body.split()) <= 1_750
    cited = set(re.findall(r"@([\w:-]+)", body))
    assert cited == set(entries_of_the_paper())
    title = re.search(r"^title: ['\"](.+)['\"]$", text, re.M)
    cff = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'title: "{title[1]}"' in cff
