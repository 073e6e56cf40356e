"""``argmetric parse predict``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from argmetric._text.corpus.tree_writing import write_trees
from argmetric.cli import _report
from argmetric.cli._errors import DONE, UsageError, say
from argmetric.cli._options import FilePath, JsonSummary, TextTarget
from argmetric.cli._progress import progress, reading
from argmetric.cli._summary import Values
from argmetric.cli.parse._file import (
    InputFormat,
    TaggerFile,
    read_file,
    read_tagger,
    refuse_untagged,
    sentences_described,
)
from argmetric.cli.scores._rows_out import refuse_shared_output
from argmetric.cli.scores._rules import refuse_bad_target

if TYPE_CHECKING:
    from argmetric.search import Parser

_UNTAGGED = "the parser has no tagger of its own: pass --tagger FILE"


def predict(
    model: FilePath,
    file: FilePath,
    /,
    *,
    tagger: TaggerFile = None,
    format: InputFormat = None,
    output: TextTarget = None,
    json: JsonSummary = False,
) -> int:
    """Parse sentences by a parser of `argmetric parse train`.

    Lines come out as they went in, with the predicted head, and the relation if the
    parser knows relations, in the columns of these; tags only where the file had none.
    Comments, multi-word tokens, empty nodes and all other columns stay as they are. A
    summary goes to standard error.

    Parameters
    ----------
    model
        The file of the parser. Nothing in it is run.
    file
        The sentences; - is standard input. Heads that they have are not looked at. A
        parser with a tagger of its own gives them tags too.
    """
    refuse_shared_output(output, json=json)
    if model == "-":
        raise UsageError("a parser is read from a file, not from standard input")
    if output not in (None, "-"):
        refuse_bad_target(output)
    with reading(model):
        parser = _load(model)
    named = read_tagger(tagger)
    trees = read_file(file, format)
    if named is None and parser.tagger_ is None:
        refuse_untagged(trees, _UNTAGGED)
    with progress(f"parsing {len(trees):,} sentences"):
        started = time.perf_counter()
        found = parser.parse(trees, tagger=named)
        seconds = time.perf_counter() - started
    target = output if output is not None else None if json else "-"
    if target is not None:
        write_trees(target, found)
    own: Literal["file", "parser"] = "file" if parser.tagger_ is None else "parser"
    summary: Values = {
        **sentences_described(trees),
        "model": model,
        "tags": own if tagger is None else "tagger",
        "tagger": tagger,
        "relations": bool(parser.relations_),
        "seconds": seconds,
        "output": target,
    }
    if json:
        _report.print_json(summary)
        if target is None:
            say("lines not written: no --output")
    else:
        _print(summary)
    return DONE


def _load(path: str) -> Parser:
    from argmetric.search import Parser

    return Parser.load(path)


def _print(summary: Values) -> None:
    target = _report.console(stderr=True)
    labels = "heads and relations" if summary["relations"] else "heads"
    tags = {
        "file": "of the file",
        "parser": "by the parser's own tagger",
        "tagger": f"by {summary['tagger']}",
    }
    facts = [
        _report.sentences_asked(summary),
        ("model", f"{summary['model']}, {labels}"),
        ("tags", tags[summary["tags"]]),
        ("took", f"{summary['seconds']:.1f} s"),
    ]
    _report.print_facts(target, "argmetric parse predict", facts)
    _report.print_written(target, summary["output"])
