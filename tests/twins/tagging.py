"""Plain Python twins of the kernels of tagging: slow, obvious, the tests' oracle."""

import math
from typing import NamedTuple

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_EDGE = 1 << 40
_SURE, _SMALL = 0.01, 0.002


class Settings(NamedTuple):
    """How one epoch learns; see `train` of the kernels."""

    step: float
    gold_share: float
    averaging: float


def mix(h):
    """Scatter 64 bits."""
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    h = (h ^ (h >> 27)) * 0x94D049BB133111EB & _WORD
    return h ^ (h >> 31)


def joined(codes, salt):
    """Hash of the attribute codes of a template; 0 where one is absent."""
    h = salt
    for code in codes:
        if code == 0:
            return 0
        h = (h ^ code) * _GOLDEN & _WORD
        h ^= h >> 29
    return h | 1


def code_at(attributes, column, there, begin, end):
    """An attribute, or how far a place is from the sentence."""
    if there < begin:
        return int(_EDGE + begin - there)
    if there >= end:
        return int(2 * _EDGE + there - end)
    return int(attributes[there, column])


def template_hashes(attributes, begin, end, token, compiled, tier):
    """Hashes of the templates of a tier at a token."""
    found = []
    for j in range(compiled.tiers[tier], compiled.tiers[tier + 1]):
        codes = [
            code_at(
                attributes, compiled.columns[p], token + compiled.offsets[p], begin, end
            )
            for p in range(compiled.parts[j], compiled.parts[j + 1])
        ]
        found.append(joined(codes, int(compiled.salts[j])))
    return found


def features(rows, choices, position, tier, history):
    """Row and value of every feature of a decision after the labels of `history`."""
    found = []
    for e in range(rows.indptr[position], rows.indptr[position + 1]):
        value = float(rows.values[e]) if len(rows.values) else 1.0
        found.append((int(rows.indices[e]), value))
    return found + history_features(rows, choices, position, tier, history)


def history_features(rows, choices, position, tier, history):
    """The history features among them."""
    code = 0
    for label in history:
        code = (code << int(choices.bits) | label + 1) & _WORD
    first, found = choices.history[tier], []
    for j in range(choices.history[tier + 1] - first):
        half = int(rows.halves[position, j])
        if half:
            h = mix(half ^ ((code & int(choices.masks[first + j])) * _GOLDEN & _WORD))
            found.append((int(choices.base) + (h >> int(choices.shift)), choices.value))
    return [(row, float(value)) for row, value in found]


def scores(rows, choices, weights, position, tier, history):
    """Scores of the labels of a decision."""
    K = int(choices.n_labels[tier])
    total = [0.0] * K
    for row, value in features(rows, choices, position, tier, history):
        start = int(choices.starts[tier]) + row * K
        for k in range(K):
            total[k] += value * float(weights[start + k])
    return total


def allowed(choices, tier, history):
    """Labels that may follow."""
    n_tiers = len(choices.n_labels)
    last = history[-n_tiers] + 1 if len(history) >= n_tiers else 0
    K = int(choices.n_labels[tier])
    return [k for k in range(K) if choices.allowed[tier, last, k]]


def log_probabilities(found, labels):
    """Of the allowed labels."""
    top = max(found[k] for k in labels)
    norm = top + math.log(sum(math.exp(found[k] - top) for k in labels))
    return {k: found[k] - norm for k in labels}


def greedy(rows, choices, weights):
    """The best label at every place."""
    return [best[0][0] for best in beam(rows, choices, weights, 1, log_scale=False)]


def beam(rows, choices, weights, width, *, log_scale):
    """The best sequences that a beam finds for each sentence, with their scores."""
    found = []
    n_tiers = len(choices.n_labels)
    for begin, end in zip(rows.sentences[:-1], rows.sentences[1:], strict=True):
        live = [([], 0.0)]
        for position in range(begin, end):
            tier = (position - begin) % n_tiers
            after = []
            for history, total in live:
                own = scores(rows, choices, weights, position, tier, history)
                labels = allowed(choices, tier, history)
                gains = log_probabilities(own, labels) if log_scale else {}
                for k in labels:
                    gain = gains.get(k, own[k])
                    after.append(([*history, k], total + gain))
            live = sorted(after, key=lambda pair: -pair[1])[:width]
        found.append(live)
    return found


def log_probability(rows, choices, weights, sentence, labels):
    """Of the labels of one sentence."""
    begin, total = int(rows.sentences[sentence]), 0.0
    for i, label in enumerate(labels):
        tier = i % len(choices.n_labels)
        own = scores(rows, choices, weights, begin + i, tier, labels[:i])
        gains = log_probabilities(own, allowed(choices, tier, labels[:i]))
        total += gains.get(label, -math.inf)
    return total


def train(rows, choices, settings, gold, order, weights, squares, sums, when):
    """Learn with gold or own histories, without dropout; the time after."""
    n_tiers = len(choices.n_labels)
    for s in order:
        begin, end = int(rows.sentences[s]), int(rows.sentences[s + 1])
        history = []
        for position in range(begin, end):
            tier = (position - begin) % n_tiers
            own = scores(rows, choices, weights, position, tier, history)
            labels = allowed(choices, tier, history)
            target = int(gold[position])
            if target not in labels:
                target = int(choices.outside[tier])
            slopes = _slopes(own, labels, target)
            for row, value in features(rows, choices, position, tier, history):
                start = int(choices.starts[tier]) + row * int(choices.n_labels[tier])
                for k, slope in slopes.items():
                    change = -settings.step * slope * value
                    squares[start + k] += (slope * value) ** 2
                    change /= math.sqrt(squares[start + k])
                    weights[start + k] += change
                    sums[start + k] += change * when
            best = max(labels, key=lambda k: own[k])
            history.append(target if settings.gold_share == 1.0 else best)
            when += settings.averaging
    return when


def _slopes(own, labels, target):
    p = {k: math.exp(v) for k, v in log_probabilities(own, labels).items()}
    if 1.0 - p[target] < _SURE:
        return {}
    slopes = {k: v - (k == target) for k, v in p.items()}
    return {k: v for k, v in slopes.items() if abs(v) >= _SMALL}


def remembered(words, owners, labels, n_labels, window, past_only):
    """1 + the majority label of the same word in other sentences near by."""
    found = []
    for i in range(len(words)):
        counts = [0] * n_labels
        for j in range(len(words)):
            other = owners[j] < owners[i] if past_only else owners[j] != owners[i]
            if words[j] == words[i] and abs(i - j) <= window and other:
                counts[labels[j]] += 1
        found.append(counts.index(max(counts)) + 1 if any(counts) else 0)
    return found
