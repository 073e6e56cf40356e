"""A threshold for each class: rows below that of their class are for a person.

A row belongs to the class of its largest probability, the first of equal ones. Given
how many of the labelled rows belong to each class, those of a class are independent
draws of such rows, so each class has a test of its own, that of a floor under precision
(`_verbs/_certify.py`).

Risk. Of the classes that m rows of their size could prove anything about, each is
tested at risk / m. A class all of whose rows are certified has no test left that could
fail: its risk goes to the m' others, which are tested again at risk / m' (Holm). The
start of a test is that at risk / m, so that more risk never proves less.

Proof. Call a class bad if some threshold of it is below its floor, and let m0 of the m
classes be bad. A class that is not bad breaks no promise. A bad class that breaks its
promise, or all of whose rows are certified, passes the test at the highest of its bad
thresholds w (see `_certify`; below all rows of the sample it is that of all rows). As
long as no bad class does so, at least m0 classes remain, and the risk of each is at
most risk / m0; what passes at a smaller one passes at this one. So the first to do so
does it at risk / m0, which m0 classes do with a probability of at most `risk`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_share, shown
from argmetric._ground.display import COUNT, Field, documented
from argmetric._ground.label_words import list_labels
from argmetric._ground.labels import plain_label
from argmetric._ground.pictures import MOST_BARS, bars_size, drawing
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Axes,
    Booleans,
    ClassTuple,
    Floats,
    Integers,
    Interval,
    Label,
    SharesLike,
)
from argmetric._verbs.guarantees import (
    Guarantee,
    NotCertifiedError,
    Promise,
)
from argmetric._verbs.tune import (
    NOT_FITTED,
    ONE_CROSSING,
    AskingRule,
    LabelledRows,
    PortableRule,
    Terms,
    certify_limit,
    check_ask,
    check_rows,
    fewest_rows,
    files,
    population_words,
    proportion_interval,
    rows_text,
)
from argmetric.classes._input import first_texts, labels_of, one_per_class
from argmetric.classes._weights import class_scores
from argmetric.metrics import Metric, get_metric

SHOWN = 8  # classes in the printed form
FLOOR = "min_precision"
COUNTS = ("right", "wrong", "asked")
MOST = "the most probable one"
MOST_PROBABLE = "a row is given its most probable class or none; leave it out"
WITHOUT = {  # what does not go with review, and what to do
    "sample_weight": "a test counts rows. Keep rows by their weights, as in "
    "kept = rng.random(n) < sample_weight / sample_weight.max(), and pass these",
    "min_recall": "what a person finds is not known. For one class "
    "am.tune(y == c, p[:, c], min_recall=..., review=True) promises it",
    "max_per_class": "how many rows are given a class follows from the promises",
    "mean": "thresholds are on probabilities: pass p",
}
ROOT_2 = math.sqrt(2.0)


@dataclass(frozen=True, repr=False, eq=False)
class ClassReviewRule(AskingRule):
    """A threshold for each class: rows below it are left to a person.

    Experimental: may change in any release.

    `argmetric.classes.tune` with ``review=True`` returns it. A row is given the class
    of its largest probability where that is at or above the threshold of the class.

    Parameters
    ----------
    classes : tuple
        The labels, in the order of the columns.
    thresholds : ndarray
        One per class; inf where no row is given the class.
    ask : object, optional
        What `apply` calls the rows for a person; by default "ask" among classes that
        are text, and -1 among others.
    min_precision : ndarray or None
        Floor of each class that was promised; nan for none.
    guarantee : Guarantee or None
        The promises, in one `sentence`, with the counts behind them.
    calibrator : Calibrator or callable, optional
        Applied to the probabilities first.
    n : int
        Number of labelled rows.
    automated : float
        Proportion of rows that are given a class, less the rows that the classes with a
        threshold are expected to have only here: these chose them.
    automated_interval : Interval or None
        For this proportion in the population.
    coverage : float
        Nominal coverage of the interval.
    counts : tuple or None
        Labelled rows of each class of the largest probability: given it and right,
        given it and wrong, and asked: three numbers for each class.
    notes : tuple of str
        Remarks, such as why no row is given a class.
    versions : dict
        Libraries that it was made with.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([0.3, 0.3, 0.3], 2000)
    >>> y = (p.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    >>> rule = am.classes.tune(y, p, min_precision=0.9, confidence=0.9, review=True)
    >>> rule.thresholds.round(2), round(rule.automated, 2)
    (array([0.83, 0.8 , 0.76]), 0.48)
    >>> rule.apply([[0.1, 0.1, 0.8], [0.4, 0.4, 0.2]])
    array([ 2, -1])
    """

    kind: ClassVar[str] = "class_review"

    classes: ClassTuple
    thresholds: Floats
    ask: Label = None
    min_precision: Floats | None = None
    guarantee: Guarantee | None = None
    calibrator: Any = None
    n: int = 0
    automated: float = math.nan
    automated_interval: Interval | None = None
    coverage: float = 0.9
    counts: tuple[tuple[int, ...], ...] | None = None
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=files.current_versions)

    def __post_init__(self) -> None:
        classes = tuple(map(plain_label, self.classes))
        if len(classes) < 2:
            raise ValueError(f"classes must be two or more, not {shown(self.classes)}")
        thresholds = files.read_only(self.thresholds)
        floors = self.min_precision
        if floors is None:
            floors = np.full(thresholds.shape, math.nan)
        sized = thresholds.shape == np.shape(floors) == (len(classes),)
        if not sized or np.isnan(thresholds).any():
            raise ValueError(
                f"thresholds must be a number for each of {len(classes)} classes, not "
                f"{shown(self.thresholds)}"
            )
        ask = plain_label(self.ask)
        if ask is None:
            ask = "ask" if all(isinstance(one, str) for one in classes) else -1
        check_ask(ask)
        if ask in classes:
            raise ValueError(
                f"ask is {shown(ask)}, which is a class too: pass another one, such as "
                "ask='a person'"
            )
        known = {"classes": classes, "thresholds": thresholds, "ask": ask}
        known["min_precision"] = files.read_only(floors)
        self._freeze(**known, **files.check_fields(self))

    @property
    def metric(self) -> Metric:
        """Return what is promised of each class: precision."""
        return get_metric("precision")

    def predicts(self, p: ArrayLike) -> npt.NDArray[np.int64]:
        """Return the column of the class that a row is given, -1 where a person asks.

        Parameters
        ----------
        p : array-like of shape (n, classes)
            Probabilities as they were tuned on.

        Returns
        -------
        ndarray of shape (n,)
            Numbers of columns; of equal probabilities the first.
        """
        best, top = self._most_probable(p)
        return np.where(top >= self.thresholds[best], best, -1)

    def _most_probable(self, p: ArrayLike) -> tuple[Integers, Floats]:
        """Return the most probable class of each row, and its probability."""
        return most_probable(class_scores(p, self.classes, self.calibrator))

    def apply(self, p: ArrayLike) -> AnyArray:
        """Return the labels of the rows.

        Parameters
        ----------
        p : array-like of shape (n, classes)
            Probabilities as they were tuned on.

        Returns
        -------
        ndarray of shape (n,)
            A class for each row, or `ask`.
        """
        return labels_of(self.predicts(p), (*self.classes, self.ask))

    @property
    def _bands(self) -> str:
        some = int(np.isfinite(self.thresholds).sum())
        of = len(self.classes)
        return f"{some} of {of} classes have a threshold, a person sees the rows below"

    def fields(self) -> list[Field]:
        """Return all fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            Keys with values for JSON, and words with text for the summary.
        """
        asked = rows_text(1.0 - self.automated)
        return [
            *self._header(),
            *self._keys("classes", "thresholds", "ask", "min_precision"),
            Field("automated", self.automated, "automated", self._headline().number),
            *self._keys("automated_interval"),
            Field(words="for a person", text=asked),
            Field(words="thresholds", text=self._by_class(self.thresholds, "asks")),
            Field(words="promises", text=self._floors or None),
            Field("guarantee", self.guarantee, "guarantee", self._promise or None),
            self._field("n", "rows", COUNT),
            *self._keys("coverage", "counts", "notes", "versions"),
            Field("calibrator", lambda: files.saved_calibrator(self.calibrator)),
        ]

    @property
    def _floors(self) -> str:
        assert self.min_precision is not None
        floors = np.unique(self.min_precision)  # nan once
        if floors.size == 1:
            return "" if math.isnan(floors[0]) else f"{FLOOR}={floors[0]:g}"
        return f"{FLOOR} of {self._by_class(self.min_precision, 'none')}"

    def _by_class(self, values: Floats | None, none: str) -> str:
        """Return a value for each of the first classes in words, `none` for no one."""
        assert values is not None
        pairs = zip(self.classes, values, strict=True)
        return first_texts(
            [f"{a} {x:.4g}" if math.isfinite(x) else f"{a} {none}" for a, x in pairs],
            SHOWN,
        )

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> ClassReviewRule:
        """Return the rule that a file holds, with its numbers checked."""
        known = files.read_fields(cls, values)
        for name in ("thresholds", "min_precision"):
            known[name] = np.array([*map(files.number, values[name])])
        if values["counts"] is not None:
            known["counts"] = tuple(map(tuple, values["counts"]))
        return cls(**known)

    def _portable(self) -> PortableRule:
        if self.calibrator is not None:
            raise ValueError(
                "thresholds of calibrated probabilities of classes cannot be exported: "
                "export dataclasses.replace(rule, calibrator=None), and apply the "
                "calibrator before it"
            )
        count = len(self.classes)
        return PortableRule(
            self._title(),
            tuple(map(str, self.classes)),
            (*self.classes, self.ask),
            weights=(1.0,) * count,
            offsets=(0.0,) * count,
            least=tuple(self.thresholds.tolist()),
            promise=self._promise,
        )

    def _columns(self) -> dict[str, object]:
        columns: dict[str, object] = {"class": [str(name) for name in self.classes]}
        columns |= {"threshold": self.thresholds, FLOOR: self.min_precision}
        if self.counts is not None:
            columns |= dict(zip(COUNTS, zip(*self.counts, strict=True), strict=True))
        return columns

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw labelled rows by their most probable class: right, wrong, and asked."""
        if self.counts is None:
            raise ValueError("this rule has no counts to draw: tune() makes them")
        counts = np.array(self.counts)
        drawn = np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_BARS]
        places, left = np.arange(drawn.size), np.zeros(drawn.size)
        words: Any = {"xlabel": "Labelled rows", "ylabel": "Most probable class"}
        colors = zip(COUNTS, ("C0", "C3", "C7"), strict=True)
        with drawing(ax, bars_size(drawn.size), **words) as ax:
            for column, (name, color) in zip(counts[drawn].T, colors, strict=True):
                name = "for a person" if name == "asked" else name
                ax.barh(places, column, left=left, color=color, label=name)
                left = left + column
            ax.set_yticks(places, [str(self.classes[i]) for i in drawn])
            ax.invert_yaxis()
        return ax


def most_probable(p: Floats) -> tuple[Integers, Floats]:
    """Return the first column of the largest probability of each row, and that."""
    best = np.argmax(p, axis=1)
    return best, p[np.arange(best.size), best]


def class_floors(min_precision: SharesLike | None, classes: ClassTuple) -> Floats:
    """Return the floor of each class, nan for one without."""
    if min_precision is None:
        raise ValueError(
            "review=True needs a promise: min_precision=0.9, or one for each class, as "
            "in min_precision={'a class': 0.95}"
        )
    floors = one_per_class(min_precision, classes, FLOOR, math.nan)
    for name, floor in zip(classes, floors.tolist(), strict=True):
        if not (math.isnan(floor) or 0.0 < floor < 1.0):
            raise ValueError(
                f"{FLOOR} of class {shown(name)} is {floor:g}, and must lie between 0 "
                "and 1: 0 promises nothing and no number of rows proves 1"
            )
    if np.isnan(floors).all():
        raise ValueError(f"{FLOOR} names no class: every row would be for a person")
    return floors


def check_class_review(
    given: Mapping[str, object], *, review: bool, ask: Label
) -> None:
    """Refuse what has no meaning with or without thresholds that ask a person.

    `given` has the options of weights by name, None for those that were not passed.
    """
    if not review:
        for name in (FLOOR, "confidence"):
            if given[name] is not None:
                raise ValueError(
                    f"{name} is promised where a person sees unsure rows: pass "
                    "review=True too. For a floor under recall pass min_recall"
                )
        if ask is not None:
            raise ValueError(f"ask={shown(ask)} goes with review=True: pass it too")
        return
    if given["confidence"] is None:
        raise ValueError(
            "review=True promises what holds for new rows: pass confidence=0.9"
        )
    for name, value in given.items():
        if name not in (FLOOR, "confidence") and value is not None:
            reason = WITHOUT.get(name, MOST_PROBABLE)
            raise ValueError(f"review=True goes without {name}: {reason}")


def tune_review(
    p: Floats,
    true: Integers,
    classes: ClassTuple,
    floors: Floats,
    *,
    confidence: float,
    ask: Label,
    coverage: float,
) -> ClassReviewRule:
    """Certify a threshold for each class.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
    true : ndarray of shape (n_rows,)
        Column of the true class.
    classes : tuple
    floors : ndarray of shape (n_classes,)
        Floor under the precision of each class, nan for none.
    confidence : float
    ask : object
    coverage : float
        Of the interval of the rows that are given a class.
    """
    check_rows(p)
    best, top = most_probable(p)
    terms = Terms({}, {}, check_share(confidence, "confidence"))
    rows = best, top, best == true
    promises, notes = _certify(classes, floors, rows, terms)
    excess = _excess(floors, rows, promises, terms.risk)
    thresholds = np.full(len(classes), math.inf)
    for c, one in promises.items():
        thresholds[c] = one.interval.low
    given = top >= thresholds[best]
    of_class = (given & (best == true), given & (best != true), ~given)
    counts = [
        np.bincount(best[rows], minlength=len(classes)).tolist() for rows in of_class
    ]
    automated, interval = _proportion(int(given.sum()), best.size, excess, coverage)
    if not thresholds.any():  # every row is given a class
        automated, interval = 1.0, Interval(1.0, 1.0)
    guarantee = Guarantee(
        float(thresholds.min()),
        round(1.0 - terms.risk, 15),
        tuple(promises.values()),
        best.size,
        None,
        None,
        "precision",
        (
            population_words(LabelledRows(top, given, True), terms),
            NOT_FITTED,
            ONE_CROSSING,
        ),
        classes=tuple(classes[c] for c in promises),
    )
    return ClassReviewRule(
        classes,
        thresholds,
        ask,
        floors,
        guarantee,
        n=best.size,
        automated=automated,
        automated_interval=interval,
        coverage=coverage,
        counts=tuple(zip(*counts, strict=True)),
        notes=notes,
    )


def _certify(
    classes: ClassTuple,
    floors: Floats,
    rows: tuple[Integers, Floats, Booleans],
    terms: Terms,
) -> tuple[dict[int, Promise], tuple[str, ...]]:
    """Return the promises of classes that have one, and notes on the others.

    `rows` are the most probable class of each row, its probability, and whether it is
    the true one.
    """
    best, top, right = rows
    sizes = np.bincount(best, minlength=floors.size)
    left, few = _able(floors, sizes, terms.risk)
    if not left:
        raise _too_few(floors, sizes, terms.risk)
    first, tested = terms.risk / len(left), 0
    promises: dict[int, Promise] = {}
    while left and len(left) != tested:  # fewer than before: more risk for each
        errors: dict[int, NotCertifiedError] = {}
        tested, delta = len(left), terms.risk / len(left)
        for c in left:
            own = LabelledRows(top[best == c], right[best == c], True, of=best.size)
            words = {FLOOR: f"{FLOOR}={floors[c]:g}"}
            floor = replace(terms, limits={FLOOR: float(floors[c])}, words=words)
            cuts = np.unique(own.scores)
            try:
                one = certify_limit(own, cuts, FLOOR, floor, delta, first=first)
            except NotCertifiedError as error:
                errors[c] = error
                continue
            if one.k == sizes[c]:  # the test of all rows is that of every lower cut
                one = replace(one, interval=Interval(0.0, one.interval.high))
            promises[c] = one
        left = [c for c in left if c in errors or promises[c].k < sizes[c]]
    if not promises:
        c = min(errors, key=lambda c: errors[c].labels_needed or math.inf)
        text = f"no class is proven, and {shown(classes[c])} comes nearest: {errors[c]}"
        raise NotCertifiedError(text, errors[c].nearest, errors[c].labels_needed)
    notes = [f"no row is given {shown(classes[c])}: {x}" for c, x in errors.items()]
    if few:
        names = list_labels(tuple(classes[c] for c in few))
        notes.append(f"no row is given {names}: too few rows have it as {MOST}")
    return dict(sorted(promises.items())), tuple(notes)


def _excess(
    floors: Floats,
    rows: tuple[Integers, Floats, Booleans],
    promises: Mapping[int, Promise],
    risk: float,
) -> float:
    """Return how many rows too many the classes with a threshold are expected to have.

    A class has one because r of its rows are right: m or more are needed with as many
    errors. Where r is Poisson with the mean λ, the classes that pass have
    E[r 1{r >= m}] = λ P(r >= m - 1) such rows, and as many new rows have λ P(r >= m).
    The difference is m P(r = m), here at λ = r: of the first rows of a test, or of all
    that it certifies, whichever is farther from m. A class that fails might have
    passed: it counts with all of its rows.
    """
    best, top, right = rows
    sizes = np.bincount(best, minlength=floors.size)
    delta, total = risk / len(_able(floors, sizes, risk)[0]), 0.0
    for c in np.flatnonzero(np.isfinite(floors)).tolist():
        one, own = promises.get(c), best == c
        if one is not None:
            own &= top >= one.interval.high
        hits, n = int((own & right).sum()), int(own.sum())
        pairs = [(hits, n - hits)]
        if one is not None:
            pairs.append((one.k - one.errors, one.errors))
        total += min(_excess_of(*pair, floors[c], delta) for pair in pairs)
    return total


def _excess_of(r: int, errors: int, floor: float, delta: float) -> float:
    """Return m P(r = m) of a Poisson number with the mean r."""
    from scipy.special import betainc, gammaln

    right = np.arange(1.0, 2 * r + 50)
    passed = np.flatnonzero(betainc(right, errors + 1, floor) <= delta)
    if not (r and passed.size):
        return 0.0
    m = right[passed[0]]
    return float(m * np.exp(m * np.log(r) - r - gammaln(m + 1.0)))


def _proportion(
    given: int, n: int, excess: float, coverage: float
) -> tuple[float, Interval]:
    """Return the proportion of rows that are given a class, with an interval.

    `given` of n rows are, some of them because their number chose the classes: `excess`
    is expected of them. A probability at r in place of λ has twice the variance in its
    exponent, so it is too small by up to the square root of 2: the low end allows for
    that. The high end allows for no excess.
    """
    value = max(given - excess, 0.0) / n
    low = proportion_interval(max(given - ROOT_2 * excess, 0.0) / n, n, coverage).low
    return value, Interval(low, proportion_interval(given / n, n, coverage).high)


def _fewest(floors: Floats, risk: float) -> dict[int, int]:
    """Return how many rows without an error prove the floor of each class with one."""
    asked = np.flatnonzero(np.isfinite(floors)).tolist()
    rows = {x: fewest_rows(x, risk) or 0 for x in {*floors[asked].tolist()}}
    return {c: rows[floors[c]] for c in asked}


def _able(floors: Floats, sizes: Integers, risk: float) -> tuple[list[int], list[int]]:
    """Return the classes to test, as many as can pass at an equal risk, and the others.

    Sizes alone decide, which say nothing of the errors.
    """
    asked = np.flatnonzero(np.isfinite(floors)).tolist()
    for m in range(len(asked), 0, -1):
        spare = {c: sizes[c] - rows for c, rows in _fewest(floors, risk / m).items()}
        able = sorted((c for c in asked if spare[c] >= 0), key=lambda c: -spare[c])
        if len(able) >= m:
            return sorted(able[:m]), sorted({*asked} - {*able[:m]})
    return [], asked


def _too_few(floors: Floats, sizes: Integers, risk: float) -> NotCertifiedError:
    """Return the error of classes of which none has enough rows for a test."""
    fewest = _fewest(floors, risk)
    c = max(fewest, key=lambda c: sizes[c] / fewest[c])
    needed = math.ceil(fewest[c] * sizes.sum() / sizes[c]) if sizes[c] else None
    text = f"no class is proven: it takes {fewest[c]:,} rows with one class as {MOST}"
    text += f" at the least, not {sizes[c]:,}"
    if needed is not None:
        text += f"; about {needed:,} labelled rows may do (a forecast)"
    return NotCertifiedError(text, None, needed)
