"""What a report says, as plain values of a fixed size."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Kind = Literal[
    "decision", "labels", "rule", "check", "tags", "stream", "classes", "monitor"
]
Numbers = tuple[float, ...]
Row = tuple[str, ...]


@dataclass(frozen=True)
class Score:
    """A score to expect, with the interval that holds it."""

    mean: float
    low: float
    high: float
    coverage: float
    std: float
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class Chosen:
    """How many rows are positive, by which cut, and what that should score.

    `cut` is the threshold with as few digits as give the same labels.
    """

    positives: int
    threshold: float | None
    expected: float
    cut: str | None


@dataclass(frozen=True)
class OtherMetric(Chosen):
    """The best decision for a metric, and what the present one scores in it."""

    metric: str
    here: float | None


@dataclass(frozen=True)
class View:
    """What of a curve is drawn: up to which k, and between which scores."""

    most: float
    low: float
    high: float
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class Curves:
    """Expected scores at chosen numbers of positives, exact at each of them.

    Attributes
    ----------
    k : tuple of int
        Numbers of positives.
    thresholds : tuple of float or None
        The cut that gives each; None where rows share a score and some are taken.
    cuts : tuple of str or None
        The same, with as few digits as give the same labels.
    hits : tuple of float
        Expected true positives.
    recall : tuple of float, or None
        Expected recall given that there is a positive; None with groups.
    scores : dict
        Expected scores by the name of the metric.
    best, views : dict
        Place of the best k, and what is drawn, by the name of the metric.
    half, best_cut, chosen : int or None
        Places of the cut at 0.5, of the best single cut and of the decision; None
        where each group has a cut of its own.
    near : (int, int)
        Places between which the score is within 0.01 of the best.
    least, most : int
        The numbers of positives that are allowed.
    """

    k: tuple[int, ...]
    thresholds: tuple[float | None, ...]
    cuts: tuple[str | None, ...]
    hits: Numbers
    recall: Numbers | None
    scores: dict[str, Numbers]
    best: dict[str, int]
    views: dict[str, View]
    half: int
    best_cut: int
    chosen: int | None
    near: tuple[int, int]
    least: int
    most: int


@dataclass(frozen=True)
class Change:
    """What happens to the decision when something is not as it was taken to be.

    `here` is the expected score of the present decision, `best` that of the best one,
    which has so many `positives`.
    """

    what: str
    here: float
    best: float
    positives: int


@dataclass(frozen=True)
class Mass:
    """Rows and expected positives in bins of equal width, from p = 0 to p = `top`.

    `chosen` are the expected positives among the rows that are predicted positive.
    """

    rows: tuple[int, ...]
    positives: Numbers
    chosen: Numbers
    top: float = 1.0


@dataclass(frozen=True)
class GroupRow:
    """One group."""

    name: str
    rows: int
    positives: int
    threshold: float | None
    expected: float


@dataclass(frozen=True)
class GroupSummary:
    """How the groups were decided.

    `sizes`, `cuts` and `scores` are the minimum, the quartiles and the maximum; a cut
    is the lowest probability that was chosen in a group. `score_bins` counts groups by
    their expected score, between `score_edges`.
    """

    count: int
    empty: int
    of_one: int
    sizes: Numbers
    cuts: Numbers | None
    scores: Numbers
    by_positives: tuple[tuple[str, int], ...]
    least_certain: tuple[GroupRow, ...]
    score_edges: Numbers = ()
    score_bins: tuple[int, ...] = ()


@dataclass(frozen=True)
class RankedCurves:
    """ROC and precision–recall curves of labelled rows, at about 200 points each."""

    false_positive_rate: Numbers
    true_positive_rate: Numbers
    roc_auc: float
    recall: Numbers
    precision: Numbers
    average_precision: float


@dataclass(frozen=True)
class Truth:
    """Actual counts and scores of three decisions, beside what was expected.

    `ranked` is None where all rows have the same label.
    """

    score: float
    surprise: str | None
    counts: dict[str, int]
    expected_counts: dict[str, float]
    half: float
    best_cut: float
    ranked: RankedCurves | None = None


@dataclass(frozen=True)
class Calibration:
    """Probabilities against actual shares, and what the difference costs.

    `bins` are those of `CalibrationCheck.positive_bins`, `threshold` is where `decide`
    cuts the probabilities as they were given, and `figures` are attributes of the check
    by name.
    """

    on: str
    fit_to_decide: str
    fit_to_forecast: str
    route: str
    advice: tuple[str, ...]
    facts: tuple[Row, ...]
    routes: tuple[Row, ...]
    bins: dict[str, list[float]]
    threshold: float | None
    histogram: Numbers
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Thresholds:
    """Score against threshold, as tuned on labelled rows."""

    thresholds: Numbers
    scores: Numbers
    threshold: float
    score: float
    same: tuple[float, float] | None
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class ClassTable:
    """A table about several classes, under a title of its own."""

    key: str
    title: str
    text: tuple[str, ...]
    caption: str
    header: Row
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class MarkedWords:
    """Some words of a sentence; `mark` is "right", "missed", "wrong" or empty."""

    text: str
    mark: str = ""
    type: str = ""


@dataclass(frozen=True)
class Example:
    """A sentence as it is labelled, and as it was predicted."""

    truth: tuple[MarkedWords, ...]
    predicted: tuple[MarkedWords, ...]


@dataclass(frozen=True)
class Tags:
    """How labels of tokens were predicted: scores, confusions, sentences."""

    sentences: int
    types: tuple[Row, ...]
    confusions: tuple[Row, ...]
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Alarm:
    """After so many rows errors had become more than chance explains: their shares."""

    rows: int
    before: float
    now: float


@dataclass(frozen=True)
class Over:
    """A stream over time: after so many rows, the score so far and the threshold.

    `recent` is the score of the rows of late (a fortieth of all), `predicted` and
    `actual` are shares of positives among these.
    """

    rows: tuple[int, ...]
    score: Numbers
    recent: Numbers
    threshold: Numbers
    predicted: Numbers
    actual: Numbers
    alarms: tuple[Alarm, ...] = ()


@dataclass(frozen=True)
class Watched:
    """Periods without labels, one after the other.

    Attributes
    ----------
    periods : tuple of dict
        The attributes of each period.
    coverage, floor : float
        As for `monitor`.
    reference_share : float
        Share of positives of the reference.
    edges : tuple of float
        Scores between which rows are counted for the histogram.
    reference : tuple of float
        Shares of the rows of the reference between them.
    shares : tuple of tuple of float
        Those of each period.
    segments : tuple of (str, dict)
        Name and last period of each segment, the worst first.
    """

    periods: tuple[dict[str, Any], ...]
    coverage: float
    floor: float | None
    reference_share: float
    edges: Numbers
    reference: Numbers
    shares: tuple[Numbers, ...]
    segments: tuple[tuple[str, dict[str, Any]], ...] = ()


@dataclass(frozen=True)
class Summary:
    """All that a report says: plain values, however many rows there were.

    Attributes
    ----------
    kind : str
        What is reported: "decision", "labels", "rule", "check", "tags", "stream",
        "classes" or "monitor".
    metric : str
        What decisions are judged by.
    convention : str
        What the metric is where it is not defined.
    n, n_groups, average
        Rows, groups and how these are combined.
    expected_positives : float or None
        Actual positives to expect.
    scale : str
        What thresholds are compared with.
    raw_cut : str or None
        The cut of the decision on the scores as they were given, where they went
        through a map.
    names : dict
        The file and its columns, where there are some.
    facts, lines : tuple of tuple of str
        Of a rule or a check: what has to be seen first, and the rest.
    notes : tuple of str
        What the reader should know.
    chosen, score, half, best_cut, curves, choices, changes, mass, groups, truth
        Parts of a decision.
    calibration : Calibration or None
        Of labelled rows.
    thresholds : Thresholds or None
        Of a rule.
    tags : Tags or None
        Of a tagger.
    over : Over or None
        Of a stream.
    classes : tuple of ClassTable
        Of one label per row.
    watched : Watched or None
        Of periods that are monitored.
    """

    kind: Kind
    metric: str
    convention: str
    n: int
    n_groups: int | None = None
    average: str | None = None
    expected_positives: float | None = None
    scale: str = "p"
    raw_cut: str | None = None
    greater_is_better: bool = True
    names: dict[str, str] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    facts: tuple[Row, ...] = ()
    lines: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    chosen: Chosen | None = None
    score: Score | None = None
    half: Chosen | None = None
    best_cut: Chosen | None = None
    curves: Curves | None = None
    choices: tuple[OtherMetric, ...] = ()
    changes: tuple[Change, ...] = ()
    mass: Mass | None = None
    groups: GroupSummary | None = None
    truth: Truth | None = None
    calibration: Calibration | None = None
    thresholds: Thresholds | None = None
    tags: Tags | None = None
    over: Over | None = None
    classes: tuple[ClassTable, ...] = ()
    watched: Watched | None = None

    def to_dict(self) -> dict[str, Any]:
        """All that it says as plain lists, texts and numbers, for JSON."""
        from argmetric._results.saving import plain

        values: dict[str, Any] = plain(asdict(self), "summary")
        return values
