"""Threshold rules: the compiled ones equal their plain twins, and find the optimum."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import argmetric as am
from argmetric.stream import (
    FixedRule,
    FOFORule,
    HistogramRule,
    NewtonRule,
    OFORule,
    SFORule,
    get_rule,
)
from argmetric.stream.kernels import rules as kernels
from refusing import refuses
from twins import stream as twin

F_FAMILY = {
    "f1": ("f1", 1.0),
    "f2": (am.FBeta(2), 4.0),
    "f0.5": (am.FBeta(0.5), 0.25),
    "jaccard": ("jaccard", 1.0),
    "tversky": (am.Tversky(0.3, 0.8), 0.8 / 0.3),
    "dice as a ratio": (am.LinearFractional((0, 2, 0, 0), (0, 0, 1, 1)), 1.0),
}
SMOOTH = {
    **{
        name: am.get_metric(name)
        for name in (
            *("mcc", "kappa", "gmean", "hmean", "qmean", "balanced_accuracy"),
            *("youden", "fowlkes_mallows", "accuracy"),
        )
    },
    "ratio": am.LinearFractional((1, 3, -1, 0), (2, 0.5, 1, 1)),
    "utility": am.Utility(tp=5, fp=-1, fn=-2, tn=0),
}


def twins(rule, kind, *given, **known):
    """A rule, and what makes its plain twin for a metric."""
    return rule, lambda **options: kind(*given, **known, **options)


SLIDING = {"window": 40, "lam": 1, "kappa": 1, "prior": 3, "shrink": 0.2}
RULES = {
    "fixed": (FixedRule(0.3), lambda **k: twin.Fixed(0.3)),
    "ofo": twins(OFORule(), twin.OFO),
    "bare ofo": twins(OFORule(prior=(0, 0)), twin.OFO, prior=(0, 0)),
    "fading ofo": twins(OFORule(forget=7), twin.OFO, forget=7),
    "sliding ofo": twins(OFORule(window=50), twin.OFO, window=50),
    "fofo": twins(FOFORule(n=400), twin.FOFO, 400),
    "short fofo": twins(FOFORule(n=60, start=0.1), twin.FOFO, 60, start=0.1),
    "anytime fofo": twins(FOFORule(), twin.FOFO, None),
    "sfo": twins(SFORule(n=400), twin.SFO, 400),
    "narrow sfo": twins(
        SFORule(n=300, start=0.25, radius=0.05), twin.SFO, 300, 0.05, start=0.25
    ),
    "anytime sfo": twins(SFORule(), twin.SFO, None),
    "newton": twins(NewtonRule(), twin.Newton),
    "fading newton": twins(NewtonRule(forget=9), twin.Newton, forget=9),
    **{
        f"{name} histogram": twins(
            HistogramRule(**options),
            twin.Histogram,
            **{key: math.inf if x is None else x for key, x in options.items()},
        )
        for name, options in {
            "plain": {},
            "recent": {"bins": 64, "forget": 20, "recent": True},
            "steady": {"forget": 15, "grow": False, "shrink": 0},
            "patient": {"forget": None},
            "growing": {"forget": 8},
            "sliding": {"forget": None, **SLIDING},
        }.items()
    },
}
STREAMS = {
    "calibrated": lambda rng, n: rng.normal(-1.5, 2, n),
    "rare": lambda rng, n: rng.normal(-4, 1.5, n),
    "far out": lambda rng, n: rng.choice([-1e300, -800, -40, 0, 40, 800, 1e300], n),
    "equal": lambda rng, n: np.full(n, 0.3),
    "edges": lambda rng, n: rng.choice([-8, 8, 7.999999, 0, 0.125, -0.125], n),
}


def stream(name, n=420, seed=0):
    rng = np.random.default_rng(seed)
    z = STREAMS[name](rng, n).astype(float)
    with np.errstate(over="ignore"):
        y = rng.random(n) < 1 / (1 + np.exp(-z))
    return z, y


def twin_options(metric, b2=None):
    if b2 is not None:
        return {"b2": b2}
    newton = NewtonRule()
    start = newton.threshold_of(newton.init_state(metric))
    return {"b2": None, "level": exact_level(metric), "start": start}


def exact_level(metric):
    """Level by an independent formula: rational derivative of the metric's value."""

    def level(tp, k, t, n):
        found = LEVELS[metric.name](metric, tp, k, t, n)
        return None if found is None else min(max(found, 0.0), 1.0)

    return level


def ratio(top, bottom):
    return top / bottom if bottom > 0 else None


def _mcc(metric, tp, k, t, n):
    tp = min(max(tp, k + t - n), min(k, t))  # no table has other hits
    spread = 2 * k * (n - k)
    return (t + (n * tp - k * t) * (n - 2 * k) / spread) / n if spread > 0 else None


def _kappa(metric, tp, k, t, n):
    spread = k * (n - t) + t * (n - k)
    return (t + (n * tp - k * t) * (n - 2 * t) / spread) / n if spread > 0 else None


def _rates(by_a, by_b):
    def level(metric, tp, k, t, n):
        if not (t > 0 and n > t):
            return None
        a, b = tp / t, (n - k - t + tp) / (n - t)
        return ratio(by_b(a, b) / (n - t), by_a(a, b) / t + by_b(a, b) / (n - t))

    return level


def _fraction(metric, tp, k, t, n):
    c, d = metric.coefficients
    scale = d[0] * n + d[1] * tp + d[2] * k + d[3] * t
    value = (c[0] * n + c[1] * tp + c[2] * k + c[3] * t) / scale if scale > 0 else None
    return None if value is None else ratio(value * d[2] - c[2], c[1] - value * d[1])


LEVELS = {
    "mcc": _mcc,
    "kappa": _kappa,
    "gmean": lambda m, tp, k, t, n: ratio(tp, n - k - t + 2 * tp),
    "hmean": _rates(lambda a, b: b * b, lambda a, b: a * a),
    "qmean": _rates(lambda a, b: 1 - a, lambda a, b: 1 - b),
    "balanced_accuracy": lambda m, tp, k, t, n: ratio(t, n),
    "youden": lambda m, tp, k, t, n: ratio(t, n),
    "fowlkes_mallows": lambda m, tp, k, t, n: ratio(tp, 2 * k),
    "accuracy": lambda m, tp, k, t, n: 0.5,
    SMOOTH["ratio"].name: _fraction,
    SMOOTH["utility"].name: lambda m, tp, k, t, n: 1 / 8,
}


def compare(rule, reference, metric, z, y, weight=None):
    state = rule.init_state(metric)
    run = rule.run(state, z, y, logits=True, sample_weight=weight)
    weights = np.ones(z.size) if weight is None else weight
    labels, thresholds = twin.run_rule(reference, z, y, weights)
    np.testing.assert_allclose(run.thresholds, thresholds, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(run.labels, labels)
    assert rule.threshold_of(state) == pytest.approx(reference.threshold(), rel=1e-9)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("rule", RULES)
def test_rules_equal_their_twins_for_f1(rule, name):
    compiled, reference = RULES[rule]
    z, y = stream(name)
    compare(compiled, reference(), "f1", z, y)


@pytest.mark.parametrize("metric", F_FAMILY)
@pytest.mark.parametrize("rule", RULES)
def test_rules_equal_their_twins_for_the_f_family(rule, metric):
    compiled, reference = RULES[rule]
    z, y = stream("calibrated", seed=1)
    metric, b2 = F_FAMILY[metric]
    compare(compiled, reference(b2=b2), metric, z, y)


@pytest.mark.parametrize("metric", SMOOTH)
@pytest.mark.parametrize(
    "rule", ["ofo", "fofo", "anytime fofo", "newton", "plain histogram"]
)
def test_rules_equal_their_twins_for_other_metrics(rule, metric):
    compiled, reference = RULES[rule]
    z, y = stream("calibrated", n=250, seed=2)
    options = twin_options(SMOOTH[metric])
    if metric == "mcc" and "ofo" not in rule:
        options["mass"] = 20.0
    if "ofo" in rule:
        start = options.pop("start")
        options |= {"neutral": start} if "fofo" in rule else {}
    compare(compiled, reference(**options), SMOOTH[metric], z, y)


@pytest.mark.parametrize("metric", SMOOTH)
def test_levels_are_ratios_of_derivatives(metric):
    numeric = twin.numeric_level(SMOOTH[metric].value)
    for counts in [(30, 50, 40, 200), (5, 90, 8, 100), (3, 4, 60, 100)]:
        expected = exact_level(SMOOTH[metric])(*counts)
        assert numeric(*map(float, counts)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_weights_and_one_class_only(rule):
    compiled, reference = RULES[rule]
    rng = np.random.default_rng(3)
    z, y = stream("calibrated", n=200, seed=3)
    compare(compiled, reference(), "f1", z, y, rng.choice([0.5, 1, 2, 3.25], 200))
    compare(compiled, reference(), "f1", z, np.zeros(200, bool))
    compare(compiled, reference(), "f1", z, np.ones(200, bool))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_blocks_give_the_same_bits(rule, metric):
    compiled = RULES[rule][0]
    z, y = stream("calibrated", n=700, seed=4)
    whole = compiled.init_state(metric)
    expected = compiled.run(whole, z, y, logits=True)
    for size in (1, 7, 300):
        state = compiled.init_state(metric)
        runs = [
            compiled.run(state, z[i : i + size], y[i : i + size], logits=True)
            for i in range(0, z.size, size)
        ]
        np.testing.assert_array_equal(state, whole)
        thresholds = np.concatenate([run.thresholds for run in runs])
        np.testing.assert_array_equal(thresholds, expected.thresholds)
        labels = np.concatenate([run.labels for run in runs])
        np.testing.assert_array_equal(labels, expected.labels)


@pytest.mark.parametrize("rule", RULES)
def test_empty_streams_and_certain_probabilities(rule):
    compiled = RULES[rule][0]
    state = compiled.init_state("f1")
    before = state.copy()
    assert compiled.run(state, [], []).labels.size == 0
    np.testing.assert_array_equal(state, before)
    run = compiled.run(state, [0.0, 1.0, 1e-300, 1 - 2**-53], [0, 1, 0, 1])
    assert run.labels[1] == run.labels[3] == 1
    assert np.isfinite(state).all()
    assert compiled.decide(state, [1.0, 0.5]).shape == (2,)


@given(
    st.lists(st.tuples(st.floats(-700, 700), st.booleans()), min_size=1, max_size=120),
    st.sampled_from(sorted(RULES)),
)
def test_any_stream(rows, rule):
    z, y = (np.array(column) for column in zip(*rows, strict=True))
    compiled = RULES[rule][0]
    state = compiled.init_state("f1")
    run = compiled.run(state, z.astype(float), y, logits=True)
    assert ((run.thresholds >= 0) & (run.thresholds <= 1)).all()
    assert np.isfinite(state).all()
    assert compiled.threshold_of(state) <= 1


@pytest.mark.parametrize("n", [1, 2, 3, 43, 44, 100, 1000, 54321])
def test_stages_of_the_paper(n):
    from argmetric.stream.kernels import rules as kernels

    state = FOFORule(n=n).init_state("f1")
    m = max(1, math.floor(0.5 * math.log2(2 * n / math.log2(n))) - 1) if n > 1 else 1
    assert state[kernels.STAGES] == m
    assert state[kernels.SIZE] == n // m
    assert state[kernels.GAMMA] == 0.5 / math.sqrt(10 * (n // m))
    assert (m > 1) >= (n >= 1000)


def test_one_stage_holds_the_start_radius_and_step_of_theorem_2():
    rule = SFORule(n=1000, start=0.3, radius=0.1)
    state = rule.init_state("f1")
    assert state[[kernels.STAGES, kernels.SIZE]].tolist() == [1, 1000]
    assert state[kernels.GAMMA] == 0.1 / math.sqrt(10 * 1000)
    run = rule.run(state, np.ones(5000), np.ones(5000))  # θ is pulled to 1/2
    assert (run.thresholds <= 0.4).all()
    assert rule.threshold_of(state) > 0.38
    rule.run(state, np.zeros(50_000), np.ones(50_000))
    assert 0.2 <= rule.threshold_of(state) < 0.25
    # FOFO of one stage is SFO with the widest radius
    z, y = stream("calibrated", 100)
    ends = [
        one.run(one.init_state("f1"), z, y, logits=True).thresholds
        for one in (SFORule(n=100), FOFORule(n=100))
    ]
    np.testing.assert_array_equal(*ends)


@functools.cache
def population_optimum(b2, n=4_001):
    """θ* for log-odds N(-3, 2²): the root of β²πθ - E(η - θ)₊, by bisection."""
    z = np.linspace(-19, 13, n)
    density = np.exp(-0.5 * ((z + 3) / 2) ** 2)
    density /= density.sum()
    eta = 1 / (1 + np.exp(-z))
    low, high = 0.0, 1 / (1 + b2)
    for _ in range(60):
        middle = (low + high) / 2
        gain = (density * np.maximum(eta - middle, 0)).sum()
        slope = b2 * (density * eta).sum() * middle - gain
        low, high = (middle, high) if slope < 0 else (low, middle)
    return low


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(
    "rule",
    [
        OFORule(),
        FOFORule(),
        SFORule(),
        NewtonRule(),
        HistogramRule(),
        HistogramRule(forget=None),
    ],
)
def test_rules_find_the_optimum_of_the_population(rule, beta):
    rng = np.random.default_rng(5)
    z = rng.normal(-3, 2, 200_000)
    y = rng.random(z.size) < 1 / (1 + np.exp(-z))
    state = rule.init_state(am.FBeta(beta))
    rule.run(state, z, y, logits=True)
    assert rule.threshold_of(state) == pytest.approx(
        population_optimum(beta**2), abs=0.02
    )


def changing_stream(n, shift):
    """Log-odds that are right for half of the rows and too large by `shift` then."""
    rng = np.random.default_rng(4)
    z = rng.normal(-1.5, 2, n)
    y = rng.random(n) < 1 / (1 + np.exp(-z))
    z[n // 2 :] += shift
    return z, y


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shrink", [0.0, 0.25])
def test_memory_grows_and_a_change_is_forgotten_as_the_twin_does(shrink, weighted):
    z, y = changing_stream(2400, 3.0)
    weight = np.random.default_rng(0).uniform(4, 6, 2400) if weighted else None
    rule = HistogramRule(forget=40, bins=32, shrink=shrink)
    reference = twin.Histogram(forget=40, bins=32, shrink=shrink)
    compare(rule, reference, "f1", z, y, weight)
    assert reference.settled > y[:1200].sum()  # the change was seen


def bins_of(rule, state):
    """Positives in the bins."""
    first = kernels.HEADER + rule.bins
    return state[first : first + rule.bins].sum() / state[kernels.UNIT]


@pytest.mark.parametrize("weight", [0.01, 100.0])
@pytest.mark.parametrize("grow", [False, True])
def test_weights_change_neither_the_memory_nor_the_alarms(grow, weight):
    """`forget` counts positives, and a test in standard deviations has no unit."""
    z, y = changing_stream(40_000, 3.0)
    rule = HistogramRule(grow=grow, shrink=0)
    states = [rule.init_state("f1") for _ in range(2)]
    for part in (slice(0, 20_000), slice(20_000, 40_000)):
        rule.run(states[0], z[part], y[part], logits=True)
        given = np.full(20_000, weight)
        rule.run(states[1], z[part], y[part], sample_weight=given, logits=True)
        held = [bins_of(rule, state) for state in states]
        assert held[1] / weight == pytest.approx(held[0], rel=0.1)
        settled = [state[kernels.SETTLED] for state in states]
        assert [one > y[part].sum() / 2 for one in settled] == [
            grow and part.start > 0
        ] * 2


def test_weights_by_class_raise_no_alarms():
    z, y = changing_stream(40_000, 0.0)
    rule = HistogramRule()
    state = rule.init_state("f1")
    rule.run(state, z, y, sample_weight=np.where(y, 10.0, 1.0), logits=True)
    assert state[kernels.SETTLED] < 0.1 * y.sum()
    assert bins_of(rule, state) > 10 * 0.15 * y.sum()


def test_memory_grows_where_the_level_is_recent():
    z, y = changing_stream(20_000, 0.0)
    rule = HistogramRule(recent=True)
    state = rule.init_state("f1")
    rule.run(state, z, y, logits=True)
    assert bins_of(rule, state) == pytest.approx(y.sum() / 5, rel=0.02)


@pytest.mark.parametrize(("mean", "scale"), [(-1.5, 3.0), (0.0, 2.0)])
def test_a_model_that_is_always_wrong_is_no_change(mean, scale):
    """Bins that an alarm has emptied know the model's rates alone, and these are wrong.

    They raised the next alarm, for ever; it cost seven points of F1.
    """
    rng = np.random.default_rng(0)
    true = rng.normal(mean, 2, 100_000)
    y = rng.random(true.size) < 1 / (1 + np.exp(-true))
    z = scale * (true + 3.0)
    late = {}
    for grow in (True, False):
        rule = HistogramRule(grow=grow)
        state = rule.init_state("f1")
        labels = rule.run(state, z, y, logits=True).labels[50_000:]
        late[grow] = 100 * am.get_metric("f1").score(y[50_000:], labels)
        assert state[kernels.SETTLED] < 0.3 * y.sum()
    assert late[True] > late[False] - 0.1


@pytest.mark.parametrize("rule", RULES)
def test_states_of_another_length_are_refused(rule):
    """Compiled code would write beyond their ends."""
    compiled = RULES[rule][0]
    state = compiled.init_state("f1")
    for wrong in (state[:-1], np.append(state, 0.0), state[:, None]):
        refuses(ValueError, "version of argmetric", compiled.run, wrong, [0.5], [1])


def test_after_a_change_the_growing_memory_is_no_worse_than_the_short_one():
    """Points of F1 after the change; never to forget costs more than ten."""
    z, y = changing_stream(120_000, 3.0)
    late = {}
    for name, rule in (
        ("grows", HistogramRule()),
        ("short", HistogramRule(grow=False)),
        ("all", HistogramRule(forget=None)),
    ):
        labels = rule.run(rule.init_state("f1"), z, y, logits=True).labels
        late[name] = 100 * am.get_metric("f1").score(y[60_000:], labels[60_000:])
    assert late["grows"] > late["short"] - 0.05
    assert late["all"] < late["short"] - 5


@pytest.mark.parametrize("rule", ["newton", "histogram", "fofo"])
@pytest.mark.parametrize("shift", [-1.0, 0.0, 1.5])
def test_mcc_is_not_held_at_a_threshold_of_zero(rule, shift):
    # a model that is off by `shift`: the expected hits fit no table of the labels
    z, y = stream("calibrated", n=4000, seed=6)
    scores = {}
    for name in (rule, "ofo"):
        one = get_rule(name)
        run = one.run(one.init_state("mcc"), z + shift, y, logits=True)
        scores[name] = am.get_metric("mcc").score(y, run.labels == 1)
    assert scores[rule] > scores["ofo"] - 0.03 > 0.25


def test_newton_is_the_step_of_the_design():
    """θ -= (β²(s/t)θ - (p-θ)₊)/(β²s + c + 1), by hand for two rows."""
    rule = NewtonRule()
    run = rule.run(state := rule.init_state("f1"), [0.6, 0.1], [1, 0])
    theta = 0.25 - (1.0 * 0.25 - 0.35) / (1 + 1 + 1)
    assert run.thresholds.tolist() == [0.25, pytest.approx(theta, rel=1e-15)]
    theta -= (0.5 * theta - 0.0) / (1 + 1 + 1)
    assert rule.threshold_of(state) == pytest.approx(theta, rel=1e-15)


def test_rules_are_values():
    assert get_rule("ofo") == OFORule()
    for rule, _ in RULES.values():
        assert get_rule(rule.to_dict()) == rule
    state = OFORule().init_state("f1")
    assert OFORule().update(state, 0.7, 1) == 1
    assert OFORule().update(state, -1.0, 1, logits=True) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: get_rule("best"), "rule must be one of"),
        (lambda: FixedRule(1.5), "threshold must lie between 0 and 1"),
        (lambda: OFORule(prior=(3, 4)), "2a ≤ b"),
        (lambda: OFORule(forget=5, window=5), "not both"),
        (lambda: HistogramRule(window=5), "forget=None"),
        (lambda: HistogramRule(bins=1), "bins must be"),
        (lambda: FOFORule(n=0), "n must be a whole number"),
        (lambda: SFORule(radius=0), "radius must be a positive number"),
        (lambda: NewtonRule(forget=0), "forget must be a positive number"),
        (lambda: OFORule().init_state("sec"), "no threshold rule for sec"),
        (lambda: OFORule().init_state("precision"), "missed positives"),
        (
            lambda: OFORule().init_state("recall"),
            "recall does not punish false positives",
        ),
        (lambda: OFORule().init_state("specificity"), "does not punish missed"),
        (lambda: OFORule().init_state(lambda tp, k, t, n: tp / n), "no threshold rule"),
        (
            lambda: OFORule().run(OFORule().init_state("f1"), [0.5, 2.0], [0, 1]),
            "scores is 2 at row 1",
        ),
        (
            lambda: OFORule().run(OFORule().init_state("f1"), [0.5], [2]),
            "y holds 2, not 0 and 1; pass y == 2",
        ),
        (
            lambda: OFORule().run(
                OFORule().init_state("f1"), [0.5], [1], sample_weight=[-1]
            ),
            "sample_weight is -1 at row 0",
        ),
    ],
)
def test_refusals(make, message):
    refuses(ValueError, message, make)
