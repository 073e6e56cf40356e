"""The public surface changes on purpose only, and what is stable does not go."""

import importlib
import inspect
import runpy
from pathlib import Path

import pytest

from argmetric._ground.stability import COMMANDS, STABLE, is_stable

ROOT = Path(__file__).parents[2]
API = runpy.run_path(str(ROOT / "docs/list_api.py"))
NOTE = "Experimental: "


def test_every_change_of_the_public_surface_is_meant():
    before, now = set(API["SNAPSHOT"].read_text().splitlines()), set(API["lines"]())
    changes = [f"- {line}" for line in sorted(before - now)]
    changes += [f"+ {line}" for line in sorted(now - before)]
    assert not changes, "If this is meant, say so in CHANGELOG.md and run `python " + (
        "docs/list_api.py --write`:\n" + "\n".join(changes)
    )


def test_stable_names_parameters_and_keys_are_there():
    gone = set(API["PROMISES"].read_text().splitlines()) - set(API["stable_lines"]())
    assert not gone, "A stable name goes after a release that warns of it only"


@pytest.mark.parametrize("module", STABLE)
def test_stable_names_are_public(module):
    assert set(STABLE[module]) <= set(importlib.import_module(module).__all__)


def test_the_page_names_what_is_stable():
    page = (ROOT / "docs/stable.rst").read_text()
    names = {name for names in STABLE.values() for name in names} | set(COMMANDS)
    assert {name for name in names if f"`{name}`" not in page} == set()


@pytest.mark.parametrize("name", API["MODULES"])
def test_what_is_experimental_says_so(name):
    path = "argmetric" if name == "argmetric" else f"argmetric.{name}"
    module = importlib.import_module(path)
    if path not in STABLE:
        assert NOTE in module.__doc__
        return
    for public in module.__all__:
        thing = getattr(module, public)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            said = NOTE in (thing.__doc__ or "")
            assert said != is_stable(path, public), public
