"""Built-in tasks: chunks, word-at-a-time and chunk-at-a-time, under F1 of chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from argmetric._ground.arguments import check_count, check_flag, check_texts
from argmetric._ground.validation import check_choice
from argmetric.metrics import FBeta, Jaccard, Metric, MetricLike, Tversky, get_metric
from argmetric.search._searn._decisions import read_features
from argmetric.search._searn._task import (
    Action,
    Features,
    Input,
    Named,
    Output,
    State,
    Task,
)
from argmetric.search._searn._tasks import (
    SequenceLabelling,
    TokenFeatures,
    check_callable,
    check_tokens,
    own_features,
    same_length,
)
from argmetric.search.corpus.labels import Chunk, chunks_of, count_chunks, write_labels
from argmetric.search.learning import complete_docstrings

Dangling = Literal["forbid", "open", "ignore"]
DANGLING: tuple[str, ...] = get_args(Dangling)
SpanFeatures = Callable[[Any, int, int], Features]
_OUT = "O"
_RIGHT = 1e-9  # a loss below is that of the right chunks, rounded


def chunk_metric(metric: MetricLike) -> Metric:
    """Return a metric that never falls when a right chunk is added; 0/0 is 1."""
    found = get_metric(metric)
    if not isinstance(found, FBeta | Jaccard | Tversky):
        raise ValueError(
            f"chunks are judged by FBeta, Jaccard or Tversky, not by {found.name}: the "
            "number of true negatives has no meaning here"
        )
    return found.with_zero_division(1.0)


def chunk_losses(
    metric: Metric, hits: Sequence[int], predicted: Sequence[int], gold: int
) -> list[float]:
    """Return 1 - metric of counts of chunks."""
    n = np.asarray(predicted) + gold
    losses: list[float] = (1.0 - metric.value(hits, predicted, gold, n)).tolist()
    return losses


class _Reading(NamedTuple):
    """State of reading labels: right chunks closed, chunks opened, and the open one."""

    hits: int
    opened: int
    start: int | None
    kind: str


def _read_on(
    reading: _Reading, t: int, label: str, gold: frozenset[Chunk], dangling: str
) -> _Reading:
    """Return the reading after label t."""
    prefix, _, kind = label.partition("-")
    hits, opened, start, open_kind = reading
    if prefix == "I" and start is not None and kind == open_kind:
        return reading
    if start is not None:
        hits += (start, t, open_kind) in gold
    if prefix == "B" or (prefix == "I" and dangling == "open"):
        return _Reading(hits, opened + 1, t, kind)
    return _Reading(hits, opened, None, "")


@lru_cache(maxsize=4096)  # costs ask for the same labels at every state
def gold_chunks(labels: tuple[str, ...], dangling: Dangling) -> tuple[Chunk, ...]:
    """Return the chunks of labels; a dangling I-X opens one, or is skipped."""
    known = check_texts(labels, "labels")
    return tuple(chunks_of(known, lenient=dangling == "open"))


@complete_docstrings
class _ChunkScore(Task):
    """Loss of a sentence, and score over all sentences."""

    metric: Metric
    dangling: Dangling
    whole: bool

    def loss(self, y: object, output: object) -> float:
        """Return 1 - F1 of the chunks of a sentence; 0 if there are none at all."""
        return self._as_losses([self._loss([y], [output])])[0]

    def score(self, Y: Sequence[Output], outputs: Sequence[Output]) -> float:
        """Return F1 of the chunks of all sentences, or the share of right sentences."""
        if not self.whole:
            return 1.0 - self._loss(Y, outputs)
        losses = [self.loss(y, z) for y, z in zip(Y, outputs, strict=True)]
        return 1.0 - sum(losses) / len(losses) if losses else 1.0

    def _as_losses(self, losses: list[float]) -> list[float]:
        """Return losses, or 0 and 1 for them if whole sentences are scored."""
        return [float(x > _RIGHT) for x in losses] if self.whole else losses

    def _loss(self, Y: Sequence[Output], outputs: Sequence[Output]) -> float:
        lenient = self.dangling == "open"
        gold, predicted, hits = count_chunks(Y, outputs, lenient=lenient)
        return chunk_losses(self.metric, [hits], [predicted], gold)[0]


@complete_docstrings
class WordChunking(_ChunkScore, SequenceLabelling):
    """Chunks by labels B-X, I-X and O, one word at a time, under F1 of whole chunks.

    Costs are exact regrets of F1 (or of the metric given): after t labels, I closed
    chunks are right, P were opened, `alive` is 1 if the open one can still become right
    and `fut` gold chunks start later; the best in reach is F1 with I + alive + fut hits
    among P + fut chunks.

    Parameters
    ----------
    types : sequence of str
        Types of chunks.
    dangling : {"forbid", "open", "ignore"}, default="forbid"
        An I-X that continues no chunk of type X: not among the actions; opens a chunk
        (conlleval, and seqeval's default); or belongs to no chunk (strict).
    metric : str or Metric, default="f1"
        F-measure, Jaccard or Tversky index of chunks.
    features, history, whole
        As of `SequenceLabelling`.

    Examples
    --------
    >>> from argmetric.search import Searn, WordChunking
    >>> X = [["big", "dogs", "bark"], ["dogs", "bark"]]
    >>> Y = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> searn = Searn(WordChunking(["NP"]), beta=1.0, iterations=2).fit(X, Y)
    >>> searn.predict([["big", "dogs", "bark"]]), searn.score(X, Y)
    ([('B-NP', 'I-NP', 'O')], 1.0)
    """

    def __init__(
        self,
        types: Sequence[str],
        *,
        dangling: Dangling = "forbid",
        metric: MetricLike = "f1",
        features: TokenFeatures | None = None,
        history: int = 2,
        whole: bool = False,
    ) -> None:
        check_choice(dangling, "dangling", DANGLING)
        self.types = tuple(check_texts(types, "types"))
        labels = [_OUT, *(f"{p}-{kind}" for kind in self.types for p in "BI")]
        super().__init__(labels, features=features, history=history, whole=whole)
        self.dangling = dangling
        self.metric = chunk_metric(metric)
        self._legal = dict.fromkeys(["", *labels], self.labels)
        if dangling == "forbid":
            for last in self._legal:
                after = (x for x in labels if x[0] != "I" or x[2:] == last[2:])
                self._legal[last] = tuple(after)

    def actions(self, x: Input, state: State) -> Sequence[Action]:
        """Return all labels, or those that may follow."""
        if len(state) == len(x):
            return ()
        return self._legal[state[-1] if state else ""]

    def costs(self, x: Input, y: Output, state: State) -> Sequence[float]:
        """Return the least loss in reach after each label."""
        same_length(x, y)
        chunks = gold_chunks(tuple(y), self.dangling)
        gold = frozenset(chunks)
        stops: dict[tuple[int | None, str], int]
        stops = {(start, kind): stop for start, stop, kind in chunks}
        reading = _Reading(0, 0, None, "")
        for t, label in enumerate(state):
            reading = _read_on(reading, t, label, gold, self.dangling)
        t = len(state) + 1
        future = sum(start >= t for start, _, _ in chunks)
        hits, opened = [], []
        for label in self.actions(x, state):
            after = _read_on(reading, t - 1, label, gold, self.dangling)
            stop = stops.get((after.start, after.kind), -1)
            hits.append(after.hits + (stop >= t) + future)
            opened.append(after.opened + future)
        return self._as_losses(chunk_losses(self.metric, hits, opened, len(chunks)))

    def mirrored(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Return labels of the reversed sentence: B-X then marks the end of a chunk.

        Parameters
        ----------
        labels : sequence of str
            Labels B-X, I-X and O.

        Returns
        -------
        tuple of str
            The labels from the right.
        """
        n = len(labels)
        chunks = gold_chunks(tuple(labels), self.dangling)
        return tuple(write_labels([(n - b, n - a, kind) for a, b, kind in chunks], n))


def span_features(x: Sequence[Any], start: int, stop: int) -> Features:
    """Return features of a whole chunk: words, neighbors, text and length.

    Parameters
    ----------
    x : sequence
        Tokens.
    start, stop : int
        The chunk, from start up to and not including stop.

    Returns
    -------
    list of tuple
        Names and values.

    Examples
    --------
    >>> from argmetric.search import span_features
    >>> span_features(["big", "dogs", "bark"], 0, 2)[-2:]
    [(('length', 2), 1.0), (('whole', 'big', 'dogs'), 1.0)]
    """
    n = check_tokens(x)
    start, stop = check_count(start, "start"), check_count(stop, "stop")
    if not start <= stop <= n:
        raise ValueError(
            f"start={start} to stop={stop} is not within the {n} tokens of x"
        )
    found: Named = []
    for i in range(start, stop):
        own = own_features(x[i])
        found += [(("in", name), value) for name, value in own]
        found += [((i - start, name), value) for name, value in own]
        if i == stop - 1:
            found += [(("at the end", name), value) for name, value in own]
    for side, i in (("before", start - 1), ("after", stop)):
        near = own_features(x[i]) if 0 <= i < n else [("end", 1.0)]
        found += [((side, name), value) for name, value in near]
    found.append((("length", stop - start), 1.0))
    tokens = [x[i] for i in range(start, stop)]
    if all(isinstance(token, str) for token in tokens):
        found.append((("whole", *tokens), 1.0))
    return found


@complete_docstrings
class SpanChunking(_ChunkScore):
    """Chunks, one at a time: each action is a type and a length, or one word outside.

    Features may look at the whole chunk. Costs are exact regrets: with I right chunks
    among P so far and `fut` gold chunks that start later and are not too long, the best
    in reach is F1 with I + fut hits among P + fut chunks.

    Parameters
    ----------
    types : sequence of str
        Types of chunks.
    max_length : int, default=8
        Longest chunk; longer ones in the labels are out of reach and count as missed.
    metric : str or Metric, default="f1"
        F-measure, Jaccard or Tversky index of chunks.
    features : callable, optional
        `features(x, start, stop)` of a chunk; by default `span_features`. Each is
        joined with the type; the type of the chunk before is added.
    whole : bool, default=False
        Whether only the whole sentence counts: the loss is 1 if any chunk is wrong.

    Examples
    --------
    >>> from argmetric.search import Searn, SpanChunking
    >>> X = [["big", "dogs", "bark"], ["dogs", "bark"]]
    >>> Y = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> searn = Searn(SpanChunking(["NP"], 3), beta=1.0, iterations=2).fit(X, Y)
    >>> searn.predict([["big", "dogs", "bark"]])
    [('B-NP', 'I-NP', 'O')]
    """

    dangling: Dangling = "ignore"

    def __init__(
        self,
        types: Sequence[str],
        max_length: int = 8,
        *,
        metric: MetricLike = "f1",
        features: SpanFeatures | None = None,
        whole: bool = False,
    ) -> None:
        check_callable(features, "features")
        self.whole = check_flag(whole, "whole")
        self.types = tuple(check_texts(types, "types"))
        self.max_length = check_count(max_length, "max_length", low=1)
        self.metric = chunk_metric(metric)
        self._span_features = features or span_features

    def start(self, x: object) -> State:
        """Return position 0 without chunks."""
        return 0, ()

    def actions(self, x: Input, state: State) -> Sequence[Action]:
        """Return outside, and every type with every length that still fits."""
        position, _ = state
        left = len(x) - position
        if left == 0:
            return ()
        sizes = range(1, min(self.max_length, left) + 1)
        return [(_OUT, 1), *((kind, m) for kind in self.types for m in sizes)]

    def step(self, x: Input, state: State, action: Action) -> State:
        """Return the state after the chunk."""
        position, spans = state
        kind, length = action
        stop = position + length
        return stop, spans if kind == _OUT else (*spans, (position, stop, kind))

    def action_features(self, x: Input, state: State, action: Action) -> Features:
        """Return features of the chunk, joined with its type."""
        position, spans = state
        kind, length = action
        found = self._span_features(x, position, position + length)
        last = spans[-1][2] if spans and spans[-1][1] == position else _OUT
        return [
            *(((kind, name), value) for name, value in read_features(found)),
            (("last", last, kind), 1.0),
        ]

    def output(self, x: Input, state: State) -> Output:
        """Return labels B-X, I-X and O."""
        return tuple(write_labels(state[1], len(x)))

    def costs(self, x: Input, y: Output, state: State) -> Sequence[float]:
        """Return the least loss in reach after each action."""
        same_length(x, y)
        position, spans = state
        gold = gold_chunks(tuple(y), self.dangling)
        known = frozenset(gold)
        hits = sum(span in known for span in spans)
        starts = [a for a, b, _ in gold if b - a <= self.max_length]
        right, opened = [], []
        for kind, length in self.actions(x, state):
            stop = position + length
            future = sum(start >= stop for start in starts)
            right.append(hits + ((position, stop, kind) in known) + future)
            opened.append(len(spans) + (kind != _OUT) + future)
        return self._as_losses(chunk_losses(self.metric, right, opened, len(gold)))
