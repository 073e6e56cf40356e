"""How often tokens and pairs of the sources come back in references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from argmetric._input.types import AnyArray, Floats, Integers
from argmetric._text.summaries._material import Material

_SMOOTHING = 3.0  # clusters that a token or pair of which nothing is known is worth


@dataclass(frozen=True, eq=False)
class Shares:
    """Of one cluster: in which share of its references each gram is.

    Attributes
    ----------
    sources : ndarray of float
        For the grams of the sources, in their order.
    tokens, token_shares : ndarray
        For the tokens of the references.
    pairs, pair_shares : ndarray
        For the pairs of the references, as text with a blank between.
    """

    sources: Floats
    tokens: AnyArray
    token_shares: Floats
    pairs: AnyArray
    pair_shares: Floats


def share_of_references(material: Material) -> Shares:
    """In which share of the references each token and each pair is."""
    references = material.references
    n = len(references)
    tokens = _once([sorted(set(one)) for one in references], n)
    pairs = _once(
        [sorted({f"{a} {b}" for a, b in pairwise(one)}) for one in references],
        n,
    )
    names = gram_names(material)
    n_types = len(material.grams.types)
    sources = np.append(
        _looked_up(names[:n_types], *tokens), _looked_up(names[n_types:], *pairs)
    )
    return Shares(sources, *tokens, *pairs)


def gram_names(material: Material) -> AnyArray:
    """All grams as text: tokens, then pairs with a blank between."""
    types = np.array(material.grams.types, dtype=str)
    left, right = types[material.grams.lefts], types[material.grams.rights]
    pairs = np.char.add(np.char.add(left, " "), right) if len(left) else left
    return np.append(types, pairs)


def _once(lists: Sequence[Sequence[str]], n: int) -> tuple[AnyArray, Floats]:
    flat = np.array(list(chain.from_iterable(lists)), dtype=str)
    names, counts = np.unique(flat, return_counts=True)
    return names, counts / max(n, 1)


def _looked_up(names: AnyArray, known: AnyArray, values: Any) -> Any:
    """Values of names; 0 for those that are not known."""
    if not len(known):
        return np.zeros(len(names))
    place = np.minimum(np.searchsorted(known, names), len(known) - 1)
    return np.where(known[place] == names, values[place], 0.0)


@dataclass(frozen=True, eq=False)
class Rates:
    """What many clusters say of tokens and pairs.

    Attributes
    ----------
    names : ndarray of str
        Tokens, and pairs with a blank between, in order.
    clusters : ndarray of float
        How many clusters have each in their sources.
    shares : ndarray of float
        The sum over these of the share of the references that have it.
    references : ndarray of float
        The same sum over all clusters.
    n_clusters : int
        How many there are.
    """

    names: AnyArray
    clusters: Floats
    shares: Floats
    references: Floats
    n_clusters: int

    def of(
        self, material: Material, own: Shares | None
    ) -> tuple[Floats, Floats, Floats]:
        """For each gram: rate, log of its use in references, clusters that know it.

        own : what the cluster itself said, where it is among those learned from: it is
        left out.
        """
        names = gram_names(material)
        clusters = _looked_up(names, self.names, self.clusters)
        shares = _looked_up(names, self.names, self.shares)
        used = _looked_up(names, self.names, self.references)
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
    """Add up what clusters say."""
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
