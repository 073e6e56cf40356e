"""Numbers for ids in the order of their first appearance, by hashing."""

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import kernel

FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads the bits
FOLD = np.uint64(32)


@kernel
def number_ids(words, slots, keys, codes, firsts):
    """Set codes[i] to the number of the id words[i], and firsts to first rows.

    `slots` is all -1, a power of two of them; `keys` has a row for every id that there
    is room for, at most half as many. Returns how many ids there are, -1 if too many.
    """
    mask = np.uint64(slots.shape[0] - 1)
    width, room, count = words.shape[1], keys.shape[0], 0
    for i in range(words.shape[0]):
        mixed = np.uint64(0)
        for j in range(width):
            mixed = (mixed ^ np.uint64(words[i, j])) * FACTOR
            mixed ^= mixed >> FOLD
        slot = mixed & mask
        while True:
            code = slots[slot]
            if code < 0:
                if count == room:
                    return -1
                code = count
                slots[slot] = code
                firsts[code] = i
                for j in range(width):
                    keys[code, j] = words[i, j]
                count += 1
                break
            same = True
            for j in range(width):
                if words[i, j] != keys[code, j]:
                    same = False
                    break
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        codes[i] = code
    return count


@kernel
def number_close_ids(values, low, slots, codes, firsts):
    """Set codes of whole numbers in a small range; return how many ids and runs."""
    count = runs = 0
    before = -1
    for i in range(values.shape[0]):
        code = slots[values[i] - low]
        if code < 0:
            code = count
            slots[values[i] - low] = code
            firsts[code] = i
            count += 1
        codes[i] = code
        runs += code != before
        before = code
    return count, runs


@kernel
def count_codes(codes, counts):
    """Add to `counts` how often each code occurs."""
    for i in range(codes.shape[0]):
        counts[codes[i]] += 1


@kernel
def mix_texts(letters, offsets, seed, out):
    """Set out[i] to 64 mixed bits of the bytes from offsets[i] to offsets[i + 1]."""
    for i in range(out.shape[0]):
        mixed = seed
        for j in range(offsets[i], offsets[i + 1]):
            mixed = (mixed ^ np.uint64(letters[j])) * FACTOR
            mixed ^= mixed >> FOLD
        mixed = (mixed ^ np.uint64(offsets[i + 1] - offsets[i])) * FACTOR
        out[i] = mixed ^ (mixed >> FOLD)


@kernel
def group_rows(code, counts, rows):
    """Write the rows of each group in input order; `counts` (starts) are used up."""
    for i in range(code.shape[0]):
        g = code[i]
        rows[counts[g]] = i
        counts[g] += 1


@kernel
def bin_rows(code, bits, starts, rows, codes):
    """Write rows and codes by the leading bits of the code; `starts` are used up."""
    for i in range(code.shape[0]):
        g = code[i]
        slot = starts[g >> bits]
        starts[g >> bits] = slot + 1
        rows[slot], codes[slot] = i, g


@kernel
def group_binned_rows(binned, codes, counts, rows):
    """Write rows by group as `group_rows` does, from rows that `bin_rows` left."""
    for i in range(codes.shape[0]):
        g = codes[i]
        rows[counts[g]] = binned[i]
        counts[g] += 1
