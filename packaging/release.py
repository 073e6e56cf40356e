"""Cut a release: `make release VERSION=0.1.0`. It pushes nothing.

Checks that the tree is clean, on main, and without that tag; that the changelog has a
section for the version; then dates the section, writes the version to its one place
(`__version__`, which CITATION.cff repeats), runs the tests, builds wheel and sdist
twice and compares them byte for byte, tries the wheel outside of the checkout, commits
and tags. If anything fails, the files are as they were.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r"\d+\.\d+\.\d+")
# What a stranger does first with the wheel, in a folder without the sources
TRY = (
    "import argmetric as am; d = am.decide([0.62, 0.48, 0.41, 0.35, 0.3, 0.1]);"
    "assert d.labels.tolist() == [1, 1, 1, 1, 1, 0], d; print(am.__version__)"
)


class CannotReleaseError(Exception):
    """What stands in the way, and what to do."""


def run(*command: str | Path, folder: Path = ROOT, **environment: str) -> str:
    done = subprocess.run(
        [str(one) for one in command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    if done.returncode:
        said = " ".join(str(one) for one in command)
        raise CannotReleaseError(f"{said} failed:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def section(changelog: str, version: str) -> tuple[str, str]:
    """Date and text of a version's part of the changelog."""
    heading = rf"^## \[{re.escape(version)}\] - (\S+)$"
    found = re.search(rf"{heading}(.*?)(?=^## \[|\Z)", changelog, re.M | re.S)
    if found is None:
        raise CannotReleaseError(
            f"CHANGELOG.md has no section '## [{version}] - unreleased': write one"
        )
    date, text = found.groups()
    if not text.strip():
        raise CannotReleaseError(f"the section {version} of CHANGELOG.md is empty")
    return date, text.strip()


def check_version(version: str) -> str:
    if VERSION.fullmatch(version) is None:
        raise CannotReleaseError(
            f"{version!r} is no version such as 0.1.0: numbers with two points"
        )
    return version


def check_tree(folder: Path, version: str) -> None:
    if changed := run("git", "status", "--porcelain", folder=folder):
        raise CannotReleaseError(f"the tree is not clean: commit or remove\n{changed}")
    branch = run("git", "branch", "--show-current", folder=folder)
    if branch != "main":
        raise CannotReleaseError(f"releases are cut from main, and this is {branch!r}")
    if run("git", "tag", "--list", f"v{version}", folder=folder):
        raise CannotReleaseError(f"the tag v{version} exists: take the next version")


def replaced(text: str, pattern: str, new: str, where: str) -> str:
    text, found = re.subn(pattern, new, text, flags=re.M)
    if found != 1:
        raise CannotReleaseError(f"{where} has {found} places for {pattern}, not one")
    return text


def write_version(folder: Path, version: str, date: str) -> list[Path]:
    """Date the changelog and write the version; return the files."""
    places = {
        "CHANGELOG.md": [
            (rf"^## \[{re.escape(version)}\] - \S+$", f"## [{version}] - {date}")
        ],
        "src/argmetric/__init__.py": [
            (r'^__version__ = ".+"$', f'__version__ = "{version}"')
        ],
        "CITATION.cff": [
            (
                r"^version: .+\n(?:date-released: .+\n)?",
                f"version: {version}\ndate-released: {date}\n",
            )
        ],
    }
    texts = {}
    for name, changes in places.items():
        texts[name] = (folder / name).read_text(encoding="utf-8")
        for pattern, new in changes:
            texts[name] = replaced(texts[name], pattern, new, name)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in texts]


def build(target: Path) -> dict[str, str]:
    """Wheel and sdist; the hash of each by its name."""
    epoch = run("git", "log", "-1", "--format=%ct")
    run(
        *(sys.executable, "-m", "build", "--outdir", target, ROOT),
        SOURCE_DATE_EPOCH=epoch,
    )
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(target.iterdir())
    }


def build_twice(target: Path) -> None:
    """Build into a folder, and again elsewhere: the same bytes, or an error."""
    shutil.rmtree(target, ignore_errors=True)
    first = build(target)
    with tempfile.TemporaryDirectory() as again:
        second = build(Path(again))
    if first != second or len(first) != 2:
        raise CannotReleaseError(f"two builds differ: {first} and {second}")
    run(sys.executable, "-m", "twine", "check", "--strict", *target.iterdir())
    for name, digest in first.items():
        print(f"{digest}  {name}")


def try_wheel(folder: Path) -> None:
    """Install the wheel where no sources are, and use it and its command."""
    (wheel,) = folder.glob("*.whl")
    with tempfile.TemporaryDirectory() as elsewhere:
        venv.create(elsewhere, with_pip=True)
        bin_ = Path(elsewhere, "Scripts" if os.name == "nt" else "bin")
        python = bin_ / ("python.exe" if os.name == "nt" else "python")
        for what in (f"{wheel}", f"{wheel}[cli]"):
            run(python, "-m", "pip", "install", "--quiet", what, folder=Path(elsewhere))
            print(run(python, "-c", TRY, folder=Path(elsewhere)), what)
        run(python, "-m", "argmetric", "demo", folder=Path(elsewhere))


def cut(version: str, date: str, *, tests: bool) -> None:
    check_tree(ROOT, check_version(version))
    section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    files = write_version(ROOT, version, date)
    try:
        if tests:
            subprocess.run(["make", "test"], cwd=ROOT, check=True)
        build_twice(ROOT / "dist")
        try_wheel(ROOT / "dist")
        if run("git", "status", "--porcelain"):
            run("git", "commit", "--quiet", "--message", f"Version {version}", *files)
        run("git", "tag", "--annotate", f"v{version}", "--message", f"v{version}")
    except BaseException:
        run("git", "checkout", "--quiet", "HEAD", "--", *files)
        raise
    print(f"tagged v{version}. To publish: git push origin main v{version}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("version", nargs="?", help="such as 0.1.0")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--no-tests", action="store_true", help="they have just run")
    parser.add_argument("--dist", action="store_true", help="build and try, no more")
    parser.add_argument("--check-tag", metavar="TAG", help="is it that of the sources?")
    parser.add_argument(
        "--notes", metavar="TAG", help="print its part of the changelog"
    )
    asked = parser.parse_args(arguments)
    try:
        if asked.dist:
            build_twice(ROOT / "dist")
            try_wheel(ROOT / "dist")
        elif tag := asked.check_tag or asked.notes:
            version = check_version(tag.removeprefix("v"))
            text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
            source = (ROOT / "src/argmetric/__init__.py").read_text(encoding="utf-8")
            date, notes = section(text, version)
            if f'__version__ = "{version}"' not in source:
                raise CannotReleaseError(f"the sources are not version {version}")
            if date == "unreleased":
                raise CannotReleaseError(f"CHANGELOG.md has no date for {version}")
            if asked.notes:
                print(notes)
        elif asked.version is None:
            parser.error("which version? make release VERSION=0.1.0")
        else:
            cut(asked.version, asked.date, tests=not asked.no_tests)
    except CannotReleaseError as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
