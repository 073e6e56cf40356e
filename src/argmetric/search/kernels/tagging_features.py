"""Features of tokens: hashed templates, and the memory of words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from argmetric._ground.jit import borrowing, kernel
from argmetric._ground.jit.hashing import absorb, mix

_ONE = np.uint64(1)
_EDGE = np.uint64(1 << 40)  # beyond the 32 bits of every attribute


@borrowing
def attribute_at(attributes, column, there, begin, end):
    """Return the attribute of a token; beyond the sentence, a code of the distance."""
    if there < begin:
        return _EDGE + np.uint64(begin - there)
    if there >= end:
        return _EDGE + _EDGE + np.uint64(there - end)
    return np.uint64(attributes[there, column])


@borrowing
def hash_parts(attributes, plan, j, token, begin, end):
    """Return the hash of the parts of template j at a token; 0 if one is absent.

    Part i reads the attribute columns[i] of the token offsets[i] places away; template
    j has the parts parts[j]..parts[j+1].
    """
    columns, offsets, parts, salts, _ = plan
    h = salts[j]
    for part in range(parts[j], parts[j + 1]):
        there = token + offsets[part]
        code = attribute_at(attributes, columns[part], there, begin, end)
        if code == 0:
            return code
        h = absorb(h, code)
    return h | _ONE


@kernel
def hash_rows(attributes, sentences, plan, shift, indptr, indices):
    """Set the features of every decision; those of a token are side by side.

    plan: columns, offsets, parts and salts of templates, and `streams`: stream s has
    the templates streams[s]..streams[s+1]. Fills indptr and indices and returns their
    number.
    """
    n = 0
    streams = plan[4]
    n_streams = streams.shape[0] - 1
    for s in range(sentences.shape[0] - 1):
        begin, end = sentences[s], sentences[s + 1]
        for token in range(begin, end):
            for stream in range(n_streams):
                indptr[token * n_streams + stream] = n
                for j in range(streams[stream], streams[stream + 1]):
                    h = hash_parts(attributes, plan, j, token, begin, end)
                    if h != 0:
                        indices[n] = np.int32(mix(h) >> shift)
                        n += 1
    indptr[sentences[sentences.shape[0] - 1] * n_streams] = n
    return n


@kernel
def hash_halves(attributes, sentences, plan, halves):
    """Set halves[decision, template], the static half of every history template."""
    streams = plan[4]
    n_streams = streams.shape[0] - 1
    for s in range(sentences.shape[0] - 1):
        begin, end = sentences[s], sentences[s + 1]
        for token in range(begin, end):
            for stream in range(n_streams):
                for j in range(streams[stream], streams[stream + 1]):
                    h = hash_parts(attributes, plan, j, token, begin, end)
                    halves[token * n_streams + stream, j - streams[stream]] = h


@kernel
def fill_majority(words, order, owners, labels, n_labels, window, past_only, memory):
    """Set the majority label of the same word in nearby sentences.

    `order` lists the tokens by word, then place; owners[i] is the sentence of token i.
    memory[i] = 1 + the label most frequent among tokens of the same word at most
    `window` places away, in other sentences (in earlier ones: past_only), the lowest of
    equals; 0 where there is none.
    """
    n = order.shape[0]
    counts = np.zeros(n_labels, np.int64)
    first = 0
    while first < n:
        last = first
        word = words[order[first]]
        while last < n and words[order[last]] == word:
            last += 1
        counts[:] = 0
        low, high = first, first  # counts hold order[low:high]
        for e in range(first, last):
            token = order[e]
            while high < last and order[high] <= token + window:
                counts[labels[order[high]]] += 1
                high += 1
            while order[low] < token - window:
                counts[labels[order[low]]] -= 1
                low += 1
            # Take out the own sentence, or all that comes from it on, and put it back
            left = e
            while left > low and owners[order[left - 1]] == owners[token]:
                left -= 1
            right = e + 1
            while right < high and (past_only or owners[order[right]] == owners[token]):
                right += 1
            for other in range(left, right):
                counts[labels[order[other]]] -= 1
            best = 0
            for k in range(1, n_labels):
                if counts[k] > counts[best]:
                    best = k
            memory[token] = best + 1 if counts[best] > 0 else 0
            for other in range(left, right):
                counts[labels[order[other]]] += 1
        first = last


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
    """Legal decisions, and the rows of their weights.

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
