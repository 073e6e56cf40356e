"""What all public signatures have in common."""

from __future__ import annotations

import importlib
import inspect
import pydoc
import textwrap

MODULES = ("classes", "metrics", "scale", "search", "sequence", "stream", "tensors")
MODULES = (*MODULES, "train")
NEED_TORCH = ("BestAchievable", "ExpectedMetricLoss", "SoftMetricLoss")


def public_things():
    """Names and objects of all public functions and classes."""
    for name in ("argmetric", *(f"argmetric.{part}" for part in MODULES)):
        module = importlib.import_module(name)
        for public in sorted(set(module.__all__) - {*NEED_TORCH}):
            thing = getattr(module, public)
            if not inspect.ismodule(thing):
                yield f"{name}.{public}", thing


def public_callables():
    """Names and objects of all public functions, classes and methods."""
    for name, thing in public_things():
        yield name, thing
        if inspect.isclass(thing):
            for member in sorted(vars(thing)):
                found = inspect.getattr_static(thing, member)
                if isinstance(found, classmethod | staticmethod):
                    found = found.__func__
                if not member.startswith("_") and inspect.isfunction(found):
                    yield f"{name}.{member}", found


def test_a_random_state_has_one_default():
    """Without asking, the same rows give the same answer."""
    found = {}
    for name, thing in public_callables():
        try:
            known = inspect.signature(thing).parameters
        except (TypeError, ValueError):
            continue
        if "random_state" in known:
            found[name] = known["random_state"].default
    assert len(found) > 15
    others = {name: default for name, default in found.items() if default != 0}
    assert not others


SCREENS = 100  # lines: two screens of a terminal
VERBS = ("decide", "forecast", "evaluate", "tune", "calibrate", "monitor", "report")


def test_the_help_of_a_verb_fits_in_two_screens():
    """What is longer belongs to a page of the documentation."""
    long = {}
    for name, thing in public_things():
        if inspect.isclass(thing):  # methods have their own help
            text = inspect.getdoc(thing) or ""
        else:
            text = pydoc.plain(pydoc.render_doc(thing))
        lines = [textwrap.wrap(line, 80) or [""] for line in text.splitlines()]
        if sum(map(len, lines)) > SCREENS:
            long[name] = sum(map(len, lines))
    assert not long
    assert {f"argmetric.{verb}" for verb in VERBS} <= {
        name for name, _ in public_things()
    }
