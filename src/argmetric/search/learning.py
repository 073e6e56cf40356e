"""Shared by taggers and summarizers: parameters, epochs, averages."""

from __future__ import annotations

import inspect
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self, TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt

from argmetric._ground import saving
from argmetric._ground.arguments import shown
from argmetric._ground.display import Lines, Shown, lines_of
from argmetric._ground.saving import Arrays
from argmetric._ground.types import Integers, SingleFloats

Kind = TypeVar("Kind", bound=type)
_SECTIONS = re.compile(r"(Parameters|Returns)\n-+\n.*", re.DOTALL)
_CACHED = 1_000_000  # values of a column whose attributes are kept


def complete_docstrings(kind: Kind) -> Kind:
    """Add to docstrings of methods the sections on parameters of a base class."""
    for name, method in vars(kind).items():
        own = method.__doc__ if inspect.isfunction(method) else None
        for base in kind.__mro__[1:] if own and not _SECTIONS.search(own) else ():
            text = getattr(vars(base).get(name), "__doc__", None) or ""
            sections = _SECTIONS.search(inspect.cleandoc(text))
            if sections:
                method.__doc__ = f"{inspect.cleandoc(own or '')}\n\n{sections[0]}"
                break
    return kind


def word_shape(word: str) -> str:
    """Return the shape of a word with runs shortened: "EFE-1999" is "X-d"."""
    kinds = [
        "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c
        for c in word
    ]
    return "".join(kinds[:1] + [b for a, b in pairwise(kinds) if a != b])


def _case(value: str) -> str:
    """Return the class of the case of a word: A, AA, Aa, AaA, a, 0, 0x, ax or -."""
    if value.isupper():
        return "A." if value.endswith(".") else "A" if len(value) == 1 else "AA"
    if value[:1].isupper():
        return "Aa" if value[1:].islower() else "AaA"
    if any(c.isdigit() for c in value):
        return "0" if value.isdigit() else "0x"
    return "a" if value.isalpha() else "-" if not value.isalnum() else "ax"


_MAKERS: dict[str, Callable[[str], str]] = {
    "w": str,
    "pos": str,
    "lower": str.lower,
    "norm": lambda x: "".join("0" if c.isdigit() else c for c in x.lower()),
    "shape": word_shape,
    "case": _case,
}


def attribute_maker(attribute: str) -> Callable[[str], str | None]:
    """Return the function that computes an attribute, such as a suffix, of a text."""
    if attribute in _MAKERS:
        return _MAKERS[attribute]
    if attribute.startswith("column"):
        return str
    size = int("".join(c for c in attribute if c.isdigit()))
    if attribute.startswith("suffix"):
        return lambda value: value[-size:] if len(value) > size else None
    if attribute.startswith("prefix"):
        return lambda value: value[:size] if len(value) > size else None
    return lambda value: value[:size]


class Column:
    """Attributes of the values of one column, computed once per distinct value."""

    def __init__(self, attributes: Sequence[str]) -> None:
        self._makers = [attribute_maker(attribute) for attribute in attributes]
        self._numbers: dict[str, int] = {}
        self._table = np.empty((0, len(self._makers)), dtype=np.uint32)

    def codes(self, values: Sequence[str]) -> npt.NDArray[np.uint32]:
        """Return one row of attribute codes for each value."""
        numbers = self._numbers
        if len(numbers) > _CACHED:
            numbers.clear()
            self._table = self._table[:0]
        new = list(set(values).difference(numbers))
        if new:
            first = len(numbers)
            numbers.update({value: first + i for i, value in enumerate(new)})
            table = np.empty((len(new), len(self._makers)), dtype=np.uint32)
            for j, make in enumerate(self._makers):
                made = [make(value) for value in new]  # 32 bits of each, never zero
                table[:, j] = [
                    0 if x is None else crc32(x.encode("utf-8", "surrogatepass")) or 1
                    for x in made
                ]
            self._table = np.concatenate([self._table, table])
        found = np.fromiter(map(numbers.__getitem__, values), np.int64, len(values))
        return self._table[found]


def one_a_line(table: str) -> str:
    """Return a table with one template per line, from one separated by blanks."""
    lines = (
        line if line[:1] == "#" else line.replace(" ", "\n")
        for line in table.split("\n")
    )
    return "\n".join(lines)


def template_texts(table: str | Iterable[str]) -> Iterator[tuple[int, str]]:
    """Return the templates of a table, text or list, and their lines.

    Blanks and comments after ``#`` are left out.
    """
    lines = table.splitlines() if isinstance(table, str) else list(table)
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, str):
            raise ValueError(f"template {number} must be text, not {shown(line)}")
        text = "".join(line.partition("#")[0].split())
        if text:
            yield number, text


def salt_of(text: str) -> int:
    """Return a 64-bit hash of the text of a template."""
    data = text.encode()
    return crc32(data) << 32 | crc32(data[::-1])


def reversal(sentences: Integers) -> Integers:
    """Return token numbers in the order of the reversed sentences."""
    lengths = np.diff(sentences)
    ends = np.repeat(sentences[1:] - 1, lengths)
    starts = np.repeat(sentences[:-1], lengths)
    return ends - (np.arange(len(ends)) - starts)


def half_floats(weights: SingleFloats) -> SingleFloats:
    """Return weights rounded to the half floats that a file holds.

    The error, a part in 2000, is far below that of learning; a file is half as large.
    """
    with np.errstate(over="ignore"):
        half = weights.astype(np.float16)
    return half.astype(np.float32) if np.isfinite(half).all() else weights


def sparse(name: str, weights: npt.NDArray[np.floating[Any]]) -> Arrays:
    """Return which weights are not zero, one bit each, and their values."""
    values: npt.NDArray[Any] = weights[weights != 0]
    with np.errstate(over="ignore"):
        halves = values.astype(np.float16)
    if np.array_equal(halves.astype(weights.dtype), values):
        values = halves
    return {f"{name}_places": np.packbits(weights != 0), f"{name}_weights": values}


def dense(name: str, arrays: Arrays, n: int, dtype: Any = np.float32) -> Any:
    weights = np.zeros(n, dtype=dtype)
    places = np.unpackbits(arrays[f"{name}_places"], count=n).view(np.bool_)
    weights[places] = arrays[f"{name}_weights"]
    return weights


RollIn = Literal["mixed", "gold", "own", "none"]

_VERSION = 1  # of the files
MOST_EPOCHS = 100_000  # more passes are a slip of the pen
_BLOCK = 20_000  # decisions between two looks at the keyboard
_FIRST_SQUARE = 0.01  # AdaGrad's sum of squares before the first gradient
Learned = Callable[[bool], Any]
Report = Callable[..., None]  # takes epoch, error, score and seconds by name


@dataclass(frozen=True)
class Recipe:
    """Settings of learning: states to learn from, epochs, step size, and dropout."""

    roll_in: str
    epochs: int
    step: float
    dropout: float


def gold_share(roll_in: str, epoch: int) -> float:
    """Return the probability that a training history is the initial policy's.

    "mixed" is SEARN with a mixture that leaves the initial policy step by step: all
    of its decisions, half, then none.
    """
    if roll_in == "mixed":
        return (1.0, 0.5, 0.0)[min(epoch, 2)]
    return 0.0 if roll_in == "own" else 1.0


class Parameters(Shown):
    """Parameters of an estimator, as in scikit-learn but without importing it.

    The constructor stores each of its arguments under its name and does no more.
    """

    @classmethod
    def _parameters(cls) -> dict[str, Parameter]:
        return dict(signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor.

        Parameters
        ----------
        deep : bool, default=True
            Taken because scikit-learn passes it; it changes nothing.

        Returns
        -------
        dict
            Values by name.
        """
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor.

        Parameters
        ----------
        **params
            New values by name.

        Returns
        -------
        estimator
            Itself.
        """
        known = self._parameters()
        for name in params:
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has "
                    f"{', '.join(known)}"
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def _lines(self) -> Lines:
        return lines_of(self.get_params())

    def __repr__(self) -> str:
        shown = [
            f"{name}={getattr(self, name)!r}"
            for name, parameter in self._parameters().items()
            if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD
            or getattr(self, name) != parameter.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


class SavedEstimator(Parameters):
    """Estimator that can be saved to one file: a header of JSON, and arrays.

    A subclass names its kind, and packs and unpacks what it has learned besides the
    arguments, the history and whether an interrupt ended the learning.
    """

    _kind: ClassVar[str]
    history_: list[dict[str, Any]]
    interrupted_: bool

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        raise NotImplementedError

    def _unpack(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        raise NotImplementedError

    def _to_arrays(self) -> tuple[dict[str, Any], Arrays]:
        """Return the whole estimator as a header and arrays."""
        header, arrays = self._pack()
        own = {"arguments": self.get_params(), "history": self.history_}
        return {**own, "interrupted": self.interrupted_, **header}, arrays

    @classmethod
    def _from_arrays(cls, header: Mapping[str, Any], arrays: Arrays) -> Self:
        """Return the estimator that a file holds."""
        found = cls(**header["arguments"])
        found.history_ = header["history"]
        found.interrupted_ = header["interrupted"]
        found._unpack(header, arrays)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the learned weights to one file: JSON and arrays, no code.

        The file is replaced whole or not at all. It has every option that changes
        answers.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        saving.write_archive(
            path, f"argmetric {self._kind}", _VERSION, *self._to_arrays()
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file of `save`; the estimator makes exactly the same predictions.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        what = cls._kind.split()[-1]
        found = saving.read_archive(path, f"argmetric {cls._kind}", _VERSION, what)
        with saving.whole(path, what):
            return cls._from_arrays(*found)


class Learning:
    """Weights that are learned in epochs, by AdaGrad, and averaged.

    squares = Σ g² of AdaGrad; sums = Σ (time of a change) · change since averaging
    started: the average is weights - sums / time. `train` takes a block of sentences,
    this object, and the growth of its time with each decision; it gives the wrong
    decisions, all decisions, and the time after them. `sizes` are the decisions of each
    sentence, `chosen` the sentences to learn from, by default all.
    """

    def __init__(
        self,
        n_weights: int,
        seed: int,
        epochs: int,
        train: Train,
        sizes: Integers,
        *,
        chosen: Integers | None = None,
    ) -> None:
        self.weights, self.sums = np.zeros((2, n_weights), dtype=np.float32)
        self.squares = np.full(n_weights, _FIRST_SQUARE, dtype=np.float32)
        self.seed = np.array([seed], dtype=np.uint64)
        self.epoch = 0
        self.time = 0.0
        self._rng = np.random.default_rng(seed)
        self._epochs = epochs
        self._train = train
        self._sizes = sizes
        self._chosen = np.arange(len(sizes)) if chosen is None else chosen

    @property
    def arrays(self) -> tuple[SingleFloats, SingleFloats, SingleFloats]:
        return self.weights, self.squares, self.sums

    def average(self) -> SingleFloats:
        """Return the mean of the weights since averaging started, if it has."""
        if self.time <= 0.0:
            return self.weights.copy()
        return self.weights - self.sums / np.float32(self.time)

    def run_epoch(self) -> float:
        """Make one pass in random order; return the share of wrong decisions.

        Weights are averaged from the second epoch on. Sentences are learned in blocks,
        between which an interrupt is handled.
        """
        n_decisions = max(int(self._sizes[self._chosen].sum()), 1)
        is_averaged = self.epoch >= 1 or self._epochs == 1
        growth = 1.0 / n_decisions / max(self._epochs - 1, 1) if is_averaged else 0.0
        order = self._rng.permutation(self._chosen)
        blocks = np.cumsum(self._sizes[order]) // _BLOCK
        wrong = total = 0
        for block in np.split(order, np.flatnonzero(np.diff(blocks)) + 1):
            errors, decided, self.time = self._train(block, self, growth)
            wrong, total = wrong + int(errors), total + int(decided)
        self.epoch += 1
        return wrong / max(total, 1)

    def run(
        self,
        score: Callable[[SingleFloats], float] | None = None,
        report: Report | None = None,
    ) -> tuple[SingleFloats, bool]:
        """Run all epochs; return the best weights, and whether it was interrupted.

        With `score`, the best averaged weights are those of the epoch with the highest
        score, without it those of the last. `report` is told every epoch. An interrupt
        before anything is learned goes on to the caller.
        """
        best: tuple[float, SingleFloats] | None = None
        interrupted = False
        try:
            for number in range(self._epochs):
                start = time.perf_counter()
                error, found = self.run_epoch(), None
                if score is not None:
                    weights = self.average()
                    found = score(weights)
                    if best is None or found > best[0]:
                        best = found, weights
                seconds = time.perf_counter() - start
                if report is not None:
                    report(epoch=number + 1, error=error, score=found, seconds=seconds)
        except KeyboardInterrupt:
            if not self.epoch and not self.weights.any():
                raise
            interrupted = True
        return half_floats(self.average() if best is None else best[1]), interrupted


Train = Callable[[Integers, Learning, float], tuple[Any, Any, float]]


@dataclass(eq=False)
class Log:
    """History of a fit, with an optional callback."""

    # called with every new row
    on_epoch: Callable[[dict[str, Any]], None] | None = None
    verbose: bool = False  # True writes a line for each row to standard error
    # stage, epoch, share of wrong decisions, score on what is held out, seconds
    rows: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False  # whether Ctrl-C ended the training

    def add(self, stage: str, **found: Any) -> None:
        """Store an epoch of a stage, and pass it to the callback."""
        row = {"stage": stage, **found}
        self.rows.append(row)
        if self.verbose:
            score = "" if row["score"] is None else f", dev {row['score']:.4f}"
            sys.stderr.write(
                f"{row['stage']}, epoch {row['epoch']}: {row['error']:.2%} wrong"
                f"{score}, {row['seconds']:.1f} s\n"
            )
        if self.on_epoch is not None:
            self.on_epoch(row)

    def warn_of_interrupt(self, stacklevel: int) -> None:
        """Warn the caller of a fit, who is `stacklevel` frames away."""
        if self.interrupted:
            warnings.warn(
                "learning was interrupted: the best policy so far is kept",
                UserWarning,
                stacklevel=stacklevel,
            )


def learn_directions(
    directions: Iterable[bool], learn: Learned, log: Log
) -> Iterator[Any]:
    """Yield a model for each reading direction; stop after an interrupt.

    `learn` takes whether the side reads from the right.
    """
    learned = 0
    for reverse in directions:
        try:
            side = learn(reverse)
        except KeyboardInterrupt:
            if not learned:
                raise
            log.interrupted = True
            return
        # Half a side would spoil the whole one beside it
        if not (log.interrupted and learned):
            learned += 1
            yield side
        if log.interrupted:
            return
