"""Clusters of documents: checked, and cut into white-space words and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, compress

import numpy as np

from argmetric._ground.arguments import check_items, shown
from argmetric._ground.types import Booleans, Integers
from argmetric.search.corpus.tree_checks import check_trees
from argmetric.search.corpus.trees import Tree
from argmetric.search.summaries.layout import (
    cut_sentences,
    has_end_mark,
    plain_layout,
    read_layout,
)

_DOCUMENT = "text, a list of sentences, or a list of Tree"
_SPACES = np.array(sorted(map(ord, filter(str.isspace, map(chr, range(0x3001))))))


@dataclass(frozen=True, eq=False)
class Cluster:
    """Documents on one subject."""

    name: str  # what messages call it
    # the texts, as given; sentences that were given one by one are lines
    documents: list[str]
    document_names: list[str]  # what they are called
    # white-space words of the sentences of all documents: what ``wc -w`` counts.
    # Headings, tables, code and marks of Markdown are no part of them
    words: list[str]
    # (n_words, 2): the first character of each word in its document, and the one behind
    # the last
    word_spans: Integers
    # (n_sentences + 1,): the first word of each sentence, and the number of words
    sentence_starts: Integers
    sentence_documents: Integers  # (n_sentences,): the document of each sentence
    # parses that were given, None for sentences without one; None where there is none
    # at all
    trees: list[Tree | None] | None

    @property
    def n_words(self) -> int:
        return len(self.words)

    @property
    def n_sentences(self) -> int:
        return len(self.sentence_documents)

    @property
    def word_sentences(self) -> Integers:
        """Return the sentence of each word, counted over all documents."""
        return np.repeat(np.arange(self.n_sentences), np.diff(self.sentence_starts))

    @property
    def lead(self) -> int:
        """Return the first sentence with an end mark, so no title; or the first."""
        last = (self.words[i - 1] for i in self.sentence_starts[1:].tolist())
        return next((s for s, word in enumerate(last) if has_end_mark(word)), 0)

    @property
    def document_starts(self) -> Integers:
        """Return the first sentence of each document, and the number of sentences."""
        numbers = np.arange(len(self.documents) + 1)
        return np.searchsorted(self.sentence_documents, numbers)


def read_clusters(clusters: object) -> list[Cluster]:
    """Read clusters of any kind that `Summarizer.predict` takes."""
    if isinstance(clusters, str):
        raise TypeError(
            "clusters must be a list of clusters, each a list of documents, not text: "
            "pass [[text]] for one document"
        )
    items = check_items(clusters, "clusters", "a list of lists of documents")
    return [read_cluster(item, f"cluster {i}") for i, item in enumerate(items)]


def read_cluster(
    documents: object, name: str, document_names: Sequence[str] | None = None
) -> Cluster:
    """Check and split one cluster; messages use `name`.

    A document is text, a list of sentences (text), or a list of Tree; they are called
    "document 0" and so on where they have no names.
    """
    if isinstance(documents, Cluster):
        return documents
    if isinstance(documents, str):
        raise TypeError(
            f"{name} must be a list of documents, not text: pass [[text, text]] for "
            "one cluster of two documents"
        )
    items = check_items(documents, name, "a list of documents")
    if not items:
        raise ValueError(f"{name} has no document: leave it out")
    names = document_names or [f"document {i}" for i in range(len(items))]
    places = names if document_names else [f"{name}, {one}" for one in names]
    parts = list(map(_document, items, places))
    n_words = np.append(0, np.cumsum([len(part.words) for part in parts]))
    starts = [part.starts + n for part, n in zip(parts, n_words, strict=False)]
    trees = list(chain.from_iterable(part.trees for part in parts))
    return Cluster(
        name,
        [part.text for part in parts],
        list(names),
        list(chain.from_iterable(part.words for part in parts)),
        np.concatenate([part.spans for part in parts]),
        np.append(np.concatenate(starts), n_words[-1]),
        np.repeat(np.arange(len(parts)), [len(part.starts) for part in parts]),
        None if all(tree is None for tree in trees) else trees,
    )


@dataclass(frozen=True, eq=False)
class _Document:
    text: str
    words: list[str]
    spans: Integers
    starts: Integers
    trees: Sequence[Tree | None]


def _document(given: object, name: str) -> _Document:
    """Return the words and sentences of a text, or of a list of sentences or trees."""
    if isinstance(given, str):
        # Words and sentences of a text; of nothing but markup, all of it is text.
        for layout in (read_layout(given), plain_layout(given)):
            words, spans = _cut(given, layout.hidden)
            if not words:
                continue
            starts, is_whole = cut_sentences(words, spans, layout)
            if not is_whole.any():
                continue
            kept = np.repeat(is_whole, np.diff(starts, append=len(words)))
            words = list(compress(words, kept.tolist()))
            starts = (np.cumsum(kept) - 1)[starts[is_whole]]
            return _Document(given, words, spans[kept], starts, [None] * len(starts))
        raise ValueError(f"{name} is empty: leave it out")
    if isinstance(given, Tree):
        raise TypeError(f"{name} must be {_DOCUMENT}: put the tree into a list")
    sentences = check_items(given, name, _DOCUMENT)
    if not sentences:
        raise ValueError(f"{name} is empty: leave it out")
    are_trees = isinstance(sentences[0], Tree)
    kind: type = Tree if are_trees else str
    for i, sentence in enumerate(sentences):
        if not isinstance(sentence, kind):
            wanted = "a Tree as the first one is" if are_trees else "text or a Tree"
            raise TypeError(
                f"{name}: sentence {i} must be {wanted}, not {shown(sentence)}"
            )
    return (_parse_document if are_trees else _sentences)(sentences, name)


def _sentences(sentences: list[str], name: str) -> _Document:
    """Return a document of given sentences, cut into words."""
    text = "\n".join(sentences)
    words, spans = _cut(text)
    ends = np.array(list(accumulate(len(sentence) + 1 for sentence in sentences)))
    starts = np.searchsorted(spans[:, 0], np.append(0, ends))
    _refuse_empty(starts, name)
    return _Document(text, words, spans, starts[:-1], [None] * len(sentences))


def _parse_document(trees: list[Tree], name: str) -> _Document:
    """Return a document of dependency trees, one for each sentence."""
    try:
        check_trees(trees)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    words = list(chain.from_iterable(tree.words for tree in trees))
    starts = np.append(0, np.cumsum([len(tree) for tree in trees]))
    for i, word in enumerate(words):
        if not isinstance(word, str) or len(word.split()) != 1 or word.strip() != word:
            s = int(np.searchsorted(starts, i, side="right")) - 1
            raise ValueError(
                f"{name}: sentence {s}, word {i - starts[s]} must be text without "
                f"blanks, not {shown(word)}"
            )
    _refuse_empty(starts, name)
    text = " ".join(words)
    return _Document(text, words, _cut(text)[1], starts[:-1], trees)


def _refuse_empty(starts: Integers, name: str) -> None:
    for i in np.flatnonzero(np.diff(starts) == 0)[:1]:
        raise ValueError(f"{name}: sentence {i} is empty: leave it out")


def _cut(text: str, hidden: Booleans | None = None) -> tuple[list[str], Integers]:
    """Return white-space words and their characters, in vectorised steps.

    Characters that are hidden are no part of words, but may be between their parts.
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    shown = np.arange(len(codes))
    if hidden is not None and hidden.any():
        shown = np.flatnonzero(~hidden)
        codes = codes[shown]
        text = codes.tobytes().decode("utf-32-le", "surrogatepass")
    is_word = ~np.isin(codes, _SPACES)
    edges = np.flatnonzero(np.diff(is_word, prepend=False, append=False))
    first, last = edges.reshape(-1, 2).T
    return text.split(), np.stack([shown[first], shown[last - 1] + 1], axis=1)
