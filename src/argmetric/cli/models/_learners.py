"""The models that ``argmetric train`` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from argmetric.cli.models._features import Features

if TYPE_CHECKING:
    from argmetric import MetricClassifier

Learner = Literal["boosting", "logistic", "soft", "expected"]
_ENOUGH_STEPS = 1000
STEP = "classifier"  # of the pipeline; weights go there


def build_model(
    kind: Learner, features: Features, metric: str, *, seed: int, **options: Any
) -> MetricClassifier:
    """Return a classifier that is not fitted yet.

    Parameters
    ----------
    kind : str
        "boosting" grows trees, which take empty cells as they are; "logistic" is a
        logistic regression, after empty cells became medians and all numbers one
        scale; "soft" and "expected" train the same for the metric itself.
    features : Features
        The columns of the matrix.
    metric : str
        The name of the metric.
    seed : int
        For all that is drawn.
    **options
        Of `MetricClassifier`.
    """
    from sklearn.pipeline import Pipeline

    from argmetric import MetricClassifier

    columns = _trees_columns(features) if kind == "boosting" else _scaled(features)
    steps = [("columns", columns), (STEP, _classifier(kind, metric, seed, options))]
    return MetricClassifier(Pipeline(steps), metric, random_state=seed, **options)


def _classifier(kind: Learner, metric: str, seed: int, options: dict[str, Any]) -> Any:
    if kind == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(random_state=seed)
    if kind == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=_ENOUGH_STEPS)
    from argmetric import MetricLogisticRegression

    return MetricLogisticRegression(
        metric,
        objective=kind,
        pos_label=options.get("pos_label"),
        max_iter=_ENOUGH_STEPS,
        random_state=seed,
    )


def _trees_columns(features: Features) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer(
        [
            ("numbers", "passthrough", features.places("number")),
            ("words", words, features.places("category")),
        ]
    )


def _scaled(features: Features) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    # A column may be empty in one fold and not in another
    filled = SimpleImputer(strategy="median", keep_empty_features=True)
    numbers = Pipeline([("filled", filled), ("scaled", StandardScaler())])
    return ColumnTransformer(
        [
            ("numbers", numbers, features.places("number")),
            (
                "words",
                OneHotEncoder(handle_unknown="ignore"),
                features.places("category"),
            ),
        ]
    )
