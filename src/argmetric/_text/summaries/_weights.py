"""What a token or a pair of tokens is worth: the recall that it should bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from argmetric._input.types import AnyArray, Floats
from argmetric._text.summaries._linear import Linear, fit_linear
from argmetric._text.summaries._material import Material
from argmetric._text.summaries._rates import Rates, Shares, count_rates
from argmetric._text.summaries._word_lists import FIRST_PERSON

_PENALTY = 30.0
_PERCENT = 100.0


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of grams, learned from references.

    Attributes
    ----------
    rates : Rates
        What the references of many clusters say.
    of_tokens, of_pairs : Linear
        From features to the recall that the first occurrence is expected to bring.
    """

    rates: Rates
    of_tokens: Linear
    of_pairs: Linear

    def of(self, material: Material, own: Shares | None = None) -> Floats:
        """The expected recall of each gram, own as in `Rates.of`."""
        tokens, pairs = _features(material, self.rates, own)
        found = np.append(self.of_tokens.predict(tokens), self.of_pairs.predict(pairs))
        found *= material.grams.times > 0  # pairs of references only are not on offer
        return np.maximum(found, 0.0) / _PERCENT


def learn_weights(materials: Sequence[Material], shares: Sequence[Shares]) -> Weights:
    """Ridge regression; what a cluster itself says is left out of its features."""
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
    """Features of tokens and of pairs."""
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
    return _columns(tokens, n_types), _columns(pairs, len(a))


def _columns(features: Sequence[AnyArray], n: int) -> Floats:
    return np.stack(
        [np.asarray(x, dtype=np.float64) for x in features], axis=1
    ).reshape(n, len(features))
