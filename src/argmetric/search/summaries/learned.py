"""Learn the policy of a summarizer, and pack it for a file."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from argmetric._ground.arguments import shown
from argmetric._ground.saving import Arrays
from argmetric.search._searn._learners import LinearScorer
from argmetric.search.summaries.growth import SummaryOptions
from argmetric.search.summaries.material import Budget, Material, recall_steps
from argmetric.search.summaries.pieces import Parse
from argmetric.search.summaries.policies import (
    ByStates,
    ByWeights,
    Lesson,
    SummaryIteration,
    fixed_features,
    learn_dagger,
    lesson_steps,
)
from argmetric.search.summaries.vines import (
    ByVines,
    Completions,
    VineFeatures,
    VineLesson,
    learn_vines,
)
from argmetric.search.summaries.weights import Linear, Rates, Shares, Weights

RENAMED = {"searn": "dagger"}  # policies by names that they had
LearnedPolicy = ByWeights | ByStates | ByVines
_COUNTS = ("clusters", "shares", "references")  # of `Rates`, in files


def present_name(policy: str | None) -> str | None:
    """Return the current name of a policy; warn of an old one."""
    if not isinstance(policy, str) or policy not in RENAMED:
        return policy
    warnings.warn(
        f"policy={policy!r} is called {RENAMED[policy]!r} now; policy='vine' is SEARN "
        "as published",
        FutureWarning,
        stacklevel=4,
    )
    return RENAMED[policy]


def learn_policies(
    name: str,
    materials: Sequence[Material],
    shares: Sequence[Shares],
    weights: Weights,
    budget: Budget,
    *,
    options: SummaryOptions,
) -> Iterator[tuple[SummaryIteration, LearnedPolicy]]:
    """Yield policies as they are learned, with rows of `history_`."""
    pairs = list(zip(materials, shares, strict=True))
    start = partial(options.start, budget=budget)
    beam, iterations = options.oracle_beam, options.iterations
    if name == "dagger":
        lessons = [
            Lesson(one, lesson_steps(one, own, weights), fixed_features(one))
            for one, own in pairs
        ]
        yield from learn_dagger(
            lessons, weights, start, iterations=iterations, beam=beam
        )
    elif name == "vine":
        vines = [
            VineLesson(
                one,
                recall_steps(one.grams, one.references),
                VineFeatures(one),
                Completions(one, budget, beam),
            )
            for one in materials
        ]
        yield from learn_vines(
            vines,
            start,
            iterations=iterations,
            beta=options.beta,
            seed=options.random_state,
        )


def n_clusters_of(policy: LearnedPolicy) -> int:
    """Return the number of clusters that weights of grams were learned from."""
    return 0 if isinstance(policy, ByVines) else policy.weights.rates.n_clusters


def pack_policy(policy: LearnedPolicy) -> Arrays:
    """Return the arrays of a learned policy."""
    if isinstance(policy, ByVines):
        each = enumerate(policy.learned)
        return {f"learned{i}": one.weights for i, one in each} | {
            "mixture": policy.shares
        }
    weights = policy.weights
    linear = {"tokens": weights.of_tokens, "pairs": weights.of_pairs}
    arrays: Arrays = {}
    if isinstance(policy, ByStates):
        linear["pieces"] = policy.linear
    rates = weights.rates
    names = "\n".join(rates.names.tolist()).encode()
    arrays["names"] = np.frombuffer(names, dtype=np.uint8)
    arrays |= {key: getattr(rates, key) for key in _COUNTS}
    for key, one in linear.items():
        values = [np.atleast_1d(getattr(one, field.name)) for field in fields(one)]
        arrays[key] = np.concatenate(values)
    return arrays


def unpack_policy(
    kind: str, n_clusters: int, arrays: Arrays, seed: int
) -> LearnedPolicy:
    """Return the policy that arrays of a file describe."""
    if kind == "vine":
        shares = arrays["mixture"]
        learned = (_scorer(arrays[f"learned{i}"]) for i in range(len(shares)))
        return ByVines(tuple(learned), shares, seed)
    names = np.array(arrays["names"].tobytes().decode().split("\n"), dtype=str)
    counts = {key: arrays[key] for key in _COUNTS}
    if any(len(one) != len(names) for one in counts.values()):
        raise ValueError("names and counts differ")
    rates = Rates(names, n_clusters=n_clusters, **counts)
    weights = Weights(rates, _linear(arrays["tokens"]), _linear(arrays["pairs"]))
    if kind == "dagger":
        return ByStates(weights, _linear(arrays["pieces"]))
    return ByWeights(weights)


def _scorer(weights: Any) -> LinearScorer:
    """Return a scorer of hashed features; there are 2**bits weights."""
    bits = len(weights).bit_length() - 1
    if len(weights) != 1 << bits:
        raise ValueError("weights of vines are no power of two")
    return LinearScorer(weights, np.uint64(64 - bits), quadratic=False)


def _linear(values: Any) -> Linear:
    means, scales, weights = values[:-1].reshape(3, -1)
    return Linear(means, scales, weights, float(values[-1]))


def parse_of(parser: object) -> Parse | None:
    """Return the method of a parser that gives sentences their trees."""
    if parser is None:
        return None
    if not hasattr(parser, "parse"):
        raise TypeError(
            "parser must have a method parse(sentences) that returns a Tree for each, "
            f"not be {shown(parser)}"
        )
    parse: Parse = parser.parse
    return parse
