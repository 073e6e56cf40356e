"""``argmetric tag train``."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from argmetric.cli import _report
from argmetric.cli._encoding import Encoding
from argmetric.cli._errors import DONE, INTERRUPTED, UsageError, say
from argmetric.cli._learning import at_last, tell_epoch, warnings_in, written_model
from argmetric.cli._options import FilePath, Json, Seed, WrittenPath
from argmetric.cli._progress import progress
from argmetric.cli._stop import ends_in_order
from argmetric.cli._summary import Values
from argmetric.cli.scores._rules import refuse_bad_target
from argmetric.cli.tag._corpus import Labelled, development, labelled
from argmetric.cli.tag._file import read_tags
from argmetric.cli.tag._labels import TagTask
from argmetric.cli.tag._templates import left_out, n_templates, read_table

if TYPE_CHECKING:
    from argmetric.search import Evaluation, Tagger

_Recipe = Parameter(group=Group("Recipe", sort_key=2))
_POSITIVE = Parameter(validator=Number(gte=1))


def train(
    file: FilePath,
    /,
    *,
    task: TagTask,
    model: Annotated[WrittenPath, Parameter(alias="-o")],
    dev: FilePath | None = None,
    encoding: Encoding = "utf-8",
    templates: Annotated[FilePath | None, _Recipe] = None,
    direction: Annotated[Literal["left", "right", "both"] | None, _Recipe] = None,
    beam: Annotated[int | None, _Recipe, _POSITIVE] = None,
    learner: Annotated[Literal["logistic", "perceptron", "svm"], _Recipe] = "logistic",
    roll_in: Annotated[Literal["mixed", "gold", "own", "none"] | None, _Recipe] = None,
    costs: Annotated[Literal["zero-one", "regret"] | None, _Recipe] = None,
    epochs: Annotated[int | None, _Recipe, _POSITIVE] = None,
    memory: Annotated[Literal["none", "past", "both"] | None, _Recipe] = None,
    hash_bits: Annotated[
        int | None, _Recipe, Parameter(validator=Number(gte=8, lte=28))
    ] = None,
    seed: Annotated[Seed, _Recipe] = 0,
    json: Json = False,
) -> int:
    """Train a tagger, and keep it in a file.

    Options left out are those of the task's recipe, which is the best one found. The
    answer goes to standard output; every epoch is told on standard error. Ctrl-C ends
    the training and keeps the best tagger so far (exit code 130).

    Parameters
    ----------
    file
        Labelled sentences; - is standard input. Words come first and the label last;
        for "chunk" and "ner", a part of speech second if there is one; for "joint",
        the tag is the last but one.
    task
        Chunks or named entities (labels of IOB2; IOB1 is converted), parts of speech,
        or a part of speech and a chunk label together.
    model
        The file for the tagger, replaced whole or not at all.
    dev
        More labelled sentences: the best epoch on them is kept.
    templates
        A file with a template on each line; see `argmetric tag templates`.
    direction
        From where sentences are read; "both" combines two policies.
    beam
        The width of the beam; 1 is greedy search.
    learner
        Logistic regression, averaged perceptron or hinge loss.
    roll_in
        The histories to learn from: the right ones first and the tagger's own later,
        the right ones, the tagger's own, none.
    costs
        Every wrong decision costs the same, or what it loses in F1 of chunks.
    epochs
        Passes over the sentences.
    memory
        Whether a second pass knows how a first one labelled the same word in earlier
        sentences, or in sentences on both sides.
    hash_bits
        Features are hashed to 2^B rows of weights.
    """
    if model == "-":
        raise UsageError("a tagger is written to a file, not to standard output")
    refuse_bad_target(model)
    if file == "-" and dev == "-":
        raise UsageError("only one of the files can be standard input")
    options: dict[str, Any] = {
        "direction": direction,
        "beam": beam,
        "learner": learner,
        "roll_in": roll_in,
        "costs": None if costs is None else costs.replace("-", "_"),
        "epochs": epochs,
        "memory": memory,
        "hash_bits": hash_bits,
        "random_state": seed,
    }
    _check(task, options)
    table = None if templates is None else read_table(templates, task)
    known = labelled(read_tags(file, encoding), task)
    held = None if dev is None else development(dev, encoding, known, task)
    notes = [*known.notes, *(() if held is None else held.notes)]
    run = _Run(known, held, notes)
    with ends_in_order(signal.SIGINT):
        try:
            with progress(f"training on {known.text.n_sentences:,} sentences"):
                tagger = run.fit(task, table, options)
        except KeyboardInterrupt:
            say("interrupted before anything was learned: no tagger is written")
            return INTERRUPTED
        tagger.save(model)
        summary = run.summary(tagger, task, templates, model)
    if json:
        _report.print_json(summary)
    else:
        _print(summary)
    return INTERRUPTED if tagger.interrupted_ else DONE


def _check(task: TagTask, options: dict[str, Any]) -> None:
    """Refuse options that contradict each other, before a file is read."""
    from argmetric.search import Tagger

    try:
        Tagger(task, **options).recipe()
    except ValueError as error:
        raise UsageError(str(error)) from None


@dataclass(eq=False)
class _Run:
    """A training, told while it runs."""

    known: Labelled
    held: Labelled | None
    notes: list[str]
    seconds: float = 0.0

    def fit(self, task: TagTask, table: Any, options: dict[str, Any]) -> Tagger:
        from argmetric.search import Tagger

        tagger = Tagger(task, templates=table, **options)
        started = time.perf_counter()
        with warnings_in(self.notes):
            dev = None if self.held is None else self.held.sentences
            tagger.fit(self.known.sentences, dev=dev, on_epoch=tell_epoch)
        self.seconds = time.perf_counter() - started
        self.notes += left_out(tagger)
        if tagger.interrupted_:
            self.notes.append("interrupted: this is the best tagger so far")
        return tagger

    def summary(
        self, tagger: Tagger, task: TagTask, templates: str | None, model: str
    ) -> Values:
        recipe, text = tagger.recipe(), self.known.text
        judged: dict[str, Values] | None = None
        if self.held is not None:
            found = tagger.evaluate(self.held.sentences)
            judged = {name: _dev_scores(one) for name, one in found.items()}
        labels = self.known.labels
        return {
            "file": text.name,
            "sentences": text.n_sentences,
            "tokens": text.n_tokens,
            "task": task,
            "labels": [len(kinds) for kinds in labels],
            "templates": templates,
            "template_count": n_templates(recipe["templates"]),
            "direction": tagger.direction_,
            "beam": recipe["beam"],
            "memory": recipe["memory"],
            "hash_bits": recipe["hash_bits"],
            "seed": recipe["random_state"],
            "learner": recipe["learner"],
            "costs": recipe["costs"],
            "roll_in": recipe["roll_in"],
            "epochs": recipe["epochs"],
            "step": recipe["step"],
            "dropout": recipe["dropout"],
            "dev": None if self.held is None else self.held.text.name,
            "dev_scores": judged,
            "history": tagger.history_,
            "interrupted": tagger.interrupted_,
            "seconds": self.seconds,
            "notes": self.notes,
            "model": model,
            "bytes": os.stat(model).st_size,
        }


def _dev_scores(found: Evaluation) -> Values:
    return {
        "accuracy": found.accuracy,
        "precision": found.precision,
        "recall": found.recall,
        "f1": found.f1,
        "unknown": found.unknown,
        "tokens": found.tokens,
    }


def _print(summary: Values) -> None:
    target = _report.console(stderr=False)
    kinds = [_report.count(n, "label") for n in summary["labels"]]
    if summary["task"] == "joint":
        kinds[0] = _report.count(summary["labels"][0], "tag")
    remembers = "" if summary["memory"] == "none" else f", memory {summary['memory']}"
    facts = [
        _report.sentences_asked(summary),
        ("task", f"{summary['task']}, {' and '.join(kinds)}"),
        (
            "templates",
            f"{summary['template_count']} of {summary['templates'] or 'the recipe'}",
        ),
        (
            "search",
            f"direction {summary['direction']}, beam {summary['beam']}{remembers}",
        ),
        (
            "learned",
            f"{summary['learner']}, roll-in {summary['roll_in']}, costs "
            f"{summary['costs'].replace('_', '-')}, "
            f"{_report.count(summary['epochs'], 'epoch')}, {summary['seconds']:.1f} s"
            f"{at_last(summary['history'])}",
        ),
    ]
    for name, score in (summary["dev_scores"] or {}).items():
        facts.append(("dev", _dev_text(name, score, summary)))
    _report.print_facts(target, "argmetric tag train", facts)
    _report.print_notes(target, "note", summary["notes"])
    written = written_model(summary["model"], summary["bytes"])
    _report.print_notes(target, "written", [written])


def _dev_text(name: str, score: Values, summary: Values) -> str:
    what = f"{name} " if summary["task"] == "joint" else ""
    if score["f1"] is None:
        found = f"{what}accuracy {_report.number(score['accuracy'])}"
    else:
        found = f"{what}F1 {_report.number(score['f1'])} (strict)"
    return f"{found} on {summary['dev']}"
