"""Rules for several classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from argmetric._input.labels import plain_label
from argmetric._input.types import Floats
from argmetric._input.validation import check_scores, to_floats
from argmetric._results.display import Lines
from argmetric._results.pictures import bars_size, draw_bars, drawing
from argmetric._results.saving import plain
from argmetric._tune import _files
from argmetric._tune._files import (
    FrozenDict,
    calibrated,
    current_versions,
    read_only,
)
from argmetric._tune._saved_rule import SavedRule
from argmetric.metrics import Metric, metric_from_dict, metric_to_dict

SHOWN = 8  # classes in the printed form


@dataclass(frozen=True, repr=False, eq=False)
class MultiClassRule(SavedRule):
    """The class with the largest weighted probability.

    Attributes
    ----------
    classes : tuple
        The labels, in the order of the columns.
    weights : ndarray
        One per class; all 1 is the plain most probable class.
    metric : Metric
        Averaged over the classes; "mcc" is the multi-class correlation itself.
    score : float
        On the rows it was tuned on.
    argmax_score : float
        Of the plain most probable class, on the same rows.
    optimism, out_of_fold_score : float
        How much the score exceeds that of weights tuned on other folds; nan if unknown.
    score_interval : (float, float) or None
        Interval that holds the score on `n` new rows, as many as it was tuned on.

    Examples
    --------
    >>> import argmetric as am
    >>> y = ["a", "b", "c", "a", "b", "a", "a"]
    >>> p = [[.5, .3, .2], [.6, .4, 0], [.5, .1, .4], [.8, .1, .1],
    ...      [.4, .5, .1], [.9, .1, 0], [.6, .3, .1]]
    >>> rule = am.tune(y, p, "f1", n_bootstrap=0, cv=None)
    >>> round(rule.argmax_score, 4), round(rule.score, 4)
    (0.4889, 1.0)
    >>> rule.apply([[0.5, 0.1, 0.4]])
    array(['c'], dtype='<U1')
    """

    kind: ClassVar[str] = "multiclass"

    classes: tuple[Any, ...]
    weights: Floats
    metric: Metric
    score: float = math.nan
    argmax_score: float = math.nan
    optimism: float = math.nan
    out_of_fold_score: float = math.nan
    score_interval: tuple[float, float] | None = None
    n: int = 0
    coverage: float = 0.9
    calibrator: Any = None
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=current_versions)

    def __post_init__(self) -> None:
        weights = read_only(self.weights)
        classes = tuple(map(plain_label, self.classes))
        if weights.shape != (len(classes),):
            raise ValueError(f"{len(classes)} classes but weights {weights.shape}")
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            raise ValueError("weights must be positive finite numbers")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "versions", FrozenDict(self.versions))

    def predicts(self, p: Any) -> npt.NDArray[np.int64]:
        """Column of the chosen class; ties go to the first.

        Parameters
        ----------
        p : array-like of shape (n, classes)
            Probabilities as they were tuned on.
        """
        scores = to_floats(p, "p")
        if scores.ndim != 2 or scores.shape[1] != len(self.classes):
            raise ValueError(
                f"p must have {len(self.classes)} columns, one per class, not shape "
                f"{scores.shape}"
            )
        scores = check_scores(scores, "p", logits=False)
        if self.calibrator is not None:
            scores = to_floats(calibrated(self.calibrator, scores), "calibrated p")
        return np.asarray(np.argmax(scores * self.weights, axis=1))

    def apply(self, p: Any) -> Any:
        """Labels of the rows.

        Parameters
        ----------
        p : array-like of shape (n, classes)
            Probabilities as they were tuned on.
        """
        if len({type(one) for one in self.classes}) == 1:
            names = np.array(self.classes)
        else:
            names = np.fromiter(self.classes, dtype=object, count=len(self.classes))
        return names[self.predicts(p)]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            **self._header(),
            "metric": metric_to_dict(self.metric),
            "classes": plain(self.classes, "a class"),
            "weights": plain(self.weights),
            "score": plain(self.score),
            "argmax_score": plain(self.argmax_score),
            "optimism": plain(self.optimism),
            "out_of_fold_score": plain(self.out_of_fold_score),
            "score_interval": plain(self.score_interval),
            "n": self.n,
            "coverage": self.coverage,
            "notes": plain(self.notes),
            "versions": plain(self.versions),
            "calibrator": _files.saved_calibrator(self.calibrator),
        }

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> MultiClassRule:
        number = _files.number
        return cls(
            classes=tuple(values["classes"]),
            weights=np.array([number(x) for x in values["weights"]]),
            metric=metric_from_dict(values["metric"]),
            score=number(values["score"]),
            argmax_score=number(values["argmax_score"]),
            optimism=number(values["optimism"]),
            out_of_fold_score=number(values["out_of_fold_score"]),
            score_interval=_files.interval(values["score_interval"]),
            n=_files.count(values["n"]),
            coverage=number(values["coverage"]),
            calibrator=_files.loaded_calibrator(values["calibrator"]),
            notes=tuple(values["notes"]),
            versions=values["versions"],
        )

    def _title(self) -> str:
        return (
            f"MultiClassRule(argmax of weight x p, {len(self.classes)} classes, "
            f"metric={self.metric.name})"
        )

    def _lines(self) -> Lines:
        lines = [("score", f"{self.score:.4f}")]
        lines.append(("most probable", f"{self.argmax_score:.4f} (all weights 1)"))
        if not math.isnan(self.out_of_fold_score):
            text = f"{self.out_of_fold_score:.4f} (optimism {self.optimism:+.4f})"
            lines.append(("out of fold", text))
        if self.score_interval is not None:
            low, high = self.score_interval
            text = f"{low:.4f} to {high:.4f} ({self.coverage:.0%})"
            lines.append((f"on {self.n:,} new rows", text))
        pairs = list(zip(self.classes, self.weights, strict=True))[:SHOWN]
        more = ", ..." if len(self.classes) > SHOWN else ""
        text = ", ".join(f"{name} {weight:.4g}" for name, weight in pairs) + more
        return [*lines, ("weights", text), ("rows", f"{self.n:,}")]

    def _notes(self) -> tuple[str, ...]:
        return self.notes

    def plot(self, ax: Any = None) -> Any:
        """Draw the weight of every class.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        names = [str(name) for name in self.classes]
        size = bars_size(len(names))
        with drawing(ax, size, xlabel="weight", title=self._title()) as ax:
            draw_bars(ax, names, self.weights)
        return ax
