"""A rule keeps what its rows say of the scores: its forecast is that of a reference."""

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import argmetric as am


def sure_scores(n, seed, shift=0.0):
    """Too sure and too high, as models are; a shift makes positives more common."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-1.9, 1.5, n)
    true = x + shift
    return (rng.random(n) < 1 / (1 + np.exp(-true))).astype(int), 1 / (
        1 + np.exp(-1.4 * true - 0.5)
    )


Y, P = sure_scores(500, 0)
NEW_Y, NEW = sure_scores(800, 1)
RULE = am.tune(Y, P, "f1")
NAMES = ("mean", "interval", "interval_given_calibrator", "assumptions", "notes")


def told(forecast):
    return {name: getattr(forecast, name) for name in NAMES}


def test_a_rule_and_a_reference_forecast_the_same():
    labels = RULE.apply(NEW)
    wanted = am.forecast(NEW, labels, reference=(Y, P))
    assert told(am.forecast(NEW, labels, reference=RULE.reference)) == told(wanted)
    as_given = am.forecast(NEW, labels)
    assert as_given.mean != wanted.mean  # what was printed beside a rule
    low, high = as_given.interval
    assert high - low < 0.75 * (wanted.interval[1] - wanted.interval[0])
    decision = am.decide(NEW, reference=RULE.reference)
    np.testing.assert_array_equal(
        decision.labels, am.decide(NEW, reference=(Y, P)).labels
    )


def test_what_is_kept_goes_through_files_and_pickles(tmp_path):
    RULE.save(tmp_path / "rule.json")
    assert (tmp_path / "rule.json").stat().st_size < 60_000
    wanted = told(am.forecast(NEW, RULE.apply(NEW), reference=(Y, P)))
    for again in (
        am.Rule.load(tmp_path / "rule.json"),
        pickle.loads(pickle.dumps(RULE)),
        copy.deepcopy(RULE),
    ):
        assert again == RULE
        found = am.forecast(NEW, RULE.apply(NEW), reference=again.reference)
        assert told(found) == wanted


def test_a_file_of_the_first_format_is_read_without_a_reference():
    old = RULE.to_dict() | {"format": 1}
    del old["reference"]
    rule = am.Rule.from_dict(old)
    assert rule.reference is None
    np.testing.assert_array_equal(rule.apply(NEW), RULE.apply(NEW))


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        (None, "gone", "lacks 'reference'"),
        (None, 3, "damaged"),
        ("calibrator", {}, "no saved calibrator"),
        ("cells", {}, "lacks 'edges'"),
        ("edges", [0.3, 0.2], "edges of the reference must rise"),
        ("count", [1.0], "needs `count` for each bin"),
        ("count", "negative", "no rows, or negative counts"),
        ("above", "nan", "needs `above` for each bin"),
        ("prevalence", "high", "the prevalence of the reference must be"),
        ("logits", 3, "logits of the reference must be true or false"),
    ],
)
def test_damaged_references_are_refused(part, changes, message):
    values = json.loads(json.dumps(RULE.to_dict()))
    kept = values["reference"]
    if part is None:
        values["reference"] = changes
        if changes == "gone":
            del values["reference"]
    elif part in kept:
        kept[part] = changes
    elif isinstance(changes, str) and part in ("count", "above"):
        kept["cells"][part][0] = -1.0 if changes == "negative" else "nan"
    else:
        kept["cells"][part] = changes
    with pytest.raises(ValueError, match=message):
        am.Rule.from_dict(values)


def test_rules_without_labelled_rows_of_their_scores_keep_none():
    assert am.tune(None, P, "f1").reference is None
    assert am.tune(Y, P, reference=am.calibrate(Y, P)).reference is None
    assert am.Rule("f1", 0.5).reference is None
    with pytest.warns(UserWarning, match="all scores equal"):
        assert am.tune(Y, np.full(Y.size, 0.4)).reference is None
    assert am.tune(Y, 1 - P).reference is None  # they rank backwards
    weight = np.random.default_rng(0).integers(0, 3, Y.size)
    kept = am.tune(Y, P, sample_weight=weight).reference
    assert kept.calibrator == am.calibrate(Y, P, sample_weight=weight)


def test_log_odds_are_kept_as_they_are():
    x, new = (np.log(one / (1 - one)) for one in (P, NEW))
    rule = am.tune(Y, x)
    labels = rule.apply(new)
    wanted = am.forecast(new, labels, reference=(Y, x), logits=True)
    found = am.forecast(new, labels, reference=rule.reference, logits=True)
    assert told(found) == told(wanted)
    # a rule of probabilities knows log-odds too
    other = am.forecast(new, labels, reference=RULE.reference, logits=True)
    assert other.mean == pytest.approx(wanted.mean, abs=1e-9)


def write(name, y, p):
    rows = [f"{a},{b!r}\n" for a, b in zip(y.tolist(), p.tolist(), strict=True)]
    Path(name).write_text("y,p\n" + "".join(rows))


def test_the_commands_agree(run):
    write("known.csv", Y, P)
    write("new.csv", NEW_Y, NEW)
    assert run("tune", "known.csv", "-o", "rule.json").code == 0
    call = ["decide", "new.csv", "--rule", "rule.json"]
    ruled = json.loads(run(*call, "--json").out)
    call = ["forecast", "new.csv", "--rule", "rule.json"]
    plain = json.loads(run(*call, "--json").out)
    known = json.loads(run(*call, "--reference", "known.csv", "--json").out)
    assert ruled["forecast"] == plain["forecast"] == known["forecast"]
    low, high = known["forecast"]["interval"]
    mean = known["forecast"]["mean"]
    line = f"forecast {mean:.4f}, 90 % interval {low:.4f} to {high:.4f}"
    err = run("decide", "new.csv", "--rule", "rule.json").err
    assert line in " ".join(err.split())
    assert "keeps no labelled rows" not in err
    old = json.loads(Path("rule.json").read_text()) | {"format": 1}
    del old["reference"]
    Path("old.json").write_text(json.dumps(old))
    assert (
        "keeps no labelled rows" in run("decide", "new.csv", "--rule", "old.json").err
    )


def test_an_interval_stands_beside_its_own_mean(run):
    write("known.csv", Y, P)
    write("new.csv", NEW_Y, NEW)
    decision = am.decide(NEW, reference=(Y, P))
    forecast = decision.forecast()
    low, high = forecast.interval
    assert f"{forecast.mean:.4f}" != f"{decision.expected:.4f}"
    err = " ".join(run("decide", "new.csv", "--reference", "known.csv").err.split())
    assert f"forecast {forecast.mean:.4f}, 90 % interval {low:.4f} to {high:.4f}" in err
    assert f"{decision.expected:.4f}, 90 %" not in err
    assert f"{decision.expected:.4f}" not in err
    page = am.report(decision).render("md")
    assert f"{forecast.mean:.3f}** (90 % interval {low:.3f} to {high:.3f})" in page
    assert f"{decision.expected:.3f}** (90 % interval" not in page
    rule = am.report(RULE).render("md")
    low, high = RULE.interval
    assert f"- Mean: **{RULE.mean:.3f}** (optimism " in rule
    assert f"- Score: **{RULE.score:.3f}**" in rule
    assert f"{low:.3f} to {high:.3f}" in rule


MOVED = "the scores moved since the reference"


def test_moved_scores_are_told_on_every_surface(run):
    y, p = sure_scores(900, 3, shift=1.0)
    with pytest.warns(UserWarning, match=MOVED) as caught:
        decision = am.decide(p, reference=(Y, P))
    assert len(caught) == 1
    said = next(note for note in decision.notes if note.startswith(MOVED))
    for text in (repr(decision), decision._repr_html_().replace("&quot;", '"')):
        assert said in text
    forecast = decision.forecast()  # it was warned of once, and is told again
    assert said in forecast.notes
    assert said in repr(forecast)
    page = am.report(decision)
    for form in ("md", "text", "html"):
        assert MOVED in page.render(form).replace("The scores", "the scores")
    with pytest.warns(UserWarning, match=MOVED):
        kept = am.forecast(p, RULE.apply(p), reference=RULE.reference)
    assert said in kept.notes
    assert decision.forecast(prior=0.4).notes == ()

    write("known.csv", Y, P)
    write("moved.csv", y, p)
    run("tune", "known.csv", "-o", "rule.json")
    told_by = [
        ["decide", "moved.csv", "--rule", "rule.json"],
        ["decide", "moved.csv", "--reference", "known.csv"],
        ["forecast", "moved.csv", "--rule", "rule.json"],
        ["forecast", "moved.csv", "--reference", "known.csv"],
        ["report", "moved.csv", "--reference", "known.csv"],
    ]
    for call in told_by:
        ended = run(*call)
        assert (ended.out + ended.err).count(MOVED) == 1, call
        assert "--prior estimate" in ended.out + ended.err
    run("forecast", "moved.csv", "--rule", "rule.json", "--report", "page.md")
    assert MOVED in Path("page.md").read_text(encoding="utf-8")
