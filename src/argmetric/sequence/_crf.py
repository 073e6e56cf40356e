"""Linear chains, and many of them as one flat batch for compiled passes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_items
from argmetric._ground.types import ArrayLike, Floats, Integers
from argmetric._ground.validation import place, to_floats, to_numpy
from argmetric.sequence._crfsuite import CrfsuiteWeights

if TYPE_CHECKING:
    from argmetric.sequence._models import MarkovChain


@dataclass(frozen=True, eq=False)
class ChainBatch:
    """Linear chains of many sentences, concatenated."""

    unary: Floats  # (tokens, labels): log scores
    pairs: Floats  # (tables, labels, labels): log scores of a label and its successor
    pair_of: Integers  # (tokens,): which table leads to the token from the one before
    indptr: Integers  # (sentences + 1,): where sentences begin and end

    @property
    def arrays(self) -> tuple[Floats, Integers, Floats, Integers]:
        """Return the arrays in the order in which the kernels take them."""
        return self.unary, self.pair_of, self.pairs, self.indptr

    @property
    def n_sentences(self) -> int:
        return int(self.indptr.size - 1)

    @cached_property
    def messages(self) -> tuple[Floats, Floats, Floats]:
        """Return log partitions, and forward and backward messages (tokens, labels)."""
        from argmetric.sequence.kernels.chains import forward_backward

        log_z = np.empty(self.n_sentences)
        forward, backward = np.empty_like(self.unary), np.empty_like(self.unary)
        forward_backward(*self.arrays, log_z, forward, backward)
        _check_possible(log_z)
        return log_z, forward, backward

    @cached_property
    def marginals(self) -> Floats:
        """Return P(y_t = y), of shape (tokens, labels)."""
        from argmetric.sequence.kernels.chains import label_marginals

        log_z, forward, backward = self.messages
        out = np.empty_like(self.unary)
        label_marginals(self.indptr, log_z, forward, backward, out)
        return out

    def pair_marginals(self) -> Floats:
        """Return P(y_{t-1} = x, y_t = y) at row t, shape (tokens, labels, labels)."""
        from argmetric.sequence.kernels.chains import pair_marginals

        n_labels = self.unary.shape[1]
        out = np.empty((self.unary.shape[0], n_labels, n_labels))
        pair_marginals(*self.arrays, *self.messages, out)
        return out

    def viterbi(self) -> tuple[Integers, Floats]:
        """Return the most probable labels (tokens,), and log scores of sentences."""
        from argmetric.sequence.kernels.chains import viterbi

        labels = np.zeros(self.unary.shape[0], dtype=np.int64)
        scores = np.empty(self.n_sentences)
        viterbi(*self.arrays, labels, scores)
        _check_possible(scores)
        return labels, scores

    def link_probs(self, sources: Integers, targets: Integers) -> tuple[Floats, ...]:
        """Return P(next is target | source) at every token, and its complement."""
        from argmetric.sequence.kernels.chains import link_probs

        prob = np.empty((self.unary.shape[0], sources.size))
        other = np.empty_like(prob)
        backward = self.messages[2]
        link_probs(*self.arrays, backward, sources, targets, prob, other)
        return prob, other


def _check_possible(scores: Floats) -> None:
    """Raise an error if a sentence has no possible sequence of labels."""
    wrong = np.flatnonzero(~np.isfinite(scores))
    if wrong.size:
        raise ValueError(
            f"sentence {int(wrong[0])}: no sequence of labels is possible; look for a "
            "token or a transition that forbids them all"
        )


def build_batch(models: Sequence[LinearChainCRF]) -> ChainBatch:
    """Combine the chains of sentences with the same labels into one batch."""
    lengths = np.array([len(model) for model in models], dtype=np.int64)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n_labels = models[0].n_labels if models else 1
    tables: list[Floats] = []
    first_table: dict[int, int] = {}
    pair_of = np.zeros(int(indptr[-1]), dtype=np.int64)
    n_tables = 0
    for model, start in zip(models, indptr, strict=False):
        pairwise = model.pairwise
        if id(pairwise) not in first_table:
            first_table[id(pairwise)] = n_tables
            tables.append(pairwise.reshape(-1, n_labels, n_labels))
            n_tables += tables[-1].shape[0]
        at = first_table[id(pairwise)]
        stop = start + len(model)
        if pairwise.ndim == 2:
            pair_of[start:stop] = at
        else:
            pair_of[start + 1 : stop] = np.arange(at, at + len(model) - 1)
    unary = np.concatenate([np.empty((0, n_labels)), *(one.unary for one in models)])
    if not n_tables:
        tables = [np.zeros((1, n_labels, n_labels))]
    pairs = np.ascontiguousarray(np.concatenate(tables))
    return ChainBatch(np.ascontiguousarray(unary), pairs, pair_of, indptr)


def segment_sums(values: Floats, indptr: Integers) -> Floats:
    """Return sums over the rows of each segment.

    No segment but the only one is empty.
    """
    if not values.shape[0]:
        return np.zeros((indptr.size - 1, *values.shape[1:]))
    return np.add.reduceat(values, indptr[:-1], axis=0)


class LinearChainCRF:
    r"""A chain of labels y with P(y) ∝ exp(Σ unary[t, y_t] + Σ pairwise[y_{t-1}, y_t]).

    Any framework can give the scores: emissions and transitions of a neural CRF, log
    probabilities of independent tokens (pairwise 0), the weights of crfsuite.

    Parameters
    ----------
    unary : array-like of shape (n, labels)
        Score of every label at every position, up to a constant for each position;
        -inf forbids a label.
    pairwise : array-like of shape (labels, labels) or (n - 1, labels, labels)
        Score of a label (row) and its successor (column); -inf forbids a transition.
    labels : sequence of str, optional
        Names of the labels, such as "B-PER"; needed for spans.

    Examples
    --------
    >>> from argmetric.sequence import LinearChainCRF
    >>> crf = LinearChainCRF([[1.0, 0.0], [0.0, 0.5]], [[0.0, -1.0], [0.0, 1.0]])
    >>> crf.marginals.round(3)
    array([[0.443, 0.557],
           [0.378, 0.622]])
    >>> crf.viterbi().tolist()
    [1, 1]
    """

    def __init__(
        self, unary: ArrayLike, pairwise: ArrayLike, labels: Sequence[str] | None = None
    ) -> None:
        self.unary: Floats = to_floats(unary, "unary")
        if self.unary.ndim != 2 or self.unary.shape[1] == 0:
            raise ValueError(
                f"unary must have shape (n, labels), not {self.unary.shape}"
            )
        n, n_labels = self.unary.shape
        self.pairwise: Floats = to_floats(pairwise, "pairwise")
        allowed = (n_labels, n_labels), (max(n - 1, 0), n_labels, n_labels)
        if self.pairwise.shape not in allowed:
            raise ValueError(
                f"pairwise has shape {self.pairwise.shape}; unary of shape "
                f"{self.unary.shape} needs {allowed[0]} or {allowed[1]}"
            )
        _check_scores(self.unary, "unary")
        _check_scores(self.pairwise, "pairwise")
        self.labels: tuple[str, ...] | None = None
        if labels is not None:
            names = list(labels) if isinstance(labels, str) else labels
            self.labels = tuple(
                map(str, check_items(names, "labels", "a list of names"))
            )
        if self.labels is not None and len(self.labels) != n_labels:
            raise ValueError(
                f"labels has {len(self.labels)} names but unary has {n_labels} columns"
            )
        if self.labels is not None and len(set(self.labels)) != n_labels:
            raise ValueError(f"labels has a name twice: {self.labels}")

    @classmethod
    def _from_arrays(
        cls, unary: Floats, pairwise: Floats, labels: tuple[str, ...]
    ) -> LinearChainCRF:
        """Build a chain without checks, for scores computed by the package."""
        crf = object.__new__(cls)
        crf.unary, crf.pairwise, crf.labels = unary, pairwise, labels
        return crf

    @classmethod
    def from_crfsuite(cls, path: str | PathLike[str]) -> CrfsuiteModel:
        """Read a model of python-crfsuite or sklearn-crfsuite.

        Parameters
        ----------
        path : str or path-like
            The file that crfsuite wrote (`model_filename` of sklearn-crfsuite).

        Returns
        -------
        CrfsuiteModel
            `.sentence(features)` gives the LinearChainCRF of a sentence.
        """
        return CrfsuiteModel(path)

    @property
    def n_labels(self) -> int:
        """Return the number of labels."""
        return int(self.unary.shape[1])

    def __len__(self) -> int:
        return int(self.unary.shape[0])

    def __repr__(self) -> str:
        names = "" if self.labels is None else f": {', '.join(self.labels)}"
        return f"LinearChainCRF({len(self)} positions, {self.n_labels} labels{names})"

    @cached_property
    def _batch(self) -> ChainBatch:
        return build_batch([self])

    @property
    def log_partition(self) -> float:
        """Return the logarithm of the sum of exp(score) over all label sequences."""
        return float(self._batch.messages[0][0])

    @property
    def marginals(self) -> Floats:
        """Return P(y_t = y), of shape (n, labels)."""
        return self._batch.marginals

    @property
    def pair_marginals(self) -> Floats:
        """Return P(y_t = x, y_{t+1} = y), of shape (n - 1, labels, labels)."""
        return self._batch.pair_marginals()[1:]

    def viterbi(self) -> Integers:
        """Return the most probable sequence, as numbers of labels.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        return self._batch.viterbi()[0]

    def score(self, y: npt.ArrayLike) -> float:
        """Return the score of a sequence of labels, before normalisation.

        Parameters
        ----------
        y : array-like of int or str
            One label for each position: its number or its name.

        Returns
        -------
        float
            The sum of the scores of labels and transitions.
        """
        given = to_numpy(y, "y")
        if given.shape != (len(self),):
            raise ValueError(f"y has shape {given.shape}, not ({len(self)},)")
        labels = self._numbers(given)
        wrong = np.flatnonzero((labels < 0) | (labels >= self.n_labels))
        if wrong.size:
            at = int(wrong[0])
            raise ValueError(
                f"y has label {given[at]} at row {at}; the model knows 0 to "
                f"{self.n_labels - 1}"
            )
        total = self.unary[np.arange(labels.size), labels].sum()
        pairs = np.broadcast_to(
            self.pairwise, (max(labels.size - 1, 0), *self.pairwise.shape[-2:])
        )
        steps = np.arange(labels.size - 1) if labels.size else np.arange(0)
        return float(total + pairs[steps, labels[:-1], labels[1:]].sum())

    def _numbers(self, y: npt.NDArray[Any]) -> Integers:
        """Return the numbers of labels that are numbers or names."""
        is_float = y.dtype.kind == "f"
        if y.dtype.kind in "iub" or (is_float and np.array_equal(y, np.trunc(y))):
            return np.asarray(np.clip(y, -1, self.n_labels), dtype=np.int64)
        known = {name: i for i, name in enumerate(self.labels or ())}
        for at, name in enumerate(y.tolist()):
            if not isinstance(name, str) or name not in known:
                raise ValueError(
                    f"y has label {name!r} at row {at}; the model knows "
                    f"{', '.join(known) or 'numbers only'}"
                )
        return np.array([known[name] for name in y.tolist()], dtype=np.int64)

    def to_markov_chain(self) -> MarkovChain:
        """Return a chain of two labels as a Markov chain; exact, by backward messages.

        Label 1 is the positive one.

        Returns
        -------
        MarkovChain
            The same distribution.
        """
        if self.n_labels != 2:
            raise ValueError(f"needs two labels; this model has {self.n_labels}")
        if not len(self):
            raise ValueError("an empty sequence has no chain")
        from argmetric.sequence._models import MarkovChain

        backward = self._batch.messages[2]
        if len(self) == 1:
            return MarkovChain(self.marginals[0], np.empty((0, 2, 2)))
        logs = self.pairwise + (self.unary + backward)[1:, None, :]
        top = logs.max(axis=2, keepdims=True)
        weights = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
        totals = weights.sum(axis=2, keepdims=True)
        # A label that nothing can follow has no mass: any row will do
        transitions = np.divide(
            weights, totals, out=np.full_like(weights, 0.5), where=totals > 0
        )
        return MarkovChain(self.marginals[0], transitions)


def _check_scores(values: Floats, name: str) -> None:
    """Raise an error that locates the first NaN or +inf."""
    wrong = np.isnan(values) | (values == np.inf)
    if wrong.any():
        at = int(np.flatnonzero(wrong.ravel())[0])
        where = (
            place(at, values.shape)
            if values.ndim == 2
            else f"index {tuple(map(int, np.unravel_index(at, values.shape)))}"
        )
        raise ValueError(f"{name} is {values.ravel()[at]} at {where}")


class CrfsuiteModel(CrfsuiteWeights):
    """Weights of a crfsuite model, which build a chain for each sentence.

    Parameters
    ----------
    path : str or path-like
        The file that crfsuite wrote.

    Attributes
    ----------
    labels : tuple of str
        Names of the labels in the model's order.
    transitions : ndarray of shape (labels, labels)
        Weight of a label and its successor.

    Examples
    --------
    >>> from argmetric.sequence import CrfsuiteModel
    >>> model = CrfsuiteModel("names.crfsuite")  # doctest: +SKIP
    >>> model.sentence([["w=Ana"], ["w=vino"]]).viterbi()  # doctest: +SKIP
    array([1, 0])
    """

    def __repr__(self) -> str:
        return (
            f"CrfsuiteModel({len(self.labels)} labels, "
            f"{len(self._attributes):,} attributes)"
        )

    def sentence(self, features: Sequence[Any]) -> LinearChainCRF:
        """Return the chain of one sentence.

        Parameters
        ----------
        features : sequence
            The features of every token, as for python-crfsuite: a list of names, or a
            dict of names and values (numbers, booleans, text, lists of text, dicts).

        Returns
        -------
        LinearChainCRF
            The chain.
        """
        return self.sentences([features])[0]

    def sentences(self, sentences: Iterable[Sequence[Any]]) -> list[LinearChainCRF]:
        """Return the chains of many sentences.

        Parameters
        ----------
        sentences : iterable of sequences
            The features of each sentence, as `sentence` takes them.

        Returns
        -------
        list of LinearChainCRF
            One for each sentence.

        Raises
        ------
        ValueError
            If the model knows less than a tenth of the features: it was trained with
            others.
        """
        return self.sentences_and_known(sentences)[0]

    def sentences_and_known(
        self, sentences: Iterable[Sequence[Any]]
    ) -> tuple[list[LinearChainCRF], float]:
        """Return the chains of many sentences, and the share of known features.

        Parameters
        ----------
        sentences : iterable of sequences
            As `sentences` takes them.

        Returns
        -------
        chains : list of LinearChainCRF
            One for each sentence.
        share : float
            Known features by all features.
        """
        parts, share = self._unary_scores(sentences)
        build = LinearChainCRF._from_arrays
        return [build(part, self.transitions, self.labels) for part in parts], share
