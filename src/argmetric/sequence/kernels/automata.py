"""Automata along a Markov chain: layers of states, and the probability of each.

A state is (history h, control state s, counter c). `steps[i, h, y]` is the probability
of label y at position i after the history h, whose lowest bit is the latest label.
An automaton is given by tables: `kind[i]` says which table position i uses,
`follow[kind, s, y]` is the next control state and `gain[kind, s, y]` what the counter
grows by.
"""

from __future__ import annotations

import numpy as np

from argmetric._jit import kernel


@kernel
def propagate(steps, kind, follow, gain, start, cells):
    """Probability of every final (history, control state, counter).

    Also the number of states with a positive probability, over all positions.
    O(n · histories · states · cells).
    """
    n, histories = steps.shape[0], steps.shape[1]
    states = follow.shape[1]
    now = np.zeros((histories, states, cells))
    then = np.zeros((histories, states, cells))
    now[0, start, 0] = 1.0
    top, total = 0, 1
    for i in range(n):
        j = kind[i]
        rise = 0
        for s in range(states):
            rise = max(rise, gain[j, s, 0], gain[j, s, 1])
        last = min(top + rise, cells - 1)
        for h in range(histories):
            for s in range(states):
                for c in range(last + 1):
                    then[h, s, c] = 0.0
        for h in range(histories):
            for s in range(states):
                source = now[h, s]
                for y in range(2):
                    p = steps[i, h, y]
                    if p == 0.0:
                        continue
                    shift = gain[j, s, y]
                    target = then[((h << 1) | y) & (histories - 1), follow[j, s, y]]
                    for c in range(min(top + 1, cells - shift)):
                        target[c + shift] += p * source[c]
        top = last
        for h in range(histories):
            for s in range(states):
                row = then[h, s]
                for c in range(top + 1):
                    total += row[c] > 0.0
        now, then = then, now
    return now, total


@kernel
def additive_mean(steps, kind, follow, worth, start):
    """E[Σ worth], and the number of states: no counter is needed for a mean."""
    n, histories = steps.shape[0], steps.shape[1]
    states = follow.shape[1]
    now, then = np.zeros((histories, states)), np.zeros((histories, states))
    now[0, start] = 1.0
    mean, total = 0.0, 1
    for i in range(n):
        j = kind[i]
        then[:] = 0.0
        part = 0.0
        for h in range(histories):
            for s in range(states):
                mass = now[h, s]
                if mass == 0.0:
                    continue
                for y in range(2):
                    p = mass * steps[i, h, y]
                    part += p * worth[j, s, y]
                    then[((h << 1) | y) & (histories - 1), follow[j, s, y]] += p
        mean += part
        for h in range(histories):
            for s in range(states):
                total += then[h, s] > 0.0
        now, then = then, now
    return mean, total


@kernel
def nth_largest(values, count, rank):
    """The value of the given rank, 0 for the largest; `values` is shuffled. O(count).

    Hoare's selection with the middle element as pivot.
    """
    low, high = 0, count - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return values[rank]


@kernel
def beam_run(
    steps, kind, follow, gain, start, cells, width, low, high, down, up, keys, mass
):
    """Expand the `width` most probable states of every layer; drop the others.

    A dropped state with counter c at position i ends between low[c + down[i]] and
    high[c + up[i]]; where `down` is empty, between low[0] and high[0].
    Returns how many final states are in `keys` and `mass`, the mass dropped, bounds
    on what it would have added, and the number of states kept.
    """
    n, histories = steps.shape[0], steps.shape[1]
    states = follow.shape[1]
    slots = 4
    while slots < 8 * width:
        slots *= 2
    slot_entry = np.zeros(slots, dtype=np.int64)
    slot_layer = np.zeros(slots, dtype=np.int64)
    new_keys, new_mass = np.zeros_like(keys), np.zeros_like(mass)
    work = np.zeros_like(mass)
    keys[0], mass[0] = start * cells, 1.0
    count, total = 1, 1
    dropped, least, most = 0.0, 0.0, 0.0
    for i in range(n):
        threshold, spare = -1.0, 0
        if count > width:
            work[:count] = mass[:count]
            threshold = nth_largest(work, count, width - 1)
            above = 0
            for e in range(count):
                above += mass[e] > threshold
            spare = width - above  # so many that equal the threshold stay
        found = 0
        for e in range(count):
            key, chance = keys[e], mass[e]
            stays = chance > threshold
            if not stays and chance == threshold and spare > 0:
                stays = True
                spare -= 1
            c = key % cells
            if not stays:
                dropped += chance
                if down.shape[0] == 0:
                    least += chance * low[0]
                    most += chance * high[0]
                else:
                    least += chance * low[c + down[i]]
                    most += chance * high[c + up[i]]
                continue
            s = (key // cells) % states
            h = key // cells // states
            for y in range(2):
                p = chance * steps[i, h, y]
                if p == 0.0:
                    continue
                next_h = ((h << 1) | y) & (histories - 1)
                row = next_h * states + follow[kind[i], s, y]
                next_key = row * cells + c + gain[kind[i], s, y]
                slot = ((next_key * 0x9E3779B97F4A7C1) >> 20) & (slots - 1)
                while slot_layer[slot] == i + 1 and (
                    new_keys[slot_entry[slot]] != next_key
                ):
                    slot = (slot + 1) & (slots - 1)
                if slot_layer[slot] == i + 1:
                    new_mass[slot_entry[slot]] += p
                else:
                    slot_layer[slot] = i + 1
                    slot_entry[slot] = found
                    new_keys[found], new_mass[found] = next_key, p
                    found += 1
        count = found
        total += count
        keys, new_keys = new_keys, keys
        mass, new_mass = new_mass, mass
    return keys, mass, count, dropped, least, most, total
