"""Learning of the policies of a tagger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from argmetric._input.types import Integers
from argmetric._text._epochs import Log, learn_directions
from argmetric._text.kernels.tagging_layout import Rows
from argmetric._text.tagging._choices import make_choices
from argmetric._text.tagging._codec import Codec
from argmetric._text.tagging._corpus import Corpus
from argmetric._text.tagging._engine import Policy, greedy
from argmetric._text.tagging._features import Extractor
from argmetric._text.tagging._learning import Learning, Recipe, learn
from argmetric._text.tagging._memory import Memory, memory_of, word_numbers
from argmetric._text.tagging._model import (
    Side,
    Source,
    TextModel,
    recode,
    text_source,
)
from argmetric._text.tagging._recipes import Options
from argmetric._text.tagging.score import Judge
from argmetric._text.tagging.templates import MEMORY, Template

_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be learned, and how.

    Attributes
    ----------
    codecs : tuple of Codec
        The tiers.
    tables : tuple of tuples of Template
        The templates of each tier.
    recipe : Recipe
        How to learn.
    reverse : tuple of bool
        The sides: False reads from the left, True from the right.
    hash_bits, base, history_value
        See `make_choices`.
    random_state : int
        Seed.
    """

    codecs: tuple[Codec, ...]
    tables: tuple[tuple[Template, ...], ...]
    recipe: Recipe
    reverse: tuple[bool, ...]
    hash_bits: int
    random_state: int
    base: int = 0
    history_value: float = 1.0

    @classmethod
    def of(cls, options: Options, codecs: tuple[Codec, ...], base: int = 0) -> Plan:
        """The plan that options make for given labels."""
        return cls(
            codecs,
            options.tables,
            options.recipe,
            options.reverse,
            options.hash_bits,
            options.random_state,
            base,
            options.history_value,
        )


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
    plan: Plan,
    source: Source,
    gold: Integers,
    reverse: bool,
    log: Log,
    stage: str,
    dev: Development | None = None,
    chosen: Integers | None = None,
    rows: Rows | None = None,
) -> Side:
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
    policy, interrupted = learn(
        Learning(choices, plan.recipe, plan.random_state + int(reverse)),
        rows,
        target,
        plan.random_state + int(reverse),
        chosen=chosen,
        score=score,
        report=log.hear(stage),
    )
    log.interrupted |= interrupted
    return Side(reverse, policy)


def _scorer(
    codecs: Sequence[Codec], dev: Development, reverse: bool
) -> Callable[[Policy], float]:
    rows = dev.source.rows(reverse=reverse)
    sentences = dev.source.sentences
    judges = [
        Judge(codec, labels, sentences)
        for codec, labels in zip(codecs, dev.labels, strict=True)
    ]

    def score(policy: Policy) -> float:
        found = greedy(policy, rows)
        if reverse:
            found = recode(found, codecs, sentences)
        split = found.reshape(-1, len(codecs))
        scores = [j.evaluate(split[:, s]).score for s, j in enumerate(judges)]
        return float(np.mean(scores))

    return score


def learn_sides(
    plan: Plan, source: Source, gold: Integers, log: Log, dev: Development | None
) -> tuple[Side, ...]:
    """Learn every side; an interrupt ends the one and leaves out the others."""

    def side(reverse: bool) -> Side:
        stage = "right" if reverse else "left"
        return learn_side(plan, source, gold, reverse, log, stage, dev)

    return tuple(learn_directions(plan.reverse, side, log))


def learn_text(
    plan: Plan,
    corpus: Corpus,
    gold: Integers,
    memory: Memory,
    log: Log,
    dev: Corpus | None,
) -> TextModel:
    """Learn to tag text, in two stages where words are remembered."""
    plain = without_memory(plan.tables)
    first = Plan(**{**vars(plan), "tables": plain, "reverse": (False,)})
    if memory == "none":
        plan = Plan(**{**vars(plan), "tables": plain})
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
    plan: Plan,
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
    plan: Plan, source: Source, rows: Rows, gold: Integers, log: Log
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
