"""Logistic regression whose coefficients maximise a metric."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from argmetric._ground.arguments import (
    check_choice,
    check_count,
    check_flag,
    check_jobs,
    check_label,
    check_number,
    check_seed,
    check_verbose,
    refuses,
    shown,
)
from argmetric._ground.features import (
    check_features_with_hint,
    class_number,
    estimator_labels,
    is_second,
)
from argmetric._ground.labels import one_per_row
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import AnyArray, ArrayLike, Features, Floats, Label
from argmetric._ground.validation import to_numpy, warn_of_common_class
from argmetric._verbs.decide import evaluate
from argmetric.metrics import Metric, MetricLike, get_metric
from argmetric.train._fit import FitSettings, Optimum, fit
from argmetric.train._objectives import (
    ExpectedMetric,
    Objective,
    OperatingPoints,
    SoftMetric,
    squared_beta,
)
from argmetric.train._rows import (
    TrainingClasses,
    TrainingRows,
    read_labels,
    read_weights,
)

FORMS: dict[str, object] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
}  # accepted X
SMALLEST_C = 1e-100  # the penalty 1/C is multiplied by squares, which must not overflow
MAX_BFGS_COLUMNS = 5_000  # the matrix of BFGS then takes 200 MB
FLAT = 14.0  # margin beyond which a row no longer moves the objective: g' < 1e-6


class MetricLogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Logistic regression fitted for a metric of the confusion matrix.

    The coefficients maximise

    .. math:: U(\theta) - \frac{1}{2 C \sum_i w_i} \lVert\theta\rVert^2

    instead of the likelihood, with the intercept unpenalised. U is the metric of smooth
    counts ("soft", Jansche 2005), or the exact expectation of the metric when each
    row is labelled at random with its probability ("expected", Jansche 2007). The
    search starts several times and keeps the best. See :doc:`/training`.
    Experimental: may change in any release.

    Parameters
    ----------
    metric : str, Metric, callable or a list of these, default="f1"
        A list gives several operating points: the coefficients maximise the mean of the
        metrics, and each has its own intercept (see `at`); `predict` uses the first.
    objective : {"soft", "expected"}, default="soft"
        "soft" takes any metric; "expected" takes F-measures.
    C : float, default=10.0
        Inverse strength of the penalty, on the scale of scikit-learn's
        `LogisticRegression`; may be infinite.
    gamma : float, default=1.0
        Steepness: counts are sums of 1/(1+exp(-gamma·x·θ)).
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    n_restarts : int, default=5
        Number of starts. With more than 50,000 rows all run on a stratified sample of
        20,000, and the two best distinct optima go on to all rows.
    init : {"likelihood", "random"}, default="likelihood"
        Starts at the maximum-likelihood fit, or at N(0, s²), s = 1, 3, 10 in turn.
        "random", "bfgs" and C=inf are the training of Jansche (2005).
    solver : {"lbfgs", "bfgs"}, default="lbfgs"
        The optimiser. "bfgs" keeps a full matrix, for at most 5,000 columns.
    class_weight : dict or "balanced", optional
        Weights of the classes, multiplied with `sample_weight`.
    random_state : int, RandomState instance or None, default=0
        Seed of the random starts and of the sample.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on it.
    warm_start : bool, default=False
        Whether the first start is the solution of the last call of `fit`.
    max_iter : int, default=1000
        Maximum number of iterations from each start. A `ConvergenceWarning` says that
        the best start needed more.
    tol : float, default=1e-4
        A search ends when no slope, in standardised columns, exceeds it.
    pos_label : label, optional
        The label the metric calls positive; by default the greater one.
    verbose : int, default=0
        Print the value of each start if positive.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_features)
        Coefficients; a positive `decision_function` means `classes_[1]`.
    intercept_, intercepts_ : ndarray of shape (1,) and (n_metrics,)
        Intercept, and that of each operating point.
    objective_ : float
        The penalised objective at the solution, in units of the metric.
    restarts_ : ndarray of shape (n_restarts,)
        The objective on all rows for each start; the best is `objective_`.
    n_iter_ : ndarray of shape (1,)
        Iterations of the best start.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    `predict_proba` is the smooth label 1/(1+exp(-gamma·x·θ)) that the objective
    counted. It ranks rows but is not calibrated: use :func:`argmetric.calibrate` if you
    need probabilities. The search runs on standardised columns. `score` is the metric.

    References
    ----------
    .. [1] M. Jansche. Maximum expected F-measure training of logistic regression
       models. HLT/EMNLP 2005.
    .. [2] M. Jansche. A maximum expected utility framework for binary sequence
       labeling. ACL 2007.

    Examples
    --------
    >>> import argmetric as am
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1, 0, 1, 1]
    >>> am.MetricLogisticRegression("f1").fit(X, y).predict(X)
    array([1, 1, 1, 1])
    >>> points = [am.FBeta(0.5), am.FBeta(2)]
    >>> model = am.MetricLogisticRegression(points, C=100).fit(X, y)
    >>> [model.at(point).predict(X).tolist() for point in points]
    [[0, 0, 1, 1], [1, 1, 1, 1]]
    """

    @refuses("scoring")
    def __init__(
        self,
        metric: MetricLike | Sequence[MetricLike] = "f1",
        *,
        objective: Literal["soft", "expected"] = "soft",
        C: float = 10.0,
        gamma: float = 1.0,
        fit_intercept: bool = True,
        n_restarts: int = 5,
        init: Literal["likelihood", "random"] = "likelihood",
        solver: Literal["lbfgs", "bfgs"] = "lbfgs",
        class_weight: dict[Label, float] | Literal["balanced"] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        warm_start: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-4,
        pos_label: Label | None = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.objective = objective
        self.C = C
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.n_restarts = n_restarts
        self.init = init
        self.solver = solver
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.tol = tol
        self.pos_label = pos_label
        self.verbose = verbose

    def fit(
        self, X: Features, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights: a row of weight w counts w times in the confusion matrix.

        Returns
        -------
        MetricLogisticRegression
            The estimator itself.
        """
        self._check_parameters()
        previous = None
        if self.warm_start and hasattr(self, "coef_"):
            previous = np.append(self.coef_[0], self.intercepts_)
        matrix: Any = X
        truth: Any = estimator_labels(y)
        with check_features_with_hint(matrix, truth):
            matrix, truth = validate_data(self, matrix, truth, order="C", **FORMS)
        if not isinstance(matrix, np.ndarray) and not matrix.has_canonical_format:
            matrix = matrix.copy()  # the caller's stays as it is
            matrix.sum_duplicates()
        labels = read_labels(truth, self.pos_label)
        if self.pos_label is None:
            warn_of_common_class(labels.classes, 1, truth)
        weight = read_weights(truth, labels, sample_weight, self.class_weight)
        positive, threads = truth == labels.positive, check_jobs(self.n_jobs)
        rows = TrainingRows(matrix, positive, weight, threads)
        if not weight.all():  # rows of weight 0 are not there
            there = np.flatnonzero(weight)
            rows = rows.take(there, weight[there])
        return self._fit_rows(rows, labels, previous)

    def _fit_rows(
        self,
        rows: TrainingRows,
        labels: TrainingClasses,
        previous: Floats | None = None,
    ) -> Self:
        """Search for the best coefficients and store them."""
        metrics = self._metrics()
        if previous is not None and previous.size != rows.k + len(metrics):
            previous = None
        if self.solver == "bfgs" and rows.k > MAX_BFGS_COLUMNS:
            raise ValueError(
                f'solver="bfgs" keeps a matrix of columns by columns, for at most '
                f"{MAX_BFGS_COLUMNS:,} of them, but X has {rows.k:,}: "
                'solver="lbfgs" has no such limit'
            )
        # The sign of the margins is that of classes_[1], whichever is positive.
        sign = 1.0 if labels.positive == labels.classes[1] else -1.0
        start = None if previous is None else sign * previous
        best, self.restarts_ = self._search(rows, metrics, start)
        text = None
        if not best.converged:
            text = (
                f"the best search stopped after max_iter={self.max_iter} iterations, "
                "before it converged; raise max_iter or tol"
            )
        elif self.gamma * rows.least_margin(best.theta[: rows.k + 1]) > FLAT:
            text = (
                "the two classes are separated, so far that the objective is flat: the "
                f"size of the coefficients is arbitrary with C={self.C:g}; lower C"
            )
        if text is not None:
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        theta = sign * best.theta
        self.classes_ = labels.classes
        self.coef_ = theta[None, : rows.k]
        self.intercepts_ = theta[rows.k :]
        self.intercept_ = self.intercepts_[:1]
        self.objective_ = best.value
        self.n_iter_ = np.array([best.n_iter], dtype=np.int32)
        return self

    def at(self, metric: MetricLike) -> Self:
        """Return this model at the operating point of one of its metrics.

        Parameters
        ----------
        metric : str, Metric or callable
            One of those that `metric` listed.

        Returns
        -------
        MetricLogisticRegression
            A copy whose `intercept_`, and so `predict`, is that of the metric.
        """
        check_is_fitted(self)
        known, asked = self._metrics(), get_metric(metric)
        if asked not in known:
            names = ", ".join(one.name for one in known)
            raise ValueError(f"{asked.name} is not among the metrics fitted: {names}")
        point = copy(self)
        place = known.index(asked)
        point.intercept_ = self.intercepts_[place : place + 1]
        return point

    def decision_function(self, X: Features) -> Floats:
        """Return the margins x·θ + θ₀; positive where `classes_[1]` is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Margins.
        """
        check_is_fitted(self)
        with check_features_with_hint(X):
            X = validate_data(self, X, reset=False, **FORMS)
        return np.asarray(X @ self.coef_[0] + self.intercept_[0], dtype=np.float64)

    def predict_proba(self, X: Features) -> Floats:
        """Return smooth labels of both classes, not calibrated probabilities.

        See the notes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Columns in the order of `classes_`.
        """
        margin = self.gamma * self.decision_function(X)
        return np.column_stack(from_log_odds(margin)[::-1])

    def predict(self, X: Features) -> AnyArray:
        """Return `classes_[1]` where the decision function is positive.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        above = self.decision_function(X) > 0
        return np.asarray(self.classes_[above.astype(int)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self) -> None:
        """Raise an error for the first parameter that is out of range."""
        check_choice(self.objective, "objective", ("soft", "expected"))
        check_number(self.tol, "tol", low=0.0, high=1e100, strict=True)
        C = check_number(self.C, "C", low=0.0, strict=True, infinite=True)
        if C < SMALLEST_C:
            raise ValueError(f"C must be {SMALLEST_C:g} or more, not {shown(self.C)}")
        gamma = check_number(self.gamma, "gamma", low=0.0, strict=True, infinite=True)
        if not np.isfinite(gamma):
            raise ValueError("gamma must be finite: raise C for harder counts")
        check_count(self.n_restarts, "n_restarts", low=1, high=100_000)
        check_choice(self.init, "init", ("likelihood", "random"))
        check_choice(self.solver, "solver", ("lbfgs", "bfgs"))
        check_count(self.max_iter, "max_iter", low=1)
        for name in ("fit_intercept", "warm_start"):
            check_flag(getattr(self, name), name)
        check_seed(self.random_state, high=2**32 - 1)
        check_label(self.pos_label)
        check_verbose(self.verbose)

    def score(
        self, X: Features, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the metric that the model was fitted for, the first of several.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Their weights.

        Returns
        -------
        float
            Larger is better: a metric that is minimised is negated.
        """
        labels, metric = self.predict(X), self._metrics()[0]
        truth = one_per_row(to_numpy(estimator_labels(y), "y"), "y")
        second = is_second(truth, self.classes_, "y")
        chosen = labels == self.classes_[1]
        if class_number(self.classes_, self.pos_label) == 0:
            second, chosen = ~second, ~chosen
        return metric._gain(
            evaluate(second, chosen, metric, sample_weight=sample_weight)
        )

    def _metrics(self) -> list[Metric]:
        """Return the metric, or those of all operating points."""
        given: Any = self.metric
        several = given if isinstance(given, list | tuple) else [given]
        if not several:
            raise ValueError("metric is an empty list: name one metric or more")
        return [get_metric(one) for one in several]

    def _search(
        self, rows: TrainingRows, metrics: list[Metric], previous: Floats | None
    ) -> tuple[Optimum, Floats]:
        """Build the objective and maximise it from several starts."""
        expected, gamma = self.objective == "expected", float(self.gamma)
        if expected:
            for metric in metrics:
                squared_beta(metric)  # refuses a metric that is no F-measure

        def build(part: TrainingRows) -> Objective:
            goals: tuple[Objective, ...] = tuple(
                ExpectedMetric(part, metric, gamma)
                if expected
                else SoftMetric(part, metric, gamma)
                for metric in metrics
            )
            return goals[0] if len(goals) == 1 else OperatingPoints(goals)

        def report(text: str) -> None:
            if self.verbose:
                print(f"[MetricLogisticRegression] {text}")

        settings = FitSettings(
            strength=1.0 / (float(self.C) * (rows.positives + rows.negatives)),
            fit_intercept=bool(self.fit_intercept),
            n_restarts=int(self.n_restarts),
            max_iter=int(self.max_iter),
            tol=float(self.tol),
            init=self.init,
            solver=self.solver,
            report=report,
        )
        state = check_random_state(self.random_state)
        rng = np.random.default_rng(state.randint(2**31 - 1))
        return fit(build, rows, settings, rng, previous)
