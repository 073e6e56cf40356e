"""Grow vines or extract sentences by SEARN, with costs by the best completion.

Daumé, Langford and Marcu (2009, section 6.2). A step adds the root of a sentence or a
direct child of a word that is in; for whole sentences, a sentence. The cost of a step
is the loss of the best summary that it can lead to, found by beam search. A policy is
learned from the costs in the states of the mixture so far, gets a share β of it, and
the initial policy, which knows the references, is removed at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from argmetric._ground.types import AnyArray, Floats, Integers
from argmetric.search.summaries.growth import Chooser, Growth
from argmetric.search.summaries.material import Budget, Material, recall_steps
from argmetric.search.summaries.pieces import ATTRIBUTIONS, PRONOUNS, words
from argmetric.search.summaries.policies import (
    N_VALUES,
    Start,
    StepTally,
    SummaryIteration,
    value_steps,
)
from argmetric.search.summaries.weights import Linear, RidgeSums, Shares, Weights

_DECISIONS = 100  # of an iteration whose costs are asked for, about; they are drawn
_ACTIONS = 12  # of such a state, at most: the one that is taken, and drawn ones
_PENALTY = 30.0
_PERCENT = 100.0
# Parts of speech, coarse: Penn and Universal Dependencies
_TAGS = tuple(map(words, [
    "NN NNS NOUN", "NNP NNPS PROPN", "VB VBD VBG VBN VBP VBZ VERB", "MD AUX",
    "JJ JJR JJS ADJ", "RB RBR RBS ADV", "IN TO ADP SCONJ", "DT PDT PRP$ DET",
    "PRP PRON EX WP", "CC CCONJ", "CD NUM",
]))  # fmt: skip


class Completions:
    """Best completions of summaries, by a beam that knows the references.

    Pieces are nodes of vines; the beam keeps so many summaries of equal size.
    """

    def __init__(self, material: Material, budget: Budget, beam: int) -> None:
        """Prepare the flat arrays of the kernel.

        Tokens of the references get the numbers 0, 1, …; all other tokens share the
        next number. Pairs of tokens that bring recall come behind. A piece is useful if
        it has a token of the references, or if a useful piece hangs on it.
        """
        grams, pieces = material.grams, material.pieces
        n_types = len(grams.types)
        steps = recall_steps(grams, material.references)
        pairs = np.flatnonzero(steps[0, n_types:, 0] > 0.0)
        is_known = np.zeros(n_types + 1, dtype=bool)
        reference_tokens = {token for one in material.references for token in one}
        is_known[:-1] = [token in reference_tokens for token in grams.types]
        n_known = int(is_known.sum())
        number = np.full(n_types, n_known)
        number[is_known[:-1]] = np.arange(n_known)
        self._pairs = np.full((n_known + 1, n_known + 1), -1, dtype=np.int64)
        left, right = number[grams.lefts[pairs]], number[grams.rights[pairs]]
        self._pairs[left, right] = n_known + 1 + np.arange(len(pairs))
        self._steps = np.zeros((2, n_known + 1 + len(pairs), steps.shape[2]))
        self._steps[0, n_known + 1 :] = steps[0, n_types + pairs]
        shares = [set(one) for one in material.references]
        types = np.array(grams.types, dtype=str)[is_known[:-1]].tolist()
        self._steps[1, :n_known, 0] = [sum(t in one for one in shares) for t in types]
        ends = np.append(
            grams.places[pieces.words[pieces.starts[:-1]]], grams.places[-1]
        )
        self._text = ends, number[grams.tokens]
        useful = np.add.reduceat(
            np.append(is_known[grams.tokens], False),
            np.minimum(ends[:-1], len(grams.tokens)),
        ) * (np.diff(ends) > 0)
        is_useful = useful > 0
        while True:
            above = material.parents[is_useful]
            above = above[above >= 0]
            if is_useful[above].all():
                break
            is_useful[above] = True
        self._is_useful = is_useful
        costs = budget.costs(material.cluster.words)[pieces.words]
        self._costs = np.add.reduceat(costs, pieces.starts[:-1])
        self._parents, self._beam = material.parents, beam
        self._path = np.empty(len(pieces), dtype=np.int64)

    def gain(self, kept: AnyArray, room: float) -> float:
        """Return the recall that can still be added to the kept pieces."""
        return self.best(kept, room)[0]

    def best(self, kept: AnyArray, room: float) -> tuple[float, list[int]]:
        """Return the best recall that can be added, and the pieces that add it."""
        from argmetric.search.kernels.summaries import complete

        vines = self._parents, self._is_useful, self._text
        worth = self._pairs, self._steps, self._costs
        found, n = complete(*vines, *worth, kept, room, self._beam, self._path)
        return float(found), self._path[:n].tolist()


def subtree_sums(values: Floats, parents: Integers) -> Floats:
    """Return for each node (row) the sum over itself and all nodes below it."""
    found = values.astype(np.float64)
    depth = np.zeros(len(parents), dtype=np.int64)
    above = parents
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, parents[above], -1)
    for level in range(int(depth.max(initial=0)), 0, -1):
        own = np.flatnonzero(depth == level)
        np.add.at(found, parents[own], found[own])
    return found


class VineFeatures:
    """Features of the nodes of one cluster (section 6.2.4).

    Word identity and stem are what references of other clusters took up of them, and
    language models include pairs of words, so that this policy knows what the others
    do. In place of the BAYESUM model of the query stands the share of documents that
    have a word.
    """

    def __init__(
        self, material: Material, weights: Weights, own: Shares | None
    ) -> None:
        cluster, grams, pieces = material.cluster, material.grams, material.pieces
        n_types = len(grams.types)
        self.material = material
        rate, use, known = (one[:n_types] for one in weights.rates.of(material, own))
        share = grams.documents[:n_types] / grams.n_documents
        asked = material.in_query.astype(np.float64)
        is_stop = material.is_stop_word
        pronoun, attribution = (
            np.array([t in one for t in grams.types], dtype=np.float64)
            for one in (PRONOUNS, ATTRIBUTIONS)
        )
        of_types = np.stack(
            [rate, use, np.log1p(known), share, np.log(share), is_stop, asked,
             asked * share, pronoun, attribution], axis=1,
        )  # fmt: skip
        ends = np.append(
            grams.places[pieces.words[pieces.starts[:-1]]], grams.places[-1]
        )
        self._n_tokens = np.diff(ends).astype(np.float64)
        self._node_of_token = np.repeat(np.arange(len(pieces)), np.diff(ends))
        sums = self._sums(of_types[grams.tokens])
        parents, sentence = material.parents, pieces.sentences
        below = subtree_sums(np.column_stack([sums, self._n_tokens]), parents)
        whole = np.zeros((cluster.n_sentences, sums.shape[1] + 1))
        np.add.at(whole, sentence, np.column_stack([sums, self._n_tokens]))
        self._below, self._whole = below[:, -1], whole[:, -1]
        document = cluster.sentence_documents
        place = np.arange(cluster.n_sentences) - cluster.document_starts[document]
        length = np.diff(cluster.sentence_starts)
        of_document = np.bincount(document, length)[document]
        text = np.array(cluster.words, dtype=str)
        marks = np.logical_or.reduce([np.char.find(text, m) >= 0 for m in '"“”'])
        opened = (
            np.cumsum(marks)
            - np.cumsum(marks)[cluster.sentence_starts[:-1]][cluster.word_sentences]
        )
        quoted = (opened % 2 == 1) | marks
        first = pieces.words[pieces.starts[:-1]]
        columns = [
            _mean(sums, self._n_tokens),
            _mean(below[:, :-1], self._below),
            _mean(whole[:, :-1], self._whole)[sentence],
            below[:, -3:-1],  # pronouns and verbs of attribution of the subtree
            np.log(np.maximum(below[:, -1:], 1.0)),
            *_tag_columns(material, first, parents),
            np.stack(
                [place[sentence] == 0, np.log1p(place)[sentence],
                 np.log(length[sentence]), np.log(of_document[sentence]),
                 quoted[first], parents < 0], axis=1,
            ),
        ]  # fmt: skip
        self._fixed = np.concatenate(columns, axis=1).astype(np.float64)

    def _sums(self, of_tokens: AnyArray) -> Floats:
        found = np.zeros((len(self._n_tokens), *of_tokens.shape[1:]))
        np.add.at(found, self._node_of_token, of_tokens)
        return found

    def rows(self, growth: Growth) -> Floats:
        """Return a row for each node in the current state."""
        material = self.material
        sentence, parents = material.pieces.sentences, material.parents
        counts = growth.token_counts[material.grams.tokens]
        # log probabilities under a model of the summary so far, with one more each
        told = np.log1p(counts) - np.log(growth.token_counts.sum() + len(counts))
        own = self._sums(told)
        below = subtree_sums(own, parents)
        whole = np.bincount(sentence, own, len(self._whole)).astype(np.float64)
        kept = growth.kept_words
        document = material.cluster.sentence_documents
        of_document = np.bincount(document, kept)[document]
        used = growth.used_size / growth.budget.room
        size = np.where(growth.sizes > 0.0, growth.sizes, 1.0)
        values = growth.values[:, :N_VALUES]
        rates = growth.budget.room * values / size[:, None]
        moving = [
            _mean(own, self._n_tokens), _mean(below, self._below),
            _mean(whole, self._whole)[sentence], self._sums(counts > 0) > 0.0,
            (kept > 0)[sentence], np.log1p(kept)[sentence],
            (of_document > 0)[sentence], *values.T, *rates.T, *(used * rates).T,
            (kept > 0)[sentence] * used, np.full(len(own), used),
            (parents < 0) * used, (parents < 0) * (used == 0.0),
        ]  # fmt: skip
        columns = np.stack([np.asarray(x, dtype=np.float64) for x in moving], axis=1)
        return np.concatenate([columns, self._fixed], axis=1)


def _mean(sums: Floats, n: Floats) -> Floats:
    """Return sums divided by numbers of tokens; 0 for none."""
    n = np.maximum(n, 1.0)
    found: Floats = sums / (n[:, None] if sums.ndim == 2 else n)
    return found


def _tag_columns(
    material: Material, first: Integers, parents: Integers
) -> list[AnyArray]:
    """Return parts of speech of words and of their parents; sentences have none."""
    if material.needs is None:
        return []
    tags = material.needs.tags[first]
    own = np.stack([np.isin(tags, sorted(one)) for one in _TAGS], axis=1)
    above = own[parents] & (parents >= 0)[:, None]
    return [own, above, (parents > np.arange(len(parents)))[:, None]]


@dataclass(frozen=True, eq=False)
class ByVines:
    """Learned policies, of which a random one decides each step."""

    weights: Weights  # what the references of many clusters say of words and pairs
    # from features to the regret that is expected, in points of recall
    learned: tuple[Linear, ...]
    shares: Floats  # the probability of each
    seed: int  # of the draws, which start anew for each cluster

    def chooser(self, material: Material) -> Chooser:
        """Score by exp(-expected regret) of a random policy."""
        features = VineFeatures(material, self.weights, None)
        rng = np.random.default_rng(self.seed)

        def scores(growth: Growth) -> Floats:
            drawn = self.learned[rng.choice(len(self.shares), p=self.shares)]
            regrets = drawn.predict(features.rows(growth))
            return np.exp(-np.maximum(regrets, 0.0) / _PERCENT)

        return Chooser(value_steps(material, self.weights, None), scores)


def mixture_shares(betas: Sequence[float]) -> Floats:
    """Return the shares of the initial and the learned policies: h ← βh' + (1 - β)h."""
    shares = np.ones(1)
    for beta in betas:
        shares = np.append(shares * (1.0 - beta), beta)
    return shares


@dataclass(frozen=True, eq=False)
class VineLesson:
    """A cluster to learn from: values of grams, features, and best completions."""

    material: Material
    steps: Floats
    features: VineFeatures
    completions: Completions


def _shares(beta: float, n_learned: int, *, is_last: bool) -> Floats:
    """Return the shares of a mixture; in the last one the initial policy has none."""
    shares = mixture_shares([beta] * n_learned)
    if is_last:
        shares[0] = 0.0
        shares /= shares.sum()
    return shares


def learn_vines(
    lessons: Sequence[VineLesson],
    weights: Weights,
    start: Start,
    *,
    iterations: int,
    beta: float,
    seed: int,
) -> Iterator[tuple[SummaryIteration, ByVines]]:
    """Run SEARN: learn a policy in the states of the mixture, and add it with share β.

    Yield a row for each mixture that was followed, the initial policy first, and the
    learned policies so far, without the initial one. The row of the last is a walk
    without the initial policy, from which nothing is learned.
    """
    rng = np.random.default_rng(seed)
    learned: list[Linear] = []
    first = start(lessons[0].material, lessons[0].steps)
    # About how many nodes a summary has
    steps = first.room / float(np.median(first.piece_costs))
    for iteration in range(iterations + 1):
        shares = _shares(beta, len(learned), is_last=iteration == iterations)
        tally = StepTally()
        share = _DECISIONS / max(steps * len(lessons), 1.0)
        sums: RidgeSums | None = None
        for lesson in lessons:
            plan: list[int] = []  # of the initial policy, made anew where others decide
            growth = start(lesson.material, lesson.steps)
            while growth.measure():
                drawn = int(rng.choice(len(shares), p=shares))
                rows = lesson.features.rows(growth)
                can = np.flatnonzero(growth.sizes > 0.0)
                if drawn > 0:
                    regrets = learned[drawn - 1].predict(rows[can])
                    chosen, plan = int(can[regrets.argmin()]), []
                else:
                    kept = growth.kept_pieces
                    plan = plan or lesson.completions.best(kept, growth.room)[1]
                    if not plan:  # nothing brings more
                        break
                    chosen = plan.pop(0)
                if iteration < iterations and rng.random() < share:
                    some = _some(can, chosen, growth, rng)
                    costs = _costs(lesson.completions, growth, some)
                    if sums is None:
                        sums = RidgeSums(rows.shape[1])
                    sums.add(rows[some], costs, np.full(len(some), 1.0 / len(some)))
                    tally.regret += float(costs[some == chosen][0]) / _PERCENT
                    tally.asked += 1
                tally.recall += float(growth.values[chosen, -1])
                tally.steps += 1
                growth.take(chosen, 0.0)
        if iteration < iterations:
            if sums is None:
                raise ValueError("no sentence of the clusters fits the budget")
            learned.append(sums.fit(_PENALTY))
        shares = mixture_shares([beta] * len(learned))[1:]
        policy = ByVines(weights, tuple(learned), shares / shares.sum(), seed)
        yield tally.row(iteration, len(lessons)), policy
        steps = tally.steps / len(lessons)


def _some(
    can: Integers, chosen: int, growth: Growth, rng: np.random.Generator
) -> Integers:
    """Return actions whose costs are computed: the chosen one and the most promising.

    The others are sampled uniformly. Most of them are useless roots, which would
    dominate the training data otherwise.
    """
    if len(can) <= _ACTIONS:
        return can
    others = can[can != chosen]
    order = others[np.argsort(-growth.values[others, 0], kind="stable")]
    n_best = (_ACTIONS - 1) // 2
    drawn = rng.choice(order[n_best:], _ACTIONS - 1 - n_best, replace=False)
    return np.concatenate([[chosen], order[:n_best], drawn])


def _costs(completions: Completions, growth: Growth, actions: Integers) -> Floats:
    """Return regrets of actions, in points of recall of the best summary."""
    kept = growth.kept_pieces
    totals = np.empty(len(actions))
    for i, action in enumerate(actions.tolist()):
        kept[action] = 1
        room = growth.room - growth.sizes[action]
        totals[i] = growth.values[action, -1] + completions.gain(kept, room)
        kept[action] = 0
    regrets: Floats = _PERCENT * (totals.max() - totals)
    return regrets
