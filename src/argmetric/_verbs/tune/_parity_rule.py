"""One threshold for each group, so that a rate hardly differs between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

import numpy as np

from argmetric._ground.arguments import check_share, check_texts, shown
from argmetric._ground.display import (
    Field,
    Headline,
    between,
    documented,
    metric_title,
    number,
)
from argmetric._ground.groups import code_groups
from argmetric._ground.labels import plain_label
from argmetric._ground.pictures import MOST_BARS, bars_size, draw_bars, drawing
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Axes,
    Booleans,
    Integers,
    Interval,
    Label,
    Series,
)
from argmetric._ground.validation import check_choice, read_scores, same_kind
from argmetric._verbs import _parity as engine
from argmetric._verbs.guarantees import percent
from argmetric._verbs.tune._export import SqlDialect, check_function_name
from argmetric._verbs.tune._export_other import DIALECTS
from argmetric._verbs.tune._review import proportion_interval
from argmetric._verbs.tune._rule import Rule
from argmetric._verbs.tune.files import SavedRule, current_versions, read_fields
from argmetric.metrics import Metric

RATES = {"recall": "recall", "selection_rate": "selection rate"}
COVERAGE = 0.9  # of intervals of the rates and their gap on the labelled rows
SHOWN = 5  # names of groups in a message


@dataclass(frozen=True, repr=False, eq=False)
class ParityRule(SavedRule):
    """A threshold for each group, so that a rate hardly differs between them.

    Experimental: may change in any release.

    `tune` with ``parity=(rate, groups, gap)`` returns it. More on the page
    :doc:`/parity`.

    Parameters
    ----------
    names : tuple
        The groups.
    rules : tuple of Rule
        A rule of one threshold for each group, on its own rows.
    rate : {"recall", "selection_rate"}
        What the groups share.
    gap : float
        Largest difference of the rate between two groups.
    confidence : float or None
        With which the gap holds on new rows; None: on these rows only.
    probability : float
        Probability that it holds, at least `confidence`; nan without one.
    rates : tuple of float
        The rate of each group on the labelled rows.
    sizes : tuple of int
        Rows of each group that certify its threshold.
    score : float
        The metric on all rows.
    n : int
        Number of rows.
    notes : tuple of str
        Remarks on the rule.
    versions : dict
        Versions of argmetric and numpy that made it.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, group = rng.random(4000), np.repeat(["a", "b"], 2000)
    >>> y = rng.random(4000) < p
    >>> rule = am.tune(y, p, "f1", parity=("recall", group, 0.1), confidence=0.9)
    >>> rule.probability >= 0.9
    True
    >>> rule.apply([0.1, 0.9], ["a", "b"])
    array([False,  True])
    """

    kind: ClassVar[str] = "parity"

    names: tuple[Label, ...]
    rules: tuple[Rule, ...]
    rate: str
    gap: float
    confidence: float | None = None
    probability: float = math.nan
    rates: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    score: float = math.nan
    n: int = 0
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=current_versions)

    def __post_init__(self) -> None:
        check_choice(self.rate, "rate", tuple(RATES))
        check_share(self.gap, "gap")
        # a name that is a tuple comes back from a file as a list
        names = [tuple(x) if isinstance(x, list) else x for x in self.names]
        n = len(names)
        if not n or {len(self.rules), len(self.rates or names), len({*names})} != {n}:
            raise ValueError(
                f"{len(self.rules)} rules, {len(self.rates)} rates and {len({*names})} "
                "names that differ: one of each per group is needed"
            )
        rates = tuple(self.rates) or (math.nan,) * n
        known = {x: tuple(getattr(self, x)) for x in ("rules", "sizes")}
        self._freeze(names=tuple(names), rates=rates, **known)
        if len({(x.metric, x.pos_label, x.neg_label) for x in self.rules}) > 1:
            raise ValueError("rules must have the same metric and the same two labels")

    @property
    def metric(self) -> Metric:
        """Metric that the thresholds were chosen for."""
        return self.rules[0].metric

    @property
    def thresholds(self) -> dict[Label, float]:
        """Threshold of each group."""
        cuts = (rule.threshold for rule in self.rules)
        return dict(zip(self.names, cuts, strict=True))

    def apply(self, p: ArrayLike, groups: ArrayLike | None = None) -> AnyArray | Series:
        """Return labels of the scores, each by the threshold of its group.

        Parameters
        ----------
        p : array-like
            Scores as they were tuned on.
        groups : array-like
            Group of each row.

        Returns
        -------
        array-like
            0 and 1, or the labels that `y` had.
        """
        return same_kind(p)(self.rules[0].named(self._selected(p, groups)))

    def _selected(self, p: ArrayLike, groups: object) -> Booleans:
        """Return which rows are positive, each by the threshold of its group."""
        if groups is None:
            raise ValueError(
                "a ParityRule needs the group of each row: apply(p, groups)"
            )
        scores = read_scores(p, "p", logits=True)
        if scores.ndim != 1:
            raise ValueError(
                f"p must be one column of scores, not of shape {scores.shape}: pass "
                "the column of the positive class, such as p[:, 1]"
            )
        places = self._places(groups, scores.size)
        chosen = np.zeros(scores.size, dtype=bool)
        for place, rule in enumerate(self.rules):
            here = places == place
            chosen[here] = rule.applies(scores[here])
        return chosen

    def _count_selected(
        self, positive: Booleans, selected: Booleans, places: Integers
    ) -> tuple[Integers, Integers]:
        """Return rows that are selected, and all that the rate is of, in each group."""
        base = positive if self.rate == "recall" else np.ones(places.size, dtype=bool)
        n = len(self.names)
        hits = np.bincount(places[base & selected], minlength=n)
        return hits, np.bincount(places[base], minlength=n)

    def _gap_text(self, hits: Integers, sizes: Integers, coverage: float) -> str:
        """Return the gap of counted rows in words, with its interval and the rates."""
        gap, ends = engine.gap_interval(hits, sizes, coverage)
        if math.isnan(gap):
            return f"unknown: fewer than two groups have a {RATES[self.rate]} here"
        rates = hits[sizes > 0] / sizes[sizes > 0]
        return (
            f"{number(gap)} ({coverage:.0%} interval {between(ends)}): "
            f"{RATES[self.rate]} {number(rates.min())} to {number(rates.max())}"
        )

    @property
    def _counts(self) -> tuple[Integers, Integers]:
        """Selected rows, and all that the rate is of, in each group of these rows."""
        recall, rates = self.rate == "recall", np.nan_to_num(self.rates)
        each = [x.n * (x.prevalence if recall else 1.0) for x in self.rules]
        sizes = np.rint(np.nan_to_num(each)).astype(np.int64)
        return np.rint(sizes * rates).astype(np.int64), sizes

    @property
    def _rate_intervals(self) -> tuple[Interval, ...]:
        """Interval of each of `rates` for such rows, at 90 % each."""
        pairs = zip(*(x.tolist() for x in self._counts), strict=True)
        return tuple(
            proportion_interval(k / n, n, COVERAGE) if n else Interval(0.0, 1.0)
            for k, n in pairs
        )

    def _places(self, groups: object, n: int, name: str = "groups") -> Integers:
        """Return the place of the group of each row in `names`."""
        coded = code_groups(groups, n, name=name)
        known = {one: place for place, one in enumerate(self.names)}
        ids = [*map(plain_label, coded.ids.tolist())]
        places = np.array([known.get(one, -1) for one in ids], dtype=np.int64)
        places = places[coded.codes]
        for row in np.flatnonzero(places < 0)[:1].tolist():
            raise ValueError(
                f"{name} has {shown(ids[coded.codes[row]])} at row {row}, which the "
                f"rule never saw: {self._known_names}"
            )
        return places

    @property
    def _known_names(self) -> str:
        """Return the groups of the rule in words, the first few of many."""
        named = ", ".join(map(shown, self.names[:SHOWN]))
        rest = len(self.names) - SHOWN
        return f"it has {named}" + f" and {rest:,} more" * (rest > 0)

    @property
    def sentence(self) -> str:
        """Promise of the rule, in one sentence."""
        what = f"{RATES[self.rate]}s of the {len(self.names):,} groups"
        if not self.n:
            return f"the {what} should differ by at most {self.gap:g}"
        if self.confidence is None:
            return f"on these {self.n:,} rows the {what} differ by at most {self.gap:g}"
        return (
            f"with {percent(self.confidence)} confidence the {what} differ by at most "
            f"{self.gap:g} on new rows, if those of each group come from the same "
            f"population as in these {self.n:,} rows, and scores do not tie"
        )

    def _headline(self) -> Headline:
        ends = f"{number(min(self.rates))} to {number(max(self.rates))}"
        name = metric_title(self.metric.name)
        more = f"{name} {number(self.score)} on these rows"
        return Headline(RATES[self.rate], ends, more)

    def fields(self) -> list[Field]:
        each, what = zip(self.names, self.rules, self.rates, strict=True), self.rate
        lines = [
            Field(
                words=str(name),
                text=f"{one._headline().number}, {RATES[what]} {number(rate)}",
            )
            for name, one, rate in each
        ]
        kept = self._keys("names", "rules", "rate", "confidence")
        kept += self._keys("rates", "sizes", "score", "n", "notes", "versions")
        gap = f"at most {self.gap:g}"
        if self.n:
            gap = f"{gap}; on these rows {self._gap_text(*self._counts, COVERAGE)}"
        sure = f"{self.probability:.3f} that the gap holds on new rows"
        return [
            *self._header(),
            *lines,
            Field("gap", self.gap, "gap", gap),
            Field("sentence", self.sentence, "guarantee", self.sentence),
            Field(
                "probability",
                self.probability,
                "probability",
                None if math.isnan(self.probability) else sure,
            ),
            *kept,
        ]

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> ParityRule:
        known = read_fields(cls, values)
        known["rules"] = [Rule._from_plain(one) for one in known["rules"]]
        known["rates"] = [float(rate) for rate in known["rates"]]
        return cls(**known)

    def to_sql(self, dialect: SqlDialect = "duckdb", column: object = None) -> str:
        """Return an SQL expression with the label of a row, as `apply` gives it.

        A score that `apply` refuses, and a group that the rule never saw, get NULL.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite", "spark"}, default="duckdb"
            The database.
        column : sequence of two str, optional
            Names of the columns of scores and of groups, by default "p" and "group".

        Returns
        -------
        str
            A CASE expression.
        """
        names = check_texts(
            ("p", "group") if column is None else column, "column", "two names"
        )
        if len(names) != 2:
            raise ValueError(
                "column must be two names, of the scores and of the groups, not "
                f"{shown(column)}"
            )
        check_choice(dialect, "dialect", tuple(DIALECTS))
        self._check_names(f"a column of {dialect}")
        how = DIALECTS[dialect]
        cases = "\n".join(
            f"WHEN {how.label(name)} THEN {rule.to_sql(dialect, names[0])}"
            for name, rule in zip(self.names, self.rules, strict=True)
        )
        return f"CASE {how.column(names[1])}\n{cases}\nEND\n  /* {self.sentence} */"

    def to_python(self, name: str = "label") -> str:
        """Return the source of a Python function that labels one row by its group.

        It needs no package. It returns None for a score that `apply` refuses, and for a
        group that the rule never saw.

        Parameters
        ----------
        name : str, default="label"
            Name of the function, whose arguments are the score and the group.

        Returns
        -------
        str
            The source of the function.
        """
        check_function_name(name)
        self._check_names("a function")
        parts = [x.to_python(f"_{name}_{i}") for i, x in enumerate(self.rules)]
        cases = "".join(
            f"        {one!r}: _{name}_{i},\n" for i, one in enumerate(self.names)
        )
        told = f"{self._title()}: {self.sentence}"
        told = told.replace("\\", "/").replace("'", "`")
        body = (
            f"def {name}(p, group):\n    '''{told}'''\n"
            f"    labels = {{\n{cases}    }}\n"
            "    return labels[group](p) if group in labels else None"
        )
        return "\n\n\n".join([*parts, body])

    def _check_names(self, target: str) -> None:
        """Refuse names that a target cannot write, or that are of several kinds."""
        kinds = {type(name) for name in self.names}
        if len(kinds) > 1 or not kinds <= {int, float, str, bool}:
            raise TypeError(
                f"{target} cannot hold the groups {', '.join(map(shown, self.names))}: "
                "all must be of one kind (int, float, str, bool)"
            )

    def _portable(self) -> NoReturn:
        raise TypeError(
            "a ParityRule has a threshold for each group, which to_sql and to_python "
            "write; ONNX and JSON take the rules one by one, as "
            "rule.rules[0].to_onnx() for the first of rule.names"
        )

    def _title(self) -> str:
        return f"ParityRule({len(self.names)} groups, metric={self.metric.name})"

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rate of each group on the labelled rows, with its interval."""
        rates = np.array(self.rates)
        low, high = rates.min(), rates.min() + self.gap
        names = [
            f"{name} ({x.threshold:.3g})"
            for name, x in zip(self.names, self.rules, strict=True)
        ]
        with drawing(ax, bars_size(len(names)), xlabel=RATES[self.rate]) as ax:
            draw_bars(ax, names, rates)
            if self.n and rates.size <= MOST_BARS:
                ends = np.abs(np.array(self._rate_intervals).T - rates)
                how: Any = {"fmt": "none", "ecolor": "k"}
                ax.errorbar(rates, np.arange(rates.size), xerr=ends, **how)
            label = f"a gap of {self.gap:g}"
            ax.axvspan(low, high, color="C1", alpha=0.3, lw=0, label=label)
        return ax
