"""The model of a run, by its options, and what its classes are called."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from argmetric._files.blocks import RowFormat
from argmetric._results.saving import parsed
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric.stream import OnlineClassifier


def new_model(
    metric: Metric, options: dict[str, Any], format: RowFormat, seed: int
) -> OnlineClassifier:
    """Return a model that has learned nothing yet."""
    from argmetric.stream import OnlineClassifier

    return OnlineClassifier(
        metric,
        rule=options["rule"] or "histogram",
        learner=options["learner"],
        step=options["step"],
        memory=options["memory"],
        # names are hashed by the reader of JSONL
        hash_bits=options["hash_bits"] if format == "svmlight" else None,
        random_state=seed,
    )


def class_names(pos_label: str | None, neg_label: str | None) -> tuple[str, str]:
    """Return the classes as JSON: 0 and 1, unless both were named.

    A class that is found on the way may be needed before it is known.
    """
    if pos_label is None or neg_label is None:
        return "0", "1"
    return _as_json(neg_label), _as_json(pos_label)


def _as_json(label: str) -> str:
    try:
        number = parsed(label)
    except ValueError:
        number = label
    return json.dumps(label if isinstance(number, list | dict) else number)
