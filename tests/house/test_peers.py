"""The page of peers is made from its results, and the results tell the whole story."""

import datetime
import importlib
import json
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
ASKED = {  # every peer that has to be on the page
    *("scikit-learn", "optimal-classification-cutoffs", "xCOLUMNs", "MAPIE", "NannyML"),
    *("rankseg", "empulse", "river", "Vowpal Wabbit", "crfsuite"),
}


@pytest.fixture(scope="module")
def peers():
    return importlib.import_module("peers")


@pytest.fixture
def elsewhere(peers, tmp_path, monkeypatch):
    """Results and page in a folder that may be written."""
    monkeypatch.setattr(peers, "RESULTS", tmp_path / "peers.jsonl")
    monkeypatch.setattr(peers, "PAGE", tmp_path / "peers.rst")
    (tmp_path / "peers.jsonl").write_bytes((ROOT / "docs/peers.jsonl").read_bytes())
    return tmp_path


def row(theirs, ours, **changes):
    made = {"what": "F1", "unit": "%", "better": "higher", "ratio": False}
    made |= {"theirs_is": "a()", "ours_is": "b()", "allowed": None}
    cases = [f"set, seed {i}" for i in range(len(ours))]
    made |= {"theirs": theirs, "ours": ours, "cases": cases, "units": cases}
    return made | changes


def test_the_page_is_made_from_the_results(peers, elsewhere):
    assert peers.main(["--page"]) == 0
    made = (elsewhere / "peers.rst").read_text(encoding="utf-8")
    kept = (ROOT / "docs/peers.rst").read_text(encoding="utf-8")
    assert made == kept, "run: python benchmarks/peers.py --page"


def test_every_peer_has_rows_or_a_reason(peers):
    lines = peers.read()
    assert {line["peer"] for line in lines} == ASKED
    assert {peer.name for peer in peers.PEERS} == ASKED
    page = (ROOT / "docs/peers.rst").read_text(encoding="utf-8")
    for line in lines:
        assert bool(line["rows"]) != bool(line["why_not"]), line["peer"]
        assert f"\n{line['peer']}\n---" in page
        datetime.date.fromisoformat(line["date"])
        assert {"cores", "processor", "python"} <= set(line["machine"])
        if line["rows"]:
            assert line["versions"]
        for one in line["rows"]:
            sizes = {len(one[name]) for name in ("cases", "units", "theirs", "ours")}
            assert len(sizes) == 1, one["what"]
            assert all(math.isfinite(x) for x in one["theirs"] + one["ours"])
            assert one["what"] in page


def test_the_page_says_where_a_peer_wins(peers):
    from peers_parts.rows import winner

    page = (ROOT / "docs/peers.rst").read_text(encoding="utf-8")
    told = page.partition("Where a peer wins")[2].partition(".. csv-table")[0]
    lost = [
        (line["peer"], one["what"])
        for line in peers.read()
        for one in line["rows"]
        if winner(one, line["peer"]) == line["peer"]
    ]
    found = re.findall(r"^- ([^:]+): ", told, re.MULTILINE)
    assert found == [peer for peer, _ in lost]
    flat = " ".join(told.split())
    assert all(f"{peer}: {what} (" in flat for peer, what in lost)


def test_the_winner_follows_from_the_values(peers):
    from peers_parts.rows import interval, winner

    # differences 1, 2, 3: mean 2, standard error 1/√3, t of two degrees 4.303
    assert interval(row([1, 1, 1], [2, 3, 4])) == pytest.approx(
        (2, -0.484, 4.484), abs=1e-3
    )
    assert winner(row([1, 1, 1], [2, 3, 4]), "P") == "tie"
    # 2, 3, 4: mean 3, half-width 2.484
    assert winner(row([1, 1, 1], [3, 4, 5]), "P") == "argmetric"
    assert winner(row([3, 4, 5], [1, 1, 1]), "P") == "P"
    assert winner(row([3, 4, 5], [1, 1, 1], better="lower"), "P") == "argmetric"
    assert winner(row([5, 5, 5], [5, 5, 5]), "P") == "tie"
    assert winner(row([1, 1], [9, 9]), "P") == "too few"
    # ratios 1/2, 2 and 1 are even, though the mean of the second is larger
    times = {"better": "lower", "ratio": True}
    assert winner(row([1, 1, 1], [0.5, 2, 1], **times), "P") == "tie"
    assert winner(row([1] * 3, [1.09] * 3, **times), "P") == "tie"
    assert winner(row([1] * 3, [1.11] * 3, **times), "P") == "P"
    shares = {"better": "at most", "allowed": 10.0}
    assert winner(row([0, 0, 0], [9, 9, 9], **shares), "P") == "both keep it"
    assert winner(row([0, 0, 0], [11, 11, 11], **shares), "P") == "P"
    assert winner(row([40, 50, 60], [8, 10, 14], **shares), "P") == "argmetric"
    assert winner(row([40, 50, 60], [20, 20, 20], **shares), "P") == "both break it"


def test_what_the_page_shows_as_equal_is_a_tie(peers):
    from peers_parts.page import cells
    from peers_parts.rows import winner

    same = row([44.02, 43.94, 43.99], [44.04, 43.96, 44.01])  # 0.02 more, each time
    assert winner(same, "P") == "tie"
    told = cells(same, "P")
    assert told[1].split()[0] == told[2].split()[0] == "44.0"
    assert told[3:] == ["+0.02 [+0.02, +0.02]", "0 and 0 of 3", "tie"]


def test_like_is_compared_with_like(peers):
    from peers_parts.page import verdict

    faster = row([4.0] * 3, [1.0] * 3, ratio=True, better="lower")
    assert verdict(faster, "crfsuite") == "argmetric"
    assert verdict(faster, "NannyML") == "argmetric, compiled"
    slower = row([1.0] * 3, [4.0] * 3, ratio=True, better="lower")
    assert verdict(slower, "NannyML") == "NannyML"
    fixed = row([40.0] * 3, [60.0] * 3, theirs_is="vw, positive from 0 on")
    assert verdict(fixed, "Vowpal Wabbit") == "argmetric, tuned"


def test_cases_on_the_same_data_count_once(peers):
    from peers_parts.rows import interval, winner

    theirs, ours = [1.0] * 6, [2, 2, 2, 2, 1.1, 0.9]
    assert winner(row(theirs, ours), "P") == "argmetric"
    units = ["a", "a", "a", "a", "b", "c"]
    assert winner(row(theirs, ours, units=units), "P") == "tie"
    # gains of the sets: 1, .1, -.1
    mean, low, high = interval(row(theirs, ours, units=units))
    assert mean == pytest.approx(1 / 3)
    assert high - mean == pytest.approx(mean - low)
    assert high - mean == pytest.approx(4.3027 * 0.5859 / math.sqrt(3), rel=1e-3)


def test_values_are_told_with_both_ends(peers):
    from peers_parts.page import cells

    told = cells(row([1.0, 4.0], [2.0, 3.0]), "P")
    first = "F1 (%; higher is better)"
    values = ["2.50 [1.00, 4.00]", "2.50 [2.00, 3.00]"]
    assert told == [first, *values, "", "1 and 1 of 2", "too few"]
    times = cells(row([1.0, 4.0], [2000.0, 2000.0], ratio=True), "P")
    assert times[1:3] == ["2.00 [1.00, 4.00]", "2,000 [2,000, 2,000]"]
    quick = row([4.0, 4, 4], [1.0, 1, 1], ratio=True, better="lower")
    times = cells(quick, "crfsuite")
    assert times[3:] == ["× 0.25 [0.25, 0.25]", "0 and 3 of 3", "argmetric"]


def test_the_cut_of_a_peer_is_tuned_on_the_rows_before(peers, monkeypatch):
    streams = importlib.import_module("peers_parts.streams")
    monkeypatch.setattr(streams, "BLOCK", 4)
    y = np.array([0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1])
    scores = np.array([0.1, 0.2, 0.3, 0.4, 0.3, 0.4, 0.1, 0.2, 0.25, 0.3, 0.3, 0.6])
    assert streams.best_cut(y[:4], scores[:4]) == 0.3
    # 0.5 at first; 0.3 has an F1 of 1 on the first four rows, and on the first eight
    expected = [0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1]
    assert streams.cut_on_past(y, scores, 0.5).tolist() == expected
    assert (
        streams.best_cut(np.array([1, 0, 1, 0]), np.array([0.5, 0.5, 0.5, 0.2])) == 0.5
    )
    none = streams.cut_on_past(np.zeros(12), scores, 0.5)
    assert none.tolist() == (scores >= 0.5).tolist()


def test_a_peer_that_cannot_run_has_its_reason(peers, elsewhere):
    before = {line["peer"]: line for line in peers.read()}
    absent = peers.Peer("river", ("no-such-package",), "no_such_part")
    line = peers.measured(absent, fast=True)
    assert line["why_not"].startswith("it is not installed here: No module named")
    assert line["rows"] == []
    assert line["versions"] == {}
    peers.write(line)
    after = {one["peer"]: one for one in peers.read()}
    assert after.pop("river") == json.loads(json.dumps(line))
    before.pop("river")
    assert after == before
    peers.main(["--page"])
    page = (elsewhere / "peers.rst").read_text(encoding="utf-8")
    reason = page.partition("\nNot run\n")[2].partition("\n\n")[2]
    assert reason.startswith("- river: it is not installed here")


def test_the_environment_has_every_peer(peers):
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)
    listed = project["dependency-groups"]["peers"]
    listed += project["project"]["optional-dependencies"]["sklearn"]
    names = {re.match(r"[\w-]+", one)[0] for one in listed}
    asked = {package for peer in peers.PEERS for package in peer.packages}
    assert asked <= names
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "--group peers" in makefile
    assert ".venv-peers/bin/python benchmarks/peers.py --page" in makefile
