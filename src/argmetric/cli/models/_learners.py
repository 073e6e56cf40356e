"""The models that ``argmetric train`` offers, and the matrix that they are trained on.

Numbers stay numbers, NaN where a cell is empty. Of a column of words the frequent ones
get a number each and the rest share one, so that words not seen in training are no
reason to fail.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from argmetric import _files as files
from argmetric._input.types import Floats, Integers

if TYPE_CHECKING:
    from argmetric import MetricClassifier

_MOST_WORDS = 100  # words of a column with a number of their own
_LEAST_ROWS = 2  # a word seen once tells nothing
Learner = Literal["boosting", "logistic", "soft", "expected"]
_ENOUGH_STEPS = 1000
STEP = "classifier"  # of the pipeline; weights go there


@dataclass(frozen=True)
class Feature:
    """One column of the matrix.

    Attributes
    ----------
    name : str
        The column of the file.
    kind : str
        "number" or "category".
    words : tuple of str
        The words of a category with numbers of their own: their places.
    """

    name: str
    kind: Literal["number", "category"]
    words: tuple[str, ...] = ()

    def column(self, table: files.Table) -> Floats:
        """Return the values of the column; NaN where there is none."""
        if self.kind == "number":
            return files.sparse_numbers(table, self.name)
        codes, texts = files.categories(table, self.name)
        place = {word: float(i) for i, word in enumerate(self.words)}
        rest = float(len(self.words))
        of_text = np.array([*(place.get(text, rest) for text in texts), np.nan])
        return np.asarray(of_text[codes])  # -1, no text, is the last


@dataclass(frozen=True)
class Features:
    """All columns of the matrix, in order, and those of the file that are in none.

    Attributes
    ----------
    used : tuple of Feature
        What the model sees.
    left_out : dict
        Columns that say nothing to a model, with the reason.
    """

    used: tuple[Feature, ...]
    left_out: dict[str, str]

    def places(self, kind: Literal["number", "category"]) -> list[int]:
        """Return the numbers of the columns of one kind."""
        return [i for i, feature in enumerate(self.used) if feature.kind == kind]

    def matrix(self, table: files.Table) -> Floats:
        """Return the rows of a file as the model takes them."""
        X = np.empty((table.n_rows, len(self.used)))
        for i, feature in enumerate(self.used):
            X[:, i] = feature.column(table)
        return X

    def to_list(self) -> list[dict[str, Any]]:
        """Return the columns as plain values."""
        return [{**asdict(one), "words": list(one.words)} for one in self.used]

    @classmethod
    def from_list(cls, values: Sequence[dict[str, Any]]) -> Features:
        """Return the columns that `to_list` described."""
        used = tuple(
            Feature(str(one["name"]), one["kind"], tuple(map(str, one["words"])))
            for one in values
        )
        return cls(used, {})


def learn_features(table: files.Table, taken: Collection[str | None]) -> Features:
    """Look at every column that serves no other purpose.

    Parameters
    ----------
    table : Table
        The rows to train on.
    taken : collection of str or None
        Columns that are no features: target, weight, groups, dropped ones.
    """
    used, left_out = [], {}
    for name in table.names:
        if name in taken:
            continue
        files.named_column(table, name)  # a name that two columns have is refused
        found = _learned(table, name)
        if isinstance(found, Feature):
            used.append(found)
        else:
            left_out[name] = found
    if not used:
        raise files.DataError(
            f"{table.source} has no column to learn from{_why(left_out)}"
        )
    return Features(tuple(used), left_out)


def _learned(table: files.Table, name: str) -> Feature | str:
    """Return a feature, or why there is none."""
    kind = files.kind_of(table, name)
    if kind == "number":
        return Feature(name, "number")
    if kind == "empty":
        return "it is empty"
    if kind == "other":
        type_ = table.columns.column(table.names.index(name)).type
        return f"it holds {type_}, neither numbers nor words"
    codes, texts = files.categories(table, name)
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    frequent = _frequent(counts)
    if not frequent.size:
        return "every word in it is different"
    return Feature(name, "category", tuple(texts[i] for i in frequent))


def _frequent(counts: npt.NDArray[np.intp]) -> Integers:
    """Return the places of the most frequent words, in their order."""
    first = np.argsort(-counts, kind="stable")[:_MOST_WORDS]
    return np.sort(first[counts[first] >= _LEAST_ROWS])


def check_columns(table: files.Table, features: Features) -> None:
    """Refuse rows that lack a column of the model; more columns are fine."""
    names = [feature.name for feature in features.used]
    lacking = [name for name in names if name not in table.names]
    if lacking:
        free = {name.lower(): name for name in table.names if name not in names}
        shown = ", ".join(f"{name!r}{_hint(name, free)}" for name in lacking)
        what = "a column" if len(lacking) == 1 else f"{len(lacking)} columns"
        raise files.DataError(
            f"{table.source} lacks {what} that the model was trained on: {shown}"
        )
    for name in names:
        files.named_column(table, name)


def _hint(name: str, free: dict[str, str]) -> str:
    near = get_close_matches(name.lower(), free, n=1)
    return f" (did you mean {free[near[0]]!r}?)" if near else ""


def _why(left_out: dict[str, str]) -> str:
    reasons = [f"{name!r}: {reason}" for name, reason in left_out.items()]
    return f" ({'; '.join(reasons)})" if reasons else ""


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
