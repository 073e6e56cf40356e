"""Lists of English words: of grammar, pronouns, verbs that tell who said something."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
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
