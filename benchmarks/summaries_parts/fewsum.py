"""fewsum: reviews of products and places in 60 words."""

from __future__ import annotations

from summaries_parts.sets import Goal, tell


def run(*, quick: bool) -> str:
    goals = {
        "dagger, sentences": Goal((">=", 8.2), aim=9.0),
        "dagger, compressed": Goal((">=", 9.0), aim=10.5),
        "weights, compressed": Goal((">=", 9.0), aim=10.5),
    }
    above = (
        ("dagger, sentences", "concept coverage, ILP"),
        ("dagger, compressed", "dagger, sentences"),
        ("weights, compressed", "weights, sentences"),
    )
    return tell("fewsum", goals, above, quick=quick)
