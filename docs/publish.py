"""Lay the built documentation beside that of other versions: publish.py HTML SITE REF.

REF is "main" or a tag such as v0.1.0. The front page leads to the newest release, or to
"dev" before the first; versions.json is what the list of versions on each page reads.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

FRONT = '<!doctype html><meta http-equiv="refresh" content="0; url={}/index.html">\n'


def folder_of(ref: str) -> str:
    """The folder of a tag or branch: "0.1" of v0.1.3, "dev" of all but releases."""
    release = re.fullmatch(r"v(\d+\.\d+)\.\d+", ref)
    return release[1] if release else "dev"


def publish(html: Path, site: Path, ref: str) -> list[str]:
    """Copy the pages, and return the versions that the site has now, newest first."""
    name = folder_of(ref)
    shutil.rmtree(site / name, ignore_errors=True)
    shutil.copytree(html, site / name)
    folders = (path.name for path in site.iterdir() if (path / "index.html").exists())
    released = [one for one in folders if re.fullmatch(r"\d+\.\d+", one)]
    released.sort(key=lambda one: tuple(map(int, one.split("."))), reverse=True)
    versions = [*released, *(["dev"] if (site / "dev").exists() else [])]
    listed = [
        {"name": f"{one} (stable)" if one in released[:1] else one}
        | {"version": one, "url": f"../{one}/"}
        for one in versions
    ]
    (site / "versions.json").write_text(json.dumps(listed, indent=2) + "\n", "utf-8")
    (site / "index.html").write_text(FRONT.format(versions[0]), "utf-8")
    (site / ".nojekyll").touch()
    return versions


if __name__ == "__main__":
    print(*publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
