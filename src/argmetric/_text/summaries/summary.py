"""A summary: words of the sources, where they stand, and what each step was worth."""

from __future__ import annotations

import textwrap
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from argmetric._input.types import AnyArray, Booleans, Floats, Integers
from argmetric._results.display import Lines, Result
from argmetric._results.pictures import drawing
from argmetric._text.summaries.cluster import Cluster

_WIDTH = 86
_PLACE = np.dtype(
    [(name, np.int64) for name in ("document", "sentence", "start", "end")]
)


class Step(NamedTuple):
    """A step of the search: the words it added, and the gain it was expected to bring.

    Attributes
    ----------
    words : list of str
        In the order of the source.
    gain : float
        By the policy's own measure: comparable within a summary.
    """

    words: list[str]
    gain: float


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Result):
    """A summary of a cluster of documents, made by a `Summarizer`.

    Nothing in it is invented: it is words of the sources, in the order of the sources.

    Attributes
    ----------
    cluster : Cluster
        The sources: `cluster.documents` are the texts.
    step_of_word : ndarray of int64
        For each word of the sources the step that took it, -1 for none.
    gains : ndarray of float
        The expected gain of each step.
    mode : {"sentences", "compressed"}
        Whether sentences are taken whole.
    policy : str
        What chose the steps.
    limit : int
        The budget.
    unit : str
        What the budget counts, such as "words".
    size : int
        How much of the budget is used.
    """

    cluster: Cluster
    step_of_word: Integers
    gains: Floats
    _: KW_ONLY
    mode: str
    policy: str
    limit: int
    unit: str
    size: int

    @property
    def is_kept(self) -> Booleans:
        """Which words of the sources are in the summary."""
        return self.step_of_word >= 0

    @property
    def n_words(self) -> int:
        """Number of white-space words: what ``wc -w`` counts in `text`."""
        return int(self.is_kept.sum())

    @cached_property
    def sentences(self) -> list[str]:
        """What is kept of each sentence that something is kept of."""
        kept = np.flatnonzero(self.is_kept)
        sentence = self.cluster.word_sentences[kept]
        bounds = np.flatnonzero(np.diff(sentence, prepend=-1, append=-1)).tolist()
        words = [self.cluster.words[i] for i in kept.tolist()]
        return [" ".join(words[a:b]) for a, b in pairwise(bounds)]

    @property
    def text(self) -> str:
        """The summary: the kept words, joined by blanks."""
        return " ".join(self.sentences)

    @cached_property
    def positions(self) -> AnyArray:
        """Where each word of the summary stands in the sources.

        A structured array with the fields document, sentence (of that document), start
        and end, all counted from 0:
        ``cluster.documents[document][start:end]`` is the word, with the marks of
        Markdown that stand in the midst of it.
        """
        cluster, kept = self.cluster, np.flatnonzero(self.is_kept)
        sentence = cluster.word_sentences[kept]
        found = np.empty(len(kept), dtype=_PLACE)
        found["document"] = cluster.sentence_documents[sentence]
        found["sentence"] = sentence - cluster.document_starts[found["document"]]
        found["start"], found["end"] = cluster.word_spans[kept].T
        return found

    @cached_property
    def steps(self) -> list[Step]:
        """The steps of the search in their order."""
        by_step = np.argsort(self.step_of_word, kind="stable")
        order = by_step[len(by_step) - self.n_words :]
        bounds = np.searchsorted(
            self.step_of_word[order], np.arange(len(self.gains) + 1)
        )
        words = [self.cluster.words[i] for i in order.tolist()]
        pairs = zip(pairwise(bounds.tolist()), self.gains.tolist(), strict=True)
        return [Step(words[a:b], gain) for (a, b), gain in pairs]

    def _title(self) -> str:
        return f"Summary of {self.cluster.name}"

    def _lines(self) -> Lines:
        cluster, places = self.cluster, self.positions
        pairs = np.unique(places[["document", "sentence"]])
        size = f"{self.size:,} of {self.limit:,} {self.unit}"
        if self.unit != "words":
            size += f" ({self.n_words:,} words)"
        return [
            ("size", size),
            ("sentences", f"{len(pairs):,} of {cluster.n_sentences:,}"),
            (
                "documents",
                f"{len(np.unique(pairs['document'])):,} of {len(cluster.documents):,}",
            ),
            ("chosen", f"{self.mode}, by {self.policy}, in {self._n_steps()}"),
        ]

    def _n_steps(self) -> str:
        n = len(self.gains)
        return f"{n:,} step{'s' * (n != 1)}"

    def __repr__(self) -> str:
        lines = [one for part in self._parts() for one in textwrap.wrap(part, _WIDTH)]
        body = textwrap.indent("\n".join(lines) or "(nothing)", "  ")
        return f"{super().__repr__()}\n\n{body}"

    def _parts(self) -> list[str]:
        """Text to be set apart: parts of sentences, which may have lost their ends."""
        return [self.text] if self.mode == "sentences" else self.sentences

    def _repr_html_(self) -> str:
        from argmetric._text.summaries._markup import fragment

        return fragment(self, super()._repr_html_())

    def to_html(self) -> str:
        """A page of its own: the sources with what was kept and what was dropped.

        Returns
        -------
        str
            HTML that needs no network and no scripts.
        """
        from argmetric._text.summaries._markup import page

        return page(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON.

        Returns
        -------
        dict
            Name, text, sentences, words, size, limit, unit, mode, policy, documents
            (their names), steps (words and gain), and positions: document, sentence,
            start, end and step of each word, counted from 0 as Python counts
            characters.
        """
        places = self.positions
        steps = self.step_of_word[self.is_kept].tolist()
        columns = [places[name].tolist() for name in _PLACE.names or ()]
        keys = ("document", "sentence", "start", "end", "step")
        return {
            "name": self.cluster.name,
            "text": self.text,
            "sentences": self.sentences,
            "words": self.n_words,
            "size": self.size,
            "limit": self.limit,
            "unit": self.unit,
            "mode": self.mode,
            "policy": self.policy,
            "documents": self.cluster.document_names,
            "steps": [step._asdict() for step in self.steps],
            "positions": [
                dict(zip(keys, row, strict=True))
                for row in zip(*columns, steps, strict=True)
            ],
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the expected gain of each step over the words that it added.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        sizes = np.bincount(self.step_of_word[self.is_kept], minlength=len(self.gains))
        words = "words of the summary, step by step"
        with drawing(ax, xlabel=words, ylabel="expected gain") as ax:
            ax.bar(
                np.cumsum(sizes) - sizes,
                self.gains,
                width=sizes,
                align="edge",
                color="C0",
                edgecolor="white",
                label=f"{self._n_steps()} by {self.policy}",
            )
        return ax
