"""Grow a summary step by step within a budget, and read the options of users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from operator import index
from typing import Any, NamedTuple, Protocol

import numpy as np

from argmetric._ground.arguments import check_count, check_items, shown
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.search.summaries.cluster import Cluster
from argmetric.search.summaries.material import Budget, Material, text_of

_ROUNDING = 1e-11  # of scores: sums may be taken in any order


class Growth:
    r"""A summary S in the making, which grows by the piece p of the best gain by cost.

    With n_S(g) for the times that S has the gram g, and steps[v, g, j] for what
    occurrence j + 1 of it adds to value v of a text,

        value_v(S) = Σ_g Σ_{j < n_S(g)} steps[v, g, j]
        gain_v(p | S) = value_v(S ∪ p) - value_v(S)
        next piece = argmax_p gain_0(p | S) / cost(p \ S)  where  cost(p \ S) ≤ room

    and room is the budget less the cost of S; a policy may score gains by other rules.
    No sentence is left with fewer words than `min_words`; `redundancy` is the largest
    share of the content of a new sentence that the summary may have already.
    """

    def __init__(
        self,
        material: Material,
        budget: Budget,
        steps: Floats,
        is_open: Booleans,  # pieces that may be added at all
        *,
        min_words: int = 1,
        redundancy: float = 1.0,
    ) -> None:
        cluster, pieces = material.cluster, material.pieces
        self.material = material
        self.budget = budget
        self.room = budget.room
        self.step_of_word = np.full(cluster.n_words, -1, dtype=np.int64)
        self.gains: list[float] = []  # that were expected of each step
        # What adding each piece would cost now; 0 where it cannot be added
        self.sizes = np.empty(len(pieces))
        self._own = len(steps)
        self._steps = np.zeros((self._own + 1, *steps.shape[1:]))
        self._steps[: self._own] = steps
        self._steps[self._own, :, 0] = material.is_content
        self._found = np.empty((len(pieces), self._own + 1))
        self._is_open = is_open
        self._is_refused = np.zeros(len(pieces), dtype=bool)
        self._min_words = min_words
        self._redundancy = redundancy
        self._costs = budget.costs(cluster.words)
        self._kept = np.zeros(cluster.n_words, dtype=np.uint8)
        self._counts = np.zeros(len(material.grams), dtype=np.int64)
        self._scratch = (
            np.empty(cluster.n_sentences, dtype=np.int64),
            np.empty(cluster.n_sentences, dtype=np.int64),
            np.empty(cluster.n_words, dtype=np.int64),
            np.empty(self._own + 1),
            np.empty(self._own + 1),
        )
        grams = material.grams
        self._text = cluster.sentence_starts, grams.text, grams.table
        self._measure()
        self._content = self._found[:, self._own].copy()

    def branch(self) -> Growth:
        """Return a copy that grows independently from here."""
        other = copy(self)
        for name in ("step_of_word", "gains", "sizes", "_found", "_kept", "_counts"):
            setattr(other, name, getattr(self, name).copy())
        other._is_refused = self._is_refused.copy()
        return other

    @property
    def is_kept(self) -> Booleans:
        return self._kept.astype(bool)

    @property
    def values(self) -> Floats:
        """Return the gain of each piece in each value, (n_pieces, n_values)."""
        return self._found[:, : self._own]

    @property
    def kept_words(self) -> Integers:
        """Return how many words of each sentence are kept."""
        starts = self.material.cluster.sentence_starts[:-1]
        return np.add.reduceat(self._kept, starts, dtype=np.int64)

    @property
    def kept_pieces(self) -> Integers:
        """Return 1 for pieces of which a word is kept, 0 for the others."""
        pieces = self.material.pieces
        return np.maximum.reduceat(self._kept[pieces.words], pieces.starts[:-1])

    @property
    def token_counts(self) -> Integers:
        """Return how often the summary has each token."""
        return self._counts[: len(self.material.grams.types)]

    @property
    def used_size(self) -> float:
        """Return the cost of the kept words."""
        return self.budget.room - self.room

    @property
    def size(self) -> int:
        """Return how much of the budget the summary takes."""
        return self.budget.size(text_of(self.material.cluster.words, self._kept))

    @property
    def piece_costs(self) -> Floats:
        """Return the cost of each piece in an empty summary."""
        pieces = self.material.pieces
        found: Floats = np.add.reduceat(self._costs[pieces.words], pieces.starts[:-1])
        return found

    @property
    def shortest(self) -> int | None:
        """Return the size of the shortest piece, even if it does not fit, or None."""
        pieces = self.material.pieces
        costs = self.piece_costs
        can = self._is_open & (np.diff(pieces.starts) >= self._min_words)
        if not can.any():
            return None
        kept = np.zeros(len(self._kept), dtype=bool)
        kept[pieces.words_of(int(np.where(can, costs, np.inf).argmin()))] = True
        return self.budget.size(text_of(self.material.cluster.words, kept))

    def cost_of(self, parts: list[int]) -> float:
        """Return the cost of the words of disjoint pieces that are not kept yet."""
        words = np.concatenate(list(map(self.material.pieces.words_of, parts)))
        return float(self._costs[words[self._kept[words] == 0]].sum())

    def _measure(self) -> None:
        """Update the cost and gain of every piece, given the words that are kept."""
        from argmetric.search.kernels.summaries import measure_pieces

        now = self.material.pieces.arrays, self._kept, self._counts
        worth = self._steps, self._costs, self.room
        measure_pieces(
            *self._text, *now, *worth, self._scratch, self.sizes, self._found
        )

    def measure(self) -> bool:
        """Update `sizes` and `values`; return whether any piece can be added."""
        self._measure()
        pieces = self.material.pieces
        kept = self.kept_words[pieces.sentences]
        new = np.add.reduceat(self._kept[pieces.words] == 0, pieces.starts[:-1])
        is_wrong = (self.sizes < 0.0) | ~self._is_open | self._is_refused
        is_wrong |= kept + new < self._min_words
        if self.material.is_vine:
            above = self.material.parents
            is_wrong |= (above >= 0) & (self._kept[above] == 0)
        if self._redundancy < 1.0:
            repeated = self._content - self._found[:, self._own]
            is_wrong |= (kept == 0) & (repeated > self._redundancy * self._content)
        self.sizes[is_wrong] = 0.0
        return bool(self.sizes.any())

    def take(self, piece: int, gain: float) -> bool:
        """Add a piece.

        Return False, and close it, if the user's own count refuses it.
        """
        from argmetric.search.kernels.summaries import count_grams

        words = self.material.pieces.words_of(piece)
        new = words[self._kept[words] == 0]
        self._kept[new] = 1
        if self.budget.count is not None:
            text = text_of(self.material.cluster.words, self._kept)
            if self.budget.size(text) > self.budget.limit:
                self._kept[new] = 0
                self._is_refused[piece] = True
                return False
        self.step_of_word[new] = len(self.gains)
        self.gains.append(gain)
        self.room -= float(self._costs[new].sum())
        count_grams(*self._text, self._kept, self._counts)
        return True


class Chooser(NamedTuple):
    """Policy applied to one cluster."""

    steps: Floats  # (n_values, n_grams, n_times): what grams are worth
    # from a growth to the expected gain of each piece for each unit of the budget that
    # it takes
    scores: Callable[[Growth], Floats]


class SummaryPolicy(Protocol):
    """Policy that chooses the next piece."""

    def chooser(self, material: Material) -> Chooser: ...


def gain_per_unit(growth: Growth) -> Floats:
    """Return the gain of each piece in the first value, over its cost."""
    sizes = np.where(growth.sizes > 0.0, growth.sizes, 1.0)
    found: Floats = growth.values[:, 0] / sizes
    return found


def best_of(scores: Floats, growth: Growth) -> int:
    """Return the first piece with the highest score, up to rounding, that fits."""
    can = np.where(growth.sizes > 0.0, scores, -np.inf)
    highest = can.max()
    return int((can >= highest - _ROUNDING * abs(highest)).argmax())


def grow(growth: Growth, chooser: Chooser) -> None:
    """Add the piece with the highest score until none fits, or none brings a gain."""
    while growth.measure():
        scores = chooser.scores(growth)
        best = best_of(scores, growth)
        if scores[best] <= 0.0:
            return
        growth.take(best, float(scores[best] * growth.sizes[best]))


class SummaryOptions(NamedTuple):
    """Checked arguments of `Summarizer` as plain Python values."""

    min_words: int
    redundancy: float
    iterations: int
    oracle_beam: int
    beta: float
    random_state: int
    verbose: bool

    def start(
        self,
        material: Material,
        steps: Floats,
        budget: Budget,
        is_open: Booleans | None = None,
    ) -> Growth:
        """Return an empty summary that grows under these options."""
        if is_open is None:
            is_open = np.ones(len(material.pieces), dtype=bool)
        return Growth(
            material,
            budget,
            steps,
            is_open,
            min_words=self.min_words,
            redundancy=self.redundancy,
        )


def best_path(growth: Growth, beam: int) -> list[int]:
    """Return the pieces with the most of the first value; greedy for a beam of 1.

    Summaries of a beam are compared by value per unit of cost; the greedy one is always
    compared in the end.
    """
    paths = [_run(growth.branch(), 1), *([_run(growth, beam)] if beam > 1 else [])]
    return max(paths, key=lambda found: found[0])[1]


def _run(growth: Growth, beam: int) -> tuple[float, list[int]]:
    """Return value and pieces of the best path of a beam, by value per unit of length.

    Paths that keep the same words count once.
    """
    living: list[tuple[float, list[int], Growth]] = [(0.0, [], growth)]
    ended: list[tuple[float, list[int]]] = []
    while living:
        found: dict[bytes, tuple[float, float, list[int], Growth, int]] = {}
        for total, path, one in living:
            if not one.measure():
                ended.append((total, path))
                continue
            scores = np.where(one.sizes > 0.0, gain_per_unit(one), -np.inf)
            order = np.argsort(-scores, kind="stable")[:beam]
            order = order[scores[order] > 0.0]
            if not len(order):
                ended.append((total, path))
            for piece in order.tolist():
                value = total + float(one.values[piece, 0])
                kept = one.is_kept
                kept[one.material.pieces.words_of(piece)] = True
                rate = value / (one.used_size + one.sizes[piece])
                found.setdefault(kept.tobytes(), (rate, value, path, one, piece))
        best = sorted(found.values(), key=lambda x: -x[0])[:beam]
        living = []
        for _, value, path, one, piece in best:
            other = one.branch()
            other.take(piece, 0.0)
            living.append((value, [*path, piece], other))
    return max(ended, key=lambda x: x[0])


def numbers_of(
    given: object, clusters: Sequence[Cluster], name: str
) -> list[list[int]]:
    """Return numbers of sentences from pairs (document, sentence), by cluster."""
    if given is None:
        return [[] for _ in clusters]
    wanted = "a list for each cluster of pairs (document, sentence)"
    items = check_items(given, name, wanted)
    if len(items) != len(clusters):
        raise ValueError(
            f"{name} is {wanted}: {len(items)} lists for {len(clusters)} clusters"
        )
    pairs = [check_items([] if own is None else own, name, wanted) for own in items]
    return [
        list(dict.fromkeys(_number(pair, cluster, name) for pair in own))
        for own, cluster in zip(pairs, clusters, strict=True)
    ]


def _number(pair: Any, cluster: Cluster, name: str) -> int:
    """Return the index of a sentence from a pair (document, sentence)."""
    try:
        document, sentence = map(index, pair)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}: a sentence of {cluster.name} is named by a pair (document, "
            f"sentence), not {shown(pair)}"
        ) from None
    if not 0 <= document < len(cluster.documents):
        raise ValueError(
            f"{name}: {cluster.name} has no document {document}; they are counted "
            f"from 0 to {len(cluster.documents) - 1}"
        )
    first, end = cluster.document_starts[document : document + 2].tolist()
    if not 0 <= sentence < end - first:
        raise ValueError(
            f"{name}: document {document} of {cluster.name} has no sentence "
            f"{sentence}; they are counted from 0 to {end - first - 1}"
        )
    return int(first + sentence)


def take_whole(growth: Growth, sentence: int) -> None:
    """Add a whole sentence; refuse one that does not fit."""
    pieces, cluster = growth.material.pieces, growth.material.cluster
    own = np.flatnonzero(pieces.sentences == sentence)
    whole = (
        own if growth.material.is_vine else own[np.diff(pieces.starts)[own].argmax()]
    )
    growth.measure()
    parts = np.atleast_1d(whole).tolist()
    is_known = growth.budget.count is None  # and not only when it is tried
    is_long = is_known and growth.cost_of(parts) > growth.room
    if is_long or not all(growth.take(part, 0.0) for part in parts):
        raise ValueError(
            f"{cluster.name}: the sentences that must be in do not fit the budget of "
            f"{growth.budget.limit:,} {growth.budget.unit}"
        )


def refuse_tight(growth: Growth) -> None:
    """Raise an error if no sentence or part of one fits the budget."""
    if growth.gains:
        return
    cluster, budget, shortest = growth.material.cluster, growth.budget, growth.shortest
    if shortest is None:
        raise ValueError(
            f"{cluster.name}: there is nothing to take; never and min_words leave no "
            "sentence"
        )
    if shortest > budget.limit:
        raise ValueError(
            f"{cluster.name}: the shortest piece that can be taken has {shortest:,} "
            f"{budget.unit}, more than the budget of {budget.limit:,}"
        )


def read_budget(
    words: int | None,
    characters: int | None,
    budget: int | None,
    count: Callable[[str], int] | None,
    usual: int,
) -> Budget:
    """Return the one budget that the user passed; `usual` words if there is none."""
    given = {"words": words, "characters": characters, "budget": budget}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"pass one of {' and '.join(named)}: one budget is kept")
    if (budget is None) != (count is None):
        missing = "budget, its limit" if budget is None else "count, a function"
        raise ValueError(f"budget and count go together: pass {missing}")
    if count is not None and not callable(count):
        raise TypeError(f"count must be a function of a text, not {shown(count)}")
    if characters is not None:
        return Budget(check_count(characters, "characters", low=1), "characters")
    if budget is not None:
        return Budget(check_count(budget, "budget", low=1), "units", count)
    if words is None:
        words = usual
    return Budget(check_count(words, "words", low=1), "words")
