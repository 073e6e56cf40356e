"""Chains of maps, maps in files, and input that is refused."""

import pickle

import numpy as np
import pytest

import argmetric as am
from calibrated import METHODS, expit, isotonic_map, platt_map, sample, softmax
from refusing import refuses


def chain():
    return am.calibrate([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]).then(
        am.adjust_prior([0.5], prevalence=0.1, reference_prevalence=0.5)
    )


def test_a_chain_is_one_map_after_the_other():
    both = chain()
    first, second = both.parts
    assert (both.kind, second.kind) == ("chain", "prior_shift")
    p = np.array([0.0, 0.1, 0.7, 1.0])
    np.testing.assert_array_equal(both.apply(p), second.apply(first.apply(p)))
    np.testing.assert_allclose(
        both.apply_logits([-700.0, 3.0]),
        second.apply_logits(first.apply_logits([-700.0, 3.0])),
    )
    assert len(both.then(both).parts) == 4
    assert (both.n, both.prevalence) == (4, 0.1)
    refuses(TypeError, "Calibrator", both.then, np.sqrt)


def every_kind():
    y, x = sample(n=300, intercept=0.0)
    maps = [am.calibrate(y, expit(x), method) for method in METHODS]
    maps += [chain(), am.adjust_prior([0.2, 0.5, 0.7], reference_prevalence=0.4)]
    scores = softmax(np.diag([1.0, 2, 3, 0])[:, :3])
    shares = {"prevalence": [0.2, 0.8, 0.0], "reference_prevalence": [0.5, 0.3, 0.2]}
    maps.append(am.classes.adjust_prior(scores, classes=["a", "b", "c"], **shares))
    methods = ("matrix", "temperature")
    return maps + [
        am.classes.calibrate([0, 1, 2, 0], scores, method) for method in methods
    ]


@pytest.mark.parametrize("fitted", every_kind(), ids=lambda one: one.kind)
def test_files_pickles_and_printed_forms(fitted, tmp_path):
    path = tmp_path / "map.json"
    fitted.save(path)
    loaded = am.Calibrator.load(path)
    assert loaded == fitted
    assert pickle.loads(pickle.dumps(fitted)) == fitted
    if fitted.kind.startswith("class_"):
        p = softmax(np.random.default_rng(0).normal(0, 3, (50, 3)))
        np.testing.assert_array_equal(loaded.apply(p), fitted.apply(p))
    else:
        p = np.random.default_rng(0).random(50)
        np.testing.assert_array_equal(loaded.apply(p), fitted.apply(p))
    assert path.read_text().startswith('{\n "calibrator": ')
    assert [item.name for item in tmp_path.iterdir()] == ["map.json"]
    text = repr(fitted)
    assert fitted.formula in text
    assert len(text.splitlines()) <= 6
    assert "<table" in fitted._repr_html_()
    assert fitted != am.calibrate([0, 1], [0.1, 0.9])
    assert fitted != 3


def test_files_that_are_no_calibrators_are_refused(tmp_path):
    path = tmp_path / "map.json"
    for text, message in (
        ("{", "is no calibrator, or was cut short"),
        ("[1]", "no saved calibrator"),
        ('{"calibrator": "pickle"}', "no calibrator of the kind 'pickle'"),
        ('{"calibrator": "platt", "format": 9}', "version 9 of its format"),
        ('{"calibrator": "platt", "slope": 1}', "missing or unknown keys"),
    ):
        path.write_text(text)
        refuses(ValueError, message, am.Calibrator.load, path)
    values = am.calibrate([0, 1], [0.1, 0.9], "platt").to_dict()
    for changes in ({"slope": -1.0}, {"slope": "2"}, {"intercept": None}):
        with pytest.raises((TypeError, ValueError), match=next(iter(changes))):
            am.Calibrator.from_dict(values | changes)
    spline = am.calibrate([0, 1] * 20, np.linspace(0.1, 0.9, 40), "spline").to_dict()
    for name in ("knots", "values"):
        text = [str(one) for one in spline[name]]
        with pytest.raises(ValueError, match=rf"{name} has '.*', which is text: write"):
            am.Calibrator.from_dict(spline | {name: text})
    refuses(ValueError, "must rise", isotonic_map, [0.5, 0.2], [0.1, 0.2])
    refuses(TypeError, "made by calibrate", am.Calibrator)


def test_plots_of_maps():
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ax = chain().plot()
    assert ax.get_xlabel() == "p as given"
    assert chain().plot(ax) is ax
    plt.close("all")


# Bad input

GOOD_Y, GOOD_P = [0, 1, 0, 1], [0.1, 0.8, 0.3, 0.6]


@pytest.mark.parametrize(
    ("y", "p", "options", "message"),
    [
        ([0, 0, 0], [0.1, 0.2, 0.3], {}, "one class only: every label is 0"),
        ([1, 1], [0.1, 0.2], {}, "one class only: every label is 1"),
        (["a", "b"], [0.1, 0.2], {}, "pass pos_label='b' or"),
        (["a", "b"], [0.1, 0.2], {"pos_label": "c"}, "never holds 'c', which"),
        ([0, 2, 1], [0.1, 0.2, 0.3], {}, r"2 at row 1.; labels have two"),
        ([0, None, 1], [0.1, 0.2, 0.3], {}, "no label at row 1"),
        ([0.0, 1.0, np.nan], [0.1, 0.2, 0.3], {}, "no label at row 2"),
        (GOOD_Y, [0.3] * 4, {}, r"all 4 scores are equal \(0.3\)"),
        (GOOD_Y, [0.1, np.nan, 0.3, 0.2], {}, "NaN at row 1"),
        (GOOD_Y, [0.1, 0.2, 0.3], {}, r"y has shape \(4,\) but p has shape \(3,\)"),
        (GOOD_Y, [10.0, 80.0, 30.0, 60.0], {}, "divide by 100"),
        (GOOD_Y, [-2.0, 1.0, -1.0, 0.5], {}, "logits=True"),
        ([], [], {}, "empty"),
        (GOOD_Y, GOOD_P, {"method": "sigmoid"}, "method must be one of 'spline'"),
        (GOOD_Y, GOOD_P, {"sample_weight": [1, 1, -1, 1]}, "is -1 at row 2"),
        (GOOD_Y, GOOD_P, {"sample_weight": [1, 1]}, "sample_weight has shape"),
        (GOOD_Y, GOOD_P, {"sample_weight": [0] * 4}, "all weights are 0"),
        (GOOD_Y, GOOD_P, {"sample_weight": [1, 0, 1, 0]}, "one class only"),
        ([0, 1, 0], [0.3, 0.6, 0.3], {"method": "beta"}, "three distinct scores"),
        (GOOD_Y, GOOD_P, {"method": "matrix"}, "method must be one of 'spline'"),
        ([0, 1, 2], np.eye(3), {}, r"argmetric\.classes\.calibrate"),
    ],
)
def test_bad_input(y, p, options, message):
    refuses(ValueError, message, am.calibrate, y, p, **options)


def test_scores_that_rank_backwards_are_refused():
    y, x = sample(n=200, slope=1.0, intercept=0.0)
    for method in (*METHODS, "identity", "auto"):
        with pytest.raises(ValueError, match=r"rank backwards.*1 - p.*pos_label"):
            am.calibrate(y, 1 - expit(x), method)


def test_scores_that_tell_nothing_give_the_prevalence_and_one_warning():
    y, p = [1, 0, 1, 0], [0.1, 0.2, 0.2, 0.3]
    for method in ("platt", "beta", "spline"):
        with pytest.warns(
            UserWarning, match="carry nothing about the 4 labels"
        ) as seen:
            flat = am.calibrate(y, p, method)
        assert len(seen) == 1
        assert seen[0].filename == __file__
        assert not flat.keeps_apart(-1.0, 1.0)
        level = flat.apply([0.0, 0.2, 1.0])
        if method == "spline":  # four labels move it a little
            assert (np.diff(level) > 0).all()
        else:
            assert (level == level[0]).all()
            assert level[0] == pytest.approx(0.5, abs=1e-12)
    rng = np.random.default_rng(0)  # many labels do
    y, p = rng.random(20_000) < 0.3, rng.beta(1, 4, 20_000)
    y[:200] = p[:200] < np.median(p)
    with pytest.warns(UserWarning, match="carry nothing about the 20,000 labels"):
        flat = am.calibrate(y, p)
    assert flat.apply([0.05, 0.2, 0.6]) == pytest.approx([y.mean()] * 3, abs=0.03)


def test_temperatures_of_scores_without_an_error_stay_finite():
    # A score of one half says nothing, and one of 1e-200 next to nothing.
    for scores in ([-3.0, 0.0], [-1e-200, 1e-200]):
        fitted = am.calibrate([0, 1], scores, "temperature", logits=True)
        assert 0 < fitted.temperature < np.inf
        assert len(fitted.alternatives) == 48
    fitted = am.calibrate([0, 1], [-3.0, 0.0], "temperature", logits=True)
    assert fitted.apply(-3.0, logits=True) == pytest.approx(1 / 3)  # Platt's target


def test_a_temperature_cannot_mend_a_constant():
    y, x = sample(n=400, slope=1.0, intercept=-6.0, centre=3.0)
    with pytest.raises(ValueError, match=r"off by a constant.*method='platt'"):
        am.calibrate(y, x, "temperature", logits=True)
    assert am.calibrate(y, x, "platt", logits=True).slope > 0


@pytest.mark.parametrize("scale", [1e-6, 1e9])
def test_margins_of_any_scale(scale):
    """A slope of 1 saturates margins in the millions: the fit starts elsewhere."""
    y, x = sample(n=3000)
    wanted = expit(0.6 * np.array([-4.0, -2, 0, 2]) - 1.0)
    fitted = am.calibrate(y, x * scale, logits=True)
    mapped = fitted.apply(np.array([-4.0, -2, 0, 2]) * scale, logits=True)
    np.testing.assert_allclose(mapped, wanted, atol=0.05)


def test_maps_of_the_first_format_are_read():
    old = {"calibrator": "platt", "format": 1, "n": 8, "prevalence": 0.5}
    again = am.Calibrator.from_dict(old | {"slope": 0.6, "intercept": 1.0})
    assert again == platt_map(0.6, 1.0, n=8, prevalence=0.5)


def test_auto_changes_nothing_where_nothing_can_be_compared():
    y, p = [0] * 50 + [1], np.linspace(0, 1, 51)
    assert am.calibrate(y, p, "auto").method == "identity"


@pytest.mark.parametrize("method", ["beta", "isotonic", "platt"])
def test_one_row_may_outweigh_all_others(method):
    y, p = [1, 1, 0, 0, 0, 1], [0.9, 0.6, 0.3, 0.1, 0.7, 0.2]
    found = am.calibrate(y, p, method, sample_weight=[2**63, 2, 1, 1, 1, 1])
    assert np.isfinite(found.apply(p)).all()
