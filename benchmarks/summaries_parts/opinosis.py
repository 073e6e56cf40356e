"""opinosis: what reviews say on a topic in 25 words."""

from __future__ import annotations

from summaries_parts.system import table
from summaries_parts.unlearned import unlearned


def run(*, quick: bool) -> str:
    systems = list(unlearned("opinosis", quick=quick).values())
    for system in systems:
        system.tell()
    return table(systems)
