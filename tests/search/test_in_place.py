"""Tasks whose steps change states: the same results, and copies where they are due."""

import copy
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argmetric.search import (
    JointTask,
    LinearLearner,
    QueueTask,
    RightToLeft,
    Searn,
    SequenceLabelling,
    Task,
    check_task,
)
from searn_tasks import Given

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import parsing_by_search

sys.path.pop(0)


class Labels(SequenceLabelling):
    """Sequence labelling whose state is one list, which grows."""

    def start(self, x):
        return []

    def step(self, x, state, action):
        state.append(action)
        return state

    def copy(self, state):
        return state[:]

    def output(self, x, state):
        return tuple(super().output(x, state))


class Silent:
    """Nothing is known of the best action."""

    def costs(self, x, y, state):
        return None


class Led(Silent):
    """The best action is known, costs are not."""

    def reference(self, x, y, state):
        return y[len(state)]


class SilentValues(Silent, SequenceLabelling):
    pass


class SilentLabels(Silent, Labels):
    pass


class LedValues(Led, SequenceLabelling):
    pass


class LedLabels(Led, Labels):
    pass


def both(of, values=SequenceLabelling, changing=Labels):
    return of(values), of(changing)


PAIRS = {
    "plain": both(lambda kind: kind("abc")),
    "from the right": both(lambda kind: RightToLeft(kind("abc"))),
    "queue": both(lambda kind: QueueTask(kind("abc"), 2)),
    "reference": both(lambda kind: kind("abc"), LedValues, LedLabels),
    "searched": both(lambda kind: kind("ab"), SilentValues, SilentLabels),
    "queue, searched": both(
        lambda kind: QueueTask(kind("ab"), 2), SilentValues, SilentLabels
    ),
    "queue, reference": both(
        lambda kind: QueueTask(kind("abc"), 2), LedValues, LedLabels
    ),
}
# A queue and a reference are also in pairs of their own
BOTH = "queue, reference"
PAIRS_OF_ALL_KINDS = [
    pytest.param(name, marks=pytest.mark.slow if name == BOTH else ()) for name in PAIRS
]
JOINT = both(lambda kind: JointTask(kind("abc"), SequenceLabelling("abc")))
X = ["xyzzy", "zyx", "yyx", "", "xzxz"]
Y = ["abcba", "cca", "bab", "", "abab"]
Y_AB = [y.replace("c", "a") for y in Y]


def assert_alike(one, other, X, Y, **options):
    fits = [Searn(task, **options).fit(X, Y) for task in (one, other)]
    for a, b in zip(*(searn.history_ for searn in fits), strict=True):
        assert (a.examples, a.regret, a.roll_in_loss) == (
            b.examples,
            b.regret,
            b.roll_in_loss,
        )
    for a, b in zip(*(searn.policy_.learned for searn in fits), strict=True):
        assert np.array_equal(a.scorer.weights, b.scorer.weights)
    assert fits[0].predict(X * 3) == fits[1].predict(X * 3)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("costs", ["optimal", "rollout", "tied"])
@pytest.mark.parametrize("name", PAIRS_OF_ALL_KINDS)
def test_steps_in_place_change_no_result(name, costs, beam):
    right = Y_AB if "searched" in name else Y
    options = {"costs": costs, "beam": beam, "beta": 0.5, "iterations": 2}
    assert_alike(*PAIRS[name], X, right, **options, prediction="mean")


@pytest.mark.parametrize("costs", ["optimal", "rollout"])
def test_joint_tasks_of_which_one_changes_states(costs):
    pairs = list(zip(Y, Y[::-1], strict=True))
    right = [(a, (a + b + "aaaaa")[: len(a)]) for a, b in pairs]
    assert_alike(*JOINT, X, right, costs=costs, beam=2, beta=1.0, iterations=2)
    assert check_task(JOINT[1], X[1:3], right[1:3]).ok


def test_training_for_the_beam_in_place():
    options = {"beam": 2, "train_beam": True, "beta": 0.5, "iterations": 2}
    assert_alike(*PAIRS["plain"], X, Y, **options)


@pytest.mark.parametrize("name", PAIRS_OF_ALL_KINDS)
def test_the_kit_is_content_with_good_copies(name):
    right = Y_AB if "searched" in name else Y
    some = [(x[:3], y[:3]) for x, y in zip(X[1:4], right[1:4], strict=True)]
    report = check_task(PAIRS[name][1], some)
    assert report.problems == ()
    assert report.n_states > 10


class Counting(Labels):
    copies = 0

    def copy(self, state):
        type(self).copies += 1
        return super().copy(state)


def test_states_are_copied_only_where_the_search_branches():
    task = Counting("abc")
    searn = Searn(task, beta=1.0, iterations=3, cross_validation=2).fit(X, Y)
    searn.predict(X)
    assert Counting.copies == 0
    searn.set_params(beam=2).predict(["xyzzy"])
    assert 0 < Counting.copies <= 5  # at most one for each step: the other goes on


class Sums(Task):
    """Numbers whose scores are given by the input; the state is one list."""

    def start(self, x):
        return []

    def copy(self, state):
        return list(state)

    def actions(self, x, state):
        return range(len(x[len(state)])) if len(state) < len(x) else ()

    def step(self, x, state, action):
        state.append(action)
        return state

    def features(self, x, state):
        return [("none", 0.0)]

    def action_features(self, x, state, action):
        return [("score", x[len(state)][action] * (1 + len(set(state))))]

    def output(self, x, state):
        return tuple(state)

    def costs(self, x, y, state):
        return [0.0] * len(x[len(state)])

    def loss(self, y, output):
        return 0.0


scores = st.lists(
    st.lists(st.integers(-8, 8).map(float), min_size=1, max_size=3),
    min_size=1,
    max_size=4,
)


class Values(Sums):
    copy = Task.copy

    def start(self, x):
        return ()

    def step(self, x, state, action):
        return (*state, action)


@given(scores, st.integers(1, 90), st.sampled_from(["raw", "log"]))
def test_a_beam_in_place_is_the_beam_of_values(x, width, form):
    found = [
        Searn(task, Given(), beta=1.0, iterations=1, beam=width, beam_scores=form)
        .fit([x], [None])
        .predict([x, x[:1]])
        for task in (Sums(), Values())
    ]
    assert found[0] == found[1]

    def total(path):
        """Scores along a path; log probabilities where each has a softmax."""
        sum_of_path = 0.0
        for i, action in enumerate(path):
            own = np.array(x[i]) * (1 + len(set(path[:i])))
            norm = np.log(np.exp(own - own.max()).sum()) + own.max()
            sum_of_path += own[action] - (norm if form == "log" else 0.0)
        return sum_of_path

    if width >= 81:
        ways = itertools.product(*(range(len(options)) for options in x))
        best = max(map(total, ways))
        assert total(found[0][0]) == pytest.approx(best, rel=1e-12, abs=1e-12)


# --- the parser of the docs ---------------------------------------------------------


class Copying(parsing_by_search.Parsing):
    """The same parser with states that are values."""

    copy = Task.copy

    def step(self, x, state, action):
        return super().step(x, super().copy(state), action)


def some_trees(n, seed):
    """Projective trees with one root, drawn with their words."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        size = int(rng.integers(1, 9))
        heads = [0] * (size + 1)

        def attach(low, high, head, heads=heads):
            if low < high:
                root = int(rng.integers(low, high))
                heads[root] = head
                attach(low, root, root)
                attach(root + 1, high, root)

        attach(1, size + 1, 0)
        tags = [f"{int(h > i)}{(h - i) % 3}" for i, h in enumerate(heads)][1:]
        X.append(parsing_by_search.padded([f"w{rng.integers(20)}" for _ in tags], tags))
        Y.append([-1, *heads[1:]])
    return X, Y


@pytest.mark.parametrize("costs", ["optimal", "rollout"])
def test_the_parser_of_the_docs_is_exact_and_the_same_with_values(costs):
    X, Y = some_trees(30, seed=0)
    small = [(x, y) for x, y in zip(X, Y, strict=True) if len(y) <= 6]
    report = check_task(parsing_by_search.Parsing(), small[:6])
    assert report.ok
    assert report.n_exact > 50
    options = {"beta": 0.5, "iterations": 2, "beam": 3, "costs": costs}
    assert_alike(Copying(), parsing_by_search.Parsing(), X[:12], Y[:12], **options)
    learner = LinearLearner(epochs=30)
    searn = Searn(parsing_by_search.Parsing(), learner, beta=1.0, iterations=2).fit(
        X, Y
    )
    assert parsing_by_search.uas(Y, searn.predict(X)) > 0.99


def test_the_parser_of_the_docs_runs(capsys):
    parsing_by_search.main([])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("TaskReport: no problem found")
    assert lines[1:] == ["beam 1: UAS 100.00%", "beam 8: UAS 100.00%"]


@pytest.mark.slow
@pytest.mark.data
def test_real_trees_need_a_roll_in_that_is_not_their_own(data_folder):
    X, Y = parsing_by_search.read(data_folder / "deptb" / "train.dp")
    options = {"learner": LinearLearner(epochs=5), "beta": 1.0, "iterations": 2}
    with pytest.warns(UserWarning, match="pass cross_validation=4"):
        plain = Searn(parsing_by_search.Parsing(), **options).fit(X[:80], Y[:80])
    crossed = Searn(parsing_by_search.Parsing(), **options, cross_validation=4)
    crossed.fit(X[:80], Y[:80])
    assert plain.history_[0].mistakes < 0.005
    assert plain.history_[0].unseen_mistakes > 0.05
    assert plain.history_[1].roll_in_loss < 1 < 4 < crossed.history_[1].roll_in_loss
    found = parsing_by_search.uas(Y[80:160], crossed.predict(X[80:160]))
    assert found == pytest.approx(0.694, abs=0.01)


# --- faults -------------------------------------------------------------------------


class Box:
    """A state whose class does not say what equality means."""

    def __init__(self):
        self.labels = []
        self.seen = {"n": 0}

    def __len__(self):
        return len(self.labels)


class Boxed(SequenceLabelling):
    def start(self, x):
        return Box()

    def step(self, x, state, action):
        state.labels.append(action)
        state.seen["n"] += 1
        return state

    def features(self, x, state):
        return [f"{state.seen['n']}"]

    def output(self, x, state):
        return tuple(state.labels)


class Copied(Boxed):
    def copy(self, state):
        return copy.deepcopy(state)


class Shared(Boxed):
    def copy(self, state):
        twin = copy.copy(state)
        twin.labels = state.labels[:]
        return twin


class Late(Copied):
    """Shares what only the second step from a copy changes."""

    def copy(self, state):
        twin = copy.deepcopy(state)
        twin.seen = state.seen
        return twin

    def step(self, x, state, action):
        state.labels.append(action)
        if len(state.labels) == len(x):
            state.seen["n"] += 1
        return state

    def features(self, x, state):
        return ["f"]


class Empty(Copied):
    def copy(self, state):
        return Box()


class Forgetful(Copied):
    def step(self, x, state, action):
        super().step(x, state, action)


class Reused(Copied):
    box = Box()

    def start(self, x):
        return self.box


class Peeking(Copied):
    def features(self, x, state):
        state.seen["asked"] = True
        return ["f"]


def test_the_kit_takes_objects_with_a_copy():
    assert check_task(Copied("ab"), ["xy", "x"], ["ab", "b"]).problems == ()


@pytest.mark.parametrize(
    ("kind", "check", "words"),
    [
        (Boxed, "purity", "step() changes its arguments: make new ones, or write copy"),
        (Shared, "copy", "copy() shares parts with the state"),
        (Late, "copy", "copy() shares parts with the state"),
        (Empty, "copy", "copy() gives "),
        (Forgetful, "state", "the state is None: does step() return it?"),
        (Reused, "start", "start() gives a state that steps have changed"),
        (Peeking, "purity", "features() changes its arguments: make new ones"),
    ],
)
def test_the_kit_finds_faults_of_states_that_change(kind, check, words):
    report = check_task(kind("ab"), ["xyz"], ["aba"])
    found = {problem.check: problem.what for problem in report.problems}
    assert found[check].startswith(words)
    assert ("or write" in found[check]) == (kind is Boxed)
