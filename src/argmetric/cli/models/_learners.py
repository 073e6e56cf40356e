"""The models that ``argmetric train`` offers, and the matrix that they are trained on.

Numbers stay numbers, NaN where a cell is empty. Of a column of words the frequent ones
get a number each and the rest share one, so that words not seen in training are no
reason to fail.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from argmetric._ground.types import Floats
from argmetric.scale import files

if TYPE_CHECKING:
    from argmetric import MetricClassifier

_MOST_WORDS = 100  # words of a column with a number of their own
_LEAST_ROWS = 2  # a word seen once tells nothing
Learner = Literal["boosting", "logistic", "soft", "expected"]
_ENOUGH_STEPS = 1000
STEP = "classifier"  # of the pipeline; weights go there


class Feature(NamedTuple):
    """A column of the file; `words` of a category have numbers, their places."""

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


class Features(NamedTuple):
    """The columns of the matrix, in order, and others with why they are left out."""

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


def learn_features(table: files.Table, taken: Collection[str | None]) -> Features:
    """Look at every column that is not `taken` for another purpose."""
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
        why = "; ".join(f"{name!r}: {reason}" for name, reason in left_out.items())
        raise files.DataError(
            f"{table.source} has no column to learn from{f' ({why})' if why else ''}"
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
    first = np.argsort(-counts, kind="stable")[:_MOST_WORDS]
    frequent = np.sort(first[counts[first] >= _LEAST_ROWS])
    if not frequent.size:
        return "every word in it is different"
    return Feature(name, "category", tuple(texts[i] for i in frequent))


def check_columns(table: files.Table, features: Features) -> None:
    """Refuse rows that lack a column of the model; more columns are fine."""
    names = [feature.name for feature in features.used]
    free = {name.lower(): name for name in table.names if name not in names}
    lacking = []
    for name in names:
        if name in table.names:
            continue
        near = get_close_matches(name.lower(), free, n=1)
        hint = f" (did you mean {free[near[0]]!r}?)" if near else ""
        lacking.append(f"{name!r}{hint}")
    if lacking:
        what = "a column" if len(lacking) == 1 else f"{len(lacking)} columns"
        raise files.DataError(
            f"{table.source} lacks {what} that the model was trained on: "
            f"{', '.join(lacking)}"
        )
    for name in names:
        files.named_column(table, name)


def build_model(
    kind: Learner, features: Features, metric: str, *, seed: int, **options: Any
) -> MetricClassifier:
    """Return a classifier that is not fitted yet.

    "boosting" grows trees, which take empty cells as they are; "logistic" is a logistic
    regression, after empty cells became medians and all numbers one scale; "soft" and
    "expected" train the same for the metric itself. Options are those of
    `MetricClassifier`.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from argmetric import MetricClassifier

    learner: Any
    if kind == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        learner = HistGradientBoostingClassifier(random_state=seed)
        numbers: Any = "passthrough"
        words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    else:
        # A column may be empty in one fold and not in another
        filled = SimpleImputer(strategy="median", keep_empty_features=True)
        numbers = Pipeline([("filled", filled), ("scaled", StandardScaler())])
        words = OneHotEncoder(handle_unknown="ignore")
    if kind == "logistic":
        from sklearn.linear_model import LogisticRegression

        learner = LogisticRegression(max_iter=_ENOUGH_STEPS)
    elif kind != "boosting":
        from argmetric import MetricLogisticRegression

        learner = MetricLogisticRegression(
            metric,
            objective=kind,
            pos_label=options.get("pos_label"),
            max_iter=_ENOUGH_STEPS,
            random_state=seed,
        )
    columns = [
        ("numbers", numbers, features.places("number")),
        ("words", words, features.places("category")),
    ]
    steps = [("columns", ColumnTransformer(columns)), (STEP, learner)]
    return MetricClassifier(Pipeline(steps), metric, random_state=seed, **options)
