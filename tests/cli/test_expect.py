"""`argmetric expect`: files in, an answer or a message out."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest

from argmetric.sequence import Independent, Pk, expectation

P = np.random.default_rng(1).random(30).round(3)
Z = (np.arange(30) % 7 == 0).astype(int)


@pytest.fixture
def run(run):
    """Run `argmetric expect` in a folder with probabilities and a reference."""
    lines = ["p", *map(str, P)]
    Path("probs.csv").write_text("\n".join(lines) + "\n")
    Path("reference.csv").write_text("\n".join(["cut", *map(str, Z)]) + "\n")
    return functools.partial(run, "expect")


def test_expected_pk(run):
    code, out, _ = run("--utility", "pk", "--window", "5", "probs.csv", "reference.csv")
    value = expectation(Pk(5), Z, Independent(P)).value
    assert code == 0
    assert f"expected   {value:.4f}" in out
    assert "pk" in out.lower()


def test_json_with_bounds_and_quantiles(run):
    code, out, _ = run(
        "-u",
        "f1",
        "--beam",
        "40",
        "--quantiles",
        "--json",
        "probs.csv",
        "reference.csv",
    )
    found = json.loads(out)
    value = expectation("f1", Z, Independent(P)).value
    assert code == 0
    assert found["lower"] - 1e-12 <= value <= found["upper"] + 1e-12
    assert not found["exact"]
    assert found["quantiles"]["0.05"] <= found["quantiles"]["0.95"]


@pytest.mark.parametrize(
    ("utility", "name"),
    [
        ("windowdiff", "WindowDiff"),
        ("boundary-similarity", "BoundarySimilarity"),
        ("hamming", "Hamming"),
        ("zero_one", "ZeroOne"),
        ("jaccard", "jaccard"),
    ],
)
def test_utilities_by_name(run, utility, name):
    window = ("--window", "3") if utility == "windowdiff" else ()
    code, out, _ = run("-u", utility, *window, "probs.csv", "reference.csv")
    assert code == 0
    assert name in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("-u", "pk"), 2, "--utility pk needs --window"),
        (("-u", "f1", "--window", "3"), 2, "--window is for pk and windowdiff"),
        (("-u", "nonsense"), 2, "unknown metric 'nonsense'"),
        (("-u", "pk", "--window", "0"), 2, "window must be a positive integer"),
        (("--beam", "wide"), 2, "--beam takes a positive whole number"),
        (("-u", "pk", "--window", "31"), 1, "no window fits"),
        (("--label", "nobody"), 1, "no column 'nobody'"),
    ],
)
def test_wrong_usage_is_one_line(run, arguments, code, message):
    ended, out, err = run(*arguments, "probs.csv", "reference.csv")
    assert ended == code
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_unequal_files(run, tmp_path):
    (tmp_path / "short.csv").write_text("label\n1\n0\n")
    code, _, err = run("probs.csv", "short.csv")
    assert code == 1
    assert "short.csv has 2 rows but probs.csv has 30" in err


def test_a_convention_that_means_nothing_here_is_refused(run):
    code, _, err = run(
        "-u", "hamming", "--zero-division", "1", "probs.csv", "reference.csv"
    )
    assert code == 2
    assert "--zero-division is for metrics of counts, not hamming" in err
