"""What the commands of summaries share: how much, by what, and of which files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from argmetric.cli._encoding import OTHER_ENCODING
from argmetric.cli._errors import UsageError
from argmetric.cli._options import FRACTION, FilePath
from argmetric.cli._progress import progress
from argmetric.cli._summary import Values

if TYPE_CHECKING:
    from argmetric._text.summaries.read import ClusterFiles
    from argmetric.search import Summarizer, SummaryScores

Mode = Literal["sentences", "compressed"]

BUDGET = Group("Budget", sort_key=1)
CHOICE = Group("Choice", sort_key=2)
_AT_LEAST_ONE = Number(gte=1)

ReferencesFolder = Annotated[
    FilePath | None,
    Parameter(
        metavar="FOLDER",
        help="Where the clusters are a folder: the folder of their references. For the "
        "cluster NAME it has a folder NAME, or files such as NAME.txt or NAME.1.txt.",
    ),
]
Words = Annotated[int | None, Parameter(group=BUDGET, validator=_AT_LEAST_ONE)]
ModeOption = Annotated[Mode | None, Parameter(group=CHOICE)]
MinWords = Annotated[
    int | None,
    Parameter(
        group=CHOICE,
        validator=_AT_LEAST_ONE,
        help="No sentence of a summary has fewer words. [default: 1]",
    ),
]
Redundancy = Annotated[
    float | None,
    Parameter(
        group=CHOICE,
        validator=FRACTION,
        help="The largest share of a new sentence (words of grammar aside) "
        "that the summary may have already. [default: 1]",
    ),
]
ParserFile = Annotated[
    FilePath | None,
    Parameter(
        group=CHOICE,
        help="A parser of `argmetric parse train`; compressed summaries need one.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Budget:
    """How long a summary may be.

    Parameters
    ----------
    words
        At most so many words, as `wc -w` counts them. [default: what the model has
        learned, or 60]
    chars
        At most so many characters, in place of words.
    """

    words: Words = None
    chars: Annotated[int | None, Parameter(group=BUDGET, validator=_AT_LEAST_ONE)] = (
        None
    )

    def arguments(self) -> dict[str, Any]:
        """What `Summarizer.predict` is to be called with."""
        if self.chars is None:
            return {} if self.words is None else {"words": self.words}
        if self.words is not None:
            raise UsageError("--words and --chars exclude each other: pass one of them")
        return {"characters": self.chars}


DEFAULT_BUDGET = Budget()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Chooser:
    """What chooses the words.

    Parameters
    ----------
    model
        A summarizer of `argmetric summarize train`; nothing in it is run. By default
        what many documents say is chosen, which needs no training.
    mode
        Whole sentences, or parts of them. [default: sentences]
    """

    model: Annotated[FilePath | None, Parameter(group=CHOICE, alias="-m")] = None
    mode: ModeOption = None
    parser: ParserFile = None
    min_words: MinWords = None
    redundancy: Redundancy = None

    def summarizer(self) -> Summarizer:
        """Load the model, or make a summarizer that has learned nothing."""
        from argmetric.search import Summarizer

        if self.model is None:
            return new_summarizer(self.mode, self.parser, **self._given())
        if self.model == "-":
            raise UsageError("a summarizer is read from a file, not standard input")
        for option in ("mode", "parser"):
            if getattr(self, option) is not None:
                raise UsageError(f"--{option} is part of the model: leave it out")
        with progress(f"reading {self.model}"):
            loaded = Summarizer.load(self.model)
        return loaded.set_params(**self._given())

    def _given(self) -> dict[str, Any]:
        options = {"min_words": self.min_words, "redundancy": self.redundancy}
        return {name: value for name, value in options.items() if value is not None}


DEFAULT_CHOOSER = Chooser()


def new_summarizer(mode: Mode | None, parser: str | None, **options: Any) -> Summarizer:
    """Make a summarizer that has learned nothing."""
    from argmetric.search import Parser, Summarizer

    if mode == "compressed" and parser is None:
        raise UsageError(
            "--mode compressed cuts sentences along their parses: pass --parser, a "
            "file of argmetric parse train"
        )
    if parser is not None and mode != "compressed":
        raise UsageError("--parser is about --mode compressed: pass that too")
    loaded = None
    if parser is not None:
        with progress(f"reading {parser}"):
            loaded = Parser.load(parser)
    return Summarizer(mode or "sentences", parser=loaded, **options)


def read_training(path: str, references: str | None, encoding: str) -> ClusterFiles:
    """Read clusters with references; options that contradict the file are told."""
    from argmetric._text.summaries.read import read_labelled

    is_folder = path != "-" and os.path.isdir(path)
    if is_folder and references is None:
        raise UsageError(
            f"{path} is a folder: pass --references, that of the summaries"
        )
    if not is_folder and references is not None:
        raise UsageError(
            f"--references is about a folder of clusters; {path} is to have JSON lines "
            "with their references"
        )
    with progress(f"reading {path}"):
        return read_labelled(
            path, references, encoding=encoding, otherwise=OTHER_ENCODING
        )


def scores_of(scores: SummaryScores) -> dict[str, Values]:
    """ROUGE-1 and ROUGE-2, by name."""
    found = scores.to_dict()
    return {name: found[name] for name in ("rouge_1", "rouge_2")}


@contextmanager
def warnings_as_notes(notes: list[str]) -> Iterator[None]:
    """Collect what is warned of, to be told with the answer."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    said = (" ".join(str(warning.message).split()) for warning in caught)
    notes.extend(dict.fromkeys(said))
