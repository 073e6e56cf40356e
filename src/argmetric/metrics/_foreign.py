"""What people pass for a metric that is none: scorers, rankings, other libraries."""

from __future__ import annotations

import re
from typing import Any

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
_AVERAGED = re.compile(r"(f1|jaccard|precision|recall)_(macro|micro|samples)")


def refuse_foreign_name(name: str) -> None:
    """Refuse the name of a score that has no labels to choose, or of an average."""
    plain = re.sub(r"[\s-]+", "_", name.strip().lower()).removeprefix("neg_")
    refuse_ranking(re.sub(r"_(ovr|ovo)(_weighted)?$", "", plain), name)
    averaged = _AVERAGED.fullmatch(plain)
    if averaged:
        raise ValueError(
            f"unknown metric {name!r}: pass metric={averaged[1]!r} and "
            f"average={averaged[2]!r}"
        )


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


def refuse_foreign_function(metric: Any) -> None:
    """Refuse a metric or scorer of scikit-learn, with what it is called here."""
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
