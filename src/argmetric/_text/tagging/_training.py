"""Learning of the policies of a tagger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argmetric._input.types import Integers
from argmetric._text.kernels.tagging_layout import Choices, FeatureRows
from argmetric._text.learning import Learning, Log, Recipe, gold_share, learn_directions
from argmetric._text.tagging._model import (
    TaggerPolicy,
    TaggerSide,
    TextModel,
    greedy,
    recode,
    text_source,
)
from argmetric._text.tagging._recipes import TaggerOptions
from argmetric._text.tagging.features import Extractor, Source, memory_of, word_numbers
from argmetric._text.tagging.labels import Codec, RightLabels, make_choices
from argmetric._text.tagging.sentences import Corpus
from argmetric._text.tagging.templates import MEMORY, Template

_FOLDS = 5


def make_learning(
    choices: Choices,
    recipe: Recipe,
    rows: FeatureRows,
    gold: Integers,
    seed: int,
    chosen: Integers | None = None,
) -> Learning:
    """The learning of a policy from rows of features, before its first epoch."""
    from argmetric._text.kernels.tagging_train import train

    sizes, fixed = np.diff(rows.sentences), (tuple(rows), tuple(choices))

    def step(block: Integers, learning: Learning, growth: float) -> tuple[Any, ...]:
        share = gold_share(recipe.roll_in, learning.epoch)
        options = recipe.step, recipe.dropout, share, growth
        state = learning.arrays, learning.time, learning.seed
        wrong, time = train(*fixed, options, gold, block, *state)
        return wrong, sizes[block].sum(), time

    n_weights = int(choices.starts[-1])
    return Learning(n_weights, seed, recipe.epochs, step, sizes, chosen=chosen)


@dataclass(frozen=True, eq=False)
class Development:
    """Held-out sentences that choose the epoch."""

    source: Source
    labels: tuple[Sequence[str], ...]


def without_memory(tables: Sequence[Sequence[Template]]) -> tuple[Any, ...]:
    """The templates that remember nothing."""
    return tuple(
        tuple(x for x in t if all(name != MEMORY for name, _ in x.parts))
        for t in tables
    )


def learn_side(
    plan: TaggerOptions,
    source: Source,
    gold: Integers,
    reverse: bool,
    log: Log,
    stage: str,
    dev: Development | None = None,
    chosen: Integers | None = None,
    rows: FeatureRows | None = None,
) -> TaggerSide:
    """Learn to read in one direction; `gold` holds the decisions left to right."""
    sentences = source.sentences
    if rows is None:
        rows = source.rows(reverse=reverse)
    target = recode(gold, plan.codecs, sentences) if reverse else gold
    choices = make_choices(
        [codec.tier for codec in plan.codecs],
        plan.tables,
        hash_bits=plan.hash_bits,
        base=plan.base,
        value=plan.history_value,
    )
    score = None if dev is None else _scorer(plan.codecs, dev, reverse)
    seed = plan.random_state + int(reverse)
    learning = make_learning(choices, plan.recipe, rows, target, seed, chosen)
    weights, interrupted = learning.run(
        score and (lambda weights: score(TaggerPolicy(choices, weights))),
        log.hear(stage),
    )
    log.interrupted |= interrupted
    return TaggerSide(reverse, TaggerPolicy(choices, weights))


def _scorer(
    codecs: Sequence[Codec], dev: Development, reverse: bool
) -> Callable[[TaggerPolicy], float]:
    rows = dev.source.rows(reverse=reverse)
    sentences = dev.source.sentences
    judges = [
        RightLabels(codec, labels, sentences)
        for codec, labels in zip(codecs, dev.labels, strict=True)
    ]

    def score(policy: TaggerPolicy) -> float:
        found = greedy(policy, rows)
        if reverse:
            found = recode(found, codecs, sentences)
        split = found.reshape(-1, len(codecs))
        scores = [j.evaluate(split[:, s]).score for s, j in enumerate(judges)]
        return float(np.mean(scores))

    return score


def learn_sides(
    plan: TaggerOptions,
    source: Source,
    gold: Integers,
    log: Log,
    dev: Development | None,
) -> tuple[TaggerSide, ...]:
    """Learn every side; an interrupt ends the one and leaves out the others."""

    def side(reverse: bool) -> TaggerSide:
        stage = "right" if reverse else "left"
        return learn_side(plan, source, gold, reverse, log, stage, dev)

    return tuple(learn_directions(plan.reverse, side, log))


def learn_text(
    plan: TaggerOptions, corpus: Corpus, gold: Integers, log: Log, dev: Corpus | None
) -> TextModel:
    """Learn to tag text, in two stages where words are remembered."""
    memory, plain = plan.memory, without_memory(plan.tables)
    first = replace(plan, tables=plain, reverse=(False,))
    if memory == "none":
        plan = replace(plan, tables=plain)
    extractor = Extractor(plan.tables, plan.hash_bits)
    source: Any = text_source(extractor, corpus)
    if memory == "none" or not extractor.uses_memory:
        whole = TextModel(plan.codecs, extractor, ())
        return _second_pass(plan, whole, source, gold, log, dev)
    earlier = text_source(Extractor(first.tables, first.hash_bits), corpus)
    rows = earlier.rows()
    side = learn_side(first, earlier, gold, False, log, "first pass", rows=rows)
    alone = TextModel(plan.codecs, earlier.extractor, (side,))
    if log.interrupted:
        return alone
    n_labels, n_rows = len(plan.codecs[0].labels), 0
    try:
        labels = _unseen_labels(first, earlier, rows, gold, log)
        if log.interrupted:
            return alone
        n_rows = len(log.rows)
        words = word_numbers(corpus.columns[0])
        found = memory_of(words, labels, corpus.sentences, n_labels, memory)
        source = source.with_memory(found)
        pair = earlier.extractor, side
        whole = TextModel(plan.codecs, extractor, (), memory, pair)
        model = _second_pass(plan, whole, source, gold, log, dev)
    except KeyboardInterrupt:
        log.interrupted = True
        return alone
    # The first pass is whole; less than an epoch of the second is not worth as much
    return alone if log.interrupted and len(log.rows) == n_rows else model


def _second_pass(
    plan: TaggerOptions,
    model: TextModel,
    source: Source,
    gold: Integers,
    log: Log,
    dev: Corpus | None,
) -> TextModel:
    """The model with its sides learned."""
    development = None
    if dev is not None and dev.labels is not None:
        development = Development(model.source(dev), dev.labels)
    sides = learn_sides(plan, source, gold, log, development)
    return replace(model, sides=sides)


def _unseen_labels(
    plan: TaggerOptions, source: Source, rows: FeatureRows, gold: Integers, log: Log
) -> Integers:
    """What the policy of the first pass would say of its own sentences.

    Each fold of sentences is labelled by a policy that has not seen it: the memory of
    a text to be tagged comes from such labels too.
    """
    n = len(source.sentences) - 1
    labels = np.zeros(len(gold), dtype=np.int64)
    edges = np.linspace(0, n, _FOLDS + 1).astype(int)
    for fold in range(_FOLDS):
        low, high = edges[fold], edges[fold + 1]
        if log.interrupted or low == high:
            continue
        others = np.concatenate([np.arange(low), np.arange(high, n)])
        policy = learn_side(
            plan,
            source,
            gold,
            False,
            log,
            f"first pass, fold {fold + 1}",
            chosen=others,
            rows=rows,
        ).policy
        held = rows._replace(sentences=rows.sentences[low : high + 1])
        begin, end = rows.sentences[low], rows.sentences[high]
        labels[begin:end] = greedy(policy, held)[begin:end]
    return labels
