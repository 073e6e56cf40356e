"""``argmetric parse train``."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from argmetric._text.corpus.tree_scores import check_trees
from argmetric._text.corpus.trees import Tree
from argmetric.cli import _report
from argmetric.cli._errors import DONE, INTERRUPTED, UsageError, say
from argmetric.cli._learning import at_last, tell_epoch, warnings_in, written_model
from argmetric.cli._options import FilePath, Flag, Json, Seed, WrittenPath
from argmetric.cli._progress import progress
from argmetric.cli._stop import ends_in_order
from argmetric.cli._summary import Values
from argmetric.cli.parse._file import (
    InputFormat,
    TaggerFile,
    read_file,
    read_tagger,
    refuse_untagged,
    sentences_described,
)
from argmetric.cli.parse._scores import attachment, score_facts
from argmetric.cli.scores._rules import refuse_bad_target

if TYPE_CHECKING:
    from argmetric.search import Parser

_Recipe = Parameter(group=Group("Recipe", sort_key=2))
_POSITIVE = Parameter(validator=Number(gte=1))
_UNTAGGED = "pass a tagger of them, --tagger FILE (`argmetric tag train --task pos`)"


def train(
    file: FilePath,
    /,
    *,
    model: Annotated[WrittenPath, Parameter(alias="-o")],
    dev: FilePath | None = None,
    tagger: TaggerFile = None,
    learn_tagger: Annotated[bool, Flag] = False,
    format: InputFormat = None,
    direction: Annotated[Literal["left", "right", "both"], _Recipe] = "both",
    beam: Annotated[int, _Recipe, _POSITIVE] = 8,
    roll_in: Annotated[Literal["static", "own", "cross"], _Recipe] = "own",
    epochs: Annotated[int | None, _Recipe, _POSITIVE] = None,
    hash_bits: Annotated[
        int | None, _Recipe, Parameter(validator=Number(gte=8, lte=28))
    ] = None,
    seed: Annotated[Seed, _Recipe] = 0,
    json: Json = False,
) -> int:
    """Train a parser, and keep it in a file.

    The answer goes to standard output; every epoch is told on standard error. Ctrl-C
    ends the training and keeps the best parser so far (exit code 130).

    Parameters
    ----------
    file
        Sentences with their trees; - is standard input. Relations are learned where
        there are some. Of a tree with crossing arcs, the nearest one without is
        learned.
    model
        The file for the parser, and its tagger if it has one; replaced whole or not at
        all.
    dev
        More trees: the best epoch on them is kept.
    learn_tagger
        Learn a tagger from the tags of the file, and the parser from the tags of such
        a tagger: words alone can be parsed then.
    direction
        From where sentences are read; "both" combines two policies.
    beam
        The width of the beam; 1 is greedy search.
    roll_in
        The states to learn from: the right ones, the parser's own too, or those of
        parsers that have not seen the sentence.
    epochs
        Passes over the sentences, those of --learn-tagger too. [default: those of the
        recipe]
    hash_bits
        Features are hashed to 2^B rows of weights, those of --learn-tagger too.
        [default: those of the recipe]
    """
    if model == "-":
        raise UsageError("a parser is written to a file, not to standard output")
    if tagger is not None and learn_tagger:
        raise UsageError("--tagger and --learn-tagger exclude each other")
    refuse_bad_target(model)
    if file == "-" and dev == "-":
        raise UsageError("only one of the files can be standard input")
    sizes = {"epochs": epochs, "hash_bits": hash_bits}
    given: dict[str, Any] = {
        name: value for name, value in sizes.items() if value is not None
    }
    options = {"direction": direction, "beam": beam, "roll_in": roll_in, **given}
    used: Any = read_tagger(tagger)
    if learn_tagger:
        from argmetric.search import Tagger

        used = Tagger("pos", random_state=seed, **given)
    trees = _learnable(read_file(file, format), tagger is not None)
    held = None
    if dev is not None:
        held = _learnable(read_file(dev, format), tagger is not None or learn_tagger)
    run = _Run(trees, held)
    with ends_in_order(signal.SIGINT):
        try:
            with progress(f"training on {len(trees):,} sentences"):
                parser = run.fit(used, {**options, "random_state": seed})
        except KeyboardInterrupt:
            say("interrupted before anything was learned: no parser is written")
            return INTERRUPTED
        parser.save(model)
        summary = run.summary(parser, learn_tagger, tagger, model)
    if json:
        _report.print_json(summary)
    else:
        _print(summary)
    return INTERRUPTED if parser.interrupted_ else DONE


def _learnable(trees: list[Tree], tagged: bool) -> list[Tree]:
    """Trees to learn from or to be judged by."""
    if not tagged:
        refuse_untagged(trees, _UNTAGGED)
    check_trees(trees)
    return trees


@dataclass(eq=False)
class _Run:
    """A training, told while it runs."""

    trees: list[Tree]
    held: list[Tree] | None
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def fit(self, tagger: Any, options: dict[str, Any]) -> Parser:
        from argmetric.search import Parser

        parser = Parser(**options)
        started = time.perf_counter()
        with warnings_in(self.notes):
            parser.fit(self.trees, tagger=tagger, dev=self.held, on_epoch=tell_epoch)
        self.seconds = time.perf_counter() - started
        if parser.interrupted_:
            self.notes.append("interrupted: this is the best parser so far")
        return parser

    def summary(
        self, parser: Parser, learned: bool, tagger: str | None, model: str
    ) -> Values:
        held = self.held
        return {
            **sentences_described(self.trees),
            "relations": len(parser.relations_),
            "crossing": parser.n_lifted_,
            "tags": "learned" if learned else "file" if tagger is None else "tagger",
            "tagger": tagger,
            "direction": parser.direction_,
            "beam": parser.beam,
            "hash_bits": parser.hash_bits,
            "seed": parser.random_state,
            "roll_in": parser.roll_in,
            "epochs": parser.epochs,
            "step": parser.step,
            "dropout": parser.dropout,
            "dev": None if held is None else held[0].file,
            "dev_scores": None if held is None else attachment(parser.evaluate(held)),
            "history": parser.history_,
            "interrupted": parser.interrupted_,
            "seconds": self.seconds,
            "notes": self.notes,
            "model": model,
            "bytes": os.stat(model).st_size,
        }


def _print(summary: Values) -> None:
    target = _report.console(stderr=False)
    tags = {
        "file": "of the file",
        "tagger": f"by {summary['tagger']}, which the parser keeps",
        "learned": "by a tagger that was learned beside, which the parser keeps",
    }
    facts = [
        _report.sentences_asked(summary),
        (
            "relations",
            _report.count(summary["relations"]) if summary["relations"] else "none",
        ),
        ("tags", tags[summary["tags"]]),
        ("search", f"direction {summary['direction']}, beam {summary['beam']}"),
        (
            "learned",
            f"roll-in {summary['roll_in']}, {_report.count(summary['epochs'], 'epoch')}"
            f", {summary['seconds']:.1f} s{at_last(summary['history'])}",
        ),
    ]
    if summary["dev_scores"] is not None:
        facts.append(("dev", f"scores on {summary['dev']}:"))
        facts += score_facts(summary["dev_scores"])
    _report.print_facts(target, "argmetric parse train", facts)
    _report.print_notes(target, "note", summary["notes"])
    written = written_model(summary["model"], summary["bytes"])
    _report.print_notes(target, "written", [written])
