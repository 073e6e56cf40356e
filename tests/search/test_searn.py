"""SEARN learns, and what it refuses."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from argmetric.search import (
    JointTask,
    LearnedOrder,
    LinearLearner,
    Mixture,
    QueueTask,
    RightToLeft,
    Searn,
    SequenceLabelling,
)
from refusing import refuses


def sticky(n, rng, length=20, stay=0.95, seen=0.7):
    """Labels that stay, seen through noise: a gold history is a treacherous guide."""
    X, Y = [], []
    for _ in range(n):
        y = [int(rng.integers(3))]
        while len(y) < length:
            y.append(y[-1] if rng.random() < stay else int(rng.integers(3)))
        X.append(tuple(a if rng.random() < seen else int(rng.integers(3)) for a in y))
        Y.append(tuple(y))
    return X, Y


def seen_only(x, i):
    return [f"sees {x[i]}"]


def test_searn_recovers_where_imitation_gets_stuck():
    """With gold histories a policy learns to repeat itself, its mistakes as well."""
    rng = np.random.default_rng(0)
    train, test = sticky(100, rng), sticky(100, rng)
    task = SequenceLabelling([0, 1, 2], features=seen_only, history=1)
    imitation = Searn(task, beta=1.0, iterations=1).fit(*train).score(*test)
    searn = Searn(task, beta=0.3, iterations=10).fit(*train)
    assert imitation == pytest.approx(0.6405)
    assert searn.score(*test) == pytest.approx(0.8075, abs=0.02)
    # the roll-in gets worse as the labels have less of a say (Lemma 1)
    losses = [one.roll_in_loss for one in searn.history_]
    assert losses[0] == 0
    assert losses[-1] > 1


def test_cross_validation_rolls_in_with_classifiers_that_did_not_see_the_input():
    """Features that name the input let a policy learn it by heart."""
    rng = np.random.default_rng(0)
    X, Y = sticky(12, rng, length=5)
    X = [(number, x) for number, x in enumerate(X)]

    class Named(SequenceLabelling):
        def features(self, x, state):
            return [f"{x[0]} {len(state)}"]

        def actions(self, x, state):
            return self.labels if len(state) < len(x[1]) else ()

        def costs(self, x, y, state):
            return super().costs(x[1], y, state)

    task = Named([0, 1, 2])
    options = {"learner": LinearLearner(epochs=50), "beta": 1.0, "iterations": 2}
    plain = Searn(task, **options).fit(X, Y)
    crossed = Searn(task, **options, cross_validation=3).fit(X, Y)
    assert plain.history_[1].roll_in_loss == 0
    assert crossed.history_[1].roll_in_loss > 1
    assert crossed.score(X, Y) == 1  # predictions are by the classifier of all inputs
    assert len(crossed.policy_.learned[-1].folds) == 3
    with pytest.raises(ValueError, match="12 inputs make no 13 folds"):
        Searn(task, cross_validation=13).fit(X, Y)


def by_heart(x, i):
    return [f"sees {x[i]}", (f"{x} {i}", 3.0)]


@pytest.mark.parametrize(
    "costs", ["optimal", pytest.param("tied", marks=pytest.mark.slow)]
)
def test_a_roll_in_that_is_nearly_the_initial_policy_is_told(costs):
    """Features that name the input: no mistakes on those seen, many on others."""
    X, Y = sticky(60, np.random.default_rng(0), stay=0.8)
    task = SequenceLabelling([0, 1, 2], features=by_heart, history=1)
    options = {"learner": LinearLearner(epochs=50), "beta": 1.0, "iterations": 3}
    with pytest.warns(UserWarning, match="nearly the initial policy's") as caught:
        searn = Searn(task, **options, costs=costs).fit(X, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    first, *later = searn.history_
    assert first.mistakes < 0.01
    assert first.unseen_mistakes == 0.15
    assert [one.unseen_mistakes for one in later] == [None, None]
    text = str(caught[0].message)
    assert f"wrong in {first.mistakes:.2%} of the decisions" in text
    assert f"but in {first.unseen_mistakes:.2%} on others" in text
    assert "pass cross_validation=4" in text
    note = f"mistakes on inputs not seen in iteration 1: {first.unseen_mistakes:.2%}"
    assert note in repr(searn.history_)
    # What the advice brings: a roll-in that shows mistakes, and nothing to warn of
    crossed = Searn(task, **options, costs=costs, cross_validation=4).fit(X, Y)
    assert crossed.history_[0].mistakes == pytest.approx(
        first.unseen_mistakes, abs=0.03
    )
    assert crossed.history_[1].roll_in_loss > 4 * searn.history_[1].roll_in_loss
    assert crossed.history_[0].unseen_mistakes is None


def test_a_roll_in_with_mistakes_of_its_own_is_not_told_of():
    """A learner that underfits errs alike everywhere, and one of an easy task never."""
    rng = np.random.default_rng(0)
    X, Y = sticky(150, rng)
    task = SequenceLabelling([0, 1, 2], features=seen_only, history=1)
    first = Searn(task, beta=1.0, iterations=2).fit(X, Y).history_[0]
    assert first.unseen_mistakes == pytest.approx(first.mistakes, rel=0.3)
    assert first.mistakes > 0.03
    easy = Searn(task, beta=1.0, iterations=2).fit(X, X).history_[0]
    assert (easy.mistakes, easy.unseen_mistakes) == (0, None)
    named = SequenceLabelling([0, 1, 2], features=by_heart, history=1)
    once = Searn(named, beta=1.0, iterations=1).fit(X, Y).history_[0]
    assert once.unseen_mistakes is None  # there is no roll-in by what was learned
    few = Searn(named, beta=1.0, iterations=2).fit(X[:8], Y[:8]).history_[0]
    assert few.unseen_mistakes is None  # no evidence


def blurred(n, rng, shapes, n_clear):
    """Words whose letters are sets of pixels: the first ones clear, others blurred."""
    X, Y = [], []
    for _ in range(n):
        y = rng.integers(len(shapes), size=6)
        flips = np.where(y < n_clear, 0.02, 0.25)[:, None]
        on = shapes[y] ^ (rng.random((6, shapes.shape[1])) < flips)
        X.append([np.flatnonzero(row).tolist() for row in on])
        Y.append(tuple(y.tolist()))
    return X, Y


class Begun(LearnedOrder):
    """Tells the first step of every input."""

    begun = None

    def step(self, x, state, action):
        if self.begun is not None and state == self.start(x):
            self.begun.append((x, action))
        return super().step(x, state, action)


def test_a_learned_order_begins_where_it_is_sure_and_ends_well():
    rng = np.random.default_rng(0)
    shapes = rng.random((8, 24)) < 0.5
    train, (X, Y) = blurred(40, rng, shapes, 3), blurred(60, rng, shapes, 3)
    task = Begun(range(8), features=lambda x, i: x[i])
    searn = Searn(task, beta=1.0, iterations=2).fit(*train)
    task.begun = []
    assert searn.score(X, Y) == pytest.approx(0.9, abs=0.02)
    right = dict(zip(map(str, X), Y, strict=True))
    firsts = [right[str(x)][place] == label for x, (place, label) in task.begun]
    assert np.mean(firsts) > 0.97
    content = Searn(task, LinearLearner(target="cheapest"), beta=1.0, iterations=2)
    assert content.fit(*train).score(X, Y) < 0.75


def test_the_default_learner_takes_the_target_of_the_task():
    kept = []

    class Kept(LearnedOrder):
        target = "cheapest"

    X, Y = ["xyz", "zy"], ["aba", "bb"]
    for task in (LearnedOrder("ab"), Kept("ab")):
        for target in ("reward", "cheapest"):
            plain = Searn(task, beta=1.0, iterations=1).fit(X, Y)
            named = Searn(task, LinearLearner(target=target), beta=1.0, iterations=1)
            weights = [
                one.policy_.learned[0].scorer.weights
                for one in (plain, named.fit(X, Y))
            ]
            kept.append(np.array_equal(*weights))
    assert kept == [True, False, False, True]
    assert RightToLeft(LearnedOrder("ab")).target == "reward"


def test_development_loss_keeps_the_best_and_stops():
    rng = np.random.default_rng(0)
    train, dev = sticky(60, rng), sticky(60, rng)
    task = SequenceLabelling([0, 1, 2], features=seen_only, history=1)
    searn = Searn(task, beta=1.0, iterations=12, patience=2).fit(*train, dev=dev)
    history = searn.history_
    losses = [one.dev_loss for one in history]
    assert history.best == 1 + int(np.argmin(losses))
    assert len(history) == min(12, history.best + 2)
    X, Y = dev
    mean = np.mean([task.loss(y, o) for y, o in zip(Y, searn.predict(X), strict=True)])
    assert mean == losses[history.best - 1]
    assert searn.policy_.weights.tolist() == [1.0]  # β = 1: no other has a share
    assert len(searn.policy_.learned) == 1
    if len(history) < 12:
        assert history.stopped == "no better loss in 2 iterations"


def test_line_search_takes_the_share_of_least_loss():
    rng = np.random.default_rng(0)
    train, dev = sticky(60, rng), sticky(60, rng)
    task = SequenceLabelling([0, 1, 2], features=seen_only, history=1)
    searn = Searn(task, beta="search", iterations=3, patience=3).fit(*train, dev=dev)
    history = searn.history_
    assert history[0].beta == 1
    assert history[0].initial_weight == 0
    mixture = Mixture(None, searn.policy_.learned[:1], (1.0,))
    second = searn.policy_.learned[1]
    losses = {
        beta: searn._decoder().mean_loss(mixture.interpolate(second, beta), *dev)
        for beta in (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05)
    }
    assert history[1].dev_loss == min(losses.values())
    assert losses[history[1].beta] == history[1].dev_loss
    with pytest.raises(ValueError, match="needs development inputs"):
        Searn(task, beta="search").fit(*train)


def test_a_share_of_the_inputs_for_development():
    X, Y = sticky(20, np.random.default_rng(0), length=4)
    searn = Searn(SequenceLabelling([0, 1, 2]), iterations=1).fit(X, Y, dev=0.25)
    assert searn.history_[0].examples == 15 * 4
    assert searn.history_[0].dev_loss is not None
    for share in (0.0, 1.5, 0.99):
        with pytest.raises(ValueError, match=r"dev"):
            Searn(SequenceLabelling([0, 1, 2])).fit(X, Y, dev=share)


def test_iterations_until_the_initial_policy_has_no_say():
    X, Y = ["xyz", "zy"], ["aba", "bb"]
    searn = Searn(SequenceLabelling("ab"), beta=0.5, iterations=None).fit(X, Y)
    # 3 · 0.5^n < 0.05 from n = 6 on
    assert len(searn.history_) == 6
    assert "hardly a say" in searn.history_.stopped
    for beta in (1.0, "search"):
        with pytest.raises(ValueError, match="iterations=None"):
            Searn(SequenceLabelling("ab"), beta=beta, iterations=None).fit(X, Y)


class Interrupted(LinearLearner):
    calls = 0

    def fit(self, decisions, costs, rng):
        type(self).calls += 1
        if type(self).calls == 3:
            raise KeyboardInterrupt
        return super().fit(decisions, costs, rng)


def test_an_interrupt_keeps_what_was_learned():
    X, Y = ["xyz", "zy"], ["aba", "bb"]
    Interrupted.calls = 0
    searn = Searn(SequenceLabelling("ab"), Interrupted(), iterations=9).fit(X, Y)
    assert searn.history_.stopped == "interrupted"
    assert len(searn.history_) == len(searn.policy_.learned) == 2
    assert searn.policy_.weights.sum() == pytest.approx(1)
    assert searn.predict(X) == [tuple(y) for y in Y]
    Interrupted.calls = 2
    with pytest.raises(KeyboardInterrupt):
        Searn(SequenceLabelling("ab"), Interrupted()).fit(X, Y)


def test_history_prints_and_draws():
    import matplotlib as mpl

    mpl.use("Agg")
    X, Y = ["xyz", "zy"], ["aba", "bb"]
    searn = Searn(SequenceLabelling("ab"), beta=0.1, iterations=3)
    searn.fit(X, Y, dev=(X, Y))
    history = searn.history_
    assert repr(history).count("\n") == 4
    assert "* kept" in repr(history)
    assert [row["number"] for row in history.to_dict()] == [1, 2, 3]
    assert [one.initial_weight for one in history[:2]] == pytest.approx([0.9, 0.81])
    axes = history.plot()
    assert axes.get_xlabel() == "iterations"
    assert axes.lines[0].get_ydata().tolist() == [one.dev_loss for one in history]
    without = Searn(SequenceLabelling("ab"), iterations=2).fit(X, Y).history_
    assert without[0].dev_loss is None
    assert len(without.plot(axes).lines) == 4
    mpl.pyplot.close("all")


def test_progress_is_told_when_asked(capsys):
    X, Y = ["xyz"], ["aba"]
    Searn(SequenceLabelling("ab"), iterations=2, verbose=1).fit(X, Y, dev=(X, Y))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("iteration 1: 3 examples, regret 0.0000")
    assert "dev loss" in lines[0]


def test_empty_inputs_and_no_inputs():
    task = SequenceLabelling("ab")
    searn = Searn(task, iterations=2).fit(["", "xy", ""], ["", "ab", ""])
    assert searn.predict(["", "xy"]) == [(), ("a", "b")]
    assert searn.history_[0].examples == 2
    for X, Y in ([], []), ([""], [""]):
        nothing = Searn(task, iterations=1).fit(X, Y)
        assert nothing.predict(["", "x"]) == [(), ("a",)]
        assert nothing.score(X, Y) == 1


def test_illegal_actions_and_bad_costs_are_told_with_their_place():
    class Illegal(SequenceLabelling):
        def costs(self, x, y, state):
            return None

        def reference(self, x, y, state):
            return y[len(state)]

    with pytest.raises(ValueError, match=r"input 1 gives the action 'z' in state \('a"):
        Searn(Illegal("ab")).fit(["xy", "xy"], ["ab", "az"])

    def fit(method, value):
        members = {method: lambda self, *_: value}
        task = type("Bad", (SequenceLabelling,), members)("ab")
        return Searn(task).fit(["xy"], ["ab"])

    with pytest.raises(
        ValueError, match=r"of input 0 in state \(\) of action 'b' is nan"
    ):
        fit("costs", [0.0, math.nan])
    refuses(ValueError, "3 costs of input 0", fit, "costs", [0.0, 1.0, 2.0])
    refuses(ValueError, r"the loss of input 0 .* is inf", fit, "loss", math.inf)

    class Endless(SequenceLabelling):
        def step(self, x, state, action):
            return state

    with pytest.raises(ValueError, match="input 0 is not finished after 5000 dec"):
        Searn(Endless("a")).fit(["x"], ["a"])


class Growing(SequenceLabelling):
    """Never final; `known` says what it knows of the way."""

    known = "nothing"

    def actions(self, x, state):
        return self.labels

    def costs(self, x, y, state):
        return [0.0, 1.0] if self.known == "costs" else None

    def reference(self, x, y, state):
        return "a" if self.known == "reference" else None

    def most_steps(self, x):
        return 30 + len(x)


@pytest.mark.parametrize("known", ["nothing", "reference", "costs"])
def test_endless_tasks_are_refused_with_the_state_and_a_way_out(known):
    task = type("Mine", (Growing,), {"known": known})("ab", features=seen_only)
    with pytest.raises(ValueError, match=r"not finished after 31 decisions") as caught:
        Searn(task).fit(["x"], ["a"])
    assert "at state ('a', 'a', 'a'," in str(caught.value)
    assert "let most_steps(x) of Mine return how many" in str(caught.value)


def test_long_inputs_may_take_long():
    x = "x" * 6000  # beyond the 5,000 that anything may take
    searn = Searn(SequenceLabelling("a"), iterations=1).fit([x], ["a" * 6000])
    assert searn.predict([x]) == [("a",) * 6000]
    task = SequenceLabelling("ab")
    assert [task.most_steps(one) for one in ("x", x, 7)] == [5000, 120_000, 5000]
    unsized = (sp.csr_array([[1.0]]), np.array(1.0))  # len() refuses both
    assert [task.most_steps(one) for one in unsized] == [5000, 5000]
    assert QueueTask(task, 3).most_steps(x) == 360_001
    assert RightToLeft(task).most_steps(x) == 120_000
    slow = SequenceLabelling("ab")
    slow.most_steps = lambda x: 7000
    assert JointTask(task, slow).most_steps("x") == 12_000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"learner": "forest"}, "learner must be one of"),
        ({"costs": "free"}, "costs must be one of"),
        ({"beta": 0.0}, "beta must be above 0"),
        ({"beta": "best"}, "beta must be one of"),
        ({"beta": None}, "beta must be above 0"),
        ({"iterations": 0}, "iterations must be an integer of at least 1"),
        ({"iterations": 2.5}, "iterations must be an integer of at least 1, not 2.5"),
        ({"beam": 0}, "beam must be an integer of at least 1"),
        ({"beam": None}, "beam must be an integer of at least 1, not None"),
        ({"cross_validation": 1}, "cross_validation must be an integer of at least 2"),
        ({"random_state": None}, "random_state must be an integer of at least 0"),
        ({"prediction": "vote"}, "prediction must be one of"),
        ({"beam_scores": "odds"}, "beam_scores must be one of"),
    ],
)
def test_options_are_checked(options, words):
    with pytest.raises(ValueError, match=words):
        Searn(SequenceLabelling("ab"), **options).fit(["x"], ["a"])


def test_misuse_is_told():
    task = SequenceLabelling("ab")
    with pytest.raises(ValueError, match="not fitted yet"):
        Searn(task).predict(["x"])
    with pytest.raises(ValueError, match="X has 1 inputs but Y has 2"):
        Searn(task).fit(["x"], ["a", "b"])
    with pytest.raises(ValueError, match="dev: X has 1 inputs but Y has 0"):
        Searn(task).fit(["x"], ["a"], dev=(["x"], []))
    with pytest.raises(TypeError, match="learner must have a method fit"):
        Searn(task, object()).fit(["x"], ["a"])
    with pytest.raises(ValueError, match="dev holds no inputs"):
        Searn(task).fit(["x"], ["a"], dev=([], []))
    with pytest.raises(ValueError, match="share between 0 and 1, not 1"):
        Searn(task).fit(["x"], ["a"], dev=1)


def test_losses_that_are_not_finite_are_told_for_what_they_are():
    class Searched(SequenceLabelling):
        def costs(self, x, y, state):
            return None

        def loss(self, y, output):
            return math.nan if y == "b" and len(output) else 0.0

    task = Searched("ab")
    with pytest.raises(
        ValueError, match=r"the loss of input 1 at state \('a',\) is nan"
    ):
        Searn(task).fit(["x", "x"], ["a", "b"])
    with pytest.raises(ValueError, match="the loss of development input 1 is nan"):
        Searn(task).fit(["x"], ["a"], dev=(["x", "x"], ["a", "b"]))


def test_it_prints_what_was_asked_for():
    searn = Searn(SequenceLabelling("ab"), "svm", beta=1.0)
    assert repr(searn) == "Searn(SequenceLabelling, learner='svm', beta=1.0)"
    assert searn.get_params()["iterations"] == 10


def test_inputs_and_outputs_that_are_no_sequences_are_refused_by_name():
    searn = Searn(SequenceLabelling("ab"), beta=1.0, iterations=1)
    tokens = "x must be a sequence of tokens, a list, not 0.5"
    refuses(TypeError, tokens, searn.fit, [0.5], ["a"])
    labels = "y must be a sequence of labels, not 0.5"
    refuses(TypeError, labels, searn.fit, ["x"], [0.5])
    refuses(TypeError, "dev must be ", searn.fit, ["x"], ["a"], dev=[1])
    searn.fit(["x"], ["a"])
    refuses(TypeError, "X must be a sequence, not 3", searn.predict, 3)
    with pytest.raises(TypeError, match="y must be a sequence of labels, not None"):
        searn.score(["x"], [None])
