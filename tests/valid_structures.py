"""Valid calls of what takes sentences, spans, files and tasks: whole structures.

Files are written to the current folder, which is to be an empty one.
"""

import struct
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: F401

import argmetric as am
from argmetric import search, sequence, stream
from valid_calls import CALLS, KINDS, WORDS, X_Y, Call, X, calls, fitted

LABELS = ["O", "B-X", "I-X"]
PROBABILITIES = [[0.5, 0.5, 0.0], [0.6, 0.1, 0.3], [0.2, 0.7, 0.1]]
SENTENCE = sequence.token_model(PROBABILITIES, LABELS)
MAP = sequence.Recalibration(slope=0.9, intercept=0.1, floor=0.01, missed=1.0)
COLUMNS = (["the", "cat"], ["DT", "NN"])
TAGGED = sequence.Sentence(COLUMNS, ["B-X", "I-X"])
CORPUS = "the DT B-X\ncat NN I-X\n\nit PRP B-X\n"


def name_table(names):
    """Names by number, as files of crfsuite have them."""
    records, places = b"", []
    for number, name in enumerate(names):
        places.append(24 + len(records))
        records += struct.pack("<II", number, len(name) + 1) + name.encode() + b"\0"
    head = struct.pack("<4s5I", b"CQDB", 0, 0, 0, len(names), 24 + len(records))
    return head + records + np.array(places, "<u4").tobytes()


def crfsuite_file():
    """One feature and one transition."""
    weights = struct.pack("<IIId", 0, 0, 1, 0.5) + struct.pack("<IIId", 1, 0, 1, -0.5)
    features = struct.pack("<4sII", b"FEAT", 0, 2) + weights
    labels, attributes = name_table(LABELS), name_table(["w=the"])
    at_labels = 48 + len(features)
    offsets = (48, at_labels, at_labels + len(labels), 0, 0)
    head = struct.pack("<4sI4s9I", b"lCRF", 0, b"FOMC", 100, 2, 3, 1, *offsets)
    return head + features + labels + attributes


def crfsuite_model(path):
    Path("tiny.crfsuite").write_bytes(crfsuite_file())
    return sequence.CrfsuiteModel(path)


def sentence_of_crfsuite(features):
    return crfsuite_model("tiny.crfsuite").sentence(features)


def read_sentences(**given):
    Path("corpus.conll").write_text(CORPUS)
    return sequence.read_sentences(**given)


def read_trees(**given):
    Path("trees.dp").write_text("fish\tNN\t2\nswim\tVB\t0\n")
    return search.read_trees(**given)


# What is wrong with a file is said of the file
A_FILE = {"path": r"\bpath\b|cannot read|cannot write|has no sentences|not a model"}
STRUCTURES = calls(
    r"""
argmetric.sequence.read_chunks: sequence.read_chunks(labels=["B-X", "I-X", "O"],
    scheme="IOB2") -> {"labels": "label"}
argmetric.sequence.write_labels: sequence.write_labels(chunks=[(0, 2, "X")], n=3,
    scheme="BIOES")
argmetric.sequence.standard_features: sequence.standard_features(columns=COLUMNS)
argmetric.sequence.token_model: sequence.token_model(p=PROBABILITIES, labels=LABELS,
    scheme="IOB2", well_formed_only=True) -> {"labels": "label"}
argmetric.sequence.decode_logits: sequence.decode_logits(
    logits=[PROBABILITIES, PROBABILITIES], labels=LABELS, metric="f1",
    mask=[[1, 1, 1], [1, 1, 0]],
    word_ids=[[0, 1, 2], [0, 1, None]], scheme="IOB2")
    -> {"labels": "label", "logits": "p "}
argmetric.sequence.span_marginals: sequence.span_marginals(model=[SENTENCE, SENTENCE],
    scheme="IOB2", min_probability=1e-3)
argmetric.sequence.recalibrate: sequence.recalibrate(model=[SENTENCE, SENTENCE],
    gold=[["B-X", "I-X", "O"], ["O", "O", "B-X"]], scheme="IOB2", floor=0.01)
    -> {"gold": "gold|development set"}
argmetric.sequence.decode_spans: sequence.decode_spans(model=[SENTENCE, SENTENCE],
    tokens=[["a", "b", "c"]] * 2, metric="f1", scheme="IOB2", level="document",
    documents=["x", "y"], per_type=False, reference=None, method="auto",
    min_probability=1e-3)
decode_spans, one sentence: sequence.decode_spans(model=SENTENCE,
    tokens=["a", "b", "c"], metric="f2", level="corpus", per_type=True, reference=MAP,
    method="counts") -> {"model": "model|tokens"}
argmetric.sequence.read_sentences: read_sentences(path="corpus.conll", format="conll",
    labels="yes", scheme="IOB2") -> A_FILE
argmetric.sequence.write_sentences: sequence.write_sentences(path="out.jsonl",
    sentences=[TAGGED], predicted=[["B-X", "O"]],
    spans=[[sequence.Span(0, 1, "X", 0.5)]], format="jsonl") -> A_FILE
write_sentences, columns: sequence.write_sentences(path="out.conll", sentences=[TAGGED],
    predicted=[["B-X", "O"]]) -> {**A_FILE, "predicted": r"\bpredicted\b|label"}
argmetric.sequence.CrfsuiteModel: crfsuite_model(path="tiny.crfsuite") -> A_FILE
CrfsuiteModel.sentence: sentence_of_crfsuite(features=[["w=the"], {"w=the": 0.5}])
""",
    globals(),
)


# ------------------------------------------------------------------------- search


def trained(kind, inputs, outputs):
    """A task, and a search that is trained for it."""

    def call(**given):
        searn = search.Searn(kind(**given), beta=1.0, iterations=1, random_state=0)
        return searn.fit(inputs, outputs)

    return call


def learned(kind):
    """A reduction that learns from a few words."""

    def call(**given):
        task = search.SequenceLabelling("cv")
        searn = search.Searn(task, kind(**given), beta=1.0, iterations=1)
        return searn.fit(WORDS, KINDS)

    return call


def summarised(**given):
    """A summarizer that learns, and is used."""
    summarizer = search.Summarizer(**given).fit(CLUSTERS, SUMMARIES, words=8)
    return summarizer.predict(CLUSTERS)


CLUSTERS = [
    ["The room was big. No lift.", "A big room."],
    ["Good food.", "Food is good."],
]
SUMMARIES = [["a big room", "the room was big"], "good food"]
OF_CLUSTERS = {"clusters": r"\bclusters?\b", "references": r"references?\b"}
SWIM = search.Tree(["fish", "swim"], ["NN", "VB"], [2, 0])
SPELLING = search.SequenceLabelling("cv")
BARKS, CHUNKS = [["big", "dogs", "bark"]], [["B-NP", "I-NP", "O"]]
A_LABEL = {"labels": "label"}
TYPES = {"types": "types|labels"}  # two labels are made of each type
TOKENS = {"x": r"\bx\b|feature"}  # a token that is no word is a list of features
STRUCTURES |= calls(
    r"""
argmetric.search.AllPairs: learned(search.AllPairs)(estimator=LogisticRegression(),
    quadratic=False)
argmetric.search.OneAgainstAll: learned(search.OneAgainstAll)(estimator=Ridge(),
    quadratic=False)
argmetric.search.Costing: fitted(search.Costing, X, X_Y, "sample_weight")(
    estimator=LogisticRegression(), n_draws=2, random_state=0,
    sample_weight=[1, 2] * 12)
Costing.fit: search.Costing(LogisticRegression(), n_draws=2).fit(X=X, y=X_Y,
    sample_weight=None)
argmetric.search.SequenceLabelling: trained(search.SequenceLabelling, WORDS, KINDS)(
    labels="cv", features=None, history=2, order="left") -> A_LABEL
argmetric.search.LearnedOrder: trained(search.LearnedOrder, WORDS[2:], KINDS[2:])(
    labels="cv", features=None) -> A_LABEL
argmetric.search.RightToLeft: trained(search.RightToLeft, WORDS, KINDS)(task=SPELLING,
    mirror=None)
argmetric.search.WordChunking: trained(search.WordChunking, BARKS, CHUNKS)(types=["NP"],
    dangling="forbid", metric="f1", features=None, history=2) -> TYPES
argmetric.search.SpanChunking: trained(search.SpanChunking, BARKS, CHUNKS)(types=["NP"],
    max_length=3, metric="f1", features=None) -> TYPES
argmetric.search.JointTask: trained(search.JointTask, BARKS, [("JNV", "JNV")])(
    first=search.SequenceLabelling("JNV"), second=search.SequenceLabelling("JNV"),
    weights=(1.0, 2.0), search_width=2)
argmetric.search.token_features: search.token_features(x=["a", "cat"], i=1) -> TOKENS
argmetric.search.read_trees: read_trees(path="trees.dp", format="dp") -> A_FILE
argmetric.search.score_summaries: search.score_summaries(summaries=["a cat", "b"],
    references=[["the cat", "cats"], ["b c"]])
    -> {"summaries": r"summar(y|ies)\b", "references": r"references?\b"}
argmetric.search.Summarizer: summarised(mode="sentences", policy="dagger", parser=None,
    min_words=1, redundancy=1.0, iterations=1, oracle_beam=1)
    -> {"min_words": r"\bmin_words\b|no sentence"}
Summarizer.fit: search.Summarizer().fit(clusters=CLUSTERS, references=SUMMARIES,
    words=8) -> OF_CLUSTERS
Summarizer.predict: search.Summarizer().predict(clusters=CLUSTERS, words=8,
    must=[[(0, 0)], []], never=None) -> OF_CLUSTERS
Summarizer.predict, characters: search.Summarizer().predict(clusters=CLUSTERS,
    characters=40) -> OF_CLUSTERS
Summarizer.predict, own count: search.Summarizer().predict(clusters=CLUSTERS, budget=40,
    count=len) -> OF_CLUSTERS
Summarizer.evaluate: search.Summarizer().evaluate(clusters=CLUSTERS,
    references=SUMMARIES, words=8) -> OF_CLUSTERS
Summarizer.oracle: search.Summarizer().oracle(clusters=CLUSTERS, references=SUMMARIES,
    words=8) -> OF_CLUSTERS
argmetric.search.span_features: search.span_features(x=["a", "cat"], start=0, stop=1)
    -> TOKENS
""",
    globals(),
)


# ------------------------------------------------------------------------- others


def by_threads(**given):
    """A fit that starts no processes, whatever n_jobs is."""
    with parallel_config(backend="threading"):
        return am.MetricClassifier(LogisticRegression(), cv=2, **given).fit(X, X_Y)


def one_row(x, y):
    """A row at a time, as river gives them."""
    model = stream.OnlineClassifier(hash_bits=8)
    model.learn_one(x, y)
    return model.predict_one(x)


STRUCTURES |= calls(
    r"""
MetricClassifier, n_jobs: by_threads(n_jobs=1)
OnlineClassifier.learn_one: one_row(x={"a": 1.0, "b": "text"}, y=True)
    -> {"x": r"\bx\b|feature"}
""",
    globals(),
)
if find_spec("river"):
    STRUCTURES["argmetric.stream.RiverClassifier"] = Call(
        fitted(stream.RiverClassifier, X, X_Y, "sample_weight"),
        CALLS["argmetric.stream.OnlineClassifier"].arguments,
    )
