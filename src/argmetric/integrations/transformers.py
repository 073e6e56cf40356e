"""transformers: metrics for the Trainer, and a rule saved with the model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from argmetric._verbs.decide import evaluate
from argmetric._verbs.tune import MultiLabelRule, Rule, tune
from argmetric.metrics import MetricLike, get_metric


class RuleMetrics:
    """Compute the score at the best threshold and at 0.5, as `compute_metrics`.

    Parameters
    ----------
    metric : str or Metric, default="f1"
        Any metric of the counts.
    average : {"micro", "macro", "samples"}, default="micro"
        How several labels per row are combined. Each label has its own threshold.
    path : str or Path, optional
        Where the rule of the latest evaluation is saved as JSON, such as
        ``"model/rule.json"``. It applies to probabilities. Call ``trainer.evaluate()``
        once the best model is loaded.
    logits : bool, default=True
        Whether predictions are logits: of one sigmoid each, or of a softmax over two
        classes where there are two columns and one label per row.

    Attributes
    ----------
    rule : Rule or MultiLabelRule or None
        Rule of the latest evaluation.

    Examples
    --------
    >>> import numpy as np
    >>> from argmetric.integrations.transformers import RuleMetrics
    >>> metrics = RuleMetrics("f1")
    >>> scores = metrics((np.array([2.0, -1.0, -3.0, -2.0]), np.array([1, 1, 0, 0])))
    >>> scores["best_f1"], round(scores["f1_at_half"], 3)
    (1.0, 0.667)
    """

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        average: str = "micro",
        path: str | Path | None = None,
        logits: bool = True,
    ) -> None:
        self.metric = get_metric(metric)
        self.average, self.path, self.logits = average, path, logits
        self.rule: Rule | MultiLabelRule | None = None

    def __call__(self, prediction: Iterable[object]) -> dict[str, float]:
        """Return the scores of an `EvalPrediction`, or of (predictions, labels)."""
        scores, y = prediction
        p, y = self._read(scores, y)
        settings: dict[str, Any] = {} if p.ndim == 1 else {"average": self.average}
        rule = tune(y, p, self.metric, n_bootstrap=0, **settings)
        assert isinstance(rule, Rule | MultiLabelRule)
        self.rule = rule
        if self.path is not None:
            rule.save(self.path)
        name = self.metric.name
        half = float(evaluate(y, p >= 0.5, self.metric, **settings))
        values = {f"best_{name}": float(rule.score), f"{name}_at_half": half}
        if isinstance(rule, Rule):
            values["threshold"] = rule.threshold
        return values

    def _read(self, scores: object, y: object) -> tuple[Any, Any]:
        """Return probabilities and labels as two vectors or two matrices."""
        if isinstance(scores, tuple):  # the logits, and hidden states behind them
            scores = scores[0]
        x, y = np.asarray(scores, dtype=np.float64), np.asarray(y)
        if x.ndim == 2 and y.ndim == 1 and x.shape[1] <= 2:
            softmax = x.shape[1] == 2 and self.logits
            x = x[:, 1] - x[:, 0] if softmax else x[:, -1]
        if x.shape != y.shape or x.ndim > 2:
            raise ValueError(
                f"labels have shape {y.shape} but predictions have shape {x.shape}: "
                "one score per row, two classes, or a matrix of labels is needed"
            )
        if self.logits:
            with np.errstate(over="ignore"):
                x = 1.0 / (1.0 + np.exp(-x))
        return x, y
