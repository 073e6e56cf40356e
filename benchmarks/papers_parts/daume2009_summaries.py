"""Daumé et al. (2009), section 6.2: Table 2 on reviews, systems as published."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from summaries_parts import paper as table
from summaries_parts.judge import interval
from summaries_parts.learned import EXTRACTION, VINE

from papers_parts.claim import Ask, Estimate, Figures, at_least, declare


def _questions(claim: table.Claim) -> Iterator[tuple[table.Pair, str]]:
    for pair in claim.pairs:
        for name in table.SETS:
            yield pair, name


def _told(claim: table.Claim, pair: table.Pair, name: str) -> str:
    if claim.nearly_equal:
        return f"share of {pair[0]} that {pair[1]} has, {name}"
    return f"{pair[0]} less {pair[1]}, {name}"


def _takes_long(pair: table.Pair) -> bool:
    return bool({EXTRACTION, VINE} & set(pair))


def figure(claim: table.Claim, better: table.System, worse: table.System) -> Estimate:
    """The difference of two systems, or the share of the better one that it reaches."""
    if claim.nearly_equal:
        low, high = interval(worse.scores - table.NEARLY * better.scores)
        share = worse.mean / better.mean
        return Estimate(
            share, table.NEARLY + low / better.mean, table.NEARLY + high / better.mean
        )
    gains = better.scores - worse.scores
    return Estimate(float(gains.mean()), *interval(gains))


def _measured(claim: table.Claim, fast: bool) -> Figures:
    figures = {}
    for pair, name in _questions(claim):
        if not (fast and _takes_long(pair)):
            found = table.compared(pair, name, quick=fast)
            figures[_told(claim, pair, name)] = figure(claim, *found)
    return figures


def _asks(claim: table.Claim) -> list[Ask]:
    bound = table.NEARLY if claim.nearly_equal else 0.0
    return [
        at_least(_told(claim, pair, name), bound, full_only=_takes_long(pair))
        for pair, name in _questions(claim)
    ]


for _claim in table.CLAIMS:
    declare(f"daume2009-table-2-{_claim.name}", asks=_asks(_claim))(
        partial(_measured, _claim)
    )
