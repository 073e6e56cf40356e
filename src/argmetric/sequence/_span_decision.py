"""What `decode_spans` gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from argmetric._input.types import Floats
from argmetric._results.display import Lines, Result, drawing
from argmetric._text.corpus import SchemeName, Span
from argmetric.metrics import Metric


@dataclass(frozen=True, eq=False, repr=False)
class SpanDecision(Result):
    """The spans to hand in, and the score to expect from them.

    Attributes
    ----------
    spans : list of lists of Span
        For every sentence; one list if one sentence was given.
    labels : list of lists of str
        The same as labels of tokens, in the scheme of the model.
    expected : float
        What was maximised: E[F] with method "exact", F of the expected counts with
        method "counts"; a mean over documents and types where there are several.
    upper : float
        No choice can be worth more than this.
    proven : bool
        Whether `expected` is the optimum: `upper` within rounding of it, or within
        what spans below `min_probability` could add.
    method : {"exact", "counts"}
        What was maximised.
    n_spans : int
        Number of chosen spans.
    expected_spans : float
        Expected number of true spans.
    cell_expected : ndarray
        `expected` for every document, type, or both (documents by types).
    metric : Metric
        The F-measure.
    n_cut : int
        Number of sentences with more candidates than can be looked at, so that long
        ones were left out. `upper` allows for them.
    cut_length : int or None
        The length in tokens up to which all are candidates, the least of these
        sentences; None without one.
    """

    spans: list[Any]
    labels: list[Any]
    expected: float
    upper: float
    proven: bool
    method: str
    n_spans: int
    expected_spans: float
    cell_expected: Floats
    metric: Metric
    scheme: SchemeName
    n_cut: int = 0
    cut_length: int | None = None

    def _lines(self) -> Lines:
        what = "E[F]" if self.method == "exact" else "F of expected counts"
        known = "proven best" if self.proven else f"at most {self.upper:.4f}"
        return [
            ("metric", f"{self.metric.name} of spans ({self.scheme}, strict)"),
            ("chosen", f"{self.n_spans:,} spans"),
            ("true", f"{self.expected_spans:,.1f} spans expected"),
            ("expected", f"{self.expected:.4f} ({what}, {known})"),
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draw how probable the chosen spans are, type by type.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        spans = [
            span
            for one in self.spans
            for span in ([one] if isinstance(one, Span) else one)
        ]
        types = sorted({span.type for span in spans})
        each = [[span.probability for span in spans if span.type == t] for t in types]
        labels = {"xlabel": "probability of a span", "ylabel": "chosen spans"}
        score = f"expected {self.metric.name} {self.expected:.3f}"
        title = f"{self.n_spans:,} spans, {score}"
        with drawing(ax, (6.4, 3.8), title=title, **labels) as ax:
            if spans:
                ax.hist(each, bins=20, range=(0, 1), stacked=True, label=types)
        return ax
