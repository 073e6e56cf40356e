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


def useful(words, parents, references):
    """Nodes with a word of a reference, and those that one of these hangs on."""
    known = {token for one in references for token in one}
    found = {v for v, word in enumerate(words) if word in known}
    while more := {parents[v] for v in found if parents[v] >= 0} - found:
        found |= more
    return found


def completion(words, parents, references, kept, room, beam):
    """The most recall that a beam adds to kept nodes, and the nodes in turn.

    Single words, all of cost 1. Of two summaries with equal recall the one with more
    tokens of references is better, then the one that was found first.
    """
    could = useful(words, parents, references)

    def worth(nodes):
        tokens = [words[v] for v in sorted(nodes)]
        shares = [sum(token in one for one in references) for token in set(tokens)]
        return round(rouge_2(tokens, references), 12), sum(shares)

    first = worth(kept)[0]
    living, best = {frozenset(kept): ()}, (first, ())
    for _ in range(room):
        grown = {}
        for one, path in living.items():
            for v, above in enumerate(parents):
                if v in could and v not in one and (above < 0 or above in one):
                    grown.setdefault(one | {v}, (*path, v))
        living = {
            one: grown[one] for one in sorted(grown, key=worth, reverse=True)[:beam]
        }
        for one, path in living.items():
            best = max(best, (worth(one)[0], path), key=lambda found: found[0])
    return best[0] - first, best[1]


def vine_costs(words, parents, references, kept, room, beam, plan):
    """The best recall that is known after each node that can be added, by node.

    A beam is run after each. The best of what these find and of a plan is followed
    after every node, as far as there is room. Returns it, too.
    """

    def added(nodes):
        tokens = [[words[v] for v in sorted(one)] for one in (nodes, kept)]
        return rouge_2(tokens[0], references) - rouge_2(tokens[1], references)

    found, way = {}, (added(kept | set(plan)), tuple(plan))
    for v, above in enumerate(parents):
        if v not in kept and (above < 0 or above in kept):
            after = kept | {v}
            rest, path = completion(words, parents, references, after, room - 1, beam)
            found[v] = added(after) + rest
            if found[v] > way[0] + 1e-12:
                way = found[v], (v, *path)
    for v in found:
        after = kept | {v}
        for u in way[1]:
            is_open = parents[u] < 0 or parents[u] in after
            if is_open and len(after) < len(kept) + room:
                after |= {u}
        found[v] = max(found[v], added(after))
    return found, list(way[1])


def vine_names(word, tag, relation, head_tag, follows, stem):
    """The names of a node's identities: its head comes after it, or before."""
    side = "<" if follows else ">"
    pair = f"{tag}{side}{head_tag}"
    return {
        ("word", word),
        ("stem", stem),
        ("tag", tag),
        ("relation", relation or pair),
    }
