"""Structured outputs by search: taggers, summaries, and SEARN for any task and loss.

Experimental: names and parameters may change in any release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.search._searn._beams import QueueTask as QueueTask
    from argmetric.search._searn._check import TaskReport as TaskReport
    from argmetric.search._searn._check import check_task as check_task
    from argmetric.search._searn._estimators import EstimatorLearner as EstimatorLearner
    from argmetric.search._searn._iterate import History as History
    from argmetric.search._searn._learners import Costing as Costing
    from argmetric.search._searn._learners import LinearLearner as LinearLearner
    from argmetric.search._searn._orders import JointTask as JointTask
    from argmetric.search._searn._orders import LearnedOrder as LearnedOrder
    from argmetric.search._searn._orders import RightToLeft as RightToLeft
    from argmetric.search._searn._policy import Mixture as Mixture
    from argmetric.search._searn._reductions import AllPairs as AllPairs
    from argmetric.search._searn._reductions import OneAgainstAll as OneAgainstAll
    from argmetric.search._searn._searn import Searn as Searn
    from argmetric.search._searn._task import Task as Task
    from argmetric.search._searn._tasks import SequenceLabelling as SequenceLabelling
    from argmetric.search._searn._tasks import token_features as token_features
    from argmetric.search._searn._tasks_chunks import SpanChunking as SpanChunking
    from argmetric.search._searn._tasks_chunks import WordChunking as WordChunking
    from argmetric.search._searn._tasks_chunks import span_features as span_features
    from argmetric.search.corpus.trees import Tree as Tree
    from argmetric.search.corpus.trees import read_trees as read_trees
    from argmetric.search.summaries.rouge import SummaryScores as SummaryScores
    from argmetric.search.summaries.rouge import score_summaries as score_summaries
    from argmetric.search.summaries.summarizer import Summarizer as Summarizer
    from argmetric.search.summaries.summary import Summary as Summary
    from argmetric.search.tagging.labels import Evaluation as Evaluation
    from argmetric.search.tagging.tagger import Tagger as Tagger
    from argmetric.search.tagging.templates import (
        default_templates as default_templates,
    )

if not TYPE_CHECKING:  # a misspelt name is an error for type checkers
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "corpus.trees": ("Tree", "read_trees"),
            "summaries.rouge": ("SummaryScores", "score_summaries"),
            "summaries.summarizer": ("Summarizer",),
            "summaries.summary": ("Summary",),
            "tagging.labels": ("Evaluation",),
            "tagging.tagger": ("Tagger",),
            "tagging.templates": ("default_templates",),
            "_searn._beams": ("QueueTask",),
            "_searn._check": ("TaskReport", "check_task"),
            "_searn._estimators": ("EstimatorLearner",),
            "_searn._iterate": ("History",),
            "_searn._learners": ("Costing", "LinearLearner"),
            "_searn._orders": ("JointTask", "LearnedOrder", "RightToLeft"),
            "_searn._policy": ("Mixture",),
            "_searn._reductions": ("AllPairs", "OneAgainstAll"),
            "_searn._searn": ("Searn",),
            "_searn._task": ("Task",),
            "_searn._tasks": ("SequenceLabelling", "token_features"),
            "_searn._tasks_chunks": ("SpanChunking", "WordChunking", "span_features"),
        },
    )
