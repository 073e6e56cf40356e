"""What was learned as arrays: saved, given to another model, or damaged."""

import copy
import io
import pickle

import numpy as np
import pytest

from argmetric.stream import HistogramRule, OFORule, OnlineClassifier
from refusing import refuses
from stream_data import problem, same_state


@pytest.mark.parametrize("array", ["rule_state", "weights"])
def test_arrays_of_a_memory_map_are_copied(array):
    """Workers of joblib are handed large arrays that cannot be written to."""
    X, y = problem(400)
    model = OnlineClassifier().fit(X[:200], y[:200])
    mapped = copy.deepcopy(model)
    held = mapped._model if array == "rule_state" else mapped._model.state
    getattr(held, array).flags.writeable = False
    before = getattr(held, array).copy()
    shown = getattr(held, array)
    same_state(
        mapped.partial_fit(X[200:], y[200:]), model.partial_fit(X[200:], y[200:])
    )
    np.testing.assert_array_equal(shown, before)


@pytest.mark.parametrize("learner", ["mixture", "sgd", "stamp", "omcsl"])
def test_state_goes_through_a_file_and_on_exactly(learner):
    X, y = problem(900)
    options = {"learner": learner, "random_state": 3}
    whole = OnlineClassifier(**options)
    expected = whole.progressive(X, y)
    first = OnlineClassifier(**options).partial_fit(X[:411], y[:411])
    file = io.BytesIO()
    np.savez(file, **first.get_state())
    file.seek(0)
    with np.load(file) as state:
        second = OnlineClassifier(**options).set_state(state)
    assert second.score_ == first.score_
    np.testing.assert_array_equal(second.progressive(X[411:], y[411:]), expected[411:])
    same_state(second, whole)
    third = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(third.progressive(X[411:], y[411:]), expected[411:])


def test_state_holds_names_and_waiting_rows():
    X, y = problem(60)
    model = OnlineClassifier(learner="sgd")
    for x, label in zip(X[:30], y[:30] == 1, strict=True):
        model.learn_one(dict(zip("abcd", x, strict=True)), label)
    ids, _ = model.predict_id(X[30:])
    other = OnlineClassifier(learner="sgd").set_state(model.get_state())
    for one in (model, other):
        one.feedback(ids[::-1], y[30:][::-1] == 1)
        one.learn_one({"e": 1.0, "a": 2.0}, True)
    same_state(model, other)
    assert other.predict_one({"a": 3.0}) == model.predict_one({"a": 3.0})


def test_states_of_other_models_are_refused():
    X, y = problem(50)
    state = OnlineClassifier().fit(X, y).get_state()
    with pytest.raises(ValueError, match="other parameters"):
        OnlineClassifier(rule=HistogramRule(bins=64)).set_state(state)
    with pytest.raises(ValueError, match="lacks rule"):
        OnlineClassifier().set_state({k: v for k, v in state.items() if k != "rule"})
    with pytest.raises(ValueError, match="other shapes"):
        OnlineClassifier().set_state(state | {"rule": state["rule"][:-1]})


def test_states_hold_names_exactly_or_not_at_all():
    model = OnlineClassifier()
    for i in range(20):
        model.learn_one({np.int64(7): -1.0 * i, 2.5: 1.0, "a": 2.0}, i % 2)
    other = OnlineClassifier().set_state(model.get_state())
    x = {np.int64(7): 3.0, 2.5: 1.0, "a": -1.0}
    assert other.predict_proba_one(x) == model.predict_proba_one(x)
    model.learn_one({("a", 1): 1.0}, 1)
    refuses(TypeError, "cannot be saved", model.get_state)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("waiting_indices", lambda a: a + 10**6, "has a column beyond 4"),
        ("waiting_indices", lambda a: a[:-1], "more columns than values, or fewer"),
        ("waiting_ids", lambda a: None, "tolist"),
        ("model", lambda a: a * 1e9, "the length of its history"),
        ("numbers", lambda a: [1, None], r"int\(\)"),
        ("texts", lambda a: a[:1], "not enough values"),
    ],
)
def test_damaged_states_are_refused_before_compiled_code_reads_them(
    name, change, message
):
    X, y = problem(60)
    model = OnlineClassifier(waiting=10).partial_fit(X, y)
    model.predict_id(X[:3])
    state = model.get_state()
    with pytest.raises(ValueError, match=f"the state is damaged: .*{message}"):
        OnlineClassifier(waiting=10).set_state(state | {name: change(state[name])})
    with pytest.raises(TypeError, match="state must be a dict of arrays, not 0"):
        OnlineClassifier().set_state(0)


def test_a_state_that_is_read_only_is_refused():
    rule = HistogramRule()
    state = rule.init_state("f1")
    state.flags.writeable = False
    refuses(ValueError, "the state is read-only", rule.update, state, 0.5, 1)


@pytest.mark.parametrize("rule", [HistogramRule(), OFORule(window=5)])
def test_a_state_that_would_be_written_beyond_its_end_is_refused(rule):
    state = rule.init_state("f1")
    rule.run(state, [0.3, 0.6], [0, 1])
    for damaged in (state * 1e300, np.full_like(state, np.nan), state + 7):
        with pytest.raises(ValueError, match="the state is damaged"):
            rule.run(damaged, [0.3, 0.6], [0, 1])
