"""What the kernels of tagging are handed: arrays under names."""

from __future__ import annotations

from typing import Any, NamedTuple


class FeatureRows(NamedTuple):
    """Features of decisions: CSR rows, and the static halves of history features."""

    # indptr, indices, values: row i has the features indices[indptr[i]:indptr[i+1]];
    # `values` is empty where every value is one
    indptr: Any
    indices: Any
    values: Any
    # hash of the part of a history template that does not depend on labels; zero where
    # the template does not fire
    halves: Any
    # decision numbers where sentences start, and the number of decisions
    sentences: Any


class Choices(NamedTuple):
    """What may be decided, and where the weights of a decision stand.

    The decisions of a sentence take turns among the tiers: one tier for labels,
    two for a tag and a chunk label of each token.
    """

    n_labels: Any  # labels of each tier
    starts: Any  # where the weights of each tier start
    # where the history templates of each tier start among `masks`, and their end
    history: Any
    masks: Any  # which of the last labels a history template sees
    # whether a label may follow the last one of its tier; row 0 is for none
    allowed: Any
    # the label of each tier for what is in no chunk; -1 where labels are no spans
    outside: Any
    bits: Any  # bits of a label in the code of a history
    state_mask: Any  # the part of the code that decisions depend on
    shift: Any  # a history hash shifted by it is a row of weights
    base: Any  # first row of the history features
    value: Any  # value of a history feature
