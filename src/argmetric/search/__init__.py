"""Structured outputs by search: taggers, and SEARN for any task and loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.search._check import TaskReport as TaskReport
    from argmetric.search._check import check_task as check_task
    from argmetric.search._costing import Costing as Costing
    from argmetric.search._history import History as History
    from argmetric.search._learners import LinearLearner as LinearLearner
    from argmetric.search._multilabel import MultiLabelTagger as MultiLabelTagger
    from argmetric.search._order import LearnedOrder as LearnedOrder
    from argmetric.search._order import RightToLeft as RightToLeft
    from argmetric.search._pixels import pixel_pairs as pixel_pairs
    from argmetric.search._policy import Mixture as Mixture
    from argmetric.search._queue import QueueTask as QueueTask
    from argmetric.search._reductions import AllPairs as AllPairs
    from argmetric.search._reductions import OneAgainstAll as OneAgainstAll
    from argmetric.search._score import Evaluation as Evaluation
    from argmetric.search._searn import Searn as Searn
    from argmetric.search._segments_task import SegmentTagger as SegmentTagger
    from argmetric.search._tagger import Tagger as Tagger
    from argmetric.search._task import Task as Task
    from argmetric.search._tasks import MultiLabel as MultiLabel
    from argmetric.search._tasks import SequenceLabelling as SequenceLabelling
    from argmetric.search._tasks import token_features as token_features
    from argmetric.search._tasks_chunks import SpanChunking as SpanChunking
    from argmetric.search._tasks_chunks import WordChunking as WordChunking
    from argmetric.search._tasks_chunks import span_features as span_features
    from argmetric.search._tasks_joint import JointTask as JointTask
    from argmetric.search._templates import default_templates as default_templates

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_check": ("TaskReport", "check_task"),
        "_costing": ("Costing",),
        "_history": ("History",),
        "_learners": ("LinearLearner",),
        "_multilabel": ("MultiLabelTagger",),
        "_order": ("LearnedOrder", "RightToLeft"),
        "_pixels": ("pixel_pairs",),
        "_policy": ("Mixture",),
        "_queue": ("QueueTask",),
        "_reductions": ("AllPairs", "OneAgainstAll"),
        "_score": ("Evaluation",),
        "_searn": ("Searn",),
        "_segments_task": ("SegmentTagger",),
        "_tagger": ("Tagger",),
        "_task": ("Task",),
        "_tasks": ("MultiLabel", "SequenceLabelling", "token_features"),
        "_tasks_chunks": ("SpanChunking", "WordChunking", "span_features"),
        "_tasks_joint": ("JointTask",),
        "_templates": ("default_templates",),
    },
)
