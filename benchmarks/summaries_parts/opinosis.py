"""opinosis: what reviews say on a topic in 25 words."""

from __future__ import annotations

from summaries_parts.sets import tell


def run(*, quick: bool) -> None:
    tell("opinosis", quick=quick)
