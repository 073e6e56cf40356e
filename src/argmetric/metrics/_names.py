"""Names of the metrics: ours, those of other libraries, and those in files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NoReturn

from argmetric._ground.arguments import shown
from argmetric._ground.plain import plain, restore_values
from argmetric._ground.plugins import load_plugin, plugin_names
from argmetric.metrics import _fractional, _rates
from argmetric.metrics._base import CustomMetric, Metric
from argmetric.metrics._fractional import FBeta
from argmetric.metrics._missed import MissedPositives, with_missed


def convention_in_words(convention: str, zero_division: float) -> str:
    """Say which value a metric takes for 0/0.

    Parameters
    ----------
    convention : str
        As `Metric.convention` has it.
    zero_division : float
        As `Metric.zero_division` has it.

    Examples
    --------
    >>> convention_in_words("k = t = 0: zero_division", 1.0)
    '0/0 counts as 1'
    """
    if convention == "none needed":
        return "always defined"
    if convention and "zero_division" not in convention:
        return convention
    if math.isnan(zero_division):
        return "0/0 is left out"
    return f"0/0 counts as {zero_division:g}"


# Names of scikit-learn, without "_score", and what they are called here.
_OURS = {
    "f1": '"f1"',
    "fbeta": 'FBeta(beta), or a name such as "f2"',
    "jaccard": '"jaccard"',
    "matthews_corrcoef": '"mcc"',
    "balanced_accuracy": '"balanced_accuracy"',
    "cohen_kappa": '"kappa"',
    "accuracy": '"accuracy"',
    "precision": '"precision"',
    "recall": '"recall"',
    "zero_one_loss": '"accuracy"',
    "hamming_loss": '"accuracy"',
}
_RANKINGS = {
    *("auc", "roc_auc", "auroc", "pr_auc", "auc_pr", "auprc", "average_precision"),
    *("ap", "map", "ndcg", "dcg", "mrr", "top_k_accuracy", "gini"),
    *("label_ranking_average_precision", "label_ranking", "coverage_error"),
    *("roc_curve", "precision_recall_curve"),
}
_PROBABILITIES = {
    *("log_loss", "logloss", "cross_entropy", "binary_crossentropy", "deviance"),
    *("brier", "d2_log_loss", "d2_brier", "ece", "calibration_error"),
    *("mse", "rmse", "mae", "r2", "mean_squared_error", "mean_absolute_error"),
}
_AVERAGES = "macro|micro|samples|weighted|binary"
_AVERAGED = re.compile(rf"(\w+?)_({_AVERAGES})|({_AVERAGES})_(\w+)")
_OUR_AVERAGES = "macro", "micro", "samples"
_F_NAMES = "f_score", "fscore", "f_measure", "fmeasure", "f_beta"


def averaged_name(name: str) -> tuple[str, str] | None:
    """Return the metric and the average of a name such as f1_macro; None if it is none.

    Examples
    --------
    >>> averaged_name("Macro F1")
    ('f1', 'macro')
    """
    found = _AVERAGED.fullmatch(_snake(name))
    if found is None:
        return None
    metric, average = found[1] or found[4], found[2] or found[3]
    metric = metric.removesuffix("_score")
    return (metric, average) if ALIASES.get(metric, metric) in NAMED else None


def _snake(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def refuse_foreign_name(name: str) -> None:
    """Refuse the name of a score that has no labels to choose, or of an average."""
    plain = _snake(name).removeprefix("neg_")
    refuse_ranking(re.sub(r"_(ovr|ovo)(_weighted)?$", "", plain), name)
    if averaged := averaged_name(name):
        metric, average = averaged
        how = f" and average={average!r}" if average in _OUR_AVERAGES else ""
        raise ValueError(f"unknown metric {name!r}: pass metric={metric!r}{how}")


def refuse_ranking(plain: str, name: str) -> None:
    """Refuse a score of the order or of the probabilities, `_score` or `_loss` too."""
    stems = {plain, plain.removesuffix("_score"), plain.removesuffix("_loss")}
    stems.add(plain.removesuffix("_loss").removesuffix("_score"))
    for names, judged in (
        (_RANKINGS, "the order of the scores"),
        (_PROBABILITIES, "the probabilities themselves"),
    ):
        if not stems.isdisjoint(names):
            raise ValueError(
                f"the metric {name!r} judges {judged}: there are no labels to choose "
                "for it. Name the metric of the labels, such as 'f1' or 'mcc'"
            )


def refuse_foreign_function(metric: object) -> None:
    """Refuse a metric or scorer of scikit-learn; say its name in this package."""
    function = getattr(metric, "func", metric)  # of a partial
    function = getattr(function, "_score_func", function)  # of a scorer
    library = (getattr(function, "__module__", None) or "").partition(".")[0]
    if library == "argmetric" and hasattr(metric, "metric"):
        raise TypeError(
            f"metric is a scorer, {type(metric).__name__}: pass the metric that it was "
            "made with"
        )
    if library != "sklearn":
        return
    name = str(getattr(function, "__name__", type(function).__name__))
    refuse_ranking(name, name)
    ours = _OURS.get(name.removesuffix("_score"))
    way_out = f"pass metric={ours}" if ours else "pass a name, such as 'f1'"
    raise TypeError(
        f"metric is {name} of scikit-learn, a function of labels; here a metric is a "
        f"function of counts: {way_out}"
    )


CLASSES: dict[str, type[Metric]] = {
    name: kind
    for module in (_fractional, _rates)
    for name, kind in vars(module).items()
    if isinstance(kind, type)
    and issubclass(kind, Metric)
    and kind.__module__ == module.__name__
    and not name.startswith("_")
}
_PLAIN = {kind.short_name: kind for kind in CLASSES.values() if kind.short_name}

NAMED: dict[str, Callable[[], Metric]] = {
    "f1": lambda: FBeta(1.0),
    "f2": lambda: FBeta(2.0),
    "f0.5": lambda: FBeta(0.5),
    **_PLAIN,
}
PLUGINS: Literal["argmetric.metrics"] = "argmetric.metrics"
ALIASES = {"f": "f1"} | {
    alias: name for name, kind in _PLAIN.items() for alias in kind.aliases
}


LARGEST_NAMED_BETA = 10  # "f11" is rather a slip of the hand

MetricLike = str | Metric | Callable[..., Any]


def metric_names() -> tuple[str, ...]:
    """Return the names of the catalogue, and of metrics of other packages.

    "f" with a positive number up to 10 also works. A package adds a metric by an entry
    point of the group ``argmetric.metrics``.

    Returns
    -------
    tuple of str
        Names that `get_metric` takes.

    Examples
    --------
    >>> import argmetric as am
    >>> am.metric_names()[:4]
    ('f1', 'f2', 'f0.5', 'jaccard')
    """
    return (*NAMED, *(name for name in plugin_names(PLUGINS) if name not in NAMED))


def get_metric(metric: MetricLike, *, zero_division: float | None = None) -> Metric:
    """Return the metric for a name, an instance or a function of the counts.

    Parameters
    ----------
    metric : str, Metric or callable
        A name of the catalogue, an instance, or a function of (tp, k, t, n).
    zero_division : {0.0, 1.0, nan}, optional
        The value of 0/0; by default the metric's own. One that would change nothing,
        such as 1 for "mcc", is refused.

    Returns
    -------
    Metric
        The metric, with this value of 0/0.

    Raises
    ------
    ValueError
        For an unknown name, one of a score without labels to choose (AUC, log loss),
        and a `zero_division` that would change nothing.
    TypeError
        For anything else, also a metric or scorer of scikit-learn.

    Examples
    --------
    >>> import argmetric as am
    >>> am.get_metric("f0.7")
    FBeta(beta=0.7, zero_division=0.0)
    """
    if isinstance(metric, str):
        metric = _from_name(metric)
    elif isinstance(metric, type) and issubclass(metric, Metric):
        metric = metric()
    elif not isinstance(metric, Metric):
        if not callable(metric):
            raise TypeError(
                "metric must be a name, a Metric or a function of (tp, k, t, n), "
                f"not {type(metric).__name__}; it comes after scores and labels, as "
                "in decide(p, metric) and tune(y, p, metric)"
            )
        refuse_foreign_function(metric)
        metric = CustomMetric(metric)
    found = metric.with_zero_division(zero_division)
    if zero_division is not None:
        metric._refuse_ignored(float(zero_division))
    return found


@lru_cache(maxsize=256)  # metrics are immutable, and services name one per request
def _from_name(name: str) -> Metric:
    """Return the metric of a name, an alias, F-beta with any beta, or a plugin."""
    plain = name.strip().lower()
    key = plain.replace("-", "_").replace(" ", "_")
    key = ALIASES.get(key, key)
    if key in NAMED:
        return NAMED[key]()
    beta = re.fullmatch(r"f((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)", plain)
    if beta and 0 < float(beta[1]) < math.inf:
        if float(beta[1]) > LARGEST_NAMED_BETA:
            raise ValueError(
                f"the metric {shown(name)} would be an F-measure with beta={beta[1]}: "
                f"above {LARGEST_NAMED_BETA} pass FBeta({beta[1]}); did you mean 'f1'?"
            )
        return FBeta(float(beta[1]))
    if (added := _of_plugin(key)) is not None:
        return added
    if key in ("linear_kappa", "quadratic_kappa"):
        raise ValueError(
            f"{key} is for rows of one of several classes in order: use "
            "argmetric.classes, or --one-label; for two classes it is kappa"
        )
    refuse_foreign_name(name)
    import difflib  # for what is misspelt alone

    stem = key.removesuffix("_score")
    known = [*metric_names(), *ALIASES]
    near = difflib.get_close_matches(stem, known, n=3, cutoff=0.7)
    if stem in NAMED:
        near = [stem]
    elif stem == "fbeta" or key in _F_NAMES:
        near = ["f1", "f2", "f0.5"]
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
    raise ValueError(
        f"unknown metric {shown(name)}{hint} Known names: {', '.join(metric_names())}, "
        f'and "f<beta>" for a beta up to {LARGEST_NAMED_BETA}'
    )


def _of_plugin(name: str) -> Metric | None:
    """Return the metric that another package adds under a name, or None."""
    found = load_plugin(PLUGINS, name)
    if found is None:
        return None
    if not isinstance(found, Metric | type):
        return CustomMetric(found, name)
    metric = get_metric(found)
    if metric.name != name:
        raise ValueError(
            f"the metric {name!r} of {PLUGINS} calls itself {metric.name!r}: both must "
            "be the same"
        )
    return metric


@dataclass(frozen=True)
class MissingFunction:
    """Placeholder of a user's function, of which a file holds the name only."""

    name: str

    def __call__(self, *_: object) -> NoReturn:
        raise RuntimeError(
            f"the metric {self.name!r} is a function that a file cannot hold: the rule "
            "applies without it, but to evaluate the metric pass the function again"
        )


def metric_to_dict(metric: Metric) -> dict[str, Any]:
    """Return class and parameters; only the name of a user's function."""
    if isinstance(metric, _rates.Utility) and metric._by_rows:
        # Amounts of other rows: their mean is kept
        metric = metric._of_means()
    head: dict[str, Any] = {"class": type(metric).__name__, "name": metric.name}
    if isinstance(metric, MissedPositives):
        missed = metric.missed
        head |= {"missed": list(missed) if isinstance(missed, tuple) else missed}
        return head | {"metric": metric_to_dict(metric.metric)}
    if CLASSES.get(type(metric).__name__) is not type(metric):
        return {
            "class": "CustomMetric",
            "name": metric.name,
            "greater_is_better": metric.greater_is_better,
            "zero_division": plain(metric.zero_division),
        }
    return head | {name: plain(x) for name, x in metric._parameters().items()}


def metric_from_dict(values: dict[str, Any]) -> Metric:
    """Return the metric of `metric_to_dict`; a lost function fails when called."""
    if not isinstance(values, dict) or not {"class", "name"} <= set(values):
        raise ValueError(f"this is no saved metric: {shown(values)}")
    known = {key: restore_values(x) for key, x in values.items() if key != "class"}
    kind = values["class"]
    if kind == "CustomMetric":
        if (added := _of_plugin(str(known["name"]))) is not None:
            return added.with_zero_division(known["zero_division"])
        function = MissingFunction(str(known["name"]))
        return CustomMetric(function, **known)
    if kind == "MissedPositives":
        missed = known["missed"]
        pair = tuple(missed) if isinstance(missed, list) else missed
        return with_missed(metric_from_dict(values["metric"]), pair)
    if kind not in CLASSES:
        raise ValueError(
            f"no metric of the class {kind!r} is known here: was the file written by a "
            "later version?"
        )
    del known["name"]
    # earlier versions wrote values of 0/0 that the metric does not obey
    zero_division = known.pop("zero_division", None)
    try:
        return CLASSES[kind](**known).with_zero_division(zero_division)
    except TypeError as error:
        raise ValueError(
            f"the saved metric {kind} has odd parameters: {error}"
        ) from None
