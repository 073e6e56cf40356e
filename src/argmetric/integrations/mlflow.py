"""MLflow: log a rule as a model of its own, or behind a model that returns scores."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import argmetric
from argmetric._ground.lazy import load_module
from argmetric._verbs.tune import MultiLabelRule, Rule
from argmetric.classes import MultiClassRule

_CODE = """\
import mlflow
from argmetric.integrations.mlflow import predictor

mlflow.models.set_model(predictor())
"""


def log_rule(
    rule: Rule | MultiLabelRule | MultiClassRule,
    name: str = "rule",
    *,
    model: str | None = None,
    **settings: object,
) -> Any:
    """Log a pyfunc model that labels rows by a rule, and return what MLflow returns.

    The rule and its calibrator are logged as JSON; no pickle is written.

    Parameters
    ----------
    rule : Rule, MultiLabelRule or MultiClassRule
        The rule that `predict` applies.
    name : str, default="rule"
        Name of the logged model.
    model : str, optional
        URI of a logged model that returns the scores, such as "models:/churn/3". Its
        `predict` must return probabilities: log a scikit-learn model with
        ``pyfunc_predict_fn="predict_proba"``. By default `predict` takes the scores.
    **settings
        Of `mlflow.pyfunc.log_model`, such as `registered_model_name`.

    Returns
    -------
    mlflow.models.model.ModelInfo
    """
    pyfunc = load_module("mlflow.pyfunc")
    with tempfile.TemporaryDirectory() as folder:
        path, code = Path(folder, "rule.json"), Path(folder, "rule_model.py")
        code.write_text(_CODE)
        rule.save(path)
        artifacts = {"rule": str(path)} | ({} if model is None else {"model": model})
        return pyfunc.log_model(
            name=name,
            python_model=str(code),
            artifacts=artifacts,
            **{"pip_requirements": [f"argmetric=={argmetric.__version__}"], **settings},
        )


def predictor() -> object:
    """Return a pyfunc model that loads the rule, and any model behind it."""
    pyfunc = load_module("mlflow.pyfunc")

    class RulePredictor(pyfunc.PythonModel):  # type: ignore[misc, name-defined]
        def load_context(self, context: Any) -> None:
            self.rule = Rule.load(context.artifacts["rule"])
            path = context.artifacts.get("model")
            self.model = None if path is None else pyfunc.load_model(path)

        # MLflow takes type hints for a schema.
        def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]
            before = self.model
            output = model_input if before is None else before.predict(model_input)
            scores = np.asarray(output, dtype=np.float64)
            like_labels = scores.ndim == 1 and np.isin(scores, (0, 1)).all()
            if before is not None and like_labels:
                warnings.warn(
                    "the model returns only 0 and 1, which look like labels: log it "
                    "with pyfunc_predict_fn='predict_proba'",
                    UserWarning,
                    stacklevel=2,
                )
            if isinstance(self.rule, Rule) and scores.ndim == 2:
                scores = scores[:, -1]  # the only column, or that of the positives
            return self.rule.apply(scores)

    return RulePredictor()
