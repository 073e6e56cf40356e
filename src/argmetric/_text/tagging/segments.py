"""Chunks decided whole, one after the other."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from argmetric._input.arguments import renamed
from argmetric._input.types import Integers, SingleFloats
from argmetric._input.validation import check_choice
from argmetric._results.archives import Arrays
from argmetric._text.corpus.labels import CodedLabels, roles_and_kinds
from argmetric._text.hashing import (
    Column,
    dense,
    rounded,
    salt_of,
    sparse,
    template_texts,
)
from argmetric._text.kernels.tagging_layout import SpanPlan
from argmetric._text.learning import Epoch, Learning, Recipe, RollIn, gold_share
from argmetric._text.tagging._base import TextTagger, read_dev, read_training
from argmetric._text.tagging._recipes import check_numbers
from argmetric._text.tagging.labels import Codec, RightLabels, Tier
from argmetric._text.tagging.sentences import Corpus
from argmetric._text.tagging.templates import column_of, known_attribute

SEGMENT_TEMPLATES = """
# s and e are the first and the last token of the chunk, * all of them, + each of them
length
w[*]
pos[*]
shape[*]
length|pos[e]
pos[s-1]|pos[*]
pos[*]|pos[e+1]
pos[s-1]|pos[*]|pos[e+1]
w[s-1]
w[s]
w[e]
w[e+1]
w[s-1]|w[s]
w[e]|w[e+1]
w[s]|w[e]
pos[s-2]
pos[s-1]
pos[e+1]
pos[e+2]
pos[s-2]|pos[s-1]
pos[e+1]|pos[e+2]
pos[s-1]|pos[s]
pos[e]|pos[e+1]
w[s]|pos[s-1]
w[e]|pos[e+1]
w[e+1]|pos[e]
w[e+1]|pos[e+2]
pos[s-1]|pos[s]|pos[e]|pos[e+1]
pos[e]|pos[e+1]|pos[e+2]
pos[s-2]|pos[s-1]|pos[s]
suffix2[e]
suffix3[e]
suffix3[s]
prefix3[e]
shape[e]
w[+]
pos[+]
suffix3[+]
pos[+-1]|pos[+]
w[+-1]|w[+]
w[+]|pos[+]
pos[+-2]|pos[+-1]|pos[+]
t[-1]
t[-2]|t[-1]
t[-1]|w[s]
t[-1]|pos[s]
t[-1]|pos[*]
t[-1]|pos[e+1]
t[-1]|w[e]
t[-1]|w[s-1]
t[-2]|t[-1]|pos[s]
t[-1]|pos[s-1]|pos[s]
"""

_SPAN_PART = re.compile(r"([a-z]+\d*)\[(?:([se*+])([+-]\d+)?|(-\d+))\]")
_ANCHORS = {"s": 0, "e": 1, "*": 2, "+": 3}
_LENGTH = 4


def template_lines(table: str | Sequence[str]) -> list[str]:
    """The templates of a table, each once."""
    return list(dict.fromkeys(text for _, text in template_texts(table)))


def read_span_templates(
    table: str | Sequence[str], hash_bits: int
) -> tuple[SpanPlan, list[str]]:
    """Templates of spans, and the attributes that they read."""
    attributes: dict[str, int] = {}
    parts: list[tuple[int, int, int]] = []
    ends, salts, kinds, places = [0], [], [], []
    masks: list[int] = []
    for text in template_lines(table):
        mask, within = 0, False
        for piece in text.split("|"):
            if piece == "length":
                parts.append((0, _LENGTH, 0))
                continue
            match = _SPAN_PART.fullmatch(piece)
            if match is None or (match[4] is None) == (match[1] == "t"):
                raise ValueError(
                    f"{piece!r} in {text!r} is no part of a template of chunks; write "
                    "for instance 'w[s]', 'pos[e+1]', 'pos[*]', 'w[+]', 't[-1]'"
                )
            if match[1] == "t":
                if not 1 <= -int(match[4]) <= 8:
                    raise ValueError(f"{piece!r}: at most 8 labels are looked back at")
                mask |= 0xFF << 8 * (-int(match[4]) - 1)
                continue
            if not known_attribute(match[1]):
                raise ValueError(f"there is no attribute {match[1]!r} for {text!r}")
            number = attributes.setdefault(match[1], len(attributes))
            within |= match[2] == "+"
            parts.append((number, _ANCHORS[match[2]], int(match[3] or 0)))
        if within and mask:
            raise ValueError(f"{text!r} has labels and tokens within the chunk")
        ends.append(len(parts))
        salts.append(salt_of(text))
        kinds.append(2 if mask else int(within))
        places.append(len(masks))
        if mask:
            masks.append(mask)
    plan = SpanPlan(
        np.array(parts, dtype=np.int64).reshape(-1, 3),
        np.array(ends, dtype=np.int64),
        np.array(salts, dtype=np.uint64),
        np.array(kinds, dtype=np.int64),
        np.array(places, dtype=np.int64),
        np.array(masks, dtype=np.uint64),
        np.uint64(64 - hash_bits),
    )
    return plan, list(attributes)


@dataclass(frozen=True, eq=False)
class SegmentModel:
    """Codec, templates and weights of a chunker."""

    codec: Codec
    table: tuple[str, ...]
    hash_bits: int
    max_length: int
    weights: npt.NDArray[np.float32]

    @property
    def codecs(self) -> tuple[Codec, ...]:
        """The codec, as the one tier of labels."""
        return (self.codec,)

    @cached_property
    def types(self) -> list[str]:
        """Types of chunks."""
        return sorted({label[2:] for label in self.codec.labels if label != "O"})

    @property
    def n_actions(self) -> int:
        """Types, and outside."""
        return len(self.types) + 1

    @property
    def size(self) -> int:
        """How many weights there are."""
        return self.n_actions << self.hash_bits

    @cached_property
    def _templates(self) -> tuple[SpanPlan, list[tuple[int, Column]]]:
        plan, names = read_span_templates(self.table, self.hash_bits)
        return plan, [(column_of(name) or 0, Column([name])) for name in names]

    @property
    def plan(self) -> tuple[Any, ...]:
        """Templates as the kernels take them."""
        return tuple(self._templates[0])

    def text(self, corpus: Corpus) -> npt.NDArray[np.uint32]:
        """Attributes of every token."""
        parts = [np.empty((corpus.n_tokens, 0), dtype=np.uint32)]
        for number, column in self._templates[1] if corpus.n_tokens else ():
            if number >= len(corpus.columns):
                raise ValueError(
                    f"the templates read {number + 1} columns (words first), but the "
                    f"tokens have {len(corpus.columns)}"
                )
            parts.append(column.codes(corpus.columns[number]))
        if len(parts) == 1:
            n = len(self._templates[1])
            return np.zeros((corpus.n_tokens, n), dtype=np.uint32)
        return np.concatenate(parts, axis=1)

    def numbers(self, corpus: Corpus, width: int) -> Integers:
        """Numbers of the labels of all tokens."""
        from argmetric._text.kernels.tagging_segments import search

        starts = np.full(corpus.n_tokens, -1, dtype=np.int64)
        search(
            self.text(corpus),
            corpus.sentences,
            self.plan,
            self.weights,
            self.n_actions,
            self.max_length,
            width,
            starts,
            np.empty(len(corpus.sentences) - 1),
        )
        labels = _labels(starts, self.types, self.codec.labels)
        documents = corpus.sentences[:-1][corpus.documents]
        labels[documents] = self.codec.labels.index("O")
        return labels


def learn_segments(
    model: SegmentModel,
    corpus: Corpus,
    numbers: Integers,
    recipe: Recipe,
    seed: int,
    listen: Callable[[dict[str, Any]], None],
    score: Callable[[SegmentModel], float] | None = None,
) -> tuple[SegmentModel, bool]:
    """Learn weights; an interrupt keeps what is learned. Returns model, interrupted.

    With `score`, the weights of the epoch with the highest score are kept.
    """
    from argmetric._text.kernels.tagging_segments import train

    gold = _starts(model.types, model.codec.labels, numbers, corpus.sentences)
    fixed = model.text(corpus), corpus.sentences, model.plan
    shape = model.n_actions, model.max_length

    def step(block: Integers, learning: Learning, growth: float) -> tuple[Any, ...]:
        share = gold_share(recipe.roll_in, learning.epoch)
        settings = recipe.step, recipe.dropout, share, growth
        state = learning.arrays, learning.time, learning.seed
        found: tuple[Any, ...] = train(*fixed, settings, gold, block, *state, *shape)
        return found

    def with_weights(weights: SingleFloats) -> SegmentModel:
        return replace(model, weights=rounded(weights))

    def hear(epoch: Epoch) -> None:
        score = {} if epoch.score is None else {"score": epoch.score}
        listen({"epoch": epoch.epoch, "error": epoch.error, **score})

    learning = Learning(
        model.size, seed, recipe.epochs, step, np.diff(corpus.sentences)
    )
    weights, interrupted = learning.run(
        score and (lambda weights: score(with_weights(weights))), hear
    )
    return with_weights(weights), interrupted


def _starts(
    types: Sequence[str], labels: Sequence[str], numbers: Integers, sentences: Integers
) -> Integers:
    """Code each start of a chunk as length * K + type, other tokens as -1."""
    K = len(types) + 1
    roles, kinds = roles_and_kinds(labels, {name: n for n, name in enumerate(types)})
    chunks = CodedLabels(roles[numbers], kinds[numbers], sentences).chunks()
    found = np.full(len(numbers), -1, dtype=np.int64)
    found[chunks.start] = (chunks.stop - chunks.start) * K + chunks.kind
    return found


def _labels(starts: Integers, types: Sequence[str], labels: Sequence[str]) -> Integers:
    """Labels of IOB2 of decided chunks."""
    K = len(types) + 1
    number = {label: n for n, label in enumerate(labels)}
    outside = number["O"]
    begins = np.array([number[f"B-{t}"] for t in types] + [outside])
    inside = np.array([number.get(f"I-{t}", outside) for t in types] + [outside])
    decided = np.flatnonzero(starts >= 0)
    kinds, lengths = starts[decided] % K, starts[decided] // K
    found = np.repeat(inside[kinds], lengths)
    found[decided] = begins[kinds]
    return found


class SegmentTagger(TextTagger):
    """Chunk text: decide type and length of one chunk after another.

    Features may read a whole chunk. Options and results are close to those of
    ``Tagger("chunk")``, which decides word by word and is faster.

    Parameters
    ----------
    max_length : int, default=8
        Longest chunk; longer ones cannot be found.
    templates : str or list of str, optional
        Templates: ``w[s]``, ``pos[e+1]`` (first and last token), ``pos[*]`` (all),
        ``w[+]`` (each), ``length``, ``t[-1]`` (type of the chunk before).
    beam : int, default=5
        Ways to reach a token that are kept; 1 is greedy search.
    roll_in : {"mixed", "gold", "own"}, default="mixed"
        See `Tagger`.
    epochs, step, dropout, hash_bits, random_state
        See `Tagger`.

    Attributes
    ----------
    history_ : list of dict
        Epoch, share of wrong decisions in training, and score on `dev` if there is one.
    labels_ : tuple
        The labels.
    interrupted_ : bool
        Whether Ctrl-C ended the training.

    Examples
    --------
    >>> from argmetric.search import SegmentTagger
    >>> sentence = [("the", "DT"), ("cat", "NN"), ("sleeps", "VBZ")]
    >>> tagger = SegmentTagger(hash_bits=12)
    >>> _ = tagger.fit([sentence] * 5, [["B-NP", "I-NP", "B-VP"]] * 5)
    >>> tagger.predict([sentence])
    [['B-NP', 'I-NP', 'B-VP']]
    """

    _kind = "segment tagger"

    def __init__(
        self,
        *,
        max_length: int = 8,
        templates: str | Sequence[str] | None = None,
        beam: int = 5,
        roll_in: RollIn = "mixed",
        epochs: int = 6,
        step: float = 0.07,
        dropout: float = 0.25,
        hash_bits: int = 20,
        random_state: int = 0,
    ) -> None:
        self.max_length = max_length
        self.templates = templates
        self.beam = beam
        self.roll_in = roll_in
        self.epochs = epochs
        self.step = step
        self.dropout = dropout
        self.hash_bits = hash_bits
        self.random_state = random_state

    def fit(
        self,
        sentences: Sequence[Any],
        labels: Sequence[Any] | None = None,
        *,
        dev: Any = None,
        on_epoch: Callable[[dict[str, Any]], None] | None = None,
        tags: Sequence[Any] | None = None,
    ) -> SegmentTagger:
        """Learn from sentences with labels of IOB2; all as in `Tagger.fit`.

        Parameters
        ----------
        sentences : list of sentences
            Lists of words, of tuples of columns, or `Sentence` objects read from a
            file; lines of -DOCSTART- are left out.
        labels : list of lists, optional
            A label for each token; by default the last column.
        dev : sentences, or (sentences, labels) as a tuple, optional
            The epoch with the best score on them is kept.
        on_epoch : callable, optional
            Called with every new row of `history_`.
        tags : list of lists, optional
            The old name of `labels`.

        Returns
        -------
        SegmentTagger
            Itself. Ctrl-C ends the training, keeps the policy so far and warns.
        """
        labels = renamed(labels, tags, old="tags", new="labels")
        numbers = check_numbers(self.get_params())
        check_choice(self.roll_in, "roll_in", get_args(RollIn)[:3])
        corpus, (codec,), gold = read_training(sentences, labels, [("t", True)])
        given = SEGMENT_TEMPLATES if self.templates is None else self.templates
        none = np.empty(0, dtype=np.float32)
        table = tuple(template_lines(given))
        shape = numbers["hash_bits"], numbers["max_length"]
        model = SegmentModel(codec, table, *shape, none)
        names = "epochs", "step", "dropout"
        recipe = Recipe(self.roll_in, **{name: numbers[name] for name in names})
        history: list[dict[str, Any]] = []

        def listen(row: dict[str, Any]) -> None:
            history.append(row)
            if on_epoch is not None:
                on_epoch(row)

        score = self._scorer(dev, codec)
        self._model, self.interrupted_ = learn_segments(
            model, corpus, gold, recipe, numbers["random_state"], listen, score
        )
        self.history_ = history
        if self.interrupted_:
            warnings.warn(
                "learning was interrupted: the policy so far is kept",
                UserWarning,
                stacklevel=2,
            )
        return self

    def _scorer(self, dev: Any, codec: Codec) -> Callable[[SegmentModel], float] | None:
        held = read_dev(dev, 1)
        if held is None or held.labels is None:
            return None
        judge = RightLabels(codec, held.labels[0], held.sentences)
        return lambda model: judge.evaluate(model.numbers(held, self.beam)).score

    def _codecs(self) -> tuple[Codec, ...]:
        return (self._learned_model().codec,)

    def _numbers(self, corpus: Corpus) -> Integers:
        model: SegmentModel = self._learned_model()
        return model.numbers(corpus, self.beam)

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        model = self._learned_model()
        header = {
            "labels": model.codec.labels,
            "table": model.table,
            "hash_bits": model.hash_bits,
            "max_length": model.max_length,
        }
        return header, sparse("all", model.weights)

    def _unpack(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        codec = Codec(Tier("t", tuple(header["labels"]), True))
        shape = header["hash_bits"], header["max_length"]
        empty = np.empty(0, dtype=np.float32)
        model = SegmentModel(codec, tuple(header["table"]), *shape, empty)
        self._model = replace(model, weights=dense("all", arrays, model.size))
