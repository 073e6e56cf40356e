"""Learn the policies of a tagger, from text and from feature vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._ground.features import check_features
from argmetric._ground.types import Integers
from argmetric._ground.validation import is_sparse, to_floats, to_numpy
from argmetric.search.kernels.tagging_features import Choices, FeatureRows
from argmetric.search.learning import (
    Learning,
    Log,
    Recipe,
    gold_share,
    learn_directions,
)
from argmetric.search.tagging._model import (
    BeamSearch,
    TaggerPolicy,
    TaggerSide,
    TextModel,
    greedy,
    mirror,
    search_lists,
    text_source,
)
from argmetric.search.tagging._recipes import TaggerOptions
from argmetric.search.tagging.labels import Codec, RightLabels, Tier, make_choices
from argmetric.search.tagging.sentences import Corpus
from argmetric.search.tagging.templates import (
    MEMORY,
    Extractor,
    MatrixSource,
    Source,
    Template,
    history_salts,
    memory_of,
    word_numbers,
)

_FOLDS = 5


def make_learning(
    choices: Choices,
    recipe: Recipe,
    rows: FeatureRows,
    gold: Integers,
    seed: int,
    *,
    chosen: Integers | None = None,
) -> Learning:
    """Prepare the learning of a policy from rows of features."""
    from argmetric.search.kernels.tagging import train

    sizes, fixed = np.diff(rows.sentences), (tuple(rows), tuple(choices))

    def step(block: Integers, learning: Learning, growth: float) -> tuple[Any, ...]:
        """Learn from a block of sentences; return mistakes, tokens and the time."""
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
    """Return the templates that do not use the memory."""
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
    *,
    stage: str,
    dev: Development | None = None,
    chosen: Integers | None = None,
    rows: FeatureRows | None = None,
) -> TaggerSide:
    """Learn to read in one direction; `gold` holds the decisions left to right."""
    sentences = source.sentences
    if rows is None:
        rows = source.rows(reverse=reverse)
    target = mirror(gold, plan.codecs, sentences) if reverse else gold
    choices = make_choices(
        [codec.tier for codec in plan.codecs],
        plan.tables,
        hash_bits=plan.hash_bits,
        base=plan.base,
        value=plan.history_value,
    )
    score = None if dev is None else _scorer(plan.codecs, dev, reverse)
    seed = plan.random_state + int(reverse)
    learning = make_learning(choices, plan.recipe, rows, target, seed, chosen=chosen)
    weights, interrupted = learning.run(
        score and (lambda weights: score(TaggerPolicy(choices, weights))),
        partial(log.add, stage),
    )
    log.interrupted |= interrupted
    return TaggerSide(reverse, TaggerPolicy(choices, weights))


def _scorer(
    codecs: Sequence[Codec], dev: Development, reverse: bool
) -> Callable[[TaggerPolicy], float]:
    """Return a function that scores a policy on development data."""
    rows = dev.source.rows(reverse=reverse)
    sentences = dev.source.sentences
    judges = [
        RightLabels(codec, labels, sentences)
        for codec, labels in zip(codecs, dev.labels, strict=True)
    ]

    def score(policy: TaggerPolicy) -> float:
        """Return the mean score over label columns of greedy predictions."""
        found = greedy(policy, rows)
        if reverse:
            found = mirror(found, codecs, sentences)
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
    """Learn every side; an interrupt ends the current one and skips the others."""

    def side(reverse: bool) -> TaggerSide:
        stage = "right" if reverse else "left"
        return learn_side(plan, source, gold, reverse, log, stage=stage, dev=dev)

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
        return _second_pass(plan, whole, source, gold, log, dev=dev)
    earlier = text_source(Extractor(first.tables, first.hash_bits), corpus)
    rows = earlier.rows()
    side = learn_side(first, earlier, gold, False, log, stage="first pass", rows=rows)
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
        model = _second_pass(plan, whole, source, gold, log, dev=dev)
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
    *,
    dev: Corpus | None,
) -> TextModel:
    """Return the model with its sides learned."""
    development = None
    if dev is not None and dev.labels is not None:
        development = Development(model.source(dev), dev.labels)
    sides = learn_sides(plan, source, gold, log, development)
    return replace(model, sides=sides)


def _unseen_labels(
    plan: TaggerOptions, source: Source, rows: FeatureRows, gold: Integers, log: Log
) -> Integers:
    """Return out-of-fold labels of the training sentences by the first pass.

    Each fold is labelled by a policy that has not seen it, as the memory of a new text
    comes from such labels too.
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
            stage=f"first pass, fold {fold + 1}",
            chosen=others,
            rows=rows,
        ).policy
        held = rows._replace(sentences=rows.sentences[low : high + 1])
        begin, end = rows.sentences[low], rows.sentences[high]
        labels[begin:end] = greedy(policy, held)[begin:end]
    return labels


# ---------------------------------------------------- sequences of feature vectors


@dataclass(frozen=True, eq=False)
class MatrixModel:
    """Fitted model that labels feature vectors."""

    codecs: tuple[Codec, ...]
    sides: tuple[TaggerSide, ...]
    templates: tuple[Template, ...]
    n_columns: int

    def predict(
        self, X: object, lengths: object, search: BeamSearch
    ) -> npt.NDArray[Any]:
        source = matrix_source(X, lengths, self.templates, self.n_columns)
        labels, _ = search_lists(self.sides, source, self.codecs, search)
        return np.asarray(np.array(self.codecs[0].labels)[labels[0]])


def matrix_source(
    X: object,
    lengths: object,
    templates: Sequence[Template],
    n_columns: int | None = None,
) -> MatrixSource:
    """Check a matrix and the lengths of its sequences."""
    from scipy.sparse import csr_matrix

    check_features(X)
    if not is_sparse(X):
        X = to_floats(X, "X")
        if X.ndim != 2:
            raise ValueError(f"X must be a matrix, not of shape {X.shape}")
    found = csr_matrix(X)
    sizes = to_numpy(lengths, "lengths")
    if sizes.size == 0:
        sizes = sizes.astype(np.int64)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
        raise ValueError("lengths must be a list of integers that are not negative")
    sizes = sizes.astype(np.int64)
    if sizes.sum() != found.shape[0]:
        raise ValueError(
            f"lengths add up to {sizes.sum()}, but X has {found.shape[0]} rows"
        )
    if n_columns is not None and found.shape[1] != n_columns:
        raise ValueError(
            f"X has {found.shape[1]} columns, the tagger learned with {n_columns}"
        )
    if not np.isfinite(found.data).all():
        wrong = np.flatnonzero(~np.isfinite(found.data))[0]
        row = int(np.searchsorted(found.indptr, wrong, side="right")) - 1
        raise ValueError(f"row {row} of X has a value that is not finite")
    if np.abs(found.data).max(initial=0.0) > np.finfo(np.float32).max:
        raise ValueError("X has values beyond 3.4e38, the largest of 32-bit floats")
    sentences = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return MatrixSource(found, sentences, history_salts(templates))


def matrix_labels(y: object, n: int, name: str = "y") -> npt.NDArray[Any]:
    """Check the labels of the rows of a matrix."""
    values = to_numpy(y, name)
    if values.shape != (n,):
        raise ValueError(f"{name} has the shape {values.shape}, but X has {n} rows")
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values):
        values = values.astype(np.str_)
    if n and values.dtype.kind not in "iubU":
        kind = type(values.flat[0]).__name__
        raise ValueError(f"{name} must hold labels, text or integers, not {kind}")
    return values


def learn_matrix(
    options: TaggerOptions,
    X: object,
    y: object,
    lengths: object,
    log: Log,
    *,
    dev: tuple[Any, Any, Any] | None,
) -> MatrixModel:
    """Learn to label sequences of feature vectors."""
    templates = options.tables[0]
    source = matrix_source(X, lengths, templates)
    values = matrix_labels(y, source.X.shape[0])
    if not len(values):
        raise ValueError("there is no row to learn from")
    labels = np.unique(values)
    codec = Codec(Tier("t", tuple(labels.tolist()), False))
    n_columns = source.X.shape[1]
    development = None
    if dev is not None:
        if len(dev) != 3:
            raise ValueError("dev must be a tuple (X, y, lengths)")
        other = matrix_source(dev[0], dev[2], templates, n_columns)
        right = matrix_labels(dev[1], other.X.shape[0], "y of dev")
        development = Development(other, (right.tolist(),))
    plan = replace(options, codecs=(codec,), base=n_columns)
    gold = np.searchsorted(labels, values).astype(np.int64)
    sides = learn_sides(plan, source, gold, log, development)
    return MatrixModel((codec,), sides, templates, n_columns)
