"""fewsum: reviews of products and places in 60 words."""

from __future__ import annotations

from summaries_parts.sets import tell


def run(*, quick: bool) -> None:
    tell("fewsum", quick=quick)
