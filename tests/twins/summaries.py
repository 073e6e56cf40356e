"""Plain Python twins of the kernels of summaries: slow, obvious, the tests' oracle."""

from collections import Counter
from itertools import pairwise

Gram = tuple[str, ...]


def grams_of(tokens):
    """Occurrences of tokens and of pairs of neighbours."""
    return Counter([(token,) for token in tokens]) + Counter(pairwise(tokens))


def value_of(counts, numbers, steps):
    """Each value of a text: what every occurrence of every gram that counts adds."""
    return [
        sum(
            value[numbers[gram]][times]
            for gram, n in counts.items()
            if gram in numbers
            for times in range(min(n, len(value[0])))
        )
        for value in steps
    ]


def closure(words, needs):
    """Words with all that they need, and what that needs."""
    found = set(words)
    while more := {other for one in found for other in needs[one]} - found:
        found |= more
    return frozenset(found)


def spans(n, longest):
    """All spans of at most `longest` of n words, and the whole."""
    return [
        range(first, first + width)
        for width in range(1, n + 1)
        if width <= longest or width == n
        for first in range(n - width + 1)
    ]


def ancestors(heads, part):
    """The parts above a part, nearest first; heads count from 1, 0 is the root."""
    found = []
    while heads[part] > 0:
        part = heads[part] - 1
        found.append(part)
    return found


def word_heads(heads, words, is_mark):
    """Heads of the words of one sentence, and the parts that they stand at."""
    above = [ancestors(heads, part) for part in range(len(heads))]
    chosen, found = [], []
    for word in range(max(words) + 1):
        own = [part for part in range(len(heads)) if words[part] == word]
        best = min(own, key=lambda part: (is_mark[part], len(above[part]), part))
        said = [words[part] for part in above[best] if not is_mark[part]]
        chosen.append(best)
        found.append(said[0] if said else -1)
    return found, chosen


def rouge_2(tokens, references):
    """Recall of pairs, averaged over references."""
    own = Counter(pairwise(tokens))
    each = [Counter(pairwise(one)) for one in references]
    shares = [(own & one).total() / max(one.total(), 1) for one in each]
    return sum(shares) / len(shares)


def vines(parents, kept, room):
    """All sets of nodes that can grow from those that are kept, by one or more."""
    found = {frozenset(kept)}
    edge = set(found)
    for _ in range(room):
        edge = {
            one | {v}
            for one in edge
            for v, above in enumerate(parents)
            if v not in one and (above < 0 or above in one)
        }
        found |= edge
    return found
