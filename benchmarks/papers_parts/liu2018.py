"""Liu et al. (2018): SFO and FOFO, their theorems where probabilities are known."""

from __future__ import annotations

from functools import cache

import numpy as np
from stream_parts.convergence import FOFO, OFO, STREAMS, Stream, ends_of

from argmetric.stream import FOFORule, OFORule, SFORule, ThresholdRule
from papers_parts.claim import Estimate, Figures, declare
from papers_parts.estimates import slope

SFO = "SFO"
COMMON = STREAMS[:2]  # those whose probabilities are right
RARE = Stream("1 % positives", -6.4, 2.0)
ALL = (*COMMON, RARE)
STARTS = {"30 % positives": 1_000, "4 % positives": 3_162, RARE.name: 100_000}
SETS = "from 10³ to 10⁶ rows"  # the sizes of the paper's sets
NEARER = f"streams and lengths {SETS} with FOFO nearer than OFO, %"
LARGEST = "largest (F* − F)/|θ − θ*|, over 2/π"
TITLES = {"f0.5": "F0.5", "f2": "F2", "jaccard": "Jaccard"}


@cache
def _ends(stream: Stream, fast: bool) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Numbers of rows, and the thresholds of every rule: streams by numbers."""
    lengths = np.unique(np.logspace(3, 6 if fast else 7, 7 if fast else 9).astype(int))
    rules: dict[str, ThresholdRule] = {OFO: OFORule(prior=(0.0, 0.0))}
    told = {FOFO: FOFORule, SFO: SFORule}
    return lengths, ends_of(stream, lengths, 5 if fast else 10, rules, told)


def excess(stream: Stream, thresholds: np.ndarray) -> np.ndarray:
    """Q(θ) − Q(θ*), Q = ½E(η − θ)₊² + ½πθ² by quadrature."""
    _, hits, above = stream.tails
    _, eta = stream.scores()
    weight = -np.diff(above, append=0.0)
    sums = [np.cumsum((weight * eta**i)[::-1])[::-1] for i in (2, 1, 0)]

    def q(theta: np.ndarray) -> np.ndarray:
        squares, firsts, rows = (tail[np.searchsorted(eta, theta)] for tail in sums)
        soft = squares - 2 * theta * firsts + theta**2 * rows
        return np.asarray(0.5 * (soft + hits[0] * theta**2))

    return np.maximum(q(thresholds) - q(np.array(stream.best)), 1e-16)


def informative(stream: Stream, lengths: np.ndarray, b2: float = 1.0) -> np.ndarray:
    """Where 1/(σ√n) is less than W = 1/(1+β²), the range of thresholds.

    σ = β²π + P(η ≥ W) is the strong convexity of Q on [0, W].
    """
    _, hits, above = stream.tails
    widest = 1.0 / (1.0 + b2)
    sigma = b2 * hits[0] + np.interp(widest, stream.scores()[1], above)
    return np.asarray(lengths * (sigma * widest) ** 2 >= 1.0)


def ranges(stream: Stream, lengths: np.ndarray) -> dict[str, np.ndarray]:
    """The lengths at which a rate is asked for, and those of the paper's sets."""
    start = STARTS[stream.name]
    asked = lengths > 0.99 * start  # lengths are rounded
    return {f"from {start:,} rows": asked, SETS: lengths < 1.01e6}


def streams(fast: bool) -> tuple[Stream, ...]:
    """Rare positives need longer streams than a fast run has."""
    return COMMON if fast else ALL


def _moments(stream: Stream) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thresholds, F1 and Q less its minimum at each."""
    score, eta = stream.scores()
    cuts = np.linspace(0.01, 0.5, 491)
    return cuts, np.interp(cuts, eta, score), excess(stream, cuts)


@declare("liu2018-lemma-1")
def _lemma_1(fast: bool) -> Figures:
    figures = {}
    for stream in COMMON:
        cuts, score, q = _moments(stream)
        name = stream.name
        best = float(cuts[np.argmin(q)])
        figures[f"argmin of Q less argmax of F1, {name}"] = abs(
            best - float(cuts[np.argmax(score)])
        )
        figures[f"argmin of Q less half of the best F1, {name}"] = abs(
            best - float(score.max()) / 2
        )
        figures[f"concave steps of Q, {name}"] = float((np.diff(q, 2) <= 0).sum())
    return figures


@declare("liu2018-lemma-2")
def _lemma_2(fast: bool) -> Figures:
    """The largest of π/2·(F* − F)/|θ − θ*|, η having a few values."""
    rng, largest = np.random.default_rng(0), 0.0
    for _ in range(1_000 if fast else 20_000):
        eta = np.sort(rng.random(rng.integers(2, 6)))
        weight = rng.dirichlet(np.full(eta.size, 0.3))
        share = weight @ eta
        hits = np.append(np.cumsum((weight * eta)[::-1])[::-1], 0.0)
        above = np.append(np.cumsum(weight[::-1])[::-1], 0.0)
        score = 2 * hits / (share + above)  # of η ≥ its i-th value; of none
        best = score.max() / 2
        # thresholds at a value below θ*, and just beyond one above it
        lost = score.max() - np.where(eta < best, score[:-1], score[1:])
        away = np.abs(eta - best)
        there = (away > 1e-9) & (eta <= 0.5)
        ratio = lost[there] / away[there] * share / 2
        largest = max(largest, *ratio, 0.0)
    return {LARGEST: largest}


@declare("liu2018-theorem-2")
def _theorem_2(fast: bool) -> Figures:
    figures: dict[str, float | Estimate] = {}
    for stream in streams(fast):
        lengths, ends = _ends(stream, fast)
        lost = excess(stream, ends[SFO])
        figures[f"slope of log(Q − Q*) over log T, {stream.name}"] = slope(
            lengths, lost
        )
    return figures


@declare("liu2018-theorem-3")
def _theorem_3(fast: bool) -> Figures:
    figures: dict[str, float | Estimate] = {}
    for stream in streams(fast):
        lengths, ends = _ends(stream, fast)
        errors = np.abs(ends[FOFO] - stream.best)
        for rows, mine in ranges(stream, lengths).items():
            figures[f"slope of log|θ − θ*| {rows}, {FOFO}, {stream.name}"] = slope(
                lengths[mine], errors[:, mine]
            )
    return figures


@declare("liu2018-section-1-faster")
def _faster(fast: bool) -> Figures:
    """How often FOFO is the nearer one, over the sizes of the paper's sets."""
    figures: dict[str, float | Estimate] = {}
    for stream in streams(fast):
        lengths, ends = _ends(stream, fast)
        errors = {name: np.abs(ends[name] - stream.best) for name in (FOFO, OFO)}
        mine = ranges(stream, lengths)[SETS]
        nearer = errors[FOFO][:, mine] < errors[OFO][:, mine]
        figures[f"{NEARER}, {stream.name}"] = Estimate.of(100.0 * nearer.mean(axis=1))
    return figures


@declare("liu2018-theorem-4")
def _consistency(fast: bool) -> Figures:
    figures = {}
    for stream in streams(fast):
        _, ends = _ends(stream, fast)
        lost = stream.lost(ends[FOFO])
        figures[f"points of F1 lost at the end, {stream.name}"] = Estimate.of(
            lost[:, -1]
        )
    return figures


def best_cut(stream: Stream, metric: str) -> float:
    """The threshold at the maximum of a metric over cuts, by the metric's own curve."""
    _, hits, above = stream.tails
    if metric == "jaccard":
        score = hits / (hits[0] + above - hits)
    else:
        score = stream.scores(float(metric[1:]) ** 2)[0]
    return float(stream.scores()[1][np.argmax(score)])


@declare("liu2018-section-5-other-metrics")
def _other_metrics(fast: bool) -> Figures:
    figures = {}
    lengths = np.unique(np.logspace(3, 6 if fast else 7, 7 if fast else 9).astype(int))
    for metric, title in TITLES.items():
        b2 = 1.0 if metric == "jaccard" else float(metric[1:]) ** 2
        for stream in COMMON:
            seeds = 5 if fast else 10
            ends = ends_of(stream, lengths, seeds, {}, {FOFO: FOFORule}, metric)
            errors = np.abs(ends[FOFO] - best_cut(stream, metric))
            far = informative(stream, lengths, b2)
            figures[f"slope of log|θ − θ*|, {title}, {stream.name}"] = slope(
                lengths[far], errors[:, far]
            )
    return figures
