"""What the package promises as a whole: light import, threads, files, messages."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import argmetric as am
from argmetric._expected import runs_in_numpy

HEAVY = [
    "numba",
    "scipy",
    "sklearn",
    "pandas",
    "polars",
    "pyarrow",
    "narwhals",
    "matplotlib",
    "rich",
    "cyclopts",
    "distributed",
]


NOT_FOR_FEW_ROWS = {
    "numpy.ma",
    "numpy.random",
    "pyarrow.compute",
    "argmetric._calibrate.calibrator",
    "argmetric._decide._groups",
    "argmetric._results.pictures",
    "argmetric._expected._long",
    "argmetric._expected._screen",
    "argmetric._files._features",
    "argmetric._forecast.means",
    "argmetric._forecast.over_truth",
    "argmetric._results.archives",
    "argmetric.cli.scores._page",
}


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def loaded_after(code):
    program = f"{code}\nimport sys\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    done = run(program)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_importing_loads_numpy_and_nothing_heavier():
    assert loaded_after("import argmetric") == "[]"
    assert loaded_after("import argmetric; argmetric.FBeta; argmetric.decide") == "[]"
    assert loaded_after("import argmetric; argmetric.scale.open") == "[]"


def test_a_small_decision_needs_no_compiler():
    code = (
        "import argmetric as am; d = am.decide([.9, .4, .1] * 300, 'mcc');"
        "am.forecast([.9, .4, .1] * 300, d.labels, 'mcc')"
    )
    assert loaded_after(code) == "[]"


def loaded_by_command(tmp_path, *arguments):
    """Names of all modules that a command has loaded in the end."""
    code = (
        "import sys\n"
        "from argmetric.cli import main\n"
        f"code = main({list(arguments)!r})\n"
        "print()\n"
        "print(*sys.modules)\n"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def test_the_command_decides_on_few_rows_with_what_it_needs(tmp_path):
    rows = "".join(f"{i},{i / 1001:.4f}\n" for i in range(1000))
    (tmp_path / "scores.csv").write_text(f"id,score\n{rows}")
    loaded = loaded_by_command(tmp_path, "decide", "scores.csv", "-o", "out.csv")
    assert (
        (tmp_path / "out.csv").read_text().startswith("id,score,decision\n0,0.0000,0")
    )
    assert loaded.intersection(HEAVY) == {"pyarrow", "rich", "cyclopts"}
    assert not loaded.intersection(NOT_FOR_FEW_ROWS)
    rooms = {name.split(".")[1] for name in loaded if name.startswith("argmetric.")}
    assert not rooms & {"scale", "report", "train", "search", "stream", "estimators"}


def test_version_and_help_load_no_command(tmp_path):
    assert "numpy" in loaded_by_command(tmp_path, "metrics")
    assert "numpy" not in loaded_by_command(tmp_path, "--help")
    loaded = loaded_by_command(tmp_path, "--version")
    assert not loaded & {"numpy", "cyclopts", "rich"}


def test_every_public_name_resolves_and_is_documented():
    for name in am.__all__:
        assert getattr(am, name).__doc__, name
    assert set(dir(am)) == set(am.__all__)
    with pytest.raises(AttributeError, match="no attribute 'decode'"):
        am.decode  # noqa: B018


def test_kernels_work_where_no_cache_can_be_written(tmp_path):
    """numba raises at import when no cache folder is writable: we fall back."""
    code = (
        "import numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "import numpy as np, argmetric as am\n"
        "p = np.array([.9, .6, .2, .1])\n"
        "d = am.decide(p, groups=[0, 0, 1, 1], average='groups')\n"
        "print(d.labels.tolist())"
    )
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[1, 1, 1, 0]"


def grouped(n_groups=30_000, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 45, n_groups)
    ids = np.repeat(np.arange(n_groups), lengths)
    return rng.beta(0.3, 2, ids.size), ids


@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_results_do_not_depend_on_the_number_of_threads(metric):
    p, ids = grouped()
    one = am.decide(p, metric, groups=ids, average="groups", n_jobs=1)
    for n_jobs in (2, 3, -1):
        other = am.decide(p, metric, groups=ids, average="groups", n_jobs=n_jobs)
        np.testing.assert_array_equal(other.labels, one.labels)
        np.testing.assert_array_equal(other.group_expected, one.group_expected)
        assert other.expected == one.expected


def test_decisions_may_run_in_several_threads_at_once():
    p, ids = grouped(3_000)
    expected = am.decide(p, groups=ids, average="groups").expected
    results = []

    def work():
        results.append(am.decide(p, groups=ids, average="groups").expected)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_n_jobs_zero_is_refused():
    with pytest.raises(ValueError, match="n_jobs"):
        am.decide([0.5, 0.4], groups=[0, 1], average="groups", n_jobs=0)


def test_plots(tmp_path):
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 300)
    decision = am.decide(p)
    axes = decision.plot()
    assert axes.get_ylabel() == "Expected F1"
    shown = axes.lines[0].get_ydata()
    np.testing.assert_array_equal(shown, decision.curve[: shown.size])
    given = plt.subplots()[1]
    assert am.forecast(p, decision.labels).plot(ax=given) is given
    by_group = am.decide(p, groups=np.arange(300) // 10, average="groups")
    assert by_group.plot().get_ylabel() == "Groups"
    plt.close("all")


def test_results_speak():
    decision = am.decide([0.9, 0.45, 0.4, 0.1])
    assert "f1" in repr(decision)
    assert "0.6903" in repr(decision)
    assert "<table" in decision._repr_html_()
    assert decision.to_dict()["best_cut"]["n_positives"] == 3
    frame = decision.to_frame("pyarrow")
    assert frame.column_names == ["k", "expected"]
    forecast = am.forecast([0.9, 0.45, 0.4, 0.1], decision.labels)
    assert "calibrated" in repr(forecast)
    assert "independent" in forecast._repr_html_()
    assert forecast.to_dict()["mean"] == pytest.approx(decision.expected, rel=1e-12)


@pytest.mark.parametrize("metric", ["f1", "jaccard", "mcc", "gmean", "recall"])
def test_short_vectors_take_kernels_once_warmed_up(metric):
    """The same answers, up to rounding; nothing but `warmup` changes the route."""
    p = np.random.default_rng(0).beta(0.5, 3, 300)
    plain = am.decide(p, metric)
    said = am.forecast(p, plain.labels, metric)
    assert runs_in_numpy(p.size)
    am.warmup()
    assert not runs_in_numpy(p.size)
    warm = am.decide(p, metric)
    assert warm.n_positives == plain.n_positives
    assert warm.expected == pytest.approx(plain.expected, rel=1e-12)
    np.testing.assert_allclose(warm.curve, plain.curve, rtol=1e-11, atol=1e-13)
    again = am.forecast(p, plain.labels, metric)
    assert again.mean == pytest.approx(said.mean, rel=1e-11)
    assert again.interval == pytest.approx(said.interval, rel=1e-9)


def test_warmup_leaves_nothing_to_compile():
    am.warmup()
    from argmetric._expected.kernels import compiled
    from argmetric.stream.kernels import rules, stream

    kernels = {name: one for name, one in vars(compiled).items() if callable(one)}
    assert len(kernels) > 30
    for name, one in kernels.items():
        assert one.signatures, name
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    used = [getattr(stream, name) for name in ("mixture_sparse", "compress")]
    used.append(rules.recompute)
    before = [list(kernel.signatures) for kernel in used]
    assert all(before)
    model = am.stream.OnlineClassifier().fit(X, y)
    model.partial_fit(csr_matrix(X), y, sample_weight=rng.random(50)).predict(X)
    assert [kernel.signatures for kernel in used] == before
