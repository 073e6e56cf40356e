"""FrankWolfeClassifier: any classifier, trained for any metric within limits."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from argmetric._calibrate.fit import METHODS, Method
from argmetric._ground import arguments, features
from argmetric._ground.groups import check_groups
from argmetric._ground.labels import plain_label
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Estimator,
    Features,
    Floats,
    Folds,
    Integers,
    Label,
    RandomState,
    SharesLike,
)
from argmetric.metrics import MetricLike
from argmetric.train import _folds, _mixtures, _oracles
from argmetric.train._fitting import calibrate_held_out
from argmetric.train._wrapper import ClassifierWrapper

ENOUGH = 1e-5  # of the metric: a search ends when no member promises more
FAR = 0.02  # of the metric: what is so far below another has failed


@dataclass
class Search:
    """Members found so far: their gains and held-out tables."""

    gain: _mixtures.Value
    limits: _mixtures.Limits
    oracle: _oracles.PlugIn | _oracles.Refits
    verbose: bool
    tried: list[Floats] = field(default_factory=list)
    gains: list[Floats] = field(default_factory=list)
    tables: list[Floats] = field(default_factory=list)

    def add(self, gains: Floats) -> Floats | None:
        """Return the table of the best member for gains, None if these are not new."""
        gains = gains / (np.abs(gains).max() or 1.0)
        if any(np.allclose(gains, one, rtol=0.0, atol=1e-9) for one in self.tried):
            return None
        self.tried.append(gains)
        table = self.oracle.table(gains)
        if not any(np.array_equal(table, one) for one in self.tables):
            self.gains.append(gains)
            self.tables.append(table)
        return table

    def start(self, true: Floats) -> None:
        """Add every constant, the plain classifier, and the balanced one.

        true : ndarray of shape (n_groups, n_classes)
            Weight of the true rows of each group and class.
        """
        groups, count = true.shape
        columns = np.eye(count)[:, None, None, :]
        for gains in columns * np.ones((count, groups, count, 1)):
            self.add(gains)
        plain = np.ones((groups, 1, 1)) * np.eye(count)
        self.add(plain)
        self.add(plain / np.maximum(true.sum(axis=0), 1e-300)[:, None])

    def add_threshold(self, margin: float) -> None:
        """Add the best threshold of two classes if it beats all members by a margin."""
        n_groups, n_classes = self.tables[0].shape[:2]
        if n_classes > 2 or not isinstance(self.oracle, _oracles.PlugIn):
            return
        thresholds, tables = self.oracle.thresholds()
        alone = self.alone(tables)
        if alone.max(initial=-np.inf) > self.alone().max() + margin:
            best = thresholds[alone.argmax()]
            gains = np.array([[0.0, -best], [0.0, 1.0 - best]])
            self.add(np.ones((n_groups, 1, 1)) * gains)

    def alone(self, tables: AnyArray | None = None) -> Floats:
        """Return the gain of each member, or table, -inf where it misses a limit."""
        tables = np.stack(self.tables) if tables is None else tables
        kept = (self.limits.of(tables) >= -_mixtures.KEPT).all(axis=1)
        known = np.nan_to_num(self.gain(tables.sum(axis=1)), nan=-np.inf)
        return np.where(kept, known, -np.inf)

    def best_member(self, promised: float) -> Floats:
        """Return weight 1 for the best member alone, which a mixture may be far above.

        promised : float
            The gain of the best mixture.
        """
        # a threshold is not better on new rows if it is a little above all members here
        self.add_threshold(FAR)
        alone = self.alone()
        if np.isneginf(alone).all():
            raise ValueError(
                "a mixture keeps the limits, but no single member does: pass "
                "randomised=True, or loosen a limit"
            )
        if promised - alone.max() > FAR:
            warnings.warn(
                f"the best single member that keeps the limits reaches "
                f"{alone.max():.3g} on the held-out rows, a mixture {promised:.3g}: "
                "pass randomised=True",
                UserWarning,
                stacklevel=4,
            )
        weights: Floats = np.eye(alone.size)[alone.argmax()]
        return weights

    def report(self, step: int, value: float) -> None:
        if self.verbose:
            sys.stderr.write(f"step {step}: {value:.6g}, {len(self.tables)} members\n")


def frank_wolfe(search: Search, max_iter: int) -> _mixtures.Mixture:
    """Add the best members for the slopes at a moving table; return the best mixture.

    The table is that of the best mixture so far, as long as new members promise more
    than 1e-5. As a classifier is never quite the best for its gains, the table then
    moves from there by the paper's steps 2/(t + 2) towards each new member.
    """
    limits = search.limits
    tables = np.stack(search.tables)
    mixture = _mixtures.best_mixture(search.gain, tables, limits, None)
    point, slopes, small_steps = np.zeros(0), mixture.slopes, 0
    for step in range(max_iter):
        gains = slopes + limits.price(mixture.prices)
        search.report(step, mixture.gain)
        new = search.add(gains)
        if new is None:
            break
        known, tables = mixture.weights.size, np.stack(search.tables)
        if not small_steps:
            point = np.tensordot(mixture.weights, tables[:known], 1)
            better = float(((new - point) * gains).sum())
            if mixture.miss and better <= _mixtures.KEPT:
                break
            mixture = _mixtures.best_mixture(search.gain, tables, limits, mixture)
            slopes = mixture.slopes
            small_steps = int(better <= ENOUGH and not mixture.miss)
        if small_steps:
            small_steps += 1
            point = point + 2.0 / (small_steps + 2.0) * (new - point)
            slopes = _mixtures.slopes_of(search.gain, point.sum(axis=0))
    if small_steps:
        mixture = _mixtures.best_mixture(search.gain, tables, limits, mixture)
    known = mixture.weights.size
    if mixture.miss:
        table = np.tensordot(mixture.weights, np.stack(search.tables[:known]), 1)
        name = limits.names[int(limits.of(table[None]).argmin())]
        raise ValueError(
            f"no mixture keeps {name} and the other limits on the held-out rows: it is "
            f"missed by {mixture.miss:.3g}; loosen a limit"
        )
    return replace(
        mixture, weights=np.pad(mixture.weights, (0, len(search.tables) - known))
    )


def bisect(search: Search, above: Floats, below: Floats, max_iter: int) -> None:
    """Add the best member for A - γB, γ halving the range of the ratio ⟨A, C⟩/⟨B, C⟩.

    Where the member reaches γ, the best ratio is at least γ; else it is taken for less.
    """
    low = float(search.alone().max())
    high = float((above[below > 0.0] / below[below > 0.0]).max())
    for step in range(max_iter):
        middle = (low + high) / 2
        search.report(step, low)
        if high - low <= ENOUGH:
            break
        table = search.add((above - middle * below)[None])
        if table is None:
            break
        reached = float(search.gain(table.sum(axis=0))) >= middle
        low, high = (middle, high) if reached else (low, middle)


class FrankWolfeClassifier(ClassifierWrapper):
    """Train any classifier for any metric of the confusion matrix, within limits.

    The slopes of the metric at the current confusion matrix say what each prediction
    gains; the classifier of the highest gain joins a mixture, whose confusion matrix is
    the next one (Narasimhan et al. 2015). Limits enter the gains by their Lagrangian
    prices (Narasimhan et al. 2022). All confusion matrices are of held-out rows.
    See :doc:`/training`. Experimental: may change in any release.

    Parameters
    ----------
    estimator : classifier, optional
        By default ``LogisticRegression(max_iter=1000)``.
    metric : str, Metric or callable, default="f1"
        A name, an instance, or a function of (tp, k, t, n); with several classes its
        mean over the classes or its own form, or a function of the table of counts.
    oracle : {"plug-in", "weights"}, default="plug-in"
        What finds a classifier for gains. "plug-in" fits the estimator once and
        predicts the class of the highest expected gain under its calibrated
        probabilities. "weights" fits it anew each time, with gains as weights of rows.
    algorithm : {"auto", "frank-wolfe", "bisection"}, default="auto"
        "bisection" is for ratios of counts (F, Jaccard, precision) of two classes
        without limits, and is then what "auto" takes.
    min_recall, min_precision : float, sequence or dict, optional
        Minima of these rates: of the positive class, or with several classes of every
        class; a dict names classes.
    parity : (rate, gap), optional
        The rate, "recall" or "selection_rate", of two of the `groups` given to `fit`
        differs by at most `gap`: that of the positive class, or of every class.
    randomised : bool, default=False
        Whether each row is predicted by a member drawn by its weight. Otherwise the
        best single member that keeps the limits predicts.
    calibration : str or None, default="spline"
        For "plug-in", as in `MetricClassifier`; with several classes a temperature.
    cv : int, splitter or iterable of splits, default=5
        Folds of the held-out rows; ``ShuffleSplit(1)`` is a single split.
    max_iter : int, default=30
        Most members that are looked for.
    pos_label, zero_division, n_jobs
        As for `argmetric.MetricClassifier`.
    random_state : int, RandomState or None, default=0
        Seed of the draws of `predict`.
    verbose : int, default=0
        1 writes a line for each step to standard error.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Weights of the members that predict: 1 without `randomised`.
    gains_ : ndarray of shape (n_members, n_groups, n_classes, n_classes)
        Gains that each member is best for.
    members_ : list
        With "weights" the fitted members: a model, or the only class it predicts.
    estimator_, calibrator_
        With "plug-in" the classifier fitted on all rows, and its calibrator.
    table_ : ndarray of shape (n_classes, n_classes)
        Confusion matrix of held-out rows.
    best_score_ : float
        The metric at `table_`; as the best of many it is optimistic.
    n_iter_ : int
        Classifiers that the search tried.
    classes_, groups_ : ndarray
        The classes, and the groups of `parity`, sorted.

    See Also
    --------
    argmetric.MetricClassifier : Tune a threshold instead; with calibration checks.

    References
    ----------
    .. [1] H. Narasimhan, H. Ramaswamy, A. Saha, S. Agarwal. Consistent multiclass
       algorithms for complex performance measures. ICML 2015.
    .. [2] H. Narasimhan, H. Ramaswamy, S. Tavker, D. Khurana, P. Netrapalli,
       S. Agarwal. Consistent multiclass algorithms for complex metrics and
       constraints. arXiv:2210.09695, 2022.

    Examples
    --------
    >>> from argmetric.train import FrankWolfeClassifier
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(
    ...     1_000, n_classes=3, n_informative=4, weights=[0.8, 0.15], random_state=0
    ... )
    >>> model = FrankWolfeClassifier(metric="gmean", min_recall={0: 0.6}).fit(X, y)
    >>> bool(model.table_[0, 0] >= 0.6 * model.table_[0].sum())
    True
    """

    @arguments.refuses("scoring")
    def __init__(
        self,
        estimator: Estimator | None = None,
        metric: MetricLike = "f1",
        *,
        oracle: Literal["plug-in", "weights"] = "plug-in",
        algorithm: Literal["auto", "frank-wolfe", "bisection"] = "auto",
        min_recall: SharesLike | None = None,
        min_precision: SharesLike | None = None,
        parity: tuple[str, float] | None = None,
        randomised: bool = False,
        calibration: Method | None = "spline",
        cv: Folds = 5,
        max_iter: int = 30,
        pos_label: Label | None = None,
        zero_division: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = 0,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.oracle = oracle
        self.algorithm = algorithm
        self.min_recall = min_recall
        self.min_precision = min_precision
        self.parity = parity
        self.randomised = randomised
        self.calibration = calibration
        self.cv = cv
        self.max_iter = max_iter
        self.pos_label = pos_label
        self.zero_division = zero_division
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Features,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Search for the mixture on held-out rows, then fit its members on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows; whatever the estimator takes.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the estimator and in the confusion matrix.
        groups : array-like of shape (n_samples,), optional
            Group of each row, for `parity`.

        Returns
        -------
        FrankWolfeClassifier
            The estimator itself.
        """
        self._check_options()
        estimator, problem = self._read(X, y, sample_weight)
        n, weights = problem.y.size, problem.weights
        self.groups_, group = None, np.zeros(n, dtype=np.int64)
        if groups is not None:
            if self.parity is None:
                raise ValueError(
                    "groups are those of parity, which is None; to keep groups whole "
                    "in folds pass a list of splits as cv"
                )
            names = np.asarray(check_groups(groups, n, "y"))
            try:
                self.groups_, group = np.unique(names, return_inverse=True)
            except TypeError:
                raise TypeError(
                    "groups has ids of several types, which cannot be sorted: make "
                    "them one type first, such as text by astype(str)"
                ) from None
        self.classes_, self._positive = problem.classes, problem.positive
        weights = np.ones(n) if weights is None else weights
        sizes = int(group.max()) + 1, problem.classes.size
        rows = _oracles.Rows(problem.codes, group, weights, *sizes)
        make = self._plug_in if self.oracle == "plug-in" else self._refits
        oracle = make(estimator, problem, rows)
        self.n_iter_ = len(self._search(oracle, problem.positive).tried)
        if isinstance(oracle, _oracles.Refits):
            self.members_ = [oracle.fit(np.arange(n), gains) for gains in self.gains_]
            for model in self.members_:
                self._take_columns(model)
            if self._constant:  # no member knows the columns
                validate_data(self, X, skip_check_array=True)
        return self

    @property
    def _constant(self) -> bool:
        """Whether all members predict a class whatever the row."""
        weights = self.oracle == "weights"
        return weights and all(isinstance(one, int) for one in self.members_)

    def _check_options(self) -> None:
        arguments.check_choice(self.oracle, "oracle", ("plug-in", "weights"))
        arguments.check_choice(
            self.algorithm, "algorithm", ("auto", "frank-wolfe", "bisection")
        )
        if self.calibration is not None:
            arguments.check_choice(self.calibration, "calibration", METHODS)
        arguments.check_flag(self.randomised, "randomised")
        arguments.check_count(self.max_iter, "max_iter", low=1, high=10_000)

    def _plug_in(
        self, estimator: Any, problem: _folds.Problem, rows: _oracles.Rows
    ) -> _oracles.PlugIn:
        """Fit the estimator, and return the oracle of its held-out probabilities."""
        held_out, fit_params = self._hold_out(estimator, problem, {})
        self._fit_on_all(estimator, problem, fit_params)
        self.calibrator_ = None
        if self.calibration is not None:
            self.calibrator_ = calibrate_held_out(problem, held_out, self.calibration)
        elif held_out.margins:
            raise ValueError(
                "oracle='plug-in' needs probabilities, and the estimator has margins "
                "only: set a calibration"
            )
        p = self._class_probabilities(held_out.scores, held_out.margins)
        return _oracles.PlugIn(rows.take(held_out.rows), p)

    def _refits(
        self, estimator: Any, problem: _folds.Problem, rows: _oracles.Rows
    ) -> _oracles.Refits:
        _oracles.weight_name(estimator)
        splits = _folds.split_rows(self.cv, problem, {})
        _folds.refuse_absent_class(problem, splits)
        tests = rows.take(np.concatenate([test for _, test in splits]))
        return _oracles.Refits(estimator, problem, rows, splits, tests, self.n_jobs)

    def _search(
        self, oracle: _oracles.PlugIn | _oracles.Refits, positive: int | None
    ) -> Search:
        """Set the members that predict, their weights and their confusion matrix."""
        rows, max_iter = oracle.rows, int(self.max_iter)
        gain, ratio = _mixtures.gain_of(
            self.metric, self.zero_division, rows.n_classes, positive
        )
        true = rows.tally(rows.codes).sum(axis=1)
        limits = _mixtures.read_limits(
            vars(self), true, self.classes_.tolist(), positive, self.groups_
        )
        if limits.names:
            ratio = None
        if self.algorithm == "bisection" and ratio is None:
            raise ValueError(
                "algorithm='bisection' is for ratios of counts of two classes without "
                "limits, such as f1: pass algorithm='frank-wolfe'"
            )
        search = Search(gain, limits, oracle, arguments.check_verbose(self.verbose))
        search.start(true)
        if limits.names or self.randomised:
            search.add_threshold(0.0)
        weights, promised = None, -np.inf
        if ratio is not None and self.algorithm != "frank-wolfe":
            bisect(search, *ratio, max_iter)
        else:
            mixture = frank_wolfe(search, max_iter)
            if self.randomised:
                weights = mixture.weights
            elif limits.names:
                promised = mixture.gain
                for factor in np.geomspace(0.9, 3.0, max_iter):
                    priced = limits.price(factor * mixture.prices)
                    search.add(mixture.slopes + priced)
        if weights is None:
            weights = search.best_member(promised)
        used = np.flatnonzero(weights)
        self.weights_ = weights[used]
        self.gains_ = np.stack(search.gains)[used]
        tables = np.stack(search.tables)[used].sum(axis=1)
        self.table_ = np.tensordot(self.weights_, tables, 1)
        self.best_score_ = float(gain(self.table_))
        return search

    def predict(self, X: Features, groups: ArrayLike | None = None) -> AnyArray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows.
        groups : array-like of shape (n_samples,), optional
            Group of each row: needed with `parity` and the plug-in oracle.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes, as in `classes_`. With `randomised` each row draws a member,
            in the same way whenever the same seed predicts the same rows.
        """
        check_is_fitted(self)
        features.check_features(X)
        if self.oracle == "plug-in":
            p = self._class_probabilities(*self._scores(X))
            group = self._group_codes(groups, len(p))
            labels = [_oracles.best_labels(p, group, gains) for gains in self.gains_]
        else:
            if self._constant:
                validate_data(self, X, reset=False, skip_check_array=True)
            labels = [
                _oracles.class_codes(one, X, self.classes_) for one in self.members_
            ]
        codes = labels[0]
        if len(labels) > 1:
            rng = check_random_state(self.random_state)
            drawn = rng.choice(len(labels), size=codes.size, p=self.weights_)
            codes = np.stack(labels)[drawn, np.arange(codes.size)]
        return np.asarray(self.classes_[codes])

    def _group_codes(self, groups: ArrayLike | None, n: int) -> Integers:
        """Return the index of each row's group."""
        if self.groups_ is None:
            return np.zeros(n, dtype=np.int64)
        if groups is None:
            raise ValueError("parity needs the group of each row: predict(X, groups)")
        names = np.asarray(check_groups(groups, n, "X"))
        wrong = np.flatnonzero(~np.isin(names, self.groups_))
        if wrong.size:
            name = arguments.shown(plain_label(names[wrong[0]]))
            raise ValueError(
                f"groups has {name} at row {wrong[0]}, which fit has not seen; its "
                f"groups are {self.groups_.tolist()}"
            )
        return np.searchsorted(self.groups_, names)

    def score(
        self,
        X: Features,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> float:
        """Return the metric of `predict(X, groups)`.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight, groups : array-like of shape (n_samples,), optional
            Their weights and groups.

        Returns
        -------
        float
            Larger is better: a metric that is minimised is negated.
        """
        labels = self.predict(X, groups)
        return self._score(y, labels, {"sample_weight": sample_weight})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = bool(self.randomised)
        return tags
