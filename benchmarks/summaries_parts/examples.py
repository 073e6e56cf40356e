"""Five summaries of a fold, from best to worst, with the sentences that they touch."""

from __future__ import annotations

import textwrap
from itertools import groupby
from operator import itemgetter

import numpy as np
from harness import emit
from search_parts.data import FOLDS

from argmetric.search import Summary, score_summaries
from summaries_parts.data import clusters
from summaries_parts.learned import summarizer

SHOWN = 5
WIDTH = 84
LONGEST = 4  # dropped words that are shown


def run(*, quick: bool) -> str:
    own = clusters("fewsum", quick=quick)
    _, (learn, test), *_ = own.folds(2 if quick else FOLDS)
    part, other = own.take(learn), own.take(test)
    model = summarizer("compressed", "weights", quick=quick)
    model.fit(part.documents, part.references, words=own.words)
    summaries = model.predict(other.documents, words=own.words)
    recalls = score_summaries(summaries, other.references).by_cluster["rouge_2"]
    order = np.argsort(-recalls)
    chosen = order[np.linspace(0, len(order) - 1, SHOWN).round().astype(int)]
    blocks = []
    for place, i in enumerate(chosen.tolist(), start=1):
        recall = 100.0 * float(recalls[i])
        emit("examples", f"summary {place}", recall, "R-2 recall, %", None)
        blocks.append(_block(place, recall, summaries[i]))
    return "\n\n".join(blocks)


def _block(place: int, recall: float, summary: Summary) -> str:
    """The summary, and the sentences that it touches, what is dropped in brackets."""
    lines = [f"Summary {place}, recall {recall:.1f}:", ""]
    lines += [f"   {line}" for line in textwrap.wrap(summary.text, WIDTH)]
    lines += ["", "   from", ""]
    cluster = summary.cluster
    starts = cluster.sentence_starts
    for s in np.unique(cluster.word_sentences[summary.is_kept]).tolist():
        text = _marked(summary, int(starts[s]), int(starts[s + 1]))
        document = int(cluster.sentence_documents[s]) + 1
        wrapped = textwrap.wrap(f"({document}) {text}", WIDTH)
        lines += [f"   {line}" for line in wrapped]
    return "\n".join(lines)


def _marked(summary: Summary, low: int, high: int) -> str:
    kept = summary.is_kept[low:high].tolist()
    words = summary.cluster.words[low:high]
    found: list[str] = []
    for is_kept, run in groupby(zip(kept, words, strict=True), key=itemgetter(0)):
        part = [word for _, word in run]
        if not is_kept:
            part = part if len(part) <= LONGEST else [*part[:2], "..."]
            part = [f"[{' '.join(part)}]"]
        found += part
    return " ".join(found)
