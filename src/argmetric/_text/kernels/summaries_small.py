"""Summaries without numba: the table of pairs, and twins for one small cluster.

`count_grams` and `measure_pieces` have the arguments of their compiled twins.
"""

from __future__ import annotations

import numpy as np

from argmetric._input.types import AnyArray, Booleans, Floats, Integers

Text = tuple[Integers, Integers]
Table = tuple[int, Integers, Integers]


def fill_pairs(pairs: Integers, keys: Integers, numbers: Integers) -> None:
    """A table of numbered pairs; keys has a power of two of places, -1 where free."""
    waiting = np.arange(len(pairs))
    place = _places(pairs, len(keys))
    while len(waiting):
        free = keys[place] < 0
        keys[place[free]] = pairs[waiting[free]]  # of several, one stays
        has_place = keys[place] == pairs[waiting]
        numbers[place[has_place]] = waiting[has_place]
        waiting = waiting[~has_place]
        place = (place[~has_place] + 1) & (len(keys) - 1)


def _places(pairs: Integers, size: int) -> Integers:
    """Where a pair is looked for first in a table of a power of two of places."""
    mixed = pairs.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(20)).astype(np.int64) & (size - 1)


def numbers_of(pairs: Integers, table: Table) -> Integers:
    """Numbers of grams that are pairs of tokens, -1 for pairs not in the table."""
    n_types, keys, numbers = table
    place = _places(pairs, len(keys))
    while (is_other := (keys[place] >= 0) & (keys[place] != pairs)).any():
        place = np.where(is_other, (place + 1) & (len(keys) - 1), place)
    return np.where(keys[place] == pairs, n_types + numbers[place], -1)


def count_grams(
    sentences: Integers, text: Text, table: Table, kept: AnyArray, counts: Integers
) -> None:
    """Occurrences of each gram in the kept words."""
    places, tokens = text
    own = tokens[np.repeat(kept.astype(bool), np.diff(places))]
    found = numbers_of(own[:-1] * table[0] + own[1:], table)
    grams = np.append(own, found[found >= 0])
    counts[:] = np.bincount(grams, minlength=len(counts))


def measure_pieces(
    sentences: Integers,
    text: Text,
    table: Table,
    candidates: tuple[Integers, Integers, Integers],
    kept: AnyArray,
    counts: Integers,
    steps: Floats,
    costs: Floats,
    room: float,
    scratch: object,
    sizes: Floats,
    gains: Floats,
) -> None:
    """What each piece costs and what it would bring now.

    A piece changes the occurrences of a gram from counts to counts + changes, hence a
    value by Σ steps[:, gram, j] over those j.
    """
    owners, pieces, members = candidates
    piece_of = np.repeat(np.arange(len(owners)), np.diff(pieces))
    is_new = kept[members] == 0
    sizes[:] = np.bincount(
        piece_of[is_new], costs[members[is_new]], minlength=len(owners)
    )
    gains[:] = 0.0
    fits = np.flatnonzero((sizes > 0.0) & (sizes <= room))
    sizes[sizes > room] = -1.0
    # All words of the sentence of each piece that fits, piece after piece
    lengths = np.diff(sentences)[owners[fits]]
    of_fit, words = _ranges(sentences[owners[fits]], lengths)
    is_taken = np.zeros((len(fits) + 1, int(lengths.max(initial=0)) + 1), dtype=bool)
    row_of = np.full(len(owners), len(fits))
    row_of[fits] = np.arange(len(fits))
    inside = members - sentences[owners[piece_of]]
    is_in = row_of[piece_of] < len(fits)
    is_taken[row_of[piece_of[is_in]], inside[is_in]] = True
    was = kept[words].astype(bool)
    is_now = was | is_taken[of_fit, words - sentences[owners[fits[of_fit]]]]
    edges = _edges(sentences, text, kept)
    own = (of_fit, words, edges[0][owners[fits]], edges[1][owners[fits]])
    added_to, added = _grams(*own, is_now, text, table)
    removed_from, removed = _grams(*own, was, text, table)
    n_grams = len(counts)
    changed, where = np.unique(
        np.append(added_to * n_grams + added, removed_from * n_grams + removed),
        return_inverse=True,
    )
    signs = np.repeat([1.0, -1.0], [len(added), len(removed)])
    change = np.bincount(where, signs, minlength=len(changed)).astype(np.int64)
    gram = changed % n_grams
    sums = np.zeros((*steps.shape[:2], steps.shape[2] + 1))
    np.cumsum(steps, axis=2, out=sums[:, :, 1:])
    most = steps.shape[2]
    old = np.minimum(counts[gram], most)
    new = np.minimum(counts[gram] + change, most)
    for k in range(steps.shape[0]):
        worth = sums[k, gram, new] - sums[k, gram, old]
        gains[fits, k] = np.bincount(changed // n_grams, worth, minlength=len(fits))


def _ranges(starts: Integers, lengths: Integers) -> tuple[Integers, Integers]:
    """The numbers of each range, end to end, with the range of each."""
    owner = np.repeat(np.arange(len(starts)), lengths)
    first = np.cumsum(lengths) - lengths
    return owner, np.arange(lengths.sum()) - first[owner] + starts[owner]


def _edges(
    sentences: Integers, text: Text, kept: AnyArray
) -> tuple[Integers, Integers]:
    """The last kept token before each sentence, and the first one behind it; or -1."""
    places, tokens = text
    at = np.flatnonzero(np.repeat(kept.astype(bool), np.diff(places)))
    shown = np.concatenate([[-1], tokens[at], [-1]])
    bounds = places[sentences]
    before = np.searchsorted(at, bounds[:-1])
    behind = np.searchsorted(at, bounds[1:])
    return shown[before], shown[behind + 1]


def _grams(
    of_piece: Integers,
    words: Integers,
    before: Integers,
    behind: Integers,
    is_in: Booleans,
    text: Text,
    table: Table,
) -> tuple[Integers, Integers]:
    """Pieces and grams of the words that are in, and of what they stand between."""
    places, tokens = text
    words, of_word = words[is_in], of_piece[is_in]
    owner, at = _ranges(places[words], np.diff(places)[words])
    every = np.arange(len(before))
    piece = np.concatenate([every, of_word[owner], every])
    order = np.argsort(piece, kind="stable")
    piece = piece[order]
    token = np.concatenate([before, tokens[at], behind])[order]
    is_gone = token < 0  # the text begins or ends here
    piece, token = piece[~is_gone], token[~is_gone]
    found = numbers_of(token[:-1] * table[0] + token[1:], table)
    is_pair = (piece[:-1] == piece[1:]) & (found >= 0)
    return (
        np.append(of_word[owner], piece[:-1][is_pair]),
        np.append(tokens[at], found[is_pair]),
    )
