"""Grow summaries: sets of words that belong together, and the gain of each.

Words of a cluster lie end to end, those of sentence s from sentences[s] up to, not
including, sentences[s + 1]. A word has no, one or several tokens: those of word w are
tokens[places[w] : places[w + 1]]. A *piece* is a set of words of one sentence that is
kept or not as a whole, with everything that it needs: piece c has the words
members[pieces[c] : pieces[c + 1]] of the sentence owners[c].

A gram is a token (its number) or a pair of neighbouring tokens; pairs have numbers from
a table with open addressing, or none. The value of a text is Σ steps[k, gram, times]
over the occurrences of its grams: steps[k, gram, j] is what occurrence j + 1 adds.
"""

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import borrowing, kernel

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@borrowing
def number_of(pair, keys, numbers):
    """Return the number of a pair, -1 for one that is not in the table."""
    mask = len(keys) - 1
    place = np.int64((np.uint64(pair) * _SPREAD) >> np.uint64(20)) & mask
    while keys[place] >= 0 and keys[place] != pair:
        place = (place + 1) & mask
    return numbers[place] if keys[place] == pair else -1


@kernel
def word_heads(heads, sentences, words, is_mark, result, chosen):
    """Set the heads of white-space words from those of their parts.

    heads count the parts of a sentence from 1, 0 is the root. A word stands at its
    part nearest the root that is not a punctuation mark, and hangs on the word of the
    next part above that is none: so heads have no cycle. result is the number of the
    head's word, or -1; chosen is the part that a word stands at.
    """
    depths = np.empty(len(heads), dtype=np.int64)
    result[:] = -1
    chosen[:] = -1
    for s in range(len(sentences) - 1):
        low, high = sentences[s], sentences[s + 1]
        for i in range(low, high):
            depth, j = 0, i
            while heads[j] > 0:
                j = low + heads[j] - 1
                depth += 1
            depths[i] = depth
        for i in range(low, high):
            at = chosen[words[i]]
            if at < 0 or (is_mark[i], depths[i]) < (is_mark[at], depths[at]):
                chosen[words[i]] = i
        for i in range(low, high):
            if chosen[words[i]] != i:
                continue
            j = i
            while heads[j] > 0:
                j = low + heads[j] - 1
                if not is_mark[j]:
                    result[words[i]] = words[j]
                    break


@kernel
def close_spans(sentences, places, needs, longest, pieces, members, owners):
    """List spans of words closed under their needs, and whole sentences.

    Word w needs needs[places[w] : places[w + 1]], words of its own sentence. Equal sets
    are listed once. Returns the numbers of pieces and of members; where `members` is
    empty they are only counted.
    """
    n_words = sentences[-1]
    mark = np.full(n_words, -1, dtype=np.int64)
    stack = np.empty(n_words + 1, dtype=np.int64)
    widest = 0
    for s in range(len(sentences) - 1):
        widest = max(widest, sentences[s + 1] - sentences[s])
    seen = np.empty(widest * min(longest, widest) + 1, dtype=np.uint64)
    write = len(members) > 0
    n_pieces, n_members, turn = 0, 0, 0
    for s in range(len(sentences) - 1):
        low, high = sentences[s], sentences[s + 1]
        n_seen = 0
        for width in range(1, high - low + 1):
            if width > longest and width < high - low:
                continue
            for first in range(low, high - width + 1):
                turn += 1
                size, waiting = 0, 0
                code = np.uint64(0)
                for w in range(first, first + width):
                    if mark[w] == turn:
                        continue
                    mark[w] = turn
                    stack[waiting] = w
                    waiting += 1
                    while waiting > 0:
                        waiting -= 1
                        at = stack[waiting]
                        size += 1
                        mixed = (np.uint64(at - low) + np.uint64(1)) * _SPREAD
                        mixed = (mixed ^ (mixed >> np.uint64(29))) * _SPREAD
                        code += mixed ^ (mixed >> np.uint64(32))
                        for edge in range(places[at], places[at + 1]):
                            other = needs[edge]
                            if mark[other] != turn:
                                mark[other] = turn
                                stack[waiting] = other
                                waiting += 1
                known = False
                for other in range(n_seen):
                    if seen[other] == code:
                        known = True
                        break
                if known:
                    continue
                seen[n_seen] = code
                n_seen += 1
                if write:
                    owners[n_pieces] = s
                    pieces[n_pieces] = n_members
                    for w in range(low, high):
                        if mark[w] == turn:
                            members[n_members] = w
                            n_members += 1
                else:
                    n_members += size
                n_pieces += 1
    if write:
        pieces[n_pieces] = n_members
    return n_pieces, n_members


@borrowing
def edges_of(sentences, places, tokens, kept, before, after):
    """Write the last kept token before each sentence, and the first one after it."""
    last = -1
    for s in range(len(sentences) - 1):
        before[s] = last
        for w in range(sentences[s], sentences[s + 1]):
            if kept[w] and places[w + 1] > places[w]:
                last = tokens[places[w + 1] - 1]
    first = -1
    for s in range(len(sentences) - 2, -1, -1):
        after[s] = first
        for w in range(sentences[s + 1] - 1, sentences[s] - 1, -1):
            if kept[w] and places[w + 1] > places[w]:
                first = tokens[places[w]]


@borrowing
def change_gram(gram, sign, counts, steps, gains):
    """Add or remove one occurrence; change the gains by its value."""
    if sign < 0:
        counts[gram] -= 1
    times = counts[gram]
    if times < steps.shape[2]:
        for k in range(steps.shape[0]):
            gains[k] += sign * steps[k, gram, times]
    if sign > 0:
        counts[gram] += 1


@borrowing
def change_pair(left, right, sign, table, counts, steps, gains):
    """Add (sign 1) or remove (-1) a pair of neighbouring tokens in a table."""
    n_types, keys, numbers = table
    if left >= 0 and right >= 0:
        number = number_of(left * n_types + right, keys, numbers)
        if number >= 0:
            change_gram(n_types + number, sign, counts, steps, gains)


@borrowing
def change_sentence(words, sign, text, table, kept, taken, turn, values, gains):
    """Add or remove all grams of the words of a sentence that are kept or taken.

    words: the first word of the sentence, the one behind its last, and the kept tokens
    before and behind the sentence. values: counts and steps of grams.
    """
    low, high, last, behind = words
    places, tokens = text
    counts, steps = values
    for w in range(low, high):
        if kept[w] or taken[w] == turn:
            for i in range(places[w], places[w + 1]):
                token = tokens[i]
                change_gram(token, sign, counts, steps, gains)
                change_pair(last, token, sign, table, counts, steps, gains)
                last = token
    change_pair(last, behind, sign, table, counts, steps, gains)


@borrowing
def measure_pieces(
    sentences,
    text,
    table,
    candidates,
    kept,
    counts,
    steps,
    costs,
    room,
    scratch,
    sizes,
    gains,
):
    """Set the cost and the current gain of each piece.

    sizes[c] is the cost of the words of piece c that are not kept, and -1 where that is
    more than room; gains[c, k] the change of value k of the whole text. The grams of
    the sentence at hand are taken out of the counts, so that each of its pieces is
    measured by adding what the sentence would then have.
    """
    owners, pieces, members = candidates
    n_values = steps.shape[0]
    before, after, taken, removed, found = scratch
    edges_of(sentences, text[0], text[1], kept, before, after)
    taken[:] = -1
    present = -1
    words, values = (0, 0, -1, -1), (counts, steps)
    for c in range(len(owners)):
        cost = 0.0
        for m in range(pieces[c], pieces[c + 1]):
            if not kept[members[m]]:
                cost += costs[members[m]]
        sizes[c] = cost
        for k in range(n_values):
            gains[c, k] = 0.0
        if cost <= 0.0:
            continue
        if cost > room:
            sizes[c] = -1.0
            continue
        if owners[c] != present:
            if present >= 0:
                change_sentence(words, 1, text, table, kept, taken, -2, values, removed)
            s = present = owners[c]
            words = sentences[s], sentences[s + 1], before[s], after[s]
            removed[:] = 0.0
            change_sentence(words, -1, text, table, kept, taken, -2, values, removed)
        for m in range(pieces[c], pieces[c + 1]):
            taken[members[m]] = c
        found[:] = 0.0
        change_sentence(words, 1, text, table, kept, taken, c, values, found)
        for k in range(n_values):
            gains[c, k] = removed[k] + found[k]
        change_sentence(words, -1, text, table, kept, taken, c, values, found)
    if present >= 0:
        change_sentence(words, 1, text, table, kept, taken, -2, values, removed)


@borrowing
def count_grams(sentences, text, table, kept, counts):
    """Count the occurrences of each gram in the kept words."""
    places, tokens = text
    n_types, keys, numbers = table
    counts[:] = 0
    last = -1
    for w in range(sentences[-1]):
        if kept[w]:
            for i in range(places[w], places[w + 1]):
                counts[tokens[i]] += 1
                if last >= 0:
                    number = number_of(last * n_types + tokens[i], keys, numbers)
                    if number >= 0:
                        counts[n_types + number] += 1
                last = tokens[i]
