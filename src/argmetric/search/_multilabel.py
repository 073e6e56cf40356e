"""Labels of a row, decided one after the other for any metric of a row."""

from __future__ import annotations

import sys
import time
import warnings
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from argmetric._ground.arguments import (
    LARGEST_COUNT,
    check_count,
    check_number,
    check_seed,
    shown,
    to_float,
)
from argmetric._ground.features import explained
from argmetric._ground.labels import clear_labels
from argmetric._ground.types import (
    ArrayLike,
    BinaryLabels,
    Features,
    Floats,
    Integers,
    RandomState,
)
from argmetric._ground.validation import check_choice, to_numpy
from argmetric.metrics import Metric, MetricLike, get_metric
from argmetric.search.learning import MOST_EPOCHS, RollIn, gold_share

Costs = Literal["zero_one", "regret"]
_LARGEST = 1e150  # squares of larger values overflow
_ROUNDING = 1e-12
_FIRST_SQUARE = 0.01  # AdaGrad's sum of squares before the first gradient
_MOST_DOUBLINGS = 30  # a beam wider than all sequences is cut to their number


def row_metric(metric: MetricLike) -> Metric:
    """What a row is judged by: 0/0 counts as 1 unless the metric says otherwise."""
    found = get_metric(metric)
    if isinstance(metric, str):
        found = found.with_zero_division(1.0)
    if np.isnan(found.zero_division):
        raise ValueError("a loss cannot be nan: pass zero_division=0 or 1")
    return found


def sparse_rows(X: Any) -> Any:
    """CSR without duplicates of what `validate_data` let through."""
    from scipy.sparse import csr_array

    rows = csr_array(X)
    if not rows.has_canonical_format:
        rows = rows.copy()  # the caller's stays as it is
        rows.sum_duplicates()
    large = np.flatnonzero(np.abs(rows.data) > _LARGEST)
    if large.size:
        row = int(np.searchsorted(rows.indptr, large[0], side="right")) - 1
        column = int(rows.indices[large[0]])
        raise ValueError(
            f"X is {rows.data[large[0]]:g} at row {row}, column {column}, too large to "
            "learn from: scale it, as by sklearn.preprocessing.StandardScaler"
        )
    return rows


def label_matrix(y: Any, n_rows: int, n_labels: int | None = None) -> BinaryLabels:
    """Labels as 0 and 1 of 8 bits; `n_labels` where a model knows how many."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    labels = clear_labels(y)
    if labels.ndim != 2:
        raise ValueError(
            f"y must be a matrix with a column for each label, not of shape "
            f"{labels.shape}; one label alone is y.reshape(-1, 1)"
        )
    if len(labels) != n_rows:
        raise ValueError(f"y has {len(labels)} rows but X has {n_rows}")
    if n_labels is not None and labels.shape[1] != n_labels:
        raise ValueError(
            f"y has {labels.shape[1]} labels, the tagger learned {n_labels}"
        )
    if not labels.shape[1]:
        raise ValueError("y has no column: there is no label to learn")
    return labels.astype(np.uint8)


def label_order(order: Any, labels: BinaryLabels) -> Integers:
    """Labels in the order in which they are decided; None is the rarest first.

    Ties stay in the order of the columns.
    """
    n_labels = labels.shape[1]
    if order is None:
        counts = labels.sum(axis=0, dtype=np.int64)
        return np.argsort(counts, kind="stable")
    listed = np.iterable(order) and not isinstance(order, str)
    given = to_numpy(order, "order") if listed else np.zeros(0)
    if (
        given.shape != (n_labels,)
        or given.dtype.kind not in "iu"
        or not np.array_equal(np.sort(given), np.arange(n_labels))
    ):
        raise ValueError(
            f"order must have each label from 0 to {n_labels - 1} once, not "
            f"{shown(order)}"
        )
    return given.astype(np.int64)


def check_numbers(*, step: Any, **counts: Any) -> None:
    """Refuse a step that is not positive, and counts that are not positive integers."""
    real = isinstance(step, Real) and not isinstance(step, bool)
    if not (real and 0.0 < to_float(step) < np.inf):
        raise ValueError(f"step must be a positive number, not {shown(step)}")
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a positive integer, not {shown(value)}")
        check_count(
            value, name, high=MOST_EPOCHS if name == "epochs" else LARGEST_COUNT
        )


class LossTable(NamedTuple):
    """Losses by counts, as kernels take them."""

    # at starts[t] + tp · (n_labels - t + 1) + fp, for true and false positives
    losses: Floats
    starts: Integers  # (n_labels + 1,): -1 for a t that no row has
    # (n_labels + 1,): whether the loss of rows with t positives never grows with tp nor
    # falls with fp. The least in reach then needs no search
    in_corner: npt.NDArray[np.bool_]


def loss_table(metric: Metric, n_labels: int, totals: Integers) -> LossTable:
    """The losses of rows with so many positives: O(n_labels²) for each of `totals`."""
    starts = np.full(n_labels + 1, -1, dtype=np.int64)
    in_corner = np.zeros(n_labels + 1, dtype=np.bool_)
    parts, size = [], 0
    for t in np.unique(totals).tolist():
        tp, fp = np.arange(t + 1)[:, None], np.arange(n_labels - t + 1)[None, :]
        losses = np.asarray(metric.value(tp, tp + fp, t, n_labels))
        if metric.greater_is_better:
            losses = 1.0 - losses
        if not np.isfinite(losses).all():
            hits, wrong = np.argwhere(~np.isfinite(losses))[0].tolist()
            raise ValueError(
                f"{metric.name} is not finite at tp={hits}, k={hits + wrong}, t={t}, "
                f"n={n_labels}: a row cannot be judged by it"
            )
        worse = (np.diff(losses, axis=0) > _ROUNDING).any()
        better = (np.diff(losses, axis=1) < -_ROUNDING).any()
        in_corner[t] = not (worse or better)
        starts[t] = size
        parts.append(losses.ravel())
        size += losses.size
    return LossTable(np.concatenate(parts), starts, in_corner)


class MultiLabelTagger(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Turn the labels of a row on or off, one after the other, for any metric.

    Label j is decided from the row and from the labels before it,

        w_j·x + Σ_o v_jo (2 y_o - 1) + b_j > 0,

    by logistic regression. The weight of a decision is the loss that the wrong action
    adds to the metric of the row if all later decisions are the best possible.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        The metric of a row's labels; 0/0 counts as 1 unless the metric says otherwise.
    roll_in : {"mixed", "gold", "own", "none"}, default="mixed"
        Histories to learn from: the best actions in the first epoch, half of them in
        the second and the policy's own from then on; the best actions; the policy's
        own; no history at all, which leaves the labels independent given the row.
    costs : {"regret", "zero_one"}, default="regret"
        Whether decisions are weighted by their regret, or equally.
    beam : int, default=1
        Width of the beam, which adds up log probabilities; 1 is greedy search.
    epochs : int, default=10
        Passes over the rows.
    step : float, default=0.05
        Step size of AdaGrad. Weights are averaged from the second epoch on.
    order : array-like of int, optional
        The labels in the order in which they are decided; by default the rarest first.
    random_state : int, RandomState or None, default=0
        For the order of the rows and the draws of "mixed".
    verbose : int, default=0
        1 writes a line for each epoch to standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        Weights w of the row.
    history_coef_ : ndarray of shape (n_labels, n_labels)
        Weights v of the labels decided before; 0 for the others.
    intercept_ : ndarray of shape (n_labels,)
        Constants b.
    order_ : ndarray of shape (n_labels,)
        The labels in the order in which they are decided.
    classes_ : ndarray of shape (n_labels,)
        Numbers of the labels.
    history_ : list of dict
        Epoch, share of wrong decisions in training, seconds.
    interrupted_ : bool
        Whether Ctrl-C ended the training.
    n_features_in_ : int
        Columns of X.

    Notes
    -----
    AdaGrad moves every weight by about the same amount, whatever the unit of its
    column: scale X, as by `sklearn.preprocessing.StandardScaler`. An epoch takes
    O(n_labels · (nonzeros + n_labels)) for each row; for a metric that a true positive
    can harm or a false one help, O(n_labels³) at worst. A dense X is learned from as a
    sparse one.

    Examples
    --------
    >>> import numpy as np
    >>> from argmetric.search import MultiLabelTagger
    >>> X = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> Y = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
    >>> tagger = MultiLabelTagger("jaccard").fit(X, Y)
    >>> tagger.predict(X)
    array([[1, 1],
           [1, 0],
           [0, 1],
           [0, 0]])
    >>> tagger.score(X, Y)
    1.0
    """

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        roll_in: RollIn = "mixed",
        costs: Costs = "regret",
        beam: int = 1,
        epochs: int = 10,
        step: float = 0.05,
        order: Any = None,
        random_state: RandomState = 0,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.roll_in = roll_in
        self.costs = costs
        self.beam = beam
        self.epochs = epochs
        self.step = step
        self.order = order
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Features, y: ArrayLike) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            0 and 1.

        Returns
        -------
        MultiLabelTagger
            Itself. Ctrl-C after the first epoch ends the training, keeps what was
            learned so far and warns.
        """
        check_choice(self.roll_in, "roll_in", get_args(RollIn))
        check_choice(self.costs, "costs", get_args(Costs))
        check_seed(self.random_state, high=2**32 - 1)
        if not isinstance(self.verbose, bool):
            check_number(self.verbose, "verbose")
        check_numbers(step=self.step, epochs=self.epochs, beam=self.beam)
        metric = row_metric(self.metric)
        rows = self._rows(X, reset=True)
        labels = label_matrix(y, rows.shape[0])
        order = label_order(self.order, labels)
        truth = np.ascontiguousarray(labels[:, order])
        totals = truth.sum(axis=1, dtype=np.int64)
        table = loss_table(metric, len(order), totals)
        weights, history = self._learn(rows, truth, table)
        self.order_ = order
        self.classes_ = np.arange(len(order))
        self.coef_ = np.empty((len(order), rows.shape[1]))
        self.coef_[order] = weights[:-1].T
        self.intercept_ = np.empty(len(order))
        self.intercept_[order] = weights[-1]
        self.history_coef_ = np.empty_like(history)
        self.history_coef_[np.ix_(order, order)] = history
        return self

    def _learn(
        self, rows: Any, truth: BinaryLabels, table: LossTable
    ) -> tuple[Floats, Floats]:
        """Averaged weights, columns in the order of decisions."""
        from argmetric.search.kernels.multilabel import train

        rng = check_random_state(self.random_state)
        n, n_labels = truth.shape
        learned = _fresh((rows.shape[1] + 1, n_labels))
        histories = _fresh((n_labels, n_labels))
        arrays = rows.indptr, rows.indices, rows.data
        clock = 0.0
        self.history_: list[dict[str, Any]] = []
        self.interrupted_ = False
        try:
            for epoch in range(self.epochs):
                start = time.perf_counter()
                share = gold_share(self.roll_in, epoch)  # of the initial policy
                follows = np.full(truth.shape, share == 1.0)
                if 0.0 < share < 1.0:
                    follows = np.asarray(rng.random_sample(truth.shape) < share)
                averaged = epoch >= 1 or self.epochs == 1
                how = self.costs == "regret", self.roll_in != "none"
                options = float(self.step), 1.0 / n if averaged else 0.0, *how
                known = arrays, truth, tuple(table), rng.permutation(n), follows
                mistakes, clock = train(*known, options, learned, histories, clock)
                row = {"epoch": epoch + 1, "error": mistakes / truth.size}
                row["seconds"] = time.perf_counter() - start
                self.history_.append(row)
                if self.verbose:
                    sys.stderr.write(
                        f"epoch {row['epoch']}: {row['error']:.2%} wrong, "
                        f"{row['seconds']:.1f} s\n"
                    )
        except KeyboardInterrupt:
            if not self.history_:
                raise
            self.interrupted_ = True
            warnings.warn(
                "learning was interrupted: the policy so far is kept",
                UserWarning,
                stacklevel=3,
            )
        return _average(learned, clock), _average(histories, clock)

    def predict(self, X: Features) -> Integers:
        """Predicted labels of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            0 and 1.
        """
        from argmetric.search.kernels.multilabel import search

        check_is_fitted(self)
        check_numbers(step=self.step, beam=self.beam)
        rows = self._rows(X, reset=False)
        order = self.order_
        scores = rows @ self.coef_[order].T + self.intercept_[order]
        width = min(self.beam, 2 ** min(len(order), _MOST_DOUBLINGS))
        found = np.empty(scores.shape, dtype=np.int64)
        search(scores, self.history_coef_[np.ix_(order, order)], width, found)
        labels = np.empty_like(found)
        labels[:, order] = found
        return labels

    def score(self, X: Features, y: ArrayLike) -> float:
        """Mean of the metric over the rows, negated where smaller is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : {array-like, sparse matrix} of shape (n_samples, n_labels)
            Their labels.
        """
        labels = self.predict(X)
        truth = label_matrix(y, *labels.shape)
        tp, k, t = (part.sum(axis=1) for part in (labels & truth, labels, truth))
        metric = row_metric(self.metric)
        return metric._gain(float(np.mean(metric.value(tp, k, t, labels.shape[1]))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags

    def _rows(self, X: Any, *, reset: bool) -> Any:
        with explained(X):
            checked = validate_data(
                self, X, accept_sparse="csr", dtype=np.float64, reset=reset
            )
        return sparse_rows(checked)


def _fresh(shape: tuple[int, int]) -> tuple[Floats, Floats, Floats]:
    """Weights, squares and sums before the first step."""
    return np.zeros(shape), np.full(shape, _FIRST_SQUARE), np.zeros(shape)


def _average(learned: tuple[Floats, Floats, Floats], clock: float) -> Floats:
    """The mean of the weights since averaging started, or else the weights."""
    weights, _, sums = learned
    return weights - sums / clock if clock else weights
