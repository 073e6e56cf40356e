"""Automata along a Markov chain: layers of states, and the probability of each.

A state is (history h, control state s, counter c). `steps[i, h, y]` is the probability
of label y at position i after the history h, whose lowest bit is the latest label.
An automaton is given by tables: `kind[i]` says which table position i uses,
`follow[kind, s, y]` is the next control state and `gain[kind, s, y]` what the counter
grows by.
"""

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import kernel


@kernel
def propagate(steps, kind, follow, gain, start, cells):
    """Return the probability of every final (history, control state, counter).

    Also return the number of states with a positive probability, over all positions.
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
    """Return E[Σ worth], and the number of states; a mean needs no counter."""
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
    """Return the value of a rank, 0 for the largest; `values` is shuffled. O(count).

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
def keep_strongest(keys, mass, count, width, other_keys, other_mass):
    """Move the `width` most probable states to the front; return their number.

    Both parts keep their order. The other two arrays are for work.
    """
    if count <= width:
        return count
    for e in range(count):  # numba takes seconds to compile a copy of a slice
        other_mass[e] = mass[e]
    threshold = nth_largest(other_mass, count, width - 1)
    spare = width  # so many that equal the threshold stay
    for e in range(count):
        spare -= mass[e] > threshold
    front, back = 0, width
    for e in range(count):
        stays = mass[e] > threshold
        if mass[e] == threshold and spare > 0:
            stays = True
            spare -= 1
        if stays:
            other_keys[front], other_mass[front] = keys[e], mass[e]
            front += 1
        else:
            other_keys[back], other_mass[back] = keys[e], mass[e]
            back += 1
    for e in range(count):
        keys[e], mass[e] = other_keys[e], other_mass[e]
    return width


@kernel
def merge_states(
    step, follow, gain, cells, keys, mass, count, new_keys, new_mass, slots, used, stamp
):
    """Compute the states after one label, merge equal ones, and return their number.

    `slots` is a hash table of places in `new_keys`; those where `used` has the stamp
    of this call are taken.
    """
    histories, states = step.shape[0], follow.shape[0]
    last = slots.shape[0] - 1
    found = 0
    for e in range(count):
        key, prob = keys[e], mass[e]
        c = key % cells
        s = (key // cells) % states
        h = key // cells // states
        for y in range(2):
            p = prob * step[h, y]
            if p == 0.0:
                continue
            row = (((h << 1) | y) & (histories - 1)) * states + follow[s, y]
            next_key = row * cells + c + gain[s, y]
            slot = ((next_key * 0x9E3779B97F4A7C1) >> 20) & last
            while used[slot] == stamp and new_keys[slots[slot]] != next_key:
                slot = (slot + 1) & last
            if used[slot] == stamp:
                new_mass[slots[slot]] += p
            else:
                used[slot], slots[slot] = stamp, found
                new_keys[found], new_mass[found] = next_key, p
                found += 1
    return found


@kernel
def hash_size(width):
    """Return a power of two that leaves three of four slots free."""
    size = 4
    while size < 8 * width:
        size *= 2
    return size


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
    slots = np.zeros(hash_size(width), dtype=np.int64)
    used = np.zeros_like(slots)
    new_keys, new_mass = np.zeros_like(keys), np.zeros_like(mass)
    keys[0], mass[0] = start * cells, 1.0
    count, total = 1, 1
    dropped, least, most = 0.0, 0.0, 0.0
    for i in range(steps.shape[0]):
        kept = keep_strongest(keys, mass, count, width, new_keys, new_mass)
        for e in range(kept, count):
            c, prob = keys[e] % cells, mass[e]
            dropped += prob
            if down.shape[0] == 0:
                least += prob * low[0]
                most += prob * high[0]
            else:
                least += prob * low[c + down[i]]
                most += prob * high[c + up[i]]
        j = kind[i]
        count = merge_states(
            steps[i],
            follow[j],
            gain[j],
            cells,
            keys,
            mass,
            kept,
            new_keys,
            new_mass,
            slots,
            used,
            i + 1,
        )
        total += count
        keys, new_keys = new_keys, keys
        mass, new_mass = new_mass, mass
    return keys, mass, count, dropped, least, most, total


@kernel
def count_layers(steps, z, first, width, keys, mass, sizes, kept):
    """Compute layers of states (history, hits, misses) for z, from `first` on.

    Row i of `keys` and `mass` holds the sizes[i] states before label i; the first
    kept[i] of them are expanded. The rows up to `first` are there already, from a
    hypothesis with the same labels before it (Jansche 2007, footnote 4). A key is
    (history·(n+1) + hits)·(n+1) + misses. Returns the number of new states.
    """
    n = steps.shape[0]
    cells = (n + 1) * (n + 1)
    follow = np.zeros((1, 2), dtype=np.int64)
    gain = np.zeros((2, 1, 2), dtype=np.int64)
    gain[0, 0, 1], gain[1, 0, 1] = 1, n + 1
    slots = np.zeros(hash_size(width), dtype=np.int64)
    used = np.zeros_like(slots)
    total = 0
    for i in range(first, n):
        kept[i] = keep_strongest(
            keys[i], mass[i], sizes[i], width, keys[i + 1], mass[i + 1]
        )
        sizes[i + 1] = merge_states(
            steps[i],
            follow,
            gain[z[i]],
            cells,
            keys[i],
            mass[i],
            kept[i],
            keys[i + 1],
            mass[i + 1],
            slots,
            used,
            i + 1,
        )
        total += sizes[i + 1]
    return total


@kernel
def dropped_counts(keys, mass, sizes, kept, zeros, low, high, down, up):
    """Return the mass of dropped states, and bounds on their contribution.

    `zeros` is the number of labels 0 of z; `low`, `high`, `down` and `up` as in
    `beam_run`, for the counter hits·(zeros + 1) + misses.
    """
    n = sizes.shape[0] - 1
    cells = (n + 1) * (n + 1)
    dropped, least, most = 0.0, 0.0, 0.0
    for i in range(n):
        for e in range(kept[i], sizes[i]):
            state, prob = keys[i, e] % cells, mass[i, e]
            c = (state // (n + 1)) * (zeros + 1) + state % (n + 1)
            dropped += prob
            if down.shape[0] == 0:
                least += prob * low[0]
                most += prob * high[0]
            else:
                least += prob * low[c + down[i]]
                most += prob * high[c + up[i]]
    return dropped, least, most


@kernel
def count_joint(steps, joint):
    """Set joint[i, s] = P(y_i = 1, S = s), and the last row to P(S = s).

    Forward distribution of (history, ones so far) times backward one of later ones.
    O(n³ · histories / 12) for the convolutions; histories hold one label at least.
    """
    n, histories = steps.shape[0], steps.shape[1]
    after = np.zeros((n + 1, histories, n + 1))
    for h in range(histories):
        after[n, h, 0] = 1.0
    for back in range(n):
        i = n - 1 - back
        for h in range(histories):
            for y in range(2):
                p = steps[i, h, y]
                if p == 0.0:
                    continue
                source = after[i + 1, ((h << 1) | y) & (histories - 1)]
                target = after[i, h]
                for c in range(n - i):
                    target[c + y] += p * source[c]
    joint[n] = after[0, 0]
    now, then = np.zeros((histories, n + 2)), np.zeros((histories, n + 2))
    now[0, 0] = 1.0
    for i in range(n):
        then[:] = 0.0
        for h in range(histories):
            for y in range(2):
                p = steps[i, h, y]
                if p == 0.0:
                    continue
                source, target = now[h], then[((h << 1) | y) & (histories - 1)]
                for c in range(i + 1):
                    target[c + y] += p * source[c]
        row = joint[i]
        for h in range(1, histories, 2):
            future = after[i + 1, h]
            for c in range(i + 2):
                mass = then[h, c]
                if mass == 0.0:
                    continue
                for r in range(n - i):
                    row[c + r] += mass * future[r]
        now, then = then, now


@kernel
def hit_counts(steps, z, pmf, hits):
    """Set pmf[s] = P(S = s) and hits[s] = E[hits of z; S = s]. O(n² · histories).

    Return the number of states (history, s) with a positive probability.
    """
    n, histories = steps.shape[0], steps.shape[1]
    now, then = np.zeros((histories, n + 1)), np.zeros((histories, n + 1))
    now_hits, then_hits = np.zeros((histories, n + 1)), np.zeros((histories, n + 1))
    now[0, 0] = 1.0
    total = 1
    for i in range(n):
        then[:, : i + 2] = 0.0
        then_hits[:, : i + 2] = 0.0
        for h in range(histories):
            for y in range(2):
                p = steps[i, h, y]
                if p == 0.0:
                    continue
                row = ((h << 1) | y) & (histories - 1)
                gain = y * z[i]
                for c in range(i + 1):
                    mass = p * now[h, c]
                    then[row, c + y] += mass
                    then_hits[row, c + y] += p * now_hits[h, c] + gain * mass
        for h in range(histories):
            for c in range(i + 2):
                total += then[h, c] > 0.0
        now, then = then, now
        now_hits, then_hits = then_hits, now_hits
    for h in range(histories):
        pmf += now[h]
        hits += now_hits[h]
    return total


@kernel
def tilted_joint(steps, tilt, joint):
    """Set joint[i, q] = E[y_i · exp(-tilt[q] · S)] for the number of ones S.

    A forward-backward pass for each q, with the weight exp(-tilt) on every one,
    scaled at every position. O(n · histories) each.
    """
    n, histories = steps.shape[0], steps.shape[1]
    forward, backward = np.zeros((n + 1, histories)), np.zeros((n + 1, histories))
    scale = np.zeros(n + 1)
    for q in range(tilt.shape[0]):
        weight = np.exp(-tilt[q])
        forward[0, :] = 0.0
        forward[0, 0] = 1.0
        log_total = 0.0
        for i in range(n):
            forward[i + 1, :] = 0.0
            for h in range(histories):
                mass = forward[i, h]
                if mass == 0.0:
                    continue
                forward[i + 1, (h << 1) & (histories - 1)] += mass * steps[i, h, 0]
                forward[i + 1, ((h << 1) | 1) & (histories - 1)] += (
                    mass * steps[i, h, 1] * weight
                )
            size = forward[i + 1].sum()
            if size > 0.0:
                forward[i + 1] /= size
                log_total += np.log(size)
            else:
                log_total = -np.inf
            scale[i + 1] = log_total
        backward[n, :] = 1.0
        log_total = 0.0
        for back in range(n):
            i = n - 1 - back
            inside = 0.0
            for h in range(1, histories, 2):
                inside += forward[i + 1, h] * backward[i + 1, h]
            joint[i, q] = np.exp(scale[i + 1] + log_total) * inside
            size = 0.0
            for h in range(histories):
                backward[i, h] = (
                    steps[i, h, 0] * backward[i + 1, (h << 1) & (histories - 1)]
                    + steps[i, h, 1]
                    * weight
                    * backward[i + 1, ((h << 1) | 1) & (histories - 1)]
                )
                size = max(size, backward[i, h])
            if size > 0.0:
                backward[i] /= size
                log_total += np.log(size)
            else:
                log_total = -np.inf
