"""Sets of words that one step may add to a summary, and the words that a word needs.

A compressed sentence is a part of its tree that hangs together. That alone inverts
meanings ("not" is a leaf), so negations, determiners, comparatives, subjects,
complements of verbs and objects of prepositions are glued to their heads: kept with
them or not at all. A conjunction and what it joins are kept together.

Words that carry the sense are glued, too: "a good time" is no "a time", "is right" is
no "is". Where they stand side by side, neighbours are glued, not heads: parsers hang
such words on others more often than taggers take them for others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from argmetric._ground.types import AnyArray, Booleans, Integers
from argmetric.search.corpus.tree_checks import check_trees
from argmetric.search.corpus.trees import Tree
from argmetric.search.summaries.cluster import Cluster

_WORD = re.compile(r"(\W*?)([$€£#]?)(\w(?:.*\w)?)(\W*)")
_CLITIC = re.compile(r"(.+)(n't|'(?:s|re|ve|ll|d|m))", re.IGNORECASE)
_MARK = re.compile(r"\.{2,}|-{2,}|\S")
_SHORT = re.compile(r"(?:[a-z]\.){2,}|(?:mr|mrs|ms|dr|prof|st|jr|sr|vs)\.", re.I)
_BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LRB-", "]": "-RRB-"}
Parse = Callable[[Sequence[Sequence[str]]], Sequence[Tree]]
_NEAR = 4  # words between a helping verb and its verb: "has not yet really been"
LONGEST = 5  # words of a span: one word makes no bigram, hence brings nothing


def words(text: str) -> frozenset[str]:
    """Return the words of a text, as a set."""
    return frozenset(text.split())


STOP_WORDS = words(
    """a about above after again all also am an and any are as at be because been before
    being below between both but by can could d did do does doing down during each few
    for from further had has have having he her here hers herself him himself his how i
    if in into is it its itself just ll m me more most my myself no nor not now of off
    on once only or other our ours ourselves out over own re s same she should so some
    such t than that the their theirs them themselves then there these they this those
    through to too under until up ve very was we were what when where which while who
    whom why will with would you your yours yourself yourselves"""
)
FIRST_PERSON = words("i me my mine myself we us our ours m ve")
PRONOUNS = FIRST_PERSON | words(
    "he she it they him her them his its their hers theirs you your yours"
)
ATTRIBUTIONS = words(
    """according added announced argued claimed claims explained noted quoted reported
    reports said says stated states suggested told"""
)
NEGATIONS = words(
    """not n't never no nor neither none nothing nobody nowhere without hardly scarcely
    barely seldom rarely aint arent cant couldnt didnt doesnt dont hadnt hasnt havent
    isnt shouldnt wasnt werent wont wouldnt"""
)
BOUNDS = words(
    "too only almost nearly unless until till except few little less least if"
)
BE = words("be am is are was were been being 's 're 'm")
HELPERS = BE | words(
    """have has had having 've 'd do does did
    get gets got getting"""
)
# Verbs that say little without their objects, all of them
LIGHT_VERBS = words(
    """do does did done have has had having make makes made making take takes took taken
    taking give gives gave given giving get gets got getting find finds found keep keeps
    kept tell tells told show shows showed offer offers offered put puts"""
)
DEGREES = words(
    """very really so too quite pretty extremely super rather fairly incredibly
    absolutely totally highly truly somewhat more most less least as such"""
)
QUANTITIES = words(
    """lot lots bit part parts kind kinds sort type types couple number piece pieces
    lack amount plenty variety selection some most all rest none one pair pairs"""
)
# Words that open a clause, which they need; those of the second set need a main one
OPENERS = words("however because whereas where which who when why how while although")
SUBORDINATORS = words("while although though because if when since unless whereas as")
# Adverbs that say nothing of a subject by themselves
_ASIDES = DEGREES | words("though however also just still either anyway ever always")


def parts_of(word: str) -> list[str]:
    """Return the parts of a white-space word as in the Penn Treebank.

    Marks, signs of money and clitics (n't, 's) are parts of their own; "cannot" is
    two words.
    """
    word = word.replace("’", "'").replace("‘", "'")
    found = _WORD.fullmatch(word)
    if found is None:  # nothing but marks
        return [_as_treebank(mark, 0) for mark in _MARK.findall(word)]
    before, money, core, after = found.groups()
    if after.startswith(".") and _SHORT.fullmatch(core + "."):
        core, after = core + ".", after[1:]
    if core.lower() == "cannot":
        parts = [core[:3], core[3:]]
    else:
        clitic = _CLITIC.fullmatch(core)
        parts = list(clitic.groups()) if clitic else [core]
    return [
        *(_as_treebank(mark, 0) for mark in _MARK.findall(before)),
        *([money] if money else []),
        *parts,
        *(_as_treebank(mark, 1) for mark in _MARK.findall(after)),
    ]


def _as_treebank(mark: str, side: int) -> str:
    """Return a mark as the treebank writes it.

    Side is 0 before a word and 1 after it.
    """
    if mark in '"“”':
        return ("``", "''")[side]
    return _BRACKETS.get(mark, mark)


# Tags of the Penn Treebank, and those of Universal Dependencies.
_VERBS = words("VB VBD VBG VBN VBP VBZ MD VERB AUX")
_NOUNS = words("NN NNS NNP NNPS PRP EX CD WP NOUN PROPN PRON NUM")
_PRONOUN_TAGS = words("PRP PRON")
_DETERMINERS = words("DT PDT PRP$ WP$ POS DET")
_PREPOSITIONS = words("IN TO ADP SCONJ")
_COMPLEMENTS = _NOUNS | words("JJ JJR JJS ADJ RP")
_SUBJECTS = _NOUNS | _PREPOSITIONS | words("WDT WRB")
_MODALS = words("MD TO")
_TO = words("TO")
_CONJUNCTIONS = words("CC CCONJ")
_ADVERBS = words("RB RBS ADV")
_COMPARATIVES = words("JJR RBR JJS")
_COMMON_NOUNS = words("NN NNS NNP NNPS NOUN PROPN")
_ADJECTIVES = words("JJ JJR JJS ADJ")
_MODIFIERS = _ADJECTIVES | words("VBN VBG CD NUM RB RBR RBS ADV")
_RELATIVES = words("WDT WP WP$ WRB")
_FINITE = words("VBD VBP VBZ MD")
# Relations of Universal Dependencies; what follows a colon is not looked at.
_RELATIONS = words(
    """nsubj csubj obj iobj ccomp xcomp aux cop det case mark expl fixed flat nummod neg
    dobj nsubjpass csubjpass auxpass"""
)


@dataclass(frozen=True, eq=False)
class Needs:
    """Words that each word cannot stand without, and the trees they come from."""

    # starts, words: word w needs words[starts[w] : starts[w + 1]]
    starts: Integers
    words: Integers
    heads: Integers  # the word that each word hangs on, -1 for none
    is_negation: Booleans  # whether a word, or a part of it, negates
    # the part of speech of each word, and its relation to its head; empty where unknown
    tags: AnyArray
    relations: AnyArray


def read_needs(cluster: Cluster, parse: Parse | None) -> Needs:
    """Parse the sentences without a tree, and return which words need which."""
    text = np.array(cluster.words, dtype=str)
    kinds, codes = np.unique(text, return_inverse=True)
    cuts = [parts_of(kind) for kind in kinds.tolist()]
    given = cluster.trees or [None] * cluster.n_sentences
    bounds = list(pairwise(cluster.sentence_starts.tolist()))
    sizes = np.array([len(parts) for parts in cuts], dtype=np.int64)[codes]
    for (a, b), tree in zip(bounds, given, strict=True):
        if tree is not None:
            sizes[a:b] = 1  # its words are the parts
    asked = [
        list(chain.from_iterable(cuts[code] for code in codes[a:b].tolist()))
        for (a, b), tree in zip(bounds, given, strict=True)
        if tree is None
    ]
    if asked and parse is None:
        raise ValueError(
            f"{cluster.name} has sentences without trees, and mode='compressed' needs "
            "them: pass documents as lists of Tree (on the command line files "
            ".conllu or .dp), or parser="
        )
    parsed: Sequence[Tree] = ()
    if asked and parse is not None:
        parsed = parse(asked)  # by whichever parser: kernels trust its trees
        check_trees(parsed, roots="any")
        if list(map(len, parsed)) != list(map(len, asked)):
            raise ValueError("the parser must give each sentence a tree of its words")
    each = iter(parsed)
    trees = [next(each) if tree is None else tree for tree in given]
    return _glue(cluster, trees, sizes)


def _glue(cluster: Cluster, trees: Sequence[Tree], sizes: Integers) -> Needs:
    """Return for each word those that have to be kept together with it."""
    from argmetric.search.kernels.summaries import word_heads

    n = cluster.n_words
    parts = _each(part.lower() for tree in trees for part in tree.words)
    tags = _each(tag for tree in trees for tag in tree.tags or [""] * len(tree))
    relations = _each(
        name.partition(":")[0]
        for tree in trees
        for name in tree.relations or [""] * len(tree)
    )
    word_of_part = np.repeat(np.arange(n), sizes)
    is_mark = ~np.array([any(map(str.isalnum, part)) for part in parts], dtype=bool)
    heads, at = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    above = np.concatenate([tree.heads for tree in trees])
    starts = np.append(0, np.cumsum([len(tree) for tree in trees]))
    word_heads(above, starts, word_of_part, is_mark, heads, at)
    # The words of a tree that was given may be "don't"
    kinds, codes = np.unique(parts, return_inverse=True)
    negative = [not NEGATIONS.isdisjoint(parts_of(kind)) for kind in kinds.tolist()]
    negates = np.array(negative, dtype=bool)[codes]
    is_negation = np.zeros(n, dtype=bool)
    is_negation[word_of_part[negates]] = True
    # The head of "n't" need not be that of the word that it is a part of.
    below = np.flatnonzero(negates & (above > 0))
    firsts = np.repeat(starts[:-1], np.diff(starts))
    negated = word_of_part[firsts[below] + above[below] - 1]
    word, has_head = np.arange(n), heads >= 0
    head = np.where(has_head, heads, 0)
    relation = relations[at]
    glued = is_negation | _among(parts[at], BOUNDS)
    glued |= np.where(
        relation != "",
        _among(relation, _RELATIONS),
        _glue_by_tags(parts[at], tags[at], head, has_head),
    )
    glued &= has_head
    # A negation and the word behind it: its scope must not become another one.
    follows = np.diff(cluster.word_sentences) == 0
    negation = np.flatnonzero(is_negation[:-1] & follows)
    is_conjunction = _among(tags[at], _CONJUNCTIONS)
    # A word that a conjunction joins hangs where that does, and is the next there
    order = np.lexsort((word, heads))
    sisters = (heads[order[:-1]] == heads[order[1:]]) & (heads[order[1:]] >= 0)
    pair = sisters & is_conjunction[order[:-1]]
    joined, conjunction = order[1:][pair], order[:-1][pair]
    # "huge but easy" may hang on "easy": what a conjunction inside of a phrase follows
    inside = is_conjunction & (head > word) & ~_among(tags[at], _VERBS)[head]
    inside &= np.append(False, follows)
    pairs = [
        (word[has_head], head[has_head]),
        (head[glued], word[glued]),
        (negated, word_of_part[below]),
        (negation + 1, negation),
        (negation, negation + 1),
        (joined, conjunction),
        (conjunction, joined),
        (word[inside], word[inside] - 1),
        *_neighbours(cluster, parts[at], tags[at], heads),
    ]
    needing, needed = (np.concatenate(one) for one in zip(*pairs, strict=True))
    order = np.argsort(needing, kind="stable")
    places = np.searchsorted(needing[order], np.arange(n + 1))
    return Needs(places, needed[order], heads, is_negation, tags[at], relation)


def _neighbours(
    cluster: Cluster, forms: AnyArray, tags: AnyArray, heads: Integers
) -> list[tuple[Integers, Integers]]:
    """Return pairs (needing, needed) of neighbouring words, by parts of speech.

    A determiner and its noun need each other, "a" and "an" all words between; what is
    before a noun that no other word governs is all that is said of it. A word of degree
    needs the next word, a conjunction or a relative what it opens.
    """
    n = len(forms)
    word = np.arange(n)
    text = np.array(cluster.words, dtype=str)
    sentence = cluster.word_sentences
    noun, determiner = _among(tags, _COMMON_NOUNS), _among(tags, _DETERMINERS)
    conjunction = _among(tags, _CONJUNCTIONS)
    has_comma = np.char.endswith(text, ",") | np.char.endswith(text, ";")
    # Noun phrases: a determiner, modifiers, nouns. `begins` marks what starts one.
    begins = np.ones(n, dtype=bool)
    begins[1:] = (
        (sentence[1:] != sentence[:-1])
        | ~(noun | _among(tags, _MODIFIERS))[1:]
        | (noun[:-1] & (~noun[1:] | has_comma[:-1]))
    )
    begins[1:] |= ~(noun | determiner | _among(tags, _MODIFIERS))[:-1]
    phrase = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    last = np.append(first[1:], n) - 1
    has_noun, opened = noun[last], determiner[first]
    opens = has_noun & opened & (last > first)
    article = opened & _among(forms[first], words("a an"))
    # A noun that nothing governs: the root, or the object of no verb, has its modifiers
    bare = has_noun & ~opened & (heads[last] < 0)
    whole = (article | bare)[phrase] & (word != last[phrase])
    # Two nouns side by side are one name: "speed limit", "dog lover"
    compound = np.append(noun[:-1] & noun[1:] & ~begins[1:], False)
    next_of = np.append(sentence[1:] == sentence[:-1], False)
    degree = _among(forms, DEGREES) & _among(tags, _ADVERBS | _COMPARATIVES)
    described = np.append(
        _among(tags, _ADJECTIVES | _ADVERBS | words("VBN"))[1:], False
    )
    opener = conjunction | _among(tags, _RELATIVES) | _among(forms, OPENERS)
    quantity = _among(forms, QUANTITIES) & np.append(forms[1:] == "of", False)
    forward = (
        next_of
        & (whole | compound | (degree & described) | opener | quantity)
        & ~has_comma
    )
    back = next_of & (whole | compound)
    starts = cluster.sentence_starts[:-1]
    # "While it rained, we slept": what follows the first comma is the main clause
    comma = np.full(cluster.n_sentences, n)
    np.minimum.at(comma, sentence[has_comma], word[has_comma])
    begun = _among(forms[starts], SUBORDINATORS) & (
        comma < cluster.sentence_starts[1:] - 1
    )
    return [
        (word[forward], word[forward] + 1),
        (word[back] + 1, word[back]),
        (first[opens], last[opens]),
        (last[opens], first[opens]),
        (starts[begun], comma[begun] + 1),
    ]


def _glue_by_tags(
    forms: AnyArray, tags: AnyArray, head: Integers, has_head: Booleans
) -> Booleans:
    """Return which words are kept with their heads, by parts of speech."""
    word = np.arange(len(head))
    is_right = word > head
    verb = _among(tags, _VERBS)
    helper = _among(forms, HELPERS)
    preposition = _among(tags, _PREPOSITIONS)
    of_verb = verb[head]
    near = is_right & (word - head <= _NEAR)
    can_complete = _among(tags, _COMPLEMENTS) | (verb & near)
    complement = of_verb & is_right & can_complete & has_head
    first = np.full(len(head), len(head))
    np.minimum.at(first, head[complement], word[complement])
    # What is said of a subject: the first word that is no adverb, or else the last one.
    of_be = near & has_head & _among(forms, BE)[head]
    is_aside = _among(forms, _ASIDES)
    rank = np.where(_among(tags, _ADVERBS), (2 + is_aside) * len(head) - word, word)
    predicate = np.full(len(head), 3 * len(head))
    np.minimum.at(predicate, head[of_be], rank[of_be])
    # A verb without an object and the preposition behind it: "getting in the way"
    has_complement = np.zeros(len(head), dtype=bool)
    has_complement[head[complement]] = True
    has_subject = np.zeros(len(head), dtype=bool)
    has_subject[head[of_verb & ~is_right & _among(tags, _SUBJECTS) & has_head]] = True
    rules = (
        _among(tags, _DETERMINERS | _COMPARATIVES),
        complement & _among(forms, LIGHT_VERBS)[head] & _among(tags, _NOUNS),
        of_verb & preposition & (word - head == 1) & ~has_complement[head],
        of_verb
        & ~is_right
        & (tags == "VBG")
        & ~has_subject[head]
        & _among(tags, _FINITE)[head],
        of_verb & ~is_right & (_among(tags, _SUBJECTS) | (verb & helper)),
        complement & ((first[head] == word) | _among(tags, _PRONOUN_TAGS)),
        near & verb & (_among(tags, _MODALS) | helper)[head],
        of_be & (predicate[head] == rank),
        of_verb & is_right & _among(tags, _TO) & (word - head <= 2),
        preposition[head] & (is_right | (_among(tags, _ADVERBS) & (head - word == 1))),
    )
    found: Booleans = np.logical_or.reduce(rules)
    return found


def _each(values: Iterable[str]) -> AnyArray:
    return np.array(list(values), dtype=str)


def _among(values: AnyArray, known: frozenset[str]) -> Booleans:
    return np.isin(values, np.array(sorted(known)))


@dataclass(frozen=True, eq=False)
class SummaryPieces:
    """Sets of words that are added whole."""

    sentences: Integers  # the sentence of each piece, in order
    # starts, words: piece c has the words words[starts[c] : starts[c + 1]]
    starts: Integers
    words: Integers

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def arrays(self) -> tuple[Integers, Integers, Integers]:
        return self.sentences, self.starts, self.words

    def words_of(self, piece: int) -> Integers:
        return self.words[self.starts[piece] : self.starts[piece + 1]]


def spans_and_needs(cluster: Cluster, needs: Needs) -> SummaryPieces:
    """Return pieces: spans of words with their needs, and whole sentences."""
    from argmetric.search.kernels.summaries import close_spans

    nothing = np.empty(0, dtype=np.int64)
    arguments = cluster.sentence_starts, needs.starts, needs.words, LONGEST
    n_pieces, n_words = close_spans(*arguments, nothing, nothing, nothing)
    starts = np.empty(n_pieces + 1, dtype=np.int64)
    words = np.empty(n_words, dtype=np.int64)
    sentences = np.empty(n_pieces, dtype=np.int64)
    close_spans(*arguments, starts, words, sentences)
    return SummaryPieces(sentences, starts, words)
