"""Tasks: exact costs against brute force on all states, and the conformance kit."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import argmetric as am
import search_oracle as oracle
from argmetric.search import (
    JointTask,
    LearnedOrder,
    QueueTask,
    RightToLeft,
    Searn,
    SequenceLabelling,
    SpanChunking,
    WordChunking,
    check_task,
    span_features,
    token_features,
)
from refusing import refuses
from searn_tasks import Given, TwoLetters, initial_costs


def assert_exact(task, x, y, loss=None):
    """SEARN finds least losses, up to a constant, at every state; n of states."""
    judge = loss or (lambda output: task.loss(y, output))
    least = oracle.least_losses(task, x, judge)
    states = [s for s in oracle.all_states(task, x) if len(task.actions(x, s)) > 1]
    found, loss_by_policy = initial_costs(task, x, y, states)
    for state, costs in zip(states, found, strict=True):
        actions = task.actions(x, state)
        reached = np.array([float(least[task.step(x, state, a)]) for a in actions])
        rises = reached - reached.min()
        assert np.abs(costs - costs.min() - rises).max() < 1e-12, (y, state)
    best = np.mean([float(least[state]) for state in states])
    assert loss_by_policy == pytest.approx(best, abs=1e-12)
    return len(states)


@pytest.mark.parametrize("dangling", ["forbid", "open", "ignore"])
def test_word_at_a_time_costs_are_exact_on_all_states(dangling):
    task = WordChunking(["X", "Y"], dangling=dangling)
    x = ("a",) * 3
    n, golds = 0, list(oracle.well_formed_labels("XY", 3))
    for y in golds if dangling == "open" else golds[::2]:
        gold = oracle.chunks(y, False)

        def loss(output, gold=gold):
            return 1 - oracle.chunk_f(gold, oracle.chunks(output, dangling == "open"))

        n += assert_exact(task, x, y, loss)
    assert n == {"forbid": 21 * 15, "open": 41 * 31, "ignore": 21 * 31}[dangling]
    if dangling == "open":
        for y in list(oracle.well_formed_labels("XY", 4))[::40]:
            assert_exact(task, ("a",) * 4, y)


@pytest.mark.parametrize(
    "metric",
    [am.FBeta(2), pytest.param(am.FBeta(0.5), marks=pytest.mark.slow), "jaccard"],
)
def test_word_at_a_time_costs_are_exact_for_other_metrics(metric):
    task = WordChunking(["X"], dangling="open", metric=metric)
    for y in list(oracle.well_formed_labels("X", 4))[::3]:
        assert_exact(task, ("a",) * 4, y)
    beta2 = getattr(metric, "beta", 1) ** 2 if metric != "jaccard" else 1
    y, output = ("B-X", "I-X", "B-X", "O"), ("B-X", "O", "B-X", "B-X")
    f = oracle.chunk_f(oracle.chunks(y, True), oracle.chunks(output, True), beta2)
    value = float(f if metric != "jaccard" else f / (2 - f))
    assert task.loss(y, output) == pytest.approx(1 - value, abs=1e-15)


def test_policy_18_of_the_paper_is_among_the_cheapest():
    task = WordChunking(["X", "Y"], dangling="open")
    x = ("a",) * 3
    for y in oracle.well_formed_labels("XY", 3):
        for state in oracle.all_states(task, x):
            if len(state) == 3:
                continue
            right, last = y[len(state)], state[-1] if state else "O"
            choice = "O"
            if right[0] == "B" or (right[0] == "I" and last[2:] == right[2:]):
                choice = right
            costs = task.costs(x, y, state)
            at = costs[task.labels.index(choice)]
            assert at == pytest.approx(min(costs), abs=1e-12)


@pytest.mark.parametrize("types", ["X", "XY"])
def test_chunk_at_a_time_costs_are_exact_on_all_states(types):
    task = SpanChunking(list(types), max_length=2)
    golds = list(oracle.well_formed_labels(types, 4))
    assert any(b - a == 4 for y in golds for a, b, _ in oracle.chunks(y, False))
    for y in golds[:: 2 * len(types) ** 2]:
        gold = oracle.chunks(y, False)

        def loss(output, gold=gold):
            return 1 - oracle.chunk_f(gold, oracle.chunks(output, False))

        assert_exact(task, ("a",) * 4, y, loss)


def test_joint_costs_are_exact_on_all_states():
    task = JointTask(
        SequenceLabelling("ab"), WordChunking(["X"], dangling="open"), weights=(0.5, 1)
    )
    x = ("u", "v", "w")
    n = 0
    for tags in ("bab",):
        for y in oracle.well_formed_labels("X", 3):
            gold = oracle.chunks(y, False)

            def loss(output, gold=gold, tags=tags):
                wrong = sum(a != b for a, b in zip(tags, output[0], strict=True))
                f = oracle.chunk_f(gold, oracle.chunks(output[1], True))
                return wrong / 2 + 1 - f

            n += assert_exact(task, x, (tags, y), loss)
    assert n == 13 * (1 + 2 + 6 + 12 + 36 + 72)


def test_joint_of_streams_of_unequal_lengths():
    task = JointTask(SpanChunking(["X"], 2), SequenceLabelling("ab"))
    assert_exact(task, ("u", "v"), (("B-X", "I-X"), "ab"))
    x, y = ("u", "v", "w"), (("B-X", "I-X", "O"), "aba")
    assert check_task(task, [x], [y]).ok
    assert Searn(task, beta=1.0, iterations=2).fit([x], [y]).score([x], [y]) == 0


@pytest.mark.parametrize(
    "task",
    [
        SequenceLabelling("abc"),
        SequenceLabelling("abc", order="right"),
        LearnedOrder("abc"),
        RightToLeft(SequenceLabelling("abc")),
        QueueTask(SequenceLabelling("ab"), 1),
        QueueTask(SequenceLabelling("ab"), 2),
        QueueTask(LearnedOrder("ab"), 3),
    ],
    ids=lambda task: type(task).__name__,
)
def test_sequence_costs_are_exact(task):
    x = "xyz" if not isinstance(task, QueueTask) else "xy"
    for y in ["aba", "bbb"]:
        assert_exact(task, x, y[: len(x)])


def test_queues_of_tasks_without_costs_are_searched():
    class Blind(SequenceLabelling):
        def costs(self, x, y, state):
            return None

    assert_exact(QueueTask(Blind("ab"), 2), "xy", "ab")
    assert_exact(JointTask(Blind("ab"), SequenceLabelling("ab")), "xy", ("ab", "ba"))


def test_chunks_from_the_right_carry_their_mark_at_the_end():
    task = RightToLeft(WordChunking(["X", "Y"]))
    for y in oracle.well_formed_labels("XY", 3):
        mirrored = task.mirror(y)
        assert task.mirror(mirrored) == y
        spans = {(3 - b, 3 - a, k) for a, b, k in oracle.chunks(y, False)}
        assert oracle.chunks(mirrored, False) == spans
        assert_exact(task, ("a",) * 3, y)


class Reference(SequenceLabelling):
    """Only the best action is known."""

    def costs(self, x, y, state):
        return None

    def reference(self, x, y, state):
        return y[len(state)]


class Searched(WordChunking):
    """Nothing is known: least losses are looked for."""

    def costs(self, x, y, state):
        return None


def test_costs_follow_from_a_reference_or_a_search():
    assert_exact(Reference("abc"), "xyz", "abc")
    task = Searched(["X"])
    for y in oracle.well_formed_labels("X", 3):
        assert_exact(task, ("a",) * 3, y)


class Trap(TwoLetters):
    """The estimate is wrong on the way to the best output."""

    def loss(self, y, output):
        return {"b": 5.0, "bb": 0.0}.get(output, 1.0)


@pytest.mark.parametrize("width", [1, 2])
def test_search_keeps_to_its_width(width):
    costs, loss = initial_costs(Trap(), "", "", [""], search_width=width)
    assert costs[0].tolist() == [1.0, 0.0]
    assert loss == 0.0


BUILT_IN = [
    (SequenceLabelling("ab"), "xyz", "aba"),
    (SequenceLabelling("ab", order="right"), "xyz", "aba"),
    (WordChunking(["X"]), "xyz", ["B-X", "I-X", "O"]),
    (WordChunking(["X"], dangling="open"), "xyz", ["B-X", "I-X", "O"]),
    (WordChunking(["X"], dangling="ignore"), "xyz", ["B-X", "I-X", "O"]),
    (SpanChunking(["X"], 2), "xyz", ["B-X", "I-X", "I-X"]),
    (LearnedOrder("ab"), "xyz", "aba"),
    (JointTask(SequenceLabelling("ab"), WordChunking(["X"])), "xy",
     ("ab", ["B-X"] * 2)),
    (RightToLeft(SpanChunking(["X"], 2), mirror=WordChunking(["X"]).mirrored), "xyz",
     ["B-X", "I-X", "O"]),
    (QueueTask(SequenceLabelling("ab"), 2), "xyz", "aba"),
    (Reference("ab"), "xyz", "aba"),
    (Searched(["X"]), "xyz", ["B-X", "I-X", "O"]),
]  # fmt: skip


@pytest.mark.parametrize(("task", "x", "y"), BUILT_IN, ids=lambda v: type(v).__name__)
def test_built_in_tasks_pass_the_kit(task, x, y):
    report = check_task(task, [x], [y])
    assert report.ok
    assert bool(report)
    assert "no problem" in repr(report)
    assert report.n_states > 3
    known = not isinstance(task, Searched)
    assert (report.n_exact > 0) == known


@pytest.mark.parametrize(("task", "x", "y"), BUILT_IN, ids=lambda v: type(v).__name__)
def test_built_in_tasks_learn_one_input(task, x, y):
    searn = Searn(task, beta=1.0, iterations=3).fit([x], [y])
    reachable = not isinstance(task, SpanChunking)  # whose gold chunk is too long
    assert (task.loss(y, searn.predict([x])[0]) == 0) == reachable


def faulty(**methods):
    return type("Faulty", (SequenceLabelling,), methods)("ab")


COUNT = itertools.count()
FAULTS = {
    "determinism": faulty(features=lambda s, x, state: [f"f{next(COUNT)}"]),
    "purity": faulty(features=lambda s, x, state: [x.append("z") or "f"]),
    "state": faulty(start=lambda s, x: []),
    "actions": faulty(actions=lambda s, x, state: "aab" if len(state) < len(x) else ""),
    "features": faulty(features=lambda s, x, state: [("f", float("nan"))]),
    "loss": faulty(loss=lambda s, y, output: float("inf")),
    "finite": faulty(costs=lambda s, x, y, state: [0.0, float("nan")]),
    "costs": faulty(
        costs=lambda s, x, y, state: [2.0 * (a != y[len(state)]) for a in "ab"]
    ),
    "reference": faulty(reference=lambda s, x, y, state: "c"),
    "best": faulty(
        costs=lambda s, x, y, state: None, reference=lambda s, x, y, state: "b"
    ),
    "end": faulty(step=lambda s, x, state, action: state),
    "output": faulty(output=lambda s, x, state: state[99]),
}


@pytest.mark.parametrize("check", FAULTS)
def test_the_kit_finds_each_planted_fault(check):
    report = check_task(FAULTS[check], [list("xy"), list("x")], ["ab", "a"])
    assert not report.ok
    found = {problem.check: problem for problem in report.problems}
    assert check in found
    assert found[check].where.startswith("input 0")
    assert check in repr(report)


@pytest.mark.parametrize(
    ("methods", "check", "words"),
    [
        ({"actions": lambda s, x, state: "", "final": lambda s, x, state: False},
         "actions", "has no actions"),
        ({"actions": lambda s, x, state: [["a"]] if not state else []},
         "actions", "not hashable"),
        ({"features": lambda s, x, state: None}, "features", "no features in state ()"),
        ({"features": lambda s, x, state: [3.5]}, "features", "is no feature"),
        ({"costs": lambda s, x, y, state: [0.0]}, "costs", "1 costs for 2 actions"),
        ({"reference": lambda s, x, y, state: "a" if y[len(state)] == "b" else "b"},
         "reference", "above the best"),
        ({"loss": lambda s, y, output: 1 / 0}, "loss", "ZeroDivisionError"),
        ({"costs": lambda s, x, y, state: (
            None if state else [float(a != y[0]) for a in "ab"])},
         "costs", "some states have them"),
    ],
)  # fmt: skip
def test_the_kit_says_what_is_wrong(methods, check, words):
    report = check_task(faulty(**methods), ["xy"], ["ab"])
    found = {problem.check: problem.what for problem in report.problems}
    assert words in found[check]


def test_the_kit_takes_random_paths_where_there_are_too_many_outputs():
    x, y = "x" * 12, "ab" * 6
    good = check_task(SequenceLabelling("ab"), [x], [y], max_outputs=50)
    assert good.ok
    assert 0 < good.n_exact < good.n_states
    bad = faulty(costs=lambda s, x, y, state: [1.0, 0.0])
    report = check_task(bad, [x], [y], max_outputs=1)
    assert "best" in {problem.check for problem in report.problems}
    refuses(ValueError, "X has 1 inputs but Y has 2", check_task, bad, [x], [y, y])


def test_the_kit_takes_pairs():
    task = faulty(costs=lambda s, x, y, state: [1.0, 0.0])
    data = [("xy", "ab"), ("x", "b")]
    apart = check_task(task, [x for x, _ in data], [y for _, y in data])
    assert not apart.ok
    assert check_task(task, data) == apart
    assert check_task(task, zip(["xy", "x"], ["ab", "b"], strict=True)) == apart
    assert check_task(SequenceLabelling("ab"), data).ok
    for wrong in (["xy"], [("xy", "ab"), ("x", "b", "c")]):
        with pytest.raises(ValueError, match=r"not a pair \(x, y\): pass pairs, or X"):
            check_task(task, wrong)


def test_the_kit_stops_at_paths_without_end():
    """By the policy, at random, and where only the policy comes to an end."""
    asked = []

    def climb(s, x, state, action):
        asked.append(x)
        return state + 1 if action == "a" else 0

    ladder = {
        "start": lambda s, x: 0,
        "actions": lambda s, x, state: "ab" if state < 20 else "",
        "step": climb,
        "output": lambda s, x, state: state,
        "loss": lambda s, y, output: float(output < 20),
        "features": lambda s, x, state: ["f"],
        "costs": lambda s, x, y, state: [0.0, 0.0],
    }
    still = {"step": lambda s, x, state, action: state}
    for methods in (ladder, still, {**still, "costs": lambda s, x, y, state: None}):
        report = check_task(faulty(**methods), ["x", "y"], ["a", "b"], max_steps=60)
        found = {problem.check: problem for problem in report.problems}
        assert found["end"].what.startswith(
            "no final state after 60 steps: does step()"
        )
        assert found["end"].where.startswith("input 0, state ")
    assert set(asked) == {"x"}  # the second input would say the same


def read_by_searn(*rows):
    """Names by their hashes and values of the features of inputs, the bias apart."""
    learner = Given()
    task = faulty(features=lambda s, x, state: rows[int(x)])
    numbers = [str(n) for n in range(len(rows))]
    Searn(task, learner, beta=1.0, iterations=1).fit(numbers, ["a"] * len(rows))
    states = learner.seen[0][0].states
    ends = states.indptr[1:-1]
    hashes, values = np.split(states.hashes, ends), np.split(states.values, ends)
    return [
        list(zip(h.tolist(), v.tolist(), strict=True))[:-1]
        for h, v in zip(hashes, values, strict=True)
    ]


names = st.one_of(st.text(max_size=3), st.integers(-3, 3), st.tuples(st.text("ab")))
sizes = st.one_of(st.floats(-9, 9), st.integers(-9, 9), st.just(1e308))


@given(st.dictionaries(names, sizes, min_size=1, max_size=5))
@settings(max_examples=15)
def test_features_are_read_alike_whatever_they_are_in(row):
    plain = [name for name in row if not isinstance(name, tuple)]
    rows = row, list(row.items()), plain, [(name, 1) for name in plain]
    by_name, by_pair, once, ones = read_by_searn(*rows)
    assert by_name == by_pair
    assert [value for _, value in by_name] == list(row.values())
    assert once == ones


def test_names_hash_alike_in_every_process():
    three = ("b", np.int64(3))
    [row] = read_by_searn(["word", ("a", 2.0), "1", 1, (("1",), 1), (three, 1)])
    assert row[0] == (6599116582130462229, 1.0)
    [other] = read_by_searn([(("b", 3), 1.0)])
    assert other == row[-1:]
    assert len(dict(row)) == 6
    refuses(TypeError, "not hashable", read_by_searn, [(["a"], 1.0)])


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([("a", 1.0, 2.0)], "is no \\(name, value\\) pair"),
        ([("a", float("nan"))], "feature 'a' has the value nan"),
        ([("a", 1.0), ("b", float("inf"))], "feature 'b' has the value inf"),
        ({"a": float("-inf")}, "feature 'a' has the value -inf"),
        ([("a", "1")], "feature 'a' has the value '1'"),
        (["a", 2.5], "is no feature"),
        ({("a", ("b", 1.0)): "c"}, "has the value 'c'"),
        (None, "no features at input 1"),
    ],
)
def test_odd_features_are_refused_in_lists_of_any_kind(row, words):
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        read_by_searn(["fine"], row)
    if row is not None:
        assert "input 1" in caught.value.__notes__[0]


def test_tasks_refuse_bad_input():
    with pytest.raises(ValueError, match="label 'z' is not among"):
        Searn(SequenceLabelling("ab"), iterations=1).fit(["xy"], ["az"])
    with pytest.raises(ValueError, match="2 tokens of x have 1 labels in y"):
        Searn(WordChunking(["X"]), iterations=1).fit(["xy"], [["O"]])
    with pytest.raises(ValueError, match="label 'z' is not among"):
        Searn(LearnedOrder("ab"), iterations=1).fit(["xy"], ["az"])
    task = faulty(final=lambda s, x, state: False)
    with pytest.raises(ValueError, match="is not final and has no actions"):
        Searn(task, iterations=1).fit(["x"], ["a"])


def test_odd_parts_of_tasks_are_refused_by_name():
    spelling = SequenceLabelling("cv")
    with pytest.raises(TypeError, match=r"labels must be hashable, not \[\] at .* 1"):
        SequenceLabelling(["a", []])
    refuses(TypeError, "second must be a Task, not str", JointTask, spelling, "cv")
    with pytest.raises(ValueError, match="weights must be a pair of numbers, not 3"):
        JointTask(spelling, spelling, weights=(1, 1, 1))
    with pytest.raises(TypeError, match="mirror must be a function or None, not 3"):
        RightToLeft(spelling, mirror=3)
    with pytest.raises(ValueError, match="i=2 is not within the 2 tokens of x"):
        token_features(["a", "cat"], 2)
    with pytest.raises(ValueError, match="start=1 to stop=3 is not within the 2 tok"):
        span_features(["a", "cat"], 1, 3)
