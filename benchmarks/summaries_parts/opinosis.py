"""opinosis: what reviews say on a topic in 25 words."""

from __future__ import annotations

from summaries_parts.sets import Goal, tell


def run(*, quick: bool) -> str:
    goal = Goal((">=", 15.5), aim=18.0)
    goals = {"dagger, compressed": goal, "weights, compressed": goal}
    return tell("opinosis", goals, (), quick=quick)
