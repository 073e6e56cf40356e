"""Structured outputs by search: taggers, parsers, and SEARN for any task and loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.search._multilabel._tagger import (
        MultiLabelTagger as MultiLabelTagger,
    )
    from argmetric.search._parser import Parser as Parser
    from argmetric.search._searn._check import TaskReport as TaskReport
    from argmetric.search._searn._check import check_task as check_task
    from argmetric.search._searn._costing import Costing as Costing
    from argmetric.search._searn._history import History as History
    from argmetric.search._searn._learners import LinearLearner as LinearLearner
    from argmetric.search._searn._order import LearnedOrder as LearnedOrder
    from argmetric.search._searn._order import RightToLeft as RightToLeft
    from argmetric.search._searn._policy import Mixture as Mixture
    from argmetric.search._searn._queue import QueueTask as QueueTask
    from argmetric.search._searn._reductions import AllPairs as AllPairs
    from argmetric.search._searn._reductions import OneAgainstAll as OneAgainstAll
    from argmetric.search._searn._searn import Searn as Searn
    from argmetric.search._searn._task import Task as Task
    from argmetric.search._searn._tasks import MultiLabel as MultiLabel
    from argmetric.search._searn._tasks import SequenceLabelling as SequenceLabelling
    from argmetric.search._searn._tasks import token_features as token_features
    from argmetric.search._searn._tasks_chunks import SpanChunking as SpanChunking
    from argmetric.search._searn._tasks_chunks import WordChunking as WordChunking
    from argmetric.search._searn._tasks_chunks import span_features as span_features
    from argmetric.search._searn._tasks_joint import JointTask as JointTask
    from argmetric.search._summaries._cluster import Cluster as Cluster
    from argmetric.search._summaries._read import ClusterFiles as ClusterFiles
    from argmetric.search._summaries._read import read_labelled as read_labelled
    from argmetric.search._summaries._read import read_sources as read_sources
    from argmetric.search._summaries._rouge import SummaryScores as SummaryScores
    from argmetric.search._summaries._rouge import score_summaries as score_summaries
    from argmetric.search._summaries._summarizer import Summarizer as Summarizer
    from argmetric.search._summaries._summary import Summary as Summary
    from argmetric.search._tagging._pixels import pixel_pairs as pixel_pairs
    from argmetric.search._tagging._score import Evaluation as Evaluation
    from argmetric.search._tagging._segments_task import SegmentTagger as SegmentTagger
    from argmetric.search._tagging._tagger import Tagger as Tagger
    from argmetric.search._tagging._templates import (
        default_templates as default_templates,
    )
    from argmetric.search._trees import Tree as Tree
    from argmetric.search._trees import TreeScores as TreeScores
    from argmetric.search._trees import read_trees as read_trees
    from argmetric.search._trees import score_trees as score_trees
    from argmetric.search._trees import write_trees as write_trees

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_searn._check": ("TaskReport", "check_task"),
        "_searn._costing": ("Costing",),
        "_searn._history": ("History",),
        "_searn._learners": ("LinearLearner",),
        "_multilabel._tagger": ("MultiLabelTagger",),
        "_searn._order": ("LearnedOrder", "RightToLeft"),
        "_parser": ("Parser",),
        "_tagging._pixels": ("pixel_pairs",),
        "_searn._policy": ("Mixture",),
        "_searn._queue": ("QueueTask",),
        "_searn._reductions": ("AllPairs", "OneAgainstAll"),
        "_summaries._rouge": ("SummaryScores", "score_summaries"),
        "_summaries._summarizer": ("Summarizer",),
        "_summaries._summary": ("Summary",),
        "_tagging._score": ("Evaluation",),
        "_searn._searn": ("Searn",),
        "_tagging._segments_task": ("SegmentTagger",),
        "_tagging._tagger": ("Tagger",),
        "_searn._task": ("Task",),
        "_searn._tasks": ("MultiLabel", "SequenceLabelling", "token_features"),
        "_searn._tasks_chunks": ("SpanChunking", "WordChunking", "span_features"),
        "_searn._tasks_joint": ("JointTask",),
        "_tagging._templates": ("default_templates",),
        "_trees": ("Tree", "TreeScores", "read_trees", "score_trees", "write_trees"),
    },
    for_other_rooms={
        "_summaries._cluster": ("Cluster",),
        "_summaries._read": ("ClusterFiles", "read_labelled", "read_sources"),
    },
)
