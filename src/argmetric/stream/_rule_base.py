"""Base of all threshold rules over a stream of probabilities: state and run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from argmetric._input.arguments import check_flag
from argmetric._input.labels import clear_labels
from argmetric._input.odds import expit
from argmetric._input.types import Floats
from argmetric._input.validation import (
    check_scores,
    to_floats,
)
from argmetric._results.display import Shown, table
from argmetric.metrics import MetricLike, get_metric
from argmetric.stream._learners import check_weight, rare_rule
from argmetric.stream._metric import LevelForm, level_form


class RuleRun(NamedTuple):
    """What a rule did on each row, before it saw the label of that row."""

    labels: npt.NDArray[np.int64]
    thresholds: Floats

    def _repr_html_(self) -> str:
        """A table for notebooks; a named tuple has no other base."""
        positives = f"{int(self.labels.sum()):,} of {self.labels.size:,}"
        lines = [("positives", positives)]
        if self.labels.size:
            first, last = self.thresholds[[0, -1]]
            lines.append(("threshold", f"{first:.4g} at first, {last:.4g} at last"))
        return table("RuleRun", lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the threshold that was used for each row.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from argmetric.stream._display import StreamDisplay

        rows = np.arange(1.0, self.thresholds.size + 1)
        return StreamDisplay(rows, self.thresholds).plot(ax).ax_


LONGEST = 2**26  # bins, or rows of a window: 64 million hold a gigabyte


@dataclass(frozen=True)
class ThresholdRule(Shown):
    """A threshold that learns from each row after it has decided it.

    The state is one float64 array, made by `init_state` and changed in place by
    `update` and `run`; the rule itself is a value.
    """

    name: ClassVar[str] = ""

    def _read(self, check: Callable[..., Any], *names: str, **options: Any) -> None:
        """Options as plain numbers, refused by name; None stays as it is."""
        for name in names:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check(value, name, **options))

    def init_state(self, metric: MetricLike = "f1") -> Floats:
        """State before the first row.

        Parameters
        ----------
        metric : str, Metric or callable, default="f1"
            A ratio of affine counts, MCC, kappa, a mean of the two rates or
            Fowlkes-Mallows.
        """
        from argmetric.stream.kernels import rules as kernels

        form = level_form(get_metric(metric))
        state = np.zeros(kernels.HEADER + self._extra())
        state[kernels.METRIC], state[kernels.B2] = form.code, form.b2
        state[kernels.CEILING], state[kernels.START] = form.ceiling, form.start
        state[kernels.C0 : kernels.C0 + 4] = form.c
        state[kernels.D0 : kernels.D0 + 4] = form.d
        state[kernels.THETA] = form.start
        state[[kernels.DECAY, kernels.RECENT, kernels.UNIT]] = 1.0
        self._fill(state, form, kernels)
        return state

    def _extra(self) -> int:
        """Length of the state behind its header."""
        return 0

    def _fill(self, state: Floats, form: LevelForm, kernels: Any) -> None:
        raise NotImplementedError

    def update(
        self, state: Floats, score: float, y: int, *, logits: bool = False
    ) -> int:
        """Decide one row, then learn from its label; returns the decision."""
        return int(self.run(state, [score], [y], logits=logits).labels[0])

    def run(
        self,
        state: Floats,
        scores: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        logits: bool = False,
    ) -> RuleRun:
        """Decide each row before its label is seen, and learn from the label.

        Parameters
        ----------
        state : ndarray
            From `init_state`; changed in place. Blocks of any size give the same bits.
        scores : array-like of shape (n_samples,)
            Probabilities, or log-odds with `logits=True`.
        y : array-like of shape (n_samples,)
            Labels 0 and 1.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a row of weight 0 is decided but not learned.
        logits : bool, default=False
            Whether the scores are log-odds.

        Returns
        -------
        RuleRun
            `labels`, and the `thresholds` on probabilities that were used.
        """
        from argmetric.stream.kernels import rules as kernels

        length = kernels.HEADER + self._extra()
        _check_state(state)
        if not state.flags.writeable:
            raise ValueError("the state is read-only: pass a copy of it")
        if np.shape(state) != (length,):  # compiled code would write beyond its end
            raise ValueError(
                f"the state has the shape {np.shape(state)} in place of ({length},): "
                "is it that of another rule, or of another version of argmetric?"
            )
        # Compiled code reads and writes at the places that these name
        bins, window = getattr(self, "bins", 0), getattr(self, "window", None) or 0
        layout = state[[kernels.BINS, kernels.WINDOW]].tolist()
        place = state[kernels.PLACE]
        if layout != [bins, window] or not 0 <= place < max(window, 1):
            raise ValueError("the state is damaged: it is not that of this rule")
        logits = check_flag(logits, "logits")
        values = to_floats(scores, "scores")
        if values.ndim != 1:
            raise ValueError(f"scores must have one dimension, not {values.ndim}")
        values = check_scores(values, "scores", logits=logits)
        truth = clear_labels(y, shape=values.shape, other="scores").view(np.uint8)
        weight, pace = check_weight(sample_weight, values.size)
        labels = np.empty(values.size, dtype=np.uint8)
        thresholds = np.empty(values.size)
        given = (values, logits, truth, weight, pace)
        kernels.run_rule(state, rare_rule(state), *given, labels, thresholds)
        return RuleRun(labels.astype(np.int64), thresholds)

    def decide(
        self, state: Floats, scores: npt.ArrayLike, *, logits: bool = False
    ) -> npt.NDArray[np.int64]:
        """Labels by the current threshold; the state does not change."""
        values = to_floats(scores, "scores")
        zeros = np.zeros(values.size, dtype=bool)
        return self.run(
            state, values, zeros, sample_weight=np.zeros(values.size), logits=logits
        ).labels

    def threshold_of(self, state: Floats) -> float:
        """The threshold on probabilities for the next row."""
        from argmetric.stream.kernels import rules as kernels

        _check_state(state)
        if state.shape < (kernels.HEADER,):
            raise ValueError(f"the state has the shape {state.shape}: is it of a rule?")
        if state[kernels.RULE] != kernels.HISTOGRAM:
            return float(state[kernels.THETA])
        return float(expit(state[kernels.CUT]))

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, for JSON."""
        return {"rule": self.name} | asdict(self)


def _check_state(state: Any) -> None:
    if not isinstance(state, np.ndarray) or state.dtype != np.float64:
        raise TypeError(
            "the state must be the array that init_state gave, not "
            f"{type(state).__name__}"
        )
