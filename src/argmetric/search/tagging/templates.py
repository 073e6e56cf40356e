"""Feature templates of tokens, which users can extend, and rows of features."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_count, shown
from argmetric._ground.types import Integers
from argmetric.search.kernels.tagging_features import FeatureRows
from argmetric.search.learning import (
    Column,
    one_a_line,
    reversal,
    salt_of,
    template_texts,
)

_WORD_PAIRS = "w[-2]|w[-1] w[-1]|w[0] w[0]|w[1] w[1]|w[2] w[-1]|w[1]"
_ENDS_BESIDE = "suffix2[-1] suffix3[-1] suffix2[1] suffix3[1]"
_LABEL_AND_WORD = "t[-1]|w[0] t[-1]|w[-1] t[-1]|w[1]"
_PART = re.compile(r"([a-z]+)(\d*)\[([+-]?\d+)\]")
_WORD = ("w", "lower", "norm", "shape", "case")
_AFFIX = ("prefix", "suffix")
_FARTHEST = 20
MEMORY = "memory"


def _near(part: str, reach: int) -> str:
    """Return templates of a part of tokens at offsets -reach to reach."""
    return "\n".join(f"{part}[{i}]" for i in range(-reach, reach + 1))


def _ends(part: str, longest: int) -> str:
    """Return first or last letters of the token, one to `longest` of them."""
    return "\n".join(f"{part}{n}[0]" for n in range(1, longest + 1))


def _labels(most: int) -> str:
    """Return the last label, the last two, up to `most` of them."""
    back = [f"t[-{n}]" for n in range(most, 0, -1)]
    return "\n".join("|".join(back[-n:]) for n in range(1, most + 1))


_CHUNK = one_a_line(f"""
bias
# words
{_near("w", 2)} {_near("lower", 1)} {_WORD_PAIRS}
# forms
{_ends("prefix", 4)} {_ends("suffix", 4)} {_ENDS_BESIDE} {_near("shape", 1)}
# parts of speech
{_near("pos", 3)} pos[-2]|pos[-1] pos[-1]|pos[0] pos[0]|pos[1] pos[1]|pos[2]
pos[-1]|pos[1] pos[-2]|pos[-1]|pos[0] pos[-1]|pos[0]|pos[1] pos[0]|pos[1]|pos[2]
pos[-2]|pos[-1]|pos[0]|pos[1] pos[-1]|pos[0]|pos[1]|pos[2]
pos[-2]|pos[-1]|pos[0]|pos[1]|pos[2] pos[1]|pos[2]|pos[3]
# words with parts of speech
w[0]|pos[0] w[0]|pos[-1] w[0]|pos[1] w[-1]|pos[0] w[1]|pos[0] w[0]|pos[-1]|pos[0]
w[0]|pos[0]|pos[1] w[0]|pos[-1]|pos[1] w[-1]|pos[-1]|pos[0] w[1]|pos[0]|pos[1]
w[2]|pos[0]|pos[1]
# labels before
{_labels(3)} {_LABEL_AND_WORD} t[-1]|pos[0] t[-1]|pos[1] t[-1]|pos[-1]|pos[0]
t[-1]|pos[0]|pos[1] t[-1]|pos[-1]|pos[0]|pos[1] t[-1]|pos[0]|pos[1]|pos[2]
t[-1]|suffix3[0] t[-1]|w[-1]|w[0] t[-1]|w[0]|w[1] t[-2]|t[-1]|w[0] t[-2]|t[-1]|pos[0]
t[-2]|t[-1]|pos[0]|pos[1] t[-2]|t[-1]|pos[-1]|pos[0]
""")

_NER = one_a_line(f"""
bias
# words
{_near("w", 2)} {_near("lower", 3)} w[-1]|w[0] w[0]|w[1] lower[-2]|lower[-1]
lower[-1]|lower[1] lower[1]|lower[2] lower[-1]|lower[0]|lower[1]
# forms
{_ends("prefix", 5)} {_ends("suffix", 5)} prefix3[-1] suffix3[-1] prefix3[1]
suffix3[1] {_near("shape", 2)} shape[-1]|shape[0] shape[0]|shape[1]
shape[-1]|shape[0]|shape[1] case[-2]|case[-1]|case[0]|case[1]|case[2]
lower[-1]|case[0] lower[-2]|case[0] lower[1]|case[0] lower[-1]|shape[0]
case[-1]|lower[0] case[1]|lower[0]
# parts of speech
{_near("pos", 2)} pos[-1]|pos[0] pos[0]|pos[1] pos[-1]|pos[0]|pos[1]
# memory of the same word elsewhere, where the tagger keeps one
memory[0] memory[-1] memory[1] memory[0]|case[0] memory[-1]|memory[0]
memory[0]|memory[1]
# labels before
{_labels(6)} t[-1]|w[0] t[-1]|lower[0] t[-1]|lower[-1] t[-1]|lower[1]
t[-1]|lower[-1]|lower[0] t[-1]|shape[0] t[-1]|case[0]|case[1] t[-1]|shape[-1]|shape[0]
t[-1]|pos[0] t[-1]|pos[0]|pos[1] t[-1]|suffix3[0] t[-2]|t[-1]|lower[0]
t[-2]|t[-1]|shape[0] t[-2]|t[-1]|lower[-1] t[-1]|memory[0]
""")

_POS = one_a_line(f"""
bias {_near("w", 2)} lower[0] w[-1]|w[0] w[0]|w[1] w[-1]|w[1] {_ends("prefix", 4)}
{_ends("suffix", 5)} {_ENDS_BESIDE} {_near("shape", 1)} case[0]|suffix2[0]
{_labels(3)} {_LABEL_AND_WORD} t[-1]|suffix3[0] t[-2]|t[-1]|w[0]
t[-1]|suffix2[0]|suffix2[1]
""")

_LABEL = f"\n{_labels(6)}\n"

# Tiers of the joint task take turns: tag, chunk, tag, chunk, ...
_JOINT_TAG = _POS + one_a_line("""
chunk[-1] chunk[-1]|t[-1] chunk[-1]|w[0] chunk[-1]|t[-1]|w[0] chunk[-1]|suffix3[0]
chunk[-2]|chunk[-1]|t[-1]
""")

_JOINT_CHUNK = one_a_line(f"""
bias {_near("w", 2)} lower[0] {_WORD_PAIRS} prefix2[0] prefix3[0] suffix2[0]
suffix3[0] suffix2[1] suffix3[1] suffix3[2] {_near("shape", 1)} suffix2[0]|suffix2[1]
suffix3[0]|suffix3[1]
# labels before
{_labels(3)} {_LABEL_AND_WORD} t[-1]|w[-1]|w[0] t[-1]|w[0]|w[1] t[-2]|t[-1]|w[0]
# tags: at this token, and crossing
tag[0] tag[-1] tag[-2] tag[-1]|tag[0] tag[-2]|tag[-1] tag[-2]|tag[-1]|tag[0]
t[-1]|tag[0] t[-1]|tag[-1] t[-1]|tag[-1]|tag[0] t[-2]|t[-1]|tag[0]
t[-2]|t[-1]|tag[-1]|tag[0] t[-1]|tag[-2]|tag[-1]|tag[0] tag[0]|w[0] tag[0]|w[1]
tag[0]|w[-1] tag[0]|suffix3[1] tag[0]|suffix2[1]|suffix2[2] tag[-1]|tag[0]|w[0]
tag[-1]|tag[0]|w[1] tag[-1]|tag[0]|suffix2[1] t[-1]|tag[0]|w[0] t[-1]|tag[0]|w[1]
t[-1]|tag[0]|suffix2[1] t[-1]|tag[0]|suffix3[1] t[-1]|tag[-1]|tag[0]|suffix2[1]
""")

TABLES = {
    "chunk": _CHUNK,
    "ner": _NER,
    "pos": _POS,
    "label": _LABEL,
    "joint tag": _JOINT_TAG,
    "joint chunk": _JOINT_CHUNK,
}


@dataclass(frozen=True)
class Template:
    """A conjunction of attributes of tokens near by, and of labels decided before."""

    text: str  # as it was written, such as ``"t[-1]|w[0]"``
    parts: tuple[tuple[str, int], ...]  # what it reads from the text
    # what it reads from the labels; empty for a static template
    labels: tuple[tuple[str, int], ...]


def default_templates(task: str, *, n_columns: int | None = None) -> str:
    r"""Return the default templates of a task, one per line.

    Parameters
    ----------
    task : {"chunk", "ner", "pos", "label", "joint tag", "joint chunk"}
        The task, or a tier of the joint task.
    n_columns : int, optional
        Return only the templates that need no more than this number of columns.

    Returns
    -------
    str
        The table.

    Examples
    --------
    A table with one line more:

    >>> from argmetric.search import Tagger, default_templates
    >>> tagger = Tagger("chunk", templates=default_templates("chunk") + "w[-3]\n")
    """
    if not isinstance(task, str) or task not in TABLES:
        raise ValueError(
            f"no templates for the task {shown(task)}: there are {', '.join(TABLES)}"
        )
    if n_columns is None:
        return TABLES[task]
    most = check_count(n_columns, "n_columns", low=1)
    found = []
    for line in TABLES[task].splitlines(keepends=True):
        parts = _PART.findall(line.partition("#")[0])
        names = [name + size for name, size, _ in parts if _is_known(name, size)]
        if all((column_of(name) or 0) < most for name in names):
            found.append(line)
    return "".join(found)


def read_templates(
    table: str | Iterable[str], tiers: Sequence[str] = ("t",)
) -> tuple[Template, ...]:
    """Read templates: text with one template per line, or a list of them.

    ``|`` joins parts, ``#`` starts a comment. ``t[-1]`` is the label before in the same
    tier; parts with a tier's name read that tier.
    """
    texts = template_texts(table)
    found = {text: _read(text, number, tiers) for number, text in texts}
    return tuple(found.values())


def _read(text: str, number: int, tiers: Sequence[str]) -> Template:
    """Return the template of a text such as ``w[0]|t[-1]``; errors name its number."""
    parts, labels = [], []
    for piece in text.split("|"):
        if piece == "bias":
            continue
        match = _PART.fullmatch(piece)
        if match is None:
            raise ValueError(
                f"template {number}: {piece!r} is no part of a template; write for "
                "instance 'w[0]', 'suffix3[-1]', 'pos[0]|pos[1]', 't[-1]|w[0]'"
            )
        name, size, offset = match[1], match[2], int(match[3])
        if abs(offset) > _FARTHEST:
            raise ValueError(f"template {number}: {piece!r} reaches too far")
        if (name == "t" or name in tiers) and not size:
            labels.append((name, offset))
            if name == "t" and offset >= 0:
                raise ValueError(f"template {number}: {piece!r} is not decided yet")
        elif _is_known(name, size):
            parts.append((name + size, offset))
        else:
            raise ValueError(
                f"template {number}: there is no attribute {name + size!r}; there are "
                f"{', '.join(_WORD)}, prefixN, suffixN, pos, posN, columnN, {MEMORY}, "
                f"and the labels {', '.join(dict.fromkeys(['t', *tiers]))}"
            )
    return Template(text, tuple(parts), tuple(labels))


def _is_known(name: str, size: str) -> bool:
    """Return whether a template has this name, with or without a size."""
    if name in _WORD or name == MEMORY:
        return not size
    if name in (*_AFFIX, "column"):
        return bool(size)
    return name == "pos"


def column_of(attribute: str) -> int | None:
    """Return the column that an attribute is computed from; None for the memory."""
    if attribute == MEMORY:
        return None
    if attribute.startswith("column"):
        return int(attribute[6:])
    return 1 if attribute.startswith("pos") else 0


class TemplateArrays(NamedTuple):
    """Templates as arrays: parts of template j are parts[j]..parts[j+1]."""

    columns: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    parts: npt.NDArray[np.int64]
    salts: npt.NDArray[np.uint64]
    tiers: npt.NDArray[np.int64]

    @property
    def widest(self) -> int:
        """Return the largest number of templates of a tier."""
        return int(np.diff(self.tiers).max(initial=0))


def compile_templates(
    tables: Sequence[Sequence[Template]], attributes: Sequence[str]
) -> TemplateArrays:
    """Return arrays for the kernels, from a list of templates for each tier."""
    flat = [template for table in tables for template in table]
    number = {name: i for i, name in enumerate(attributes)}
    parts = [part for template in flat for part in template.parts]
    salts = [salt_of(template.text) for template in flat]
    return TemplateArrays(
        np.array([number[name] for name, _ in parts], dtype=np.int64),
        np.array([offset for _, offset in parts], dtype=np.int64),
        np.cumsum([0, *(len(t.parts) for t in flat)]).astype(np.int64),
        np.array(salts, dtype=np.uint64),
        np.cumsum([0, *map(len, tables)]).astype(np.int64),
    )


def lags(template: Template, tier: int, tiers: Sequence[str]) -> list[int]:
    """Return how many decisions lie between each label of a template and now."""
    found = []
    for name, offset in template.labels:
        other = tier if name == "t" else list(tiers).index(name)
        lag = tier - other - len(tiers) * offset
        if lag < 1:
            raise ValueError(
                f"template {template.text!r}: {name}[{offset}] is not decided yet "
                f"when the label of tier {tiers[tier]!r} is"
            )
        found.append(lag)
    return found


Memory = Literal["none", "past", "both"]
_WINDOW = 2000


class Extractor:
    """Features of texts by the templates of each tier, hashed to 2**hash_bits rows."""

    def __init__(self, tables: Sequence[Sequence[Template]], hash_bits: int) -> None:
        self.hash_bits = hash_bits
        names = {n: None for t in tables for x in t for n, _ in x.parts}
        self._columns: dict[int, list[str]] = {}
        for name in names:
            column = column_of(name)
            if column is not None:
                self._columns.setdefault(column, []).append(name)
        order = [name for group in self._columns.values() for name in group]
        self.uses_memory = MEMORY in names
        if self.uses_memory:
            order.append(MEMORY)
        self._makers = {c: Column(group) for c, group in self._columns.items()}
        self._static = compile_templates(
            [[x for x in t if not x.labels] for t in tables], order
        )
        self._history = compile_templates(
            [[x for x in t if x.labels] for t in tables], order
        )

    @property
    def n_columns(self) -> int:
        """Return how many columns of text the templates need."""
        return max(self._columns, default=0) + 1

    def attributes(
        self, columns: Sequence[Sequence[str]], n_tokens: int
    ) -> npt.NDArray[np.uint32]:
        """Return codes of the attributes of every token, the memory's column last."""
        if n_tokens == 0:  # of no token, nobody knows how many columns it has
            columns = [()] * self.n_columns
        blocks = [self._makers[c].codes(columns[c]) for c in self._columns]
        memory = np.zeros((n_tokens, int(self.uses_memory)), dtype=np.uint32)
        return np.concatenate([*blocks, memory], axis=1)

    def rows(
        self, attributes: npt.NDArray[np.uint32], sentences: Integers
    ) -> FeatureRows:
        """Return features of the tokens of all sentences, concatenated."""
        from argmetric.search.kernels.tagging_features import hash_halves

        found = hashed_rows(attributes, sentences, self._static, self.hash_bits)
        shape = len(found.indptr) - 1, self._history.widest
        halves = np.zeros(shape, dtype=np.uint64)
        hash_halves(attributes, sentences, tuple(self._history), halves)
        return found._replace(halves=halves)


def hashed_rows(
    attributes: npt.NDArray[np.uint32],
    sentences: Integers,
    templates: TemplateArrays,
    hash_bits: int,
) -> FeatureRows:
    """Return static features of every decision, hashed to 2**hash_bits rows."""
    from argmetric.search.kernels.tagging_features import hash_rows

    n, n_tiers = int(sentences[-1]), len(templates.tiers) - 1
    indptr = np.zeros(n * n_tiers + 1, dtype=np.int64)
    indices = np.empty(n * len(templates.salts), dtype=np.int32)
    shift = np.uint64(64 - hash_bits)
    used = hash_rows(attributes, sentences, tuple(templates), shift, indptr, indices)
    nothing = np.empty(0, np.float32), np.empty((n * n_tiers, 0), np.uint64)
    return FeatureRows(indptr, indices[:used], *nothing, sentences * n_tiers)


@dataclass(frozen=True, eq=False)
class TextSource:
    """Attributes of the tokens of sentences, read in either direction."""

    extractor: Extractor
    attributes: npt.NDArray[np.uint32]
    sentences: Integers

    def rows(self, *, reverse: bool = False) -> FeatureRows:
        found = self.attributes
        if reverse:
            found = found[reversal(self.sentences)]
        return self.extractor.rows(found, self.sentences)

    def with_memory(self, memory: npt.NDArray[np.uint32]) -> TextSource:
        """Return these attributes, with the memory's column filled in."""
        attributes = self.attributes.copy()
        attributes[:, -1] = memory
        return TextSource(self.extractor, attributes, self.sentences)


@dataclass(frozen=True, eq=False)
class MatrixSource:
    """Decisions as the rows of a CSR matrix."""

    X: Any
    sentences: Integers
    salts: npt.NDArray[np.uint64]

    def rows(self, *, reverse: bool = False) -> FeatureRows:
        """Return the rows of the matrix as features of tokens."""
        X = self.X[reversal(self.sentences)] if reverse else self.X
        ones = bool((X.data == 1).all())
        values = np.empty(0, np.float32) if ones else X.data.astype(np.float32)
        shape = X.shape[0], len(self.salts)
        return FeatureRows(
            X.indptr.astype(np.int64),
            X.indices.astype(np.int32),
            values,
            np.ascontiguousarray(np.broadcast_to(self.salts, shape)),
            self.sentences,
        )


Source = TextSource | MatrixSource


def history_salts(templates: Sequence[Template]) -> npt.NDArray[np.uint64]:
    """Return the constant halves of templates that read only labels."""
    for template in templates:
        if template.parts or not template.labels:
            raise ValueError(
                f"template {template.text!r}: beside a matrix there are templates of "
                "labels only, such as 't[-1]|t[-2]'"
            )
    return compile_templates([templates], []).salts | np.uint64(1)


def word_numbers(words: Sequence[str]) -> Integers:
    """Return a number for each lower-cased word."""
    lower = {word: word.lower() for word in set(words)}
    numbers: dict[str, int] = {}
    number = {w: numbers.setdefault(low, len(numbers)) for w, low in lower.items()}
    return np.fromiter(map(number.__getitem__, words), np.int64, len(words))


def memory_of(
    words: Integers,
    labels: Integers,
    sentences: Integers,
    n_labels: int,
    memory: Memory,
) -> npt.NDArray[np.uint32]:
    """Return 1 + the majority label of a word in nearby sentences; 0 for none.

    Sentences at most 2000 tokens away count: on both sides, or the earlier ones only.
    """
    from argmetric.search.kernels.tagging_features import fill_majority

    owners = np.repeat(np.arange(len(sentences) - 1), np.diff(sentences))
    found = np.zeros(len(words), dtype=np.uint32)
    order = np.argsort(words, kind="stable")
    fill_majority(
        words, order, owners, labels, n_labels, _WINDOW, memory == "past", found
    )
    return found
