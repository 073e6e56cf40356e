"""Shared parts of commands that learn: options, checks, training and output."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args

from cyclopts import Group, Parameter

from argmetric import metrics
from argmetric._ground.display import Field
from argmetric._ground.layout import Average
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Arguments
from argmetric.cli._errors import DONE, INTERRUPTED, UsageError, ends_in_order, say
from argmetric.cli._values import check_encoding, refuse_bad_target
from argmetric.cli.scores._rows import refuse_shared_output

if TYPE_CHECKING:
    from argmetric.search import Summarizer, Tagger


class OfTexts(opt.Options):
    """Options of taggers and summarizers.

    Attributes
    ----------
    encoding
        The encoding of the text.
    """

    model: Annotated[opt.WrittenPath, Parameter(alias="-o")] = opt.REQUIRED
    dev: opt.FilePath | None
    encoding: opt.Encoding = "utf-8"
    raw: bool


class Gate(opt.Options, group=opt.OUTPUT):
    """Option --fail-under of commands on texts, whose scores lie between 0 and 1."""

    fail_under: opt.Fraction


class Recipe(opt.Options, group=Group("Recipe", sort_key=2)):
    """How taggers learn.

    Attributes
    ----------
    direction
        From where sentences are read; "both" combines two policies.
    beam
        The width of the beam; 1 is greedy search.
    epochs
        Passes over the sentences.
    hash_bits
        Features are hashed to 2^B rows of weights.
    seed
        The seed of the random numbers.
    """

    direction: Literal["left", "right", "both"] | None
    beam: opt.Positive
    epochs: opt.Positive
    hash_bits: Annotated[int | None, opt.bound(gte=8, lte=28)]
    templates: opt.FilePath | None
    roll_in: Literal["mixed", "gold", "own", "none"] | None
    memory: Literal["none", "past", "both"] | None
    seed: opt.Seed = 0


Answer = TypeVar("Answer")
Loaded = TypeVar("Loaded", "Tagger", "Summarizer")


_KEYS = "beam", "memory", "hash_bits", "seed", "roll_in", "epochs", "step", "dropout"
_INTERRUPT = "learning was interrupted"  # how the warning of `fit` begins


def sizes(name: str, sentences: int, tokens: int) -> list[Field]:
    """Return how many sentences and tokens there are, of which file."""
    both = _report.count(sentences, "sentence"), _report.count(tokens, "token")
    text = f"{', '.join(both)} of {name}"
    return [
        Field("file", name, "sentences", text),
        Field("sentences", sentences),
        Field("tokens", tokens),
    ]


def learned_fields(options: dict[str, Any], learned: _report.Values) -> list[Field]:
    """Return fields on the training: options, time, and error of the last epoch."""
    wrong = [f"at last {100 * row['error']:.2f} % wrong" for row in learned["history"]]
    said = f"roll-in {options['roll_in']}", _report.count(options["epochs"], "epoch")
    text = ", ".join([*said, f"{learned['seconds']:.1f} s", *wrong[-1:]])
    options = {**options, "seed": options["random_state"]}
    fields = [Field(key, options[key]) for key in _KEYS if key in options]
    return [*fields[:-1], fields[-1]._replace(words="learned", text=text)]


def values_and_lines(
    fields: Iterable[Field],
) -> tuple[_report.Values, list[tuple[str, str]]]:
    """Return the values of fields by the keys of JSON, and the lines for people."""
    fields = list(fields)
    values = {one.key: one.value for one in fields if one.key is not None}
    lines = [(x.words, x.text) for x in fields if x.words is not None and x.text]
    return values, lines


def print_epoch(row: dict[str, Any]) -> None:
    """Print the result of an epoch."""
    score = "" if row["score"] is None else f", dev {row['score']:.4f}"
    say(
        f"{row['stage']}, epoch {row['epoch']}: {100 * row['error']:.2f} % of the "
        f"decisions wrong{score}, {row['seconds']:.1f} s"
    )


@contextlib.contextmanager
def warnings_in(notes: list[str]) -> Iterator[None]:
    """Turn warnings into notes, except that of an interrupt."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    said = (" ".join(str(warning.message).split()) for warning in caught)
    notes += [s for s in dict.fromkeys(said) if not s.startswith(_INTERRUPT)]


def train(
    command: str,
    what: str,
    model: Tagger | Summarizer,
    o: Arguments,
    answer: Callable[[_report.Values], Iterable[Field]],
    /,
    *data: Sequence[Any],
    notes: list[str],
    table: Callable[[_report.Values], _report.Table | None] | None = None,
    **how: Any,
) -> int:
    """Fit a model on data, save it, and tell; Ctrl-C keeps what was learned.

    `what` people call it. `answer` makes of how it went what the command tells before
    that; `table` makes a table of it. Warnings come behind the `notes`.
    """
    items = "clusters" if what == "summarizer" else "sentences"
    started = time.perf_counter()
    with ends_in_order(signal.SIGINT):
        try:
            with (
                _report.progress(f"training on {len(data[0]):,} {items}"),
                warnings_in(notes),
            ):
                model.fit(*data, **how)
        except KeyboardInterrupt:
            said = "interrupted before anything was learned"
            say(f"{said}: no {what} is written")
            return INTERRUPTED
        seconds = time.perf_counter() - started
        model.save(o.model)
    learned = {
        "history": model.history_,
        "interrupted": model.interrupted_,
        "seconds": seconds,
        "notes": notes,
        "model": o.model,
        "bytes": os.stat(o.model).st_size,
    }
    values, facts = values_and_lines(answer(learned))
    if model.interrupted_ and what != "summarizer":
        notes.append(f"interrupted: this is the best {what} so far")
    values |= learned
    found = None if table is None else table(values)
    _report.print_answer(command, values, facts, json=o.json, table=found)
    return INTERRUPTED if model.interrupted_ else DONE


def refuse_target(what: str, path: str) -> None:
    """Refuse a file that cannot be written before the work, not after it."""
    if path == "-":
        raise UsageError(f"a {what} is written to a file, not to standard output")
    refuse_bad_target(path)


def load_learned(kind: type[Loaded], what: str, path: str) -> Loaded:
    """Load a model of a class of `argmetric.search`, which people call `what`."""
    if path == "-":
        raise UsageError(f"a {what} is read from a file, not from standard input")
    with _report.reading(path):
        return kind.load(path)


def read_text_file(read: Callable[..., Answer], path: str, encoding: str) -> Answer:
    """Read a file of text; one in another encoding is refused with what to do."""
    check_encoding(encoding)
    with _report.reading(path):
        return read(path, encoding=encoding, otherwise=opt.OTHER_ENCODING)


def time_call(
    doing: str, call: Callable[..., Answer], *data: object, **how: object
) -> tuple[Answer, float]:
    """Return an answer and the seconds it took."""
    with _report.progress(doing):
        started = time.perf_counter()
        return call(*data, **how), time.perf_counter() - started


def text_target(o: Arguments) -> str | None:
    """Return where text is written, None for nowhere; refuse impossible targets."""
    refuse_shared_output(o.output, json=o.json)
    refuse_bad_target(o.output, stream=True)
    return None if o.output is None and o.json else o.output or "-"


def print_prediction(
    command: str, o: Arguments, fields: Iterable[Field], unwritten: str = "lines"
) -> int:
    """Print a summary of written predictions; return the exit code."""
    values, facts = values_and_lines(fields)
    facts.append(("took", f"{values['seconds']:.1f} s"))
    how: dict[str, Any] = {"json": o.json, "stderr": True, "unwritten": unwritten}
    return _report.print_answer(command, values, facts, **how)


def metric_named(
    name: str | None, zero_division: str | None, *, several: bool = False
) -> metrics.Metric:
    """Return a metric with its convention; an unknown name is wrong usage.

    `several` says whether the command takes rows with several labels.
    """
    name = name or "f1"
    if averaged := metrics.averaged_name(name):
        metric, average = averaged
        message = f"--metric {name}: pass --metric {metric}"
        if average in get_args(opt.WideAverage):
            message += (
                f" --average {average}, with --scores 'p_*' for a column per label"
                if several
                else f"; with one label there is no {average} average"
            )
        elif average == "weighted":
            message += "; there is no weighted average"
        raise UsageError(message)
    try:
        zero = None if zero_division is None else float(zero_division)
        return metrics.get_metric(name, zero_division=zero)
    except (ValueError, TypeError) as error:
        raise UsageError(metric_error(error)) from error


def class_metric(
    name: str | None, average: str | None, zero_division: str | None, n_classes: int = 2
) -> metrics.ClassMetric:
    """Return the metric of one label per row, with its convention."""
    known, given = get_args(opt.ClassAverage), name or "f1"
    both = metrics.averaged_name(given)
    name, average = both or (given, average)
    if both and average in known:
        raise UsageError(f"--metric {given}: pass --metric {name} --average {average}")
    if average not in (None, *known):
        raise UsageError(
            f"--average {average}: with --one-label it is macro or weighted"
        )
    zero = None if zero_division is None else float(zero_division)
    how: dict[str, Any] = {"average": average, "zero_division": zero}
    try:
        return metrics.get_class_metric(name, **how, n_classes=n_classes)
    except (ValueError, TypeError) as error:
        raise UsageError(metric_error(error)) from error


def metric_error(error: Exception) -> str:
    """Return a message about a metric in the words of the command line."""
    text = str(error).replace("zero_division=", "--zero-division ")
    return re.sub(r"above (\d+) pass", r"commands take up to f\1, Python also", text)


def average_of(
    average: str | None, group: str | None, *, wide: bool = False
) -> Average | None:
    """Return the average over groups or labels; None if there are none."""
    if average == "weighted":
        raise UsageError(
            "--average weighted is for one label per row: pass --one-label"
        )
    over_groups, why = average in get_args(opt.Average), ""
    if wide and over_groups:
        why = "is for groups; for several labels, pass macro, micro or samples"
    elif average is not None and not wide and not over_groups:
        why = "needs several labels: pass --scores 'p_*'"
    elif average is not None and not wide and group is None:
        why = "needs groups: pass --group COLUMN too"
    if why:
        raise UsageError(f"--average {average} {why}")
    known: Any = average or ("macro" if wide else "groups")
    return known if wide or group is not None else None
