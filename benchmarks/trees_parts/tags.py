"""Parts of speech of a tagger beside the right ones."""

from __future__ import annotations

import time
from collections import defaultdict

from harness import emit

from argmetric.search import Parser, Tagger
from trees_parts.data import read
from trees_parts.tables import shares, table

# Tags that the parser learns from, and those that it is used on
ROWS = (("right", "right"), ("right", "tagger's"), ("jackknifed", "tagger's"))


def run(*, quick: bool) -> str:
    train, test = (read(name, 100 if quick else None) for name in ("train", "test"))
    words, tags = (
        [getattr(tree, name) for tree in train] for name in ("words", "tags")
    )
    others, right = (
        [getattr(tree, name) for tree in test] for name in ("words", "tags")
    )
    accuracies, scores, seconds = [], defaultdict(list), defaultdict(list)
    for seed in range(1 if quick else 3):
        tagger = Tagger("pos", random_state=seed)
        gold = Parser(random_state=seed).fit(train)
        start = time.process_time()
        by_tagger = Parser(random_state=seed).fit(train, tagger=tagger)
        seconds["jackknifed"].append(time.process_time() - start)
        start = time.process_time()
        tagger.fit(words, tags)
        seconds["tagger"].append(time.process_time() - start)
        accuracies.append(tagger.evaluate(others, right)["t"])
        for beam in (1, 8):
            gold.set_params(beam=beam)
            by_tagger.set_params(beam=beam)
            scores[*ROWS[0], beam].append(gold.evaluate(test))
            scores[*ROWS[1], beam].append(gold.evaluate(test, tagger=tagger))
            scores[*ROWS[2], beam].append(by_tagger.evaluate(test))
    found = shares(accuracies, "accuracy")
    emit("tags", "accuracy of the tagger", found.mean(), "%", seeds=found.tolist())
    for name, spent in seconds.items():
        emit("tags", f"training, {name}", sum(spent) / len(spent), "CPU s")
    rows = []
    for learned, used in ROWS:
        for beam in (1, 8):
            own = scores[learned, used, beam]
            names = "uas", "uas_without_punctuation", "exact_match"
            all_words, others_, exact = (shares(own, name) for name in names)
            emit(
                "tags",
                f"UAS, learned from {learned} tags, used on {used}, beam {beam}",
                all_words.mean(),
                "%",
                seeds=all_words.tolist(),
                without_punctuation=others_.mean(),
                exact=exact.mean(),
            )
            cells = [learned, used, "greedy" if beam == 1 else f"beam {beam}"]
            cells += [f"{v.mean():.2f}" for v in (all_words, others_, exact)]
            rows.append(cells)
    heads = ["tags learned from", "tags used on", "search", "UAS", "no punct."]
    return table([*heads, "whole trees"], rows)
