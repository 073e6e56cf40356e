"""Two parameters that make the probabilities of spans fit a development set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from argmetric._calibrate.maps import Prior, likeliest
from argmetric._ground.arguments import check_items, check_texts
from argmetric._ground.display import Field, Result
from argmetric._ground.odds import bounded_logit, expit
from argmetric._ground.pictures import draw_map
from argmetric._ground.types import Axes, Floats
from argmetric._ground.validation import check_fraction
from argmetric.search.corpus.labels import SchemeName, read_chunks
from argmetric.sequence._crf import LinearChainCRF
from argmetric.sequence._spans import SpanMarginals, span_marginals

_LEAST, _MOST = np.finfo(np.float64).tiny, 1 - 2e-16
_RIDGE = 2e-9  # keeps a development set that is separated from running to infinity


@dataclass(frozen=True)
class Recalibration(Result):
    """P' = sigmoid(slope·logit(P) + intercept), Platt's map on log-odds.

    Attributes
    ----------
    slope, intercept : float
        The two parameters; 1 and 0 change nothing.
    floor : float
        The least probability of the spans it was fitted on.
    missed : float
        Number of true spans in the development set, divided by the number above the
        floor; at least 1. It corrects the expected number of spans.
    """

    slope: float
    intercept: float
    floor: float
    missed: float

    def __call__(self, p: npt.ArrayLike) -> Floats:
        """Probabilities after the map."""
        return expit(self.slope * _log_odds(np.asarray(p, float)) + self.intercept)

    def fields(self) -> list[Field]:
        text = f"logit P' = {{:.4g}} logit P {self.intercept:+.4g}"
        return [
            self._field("slope", "map", text),
            Field("intercept", self.intercept),
            self._field("floor", "fitted on spans of", "P >= {:g}"),
            self._field("missed", "true spans for each above", "{:.4g}"),
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the map over the diagonal.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        drawn: Axes = draw_map(ax, "recalibration", self)
        return drawn


def true_spans(
    marginals: SpanMarginals, gold: Sequence[Sequence[str]]
) -> tuple[npt.NDArray[np.bool_], int]:
    """Which listed spans are there according to the gold labels, and how many are."""
    n = marginals.batch.n_sentences
    gold = check_items(gold, "gold", "a list of labels for each sentence")
    if len(gold) != n:
        raise ValueError(f"gold has {len(gold)} sentences but the model has {n}")
    starts = marginals.batch.indptr
    kinds = {kind: i for i, kind in enumerate(marginals.types)}
    there: set[tuple[int, int, int]] = set()
    n_gold = 0
    for g, labels in enumerate(gold):
        labels = check_texts(labels, f"gold[{g}]")
        length = int(starts[g + 1] - starts[g])
        if len(labels) != length:
            raise ValueError(
                f"sentence {g}: gold has {len(labels)} labels but the model has "
                f"{length} tokens"
            )
        try:
            chunks = read_chunks(labels, marginals.scheme)
        except ValueError as error:
            raise ValueError(f"gold[{g}]: {error}") from None
        for start, stop, kind in chunks:
            n_gold += 1
            at = int(starts[g])
            there.add((at + start, at + stop, kinds.get(kind, -1)))
    found = [tuple(span) in there for span in marginals.flat.tolist()]
    return np.array(found, dtype=bool), n_gold


def recalibrate(
    model: LinearChainCRF | Sequence[LinearChainCRF] | SpanMarginals,
    gold: Sequence[Sequence[str]],
    *,
    scheme: SchemeName = "IOB2",
    floor: float = 0.01,
) -> Recalibration:
    """Fit a recalibration on a development set, by maximum likelihood.

    Parameters
    ----------
    model : LinearChainCRF, sequence of them, or SpanMarginals
        The sentences of the development set, which the model was not trained on.
    gold : sequence of sequences of str
        Their true labels. Spans of a type that the model does not know count as missed.
    scheme : {"IOB2", "BIOES"}, default="IOB2"
        How labels write spans.
    floor : float, default=0.01
        Less probable spans are ignored: they are many, and no metric of interest would
        choose them.
    """
    floor = check_fraction(floor, "floor")
    if not isinstance(model, SpanMarginals):
        model = span_marginals(model, scheme=scheme, min_probability=floor)
    truth, n_gold = true_spans(model, gold)
    part = model.probability >= floor
    y = truth[part].astype(np.float64)
    if not 0 < y.sum() < y.size:
        raise ValueError(
            "the development set must have true and false spans above the floor; it "
            f"has {int(y.sum())} true ones of {y.size}"
        )
    x = _log_odds(model.probability[part])
    design, start = np.stack([x, np.ones_like(x)]), np.array([1.0, 0.0])
    ridge = Prior(np.zeros(2), np.full(2, _RIDGE))
    found = likeliest(design, y, np.ones_like(x), start, ridge).theta
    slope, intercept = float(found[0]), float(found[1])
    if slope <= 0:
        raise ValueError(
            f"slope {slope:.3g} above floor={floor:g}: on the development set more "
            "probable spans are true less often; these are not the labels of these "
            "sentences"
        )
    return Recalibration(slope, intercept, floor, n_gold / float(y.sum()))


def _log_odds(p: Floats) -> Floats:
    return bounded_logit(p, _LEAST, _MOST)
