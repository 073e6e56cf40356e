"""compare: which of several models is better on the same rows?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from string import ascii_uppercase
from typing import Any, NamedTuple

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.resolve import check_pair, with_positives
from argmetric._compare import joint
from argmetric._compare.result import VERDICTS, Comparison, Difference, ForecastScore
from argmetric._compare.review import Review, review_rows
from argmetric._compare.strata import with_labels
from argmetric._compare.table import (
    SAME_ROWS,
    UNLABELLED,
    PatternTable,
    ScoredGroups,
    are_cuts,
)
from argmetric._forecast.batch import Batch
from argmetric._ground import labels as read
from argmetric._ground import validation
from argmetric._ground.arguments import check_flag, check_share, is_real, refuses
from argmetric._ground.discrete import central_interval
from argmetric._ground.layout import Average, Layout, column_names, lay_out
from argmetric._ground.odds import from_log_odds, logit
from argmetric._ground.types import (
    ArrayLike,
    Booleans,
    Floats,
    Interval,
    Label,
    LabelsLike,
    ReferenceLike,
)
from argmetric._verbs.decide import Decision
from argmetric._verbs.tune import Rule
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined

__all__ = ["VERDICTS", "Comparison", "Difference", "Review", "compare"]
__all__ += ["review_rows", "with_labels"]

FEW_POSITIVES = 25  # of the reference, up to which intervals hold less often
Y = "the y of reference=(y, p)"


@refuses("scoring")
def compare(
    p: ArrayLike | Sequence[ArrayLike] | Mapping[str, ArrayLike],
    labels: LabelsLike | Sequence[LabelsLike] | Mapping[str, LabelsLike],
    metric: MetricLike = "f1",
    *,
    reference: ReferenceLike | None = None,
    known: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    average: Average | None = None,
    zero_division: float | None = None,
    logits: bool = False,
    coverage: float = 0.9,
    pos_label: Label | None = None,
) -> Comparison:
    """Compare the scores of models on the same rows, before or while labels come.

    Parameters
    ----------
    p : list, dict or frame
        Scores of each model, in a mapping from its name, a list, or a frame or matrix
        with a column for each model; or one column for all, such as a judge's scores.
    labels : list, dict or frame
        Predictions of each model, under the same names or in the same order: labels,
        a `Decision`, or a `Rule` or threshold that is applied to its own column of
        `p`. A single model is compared with nothing: its score is estimated.
    metric : str, Metric or callable, default="f1"
        The metric that scores the decisions.
    reference : pair (y, p), or Calibrator
        Labelled rows with the scores of the same models: old ones, or a sample that
        people judged. For one column of scores also a fitted calibrator. Without it,
        and without `known`, the scores are taken for calibrated probabilities.
    known : array-like, optional
        True labels of these rows that have arrived, as those of `Comparison.add`; nan
        or None for the others.
    groups, average
        As for `forecast`.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own.
    logits : bool, default=False
        Whether `p` holds log-odds.
    coverage : float, default=0.9
        Probability that an interval contains what it is for.
    pos_label : object, optional
        The label that counts as positive.

    Returns
    -------
    Comparison
        The scores, their difference and the rows to label next.

    Raises
    ------
    ValueError
        Where `p` and `labels` are swapped, models have different rows, or the
        reference has rows of one class.

    Examples
    --------
    >>> import argmetric as am
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(-2.0, 2.0, 4000)
    >>> y = rng.random(4000) < 1 / (1 + np.exp(-x))
    >>> a, b = (1 / (1 + np.exp(-x - rng.normal(0.0, s, 4000))) for s in (0.5, 2.5))
    >>> old, new = slice(0, 1000), slice(1000, 4000)
    >>> p, cuts = {"a": a[new], "b": b[new]}, {"a": 0.4, "b": 0.4}
    >>> reference = y[old], {"a": a[old], "b": b[old]}
    >>> comparison = am.compare(p, cuts, "f1", reference=reference)
    >>> comparison.best().model, comparison.sure()
    ('a', None)
    >>> rows = comparison.next_rows(100)
    >>> comparison.add(rows, y[new][rows])
    a is better by 0.1... F1 (+0.0... to +0.1...), probability ...
    ...
    """
    metric = get_metric(metric, zero_division=zero_division)
    coverage, logits = check_share(coverage, "coverage"), check_flag(logits, "logits")
    models = _models(p, labels)
    how: Any = {"groups": groups, "average": average, "logits": logits}
    layouts, scores = _lay_out(models.scores, **how)
    labels, y = _decisions(models, layouts[0], known, pos_label, logits=logits)
    require_defined(metric, layouts[0].largest)
    fits, rows, notes = _fit_reference(reference, models, layouts, logits, pos_label)
    source = "new rows are like the reference, but for what their labels tell"
    if reference is None:
        source = "probabilities are calibrated, but for what labels tell"
        if not logits and known is None:
            _refuse_labels(layouts)
        for layout in layouts:
            validation.warn_of_scale(layout.scores, logits=logits)
    decisions, pattern = np.unique(labels, axis=1, return_inverse=True)
    pattern = pattern.ravel()
    bin_, odds = joint.bins_along(fits, scores, pattern)
    kinds = reference is None, not are_cuts(labels, scores)
    scored = None if layouts[0].single else ScoredGroups.of(layouts[0])
    table = PatternTable(decisions, pattern, bin_, odds, y, metric, *kinds, scored)
    forecasts: tuple[ForecastScore, ...] = ()
    if table.raw and not table.is_labelled.any():
        forecasts = _forecasts(layouts, scores, labels, metric, (coverage, logits))
    alone = table.judged and len(layouts) == 1 and SAME_ROWS not in notes
    if alone and not _cut_groups(labels, layouts[0]):
        notes.append(UNLABELLED)
    return Comparison(
        names=models.names,
        coverage=coverage,
        table=table,
        forecasts=forecasts,
        reference=rows,
        notes=(*notes, *_decision_notes(models.names, labels)),
        assumptions=(source, "labels independent given the scores and decisions"),
    )


def _cut_groups(labels: Booleans, layout: Layout) -> bool:
    """Return whether the labels of every model are a cut of the scores in each group.

    Rows of equal scores may go either way, as where a number of each group is chosen.
    """
    code = ScoredGroups.of(layout).code
    for called in labels:
        order = np.lexsort((called, layout.scores, code))
        falls = np.diff(1 * called[order]) < 0
        if not np.diff(code[order])[falls].all():  # 0 within a group
            return False
    return True


def _forecasts(
    layouts: list[Layout],
    scores: Floats,
    decisions: Booleans,
    metric: Metric,
    how: tuple[float, bool],
) -> tuple[ForecastScore, ...]:
    """Return the forecast of the score of every model, from its own scores.

    Differences are drawn under one probability a row, the mean of the log-odds: there
    each model moves by as much as its own scores expect more of it.

    scores : (columns, rows) log-odds of the layouts
    decisions : (models, rows) predictions
    how : coverage, and whether layouts hold log-odds
    """
    coverage, logits = how
    unknown = np.full(scores.shape[1], np.nan)
    alike = joint.candidate_weights(len(scores))[0]
    p, q = from_log_odds(joint.joint_odds(alike, scores))
    forecasts = dict[bytes, ForecastScore]()  # equal labels have one score
    for i, called in enumerate(decisions):
        if called.tobytes() in forecasts:
            continue
        layout, x = layouts[i % len(layouts)], layouts[i % len(layouts)].scores
        own = from_log_odds(x) if logits else (x, 1.0 - x)
        batch = Batch(metric, layout, *own, unknown, called, 0.0, None, logits)
        pmf, moved, ends = batch.score_pmf()[0], 0.0, Interval(np.nan, np.nan)
        if len(layouts) > 1:
            moved = pmf.mean - replace(batch, p=p, q=q).score_pmf()[0].mean
        if pmf.values.size:
            ends = central_interval(pmf.values, pmf.probabilities, coverage)
        forecasts[called.tobytes()] = ForecastScore(pmf.mean, ends, moved)
    return tuple(forecasts[called.tobytes()] for called in decisions)


# -------------------------------------------------------------------------------- input


class _Models(NamedTuple):
    """Names of the models, their labels or thresholds, and the columns of scores."""

    names: tuple[str, ...]
    labels: list[Any]
    scores: dict[str, Any]


def _models(p: Any, labels: Any) -> _Models:
    """Return names, decisions and scores of the models, paired up and checked."""
    scores, own = _columns(p, "p")
    decided, named = _columns(labels, "labels")
    read.refuse_swapped(scores, decided, "compare(p, labels, metric)")
    cuts = named is None and len(decided) > 1 and all(map(is_real, decided))
    if cuts and len(decided) != len(scores):
        raise ValueError(
            f"labels are {len(decided)} numbers, thresholds, for {len(scores)} "
            "columns of scores: labels of one model are [labels]"
        )
    if len(scores) not in (1, len(decided)):
        raise ValueError(
            f"there are the decisions of {len(decided)} models, but the scores of "
            f"{len(scores)}: pass one column of scores for each, or one for all"
        )
    if named and own and len(scores) > 1:
        if set(named) != set(own):
            raise ValueError(
                f"labels are of the models {', '.join(named)}, but p of "
                f"{', '.join(own)}: names must agree"
            )
        scores = [scores[own.index(name)] for name in named]
    usual = [*ascii_uppercase, *(f"model {i}" for i in range(27, len(decided) + 1))]
    own = own if len(scores) == len(decided) else None
    names = tuple(named or own or usual[: len(decided)])
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"two models are called {twice[0]!r}: names must differ")
    of = ["p"] if len(scores) == 1 else [f"p of {name}" for name in names]
    return _Models(names, decided, dict(zip(of, scores, strict=True)))


def _columns(values: Any, name: str) -> tuple[list[Any], list[str] | None]:
    """Return the part of each model, and the names of the models, None without."""
    if validation.is_sparse(values):  # some are dicts of their entries
        raise TypeError(f"{name} must be dense: a list, a dict or a frame")
    if isinstance(values, Mapping | list | tuple) and not values:
        raise ValueError(f"{name} is empty: there is no model")
    if isinstance(values, Mapping):
        return list(values.values()), [str(key) for key in values]
    if isinstance(values, Rule | Decision) or is_real(values):
        return [values], None
    names = column_names(values)
    if names is None and isinstance(values, list | tuple):
        column = name == "p" and not any(map(np.ndim, values))
        return [values] if column else list(values), None
    array = validation.to_numpy(values, name)
    if array.ndim == 1:
        return [values], None
    if array.ndim != 2:
        raise ValueError(
            f"{name} must have a column for each model, not {array.ndim} dimensions; "
            "several matrices are a list"
        )
    return list(array.T), None if names is None else [str(one) for one in names]


def _lay_out(
    columns: dict[str, Any], *, logits: bool, **how: Any
) -> tuple[list[Layout], Floats]:
    """Return layouts of columns of one shape, and (columns, rows) their log-odds."""
    layouts = [
        lay_out(one, logits=logits, name=name, **how) for name, one in columns.items()
    ]
    first, shape = next(iter(columns)), layouts[0].shape
    for name, one in zip(columns, layouts, strict=True):
        if one.shape != shape:
            raise ValueError(
                f"{name} has shape {one.shape}, but {first} has shape {shape}: models "
                "are compared on the same rows"
            )
    odds = [one.scores if logits else logit(one.scores) for one in layouts]
    return layouts, np.stack(odds)


def _decisions(
    models: _Models, first: Layout, known: Any, pos_label: Any, *, logits: bool
) -> tuple[Booleans, Floats]:
    """Return (models, rows) predictions, and known labels, nan for the others."""
    scores = cycle(models.scores.values())
    given = {
        f"labels of {name}": read.predicted_labels(one, next(scores), logits=logits)[0]
        for name, one in zip(models.names, models.labels, strict=True)
    }
    given |= {} if known is None else {"known": known}
    how: Any = {"shape": first.shape, "missing": "known"}
    found = [*map(first.select, read.read_together(pos_label, **how, **given))]
    y = np.full(first.scores.size, np.nan) if known is None else found.pop()
    return np.stack(found) == 1.0, np.asarray(y, dtype=np.float64)


def _refuse_labels(layouts: list[Layout]) -> None:
    """Refuse labels in the place of all scores, where nothing tells how good they are.

    They would be certain. A few rows may well be.
    """
    n, few = layouts[0].scores.size, validation.VALUES_TO_JUDGE_BY
    if n >= few and all(np.isin(one.scores, (0.0, 1.0)).all() for one in layouts):
        raise ValueError(
            f"p has {n:,} values, all of them 0 or 1: labels, not scores. Pass true "
            "labels as known=; a judge's verdicts are no scores until people label "
            "some rows: known=, or reference=(y, verdicts)"
        )


def _decision_notes(names: tuple[str, ...], decisions: Booleans) -> list[str]:
    """Return notes on models of one class, and on equal decisions."""
    notes, equal, first = [], [], dict[bytes, str]()
    for name, called in zip(names, decisions, strict=True):
        if called.all() or not called.any():
            every = f"{name} calls {'every' if called.all() else 'no'} row positive"
            notes.append(f"{every}: its decisions are of one class")
        other = first.setdefault(called.tobytes(), name)
        if other != name:
            equal.append(f"{name} decides as {other} does: their difference is 0")
    return notes + equal


# ---------------------------------------------------------------------------- reference


def _fit_reference(
    reference: Any, models: _Models, new: list[Layout], logits: bool, pos_label: Any
) -> tuple[list[joint.JointCalibrator], tuple[int, int], list[str]]:
    """Return calibrators, the rows and positives of their reference, and notes.

    new : scores of the models on the rows to compare
    """
    count = len(models.scores)
    if reference is None:
        return joint.fixed_calibrator(None, count), (0, 0), []
    if isinstance(reference, Calibrator):
        if count > 1:
            raise ValueError(
                "a Calibrator is for one column of scores: pass reference=(y, p) with "
                f"the scores of all {count} models"
            )
        found = round(reference.n * (reference.prevalence or 0.0))
        return joint.fixed_calibrator(reference, 1), (reference.n, found), []
    y, x, old = _read_reference(*check_pair(reference), models, logits, pos_label)
    few = int(min(y.sum(), (~y).sum()))
    note = (
        f"the reference has only {few} rows of one class: with so few, intervals "
        "after 50 labels held in .88 of the cases, and errors are larger"
    )
    notes = [SAME_ROWS] if _are_rows_of(old, new) else [note] * (few <= FEW_POSITIVES)
    return joint.fit_joint_calibrators(y, x), (int(y.size), int(y.sum())), notes


def _read_reference(
    y: Any, p: Any, models: _Models, logits: bool, pos_label: Any
) -> tuple[Booleans, Floats, list[Layout]]:
    """Return labels of the reference, and log-odds and layout of each column."""
    columns, own = _columns(p, "p")
    if len(columns) != len(models.scores):
        raise ValueError(
            f"the reference has the scores of {len(columns)} models, but p of "
            f"{len(models.scores)}"
        )
    if own and set(own) == set(models.names):
        columns = [columns[own.index(name)] for name in models.names]
    names = [f"{name} in the reference" for name in models.scores]
    average = "micro" if np.ndim(columns[0]) == 2 else None
    named = dict(zip(names, columns, strict=True))
    layouts, odds = _lay_out(named, logits=logits, average=average)
    y, _ = with_positives((y, columns[0]), pos_label)
    labels = read.binary_labels(y, name=Y, shape=layouts[0].shape, other=names[0])
    positive = labels.positive.ravel()
    if positive.all() or not positive.any():
        which = "positive" if not positive.any() else "negative"
        raise ValueError(
            f"the reference has no {which} among its {positive.size:,} rows: it tells "
            "nothing of the scores; pass rows of both classes, or none and known="
        )
    if all(one.min() == one.max() for one in odds):
        raise ValueError("all scores of the reference are equal: they tell nothing")
    return positive, odds, layouts


def _are_rows_of(old: list[Layout], new: list[Layout]) -> bool:
    """Return whether all rows of scores occur in others, and most of them only once.

    Other rows may have equal scores where these are rounded, but then most of them
    occur more than once. Scores are compared in single precision, which one of both may
    have been stored in.
    """
    weights = np.sqrt(np.arange(2.0, 2.0 + len(old)))  # to one number for each row
    rows = (np.clip([x.scores for x in both], -1e9, 1e9) for both in (old, new))
    seen, among = ((weights @ one.astype("f4")).astype("f4") for one in rows)
    seen, among = np.unique(seen), np.sort(among)
    times = np.searchsorted(among, seen, "right") - np.searchsorted(among, seen)
    return seen.size >= 10 and bool(times.all() and np.median(times) == 1)
