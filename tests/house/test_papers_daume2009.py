"""Claims about SEARN: their questions fail on broken algorithms and null data."""

from types import SimpleNamespace

import numpy as np
import pytest

from claims import Modules, claim_of

parts = Modules(
    **{
        name: f"papers_parts.{name}"
        for name in (
            *("claim", "daume2009", "daume2009_searn"),
            *("daume2009_runs", "daume2009_tables"),
        )
    }
)


def test_counts_of_sentences_give_the_strict_f1():
    from search_parts import searn

    rng = np.random.default_rng(0)
    labels = ["O", "B-X", "I-X", "B-Y", "I-Y"]

    def sentences():
        return [rng.choice(labels, size=n).tolist() for n in rng.integers(1, 12, 60)]

    gold = sentences()
    found = [rng.choice(labels, size=len(own)).tolist() for own in gold]
    for judge in (searn.chunk_f1, searn.accuracy):
        problem = SimpleNamespace(judge=judge, gold=gold)
        runs = parts.daume2009_runs.counts(problem, found)
        (score,) = parts.daume2009_runs.Judged((runs,)).scores
        assert score == pytest.approx(judge(gold, found), abs=1e-9)


def test_a_gain_is_over_paired_runs_or_over_resampled_inputs():
    runs = parts.daume2009_runs
    rng = np.random.default_rng(0)
    total = np.full(200, 20.0)

    def system(rate, n):
        right = [2.0 * rng.binomial(10, rate, size=200) for _ in range(n)]
        return runs.Judged(tuple(np.stack([own, total], axis=1) for own in right))

    many, few = system(0.8, 4), system(0.7, 4)
    paired = runs.gain(many, few)
    assert paired == parts.claim.Estimate.of(many.scores - few.scores)
    one = few.first(1)
    resampled = runs.gain(many, one)
    rates = [(own[:, 0] / own[:, 1]) for own in many.runs]
    gaps = 100 * (np.mean(rates, axis=0) - one.runs[0][:, 0] / 20)
    assert resampled.value == pytest.approx(gaps.mean())
    error = 1.96 * gaps.std() / 200**0.5
    assert resampled.high - resampled.low == pytest.approx(2 * error, rel=0.1)
    assert runs.gain(one, one) == parts.claim.Estimate(0.0, 0.0, 0.0)


@pytest.mark.parametrize("name", ["lemma-1", "theorem-2", "lemma-2"])
def test_bounds_fail_without_any_of_their_terms(name):
    """Trees and classifiers are such that every term is needed."""
    claim = claim_of(parts.daume2009_searn, name)
    figures = claim.measure(True)
    assert claim.verdict(figures, fast=False)[0] == "holds"
    assert len(claim.deleted) == len(figures) - 1 >= 2
    for ask in claim.deleted:
        without = {parts.daume2009.LESS: figures[ask.figure]}
        assert claim.verdict(without, fast=False)[0] == "does not hold", ask.figure


def test_footnote_7_fails_where_the_coins_can_be_seen():
    """Features that tell the labels leave no noise: SEARN beats the safe way."""
    from argmetric.search import LinearLearner, Searn

    module = parts.daume2009_searn

    class Seen(module.SafeOrNoise):
        def features(self, x, state):
            return [f"coin {x[len(state)]}"]

    labels = [tuple("ht"[c] for c in row) for row in np.ndindex(2, 2, 2, 2)]
    learner = LinearLearner(epochs=5)
    searn = Searn(Seen(), learner, beta=1.0, iterations=2)
    found = searn.fit(labels, labels).predict(labels)
    task = searn.task
    losses = [task.loss(y, z) for y, z in zip(labels, found, strict=True)]
    gap = float(np.mean(losses)) - 0.25
    claim = claim_of(module, "footnote-7")
    name = "loss of SEARN over that of the safe policy"
    assert claim.verdict({name: gap}, fast=False)[0] == "does not hold"


def test_hill_climbing_gains_nothing_from_scores_that_tell_nothing():
    module = parts.daume2009_searn
    gains = [
        module.matching_accuracy(module.HillClimbing(), seed, noise=50.0)
        - module.matching_accuracy(module.RowByRow(), seed, noise=50.0, beam=10)
        for seed in range(3)
    ]
    claim = claim_of(module, "section-3-4-hill-climbing")
    gain = parts.claim.Estimate.of(gains)
    figures = {ask.figure: gain for ask in claim.asks}
    assert claim.verdict(figures, fast=False)[0] != "holds"


@pytest.mark.parametrize("name", ["RowByRow", "HillClimbing", "SafeOrNoise"])
def test_tasks_of_the_claims_are_sound(name):
    """`check_task` finds nothing, or no more than short-sighted costs."""
    from argmetric.search import check_task

    task = getattr(parts.daume2009_searn, name)()
    X, Y = [[[0.0, 1.0], [1.0, 0.2]]] * 2, [(1, 0), (0, 1)]
    if name == "SafeOrNoise":
        X, Y = [0, 1], [tuple("htht"), tuple("tthh")]
    report = check_task(task, X, Y)
    assert {one.check for one in report.problems} <= {"costs"}
