"""``argmetric parse``: train, predict, evaluate."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from argmetric._text.corpus.tree_scores import check_trees
from argmetric._text.corpus.tree_writing import write_trees
from argmetric._text.corpus.trees import Tree
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import DONE, INTERRUPTED, UsageError
from argmetric.cli._examples import TRAINING_ENDINGS
from argmetric.cli._learning import (
    Training,
    at_last,
    command_group,
    load_learned,
    refuse_two_streams,
    tell_epoch,
    text_target,
)
from argmetric.cli._progress import progress
from argmetric.cli.parse._evaluate import (
    InputFormat,
    TaggerFile,
    attachment,
    evaluate,
    read_file,
    read_tagger,
    refuse_untagged,
    score_facts,
    sentences_described,
)

if TYPE_CHECKING:
    pass


_Recipe = Parameter(group=Group("Recipe", sort_key=2))
_POSITIVE = Parameter(validator=Number(gte=1))
_NO_TAGS = "pass a tagger of them, --tagger FILE (`argmetric tag train --task pos`)"
_UNTAGGED = "the parser has no tagger of its own: pass --tagger FILE"


def train(
    file: opt.FilePath,
    /,
    *,
    model: Annotated[opt.WrittenPath, Parameter(alias="-o")],
    dev: opt.FilePath | None = None,
    tagger: TaggerFile = None,
    learn_tagger: Annotated[bool, opt.Flag] = False,
    format: InputFormat = None,
    direction: Annotated[Literal["left", "right", "both"], _Recipe] = "both",
    beam: Annotated[int, _Recipe, _POSITIVE] = 8,
    roll_in: Annotated[Literal["static", "own"], _Recipe] = "own",
    epochs: Annotated[int | None, _Recipe, _POSITIVE] = None,
    hash_bits: Annotated[
        int | None, _Recipe, Parameter(validator=Number(gte=8, lte=28))
    ] = None,
    seed: Annotated[opt.Seed, _Recipe] = 0,
    json: opt.Json = False,
) -> int:
    """Train a parser and save it to a file.

    The answer goes to standard output, a line for each epoch to standard error. Ctrl-C
    ends the training and keeps the best parser so far (exit code 130).

    Parameters
    ----------
    file
        Sentences with their trees; - is standard input. Relations are learned if the
        trees have them. A tree with crossing arcs is replaced by the nearest one
        without.
    model
        The file for the parser, and its tagger if it has one; replaced whole or not at
        all.
    dev
        Development trees; the epoch that scores best on them is kept.
    learn_tagger
        Also train a tagger on the tags of the file; the parser can then parse words
        alone.
    direction
        From where sentences are read; "both" combines two policies.
    beam
        The width of the beam; 1 is greedy search.
    roll_in
        The states to learn from: those of the true trees, or the parser's own as well.
    epochs
        Passes over the sentences, those of --learn-tagger too. [default: those of the
        recipe]
    hash_bits
        Features are hashed to 2^B rows of weights, those of --learn-tagger too.
        [default: those of the recipe]
    """
    training = Training("parser", model)
    if tagger is not None and learn_tagger:
        raise UsageError("--tagger and --learn-tagger exclude each other")
    refuse_two_streams(file, dev)
    sizes = {"epochs": epochs, "hash_bits": hash_bits}
    given: dict[str, Any] = {
        name: value for name, value in sizes.items() if value is not None
    }
    given["random_state"] = seed
    from argmetric.search import Parser, Tagger

    used = Tagger("pos", **given) if learn_tagger else read_tagger(tagger)
    trees = _learnable(read_file(file, format), tagger is not None)
    held = None
    if dev is not None:
        held = _learnable(read_file(dev, format), tagger is not None or learn_tagger)
    parser = Parser(direction=direction, beam=beam, roll_in=roll_in, **given)
    doing = f"{len(trees):,} sentences"
    options: dict[str, Any] = {"dev": held, "on_epoch": tell_epoch}
    learned = training.fit(parser, doing, [], trees, tagger=used, **options)
    if learned is None:
        return INTERRUPTED
    if parser.interrupted_:
        learned["notes"].append("interrupted: this is the best parser so far")
    summary = {
        **sentences_described(trees),
        "relations": len(parser.relations_),
        "crossing": parser.n_lifted_,
        "tags": "learned" if learn_tagger else "file" if tagger is None else "tagger",
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
        **learned,
    }
    _report.tell("parse train", summary, _train_facts, json=json)
    return INTERRUPTED if parser.interrupted_ else DONE


def _learnable(trees: list[Tree], tagged: bool) -> list[Tree]:
    """Trees to learn from or to be judged by."""
    if not tagged:
        refuse_untagged(trees, _NO_TAGS)
    check_trees(trees)
    return trees


def _train_facts(summary: _report.Values) -> _report.Facts:
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
    return facts


def predict(
    model: opt.FilePath,
    file: opt.FilePath,
    /,
    *,
    tagger: TaggerFile = None,
    format: InputFormat = None,
    output: opt.TextTarget = None,
    json: opt.JsonSummary = False,
) -> int:
    """Parse sentences with a parser from `argmetric parse train`.

    The output has the input lines with the predicted heads, and relations if the parser
    knows them. Tags are added only if the file has none. Comments, multi-word tokens,
    empty nodes and all other columns stay as they are. A summary goes to standard
    error.

    Parameters
    ----------
    model
        The file of the parser. It holds data only; no code is run.
    file
        The sentences; - is standard input. Existing heads are ignored. A parser with
        its own tagger also adds tags.
    """
    target = text_target(output, json=json)
    from argmetric.search import Parser

    parser = load_learned(Parser, "parser", model)
    named = read_tagger(tagger)
    trees = read_file(file, format)
    if named is None and parser.tagger_ is None:
        refuse_untagged(trees, _UNTAGGED)
    with progress(f"parsing {len(trees):,} sentences"):
        started = time.perf_counter()
        found = parser.parse(trees, tagger=named)
        seconds = time.perf_counter() - started
    if target is not None:
        write_trees(target, found)
    own = "file" if parser.tagger_ is None else "parser"
    summary: _report.Values = {
        **sentences_described(trees),
        "model": model,
        "tags": own if tagger is None else "tagger",
        "tagger": tagger,
        "relations": bool(parser.relations_),
        "seconds": seconds,
        "output": target,
    }
    how: dict[str, Any] = {"json": json, "stderr": True, "unwritten": "lines"}
    return _report.tell("parse predict", summary, _predict_facts, **how)


def _predict_facts(summary: _report.Values) -> _report.Facts:
    labels = "heads and relations" if summary["relations"] else "heads"
    tags = {
        "file": "of the file",
        "parser": "by the parser's own tagger",
        "tagger": f"by {summary['tagger']}",
    }
    return [
        _report.sentences_asked(summary),
        ("model", f"{summary['model']}, {labels}"),
        ("tags", tags[summary["tags"]]),
        ("took", f"{summary['seconds']:.1f} s"),
    ]


parse = command_group(
    "parse",
    "Parse sentences: the head of each word, and its relation to it.\n\n"
    "Files are CoNLL-U (.conllu), or have word, tag and head on a line (.dp), with an "
    "empty line behind each sentence; UTF-8.",
    TRAINING_ENDINGS,
    train,
    predict,
    evaluate,
)
