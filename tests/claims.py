"""The modules that declare the claims of the papers, and their verdicts.

Tests of the house find modules of the benchmarks and of the docs (`house/conftest.py`).
"""

import importlib


class Modules:
    """Modules by names of ours, each loaded when it is first asked for."""

    def __init__(self, **names):
        self._names = names

    def __getattr__(self, name):
        if name not in self._names:
            raise AttributeError(name)
        return importlib.import_module(self._names[name])


def claim_of(module, name):
    """The claim of this name, behind the name of its paper."""
    paper = module.__name__.split(".")[-1].split("_")[0]
    claims = importlib.import_module("papers_parts.claim").CLAIMS
    return claims[f"{paper}-{name}"]


def judged(module, name, figures=None, *, fast=True):
    """The verdict on these figures, or on what the experiment measures."""
    claim = claim_of(module, name)
    figures = claim.measure(fast) if figures is None else figures
    return claim.verdict(figures, fast=False)[0]
