"""calibrate and calibration_check over files: the results of one call in memory."""

import numpy as np
import pyarrow as pa
import pytest

import argmetric as am
import opened
from argmetric.scale import _calibrate as calibrate_stage
from argmetric.scale._calibrate import _random_rows
from refusing import refuses
from scale_data import write_parts

N = 8_000
BREAKS = [1200, 4400]
METHODS = ("spline", "platt", "beta", "temperature", "isotonic", "identity")
GRID = np.concatenate([[0.0, 1e-12], np.linspace(1e-4, 0.9999, 500), [1.0]])


def made(seed=0, digits=None, ends=False):
    """Labels of scores that are too sure; with `ends` some are 0 and 1."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 2, N)
    y = rng.random(N) < p**0.7 / (p**0.7 + (1 - p) ** 0.7)
    if digits is not None:
        p = p.round(digits)
    if ends:
        p[rng.random(N) < 0.1] = 0.0
        p[rng.random(N) < 0.05] = 1.0
    return y.astype(np.int8), p, rng.integers(0, 4, N) * 0.5


@pytest.fixture
def files(tmp_path):
    def write(y, p, w=None, breaks=BREAKS):
        columns = {"label": y, "score": p} | ({} if w is None else {"w": w})
        return write_parts(tmp_path / "in", pa.table(columns), breaks)

    return write


def assert_same(found, wanted, tolerance):
    assert type(found) is type(wanted)
    assert (found.n, found.method) == (wanted.n, wanted.method)
    assert found.prevalence == pytest.approx(wanted.prevalence, rel=1e-12)
    np.testing.assert_allclose(
        found.apply(GRID), wanted.apply(GRID), rtol=0, atol=tolerance
    )
    if wanted.draws is not None:
        assert len(found.alternatives) == len(wanted.alternatives)
        for one, other in zip(found.alternatives, wanted.alternatives, strict=True):
            np.testing.assert_allclose(
                one.apply(GRID), other.apply(GRID), rtol=0, atol=tolerance + 1e-6
            )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["plain", "ends", "weights", "logits"])
def test_few_rows_give_the_calibrator_of_memory(method, kind, files):
    y, p, w = made(digits=3 if method == "isotonic" else None, ends=kind == "ends")
    weight = w if kind == "weights" else None
    logits = kind == "logits"
    values = np.log(np.clip(p, 1e-9, 1 - 1e-9) / (1 - np.clip(p, 1e-9, 1 - 1e-9)))
    scores = values if logits else p
    found = opened.calibrate(
        files(y, scores, weight),
        method,
        weight=None if weight is None else "w",
        logits=logits,
        n_jobs=2,
    )
    wanted = am.calibrate(y, scores, method, sample_weight=weight, logits=logits)
    assert_same(found, wanted, 1e-10)


@pytest.mark.parametrize(
    ("method", "tolerance"),
    [("spline", 1e-4), ("platt", 1e-8), ("beta", 1e-8), ("temperature", 1e-8)],
)
@pytest.mark.parametrize("kind", ["plain", "ends", "weights"])
def test_many_rows_are_added_up(method, tolerance, kind, files, monkeypatch):
    monkeypatch.setattr("argmetric.scale._calibrate.MOST_EXACT_ROWS", 1000)
    y, p, w = made(ends=kind == "ends")
    weight = w if kind == "weights" else None
    found = opened.calibrate(
        files(y, p, weight), method, weight=None if weight is None else "w"
    )
    wanted = am.calibrate(y, p, method, sample_weight=weight)
    assert_same(found, wanted, tolerance)


def test_rows_with_few_scores_are_exact_however_many(files, monkeypatch):
    monkeypatch.setattr("argmetric.scale._calibrate.MOST_EXACT_ROWS", 1000)
    y, p, _ = made(digits=3)
    folder = files(y, p)
    for method in ("spline", "isotonic"):
        found, wanted = opened.calibrate(folder, method), am.calibrate(y, p, method)
        assert_same(found, wanted, 1e-10)


def test_a_sample_is_what_memory_would_be_given(files):
    y, p, w = made()
    folder = files(y, p, w)
    whole = opened.calibrate(folder, "auto", weight="w", n_sample=N)
    assert whole == am.calibrate(y, p, "auto", sample_weight=w)
    for size in (N // 2, N // 8):
        rows = _random_rows(N, size, np.random.default_rng(3))
        some = opened.calibrate(folder, "platt", n_sample=size, random_state=3)
        assert some == am.calibrate(y[rows], p[rows], "platt")
        assert some != opened.calibrate(folder, "platt", n_sample=size, random_state=4)


@pytest.mark.parametrize("weight", [None, "w"])
def test_steps_of_many_rows_are_those_of_rounded_scores(files, monkeypatch, weight):
    monkeypatch.setattr("argmetric.scale._calibrate.MOST_EXACT_ROWS", 1000)
    monkeypatch.setattr("argmetric.scale._calibrate.BINS", 1 << 5)
    y, p, w = made(ends=True)
    weights = np.ones(N) if weight is None else w
    with np.errstate(divide="ignore"):
        number = calibrate_stage.bins_of(np.log(p) - np.log1p(-p))
    bins = np.unique(number[weights > 0], return_inverse=True)[1]
    there = weights > 0
    mean = np.bincount(bins, (weights * p)[there]) / np.bincount(bins, weights[there])
    rounded = np.where(np.isin(p, [0.0, 1.0]), p, 0.0)
    rounded[there] = np.where(np.isin(p[there], [0.0, 1.0]), p[there], mean[bins])
    found = opened.calibrate(files(y, p, w), "isotonic", weight=weight)
    kept = None if weight is None else w
    assert_same(found, am.calibrate(y, rounded, "isotonic", sample_weight=kept), 1e-10)
    assert np.unique(bins).size < 500  # several rows in each


def test_refusals_are_those_of_memory(files, tmp_path):
    y, p, w = made()
    with pytest.raises(ValueError, match="rank backwards") as found:
        opened.calibrate(files(y, 1 - p))
    with pytest.raises(ValueError, match="rank backwards") as wanted:
        am.calibrate(y, 1 - p)
    assert str(found.value) == str(wanted.value)
    equal = write_parts(
        tmp_path / "equal", pa.table({"label": y, "p": 0 * p + 0.5}), []
    )
    refuses(ValueError, "all 8,000 scores are equal", opened.calibrate, equal)
    table = pa.table({"label": y, "p": p, "w": np.where(y == 1, w, 0.0)})
    with pytest.raises(ValueError, match="label of positive weight is 1"):
        opened.calibrate(write_parts(tmp_path / "one", table, [9]), weight="w")
    table = pa.table({"label": y, "p": p, "w": np.where(np.arange(N) == 10, -1.0, w)})
    with pytest.raises(ValueError, match=r"column 'w', row 2: -1\.0 is below 0"):
        opened.calibrate(write_parts(tmp_path / "below", table, [9]), weight="w")
    table = pa.table({"label": y, "p": p, "note": ["x"] * N})
    with pytest.raises(ValueError, match="column 'note' holds string, not numbers"):
        opened.calibrate(write_parts(tmp_path / "text", table, []), weight="note")
    table = pa.table({"label": y, "p": p.round()})
    folder = write_parts(tmp_path / "sure", table, [])
    with pytest.warns(UserWarning, match="8,000 values, all of them 0 or 1"):
        opened.calibrate(folder)


@pytest.mark.parametrize("kind", ["plain", "groups", "weights"])
def test_the_check_is_that_of_memory(kind, tmp_path):
    y, p, w = (values[:3000] for values in made())
    user = np.random.default_rng(5).integers(0, 300, 3000)
    table = pa.table({"label": y, "score": p, "w": w, "user": user})
    folder = write_parts(tmp_path / "in", table, [700, 1200])
    words = {"groups": {"group": "user"}, "weights": {"weight": "w"}}.get(kind, {})
    more = {"groups": {"groups": user}, "weights": {"sample_weight": w}}.get(kind, {})
    found = opened.calibration_check(folder, "f2", n_bootstrap=20, n_jobs=2, **words)
    wanted = am.calibration_check(y, p, "f2", n_bootstrap=20, **more)
    assert found.to_dict() == wanted.to_dict()


def test_a_check_of_many_rows_is_one_of_a_sample_that_is_asked_for(files, monkeypatch):
    monkeypatch.setattr("argmetric.scale._calibrate.MOST_CHECKED_ROWS", 1000)
    y, p, _ = made()
    folder = files(y, p, np.arange(N) // 10)
    with pytest.raises(ValueError, match=r"8,000 rows are too many.*n_sample=1000000"):
        opened.calibration_check(folder)
    with pytest.raises(ValueError, match="a sample of rows has no whole groups"):
        opened.calibration_check(folder, group="w", n_sample=2000)
    rows = _random_rows(N, 2000, np.random.default_rng(7))
    words = {"n_bootstrap": 20, "random_state": 7}
    found = opened.calibration_check(folder, n_sample=2000, **words)
    wanted = am.calibration_check(y[rows], p[rows], **words)
    assert found.to_dict() == wanted.to_dict()
