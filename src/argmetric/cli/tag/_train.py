"""``argmetric tag train`` and ``argmetric tag templates``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from argmetric._results.whole_files import DataError
from argmetric.cli import _report
from argmetric.cli._errors import DONE, INTERRUPTED, UsageError
from argmetric.cli._learning import Training, at_last, refuse_two_streams, tell_epoch
from argmetric.cli._options import Encoding, FilePath, Json, Seed, WrittenPath
from argmetric.cli.tag._labels import (
    Labelled,
    TagTask,
    development,
    labelled,
    read_tags,
)

if TYPE_CHECKING:
    from argmetric.search import Evaluation, Tagger

TIERS = "tag", "chunk"  # of the joint task, in the order of their columns
_Recipe = Parameter(group=Group("Recipe", sort_key=2))
_POSITIVE = Parameter(validator=Number(gte=1))
_RECIPE = "roll_in", "epochs", "step", "dropout"
_DEV_SCORES = "accuracy", "precision", "recall", "f1", "unknown", "tokens"


def templates(task: TagTask, /) -> int:
    """Print the templates of a task, to be extended and passed to `train`.

    Parameters
    ----------
    task
        The task.
    """
    from argmetric.search import default_templates

    if task != "joint":
        sys.stdout.write(default_templates(task).lstrip())
        return DONE
    for name in TIERS:
        sys.stdout.write(f"[{name}]\n{default_templates(f'joint {name}').lstrip()}")
    return DONE


def read_table(path: str, task: TagTask) -> Any:
    """Read and check a table; that of a joint task has a part for each tier."""
    from argmetric.search import Tagger

    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text") from None
    table = _parts(text.splitlines(), path) if task == "joint" else text
    try:
        found = Tagger(task, templates=table).recipe()["templates"]
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    if not n_templates(found):
        raise DataError(f"{path} has no templates")
    return table


def n_templates(tables: Any) -> int:
    """How many templates a recipe has, in all tiers."""
    return sum(map(len, tables.values())) if isinstance(tables, dict) else len(tables)


def _parts(lines: list[str], path: str) -> dict[str, list[str]]:
    """Lines under ``[tag]`` and ``[chunk]``; the others empty, to keep the count."""
    heads = {f"[{name}]": name for name in TIERS}
    parts: dict[str, list[str]] = {}
    name = None
    for number, line in enumerate(lines):
        text = line.partition("#")[0].strip()
        if text in heads:
            name = heads[text]
            parts.setdefault(name, [""] * number).append("")
        elif name is not None:
            part = parts[name]
            part += [""] * (number - len(part)) + [line]
        elif text:
            raise DataError(
                f"{path}, line {number + 1}: templates of the joint task stand under a "
                f"line {' or '.join(heads)}"
            )
    return parts


def left_out(tagger: Tagger) -> list[str]:
    """A note of the recipe's templates that read a column which was not there."""
    n = n_templates(type(tagger)(**tagger.get_params()).recipe()["templates"])
    out = n - n_templates(tagger.recipe()["templates"])
    note = f"no column of parts of speech: {out} of {n} templates are unused"
    return [note] if out else []


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
    roll_in: Annotated[Literal["mixed", "gold", "own", "none"] | None, _Recipe] = None,
    epochs: Annotated[int | None, _Recipe, _POSITIVE] = None,
    memory: Annotated[Literal["none", "past", "both"] | None, _Recipe] = None,
    hash_bits: Annotated[
        int | None, _Recipe, Parameter(validator=Number(gte=8, lte=28))
    ] = None,
    seed: Annotated[Seed, _Recipe] = 0,
    json: Json = False,
) -> int:
    """Train a tagger and save it to a file.

    Omitted options take the task's defaults. The answer goes to standard output, a line
    for each epoch to standard error. Ctrl-C ends the training and keeps the best tagger
    so far (exit code 130).

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
        Development sentences with labels; the epoch that scores best on them is kept.
    templates
        A file with a template on each line; see `argmetric tag templates`.
    direction
        From where sentences are read; "both" combines two policies.
    beam
        The width of the beam; 1 is greedy search.
    roll_in
        The histories to learn from: the true labels first and the tagger's own later,
        the true labels, the tagger's own, none.
    epochs
        Passes over the sentences.
    memory
        Whether a second pass sees the labels that the first one gave to the same word:
        not at all, in earlier sentences, or on both sides.
    hash_bits
        Features are hashed to 2^B rows of weights.
    """
    training = Training("tagger", model)
    refuse_two_streams(file, dev)
    options: dict[str, Any] = {
        "direction": direction,
        "beam": beam,
        "roll_in": roll_in,
        "epochs": epochs,
        "memory": memory,
        "hash_bits": hash_bits,
        "random_state": seed,
    }
    _check(task, options)
    table = None if templates is None else read_table(templates, task)
    known = labelled(read_tags(file, encoding), task)
    held = None if dev is None else development(dev, encoding, known, task)
    from argmetric.search import Tagger

    tagger = Tagger(task, templates=table, **options)
    learned = training.fit(
        tagger,
        f"{known.text.n_sentences:,} sentences",
        [*known.notes, *(() if held is None else held.notes)],
        known.sentences,
        dev=None if held is None else held.sentences,
        on_epoch=tell_epoch,
    )
    if learned is None:
        return INTERRUPTED
    learned["notes"] += left_out(tagger)
    if tagger.interrupted_:
        learned["notes"].append("interrupted: this is the best tagger so far")
    summary = _summary(tagger, known, held, templates) | learned
    _report.tell("tag train", summary, _facts, json=json)
    return INTERRUPTED if tagger.interrupted_ else DONE


def _check(task: TagTask, options: dict[str, Any]) -> None:
    """Refuse options that contradict each other, before a file is read."""
    from argmetric.search import Tagger

    try:
        Tagger(task, **options).recipe()
    except ValueError as error:
        raise UsageError(str(error)) from None


def _summary(
    tagger: Tagger, known: Labelled, held: Labelled | None, templates: str | None
) -> _report.Values:
    recipe, text = tagger.recipe(), known.text
    judged = None
    if held is not None:
        found = tagger.evaluate(held.sentences)
        judged = {name: _dev_scores(one) for name, one in found.items()}
    return {
        "file": text.name,
        "sentences": text.n_sentences,
        "tokens": text.n_tokens,
        "task": tagger.task,
        "labels": [len(kinds) for kinds in known.labels],
        "templates": templates,
        "template_count": n_templates(recipe["templates"]),
        "direction": tagger.direction_,
        "beam": recipe["beam"],
        "memory": recipe["memory"],
        "hash_bits": recipe["hash_bits"],
        "seed": recipe["random_state"],
        **{key: recipe[key] for key in _RECIPE},
        "dev": None if held is None else held.text.name,
        "dev_scores": judged,
    }


def _dev_scores(found: Evaluation) -> _report.Values:
    return {name: getattr(found, name) for name in _DEV_SCORES}


def _facts(summary: _report.Values) -> _report.Facts:
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
            f"roll-in {summary['roll_in']}, "
            f"{_report.count(summary['epochs'], 'epoch')}, {summary['seconds']:.1f} s"
            f"{at_last(summary['history'])}",
        ),
    ]
    for name, score in (summary["dev_scores"] or {}).items():
        facts.append(("dev", _dev_text(name, score, summary)))
    return facts


def _dev_text(name: str, score: _report.Values, summary: _report.Values) -> str:
    what = f"{name} " if summary["task"] == "joint" else ""
    if score["f1"] is None:
        found = f"{what}accuracy {_report.number(score['accuracy'])}"
    else:
        found = f"{what}F1 {_report.number(score['f1'])} (strict)"
    return f"{found} on {summary['dev']}"
