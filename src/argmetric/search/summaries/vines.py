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

from argmetric._ground.types import AnyArray, Floats, Hashes, Integers
from argmetric.search._searn._decisions import Decisions, HashedRows, hash_name
from argmetric.search._searn._learners import LinearLearner, LinearScorer
from argmetric.search._searn._policy import mixture_weights
from argmetric.search.summaries.growth import Chooser, Growth
from argmetric.search.summaries.material import Budget, Material, recall_steps, stem
from argmetric.search.summaries.pieces import ATTRIBUTIONS, PRONOUNS
from argmetric.search.summaries.policies import Start, StepTally, SummaryIteration

# Of an iteration, about: states are drawn, and the costs of all actions computed
_COSTS, _LEAST_STATES = 10_000, 50
_LEARNER = LinearLearner(epochs=3)
_LEAST_LOG = -500.0  # of a probability: one that is not 0


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
        parents = np.where(is_useful, material.parents, -1)
        children = np.argsort(parents, kind="stable")
        starts = np.searchsorted(parents[children], np.arange(len(parents) + 1))
        self._tree = material.parents, is_useful, starts, children
        costs = budget.costs(material.cluster.words)[pieces.words]
        self._costs = np.add.reduceat(costs, pieces.starts[:-1])
        self._beam = beam
        self._path = np.empty(len(pieces), dtype=np.int64)

    def best(self, kept: AnyArray, room: float) -> tuple[float, list[int]]:
        """Return the best recall that can be added, and the pieces that add it."""
        from argmetric.search.kernels.vines import complete

        vines = self._tree, self._text
        worth = self._pairs, self._steps, self._costs
        found, n = complete(*vines, *worth, kept, room, self._beam, self._path)
        return float(found), self._path[:n].tolist()

    def regrets(
        self, growth: Growth, actions: Integers, plan: Sequence[int]
    ) -> tuple[Floats, list[int]]:
        """Return what the best summary after each action lacks, of the best of all.

        And the pieces that lead to the latter; those of a plan, if none are better.
        """
        from argmetric.search.kernels.vines import complete_each

        vines = self._tree, self._text
        worth = self._pairs, self._steps, self._costs
        state = growth.kept_pieces, growth.room, self._beam, self._path
        totals = np.empty(len(actions))
        first = np.array(plan, dtype=np.int64)
        n = complete_each(*vines, *worth, *state, actions, first, totals)
        return totals.max() - totals, self._path[:n].tolist()


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

    `fixed` has those of the sources: identities of words, stems, parts of speech and
    relations, and numbers. In place of the BAYESUM model of the query stands the share
    of documents that have a word.
    """

    def __init__(self, material: Material) -> None:
        """Compute the features that do not change while a summary grows."""
        cluster, grams, pieces = material.cluster, material.grams, material.pieces
        self.material = material
        share = grams.documents[: len(grams.types)] / grams.n_documents
        asked = material.in_query.astype(np.float64)
        pronoun, attribution = (
            np.array([t in one for t in grams.types], dtype=np.float64)
            for one in (PRONOUNS, ATTRIBUTIONS)
        )
        of_types = np.stack(
            [share, np.log(share), material.is_stop_word, asked, asked * share,
             pronoun, attribution], axis=1,
        )  # fmt: skip
        first = pieces.words[pieces.starts[:-1]]
        ends = np.append(grams.places[first], grams.places[-1])
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
        columns = [
            *_mean(sums, self._n_tokens).T, *_mean(below[:, :-1], self._below).T,
            *_mean(whole[:, :-1], self._whole)[sentence].T,
            *below[:, -3:-1].T,  # pronouns and verbs of attribution of the subtree
            np.log(np.maximum(below[:, -1], 1.0)), place[sentence] == 0,
            np.log1p(place)[sentence], np.log(length[sentence]),
            np.log(of_document[sentence]), quoted[first], parents < 0,
        ]  # fmt: skip
        self.fixed = beside(_name_columns("fixed", columns), self._identities())

    def _identities(self) -> HashedRows:
        """Return words, stems, parts of speech and relations by name.

        A node has the words and stems of all of its tokens; where files give no
        relations, the parts of speech of the word and of its parent stand for them.
        """
        material, n = self.material, len(self._n_tokens)
        types, tokens = material.grams.types, material.grams.tokens
        ends = np.append(0, np.cumsum(self._n_tokens.astype(np.int64)))
        found = [
            HashedRows(ends, _hashes(kind, names)[tokens], np.ones(len(tokens)))
            for kind, names in (("word", types), ("stem", list(map(stem, types))))
        ]
        rows = beside(*found)
        if material.needs is None:
            return rows
        first = material.pieces.words[material.pieces.starts[:-1]]
        tags, names = material.needs.tags[first], material.needs.relations[first]
        parents = material.parents
        above = np.where(parents >= 0, tags[parents], "root")
        side = np.where(parents > np.arange(n), "<", ">")
        pairs = np.char.add(np.char.add(tags, side), above)
        relations = np.where(names != "", names, pairs)
        for kind, of_nodes in (("tag", tags), ("relation", relations)):
            kinds, codes = np.unique(of_nodes, return_inverse=True)
            hashes = _hashes(kind, kinds.tolist())[codes]
            one = HashedRows(np.arange(n + 1), hashes, np.ones(n))
            rows = beside(rows, one)
        return rows

    def _sums(self, of_tokens: AnyArray) -> Floats:
        found = np.zeros((len(self._n_tokens), *of_tokens.shape[1:]))
        np.add.at(found, self._node_of_token, of_tokens)
        return found

    def moving(self, growth: Growth, nodes: Integers) -> HashedRows:
        """Return the features of nodes that follow from the summary so far."""
        material = self.material
        sentence = material.pieces.sentences[nodes]
        counts = growth.token_counts[material.grams.tokens]
        # log probabilities under a model of the summary so far, with one more each
        logs = np.log1p(counts) - np.log(growth.token_counts.sum() + len(counts))
        own = self._sums(logs)
        below = subtree_sums(own, material.parents)
        whole = np.bincount(material.pieces.sentences, own, len(self._whole))
        kept = growth.kept_words
        document = material.cluster.sentence_documents
        of_document = np.bincount(document, kept)[document][sentence]
        used = growth.used_size / growth.budget.room
        is_root = (material.parents < 0)[nodes]
        columns = [
            _mean(own, self._n_tokens)[nodes], _mean(below, self._below)[nodes],
            _mean(whole.astype(np.float64), self._whole)[sentence],
            (self._sums(counts > 0) > 0.0)[nodes], (kept > 0)[sentence],
            np.log1p(kept)[sentence], of_document > 0, (kept > 0)[sentence] * used,
            is_root * used, is_root * (used == 0.0),
        ]  # fmt: skip
        return _name_columns("moving", columns)


def _mean(sums: Floats, n: Floats) -> Floats:
    """Return sums divided by numbers of tokens; 0 for none."""
    n = np.maximum(n, 1.0)
    found: Floats = sums / (n[:, None] if sums.ndim == 2 else n)
    return found


def _hashes(kind: str, names: Sequence[object]) -> Hashes:
    """Return a hash for each name of a kind of features."""
    return np.array([hash_name((kind, name)) for name in names], dtype=np.uint64)


def _name_columns(kind: str, columns: Sequence[AnyArray]) -> HashedRows:
    """Return rows of numbers, named by kind and column."""
    values = np.stack([np.asarray(x, dtype=np.float64) for x in columns], axis=1)
    n, width = values.shape
    hashes = np.tile(_hashes(kind, range(width)), n)
    return HashedRows(np.arange(0, n * width + 1, width), hashes, values.ravel())


def beside(one: HashedRows, other: HashedRows) -> HashedRows:
    """Return rows that have the features of both, in turn."""
    indptr = one.indptr + other.indptr
    hashes, values = np.empty(indptr[-1], np.uint64), np.empty(indptr[-1])
    for part, before in ((one, other.indptr[:-1]), (other, one.indptr[1:])):
        shift = np.repeat(before, np.diff(part.indptr))
        where = np.arange(len(part.hashes)) + shift
        hashes[where], values[where] = part.hashes, part.values
    return HashedRows(indptr, hashes, values)


def decision(rows: HashedRows) -> Decisions:
    """Return one decision between actions with these features."""
    n = len(rows.indptr) - 1
    none = HashedRows(np.zeros(2, np.int64), np.empty(0, np.uint64), np.empty(0))
    return Decisions(none, np.array([0, n]), np.zeros(n, np.uint64), rows)


class Walker:
    """Policies that decide in one cluster; their scores of what is fixed are known."""

    def __init__(self, features: VineFeatures, learned: Sequence[LinearScorer]) -> None:
        """Score the fixed features of all nodes under all policies."""
        self.features, self.learned = features, learned
        everything = decision(features.fixed)
        self._fixed = [one.scores(everything) for one in learned]

    def scores(self, number: int, growth: Growth, nodes: Integers) -> Floats:
        """Return the score of each of some nodes under a policy."""
        moving = decision(self.features.moving(growth, nodes))
        found: Floats = self._fixed[number][nodes] + self.learned[number].scores(moving)
        return found


@dataclass(frozen=True, eq=False)
class ByVines:
    """Learned policies, of which a random one decides each step."""

    learned: tuple[LinearScorer, ...]
    shares: Floats  # the probability of each
    seed: int  # of the draws, which start anew for each cluster

    def chooser(self, material: Material) -> Chooser:
        """Score by the probability of an action under a random policy."""
        walker = Walker(VineFeatures(material), self.learned)
        rng = np.random.default_rng(self.seed)

        def scores(growth: Growth) -> Floats:
            can = np.flatnonzero(growth.sizes > 0.0)
            number = int(rng.choice(len(self.shares), p=self.shares))
            found = walker.scores(number, growth, can)
            odds = np.zeros(len(growth.sizes))
            odds[can] = np.exp(np.maximum(found - found.max(), _LEAST_LOG))
            return np.asarray(odds / odds.sum())

        return Chooser(np.zeros((1, len(material.grams), 1)), scores)


@dataclass(frozen=True, eq=False)
class VineLesson:
    """A cluster to learn from: recall of grams, features, and best completions."""

    material: Material
    steps: Floats
    features: VineFeatures
    completions: Completions

    def example(
        self, growth: Growth, actions: Integers, plan: Sequence[int]
    ) -> tuple[Decisions, Floats, list[int]]:
        """Return the decision between actions, their regrets, and the best plan."""
        fixed = self.features.fixed.take(actions)
        rows = beside(fixed, self.features.moving(growth, actions))
        return decision(rows), *self.completions.regrets(growth, actions, plan)


def learn_vines(
    lessons: Sequence[VineLesson],
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
    learned: list[LinearScorer] = []
    first = start(lessons[0].material, lessons[0].steps)
    # About how many nodes a summary has, and how many can be added in each state
    steps = first.room / float(np.median(first.piece_costs))
    n_roots = sum(int((lesson.material.parents < 0).sum()) for lesson in lessons)
    for iteration in range(iterations + 1):
        shares = np.array(mixture_weights([beta] * len(learned)), dtype=np.float64)
        shares[0] *= iteration < iterations  # the last is without the initial policy
        shares /= shares.sum()
        tally = StepTally()
        share = max(_COSTS / n_roots, _LEAST_STATES / len(lessons)) / max(steps, 1.0)
        examples: list[Decisions] = []
        costs: list[Floats] = []
        for lesson in lessons:
            plan: list[int] = []  # of the initial policy, made anew where others decide
            walker = Walker(lesson.features, learned)
            growth = start(lesson.material, lesson.steps)
            while growth.measure():
                drawn = int(rng.choice(len(shares), p=shares))
                can = np.flatnonzero(growth.sizes > 0.0)
                is_example = iteration < iterations and rng.random() < share
                if is_example or drawn == 0:
                    kept = growth.kept_pieces
                    plan = plan or lesson.completions.best(kept, growth.room)[1]
                    if drawn == 0 and not plan:  # nothing brings more
                        break
                if is_example:
                    one, regrets, plan = lesson.example(growth, can, plan)
                    examples.append(one)
                    costs.append(regrets)
                others = walker.scores(drawn - 1, growth, can) if drawn else None
                chosen = plan[0] if others is None else int(can[others.argmax()])
                plan = plan[1:] if plan[:1] == [chosen] else []
                if is_example:
                    tally.regret += float(regrets[can == chosen][0])
                    tally.asked += 1
                tally.recall += float(growth.values[chosen, -1])
                tally.steps += 1
                growth.take(chosen, 0.0)
        if iteration < iterations:
            if not examples:
                raise ValueError(
                    "there is nothing to learn: no sentence of the clusters fits the "
                    "budget, or none leads to two words of a reference in turn"
                )
            together = Decisions.concatenate(examples)
            scorer = _LEARNER.fit(together, np.concatenate(costs), rng)
            assert isinstance(scorer, LinearScorer)  # without `hash_bits`
            learned.append(scorer)
        shares = np.array(mixture_weights([beta] * len(learned))[1:])
        policy = ByVines(tuple(learned), shares / shares.sum(), seed)
        yield tally.row(iteration, len(lessons)), policy
        steps = tally.steps / len(lessons)
