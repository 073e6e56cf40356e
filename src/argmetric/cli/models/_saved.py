"""Models in files that can be opened without running anything that is in them.

A model is a file of skops: arrays, and a description of the objects around them. Only
types that are named here are made from it, none before all of them are known, and what
compiled code would follow blindly is checked.
"""

from __future__ import annotations

import copy
import io
import warnings
import zipfile
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from argmetric import __version__
from argmetric._ground.arguments import install
from argmetric._ground.saving import check_version, parse_json
from argmetric._ground.types import AnyArray, Floats
from argmetric._ground.whole_files import read_whole, written_whole
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
    """Columns that a model uses, in order, and why each other one is left out."""

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
    """Return the features of a table: all columns but those already `taken`."""
    used, left_out = [], {}
    for name in table.names:
        if name in taken:
            continue
        files.named_column(table, name)  # a name that two columns have is refused
        found = _feature_of(table, name)
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


def _feature_of(table: files.Table, name: str) -> Feature | str:
    """Return a column as a feature, or the reason why it cannot be one."""
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

    words = OneHotEncoder(handle_unknown="ignore", sparse_output=kind != "boosting")
    # A column may be empty in one fold and not in another
    filled = SimpleImputer(strategy="median", keep_empty_features=True)
    numbers: Any = Pipeline([("filled", filled), ("scaled", StandardScaler())])
    learner: Any
    if kind == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        learner = HistGradientBoostingClassifier(random_state=seed)
        numbers = "passthrough"
    elif kind == "logistic":
        from sklearn.linear_model import LogisticRegression

        learner = LogisticRegression(max_iter=_ENOUGH_STEPS)
    else:
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


_MARK = "argmetric model"
_FORMAT = 1
_SCHEMA = "schema.json"
_ZIP = b"PK"
_SHOWN_TYPES = 5

# Of scikit-learn, what `argmetric train` makes and nothing else; a dot at the end
# stands for all that skops itself trusts below that name
_LEARNED = (
    "sklearn._loss.",
    "sklearn.compose._column_transformer.ColumnTransformer",
    "sklearn.ensemble._hist_gradient_boosting.",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._data.StandardScaler",
    "sklearn.preprocessing._encoders.OneHotEncoder",
    "sklearn.preprocessing._function_transformer.FunctionTransformer",
    "sklearn.preprocessing._label.LabelEncoder",
)
# skops does not trust trees, since their nodes are followed blindly: see _check_trees
_TREES = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
_ARRAYS = "numpy.dtype"


class SavedModel(NamedTuple):
    """A fitted model and what the columns of a file mean to it.

    `target` is the column that it predicts. Those `ignored` were there in training but
    are no features. `kind` is what `--model` said, `made_by` the version of
    scikit-learn.
    """

    model: MetricClassifier
    features: Features
    target: str
    ignored: list[str]
    kind: str
    made_by: str

    @property
    def classes(self) -> tuple[Any, Any]:
        names = self.model.classes_.tolist()
        place = names.index(self.model.rule_.pos_label)
        return names[1 - place], names[place]


def save_model(saved: SavedModel, path: str) -> None:
    """Write a model to a file, which is replaced whole or not at all."""
    bare: Any = copy.copy(saved.model)
    # As their own plain values, which are checked when they are read
    bare.rule_ = bare.rule_.to_dict()
    bare.calibrator_ = bare.calibrator_.to_dict()
    bare.check_ = None  # it was for those who trained
    used = [{**one._asdict(), "words": list(one.words)} for one in saved.features.used]
    content = {
        "kind_of_file": _MARK,
        "format": _FORMAT,
        "version": __version__,
        **saved._asdict(),
        "model": bare,
        "features": used,
    }
    data = skops_io().dumps(content, compression=zipfile.ZIP_DEFLATED)
    with written_whole(path) as file:
        file.write(data)


def load_model(path: str) -> SavedModel:
    """Read a model that `argmetric train` wrote; anything else is refused unopened."""
    from argmetric import Calibrator, MetricClassifier, MetricLogisticRegression, Rule

    try:
        data = read_whole(path)
    except OSError as error:
        raise files.DataError(f"cannot read {path}: {error.strerror}") from None
    if not data.startswith(_ZIP):
        raise files.DataError(
            f"{path} is not a model of argmetric train (a file of skops). A pickle is "
            "never opened: that would run whatever code is in it"
        )
    skops = skops_io()
    own = MetricClassifier, MetricLogisticRegression
    trusted = [_TREES, _ARRAYS, *(f"{o.__module__}.{o.__qualname__}" for o in own)]
    try:
        _refuse(path, _sklearn_types(data))
        _refuse(path, {*skops.get_untrusted_types(data=data)} - {*trusted})
        with warnings.catch_warnings():
            # Said once and in our own words, not for every part of the model
            warnings.filterwarnings("ignore", message=".*unpickle estimator")
            content = skops.loads(data, trusted=trusted)
        if not isinstance(content, dict) or content.get("kind_of_file") != _MARK:
            raise ValueError("it holds something else")
        check_version(content["format"], _FORMAT, "it", by=str(content.get("version")))
        model = content["model"]
        if not isinstance(model, MetricClassifier):
            raise ValueError(f"it holds a {type(model).__name__}")
        for part in _parts(model):
            _check_trees(part)
        model.calibrator_ = Calibrator.from_dict(vars(model)["calibrator_"])
        model.rule_ = Rule.from_dict(vars(model)["rule_"])
        if type(model.rule_) is not Rule:
            raise ValueError("its rule is not one of two classes")
        used = tuple(
            Feature(str(one["name"]), one["kind"], tuple(map(str, one["words"])))
            for one in content["features"]
        )
        return SavedModel(
            model,
            Features(used, {}),
            str(content["target"]),
            [str(name) for name in content["ignored"]],
            str(content["kind"]),
            str(content["made_by"]),
        )
    except files.DataError:
        raise
    except Exception as error:  # whatever a file that was tampered with may cause
        reason = " ".join(str(error).split())
        raise files.DataError(
            f"{path} is not a whole model of argmetric train: {reason}"
        ) from error


def sklearn_version() -> str:
    import sklearn

    return str(sklearn.__version__)


def skops_io() -> Any:
    """Return the module skops.io; say how to install it where it is not."""
    try:
        import skops.io
    except ImportError:
        raise files.DataError(
            f"models are kept in files of skops: {install('models')}"
        ) from None
    return skops.io


def _sklearn_types(data: bytes) -> set[str]:
    """Return the names of scikit-learn in a file that no model of ours has."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        waiting = [parse_json(archive.read(_SCHEMA))]
    names: set[str] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if "__class__" in node:
                names.add(f"{node.get('__module__')}.{node['__class__']}")
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    below = tuple(known for known in _LEARNED if known.endswith("."))
    ours = {name for name in names if name in _LEARNED or name.startswith(below)}
    return {name for name in names - ours if name.startswith("sklearn.")}


def _refuse(path: str, names: set[str]) -> None:
    """Refuse a file of a model that holds types of other models."""
    if not names:
        return
    shown = ", ".join(sorted(names)[:_SHOWN_TYPES])
    more = f" and {len(names) - _SHOWN_TYPES} more" if len(names) > _SHOWN_TYPES else ""
    raise files.DataError(
        f"{path} holds types that no model of argmetric train has: {shown}{more}; "
        "nothing in it was run"
    )


def _parts(whole: object) -> Iterator[Any]:
    """Yield an object and all objects that it holds, at any depth."""
    seen: set[int] = set()
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, (str, bytes, np.ndarray, type)):
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, (list, tuple, set)):
            waiting.extend(part)
        elif hasattr(part, "__dict__"):
            yield part
            waiting.extend(vars(part).values())


def _check_trees(part: object) -> None:
    """Refuse a boosted model whose nodes lead out of a tree, or round in circles.

    Compiled code follows the numbers in them without looking. Children come after
    their parent, which also means that every path ends.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    flags = getattr(part, "is_categorical_", None)
    if flags is not None and np.any(flags):
        raise ValueError("its trees are none of argmetric train's")
    if not isinstance(part, HistGradientBoostingClassifier):
        return
    for tree in _parts(part):
        if f"{type(tree).__module__}.{type(tree).__qualname__}" != _TREES:
            continue
        if not _is_sound(tree.nodes, part.n_features_in_):
            raise ValueError("its trees are damaged")


def _is_sound(nodes: AnyArray, n_features: int) -> bool:
    """Return whether nodes form a tree: known features, children after parents."""
    if nodes.ndim != 1 or nodes.size == 0 or nodes["is_categorical"].any():
        return False
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    feature = nodes["feature_idx"][inner]
    sound = bool(((feature >= 0) & (feature < n_features)).all())
    for side in ("left", "right"):
        child = nodes[side][inner].astype(np.int64)
        sound &= bool(((child > inner) & (child < nodes.size)).all())
    return sound
