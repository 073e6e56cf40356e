"""Choose the set with the highest mean score over sampled sets, for each question.

The score of a set of k items against a sample of t items that share o of them is
f(o, k, t) = c·o / (d1·o + d2·k + d3·t), and `zero` where that is 0/0. With d1 = 0 (F_β
and Dice) it is a sum over the shared items: the best k items are those of the largest
Σ_s w_s·c/(d2·k + d3·t_s) over the samples s that have them, and the best of all k is
the best of all sets (Dembczyński et al. 2011). With d1 ≠ 0 (Jaccard, Tversky)
f ≤ o·slope, where slope is f/o at the end of the possible o where the denominator is
least: the same sum with these slopes is a bound on all sets of k items.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import inner, kernel

FEW_ITEMS = 12  # up to so many items all sets are enumerated, if no sum is exact
MOST_SWAPS = 1 << 20  # maximum cost of a pass over all swaps of two items
TIE = 1e-12  # values this close are equal: the smaller set is taken


@inner
def score(o, k, t, form):
    """Return f(o, k, t); `form` holds (c, d1, d2, d3, value of 0/0)."""
    below = form[1] * o + form[2] * k + form[3] * t
    return form[0] * o / below if below > 0.0 else form[4]


@inner
def mean_over_samples(hits, gained, sign, k, sizes, weights, form):
    """Return the weighted mean of f over the samples, with sign·gained added to `hits`.

    `hits`, `gained`, `sizes` and `weights` have one entry per sample.
    """
    total = 0.0
    for s in range(sizes.shape[0]):
        total += weights[s] * score(hits[s] + sign * gained[s], k, sizes[s], form)
    return total


@inner
def mean_of_set(chosen, k, items, ends, sizes, weights, form, hits):
    """Return the mean score of the k chosen items; fill `hits` with shared counts."""
    for s in range(hits.shape[0]):
        hits[s] = 0.0
        for e in range(ends[s], ends[s + 1]):
            hits[s] += chosen[items[e]]
    return mean_over_samples(hits, hits, 0.0, k, sizes, weights, form)


@inner
def slope(k, t, form):
    """Return the largest f/o over o = 1…min(k, t): at an end, as o/f is affine in o."""
    most = min(k, t)
    one = form[1] + form[2] * k + form[3] * t
    all_shared = form[1] * most + form[2] * k + form[3] * t
    least = min(one, all_shared)
    return form[0] / least if least > 0.0 else 0.0


@kernel
def best_sums(items, ends, sizes, weights, form, most, chosen, scratch):
    """Choose the k items with the largest sums, for the best k; return score and bound.

    Ties go to the smaller k, then to the item that sorts first. A larger k than all
    samples have cannot win once Σ w·f(t, k, t) is below the best.
    """
    m, samples = chosen.shape[0], sizes.shape[0]
    gain, hits, trial = scratch[0], scratch[1, :samples], scratch[2]
    chosen[:] = 0.0
    best = mean_of_set(chosen, 0.0, items, ends, sizes, weights, form, hits)
    bound, longest = best, sizes.max()
    for k in range(1, min(m, most) + 1):
        gain[:m] = 0.0
        reached, empty = 0.0, 0.0
        for s in range(samples):
            reached += weights[s] * score(min(float(k), sizes[s]), k, sizes[s], form)
            if form[2] * k + form[3] * sizes[s] <= 0.0:
                empty += weights[s] * form[4]
                continue
            worth = weights[s] * slope(float(k), sizes[s], form)
            for e in range(ends[s], ends[s + 1]):
                gain[items[e]] += worth
        if k > longest and reached < best and form[2] > 0.0:
            break
        order = np.argsort(-gain[:m], kind="mergesort")
        trial[:m] = 0.0
        above = empty
        for i in range(k):
            trial[order[i]] = 1.0
            above += gain[order[i]]
        bound = max(bound, above)
        value = mean_of_set(trial, float(k), items, ends, sizes, weights, form, hits)
        if value > best + TIE:
            best = value
            chosen[:] = trial[:m]
    return best, bound


@kernel
def try_all(items, ends, sizes, weights, form, most, chosen, scratch):
    """Choose the best of all sets and return its score; ties go to the smaller."""
    m, samples = chosen.shape[0], sizes.shape[0]
    hits, trial = scratch[1, :samples], scratch[2]
    best, size = -1.0, 0
    for code in range(1 << m):
        k = 0
        for i in range(m):
            trial[i] = (code >> i) & 1
            k += (code >> i) & 1
        if k > most:
            continue
        value = mean_of_set(trial, float(k), items, ends, sizes, weights, form, hits)
        if value > best + TIE or (value > best - TIE and k < size):
            best, size = max(value, best), k
            chosen[:] = trial[:m]
    return best


@kernel
def climb_sets(items, ends, sizes, weights, form, most, chosen, scratch):
    """Add, drop or swap single items while the mean score rises; return the score."""
    m, samples = chosen.shape[0], sizes.shape[0]
    hits, gained = scratch[1, :samples], np.empty(samples)
    member = np.zeros((m, samples))
    for s in range(samples):
        for e in range(ends[s], ends[s + 1]):
            member[items[e], s] = 1.0
    k, rises = chosen.sum(), True
    best = mean_of_set(chosen, k, items, ends, sizes, weights, form, hits)
    while rises:
        rises = False
        for i in range(m):
            sign = 1.0 - 2.0 * chosen[i]
            if k + sign > most:
                continue
            value = mean_over_samples(
                hits, member[i], sign, k + sign, sizes, weights, form
            )
            if value > best + TIE:
                best, k, rises = value, k + sign, True
                chosen[i] += sign
                hits += sign * member[i]
        if k * (m - k) * samples > MOST_SWAPS:
            continue
        for i in range(m):
            for j in range(m):
                if chosen[i] != 1.0 or chosen[j] != 0.0:
                    continue
                gained[:] = member[j] - member[i]
                value = mean_over_samples(hits, gained, 1.0, k, sizes, weights, form)
                if value > best + TIE:
                    best, rises = value, True
                    chosen[i], chosen[j] = 0.0, 1.0
                    hits += gained
    return best


@kernel
def choose_sets(questions, ends, items, firsts, weights, form, most, chosen, results):
    """Choose a set for every question.

    Parameters
    ----------
    questions : ndarray of shape (n_questions + 1,)
        First sample of each question.
    ends : ndarray of shape (n_samples + 1,)
        First entry of each sample.
    items : ndarray of shape (n_entries,)
        Number of the item within its question.
    firsts : ndarray of shape (n_questions + 1,)
        First item of each question in `chosen`.
    weights : ndarray of shape (n_samples,)
    form : ndarray of shape (5,)
        c, d1, d2, d3 and the value of 0/0.
    chosen : ndarray of shape (n_items,)
        Output: 1 for items that are chosen.
    results : ndarray of shape (n_questions, 2)
        Output: mean score and upper bound.
    """
    for q in range(questions.shape[0] - 1):
        low, high = questions[q], questions[q + 1]
        entries, own = items[ends[low] : ends[high]], ends[low : high + 1] - ends[low]
        sizes, share = np.diff(own).astype(np.float64), weights[low:high]
        mask = chosen[firsts[q] : firsts[q + 1]]
        m = mask.shape[0]
        scratch = np.empty((3, max(m, high - low)))
        best, bound = best_sums(entries, own, sizes, share, form, most, mask, scratch)
        if form[1] != 0.0 and best < bound - TIE:
            if m <= FEW_ITEMS:
                best = try_all(entries, own, sizes, share, form, most, mask, scratch)
                bound = best
            else:
                best = climb_sets(entries, own, sizes, share, form, most, mask, scratch)
        results[q, 0], results[q, 1] = best, max(best, bound)


@kernel
def score_samples(questions, ends, items, firsts, form, chosen, scores):
    """Score the chosen set of every question against each of its samples."""
    for q in range(questions.shape[0] - 1):
        mask = chosen[firsts[q] : firsts[q + 1]]
        k = mask.sum()
        for s in range(questions[q], questions[q + 1]):
            hits = 0.0
            for e in range(ends[s], ends[s + 1]):
                hits += mask[items[e]]
            scores[s] = score(hits, k, float(ends[s + 1] - ends[s]), form)
