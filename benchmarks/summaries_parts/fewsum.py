"""fewsum: reviews of products and places in 60 words."""

from __future__ import annotations

from summaries_parts.sets import Goal, tell


def run(*, quick: bool) -> str:
    goals = {
        "SEARN, sentences": Goal((">=", 8.2), aim=9.0),
        "SEARN, compressed": Goal((">=", 9.0), aim=10.5),
        "weights, compressed": Goal((">=", 9.0), aim=10.5),
    }
    above = (
        ("SEARN, sentences", "concept coverage, ILP"),
        ("SEARN, compressed", "SEARN, sentences"),
        ("weights, compressed", "weights, sentences"),
    )
    return tell("fewsum", goals, above, quick=quick)
