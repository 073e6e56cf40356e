"""Features of the pieces that could be added to a summary (section 6.2.4)."""

from __future__ import annotations

import numpy as np

from argmetric._input.types import AnyArray, Floats
from argmetric._text.summaries._growth import Growth
from argmetric._text.summaries._material import Material
from argmetric._text.summaries._policies import frequency_of_pairs
from argmetric._text.summaries._rates import Shares
from argmetric._text.summaries._weights import Weights
from argmetric._text.summaries._word_lists import (
    ATTRIBUTIONS,
    FIRST_PERSON,
    PRONOUNS,
)

N_VALUES = 4
_NEARLY_FULL = 0.08  # of the budget is left


def value_steps(material: Material, weights: Weights, own: Shares | None) -> Floats:
    """Values of grams: learned weights of pairs and of tokens, and their frequency."""
    grams = material.grams
    n_types = len(grams.types)
    is_token = np.arange(len(grams)) < n_types
    learned = weights.of(material, own)
    shares = grams.documents / grams.n_documents
    return np.stack(
        [
            np.where(is_token, 0.0, learned),
            learned * material.is_content,
            frequency_of_pairs(material) / grams.n_documents,
            shares * (grams.documents >= 2) * material.is_content,
        ]
    )[:, :, None]


def fixed_features(material: Material) -> Floats:
    """What does not change while a summary grows, for each piece."""
    cluster, pieces, grams = material.cluster, material.pieces, material.grams
    sentence = pieces.sentences
    document = cluster.sentence_documents
    size = np.diff(pieces.starts)
    length = np.diff(cluster.sentence_starts)
    position = np.arange(cluster.n_sentences) - cluster.document_starts[document]
    of_document = np.bincount(document, length)[document]
    place = position[sentence]

    def words_with(known: frozenset[str]) -> Floats:
        tokens = np.array([t in known for t in grams.types], dtype=np.float64)
        sums = np.append(0.0, np.cumsum(tokens[grams.tokens]))
        return _per_piece(np.diff(sums[grams.places]) > 0, material)

    def words_of(marks: str) -> Floats:
        text = np.array(cluster.words, dtype=str)
        found = [np.char.find(text, mark) >= 0 for mark in marks]
        return _per_piece(np.logical_or.reduce(found), material)

    columns = [
        place == 0,
        np.minimum(place, 5),
        1.0 / (1.0 + place),
        np.log(length[sentence]),
        np.log(of_document[sentence]),
        words_with(FIRST_PERSON) / size,
        words_with(PRONOUNS) / size,
        words_of('"“”') > 0,
        words_of("!?") > 0,
        words_with(ATTRIBUTIONS) > 0,
        size / length[sentence],
        size == length[sentence],
        _per_piece(np.diff(grams.places), material) / size,
    ]
    return np.stack([np.asarray(x, dtype=np.float64) for x in columns], axis=1)


def _per_piece(of_words: AnyArray, material: Material) -> Floats:
    pieces = material.pieces
    return np.add.reduceat(
        of_words[pieces.words].astype(np.float64), pieces.starts[:-1]
    )


def features(growth: Growth, fixed: Floats) -> Floats:
    """Of each piece, as things stand: one row for each.

    The first values of the growth are those of `value_steps`.
    """
    cluster, pieces = growth.material.cluster, growth.material.pieces
    limit, sentence = growth.budget.room, pieces.sentences
    size = np.where(growth.sizes > 0.0, growth.sizes, 1.0)
    left = (growth.room - size) / limit
    kept = growth.kept_words
    document = cluster.sentence_documents
    of_document = np.bincount(document, kept)[document]
    follows = np.append(False, (kept[:-1] > 0) & (np.diff(document) == 0))
    grown = (kept > 0)[sentence]
    used = growth.used / limit
    rates = limit * growth.values[:, :N_VALUES] / size[:, None]
    first = rates[:, 0]
    is_last = left <= _NEARLY_FULL
    same = np.ones(len(pieces))
    moving = [
        np.log(size / limit), size / limit, left, is_last, grown,
        (of_document > 0)[sentence], follows[sentence], used * same,
        (used == 0.0) * same, *rates.T,
        first * np.log(size / limit), first * grown, first * used, first * is_last,
        first * rates[:, 1], first**2, rates[:, 1] ** 2, first * rates[:, 2],
        first * rates[:, 3],
    ]  # fmt: skip
    columns = np.stack([np.asarray(x, dtype=np.float64) for x in moving], axis=1)
    return np.concatenate(
        [columns, fixed, fixed * first[:, None], fixed[:, :6] * (used == 0.0)], axis=1
    )
