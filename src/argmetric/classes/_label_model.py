"""A small model of the true class of a row, given its probabilities and its label.

With the calibrated probabilities q of a row and its label a,

    P(true class = c | q, a) ∝ q_c·e^B_ca,   B_aa = u + h_a,   B_ca = m_c for c ≠ a

and -v·√w_ca is added to B_ca where errors have costs or disagreements w_ca.
All parameters are normal about 0 before a label is seen. They are fitted to held-out
probabilities of the reference and to the labels that its rows would have got.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from argmetric._calibrate.logistic import Derivatives, NormalPrior, minimise_penalised
from argmetric._ground.types import Floats, Integers
from argmetric.metrics import ClassAgreement, ClassGain, ClassMetric

# Standard deviation of the parameters before a label is seen, and what deviations after
# it are multiplied with: of 1.3, 1.4, 1.5 and 1.6 the least with a coverage of .90 for
# every model, metric and number of rows on covtype, optdigits and letter. There a slope
# on log q did not help, nor did a term for rare classes or labels by weights.
PRIOR_SD, WIDER = 0.5, 1.5
N_LEVELS = 64  # draws of the parameters, in pairs of opposite deviations
LABELLED_ROWS = 4096  # of a batch, for the label of a row of the reference
LEAST = 1e-12  # smaller probabilities count as this


class LabelModel(NamedTuple):
    """Posterior of the parameters: normal with this mode and covariance."""

    directions: Floats  # of B by label, true class and parameter
    mode: Floats
    covariance: Floats

    def factors(self, seed: int) -> Floats:
        """Return e^B in draws of the parameters, of shape (draws, true class, label).

        Draws 2k and 2k + 1 have opposite deviations from the mode.
        """
        rng = np.random.default_rng(seed)
        z = rng.standard_normal((N_LEVELS // 2, self.mode.size))
        root = np.linalg.cholesky(self.covariance)
        away = WIDER * np.stack([z, -z], axis=1).reshape(N_LEVELS, -1) @ root.T
        return self._factors_at(self.mode + away)

    @property
    def factors_at_mode(self) -> Floats:
        """Return e^B at the mode, of shape (1, true class, label)."""
        return self._factors_at(self.mode[None])

    def _factors_at(self, parameters: Floats) -> Floats:
        b = np.einsum("acd,kd->kca", self.directions, parameters)
        return np.ascontiguousarray(np.exp(b))


def fit_label_model(
    code: Integers, q: Floats, labels: Integers, metric: ClassMetric
) -> LabelModel:
    """Fit the model to rows with their true class, probabilities and label.

    Parameters
    ----------
    code, labels : ndarray of shape (n_rows,)
        Columns of the true class and of the label.
    q : ndarray of shape (n_rows, n_classes)
        Held-out probabilities.
    metric : ClassMetric
        Says which errors are worse than others.

    Returns
    -------
    LabelModel
    """
    directions = _directions(q.shape[1], _error_sizes(metric, q, labels))
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(q.shape[1] + 1))
    start = np.log(np.maximum(q[order], LEAST))
    seen = np.zeros((q.shape[1], q.shape[1]))  # rows by label and true class
    np.add.at(seen, (labels, code), 1.0)

    def evaluate(theta: Floats) -> Derivatives:
        """Return the log-loss of the labels at theta, its gradient and curvature."""
        size = theta.shape[1]
        loss, gradient, bend = 0.0, np.zeros(size), np.zeros((size, size))
        for a, moved in enumerate(directions @ theta[0]):
            if ends[a] == ends[a + 1]:
                continue
            z = start[ends[a] : ends[a + 1]] + moved
            most = z.max(axis=1, keepdims=True)
            p = np.exp(z - most)
            total = p.sum(axis=1, keepdims=True)
            loss += float((most + np.log(total)).sum() - seen[a] @ moved)
            p /= total
            total, across = p.sum(axis=0), directions[a]
            gradient += across.T @ (total - seen[a])
            bend += across.T @ ((np.diag(total) - p.T @ p) @ across)
        at = loss, gradient, bend, 1.0
        return Derivatives(*(np.asarray(one)[None] for one in at))

    none = np.zeros(directions.shape[2])
    prior = NormalPrior(none, np.full(none.size, PRIOR_SD**-2))
    mode = minimise_penalised(evaluate, none, prior).theta
    curvature = evaluate(mode[None]).curvature[0] + np.diag(prior.precision)
    return LabelModel(directions, mode, np.asarray(np.linalg.inv(curvature)))


def _directions(count: int, sizes: Floats | None) -> Floats:
    """Return how B moves with (u, h, m, v), by label, true class and parameter."""
    each = np.arange(count)
    found = np.zeros((count, count, 1 + 2 * count + (sizes is not None)))
    found[:, each, 1 + count + each] = 1.0
    found[each, each, 1 + count + each] = 0.0
    found[each, each, 0] = found[each, each, 1 + each] = 1.0
    if sizes is not None:
        found[:, :, -1] = -sizes.T
    return found


def _error_sizes(metric: ClassMetric, q: Floats, labels: Integers) -> Floats | None:
    """Return √w by true class and label, 1 for a mean error; None if all are alike."""
    count = q.shape[1]
    if isinstance(metric, ClassAgreement):
        w = metric.disagreement(count)
    elif isinstance(metric, ClassGain):
        gains = metric.gains(count)
        w = gains.max(axis=0) - gains
    else:
        return None
    if np.ptp(w[~np.eye(count, dtype=bool)]) == 0.0:
        return None
    wrong = float((q * (np.arange(count) != labels[:, None])).sum())
    mean = float((q * w[:, labels].T).sum()) / max(wrong, 1e-300)
    return np.sqrt(w / mean) if mean > 0.0 else None


def labels_of_nearest(q: Floats, labels: Integers, rows: Floats) -> Integers:
    """Return for each of `rows` the label of the row of q that is nearest in √q.

    Parameters
    ----------
    q : ndarray of shape (n_labelled, n_classes)
    labels : ndarray of shape (n_labelled,)
    rows : ndarray of shape (n_rows, n_classes)

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    from scipy.spatial import cKDTree

    some = np.arange(labels.size)
    if labels.size > LABELLED_ROWS:
        some = np.linspace(0, labels.size - 1, LABELLED_ROWS).astype(np.int64)
    return np.asarray(labels[some][cKDTree(np.sqrt(q[some])).query(np.sqrt(rows))[1]])
