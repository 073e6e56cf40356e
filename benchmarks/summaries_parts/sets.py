"""All systems on one set, told side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from harness import Target, emit

from summaries_parts import learned, unlearned
from summaries_parts.learned import EXTRACTION, VINE
from summaries_parts.system import System, tell_gain
from summaries_parts.unlearned import ILP

FOLD_SECONDS = 300.0
PAIRS = (
    ("dagger, sentences", ILP),
    ("weights, sentences", ILP),
    ("dagger, sentences", "weights, sentences"),
    ("dagger, compressed", "dagger, sentences"),
    ("weights, compressed", "weights, sentences"),
    ("dagger, compressed", "weights, compressed"),
    ("frequency, compressed", "frequency, sentences"),
    (VINE, EXTRACTION),
    (EXTRACTION, "dagger, sentences"),
    (VINE, "dagger, compressed"),
)


@dataclass(frozen=True)
class Goal:
    """What a system is to reach, and what was hoped for."""

    target: Target
    aim: float


def systems(name: str, *, quick: bool) -> dict[str, System]:
    beside = unlearned.unlearned(name, quick=quick)
    return beside | learned.learned(name, quick=quick)


def system(name: str, what: str, *, quick: bool) -> System:
    """One of them; no other is run."""
    home = unlearned if what in unlearned.NAMES else learned
    return home.system(name, what, quick=quick)


def tell(
    name: str,
    goals: Mapping[str, Goal],
    above: Sequence[tuple[str, str]],
    *,
    quick: bool,
) -> str:
    """Print every system and differences of some; return the tables."""
    found = systems(name, quick=quick)
    for system in found.values():
        goal = goals.get(system.name)
        if goal is None:
            system.tell()
        else:
            system.tell(goal.target, aim=goal.aim)
        _tell_learning(system)
    for one, other in PAIRS:
        target: Target = (">=", 0.0) if (one, other) in above else None
        tell_gain(found[one], found[other], target)


def _tell_learning(system: System) -> None:
    name = system.clusters.name
    for rows in zip(*filter(None, system.histories), strict=True):
        number = rows[0]["iteration"]
        what = f"iteration {number}" if number else "the initial policy"
        means = {
            key: float(np.mean([row[key] for row in rows]))
            for key in ("loss", "regret", "steps")
        }
        emit(
            name,
            f"{system.name}: loss of {what} on the clusters learned from",
            means["loss"],
            "1 - R-2 recall",
            None,
            regret_of_a_choice=means["regret"],
            steps=means["steps"],
        )
    if "negations_dropped" in system.details:
        emit(
            name,
            f"{system.name}: negations dropped from a kept head",
            system.details["negations_dropped"],
            "words",
            ("<=", 0.0),
            of=system.details["negations_with_kept_heads"],
        )
    if "slowest_fold_cpu_seconds" in system.details:
        emit(
            name,
            f"{system.name}: the slowest training fold",
            system.details["slowest_fold_cpu_seconds"],
            "CPU s",
            ("<=", FOLD_SECONDS),
        )
