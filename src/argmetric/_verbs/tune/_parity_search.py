"""Thresholds of groups whose rates hardly differ: options, and the search."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from argmetric._ground.arguments import check_items, check_share, refuse_given, shown
from argmetric._ground.display import counted
from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.labels import Labels, plain_label
from argmetric._ground.types import AnyArray, Booleans, Floats
from argmetric._ground.validation import check_choice
from argmetric._verbs import _parity as engine
from argmetric._verbs.decide import threshold_between
from argmetric._verbs.guarantees import NotCertifiedError, percent
from argmetric._verbs.tune._parity_rule import RATES, ParityRule
from argmetric._verbs.tune._rule import Rule
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric._verbs.tune._other_rules import Ratio


class ParityTerms(NamedTuple):
    """Checked terms of a limit on parity."""

    rate: str
    groups: Groups
    gap: float
    confidence: float | None
    rng: np.random.Generator


def read_parity(
    parity: object,
    n: int,
    confidence: float | None,
    rng: np.random.Generator,
    refused: dict[str, object],
) -> ParityTerms:
    """Return the checked argument `parity`; options without a meaning are refused."""
    refuse_given(refused, "has no meaning with parity")
    asked: Any = check_items(parity, "parity", "a rate, groups and a gap")
    if len(asked) != 3:
        raise ValueError(
            f"parity must be a rate, groups and a gap, not {shown(parity)}"
        )
    rate, groups, gap = asked
    if not isinstance(rate, str) or isinstance(groups, int | float):
        raise TypeError(
            "parity is a rate, groups and a gap in this order, as in ('recall', "
            f"groups, 0.05), and not {shown(rate)}, {shown(groups)}, {shown(gap)}"
        )
    if rate == "precision":
        raise ValueError(
            "no gap of precision can be promised: no order statistic has its "
            "distribution; pass 'recall' or 'selection_rate'"
        )
    check_choice(rate, "the rate of parity", tuple(RATES))
    coded = code_groups(groups, n, name="the groups of parity")
    if coded.count < 2:
        raise ValueError("parity needs two groups at the least")
    return ParityTerms(str(rate), coded, check_share(gap, "the gap"), confidence, rng)


def tune_parity(
    scores: Floats,
    labels: Labels,
    metric: Metric,
    ratio: Ratio,
    terms: ParityTerms,
) -> ParityRule:
    """Return thresholds of best metric, with a gap that is proven or of these rows."""
    positive, code = labels.positive, terms.groups.codes
    parts = [code == g for g in range(terms.groups.count)]
    base = positive if terms.rate == "recall" else np.ones(scores.size, dtype=bool)
    sizes = [int((here & base).sum()) for here in parts]
    if min(sizes) == 0:
        _refuse_few(terms, sizes, ValueError)
    n, t = float(scores.size), float(positive.sum())
    if terms.confidence is None:
        probability = math.nan
        cuts = _cuts_of_these_rows(scores, positive, metric, ratio, terms)
    else:
        cuts, sizes, probability = _proven_cuts(scores, positive, base, ratio, terms)
    selected = scores >= np.array(cuts)[code]
    score = metric.value(
        float((selected & positive).sum()), float(selected.sum()), t, n
    )
    inside = bool(scores.min() >= 0.0 and scores.max() <= 1.0)
    rules = [
        Rule(
            metric,
            cut,
            pos_label=labels.pos_label,
            neg_label=labels.neg_label,
            prevalence=float(positive[here].mean()),
            positive_rate=float(selected[here].mean()),
            n=int(here.sum()),
            probabilities=inside,
        )
        for cut, here in zip(cuts, parts, strict=True)
    ]
    return ParityRule(
        tuple(map(plain_label, terms.groups.ids.tolist())),
        tuple(rules),
        terms.rate,
        terms.gap,
        terms.confidence,
        probability,
        tuple(float(selected[here & base].mean()) for here in parts),
        tuple(sizes),
        float(score),
        scores.size,
        _notes_on(terms, sizes),
    )


def _notes_on(terms: ParityTerms, sizes: Sequence[int]) -> tuple[str, ...]:
    """Return a note on the smallest group, if one row of it moves its rate too far."""
    n = min(sizes)
    if n * terms.gap >= 1.0:
        return ()
    what = "positive row" if terms.rate == "recall" else "row"
    return (
        f"group {_smallest(terms, sizes)} has {counted(n, what)}: its rate moves in "
        f"steps of {1.0 / n:.3g}, more than the gap, and the other groups follow it",
    )


def _refuse_few(
    terms: ParityTerms, sizes: Sequence[int], kind: type[ValueError]
) -> NoReturn:
    name = _smallest(terms, sizes)
    what = "positive rows" if terms.rate == "recall" else "rows"
    raise kind(
        f"parity: group {name} has too few {what} to choose its threshold: label more "
        "of its rows, or leave the group out"
    )


def _smallest(terms: ParityTerms, sizes: Sequence[int]) -> str:
    return shown(plain_label(terms.groups.ids.tolist()[int(np.argmin(sizes))]))


def _cuts_of_these_rows(
    scores: Floats, positive: Booleans, metric: Metric, ratio: Ratio, terms: ParityTerms
) -> list[float]:
    """Return the thresholds of best metric within the gap on these rows."""
    recall, t, n = terms.rate == "recall", float(positive.sum()), float(scores.size)
    parts = [terms.groups.codes == g for g in range(terms.groups.count)]
    every = [engine.observed_cuts(scores[x], positive[x], recall=recall) for x in parts]

    def value(tp: Floats, k: Floats) -> Floats:
        return np.asarray(metric.value(tp, k, t, n))

    best = engine.best_cuts(every, terms.gap, ratio, value)
    keys = [np.sort(scores[x])[::-1] for x in parts]
    counts = [int(one.selected[at]) for one, at in zip(every, best, strict=True)]
    cuts = [threshold_between(key, k) for key, k in zip(keys, counts, strict=True)]
    return [cut for cut in cuts if cut is not None]  # no tie is split


def _proven_cuts(
    scores: Floats,
    positive: Booleans,
    base: Booleans,
    ratio: Ratio,
    terms: ParityTerms,
) -> tuple[list[float], list[int], float]:
    """Return thresholds, the rows that prove them, and the probability of the gap."""
    recall = terms.rate == "recall"
    parts = [terms.groups.codes == g for g in range(terms.groups.count)]
    spent = base & (terms.rng.random(scores.size) < engine.SPENT[terms.rate])
    proof = [np.sort(scores[here & base & ~spent])[::-1] for here in parts]
    sizes = [one.size for one in proof]
    if min(sizes) == 0:
        _refuse_few(terms, sizes, NotCertifiedError)
    if any((one[1:] == one[:-1]).any() for one in proof):
        raise ValueError(
            "scores tie within a group, and a gap is proven for distinct scores alone: "
            "pass scores with more digits, or p plus tiny noise, here and in apply"
        )
    if recall:
        if scores.min() < 0.0 or scores.max() > 1.0:
            raise ValueError(
                "a gap of recall is proven for probabilities, not scores: calibrate "
                "them by other rows, calibrate(y, scores), or leave out confidence"
            )
        known = ~positive | spent
        power = (
            engine.odds_power(scores[known], positive[known]) if spent.any() else 1.0
        )
        curves = [engine.tilted_curve(scores[x & ~positive], power) for x in parts]
    else:
        chosen = [x & spent for x in parts]
        curves = [engine.observed_curve(scores[x], positive[x]) for x in chosen]
    counts = [[int((kind & x).sum()) for x in parts] for kind in (positive, ~positive)]
    problem = _Problem(curves, np.array(counts), sizes, terms, ratio)
    ranks, probability = problem.chosen_ranks()
    cuts = [
        math.inf if k <= 0 else -math.inf if k > len(one) else float(one[k - 1])
        for k, one in zip(ranks, proof, strict=True)
    ]
    return cuts, sizes, probability


class _Problem(NamedTuple):
    """Curves of the groups, their positives and negatives, and rows that certify."""

    curves: Sequence[engine.GroupCurve]
    counts: AnyArray
    sizes: Sequence[int]
    terms: ParityTerms
    ratio: Ratio

    def best(self, passes: Callable[[Floats], Booleans]) -> Floats:
        given = self.curves, self.counts.astype(np.float64), self.terms.gap, self.ratio
        return engine.best_rates(*given, passes=passes)

    def chosen_ranks(self) -> tuple[list[int], float]:
        """Return the ranks of best metric that are proven, and the probability."""
        confidence, gap, sizes = self.terms.confidence, self.terms.gap, self.sizes
        assert confidence is not None
        (free, *_) = self.best(lambda rates: rates[:, 0] >= 0.0)
        # One rate for all, the mean of those that are best without a proof
        common = np.full(len(sizes), free.mean())
        even = _ranks(common, sizes)
        if engine.gap_probability(even, sizes, gap) < confidence:
            more = engine.labels_needed(float(free.mean()), sizes, gap, confidence)
            rows = None
            words = "and more than a million times as many are needed"
            if math.isfinite(more):
                rows = math.ceil(more * self.terms.groups.codes.size)
                words = f"and {more:,.1f} times as many are needed, about {rows:,} rows"
                words += " in all"
            kind = "positive rows" if self.terms.rate == "recall" else "rows"
            raise NotCertifiedError(
                f"no thresholds are proven to keep the gap of {RATES[self.terms.rate]} "
                f"below {gap:g} with a confidence of {percent(confidence)}: the groups "
                f"have {', '.join(f'{n:,}' for n in sizes)} {kind} to prove it, "
                f"{words}",
                labels_needed=rows,
            )
        near = self.best(
            lambda rates: (
                engine.near_probability(rates, sizes, gap) >= confidence - 0.01
            )
        )
        for rates in near:
            ranks = _ranks(rates, sizes)
            sure = engine.gap_probability(ranks, sizes, gap)
            if sure >= confidence:
                return ranks, sure
        return even, engine.gap_probability(even, sizes, gap)


def _ranks(rates: Floats, sizes: Sequence[int]) -> list[int]:
    pairs = zip(rates.tolist(), sizes, strict=True)
    return [round(rate * (n + 1)) for rate, n in pairs]
