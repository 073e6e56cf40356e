"""Calls on chains, streams, texts, files and the command line; valid calls of all."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import argmetric as am
from argmetric import search, sequence, stream
from recorded_parts.data import METRICS, groups_of, scores, truth
from recorded_parts.lines import line_calls

Calls = Iterator[tuple[str, Callable[[], Any]]]
TESTS = Path(__file__).parents[2] / "tests"
sys.path.insert(0, str(TESTS))


def all_calls() -> Calls:
    yield from sequence_calls()
    yield from stream_calls()
    yield from train_calls()
    yield from search_calls()
    yield from scale_calls()
    yield from line_calls()
    yield from valid_calls()


# --------------------------------------------------------------------- sequence

TAGS = ("O", "B-A", "I-A", "B-B", "I-B")


def chain(length: int) -> Any:
    rng = np.random.default_rng(length)
    steps = rng.dirichlet((2.0, 2.0), (length - 1, 2))
    return sequence.MarkovChain([0.7, 0.3], steps)


def crfs(count: int, length: int) -> list[Any]:
    rng = np.random.default_rng([count, length])
    pairwise = rng.normal(size=(5, 5))
    unary = rng.normal(size=(count, length, 5))
    return [sequence.LinearChainCRF(rows, pairwise, TAGS) for rows in unary]


def sequence_calls() -> Calls:
    for length in (3, 12, 30):
        z = truth(scores(length, "half"))
        own = partial(sequence.WindowUtility, 2, lambda z, y: float(z == y))
        utilities = {
            **{name: name for name in ("f1", "mcc", "gmean", "jaccard", "accuracy")},
            **{"pk": sequence.Pk(2), "windowdiff": sequence.WindowDiff(2)},
            **{"hamming": sequence.Hamming(), "zero_one": sequence.ZeroOne()},
            **{"boundary": sequence.BoundarySimilarity(), "window": own()},
        }
        models = {"chain": chain(length)}
        models["independent"] = sequence.Independent(scores(length, "half"))
        for word, model in models.items():
            for name, utility in utilities.items():
                key = f"sequence/{name}/{word}/n={length}"
                given = (utility, z, model)
                yield f"{key}/expectation", partial(sequence.expectation, *given)
                if length < 30:
                    yield f"{key}/distribution", partial(sequence.distribution, *given)
                if name in METRICS:
                    call = partial(sequence.decode, utility, model)
                    yield f"{key}/decode", call
    for count, length in ((1, 4), (6, 12), (40, 9), (3, 60)):
        models = crfs(count, length)
        for metric in ("f1", "f2", "jaccard"):
            for level in ("corpus", "document"):
                given = {"metric": metric, "level": level}
                if level == "document":
                    given["documents"] = [i // 2 for i in range(count)]
                key = f"sequence/spans/{metric}/{level}/{count}x{length}"
                yield key, partial(sequence.decode_spans, models, **given)
        call = partial(sequence.decode_spans, models, per_type=True)
        yield f"sequence/spans/per_type/{count}x{length}", call
        key = f"sequence/spans/marginals/{count}x{length}"
        yield key, partial(sequence.span_marginals, models)
        yield (
            f"sequence/crf/{count}x{length}",
            lambda models=models: [
                [one.log_partition, one.viterbi(), one.marginals()]
                for one in models[:2]
            ],
        )


# ----------------------------------------------------------------- stream, train


def table(n: int = 400, columns: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, columns])
    X = rng.normal(size=(n, columns))
    odds = X @ np.linspace(2.0, -1.0, columns) - 1.5
    return X, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


def stream_calls() -> Calls:
    X, y = table()
    p = scores(300, seed=13)

    def learned(**options: Any) -> Any:
        model = stream.OnlineClassifier(**{"random_state": 0} | options)
        found = model.progressive(X[:300], y[:300], classes=[0, 1], return_proba=True)
        model.partial_fit(X[300:], y[300:])
        after = X[:40]
        return [found, model.predict(after), model.predict_proba(after), str(model)]

    def ran(rule: Any, metric: str) -> Any:
        state = rule.init_state(metric)
        run = rule.run(state, p, truth(p))
        return {"run": run, "state": state, "threshold": rule.threshold_of(state)}

    for metric in ("f1", "f2", "mcc", "gmean", "jaccard", "kappa", "accuracy", "qmean"):
        for rule in ("histogram", "newton", "ofo", "fofo", "fixed"):
            chosen = stream.get_rule(rule) if rule != "fofo" else stream.FOFORule(300)
            call = partial(ran, chosen, metric)
            yield f"stream/rule/{rule}/{metric}", call
        for learner in ("mixture", "sgd", "adagrad", "stamp", "omcsl"):
            call = partial(learned, metric=metric, learner=learner)
            yield f"stream/{learner}/{metric}", call
        key = f"stream/score/{metric}"
        yield (
            key,
            lambda metric=metric: stream.ProgressiveScore(metric, window=50).update(
                truth(p), p > 0.4
            ),
        )
    for word, options in {
        "average": {"learner": "sgd", "average": "polynomial"},
        "suffix": {"learner": "sgd", "average": "suffix"},
        "step": {"learner": "sgd", "step": 0.1},
        "memory": {"memory": 100.0},
        "hashed": {"hash_bits": 8},
        "no intercept": {"fit_intercept": False, "learner": "adagrad"},
        "window": {"rule": stream.HistogramRule(window=64, forget=None)},
        "recent": {"rule": stream.HistogramRule(recent=True, bins=64)},
        "ofo window": {"rule": stream.OFORule(window=50)},
    }.items():
        yield f"stream/{word}", partial(learned, **options)


def train_calls() -> Calls:
    from sklearn.linear_model import LogisticRegression

    X, y = table()

    def logistic(**options: Any) -> Any:
        given = {"random_state": 0, "n_restarts": 1, "max_iter": 30} | options
        model = am.MetricLogisticRegression(**given).fit(X, y)
        return [model.coef_, model.intercept_, model.predict_proba(X)]

    def wrapped(**options: Any) -> Any:
        given = {"cv": 3, "random_state": 0, "estimator": LogisticRegression()}
        model = am.MetricClassifier(**given | options).fit(X, y)
        decided = model.decide(X[:60])
        return [model.predict(X), model.predict_proba(X), decided, str(model)]

    for metric in ("f1", "jaccard", "mcc", "gmean", "accuracy", "kappa"):
        for objective in ("soft", "expected"):
            call = partial(logistic, metric=metric, objective=objective)
            yield f"train/{metric}/{objective}", call
            yield (
                f"train/{metric}/{objective}/gradient",
                lambda metric=metric, objective=objective: am.metric_objective(
                    metric, objective=objective
                )(y, X[:, 0]),
            )
        for route in ("tune", "decide", "half", "auto"):
            call = partial(wrapped, metric=metric, route=route)
            yield f"estimators/{metric}/{route}", call
        scorer = am.optimal_scorer(metric)
        key = f"estimators/{metric}/scorer"
        yield key, lambda scorer=scorer: scorer(LogisticRegression().fit(X, y), X, y)
    for method in ("platt", "beta", "isotonic", "auto", None):
        call = partial(wrapped, calibration=method)
        yield f"estimators/calibration={method}", call


# ----------------------------------------------------------------------- search

NOUNS, VERBS, PLACES = ("cat", "dog", "man"), ("sees", "eats"), ("home", "town")


@cache
def corpus(n: int) -> tuple[list[Any], list[list[str]]]:
    """Sentences of words and tags, and their chunks."""
    rng = np.random.default_rng(n)
    sentences, chunks = [], []
    for _ in range(n):
        rows = [("the", "DT", "B-NP")] * int(rng.integers(2))
        rows.append((str(rng.choice(NOUNS)), "NN", "I-NP" if rows else "B-NP"))
        rows.append((str(rng.choice(VERBS)), "VB", "B-VP"))
        if rng.random() < 0.6:
            rows.append(("big", "JJ", "B-NP"))
            rows.append((str(rng.choice(PLACES)), "NN", "I-NP"))
        sentences.append([(word, tag) for word, tag, _ in rows])
        chunks.append([chunk for *_, chunk in rows])
    return sentences, chunks


@cache
def reviews(n: int) -> tuple[list[list[str]], list[list[str]]]:
    """Clusters of documents, and summaries of them."""
    rng = np.random.default_rng(n)
    things, kinds = ("room", "staff", "pool", "food"), ("clean", "kind", "cold", "old")
    clusters, references = [], []
    for _ in range(n):
        said = [f"The {thing} was {rng.choice(kinds)}." for thing in things]
        texts = [" ".join(s for s in said if rng.random() < 0.6) for _ in range(3)]
        clusters.append([f"{text} I saw a {rng.choice(kinds)} bar." for text in texts])
        references.append([f"{said[0]} {said[1]}", said[2]])
    return clusters, references


def search_calls() -> Calls:
    sentences, chunks = corpus(40)
    fresh = corpus(15)
    tags = [[tag for _, tag in one] for one in sentences]

    def tagged(labels: Any = chunks, **options: Any) -> Any:
        model = search.Tagger(**{"epochs": 2, "hash_bits": 12} | options)
        model.fit(sentences, labels)
        found = [model.predict(fresh[0]), str(model), model.evaluate(*fresh)]
        return [*found, model.predict_nbest(fresh[0][:3], n=2)]

    for word, options in {
        **{f"direction={x}": {"direction": x} for x in ("left", "right", "both")},
        **{f"beam={x}": {"beam": x} for x in (1, 4)},
        **{f"roll_in={x}": {"roll_in": x} for x in ("mixed", "gold", "own", "none")},
        **{f"memory={x}": {"memory": x} for x in ("none", "past", "both")},
        **{f"dropout={x}": {"dropout": x} for x in (0.0, 0.3)},
        "task=pos": {"task": "pos", "labels": tags},
        "task=ner": {"task": "ner"},
        "seed": {"random_state": 5},
    }.items():
        yield f"search/tagger/{word}", partial(tagged, **options)
    clusters, references = reviews(8)
    for policy in ("dagger", "weights", "frequency"):
        for words in (6, 14):

            def summed(policy: Any = policy, words: int = words) -> Any:
                model = search.Summarizer(policy=policy, iterations=1)
                if policy != "frequency":
                    model.fit(clusters, references, words=words)
                found = model.predict(clusters, words=words)
                scored = model.evaluate(clusters, references, words=words)
                return [[str(one) for one in found], scored]

            yield f"search/summarizer/{policy}/words={words}", summed
    words = ["banana", "onion", "yes", "tree", "apple", "sky"]
    kinds = ["".join("v" if x in "aeiou" else "c" for x in word) for word in words]
    for learner in ("logistic", "perceptron", "svm"):
        for costs in ("optimal", "rollout", "tied"):
            for beam in (1, 2):

                def searched(a: Any = learner, b: Any = costs, c: int = beam) -> Any:
                    task = search.SequenceLabelling("cv")
                    model = search.Searn(task, a, costs=b, beam=c, iterations=2)
                    return [model.fit(words, kinds).predict(words), str(model)]

                yield f"search/searn/{learner}/{costs}/beam={beam}", searched


# ------------------------------------------------------------------------ files


def write_files() -> None:
    """A folder of three files, in the current folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if Path("many").exists():
        return
    p = scores(240, seed=14).round(4)
    columns = {"p": p, "y": truth(p), "g": groups_of([6] * 40, "shuffled")}
    columns["decision"] = (p > 0.3).astype(int)
    Path("many").mkdir()
    for i in range(3):
        part = {name: values[i::3] for name, values in columns.items()}
        pq.write_table(pa.table(part), f"many/{i}.parquet")


def scale_calls() -> Calls:
    import opened

    def of_files(verb: Any, **options: Any) -> Callable[[], Any]:
        def call() -> Any:
            write_files()
            return verb("many", score="p", n_jobs=1, **options)

        return call

    for metric in ("f1", "mcc", "gmean", "jaccard"):
        for average in ("groups", "pooled"):
            given = {"metric": metric, "average": average}
            grouped = given | {"group": "g"} if average == "groups" else given
            key = f"scale/decide/{metric}/{average}"
            output, new = f"out-{metric}-{average}", {"decision_column": "found"}
            yield key, of_files(opened.decide, output=output, **grouped | new)
            key = f"scale/forecast/{metric}/{average}"
            call = of_files(opened.forecast, decision_column="decision", **grouped)
            yield key, call
            key = f"scale/evaluate/{metric}/{average}"
            given = {"label": "y", "decision_column": "decision", **grouped}
            yield (
                key,
                lambda given=given: (
                    write_files(),
                    opened.evaluate("many", n_jobs=1, **given),
                )[1],
            )
        call = of_files(opened.tune, metric=metric, label="y", n_bootstrap=20, cv=3)
        yield f"scale/tune/{metric}", call
        call = of_files(opened.calibration_check, metric=metric, label="y")
        yield f"scale/check/{metric}", call
    for method in ("platt", "beta", "isotonic"):
        call = of_files(opened.calibrate, method=method, label="y")
        yield f"scale/calibrate/{method}", call


# ------------------------------------------------------------------- valid calls


def valid_calls() -> Calls:
    """One call of every public name, as the tests list them."""
    from fuzz import CALLS

    for name, one in CALLS.items():
        if "Display" in name or name.endswith((".plot", ".save")):
            continue  # pictures, and calls that return nothing
        if name in ("MetricClassifier, n_jobs", "MetricClassifier.fit"):
            continue  # without a seed
        given = copy.deepcopy(one.arguments)
        yield f"valid/{name}", partial(one.function, **given)
