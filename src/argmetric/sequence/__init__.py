"""Decode labels that depend on each other, by their expected utility.

Experimental: names and parameters may change in any release.
"""

from argmetric.search.corpus.files import read_sentences, write_sentences
from argmetric.search.corpus.labels import Chunk, Span, read_chunks, write_labels
from argmetric.search.corpus.sentences import Sentence
from argmetric.sequence._choose import Recalibration, recalibrate
from argmetric.sequence._crf import CrfsuiteModel, LinearChainCRF
from argmetric.sequence._crfsuite import standard_features
from argmetric.sequence._decode import SequenceDecision, decode
from argmetric.sequence._decode_spans import SpanDecision, decode_spans
from argmetric.sequence._expectation import (
    Expectation,
    UtilityDistribution,
    VectorExpectation,
    distribution,
    evaluate,
    expectation,
)
from argmetric.sequence._logits import decode_logits
from argmetric.sequence._models import Independent, MarkovChain
from argmetric.sequence._segmentation import (
    BoundarySimilarity,
    Pk,
    WindowDiff,
    WindowUtility,
)
from argmetric.sequence._spans import SpanMarginals, span_marginals, token_model
from argmetric.sequence._utilities import (
    CountUtility,
    Hamming,
    SimpleFunction,
    VectorFunction,
    ZeroOne,
)

__all__ = [
    "BoundarySimilarity", "Chunk", "CountUtility", "CrfsuiteModel", "Expectation",
    "Hamming", "Independent", "LinearChainCRF", "MarkovChain", "Pk",
    "Recalibration", "Sentence", "SequenceDecision", "SimpleFunction", "Span",
    "SpanDecision", "SpanMarginals", "UtilityDistribution", "VectorExpectation",
    "VectorFunction", "WindowDiff", "WindowUtility", "ZeroOne", "decode",
    "decode_logits", "decode_spans", "distribution", "evaluate", "expectation",
    "read_chunks", "read_sentences", "recalibrate", "span_marginals",
    "standard_features", "token_model", "write_labels", "write_sentences",
]  # fmt: skip
