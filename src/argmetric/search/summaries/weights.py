"""Expected recall of a token or a pair of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from argmetric._ground.types import AnyArray, Floats, Integers
from argmetric.search.summaries.material import Material
from argmetric.search.summaries.pieces import FIRST_PERSON

_SMOOTHING = 3.0  # clusters that a token or pair of which nothing is known is worth
_PENALTY = 30.0
_PERCENT = 100.0


@dataclass(frozen=True, eq=False)
class Linear:
    """Linear function: means and scales of the features, weights, and the mean."""

    # means, scales, weights: one value for each feature
    means: Floats
    scales: Floats
    weights: Floats
    mean: float  # the value where all features have their means

    def predict(self, features: Floats) -> Floats:
        """Return the values of the rows."""
        slopes = self.weights / self.scales
        found: Floats = features @ slopes + (self.mean - self.means @ slopes)
        return found


class RidgeSums:
    """Sums that ridge regression needs, so that rows need not be kept."""

    def __init__(self, n_features: int) -> None:
        self._squares = np.zeros((n_features + 2, n_features + 2))

    def add(self, features: Floats, targets: Floats, weights: Floats) -> None:
        rows = np.column_stack([np.ones(len(targets)), features, targets])
        self._squares += rows.T @ (weights[:, None] * rows)

    def fit(self, penalty: float) -> Linear:
        """Minimise Σ weight (y - f(x))² + penalty |weights|²; features are scaled."""
        total = self._squares[0, 0] or 1.0  # no row: the function is 0
        moments = self._squares / total
        means, mean = moments[0, 1:-1], float(moments[0, -1])
        squares = moments[1:-1, 1:-1] - np.outer(means, means)
        spread = np.sqrt(np.maximum(np.diag(squares), 0.0))
        # What does not vary beyond rounding has no weight.
        is_flat = spread <= 1e-9 * np.maximum(np.abs(means), 1.0)
        scales = np.where(is_flat, 1.0, spread)
        products = np.where(is_flat, 0.0, (moments[1:-1, -1] - means * mean) / scales)
        matrix = squares / np.outer(scales, scales)
        matrix[is_flat] = matrix[:, is_flat] = 0.0
        matrix[np.diag_indices_from(matrix)] += penalty / total
        return Linear(means, scales, np.linalg.solve(matrix, products), mean)


def fit_linear(features: Floats, targets: Floats, penalty: float) -> Linear:
    sums = RidgeSums(features.shape[1])
    sums.add(features, targets, np.ones(len(targets)))
    return sums.fit(penalty)


@dataclass(frozen=True, eq=False)
class Shares:
    """Share of the references of one cluster that have each gram."""

    sources: Floats  # for the grams of the sources, in their order
    # tokens, token_shares: for the tokens of the references
    tokens: AnyArray
    token_shares: Floats
    # pairs, pair_shares: for the pairs of the references, as text with a blank between
    pairs: AnyArray
    pair_shares: Floats


def share_of_references(material: Material) -> Shares:
    """Return the share of the references that have each token and each pair."""
    references = material.references
    n = len(references)
    tokens = _once([sorted(set(one)) for one in references], n)
    pairs = _once(
        [sorted({f"{a} {b}" for a, b in pairwise(one)}) for one in references], n
    )
    names = gram_names(material)
    n_types = len(material.grams.types)
    sources = np.append(
        _look_up(names[:n_types], *tokens), _look_up(names[n_types:], *pairs)
    )
    return Shares(sources, *tokens, *pairs)


def gram_names(material: Material) -> AnyArray:
    """Return all grams as text: tokens, then pairs with a blank between."""
    types = np.array(material.grams.types, dtype=str)
    left, right = types[material.grams.lefts], types[material.grams.rights]
    pairs = np.char.add(np.char.add(left, " "), right) if len(left) else left
    return np.append(types, pairs)


def _once(lists: Sequence[Sequence[str]], n: int) -> tuple[AnyArray, Floats]:
    flat = np.array(list(chain.from_iterable(lists)), dtype=str)
    names, counts = np.unique(flat, return_counts=True)
    return names, counts / max(n, 1)


def _look_up(names: AnyArray, known: AnyArray, values: Any) -> Any:
    """Return the values of names; 0 for unknown ones."""
    if not len(known):
        return np.zeros(len(names))
    place = np.minimum(np.searchsorted(known, names), len(known) - 1)
    return np.where(known[place] == names, values[place], 0.0)


@dataclass(frozen=True, eq=False)
class Rates:
    """Rates of tokens and pairs over many clusters."""

    names: AnyArray  # tokens, and pairs with a blank between, in order
    clusters: Floats  # how many clusters have each in their sources
    shares: Floats  # the sum over these of the share of the references that have it
    references: Floats  # the same sum over all clusters
    n_clusters: int  # how many there are

    def of(
        self, material: Material, own: Shares | None
    ) -> tuple[Floats, Floats, Floats]:
        """Return rate, log use in references, and number of clusters of each gram.

        own : counts of the cluster itself, if it is a training cluster; they are
        left out.
        """
        names = gram_names(material)
        clusters = _look_up(names, self.names, self.clusters)
        shares = _look_up(names, self.names, self.shares)
        used = _look_up(names, self.names, self.references)
        own_clusters = own_shares = own_used = np.zeros(len(names))
        n = self.n_clusters
        if own is not None:
            own_clusters = (material.grams.times > 0).astype(np.float64)
            own_shares = own.sources * own_clusters
            own_used = own.sources
            n -= 1
        clusters, shares = clusters - own_clusters, shares - own_shares
        used = np.maximum(used - own_used, 0.0)
        is_pair = np.char.find(self.names, " ") >= 0
        n_types = len(material.grams.types)
        rate = np.empty(len(names))
        for part, among in (
            (slice(None, n_types), ~is_pair),
            (slice(n_types, None), is_pair),
        ):
            usual = (self.shares[among].sum() - own_shares[part].sum()) / max(
                self.clusters[among].sum() - own_clusters[part].sum(), 1.0
            )
            rate[part] = (shares[part] + _SMOOTHING * usual) / (
                clusters[part] + _SMOOTHING
            )
        return rate, np.log((used + 0.1) / (n + 0.1)), clusters


def count_rates(materials: Sequence[Material], shares: Sequence[Shares]) -> Rates:
    """Count in all clusters how often each gram of the sources is in a reference.

    Also how often references use each gram at all.
    """
    sources = [gram_names(m)[m.grams.times > 0] for m in materials]
    source_shares = [
        s.sources[m.grams.times > 0] for m, s in zip(materials, shares, strict=True)
    ]
    uses = [np.append(s.tokens, s.pairs) for s in shares]
    use_shares = [np.append(s.token_shares, s.pair_shares) for s in shares]
    flat = np.concatenate([*sources, *uses])
    names, codes = np.unique(flat, return_inverse=True)
    n = sum(map(len, sources))
    first, second = codes[:n], codes[n:]
    return Rates(
        names,
        np.bincount(first, minlength=len(names)).astype(np.float64),
        _sums(first, np.concatenate(source_shares), len(names)),
        _sums(second, np.concatenate(use_shares), len(names)),
        len(materials),
    )


def _sums(codes: Integers, values: Floats, n: int) -> Floats:
    return np.bincount(codes, values, n).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of grams, learned from references."""

    rates: Rates  # what the references of many clusters say
    # of_tokens, of_pairs: from features to the recall that the first occurrence is
    # expected to bring
    of_tokens: Linear
    of_pairs: Linear

    def predict_recall(self, material: Material, own: Shares | None = None) -> Floats:
        """Return the recall that each token and pair of tokens is expected to bring.

        `own`, as in `Rates.of`, are counts of the cluster itself to be left out.
        """
        tokens, pairs = _features(material, self.rates, own)
        recall = np.append(self.of_tokens.predict(tokens), self.of_pairs.predict(pairs))
        recall *= material.grams.times > 0  # 0 for pairs of references alone
        return np.maximum(recall, 0.0) / _PERCENT


def learn_weights(materials: Sequence[Material], shares: Sequence[Shares]) -> Weights:
    """Fit by ridge regression; the features of a cluster leave itself out."""
    rates = count_rates(materials, shares)
    tokens, pairs, token_targets, pair_targets = [], [], [], []
    for material, own in zip(materials, shares, strict=True):
        n_types = len(material.grams.types)
        is_source = material.grams.times[n_types:] > 0
        x1, x2 = _features(material, rates, own)
        # Recall counts pairs: a reference of m tokens has m - 1.
        scale = np.mean([1.0 / max(len(one) - 1, 1) for one in material.references])
        targets = _PERCENT * scale * own.sources
        tokens.append(x1)
        pairs.append(x2[is_source])
        token_targets.append(targets[:n_types])
        pair_targets.append(targets[n_types:][is_source])
    return Weights(
        rates,
        fit_linear(np.concatenate(tokens), np.concatenate(token_targets), _PENALTY),
        fit_linear(np.concatenate(pairs), np.concatenate(pair_targets), _PENALTY),
    )


def _features(
    material: Material, rates: Rates, own: Shares | None
) -> tuple[Floats, Floats]:
    """Return features of tokens and of pairs; with a query, also its relevance."""
    grams = material.grams
    n_types = len(grams.types)
    a, b = grams.lefts, grams.rights
    rate, use, clusters = rates.of(material, own)
    documents = np.maximum(grams.documents, 1)
    share, log = documents / grams.n_documents, np.log(documents)
    known = np.log1p(np.maximum(clusters, 0.0))
    stop = material.is_stop_word
    first_person = np.array([t in FIRST_PERSON for t in grams.types], dtype=bool)
    r, u, s, d = rate[:n_types], use[:n_types], share[:n_types], log[:n_types]
    tokens = [
        s, d, documents[:n_types] >= 2, stop, first_person, r, u, d * r, d * u,
        d * stop, known[:n_types],
    ]  # fmt: skip
    pair_share, pair_log = share[n_types:], log[n_types:]
    pair_rate, pair_use = rate[n_types:], use[n_types:]
    times = documents[n_types:]
    both, none = stop[a] & stop[b], ~stop[a] & ~stop[b]
    personal = first_person[a] | first_person[b]
    product = r[a] * r[b]
    pairs = [
        pair_share, pair_log, times >= 2, times >= 3, both, none, stop[a], stop[b],
        r[a], r[b], pair_rate, u[a], u[b], pair_use, s[a], s[b],
        known[a], known[b], pair_log * pair_rate, pair_log * pair_use,
        pair_log * both, pair_log * none, product, pair_log * product,
        pair_log * u[a], pair_log * u[b], personal, pair_log * personal,
        s[a] * s[b], s[a] * r[a], s[b] * r[b], s[a] * none, s[b] * none,
        np.minimum(s[a], s[b]) * none,
    ]  # fmt: skip
    if material.query is not None:
        about, pair_about = np.split(material.relevance, [n_types])
        tokens += [material.in_query, about, d * about, r * about]
        pairs += [
            pair_about == 1.0, pair_about, pair_log * pair_about,
            pair_rate * pair_about, pair_about * none,
        ]  # fmt: skip
    return _columns(tokens, n_types), _columns(pairs, len(a))


def _columns(features: Sequence[AnyArray], n: int) -> Floats:
    return np.stack(
        [np.asarray(x, dtype=np.float64) for x in features], axis=1
    ).reshape(n, len(features))
