"""All systems on one set, told side by side."""

from __future__ import annotations

from summaries_parts import learned, unlearned
from summaries_parts.system import System, tell_gain
from summaries_parts.unlearned import ILP

PAIRS = (
    ("dagger, sentences", ILP),
    ("dagger, compressed", "dagger, sentences"),
    ("weights, compressed", "weights, sentences"),
    ("frequency, compressed", "frequency, sentences"),
)


def systems(name: str, *, quick: bool) -> dict[str, System]:
    beside = unlearned.unlearned(name, quick=quick)
    return beside | learned.learned(name, quick=quick)


def system(name: str, what: str, *, quick: bool) -> System:
    """One of them; no other is run."""
    home = unlearned if what in unlearned.NAMES else learned
    return home.system(name, what, quick=quick)


def tell(name: str, *, quick: bool) -> None:
    """Print every system, and what learning and compressing gain."""
    found = systems(name, quick=quick)
    for system in found.values():
        system.tell()
    for one, other in PAIRS:
        tell_gain(found[one], found[other])
