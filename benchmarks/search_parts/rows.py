"""Rows of a table of scores: policies of ours, roll-in controls, peers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness import Target, emit

from argmetric.search import Tagger, default_templates
from argmetric.search.tagging._recipes import DEFAULTS
from search_parts import peers
from search_parts.data import Corpus, gold_of, mean_and_error, strict_f1, timed

ROLL_INS = ("mixed", "own", "gold", "none")


@dataclass(frozen=True)
class Row:
    """One line of a table; times are CPU seconds with extraction of features."""

    name: str
    scores: tuple[float, ...]
    train_seconds: float | None = None

    @property
    def mean(self) -> float:
        return mean_and_error(self.scores)[0]

    def tell(self, section: str, target: Target = None, **details: Any) -> None:
        emit(
            section,
            self.name,
            self.mean,
            "F1, %",
            target,
            spread=mean_and_error(self.scores)[1],
            runs=[float(score) for score in self.scores],
            train_cpu_seconds=self.train_seconds,
            **details,
        )


def variant(
    tagger: Tagger, *, beam: int | None = None, sides: slice = slice(None)
) -> Tagger:
    """The same policies with another beam, or some of the directions only."""
    other = copy.copy(tagger)
    if beam is not None:
        other._options = replace(tagger._options, beam=beam)
    other._model = replace(tagger._model, sides=tagger._model.sides[sides])
    return other


LEFT = slice(0, 1)


def warm_up(task: str, train: Sequence[Any]) -> None:
    """Compile, so that no time is the compiler's."""
    tagger = Tagger(task, hash_bits=12, epochs=2).fit(train[:20])
    variant(tagger, beam=1, sides=LEFT).predict(train[:20])
    tagger.predict(train[:20])


def learn(
    task: str, corpus: Corpus, seeds: Iterable[int], **options: Any
) -> tuple[list[Tagger], float]:
    """A tagger for each seed, and the mean CPU seconds of training."""
    runs = [
        timed(lambda s=seed: Tagger(task, random_state=s, **options).fit(corpus.train))
        for seed in seeds
    ]
    return [one for one, _ in runs], mean_and_error([spent for _, spent in runs])[0]


def direction_rows(
    task: str,
    taggers: Sequence[Tagger],
    test: Sequence[Any],
    seconds: tuple[float, float],
    targets: tuple[Target, Target],
) -> None:
    """Policies from the left, and of two directions; times and targets of both."""
    for name, beam, sides, spent, target in (
        ("from the left, greedy", 1, LEFT, seconds[0], None),
        ("from the left, beam 5", 5, LEFT, seconds[0], targets[0]),
        ("two directions", 5, slice(None), seconds[1], targets[1]),
    ):
        scores = scores_of(taggers, test, beam=beam, sides=sides)
        Row(name, scores, spent).tell(task, target)


def scores_of(
    taggers: Sequence[Tagger], test: Sequence[Any], **changes: Any
) -> tuple[float, ...]:
    gold = gold_of(test)
    return tuple(
        strict_f1(gold, variant(tagger, **changes).predict(test)) for tagger in taggers
    )


def roll_in_rows(task: str, corpus: Corpus, seeds: range, **options: Any) -> None:
    """The same policy learned from other histories; greedy and with the beam."""
    usual = DEFAULTS[task].roll_in  # has its rows already
    for roll_in in (x for x in ROLL_INS if x != usual):
        how = {"direction": "left", "roll_in": roll_in, **options}
        taggers, _ = learn(task, corpus, seeds, **how)
        for beam in (1, 5):
            how = "greedy" if beam == 1 else f"beam {beam}"
            name = f"from the left, {how}, roll-in {roll_in}"
            scores = scores_of(taggers, corpus.test, beam=beam)
            Row(name, scores).tell(task)


def peer_rows(task: str, corpus: Corpus) -> None:
    """crfsuite and Vowpal Wabbit on our templates."""
    same = peers.TemplateAttributes(default_templates(task))
    train, test = corpus.train, corpus.test
    runs: dict[str, Callable[..., peers.Run]] = {
        "VW search, same templates": peers.vowpal_wabbit,
        "crfsuite L-BFGS, same templates": peers.crfsuite,
    }
    gold = gold_of(test)
    for name, call in runs.items():
        try:
            run = call(train, test, same)
        except ImportError as error:
            emit(task, f"{name}: {error.name} is not installed", None, "F1, %")
            continue
        score = strict_f1(gold, run.labels)
        Row(name, (score,), run.train_seconds).tell(task)
