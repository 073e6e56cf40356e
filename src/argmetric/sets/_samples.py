"""Sampled sets as they come in: checked, numbered, and laid out flat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from argmetric._ground.arguments import shown
from argmetric._ground.groups import factorize
from argmetric._ground.types import AnyArray, Floats, Integers

_FORM = (
    "samples must be several sets for one question ([{'a', 'b'}, {'a'}]), a list of "
    "those for several questions, a dict of them, or a 0/1 array of shape (draws, "
    "rows, labels)"
)


@dataclass(frozen=True)
class Samples:
    """Samples of all questions, one behind the other.

    Entry e of sample s is item `names[codes[pair]]`, where pair = firsts[question] +
    items[e]: items are numbered within their question, in sorted order, so that ties
    depend neither on other questions nor on the order of items in a set.
    """

    questions: Integers  #: first sample of each question, and the end
    ends: Integers  #: first entry of each sample, and the end
    items: Integers  #: of every entry its item, numbered within the question
    firsts: Integers  #: first item of each question, and the end
    codes: Integers  #: of every item of every question its place in `names`
    names: AnyArray
    weights: Floats  #: of samples; they sum to 1 in every question
    keys: list[Any] | None = None  #: of the questions, where a dict was given
    single: bool = False  #: one question, not a list of them
    shape: tuple[int, int] | None = None  #: rows and labels, where draws were given

    @property
    def n(self) -> int:
        """Number of questions."""
        return self.questions.size - 1

    def question_of_samples(self) -> Integers:
        """The question of every sample."""
        return np.repeat(np.arange(self.n), np.diff(self.questions))

    def sets(self, chosen: Floats) -> list[frozenset[Any]]:
        """The chosen items of every question."""
        taken = np.flatnonzero(chosen)
        stops = np.searchsorted(taken, self.firsts)
        names = self.names[self.codes[taken]].tolist()
        return [frozenset(names[low:high]) for low, high in pairwise(stops.tolist())]

    def matrix(self, chosen: Floats) -> AnyArray:
        """The chosen labels of every row as 0/1."""
        assert self.shape is not None
        out = np.zeros(self.shape, dtype=np.int8)
        rows = np.repeat(np.arange(self.n), np.diff(self.firsts))
        taken = chosen > 0.0
        out[rows[taken], self.names[self.codes[taken]].astype(np.int64)] = 1
        return out


def read_samples(samples: Any, weights: Any = None, name: str = "samples") -> Samples:
    """Samples of any accepted kind; `weights` of the samples of each question."""
    if isinstance(samples, np.ndarray) and samples.dtype != object:
        return _from_array(samples, weights, name)
    keys = None
    if isinstance(samples, Mapping):
        keys, samples = list(samples), list(samples.values())
    if not is_collection(samples):
        raise TypeError(f"{name}: {_FORM}, not {shown(samples)}")
    samples = list(samples)
    if not samples:
        raise ValueError(f"{name} is empty: there is no question to answer")
    single = keys is None and not _is_nested(samples)
    many = [list(one) for one in ([samples] if single else samples)]
    for q, one in enumerate(many):
        if not one:
            raise ValueError(f"question {q} of {name} has no samples: give one or more")
        for s, answer in enumerate(one):
            if not is_collection(answer):
                raise TypeError(
                    f"sample {s} of question {q} of {name} is {shown(answer)}, and not "
                    "a set of items: " + _FORM
                )
    answers = [list(answer) for one in many for answer in one]
    counts = np.array([len(one) for one in many])
    return _laid_out(answers, counts, weights, keys=keys, single=single)


def read_truth(truth: Any, samples: Samples, name: str) -> list[frozenset[Any]]:
    """The true set of every question, in the same form as its samples."""
    if samples.shape is not None:
        matrix = np.asarray(truth)
        if matrix.shape != samples.shape:
            raise ValueError(
                f"{name} has shape {matrix.shape}, the draws have {samples.shape}"
            )
        return [frozenset(np.flatnonzero(row).tolist()) for row in matrix]
    if isinstance(truth, Mapping) and samples.keys is not None:
        missing = [key for key in samples.keys if key not in truth]
        if missing:
            raise ValueError(f"{name} has no answer to {shown(missing[0])}")
        truth = [truth[key] for key in samples.keys]
    sets = [frozenset(one) for one in ([truth] if samples.single else truth)]
    if len(sets) != samples.n:
        raise ValueError(
            f"{name} has {len(sets):,} answers and {samples.n:,} questions"
        )
    return sets


def is_collection(value: Any) -> bool:
    """A set, list or array of items; texts and tuples are items themselves."""
    return isinstance(value, Iterable) and not isinstance(
        value, str | bytes | tuple | Mapping
    )


def _is_nested(samples: Sequence[Any]) -> bool:
    """Whether these are questions with samples, not the samples of one question."""
    for one in samples:
        if is_collection(one):
            for answer in one:
                return is_collection(answer)
    return False


def _from_array(draws: AnyArray, weights: Any, name: str) -> Samples:
    if draws.ndim != 3 or 0 in draws.shape[:2]:
        raise ValueError(f"{name} has shape {draws.shape}: {_FORM}")
    if not np.isin(draws, (0, 1)).all():
        place = [int(i[0]) for i in np.nonzero(~np.isin(draws, (0, 1)))]
        raise ValueError(
            f"{name} has {shown(draws[tuple(place)].item())} in draw {place[0]}, row "
            f"{place[1]}, label {place[2]}: draws are 0 or 1"
        )
    n_draws, rows, labels = draws.shape
    by_row = np.ascontiguousarray(draws.transpose(1, 0, 2)).reshape(-1, labels)
    sample, label = np.nonzero(by_row)
    return _numbered(
        np.bincount(sample, minlength=rows * n_draws),
        label.astype(np.int64),
        np.arange(labels),
        np.full(rows, n_draws),
        weights,
        shape=(rows, labels),
    )


def _laid_out(
    answers: list[list[Any]], counts: Integers, weights: Any, **more: Any
) -> Samples:
    flat = list(chain.from_iterable(answers))
    values = np.empty(len(flat), dtype=object)
    values[:] = flat
    try:
        codes, names = factorize(values)
    except TypeError as error:
        raise TypeError(f"items must be hashable: {error}") from None
    order = _sorted_places(names)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return _numbered(
        np.array([len(answer) for answer in answers]),
        place[codes],
        names[order],
        counts,
        weights,
        **more,
    )


def _sorted_places(names: AnyArray) -> Integers:
    """The order of items; by their type and text where they cannot be compared."""
    try:
        return np.argsort(names, kind="stable")
    except TypeError:
        told = [f"{type(name).__name__} {name!r}" for name in names.tolist()]
        return np.argsort(told, kind="stable")


def _numbered(
    sizes: Integers,
    codes: Integers,
    names: AnyArray,
    counts: Integers,
    weights: Any,
    **more: Any,
) -> Samples:
    """Number items within questions, and leave out those that a sample has twice."""
    n_names = max(names.size, 1)
    sample = np.repeat(np.arange(sizes.size), sizes)
    sample, code = np.divmod(np.unique(sample * n_names + codes), n_names)
    question = np.repeat(np.arange(counts.size), counts)
    pairs, local = np.unique(question[sample] * n_names + code, return_inverse=True)
    owner, code = np.divmod(pairs, n_names)
    firsts = np.searchsorted(owner, np.arange(counts.size + 1))
    return Samples(
        np.append(0, np.cumsum(counts)),
        np.searchsorted(sample, np.arange(sizes.size + 1)),
        local.reshape(-1) - firsts[question[sample]],
        firsts,
        code,
        names,
        _read_weights(weights, counts),
        **more,
    )


def _read_weights(weights: Any, counts: Integers) -> Floats:
    """Weights of samples, scaled to sum to 1 in every question."""
    if weights is None:
        return np.repeat(1.0 / counts, counts)
    given = list(weights)
    if given and is_collection(given[0]):
        lengths = [len(one) for one in given]
        if lengths != counts.tolist():
            raise ValueError(
                "weights must have one number for every sample of every question: "
                f"lengths {shown(lengths)}, samples {shown(counts.tolist())}"
            )
        flat = np.fromiter(chain.from_iterable(given), np.float64)
    else:
        if (counts != len(given)).any():
            q = int(np.flatnonzero(counts != len(given))[0])
            raise ValueError(
                f"weights has {len(given)} numbers and question {q} {counts[q]} samples"
            )
        flat = np.tile(np.array(given, dtype=np.float64), counts.size)
    if not (np.isfinite(flat) & (flat >= 0.0)).all():
        bad = int(np.flatnonzero(~(np.isfinite(flat) & (flat >= 0.0)))[0])
        raise ValueError(f"weights must be finite and ≥ 0: number {bad} is {flat[bad]}")
    question = np.repeat(np.arange(counts.size), counts)
    totals = np.bincount(question, flat, counts.size)
    if (totals == 0.0).any():
        q = int(np.flatnonzero(totals == 0.0)[0])
        raise ValueError(f"all weights of question {q} are 0: one must be larger")
    return np.asarray(flat / totals[question])
