"""Built-in cost-sensitive learners, and weights for classifiers that take none."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
    shown,
)
from argmetric._ground.display import Shown
from argmetric._ground.features import check_features
from argmetric._ground.labels import clear_labels
from argmetric._ground.lazy import load_module
from argmetric._ground.types import (
    AnyArray,
    Estimator,
    Features,
    Floats,
    Hashes,
    Integers,
    SparseMatrix,
)
from argmetric._ground.validation import check_weight, is_sparse
from argmetric.search._searn._decisions import (
    Decisions,
    HashedRows,
    cheapest_regrets,
    largest_regrets,
)
from argmetric.search._searn._task import TARGETS, Target
from argmetric.search.learning import MOST_EPOCHS


def rows_of(hashes: Hashes, wanted: Hashes) -> Integers:
    """Return the index of each hash among sorted ones, -1 if it is missing."""
    if hashes.size == 0:
        return np.full(wanted.shape, -1, dtype=np.int64)
    where = np.minimum(np.searchsorted(hashes, wanted), hashes.size - 1)
    return np.where(hashes[where] == wanted, where, -1)


class TableDecisions:
    """Decisions whose features can be numbered."""

    indptr: Integers  # where the actions of each decision begin

    def __len__(self) -> int:
        return self.indptr.size - 1

    @property
    def owners(self) -> Integers:
        """Return the decision that each action belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    @property
    def vocabulary(self) -> tuple[Hashes, Hashes]:
        """Return all features, sorted, and the code of the action of each column."""
        raise NotImplementedError

    def kernel_arrays(self) -> tuple[Any, ...]:
        """Return features and decisions as `kernels.weight_tables` takes them."""
        raise NotImplementedError


class _PlainDecisions(TableDecisions):
    """Decisions of any task whose actions have no features of their own."""

    def __init__(self, decisions: Decisions) -> None:
        self.indptr, self.states = decisions.indptr, decisions.states
        self.hashes, self.where = np.unique(self.states.hashes, return_inverse=True)
        self.codes, self.numbers = np.unique(decisions.codes, return_inverse=True)

    @property
    def vocabulary(self) -> tuple[Hashes, Hashes]:
        return self.hashes, self.codes

    def kernel_arrays(self) -> tuple[Any, ...]:
        n = len(self)
        sizes, none = np.ones(n, dtype=np.int64), np.zeros((n, 0), dtype=np.int64)
        features = self.states.indptr, self.where.astype(np.int32), self.states.values
        return features, (np.arange(n), sizes, none, self.indptr, self.numbers)


def as_table(decisions: Decisions | TableDecisions) -> TableDecisions:
    """Return decisions as a table; refuse actions with features of their own."""
    if not isinstance(decisions, Decisions):
        return decisions
    if decisions.pairs.hashes.size:
        raise ValueError(
            "hash_bits=None is for tasks whose actions have no features of their own: "
            "set a number of bits"
        )
    return _PlainDecisions(decisions)


@dataclass(frozen=True, eq=False)
class TableScorer:
    """Weights of features (rows) and actions (columns)."""

    weights: Floats
    hashes: Hashes
    codes: Hashes

    def table(self, hashes: Hashes, codes: Hashes) -> Floats:
        """Return the weights of features and actions, 0 if they are unknown."""
        found = self.weights
        if self.hashes is not hashes:
            rows = rows_of(self.hashes, hashes)
            known = np.flatnonzero(rows >= 0)
            found = np.zeros((hashes.size, self.codes.size))
            found[known] = self.weights[rows[known]]
        if not np.array_equal(self.codes, codes):
            order = np.argsort(self.codes)
            where = rows_of(self.codes[order], codes)
            found = np.where(where >= 0, found[:, order[where]], 0.0)
        return found

    def scores(self, decisions: Decisions | TableDecisions) -> Floats:
        """Return one score for each action of each decision.

        0 for an unknown action.
        """
        from argmetric.search.kernels.weight_tables import score_decisions

        table = as_table(decisions)
        out = np.empty(table.indptr[-1])
        if len(table):
            features, found = table.kernel_arrays()
            score_decisions(features, found, self.table(*table.vocabulary), out)
        return out


def learn_table(
    decisions: Decisions | TableDecisions,
    costs: Floats,
    rng: np.random.Generator,
    epochs: int,
    how: tuple[int, int, float],
) -> TableScorer:
    """Learn a table of averaged weights by the steps of `LinearLearner`.

    Parameters
    ----------
    costs : ndarray of shape (n_actions,)
        Cost of each action of each decision.
    how : tuple
        Kind of the loss, its target, and the step size.
    """
    from argmetric.search.kernels.cost_sensitive import FIRST_SQUARE
    from argmetric.search.kernels.weight_tables import learn_decisions

    table = as_table(decisions)
    hashes, codes = table.vocabulary
    regrets = cheapest_regrets(np.asarray(costs, dtype=np.float64), table.indptr)
    shape = hashes.size, codes.size
    weights, squares = np.zeros(shape), np.full(shape, FIRST_SQUARE)
    lags, clock = np.zeros(shape), np.zeros(1)
    options = *how, importance_scale(regrets, table)
    state = weights, squares, lags, clock
    features, found = table.kernel_arrays()
    for _ in range(epochs if len(table) else 0):
        order = rng.permutation(len(table))
        learn_decisions(features, found, regrets, order, options, state)
    if clock[0]:
        lags /= clock[0]
        weights -= lags
    return TableScorer(weights, hashes, codes)


Kind = Literal["logistic", "perceptron", "svm"]
KINDS: tuple[str, ...] = get_args(Kind)
_CODES = {"perceptron": 0, "logistic": 1, "svm": 2}
_MOST_DRAWS = 100_000


class Scorer(Protocol):
    """Result of a learner: scores of actions, greater is better."""

    def scores(self, decisions: Decisions) -> Floats: ...


class StateScorer:
    """Scorer that looks at hashed features alone, so that it takes states by arrays."""


class CostSensitiveLearner(Protocol):
    """Learner of scores of actions from their costs."""

    def fit(
        self, decisions: Decisions, costs: Floats, rng: np.random.Generator
    ) -> Scorer: ...


def with_products(rows: HashedRows) -> HashedRows:
    """Return rows with the products of every two of their features."""
    from argmetric.search.kernels.cost_sensitive import count_products, fill_products

    indptr = np.empty_like(rows.indptr)
    count_products(rows.indptr, rows.values, indptr)
    hashes = np.empty(indptr[-1], dtype=np.uint64)
    values = np.empty(indptr[-1])
    fill_products(rows.indptr, rows.hashes, rows.values, hashes, values)
    return HashedRows(indptr, hashes, values)


def expand_features(decisions: Decisions, quadratic: bool) -> Decisions:
    """Return decisions with products of features if `quadratic`, else unchanged."""
    if not quadratic:
        return decisions
    return Decisions(
        with_products(decisions.states),
        decisions.indptr,
        decisions.codes,
        with_products(decisions.pairs),
    )


def flat(decisions: Decisions) -> tuple[Any, ...]:
    """Return the arrays of decisions in the order in which kernels take them."""
    states, pairs = decisions.states, decisions.pairs
    first = states.indptr, states.hashes, states.values
    last = pairs.indptr, pairs.hashes, pairs.values
    return *first, decisions.indptr, decisions.codes, *last


@dataclass(frozen=True, eq=False)
class LinearScorer:
    """Weights of hashed features."""

    weights: Floats
    shift: np.uint64
    quadratic: bool

    def scores(self, decisions: Decisions) -> Floats:
        """Return one score for each action of each decision."""
        from argmetric.search.kernels.cost_sensitive import score_actions

        out = np.empty(decisions.codes.size)
        rows = flat(expand_features(decisions, self.quadratic))
        score_actions(rows, self.shift, self.weights, out)
        return out


@dataclass(frozen=True)
class LinearLearner(Shown):
    """A linear classifier for decisions with different costs of mistakes.

    The score of an action is a sum of weights, one for each feature of the state with
    the action and one for each feature of the action itself. Weights are averaged over
    all updates.

    Parameters
    ----------
    kind : {"logistic", "perceptron", "svm"}, default="logistic"
        Multinomial logistic regression and margins as wide as the regret (both by
        AdaGrad), or the averaged perceptron with updates as large as the regret.
    epochs : int, default=10
        Passes over the decisions, in a new order each.
    step : float, default=0.1
        Step size of AdaGrad; the perceptron has none.
    target : {"cheapest", "reward"}, default="cheapest"
        What logistic regression learns: -m log P(cheapest actions), m the mean regret
        of the others; or -Σ (max c - c_a) log p_a, which in the limit puts the action
        of least expected cost first whatever the noise. See the notes.
    hash_bits : int or None, default=18
        Weights are hashed to 2**hash_bits places. None: every feature seen in training
        has weights of its own, in a table with a column for each action; for tasks
        without `action_features`, and `SpanChunking`. `Searn` then runs it,
        `SequenceLabelling` and `WordChunking` compiled, at the size of whole corpora.
    quadratic : bool, default=False
        Whether products of two features are features too.

    Notes
    -----
    Where several actions are cheapest, one of them being likely is enough for
    "cheapest". Under costs of 0 and 1, "reward" wants each of them as likely as it is
    right, so that scores of decisions that could wait are learned too (`LearnedOrder`).
    Under graded costs such as regrets of F1 it also makes middling actions likely: a
    missed chunk costs half of a wrong one, so that "outside" is to have a third of the
    probability at every chunk, and wins wherever the evidence is thin. On 200 sentences
    of CoNLL-2000 chunks came out at an F1 of 49 %, against 86 % for "cheapest".

    Examples
    --------
    >>> from argmetric.search import LinearLearner
    >>> LinearLearner("svm", epochs=5)
    LinearLearner(kind='svm', epochs=5, step=0.1, target='cheapest', hash_bits=18,
    quadratic=False)
    """

    kind: Kind = "logistic"
    epochs: int = 10
    step: float = 0.1
    target: Target = "cheapest"
    hash_bits: int | None = 18
    quadratic: bool = False

    def __post_init__(self) -> None:
        check_choice(self.kind, "kind", KINDS)
        check_choice(self.target, "target", TARGETS)
        check_count(self.epochs, "epochs", low=1, high=MOST_EPOCHS)
        check_number(self.step, "step", low=0.0, strict=True)
        check_flag(self.quadratic, "quadratic")
        if self.hash_bits is not None:
            check_count(self.hash_bits, "hash_bits", low=1, high=30)
        elif self.quadratic:
            raise ValueError("hash_bits=None knows no products: leave out quadratic")

    def fit(
        self, decisions: Decisions, costs: Floats, rng: np.random.Generator
    ) -> LinearScorer | TableScorer:
        """Learn from decisions and the cost of each action.

        Parameters
        ----------
        decisions : Decisions
            Decisions to learn from.
        costs : ndarray
            One cost for each action.
        rng : numpy.random.Generator
            For the order of the decisions.

        Returns
        -------
        scorer
            Its `scores(decisions)` are one score for each action, greater is better.
        """
        from argmetric.search.kernels.cost_sensitive import FIRST_SQUARE, learn

        code, target = _CODES[self.kind], TARGETS.index(self.target)
        if self.hash_bits is None:
            how = code, target, self.step
            return learn_table(decisions, costs, rng, int(self.epochs), how)
        bits = int(self.hash_bits)  # 2**bits is 0 in 8 bits of numpy's
        size, shift = 2**bits, np.uint64(64 - bits)
        weights, squares = np.zeros(size), np.full(size, FIRST_SQUARE)
        lags, clock = np.zeros(size), np.zeros(1)
        regrets = cheapest_regrets(
            np.asarray(costs, dtype=np.float64), decisions.indptr
        )
        rows = flat(expand_features(decisions, self.quadratic))
        scale = importance_scale(regrets, decisions)
        state = (weights, squares, lags, clock)
        for _ in range(int(self.epochs) if len(decisions) else 0):
            order = rng.permutation(len(decisions))
            learn(rows, regrets, order, shift, code, target, self.step, scale, state)
        if clock[0]:
            weights -= lags / clock[0]
        return LinearScorer(weights, shift, self.quadratic)


def importance_scale(regrets: Floats, decisions: Decisions | TableDecisions) -> float:
    """Return one over the mean largest regret of decisions; 1 if all are 0."""
    largest = largest_regrets(regrets, decisions.indptr)
    return float(1.0 / largest[largest > 0].mean()) if largest.any() else 1.0


@dataclass(frozen=True)
class Always:
    """Constant classifier, for training rows with a single label."""

    value: float

    def predict(self, X: AnyArray | SparseMatrix) -> Floats:
        return np.full(X.shape[0], self.value)


def check_estimator(estimator: object) -> None:
    """Refuse what cannot be trained, such as a class instead of an instance."""
    able = hasattr(estimator, "fit") and hasattr(estimator, "predict")
    if not able or isinstance(estimator, type):
        raise TypeError(
            "estimator must be a classifier or regressor of scikit-learn, not "
            f"{shown(estimator)}"
        )


@dataclass(eq=False, repr=False)
class Costing(Shown):
    """Importance weights by rejection: any classifier becomes one that takes weights.

    A row of weight w is kept with probability w / max w; several such samples are drawn
    and the classifiers trained on them vote. E[w 1(wrong)] = E[w] · P(wrong | kept).

    Parameters
    ----------
    estimator : classifier of scikit-learn
        Needs no sample weights; labels are 0 and 1.
    n_draws : int, default=10
        Number of samples.
    random_state : int, default=0
        Seed.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from argmetric.search import Costing
    >>> X = np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> costing = Costing(KNeighborsClassifier(1), n_draws=5)
    >>> costing.fit(X, [0, 0, 1, 1], sample_weight=[1, 1, 1, 1]).predict(X)
    array([0., 0., 1., 1.])
    """

    estimator: Estimator
    _: KW_ONLY
    n_draws: int = 10
    random_state: int = 0

    def __sklearn_clone__(self) -> Costing:
        return Costing(
            self.estimator, n_draws=self.n_draws, random_state=self.random_state
        )

    def __repr__(self) -> str:
        return f"Costing({self.estimator!r}, n_draws={self.n_draws})"

    def fit(
        self, X: Features, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Costing:
        """Draw and train.

        Parameters
        ----------
        X : array or sparse matrix
            Rows.
        y : array-like of 0 and 1
            Labels.
        sample_weight : array-like, optional
            Importances; by default all equal.

        Returns
        -------
        Costing
            Itself.
        """
        clone = load_module("sklearn.base").clone

        check_estimator(self.estimator)
        n_draws = check_count(self.n_draws, "n_draws", low=1, high=_MOST_DRAWS)
        check_seed(self.random_state)
        if len(getattr(X, "shape", ())) != 2:
            raise TypeError(f"X must be a matrix of rows, not {shown(X)}")
        check_features(X)
        matrix: Any = X
        matrix = matrix.tocsr() if is_sparse(X) else matrix  # rows are drawn
        rows = getattr(matrix, "iloc", matrix)
        labels = clear_labels(y).astype(np.float64)
        if labels.shape != (matrix.shape[0],):
            raise ValueError(
                f"y has shape {labels.shape} but X has {matrix.shape[0]} rows"
            )
        weight = check_weight(sample_weight, labels.shape, "y")
        if weight is None:
            weight = np.ones(labels.size)
        if labels.size == 0 or not weight.max() > 0:
            raise ValueError("Costing needs a row with a positive sample_weight")
        rng = np.random.default_rng(self.random_state)
        self.classes_ = np.array([0.0, 1.0])
        self.estimators_: list[Any] = []
        for _ in range(n_draws):
            kept = np.flatnonzero(rng.random(labels.size) * weight.max() < weight)
            found = labels[kept]
            if (found == found[0]).all():  # the row of greatest weight is always kept
                self.estimators_.append(Always(float(found[0])))
            else:
                self.estimators_.append(clone(self.estimator).fit(rows[kept], found))
        return self

    def predict_proba(self, X: Features) -> Floats:
        """Return the shares of votes for 0 and for 1.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Shares of the classifiers.
        """
        check_features(X)
        votes = [np.asarray(one.predict(X)) > 0.5 for one in self.estimators_]
        ones = np.mean(votes, axis=0)
        return np.stack([1 - ones, ones], axis=1)

    def predict(self, X: Features) -> Floats:
        """Return the label with most votes, 1 in a tie.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels 0 and 1.
        """
        return np.asarray(self.predict_proba(X)[:, 1] >= 0.5, dtype=np.float64)
