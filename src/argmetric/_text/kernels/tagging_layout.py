"""What the kernels of tagging are handed: arrays under names."""

from __future__ import annotations

from typing import Any, NamedTuple


class FeatureRows(NamedTuple):
    """Features of decisions: CSR rows, and the static half of their history features.

    Attributes
    ----------
    indptr, indices, values : arrays
        Row i has the features indices[indptr[i]:indptr[i+1]]; `values` is empty where
        every value is one.
    halves : ndarray of uint64, shape (decisions, history templates)
        Hash of the part of a history template that does not depend on labels; zero
        where the template does not fire.
    sentences : ndarray
        Decision numbers where sentences start, and the number of decisions.
    """

    indptr: Any
    indices: Any
    values: Any
    halves: Any
    sentences: Any


class Choices(NamedTuple):
    """What may be decided, and where the weights of a decision stand.

    The decisions of a sentence take turns among the tiers: one tier for labels,
    two for a tag and a chunk label of each token.

    Attributes
    ----------
    n_labels : ndarray of int64
        Labels of each tier.
    starts : ndarray of int64
        Where the weights of each tier start.
    history : ndarray of int64
        Where the history templates of each tier start among `masks`, and their end.
    masks : ndarray of uint64
        Which of the last labels a history template sees.
    allowed : ndarray of bool, shape (tiers, labels + 1, labels)
        Whether a label may follow the last one of its tier; row 0 is for none.
    outside : ndarray of int64
        The label of each tier for what is in no chunk; -1 where labels are no spans.
    bits : uint64
        Bits of a label in the code of a history.
    state_mask : uint64
        The part of the code that decisions depend on.
    shift : uint64
        A history hash shifted by it is a row of weights.
    base : int64
        First row of the history features.
    value : float32
        Value of a history feature.
    """

    n_labels: Any
    starts: Any
    history: Any
    masks: Any
    allowed: Any
    outside: Any
    bits: Any
    state_mask: Any
    shift: Any
    base: Any
    value: Any
