"""Read sampled sets: check them, number their items, and store them in flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from argmetric._ground.arguments import is_sparse, shown
from argmetric._ground.groups import factorize
from argmetric._ground.types import AnyArray, Floats, Integers
from argmetric._ground.validation import to_floats

_FORM = (
    "samples must be several sets for one question ([{'a', 'b'}, {'a'}]), a list of "
    "those for several questions, a dict of them, or a 0/1 array of shape (draws, "
    "rows, labels)"
)
_HASHABLE = "items must be hashable, such as texts, numbers or tuples of them"


@dataclass(frozen=True)
class Samples:
    """Samples of all questions, concatenated in flat arrays.

    Entry e of sample s is item `names[codes[pair]]`, where pair = firsts[question] +
    items[e]: items are numbered within their question, in sorted order, so that ties
    depend neither on other questions nor on the order of items in a set.
    """

    questions: Integers  #: (n_questions + 1,): first sample of each question
    ends: Integers  #: (n_samples + 1,): first entry of each sample
    items: Integers  #: (n_entries,): number of the item within its question
    firsts: Integers  #: (n_questions + 1,): first item of each question
    codes: Integers  #: (n_items,): index into `names`
    names: AnyArray  #: (n_names,): the distinct items, sorted
    weights: Floats  #: (n_samples,): they sum to 1 in every question
    keys: list[Any] | None = None  #: keys of the questions, if samples are a dict
    single: bool = False  #: whether the user passed one question, not a list of them
    shape: tuple[int, int] | None = None  #: (rows, labels) if samples are 0/1 draws

    @property
    def n(self) -> int:
        """Return the number of questions."""
        return self.questions.size - 1

    @property
    def counts(self) -> Integers:
        """Return the number of samples of each question."""
        return np.diff(self.questions)

    @property
    def flat(self) -> tuple[Integers, Integers, Integers, Integers]:
        """Return the arrays that describe the samples to the kernels."""
        return self.questions, self.ends, self.items, self.firsts

    def sets(self, chosen: Floats) -> list[frozenset[Any]]:
        """Return the chosen items of each question as a set."""
        taken = np.flatnonzero(chosen)
        stops = np.searchsorted(taken, self.firsts)
        names = self.names[self.codes[taken]].tolist()
        return [frozenset(names[low:high]) for low, high in pairwise(stops.tolist())]

    def restore_form(self, chosen: Floats) -> Any:
        """Return the sets in the form of the samples: set, list, dict or matrix."""
        if self.shape is not None:
            out = np.zeros(self.shape, dtype=np.int8)
            rows = np.repeat(np.arange(self.n), np.diff(self.firsts))
            out[rows, self.names[self.codes].astype(np.int64)] = chosen
            return out
        sets = self.sets(chosen)
        if self.single:
            return sets[0]
        return sets if self.keys is None else dict(zip(self.keys, sets, strict=True))


def read_samples(samples: Any, weights: Any = None, name: str = "samples") -> Samples:
    """Read samples of any accepted kind; `weights` are those of the samples."""
    if isinstance(samples, np.ndarray) and samples.dtype != object:
        return _from_array(samples, weights, name)
    keys = None
    if isinstance(samples, Mapping):
        keys, samples = list(samples), list(samples.values())
    if not (isinstance(samples, tuple) or is_collection(samples)):
        raise TypeError(f"{name} is {shown(samples)}: {_FORM}")
    samples = list(samples)
    if not samples:
        raise ValueError(f"{name} is empty: there is no question to answer")
    single = keys is None and not _is_nested(samples)
    many = _list_answers([samples] if single else samples, keys, name)
    answers = [list(answer) for one in many for answer in one]
    items = np.empty(sum(map(len, answers)), dtype=object)
    items[:] = list(chain.from_iterable(answers))
    try:
        codes, names = factorize(items)
    except TypeError as error:
        raise TypeError(f"{_HASHABLE}: {name} has an {error}") from None
    sizes, counts = (np.array([len(x) for x in xs]) for xs in (answers, many))
    if sizes.max() > 2 and set(names.tolist()) <= {0, 1}:
        raise ValueError(
            f"{name} has lists of 0 and 1 only: pass draws as an array of shape "
            "(draws, rows, labels)"
        )
    place = np.argsort(order := _sort_items(names))
    weights = _align_with_keys(weights, keys, "weights")
    form = {"keys": keys, "single": single}
    return _number_items(sizes, place[codes], names[order], counts, weights, **form)


def _list_answers(many: list[Any], keys: list[Any] | None, name: str) -> list[Any]:
    """Return the answers to each question as lists, or refuse what is no set.

    Parameters
    ----------
    many : list
        The samples of each question.
    keys : list or None
        Names of the questions, for messages.
    name : str
        How messages call the samples.
    """
    for q, one in enumerate(many):
        question = f"question {q if keys is None else shown(keys[q])} of {name}"
        if not is_collection(one):
            raise TypeError(f"{question} is {shown(one)}: {_FORM}")
        many[q] = one = list(one)
        if not one:
            raise ValueError(f"{question} has no samples: pass one or more")
        for s, answer in enumerate(one):
            if not is_collection(answer):
                no_set = (
                    f"sample {s} of {question} is {shown(answer)}, not a set of items"
                )
                raise TypeError(f"{no_set}: {_FORM}")
    return many


def read_true_sets(true_sets: Any, samples: Samples, name: str) -> list[frozenset[Any]]:
    """Read the true set of each question, in the same form as the samples."""
    if samples.shape is not None:
        matrix = np.asarray(true_sets)
        if matrix.shape != samples.shape:
            raise ValueError(
                f"{name} has shape {matrix.shape}, the draws have {samples.shape}"
            )
        _refuse_other_than_binary(matrix, name, ("row", "label"))
        return [frozenset(np.flatnonzero(row).tolist()) for row in matrix]
    true_sets = _align_with_keys(true_sets, samples.keys, name)
    if not is_collection(true_sets):
        raise TypeError(f"{name} is {shown(true_sets)}: pass a set for every question")
    true_sets = list(true_sets)
    for q, one in enumerate(true_sets):
        if not is_collection(one):
            raise TypeError(
                f"{name} is {shown(one)} for question {q}, and not a set of items"
            )
    if len(true_sets) != samples.n:
        raise ValueError(
            f"{name} has {len(true_sets):,} answers and {samples.n:,} questions"
        )
    try:
        return [frozenset(one) for one in true_sets]
    except TypeError as error:
        raise TypeError(f"{_HASHABLE}: {name} has an {error}") from None


def is_collection(value: Any) -> bool:
    """Return whether `value` is a set, list or array; texts and tuples are items."""
    return (
        isinstance(value, Iterable)
        and not isinstance(value, str | bytes | tuple | Mapping)
        and not is_sparse(value)
    )


def _align_with_keys(numbers: Any, keys: list[Any] | None, name: str) -> Any:
    """Return the values of a dict in the order of the questions; others unchanged."""
    if not isinstance(numbers, Mapping):
        return numbers
    if keys is None:
        raise TypeError(f"{name} is a dict, but samples are not: pass a list")
    for key in keys:
        if key not in numbers:
            raise ValueError(f"{name} has no answer to {shown(key)}")
    return [numbers[key] for key in keys]


def _is_nested(samples: Sequence[Any]) -> bool:
    """Return whether `samples` holds the samples of several questions."""
    for one in samples:
        if is_collection(one):
            for answer in one:
                return is_collection(answer)
    return False


def _from_array(draws: AnyArray, weights: Any, name: str) -> Samples:
    """Read 0/1 draws of shape (n_draws, n_rows, n_labels); each row is a question."""
    if draws.ndim != 3 or 0 in draws.shape:
        raise ValueError(f"{name} has shape {draws.shape}: {_FORM}")
    _refuse_other_than_binary(draws, name, ("draw", "row", "label"))
    n_draws, rows, labels = draws.shape
    sample, label = np.nonzero(draws.transpose(1, 0, 2).reshape(-1, labels))
    sizes = np.bincount(sample, minlength=rows * n_draws)
    names, counts = np.arange(labels), np.full(rows, n_draws)
    return _number_items(sizes, label, names, counts, weights, shape=(rows, labels))


def _refuse_other_than_binary(array: AnyArray, name: str, axes: Sequence[str]) -> None:
    """Raise an error that locates the first entry other than 0 and 1."""
    if (known := np.isin(array, (0, 1))).all():
        return
    at = np.argwhere(~known)[0].tolist()
    where = ", ".join(f"{axis} {i}" for axis, i in zip(axes, at, strict=True))
    value = shown(array[tuple(at)].item())
    raise ValueError(f"{name} has {value} in {where}: draws are 0 or 1")


def _sort_items(names: AnyArray) -> Integers:
    """Return the order of items; by type and text if they cannot be compared."""
    try:
        return np.argsort(names, kind="stable")
    except TypeError:
        keys = [f"{type(name).__name__} {name!r}" for name in names.tolist()]
        return np.argsort(keys, kind="stable")


def _number_items(
    sizes: Integers,
    codes: Integers,
    names: AnyArray,
    counts: Integers,
    weights: Any,
    **more: Any,
) -> Samples:
    """Assign numbers to the items of each question, and drop repeated ones.

    Parameters
    ----------
    sizes : ndarray of shape (n_samples,)
        Number of items of each sample.
    codes : ndarray of shape (n_entries,)
        Index into `names` of each item of each sample.
    names : ndarray of shape (n_names,)
        The distinct items, sorted.
    counts : ndarray of shape (n_questions,)
        Number of samples of each question.
    weights : array-like or None
        Weights of the samples, as the user passed them.
    """
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
    """Return the weights of the samples, scaled to sum to 1 in each question."""
    if weights is None:
        return np.repeat(1.0 / counts, counts)
    if not (isinstance(weights, tuple) or is_collection(weights)):
        raise TypeError(f"weights must be a list of numbers, not {shown(weights)}")
    numbers = list(weights)
    if numbers and is_collection(numbers[0]):
        lengths = [len(one) for one in numbers]
        if lengths != counts.tolist():
            raise ValueError(
                "weights must have one number for every sample of every question: "
                f"lengths {shown(lengths)}, samples {shown(counts.tolist())}"
            )
        flat = to_floats(list(chain.from_iterable(numbers)), "weights")
    else:
        if (counts != len(numbers)).any():
            q = int(np.flatnonzero(counts != len(numbers))[0])
            both = f"{len(numbers)} numbers and question {q} {counts[q]} samples"
            raise ValueError(f"weights has {both}")
        flat = np.tile(to_floats(numbers, "weights"), counts.size)
    if (bad := np.flatnonzero(~(np.isfinite(flat) & (flat >= 0.0)))).size:
        value = flat[bad[0]]
        raise ValueError(f"weights must be finite and ≥ 0: number {bad[0]} is {value}")
    question = np.repeat(np.arange(counts.size), counts)
    totals = np.bincount(question, flat, counts.size)
    if (zero := np.flatnonzero(totals == 0.0)).size:
        raise ValueError(f"all weights of question {zero[0]} are 0: one must be larger")
    return np.asarray(flat / totals[question])
