"""``argmetric monitor``: periods in files, kept states, and what is refused."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am

RNG = np.random.default_rng(5)
WEEKS = 4
CUT = 0.5


def rows(n, share):
    """Labels, and scores that are right where a fifth is positive."""
    y = RNG.random(n) < share
    x = RNG.normal(np.where(y, 1.0, -1.0), 1.0)
    return y.astype(int), 1.0 / (1.0 + 4.0 * np.exp(-2.0 * x))


REFERENCE = rows(1000, 0.2)
LANDS = RNG.choice(["de", "fr"], 1000)
SHARES = (0.2, 0.2, 0.2, 0.02)
WEEKLY = [rows(500, share) for share in SHARES]
TIMES = [
    np.datetime64("2026-01-05")
    + (RNG.integers(0, 7 * 86400, 500) + 7 * 86400 * week).astype("timedelta64[s]")
    for week in range(WEEKS)
]
OPTIONS = ("--reference", "val.parquet", "--time", "at", "--threshold", str(CUT))


def write(table, path):
    pq.write_table(pa.table(table), path)


@pytest.fixture
def weeks(run):
    """A file for each week and the reference, in the folder of the test."""
    y, p = REFERENCE
    write({"score": p, "label": y, "land": LANDS}, "val.parquet")
    Path("scores").mkdir()
    names = [f"scores/week{i}.parquet" for i in range(WEEKS)]
    for i, (name, (y, p), at) in enumerate(zip(names, WEEKLY, TIMES, strict=True)):
        known = pa.array(y, mask=np.full(500, i > 0))
        land = np.where(p > np.median(p), "de", "fr")
        write({"score": p, "at": at, "label": known, "land": land}, name)
    return names


@pytest.fixture(scope="module")
def expected():
    """What one call of the function gives."""
    p, at = np.concatenate([p for _, p in WEEKLY]), np.concatenate(TIMES)
    known = np.full(p.size, np.nan)
    known[:500] = WEEKLY[0][0]
    return am.monitor(
        p, CUT, reference=REFERENCE, time=at, every="1w", known=known, floor=0.5
    )


def same(found, expected):
    """Compare periods with what one call gives."""
    assert [one["start"] for one in found] == [one.start for one in expected.periods]
    for one, other in zip(found, expected.periods, strict=True):
        for name, value in one.items():
            told = other.answer._asdict()
            right = told[name] if name in told else getattr(other, name)
            if isinstance(right, tuple):
                right = [x if np.isfinite(x) else None for x in right]
            if isinstance(right, float):
                right = right if np.isfinite(right) else None
            assert value == right, name


def test_periods_are_those_of_the_function(run, weeks, expected):
    ended = run("monitor", "scores/*.parquet", *OPTIONS, "--floor", "0.5", "--json")
    found = json.loads(ended.out)
    same(found["periods"], expected)
    assert ended.code == 3
    assert "alarm: 1 period, the last 2026-01-26 to 2026-02-02 (moved" in ended.err
    assert (found["files"], found["rows"]) == (WEEKS, 2000)
    text = run("monitor", "scores/*.parquet", *OPTIONS)
    assert text.code == 3
    row = next(x for x in text.out.splitlines() if x.startswith("2026-01-26"))
    one = expected.periods[-1]
    assert one.verdict in row
    assert f"{one.interval.low:.3f} to {one.interval.high:.3f}" in row
    assert "scores alone cannot reveal" in " ".join(text.out.split())
    assert "in Python, to_label(100) picks" in " ".join(text.out.split())


def test_a_quiet_period_ends_with_code_0(run, weeks):
    ended = run("monitor", weeks[0], *OPTIONS, "-o", "periods.csv")
    assert (ended.code, ended.err) == (0, "")
    lines = Path("periods.csv").read_text().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("start,end,n,")
    assert run("monitor", weeks[0], *OPTIONS, "-o", "kept.json").code == 0
    assert am.Monitoring.load("kept.json").periods[0].n == 500


def test_csv_and_parquet_give_the_same_and_blocks_change_nothing(
    run, weeks, monkeypatch
):
    whole = pa.concat_tables([pq.read_table(name) for name in weeks[:2]])
    pq.write_table(whole, "whole.parquet")
    lines = ["score,at,label,land"]
    for one in whole.to_pylist():
        label = "" if one["label"] is None else one["label"]
        at = one["at"].isoformat()
        lines.append(f"{one['score']!r},{at},{label},{one['land']}")
    Path("whole.csv").write_text("\n".join(lines) + "\n")
    more = ("--by", "land", "--json")
    first = json.loads(run("monitor", "whole.parquet", *OPTIONS, *more).out)
    monkeypatch.setattr("argmetric.scale.files._read.BLOCK_BYTES", 5000)
    again = json.loads(run("monitor", "whole.csv", *OPTIONS, *more).out)
    assert again["periods"] == first["periods"]
    assert again["segments"] == first["segments"]
    assert {one["segment"] for one in again["segments"]} == {"de", "fr"}
    rows = [json.dumps(one, default=str) for one in whole.to_pylist()]
    Path("whole.jsonl").write_text("\n".join(rows))
    lined = json.loads(run("monitor", "whole.jsonl", *OPTIONS, *more).out)
    assert lined["periods"] == first["periods"]
    assert lined["segments"] == first["segments"]
    bad = [*lines]
    bad[701] = f"0.5,soon,,{'de'}"
    Path("bad.csv").write_text("\n".join(bad) + "\n")
    err = run("monitor", "bad.csv", *OPTIONS).err
    assert "bad.csv: column 'at': time is 'soon' at row 701" in err


def test_a_state_gives_what_one_run_gives(run, weeks, expected):
    options = (*OPTIONS, "--floor", "0.5", "--append", "state.json", "--json")
    assert run("monitor", weeks[0], *options).code == 0
    half = json.loads(run("monitor", "scores/week[01].parquet", *options).out)
    assert (half["files"], half["rows"]) == (1, 500)
    assert "1 file was counted before and not read again" in half["notes"]
    ended = run("monitor", "scores/*.parquet", *options)
    same(json.loads(ended.out)["periods"], expected)
    assert ended.code == 3
    # The alarm is that of the last period until another one has rows
    assert run("monitor", "scores/*.parquet", *options).code == 3
    same(json.loads(run("monitor", weeks[3], *options).out)["periods"], expected)
    assert sorted(os.listdir(".")) == ["scores", "state.json", "val.parquet"]


def test_labels_that_come_later_are_those_that_came_at_once(run, weeks, expected):
    bare = pq.read_table(weeks[0]).drop_columns(["label"])
    shutil.move(weeks[0], "labels.parquet")
    pq.write_table(bare, weeks[0])
    options = (*OPTIONS, "--floor", "0.5", "--append", "state.json", "--json")
    run("monitor", "scores/*.parquet", *options)
    came = ("scores/*.parquet", "--late-labels", "labels.parquet")
    same(json.loads(run("monitor", *came, *options).out)["periods"], expected)
    again = json.loads(run("monitor", *came, *options).out)
    same(again["periods"], expected)
    assert "5 files were counted before and not read again" in again["notes"]
    early = ("--late-labels", "labels.parquet", *OPTIONS)
    run("monitor", weeks[1], *early).failed(
        1,
        "labels of 500 rows that were not added before",
        "rows are counted first, with the same score and time",
    )


def test_a_file_is_counted_once(run, weeks):
    options = (*OPTIONS, "--append", "state.json")
    first = run("monitor", weeks[0], *options, "--json")
    shutil.copy(weeks[0], "copy.parquet")
    os.utime(weeks[0])  # touched, and still the same
    ended = run("monitor", weeks[0], "copy.parquet", *options, "--json")
    found = json.loads(ended.out)
    assert found["periods"] == json.loads(first.out)["periods"]
    assert (
        "copy.parquet has the content of scores/week0.parquet, and is left out"
        in (found["notes"])
    )
    shutil.copy(weeks[1], weeks[0])
    run("monitor", weeks[0], *options).failed(
        1, "has changed since its rows were counted"
    )


def test_another_state_is_refused(run, weeks):
    options = (*OPTIONS, "--append", "state.json")
    run("monitor", weeks[0], *options)
    before = Path("state.json").read_text()

    def refused(*more):
        ended = run("monitor", weeks[1], *options, *more)
        assert ended.code == 1
        assert Path("state.json").read_text() == before
        return ended.err

    said = "state.json was begun with --metric f1 and not with --metric mcc: pass the "
    assert said in refused("--metric", "mcc")
    assert "begun without it and not with --floor 0.6" in refused("--floor", "0.6")
    assert "and not with --every 1d" in refused("--every", "day")
    y, p = REFERENCE
    write({"score": p[1:], "label": y[1:]}, "val.parquet")
    assert "state.json was begun with another --reference" in refused()


def test_a_damaged_state_is_refused(run, weeks):
    options = (*OPTIONS, "--append", "state.json")
    run("monitor", weeks[0], *options)
    whole = Path("state.json").read_text()
    for damaged in (whole[:-100], whole.replace('"n": 500', '"n": 501', 1)):
        assert damaged != whole
        Path("state.json").write_text(damaged)
        run("monitor", weeks[1], *options).failed(1, "state.json is damaged (")
    Path("state.json").write_text("{}")
    assert "is no state of argmetric monitor" in run("monitor", weeks[1], *options).err


def test_two_at_once_are_refused(run, weeks):
    fcntl = pytest.importorskip("fcntl")
    with open(".state.json.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = run("monitor", weeks[0], *OPTIONS, "--append", "state.json")
    assert (ended.code, Path("state.json").exists()) == (1, False)
    assert "another run writes to state.json: wait until it has ended" in ended.err
    assert run("monitor", weeks[0], *OPTIONS, "--append", "state.json").code == 0


def test_a_run_that_is_killed_changes_nothing(run, weeks):
    """Killed with half of the state written, it leaves the state before."""
    options = (*OPTIONS, "--append", "state.json")
    run("monitor", weeks[0], *options)
    before = Path("state.json").read_bytes()
    code = (
        "import sys, time, argmetric._ground.whole_files as w, os\n"
        "def wait(handle):\n"
        "    print('now', flush=True); time.sleep(600)\n"
        "w.os.fsync = wait\n"
        "from argmetric.cli import main\n"
        f"main({('monitor', weeks[1], *options)!r})\n"
    )
    call = [sys.executable, "-c", code]
    with subprocess.Popen(call, stdout=subprocess.PIPE) as one:
        assert one.stdout.readline() == b"now\n"
        one.send_signal(signal.SIGKILL)
    assert [x for x in os.listdir(".") if x.endswith(".tmp")]
    assert Path("state.json").read_bytes() == before
    ended = run("monitor", weeks[1], *options, "--json")
    assert [one["n"] for one in json.loads(ended.out)["periods"]] == [500, 500]
    assert not [x for x in os.listdir(".") if x.endswith((".tmp", ".lock"))]


def test_time_zones_and_the_metric_of_a_rule_are_told(run, weeks):
    table = pq.read_table(weeks[0])
    at = table["at"].cast(pa.timestamp("s", "UTC"))
    pq.write_table(table.set_column(1, "at", at), "zoned.parquet")
    assert "periods begin in UTC" in run("monitor", "zoned.parquet", *OPTIONS).out
    am.tune(*REFERENCE, "mcc").save("mcc.json")
    ruled = (*OPTIONS[:4], "--rule", "mcc.json", "--metric", "f1")
    assert "the rule was tuned for mcc" in run("monitor", weeks[0], *ruled).out


def to_12_digits(values):
    """Round: the last bit of numpy's sums depends on where arrays lie in memory."""
    return json.loads(json.dumps(values), parse_float=lambda x: round(float(x), 12))


def test_every_state_that_was_begun_is_read_again(run, answer, weeks):
    """Rows by number go on where they stopped, and the reference need not be named."""
    base = (*OPTIONS[:2], "--threshold", "0.5", "--every", "300")
    options = (*base, "--append", "state.json", "--json")
    run("monitor", weeks[0], *options)
    found = json.loads(run("monitor", weeks[1], *options[2:]).out)
    whole = answer("monitor", weeks[0], weeks[1], *base)
    assert to_12_digits(found["periods"]) == to_12_digits(whole["periods"])
    assert [one["n"] for one in found["periods"]] == [300, 300, 300, 100]


def test_groups_are_averaged_in_one_run_and_day_by_day(run):
    y, p = REFERENCE
    write({"score": p, "label": y}, "val.parquet")
    names = np.array([f"u{i}" for i in range(60)])[RNG.integers(0, 60, 1000)]
    (y0, p0), (_, p1) = WEEKLY[:2]
    at = np.concatenate(TIMES[:2])
    table = {"score": np.r_[p0, p1], "at": at, "user": names}
    for name, part in (("a", slice(0, 300)), ("b", slice(300, 1000))):
        write({key: x[part] for key, x in table.items()}, f"{name}.parquet")
    options = (*OPTIONS, "--group", "user", "--json")
    expected = am.monitor(
        table["score"], CUT, reference=REFERENCE, time=at, groups=names
    )
    found = json.loads(run("monitor", "a.parquet", "b.parquet", *options).out)
    assert found["average"] == "groups"
    same(found["periods"], expected)
    state = (*options, "--append", "state.json")
    run("monitor", "a.parquet", *state)
    found = json.loads(run("monitor", "b.parquet", *state).out)
    same(found["periods"], expected)
    late = {key: x[:500] for key, x in table.items()} | {"label": y0}
    write(late, "late.parquet")
    more = (*state, "--late-labels", "late.parquet")
    found = json.loads(run("monitor", "b.parquet", *more).out)
    score = am.evaluate(y0, p0 >= CUT, groups=names[:500], average="groups")
    assert found["periods"][0]["actual"] == pytest.approx(score)
    told = run("monitor", "a.parquet", *OPTIONS, "--group", "user").out
    assert "the score is the mean over groups" in told
    assert "label some groups, drawn at random" in told
    pooled = (*options, "--average", "pooled")
    found = json.loads(run("monitor", "a.parquet", "b.parquet", *pooled).out)
    same(
        found["periods"], am.monitor(table["score"], CUT, reference=REFERENCE, time=at)
    )
    said = run("monitor", "a.parquet", *OPTIONS, "--average", "pooled").err
    assert "--average pooled needs groups: pass --group COLUMN too" in said
    said = run("monitor", "a.parquet", *state, "--average", "pooled").err
    assert "--average: state.json was begun without it" in said


CLASSES = ("ok", "late", "lost")
ASK = "--scores p_* --one-label --label kind --reference val.parquet --time at"


def class_rows(n, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([3.0, 1.0, 0.5], size=n).round(6)
    p[:, 0] = 1.0 - p[:, 1] - p[:, 2]
    return (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), p


def class_table(y, p, path, **more):
    columns = {f"p_{name}": p[:, i] for i, name in enumerate(CLASSES)}
    write({**columns, **({} if y is None else {"kind": y}), **more}, path)


@pytest.mark.parametrize("by", ["the most probable class", "a column", "the rule"])
def test_several_classes(run, by):
    names = np.array(CLASSES)
    (code, p), (old, q) = class_rows(700, 1), class_rows(500, 2)
    day = np.datetime64("2026-03-02") + np.arange(700) // 60
    known = pa.array(names[code], mask=np.arange(700) >= 300)
    labels, options, more = None, [], {}
    if by == "a column":
        labels = am.classes.decide(p, classes=CLASSES).labels
        more = {"decision": labels}
    if by == "the rule":
        labels = am.classes.tune(names[old], q, classes=CLASSES, n_bootstrap=0)
        labels.save("rule.json")
        options = ["--rule", "rule.json"]
    class_table(names[old], q, "val.parquet")
    parts = {"a": slice(0, 300), "b": slice(300, 700)}
    for name, part in parts.items():
        some = {key: x[part] for key, x in more.items()}
        start = part.start
        some["kind"] = known.slice(start, part.stop - start)
        class_table(None, p[part], f"new-{name}.parquet", at=day[part], **some)
    call = f"monitor new-*.parquet {ASK} {' '.join(options)}".split()
    ended = run(*call, "--json")
    said = json.loads(ended.out)
    wanted = am.classes.monitor(
        p,
        labels,
        reference=(names[old], q),
        classes=CLASSES,
        time=day,
        every="week",
        known=np.where(np.arange(700) < 300, names[code], None),
    )
    assert said["decision"] == by
    assert said["classes"] == list(CLASSES)
    assert [one["start"] for one in said["periods"]] == [
        x.start for x in wanted.periods
    ]
    for one, other in zip(said["periods"], wanted.periods, strict=True):
        assert one["verdict"] == other.verdict
        assert one["n_known"] == other.n_known
        assert one["mean"] == pytest.approx(other.mean, rel=1e-12)
        assert one["prevalences"] == pytest.approx(other.prevalences, rel=1e-12)
    assert ended.code == (3 if wanted.alarms else 0)
    last = "  ".join(wanted.periods[-1].cells())
    assert last in run(*call).out
    assert run(*call, "--report", "page.html").code == ended.code
    assert "macro F1 by period" in Path("page.html").read_text(encoding="utf-8")
