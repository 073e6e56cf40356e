"""``argmetric tag``: train, predict, evaluate, templates."""

from __future__ import annotations

import json
import sys
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from cyclopts import App

from argmetric._ground.display import Field
from argmetric._ground.whole_files import DataError
from argmetric.cli import _learning as learning
from argmetric.cli import _options as opt
from argmetric.cli._command import TRAINING_ENDINGS, Arguments, add, command, epilogue
from argmetric.cli._errors import DONE, UsageError
from argmetric.cli._report import Values, count, number
from argmetric.cli._tag_evaluate import TagTask, evaluate, read_labelled
from argmetric.cli.scores._rows import check
from argmetric.search.corpus import sentences as corpus
from argmetric.search.corpus.files import write_text
from argmetric.search.corpus.labels import CodedLabels

if TYPE_CHECKING:
    from argmetric.search import Tagger


_TIERS = "tag", "chunk"  # of the joint task, in the order of their columns
_LINES = (".jsonl", ".ndjson", ".json")


class _Task(opt.Options):
    task: TagTask = opt.REQUIRED


class _TextFormat(opt.Options, group=opt.OUTPUT):
    output_format: Literal["text", "jsonl"] | None


_OWN = _Task, _TextFormat, learning.OfTexts, learning.Recipe, opt.Text


@command(
    "task model dev encoding templates direction beam roll_in epochs memory hash_bits "
    "seed json",
    *_OWN,
    ending=TRAINING_ENDINGS,
    files={"file": opt.FilePath},
)
def train(o: Arguments) -> int:
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
    roll_in
        The histories to learn from: the true labels first and the tagger's own later,
        the true labels, the tagger's own, none.
    memory
        Whether a second pass sees the labels that the first one gave to the same word:
        not at all, in earlier sentences, or on both sides.

    Examples
    --------
    argmetric tag train chunks.train --task chunk --model chunks.tag
    argmetric tag train ner.train --task ner --dev ner.dev --model ner.tag
    """
    learning.refuse_target("tagger", o.model)
    if o.file == o.dev == "-":
        raise UsageError("only one of the files can be standard input")
    from argmetric.search import Tagger

    names = "direction", "beam", "roll_in", "epochs", "memory", "hash_bits"
    options = {**o.only(*names), "random_state": o.seed}
    try:
        Tagger(o.task, **options).recipe()
    except ValueError as error:  # options that contradict each other
        raise UsageError(str(error)) from None
    table = None if o.templates is None else _read_table(o.templates, o.task)
    known = read_labelled(o.file, o.encoding, o.task)
    held = None if o.dev is None else read_labelled(o.dev, o.encoding, o.task, known)
    tagger = Tagger(o.task, templates=table, **options)

    def answer(learned: Values) -> list[Field]:
        """Return the lines on a trained tagger."""
        recipe, joint = tagger.recipe(), o.task == "joint"
        n, most = map(_n_templates, (recipe, Tagger(**tagger.get_params()).recipe()))
        if n < most:
            learned["notes"].append(
                f"no column of parts of speech: {most - n} of {most} templates are "
                "unused"
            )
        labels = [len(kinds) for kinds in known.labels]
        nouns = ["tag", "label"] if joint else ["label"]
        kinds = " and ".join(map(count, labels, nouns))
        used = f"{n} of {o.templates or 'the recipe'}"
        remembers = f", memory {recipe['memory']}" * (recipe["memory"] != "none")
        search = f"direction {tagger.direction_}, beam {recipe['beam']}{remembers}"
        fields = [
            *_sizes(known.text),
            Field("task", o.task, "task", f"{o.task}, {kinds}"),
            Field("labels", labels),
            Field("templates", o.templates, "templates", used),
            Field("template_count", n),
            Field("direction", tagger.direction_, "search", search),
            *learning.learned_fields(recipe, learned),
        ]
        if held is None:
            return [*fields, Field("dev"), Field("dev_scores")]
        found = tagger.evaluate(held.sentences)
        fields.append(Field("dev", held.text.name))
        for name, one in found.items():
            score = f"accuracy {number(one.accuracy)}"
            if one.f1 is not None:
                score = f"F1 {number(one.f1)} (strict)"
            line = f"{f'{name} ' * joint}{score} on {held.text.name}"
            fields.append(Field(words="dev", text=line))
        scores = {name: one.to_dict() for name, one in found.items()}
        return [*fields, Field("dev_scores", scores)]

    return learning.train(
        *("tag train", "tagger", tagger, o, answer, known.sentences),
        notes=[*known.notes, *(() if held is None else held.notes)],
        dev=None if held is None else held.sentences,
        on_epoch=learning.print_epoch,
    )


def _sizes(text: corpus.PlainText | corpus.ColumnFile) -> list[Field]:
    tokens = text.tokens if isinstance(text, corpus.PlainText) else text.places
    return learning.sizes(text.name, text.n_sentences, len(tokens))


@command("", ending=TRAINING_ENDINGS, files={"task": TagTask})
def templates(o: Arguments) -> int:
    """Print the templates of a task, to be extended and passed to `train`.

    Parameters
    ----------
    task
        The task.

    Examples
    --------
    argmetric tag templates chunk
    """
    from argmetric.search import default_templates

    if o.task != "joint":
        sys.stdout.write(default_templates(o.task).lstrip())
    for name in _TIERS if o.task == "joint" else ():
        sys.stdout.write(f"[{name}]\n{default_templates(f'joint {name}').lstrip()}")
    return DONE


def _read_table(path: str, task: TagTask) -> str | dict[str, list[str]]:
    """Read and check a table; that of a joint task has a part for each tier."""
    from argmetric.search import Tagger

    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text") from None
    table = _split_tiers(text.splitlines(), path) if task == "joint" else text
    try:
        n = _n_templates(Tagger(task, templates=table).recipe())
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    if not n:
        raise DataError(f"{path} has no templates")
    return table


def _n_templates(recipe: dict[str, Any]) -> int:
    tables = recipe["templates"]
    return sum(map(len, tables.values())) if isinstance(tables, dict) else len(tables)


def _split_tiers(lines: list[str], path: str) -> dict[str, list[str]]:
    """Return the lines under ``[tag]`` and those under ``[chunk]``, by tier.

    Lines of the other tier are "" in both, so that errors give the number in the file.
    """
    heads = {f"[{name}]": name for name in _TIERS}
    parts: dict[str, list[str]] = {}
    here = None
    for i, line in enumerate(lines):
        text = line.partition("#")[0].strip()
        if text and here is None and text not in heads:
            raise DataError(
                f"{path}, line {i + 1}: templates of the joint task stand under a "
                f"line {' or '.join(heads)}"
            )
        if text in heads:
            here = heads[text]
            parts.setdefault(here, [""] * i)
        for name, part in parts.items():
            part.append(line if name == here and text not in heads else "")
    return parts


@command(
    "encoding raw output output_format json",
    *_OWN,
    opt.Summary,
    ending=TRAINING_ENDINGS,
    files={"model": opt.FilePath, "file": opt.FilePath},
)
def predict(o: Arguments) -> int:
    """Tag sentences with a tagger from `argmetric tag train`.

    The output has the input lines with the predicted tag as last column (tag and chunk
    label for a joint tagger). Empty lines and -DOCSTART- lines stay as they are. A
    summary goes to standard error.

    With --raw the file is plain text. The output marks entities, as in [PER Ana], or
    tags, as in Ana/NNP. As JSON lines it has an object for each sentence: its "text"
    and its "entities" with type, "start" and "end"; text[start:end] is the entity.

    Parameters
    ----------
    model
        The file of the tagger. It holds data only; no code is run.
    file
        The sentences, words first; - is standard input. Further columns, such as true
        labels, are ignored.
    encoding
        The encoding of input and output.
    raw
        The file is plain text, not a token on each line; sentences end with lines and
        with full stops. For a tagger that was trained on words and labels alone.
    output_format
        With --raw: "text", or "jsonl" for JSON lines. By default the ending of --output
        tells it; on standard output it is text.

    Examples
    --------
    argmetric tag predict chunks.tag chunks.test -o tagged.txt
    argmetric tag predict names.tag letter.txt --raw -o names.jsonl
    """
    target = learning.text_target(o)
    check("tag-predict", {"raw"} if o.raw else set(), o)
    from argmetric.search import Tagger

    tagger = learning.load_learned(Tagger, "tagger", o.model)
    task = tagger.task
    if task == "label":
        raise DataError(f"{o.model} is a tagger of another task, which Python runs")
    text: Any = _plain_text(o, tagger) if o.raw else _columns(o, tagger)
    sentences = text.objects() if o.raw else text.objects(text.columns)
    doing = f"tagging {len(sentences):,} sentences"
    found, seconds = learning.time_call(doing, tagger.predict, sentences)
    flat = list(chain.from_iterable(found))
    added = list(zip(*flat, strict=True)) if task == "joint" else [flat]
    columns, entities, told = [], None, ""
    if o.raw:
        tags = list(added[0]) if task in ("pos", "joint") else None
        marked = MarkedText(text, None if task == "pos" else list(added[-1]), tags)
        by_name = "jsonl" if str(o.output).lower().endswith(_LINES) else "text"
        as_lines = (o.output_format or by_name) == "jsonl"
        written = marked.as_lines() if as_lines else marked.as_text()
        if task != "pos":
            entities = len(marked.types)
            told = f"{entities:,} entities"
    else:
        columns = list(range(text.width + 1, text.width + len(added) + 1))
        written = text.with_columns(added)
    if target is not None:
        write_text(target, written, o.encoding)
    numbers = f"column{'s' * (len(columns) > 1)} {' and '.join(map(str, columns))}"
    fields = [
        *_sizes(text),
        Field("model", o.model, "model", f"{o.model}, task {task}"),
        Field("task", task),
        Field("columns", columns, "added", numbers if columns else ""),
        Field("entities", entities, "found", told),
        Field("seconds", seconds),
        Field("output", target),
    ]
    return learning.print_prediction("tag predict", o, fields)


def _columns(o: Arguments, tagger: Tagger) -> corpus.ColumnFile:
    """Read a file of tokens; one that lacks a column of the tagger is refused."""
    text: corpus.ColumnFile = learning.read_text_file(
        corpus.read_columns, o.file, o.encoding
    )
    needed = tagger.n_columns_
    if text.width < needed:
        raise DataError(
            f"{text.name}: {o.model} reads {needed} columns, words first; there "
            f"{'is 1' if text.width == 1 else f'are {text.width}'}"
        )
    labels = set(tagger.labels_[-1] if tagger.task == "joint" else tagger.labels_)
    for i in range(1, needed):
        values = set(text.columns[i])
        if values <= labels and values != {"O"}:
            raise DataError(
                f"{text.name}: column {i + 1}, which {o.model} reads to decide, "
                "holds the labels that it should find: a column seems to be missing"
            )
    return text


def _plain_text(o: Arguments, tagger: Tagger) -> corpus.PlainText:
    """Return the words of a plain text; refuse taggers that read more columns."""
    if tagger.n_columns_ > 1:
        raise DataError(
            f"{o.model} reads {tagger.n_columns_} columns, and plain text has words "
            "alone: train one on a file with words and labels"
        )
    name, text = learning.read_text_file(corpus.read_text, o.file, o.encoding)
    plain = corpus.tokenize_text(text, name)
    if not plain.tokens:
        raise DataError(f"{name} has no words")
    return plain


class MarkedText:
    """Plain text with the labels of chunks and the tags that a tagger found."""

    def __init__(
        self, plain: corpus.PlainText, labels: list[str] | None, tags: list[str] | None
    ) -> None:
        self.plain, self.tags, self.has_entities = plain, tags, labels is not None
        numbers: dict[str, int] = {}
        coded = CodedLabels.read(
            labels or ["O"] * len(plain.tokens), plain.sentences, numbers
        )
        found = coded.chunks(lenient=True)
        self.start, self.stop, known = found.start, found.stop, list(numbers)
        self.types = [known[kind] for kind in found.kind.tolist()]

    def as_text(self) -> str:
        """Return the text with each entity in brackets, or a tag behind each token."""
        text, spans = self.plain.text, self.plain.spans
        if self.has_entities:
            marks = [(f"[{kind} ", "]") for kind in self.types]
            places = np.column_stack([spans[self.start, 0], spans[self.stop - 1, 1]])
        else:
            marks, places = [("", f"/{tag}") for tag in self.tags or ()], spans
        cuts = [0, *places.ravel().tolist(), len(text)]
        parts = [text[a:b] for a, b in pairwise(cuts)]
        between = [mark for pair in marks for mark in pair] + [""]
        return "".join(part + mark for part, mark in zip(parts, between, strict=True))

    def as_lines(self) -> str:
        """Return a JSON object for each sentence; places are those in its own text."""
        spans, lines = self.plain.spans, []
        first = np.searchsorted(self.start, self.plain.sentences).tolist()
        for place, (a, b) in enumerate(pairwise(self.plain.sentences.tolist())):
            begin = int(spans[a, 0])
            text = self.plain.text[begin : int(spans[b - 1, 1])]
            found: dict[str, Any] = {"text": text, "start": begin}
            if self.tags is not None:
                found["tokens"] = [
                    {"text": text[i:j], "start": i, "end": j, "tag": tag}
                    for (i, j), tag in zip(
                        (spans[a:b] - begin).tolist(), self.tags[a:b], strict=True
                    )
                ]
            if self.has_entities:
                here = slice(first[place], first[place + 1])
                from_ = (spans[self.start[here], 0] - begin).tolist()
                to = (spans[self.stop[here] - 1, 1] - begin).tolist()
                found["entities"] = [
                    {"type": kind, "start": i, "end": j, "text": text[i:j]}
                    for i, j, kind in zip(from_, to, self.types[here], strict=True)
                ]
            lines.append(f"{json.dumps(found, ensure_ascii=False)}\n")
        return "".join(lines)


tag = App(
    name="tag",
    help="Tag text with parts of speech, chunks (or both) or named entities.\n\n"
    "Files have a line for each token, its columns separated by blanks or tabs, and an "
    "empty line behind each sentence (CoNLL).",
    help_epilogue=epilogue(
        ["argmetric tag train chunks.train --task chunk --model chunks.tag"],
        TRAINING_ENDINGS,
    ),
)
add(tag, train, predict, evaluate, templates)
