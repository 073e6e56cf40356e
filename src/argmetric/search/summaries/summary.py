"""A summary: its words, their places in the sources, and the gain of each step."""

from __future__ import annotations

import html
import textwrap
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from argmetric._ground.display import Field, Result, documented, only_shown
from argmetric._ground.pictures import drawing
from argmetric._ground.types import AnyArray, Axes, Booleans, Floats, Integers
from argmetric.search.summaries.cluster import Cluster

_WIDTH = 86
_PLACE = np.dtype(
    [(name, np.int64) for name in ("document", "sentence", "start", "end")]
)
_DROPPED, _UNTOUCHED = -1, -2
_HUES = 7  # colours of the page; steps take turns


class Step(NamedTuple):
    """A step of the search: the words it added, and the gain that it expected."""

    words: list[str]  # in the order of the source
    gain: float  # by the policy's own measure: comparable within a summary


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Result):
    """A summary of a cluster of documents, made by a `Summarizer`.

    It contains words of the documents in their order and no others.

    Parameters
    ----------
    cluster : Cluster
        The sources: `cluster.documents` are the texts.
    step_of_word : ndarray of int64
        For each word of the documents the step that added it; -1 for none.
    gains : ndarray of float
        The expected gain of each step.
    mode : {"sentences", "compressed"}
        Whether sentences are taken whole.
    policy : str
        The policy that chose the steps.
    limit : int
        The budget.
    unit : str
        Unit of the budget, such as "words".
    size : int
        How much of the budget is used.
    query : str or None
        The topic of the summary.

    Examples
    --------
    >>> from argmetric.search import Summarizer
    >>> cluster = ["The room was clean. We ate nearby.", "The room was quiet."]
    >>> [summary] = Summarizer().predict([cluster], words=4)
    >>> summary.text, summary.n_words
    ('The room was clean.', 4)
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
    query: str | None = None

    @property
    def is_kept(self) -> Booleans:
        """Return which words of the sources are in the summary."""
        return self.step_of_word >= 0

    @property
    def n_words(self) -> int:
        """Return the number of white-space words: ``wc -w`` of `text`."""
        return int(self.is_kept.sum())

    @cached_property
    def sentences(self) -> list[str]:
        """Return the kept words of each sentence that has some."""
        kept = np.flatnonzero(self.is_kept)
        sentence = self.cluster.word_sentences[kept]
        bounds = np.flatnonzero(np.diff(sentence, prepend=-1, append=-1)).tolist()
        words = [self.cluster.words[i] for i in kept.tolist()]
        return [" ".join(words[a:b]) for a, b in pairwise(bounds)]

    @property
    def text(self) -> str:
        """Return the summary: the kept words, joined by blanks."""
        return " ".join(self.sentences)

    @cached_property
    def positions(self) -> AnyArray:
        """Return the position of each word of the summary in the sources.

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
        """Return the steps of the search in their order."""
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

    def fields(self) -> list[Field]:
        """Return the fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            A key, a value and a text for each.
        """
        cluster = self.cluster
        pairs = np.unique(self.positions[["document", "sentence"]])
        size = f"{self.size:,} of {self.limit:,} {self.unit}"
        if self.unit != "words":
            size += f" ({self.n_words:,} words)"
        documents = len(np.unique(pairs["document"]))
        lines = [
            ("size", size),
            ("sentences", f"{len(pairs):,} of {cluster.n_sentences:,}"),
            ("documents", f"{documents:,} of {len(cluster.documents):,}"),
            ("chosen", f"{self.mode}, by {self.policy}, in {self._n_steps()}"),
        ]
        return [
            Field(words="query", text=self.query),
            *only_shown(lines),
            Field("name", cluster.name),
            *self._keys("text", "sentences"),
            Field("words", self.n_words),
            *self._keys("size", "limit", "unit", "mode", "policy", "query"),
            Field("documents", cluster.document_names),
            Field("steps", lambda: self.steps),
            Field("positions", lambda: self._places()),
        ]

    def _places(self) -> list[dict[str, int]]:
        """Return where each word is, and the step that added it, counted from 0."""
        steps = self.step_of_word[self.is_kept].tolist()
        columns = [self.positions[name].tolist() for name in _PLACE.names or ()]
        keys = ("document", "sentence", "start", "end", "step")
        rows = zip(*columns, steps, strict=True)
        return [dict(zip(keys, row, strict=True)) for row in rows]

    def _n_steps(self) -> str:
        n = len(self.gains)
        return f"{n:,} step{'s' * (n != 1)}"

    def __repr__(self) -> str:
        # Parts of sentences, which may have lost their ends, are set apart
        parts = [self.text] if self.mode == "sentences" else self.sentences
        lines = [one for part in parts for one in textwrap.wrap(part, _WIDTH)]
        body = textwrap.indent("\n".join(lines) or "(nothing)", "  ")
        return f"{super().__repr__()}\n\n{body}"

    def _repr_html_(self) -> str:
        return (
            f"{super()._repr_html_()}<blockquote>{html.escape(self.text)}</blockquote>"
            "<details open><summary>Sources</summary>"
            "<div style='max-height:24em;overflow:auto;white-space:pre-wrap'>"
            f"{_articles(self)}</div></details>"
        )

    def to_html(self) -> str:
        """Return a page that marks which parts of the sources were kept.

        Returns
        -------
        str
            HTML that needs no network and no scripts.
        """
        title = html.escape(f"Summary of {self.cluster.name}")
        facts = "; ".join(f"{name}: {value}" for name, value in self.lines())
        paragraphs = "".join(f"<p>{html.escape(one)}</p>" for one in self.sentences)
        full = max(self.limit, 1)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
            f"<h1>{title}</h1>\n"
            f'<section class="text">{paragraphs or "<p>(nothing)</p>"}</section>\n'
            f'<meter min="0" max="{full}" value="{self.size}"></meter>\n'
            f'<p class="facts">{html.escape(facts)}</p>\n'
            f"<h2>Steps</h2>\n{_steps(self)}\n"
            f"<h2>Sources</h2>\n{_articles(self)}\n"
            "<footer>Marked: kept, with the number of the step. <del>Struck through"
            "</del>: dropped from a sentence of which something is kept.</footer>\n"
            "</body>\n</html>\n"
        )

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the expected gain of each step over the words that it added."""
        sizes = np.bincount(self.step_of_word[self.is_kept], minlength=len(self.gains))
        words = "words of the summary, step by step"
        with drawing(ax, xlabel=words, ylabel="expected gain") as ax:
            look: Any = {"align": "edge", "color": "C0", "edgecolor": "white"}
            label, left = (
                f"{self._n_steps()} by {self.policy}",
                np.cumsum(sizes) - sizes,
            )
            ax.bar(left, self.gains, width=sizes, label=label, **look)
        return ax


_STYLE = """
:root { color-scheme: light dark; --ink: #1c1d21; --paper: #fbfbf9; --dim: #73757d;
  --line: #dcdcd6; --card: #ffffff; --light: 88%; --edge: 55%; --chroma: 70%; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e0; --paper: #17181b;
  --dim: #9a9ca5; --line: #35373d; --card: #1f2024; --light: 24%; --edge: 58%;
  --chroma: 45%; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 46rem; color: var(--ink);
  background: var(--paper); font: 1rem/1.6 system-ui, sans-serif; }
h1 { font-size: 1.3rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 2.5rem 0 .75rem; }
h3 { font-size: .85rem; font-weight: 600; margin: 0 0 .4rem; overflow-wrap: anywhere; }
.text { font-size: 1.15rem; padding: 1rem 1.25rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .5rem; }
.text p { margin: 0 0 .4rem; } .text p:last-child { margin: 0; }
.facts, footer { color: var(--dim); font-size: .85rem; margin: .75rem 0 0; }
meter { width: 100%; height: .6rem; display: block; margin-top: .75rem; }
article { padding: .9rem 0; border-top: 1px solid var(--line); }
.source { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; }
.untouched { color: var(--dim); }
del { color: var(--dim); text-decoration-thickness: from-font; }
mark { color: inherit; border-radius: .2rem; padding: .05em .1em;
  background: hsl(var(--hue) var(--chroma) var(--light));
  border-bottom: 2px solid hsl(var(--hue) var(--chroma) var(--edge)); }
mark { scroll-margin-top: 5rem; }
mark:target { outline: 2px solid; }
a { color: inherit; }
mark::before { content: attr(data-step); font-size: .65em; font-weight: 700;
  vertical-align: super; margin-right: .2em; line-height: 1;
  color: hsl(var(--hue) var(--chroma) var(--edge)); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; vertical-align: top;
  border-top: 1px solid var(--line); }
thead th { color: var(--dim); font-weight: 500; border: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { display: block; height: .5rem; margin-top: .5rem; border-radius: .2rem;
  background: hsl(var(--hue) var(--chroma) var(--edge)); }
""" + "".join(
    f".hue{i} {{ --hue: {hue}; }}\n"
    for i, hue in enumerate((48, 205, 140, 330, 265, 20, 175))
)


class _Run(NamedTuple):
    """Consecutive words with the same document and step."""

    document: int
    start: int
    end: int
    step: int


def _steps(summary: Summary) -> str:
    """Return an HTML table of the words that each step added, and their gain."""
    most = max([gain for _, gain in summary.steps] + [0.0])
    rows = []
    for number, (words, gain) in enumerate(summary.steps):
        share = 100 * max(gain, 0.0) / most if most > 0 else 0.0
        rows.append(
            f'<tr class="{_hue(number)}"><td class="number">'
            f'<a href="#step-{number + 1}">{number + 1}</a></td>'
            f"<td>{html.escape(' '.join(words))}"
            f'<span class="bar" style="width:{share:.1f}%"></span></td>'
            f'<td class="number">{len(words)}</td>'
            f'<td class="number">{gain:.4g}</td></tr>'
        )
    return (
        '<table><thead><tr><th class="number">step</th><th>adds</th>'
        '<th class="number">words</th><th class="number">expected gain</th></tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _articles(summary: Summary) -> str:
    """Return the documents as HTML, with the words of the summary marked."""
    cluster = summary.cluster
    pieces: list[list[str]] = [[] for _ in cluster.documents]
    touched = [False] * len(cluster.documents)
    at = [0] * len(cluster.documents)
    anchors = set(range(len(summary.gains)))
    for run in _runs(summary):
        text = cluster.documents[run.document]
        is_first = run.step in anchors
        anchors.discard(run.step)
        pieces[run.document] += [
            html.escape(text[at[run.document] : run.start]),
            _mark_sentence(
                html.escape(text[run.start : run.end]), run.step, is_first, summary
            ),
        ]
        at[run.document] = run.end
        touched[run.document] |= run.step != _UNTOUCHED
    return "\n".join(
        f'<article class="{"touched" if touched[i] else "untouched"}">'
        f"<h3>{html.escape(name)}</h3>"
        f'<p class="source">{"".join(pieces[i]).strip()}</p></article>'
        for i, name in enumerate(cluster.document_names)
    )


def _runs(summary: Summary) -> list[_Run]:
    """Return runs of words of one document and one step, in source order."""
    cluster, steps = summary.cluster, summary.step_of_word
    sentence = cluster.word_sentences
    touched = np.zeros(cluster.n_sentences, dtype=np.bool_)
    touched[sentence[summary.is_kept]] = True
    state = np.where(touched[sentence] | summary.is_kept, steps, _UNTOUCHED)
    document = cluster.sentence_documents[sentence]
    changes = (np.diff(state) != 0) | (np.diff(document) != 0)
    first = np.append(0, np.flatnonzero(changes) + 1)
    last = np.append(first[1:], cluster.n_words) - 1
    columns = (
        document[first],
        cluster.word_spans[first, 0],
        cluster.word_spans[last, 1],
        state[first],
    )
    return list(map(_Run, *(column.tolist() for column in columns)))


def _mark_sentence(text: str, step: int, is_first: bool, summary: Summary) -> str:
    """Return a part of a text as HTML, marked with the step that took it."""
    if step == _UNTOUCHED:
        return text
    if step == _DROPPED:
        return f"<del>{text}</del>"
    gain = summary.gains[step]
    told = f"step {step + 1} of {len(summary.gains)}, expected gain {gain:.4g}"
    marks = f'class="{_hue(step)}" data-step="{step + 1}" title="{told}"'
    anchor = f' id="step-{step + 1}"' if is_first else ""
    return f"<mark{anchor} {marks}>{text}</mark>"


def _hue(step: int) -> str:
    return f"hue{step % _HUES}"
