"""``--confidence``: limits that hold for new rows."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import argmetric as am

RNG = np.random.default_rng(0)
P = RNG.beta(0.25, 0.5, 1000).round(4)
Y = (RNG.random(1000) < P).astype(int)
NEW = RNG.beta(0.25, 0.5, 300).round(4)
LIMITS = "--min-precision .7 --confidence .95"


@pytest.fixture(autouse=True)
def rows(run, tmp_path):
    lines = [f"{p},{y}" for p, y in zip(P, Y, strict=True)]
    (tmp_path / "known.csv").write_text("\n".join(["score,label", *lines]))
    (tmp_path / "new.csv").write_text("\n".join(["score", *map(str, NEW)]))


def test_tune_writes_and_tells_the_promise(run, answer):
    wanted = am.tune(Y, P, "f1", min_precision=0.7, confidence=0.95).guarantee
    found = answer(f"tune known.csv {LIMITS}")["rules"][0]["guarantee"]
    assert found == wanted.to_dict()
    told = run(*f"tune known.csv {LIMITS} -o rule.json".split())
    assert wanted.sentence in told.out
    decided = run(*["decide", "new.csv", "--rule", "rule.json", "-o", "out.csv"])
    assert wanted.sentence in decided.err


def test_each_of_several_metrics_tells_its_promise(run):
    rules = am.tune(Y, P, ["f1", "recall"], min_precision=0.7, confidence=0.95)
    told = run(*f"tune known.csv -m f1 -m recall {LIMITS}".split())
    sentences = {rule.guarantee.sentence for rule in rules.values()}
    shown = " ".join(told.out.split())
    assert all(shown.count(one) == 1 for one in sentences)


def test_rules_of_several_labels_tell_their_promise(run, tmp_path):
    lines = [f"{p},{p},{y},{y}" for p, y in zip(P, Y, strict=True)]
    text = "\n".join(["p_a,p_b,y_a,y_b", *lines])
    (tmp_path / "both.csv").write_text(text)
    both = ["both.csv", "--scores", "p_*"]
    told = run("tune", *both, "--labels", "y_*", *LIMITS.split(), "-o", "rule.json")
    said = "with 95 % confidence for all 2 labels at once at least 70 % of the rows"
    assert said in " ".join(told.out.split())
    decided = run("decide", *both, "--rule", "rule.json", "-o", "out.csv")
    assert said in " ".join(decided.err.split())


def test_decide_proves_it_on_the_reference(run, answer):
    options = {"min_precision": 0.7, "confidence": 0.95}
    wanted = am.decide(NEW, reference=(Y, P), **options)
    found = answer(f"decide new.csv --reference known.csv {LIMITS} -o out.csv")
    assert found["n_positives"] == wanted.n_positives
    assert found["decision"]["guarantee"] == wanted.guarantee.to_dict()


def test_the_prevalence_of_a_promise_is_told(run, answer):
    line = "--min-precision .7 --prior .2 --confidence .9"
    wanted = am.tune(Y, P, min_precision=0.7, prior=0.2, confidence=0.9).guarantee
    assert "if 20 % of new rows are positive" in wanted.sentence
    told = run(*f"tune known.csv {line} -o rule.json".split())
    assert wanted.sentence in told.out
    decided = run(*["decide", "new.csv", "--rule", "rule.json", "-o", "out.csv"])
    assert wanted.sentence in " ".join(decided.err.split())
    line = "--min-precision .9 --prior .001 --confidence .9"
    refused = run(*f"tune known.csv {line}".split())
    words = "--min-precision 0.9 at 0.1 % positives with a confidence of 90 %: "
    assert words in refused.err


def test_rows_of_one_class_prove_what_speaks_of_it(run, answer, tmp_path):
    lines = [f"{p},no" for p in P[Y == 0]]
    (tmp_path / "negatives.csv").write_text("\n".join(["score,label", *lines]))
    line = "tune negatives.csv --pos-label yes --confidence .9"
    wanted = am.tune(
        ["no"] * len(lines),
        P[Y == 0],
        min_specificity=0.9,
        confidence=0.9,
        pos_label="yes",
    )
    found = answer(f"{line} --min-specificity .9 -o rule.json --report page.html")
    assert found["rules"][0]["guarantee"] == wanted.guarantee.to_dict()
    assert found["rules"][0]["threshold"] == wanted.threshold
    decided = run(*["decide", "new.csv", "--rule", "rule.json", "-o", "out.csv"])
    assert wanted.guarantee.sentence in " ".join(decided.err.split())
    chosen = (tmp_path / "out.csv").read_text().count("yes")
    assert chosen == (wanted.threshold <= NEW).sum()
    refused = run(*f"{line} --min-precision .9".split())
    assert "--min-precision needs positive rows too" in refused.err


PROMISED = "monitor new.csv --reference val.csv --rule r.json"
REVIEW = [*("tune", "val.csv", "--min-precision", ".7", "--min-npv", ".8"), "--review"]


def test_rows_are_accepted_asked_about_or_rejected(run, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(1500).round(6)
    y = (rng.random(1500) < p).astype(int)
    for name, part in (("val", slice(0, 1000)), ("new", slice(1000, 1500))):
        pairs = zip(p[part], y[part], strict=True)
        lines = [f"{a},{b}" for a, b in pairs]
        Path(f"{name}.csv").write_text("\n".join(["p,y", *lines]) + "\n")
    said = run(*REVIEW, "--confidence", ".9", "-o", "r.json", "--report", "r.html")
    rule = am.ReviewRule.load("r.json")
    alone = am.tune(
        y[:1000], p[:1000], min_precision=0.7, min_npv=0.8, confidence=0.9, review=True
    )
    assert (rule.low, rule.high) == (alone.low, alone.high)
    assert "for a person" in said.out
    assert "Accept, ask or reject" in Path("r.html").read_text()
    said = run("decide", "new.csv", "--rule", "r.json", "-o", "out.csv", "--json")
    values = json.loads(said.out)
    actions = [x.rsplit(",", 1)[1] for x in Path("out.csv").read_text().split()[1:]]
    assert actions == rule.actions(p[1000:]).tolist()
    assert values["accepted"] == actions.count("accept")
    assert values["for_a_person"] == actions.count("ask")
    shown = run("decide", "new.csv", "--rule", "r.json", "-o", "again.csv").err
    right = y[1000:][np.array(actions) == "accept"].sum()
    assert f"accepted, right  {right:,} of {values['accepted']:,}" in shown
    run("forecast", "new.csv", "--rule", "r.json").failed(1, "leaves rows to a person")
    watch = f"{PROMISED} --every 100".split()
    watched = json.loads(run(*watch, "--json").out)
    known = {"reference": (y[:1000], p[:1000]), "known": y[1000:]}
    found = am.monitor(p[1000:], rule, every=100, **known)
    assert watched["alarms"] == len(found.alarms)
    wanted = [one.automated for one in found.periods]
    assert [one["automated"] for one in watched["periods"]] == wanted
    run(*watch, "--group", "y").failed(2, "--group has no meaning with r.json")


def test_rows_are_given_a_class_or_left_to_a_person(run, answer):
    rng = np.random.default_rng(0)
    whole = rng.dirichlet([0.2, 0.2, 0.2], 2500)
    p = np.round(whole, 6)
    names = np.array(["ant", "bee", "cat"])
    y = names[(p.cumsum(axis=1) < rng.random((2500, 1))).sum(axis=1).clip(0, 2)]
    for name, part in (("val", slice(0, 2000)), ("new", slice(2000, 2500))):
        rows = zip(p[part].tolist(), y[part], strict=True)
        lines = [f"{','.join(map(str, row))},{one}" for row, one in rows]
        head = "p_ant,p_bee,p_cat,kind"
        Path(f"{name}.csv").write_text("\n".join([head, *lines, ""]))
    ask = ["--scores", "p_*", "--one-label", "--label", "kind"]
    how = ["tune", "val.csv", *ask, "--min-precision", ".9", "--review"]
    said = run(*how, "--confidence", ".9", "-o", "r.json").out
    rule = am.classes.ClassReviewRule.load("r.json")
    alone = am.classes.tune(
        y[:2000], p[:2000], min_precision=0.9, confidence=0.9, review=True
    )
    assert rule.thresholds.tolist() == alone.thresholds.tolist()
    assert alone.guarantee.sentence in " ".join(said.split())
    (found,) = answer(*how, "--confidence", ".9", "--report", "r.html")["rules"]
    assert "A class, or a person" in Path("r.html").read_text()
    assert found["automated"] == alone.automated
    decide = ["decide", "new.csv", *ask, "--rule", "r.json"]
    values = json.loads(run(*decide, "-o", "out.csv", "--json").out)
    labels = [x.rsplit(",", 1)[1] for x in Path("out.csv").read_text().split()[1:]]
    assert labels == rule.apply(p[2000:]).tolist()
    assert values["for_a_person"] == labels.count("ask") > 0
    assert values["given_a_class"] == 500 - labels.count("ask")
    shown = run(*decide, "-o", "again.csv").err
    right = (np.array(labels) == y[2000:]).sum()
    told = " ".join(shown.split())
    assert f"given a class, right {right:,} of {values['given_a_class']:,}" in told
    run("forecast", "new.csv", *ask, "--rule", "r.json").failed(
        1, "leaves rows to a person"
    )
    run("decide", "new.csv", "--score", "p_ant", "--rule", "r.json").failed(
        1, "is a rule for several classes"
    )
    each = ["--min-precision", "bee=.8", "--min-precision", "ant=.9", "--review"]
    each += ["--confidence", ".9"]
    (found,) = answer("tune val.csv", *ask, *each)["rules"]
    floors = {"ant": 0.9, "bee": 0.8}
    alone = am.classes.tune(
        y[:2000], p[:2000], min_precision=floors, confidence=0.9, review=True
    )
    assert found == json.loads(json.dumps(alone.to_dict()).replace("Infinity", '"inf"'))


LIMITED = "tune val.csv --scores p_* --one-label --label kind"


def test_a_least_recall_of_a_class_is_that_of_python(run, answer):
    y, p = write_classes("val.csv", slice(0, 600))
    (found,) = answer(f"{LIMITED} --min-recall 1=.95 --seed 0")["rules"]
    order = [2, 0, 1]  # of the columns in the file
    wanted = am.classes.tune(y, p[:, order], classes=order, min_recall={1: 0.95})
    assert found["classes"] == order
    assert found["weights"] == pytest.approx(wanted.weights.tolist())


def write_classes(name, rows):
    """Write probabilities and classes of rows of a fixed sample; return both."""
    rng = np.random.default_rng(0)
    p = np.round(rng.dirichlet([0.2, 0.2, 0.2], 5000), 6)
    place = (p.cumsum(axis=1) < rng.random((5000, 1))).sum(axis=1).clip(0, 2)
    p, y = p[rows], np.array([2, 0, 1])[place[rows]]
    lines = [",".join(map(str, (*a, b))) for a, b in zip(p, y, strict=True)]
    Path(name).write_text("\n".join(["p_2,p_0,p_1,kind", *lines, ""]))
    return y, p[:, [1, 2, 0]]


WATCH = "monitor new.csv --scores p_* --one-label --label kind --every 500 "
WATCH += "--reference val.csv --rule r.json"


@pytest.mark.parametrize("kind", [int, str])
def test_rows_given_a_class_are_monitored_in_files(run, answer, kind):
    """Classes that are text in the rule are whole numbers in the files."""
    y, p = write_classes("val.csv", slice(0, 2000))
    new_y, new_p = write_classes("new.csv", slice(2000, 5000))
    y, new_y = y.astype(kind), new_y.astype(kind)
    classes = [*map(kind, (0, 1, 2))]
    floors = {classes[0]: 0.9, classes[2]: 0.8}
    rule = am.classes.tune(
        *(y, p), min_precision=floors, confidence=0.9, review=True, classes=classes
    )
    rule.save("r.json")
    how = {"reference": (y, p), "every": 500}
    found = am.classes.monitor(new_p, rule, known=new_y, **how)
    ended = run(*WATCH.split(), "--json", "-o", "m.json", "--report", "m.html")
    periods = json.loads(ended.out)["periods"]
    assert [one["audited"] for one in periods] == [
        {key: [*pair] for key, pair in one.audited.items()} for one in found.periods
    ]
    assert repr(am.classes.ClassReviewMonitoring.load("m.json")) == repr(found)
    assert ended.code == 3 * bool(found.alarms)
    page = Path("m.html").read_text()
    assert "Are the promises still kept?" in page
    assert "precision of 2" in page
    assert "  ".join(found.periods[-1].cells()) in run(*WATCH.split()).out
    assert run(*WATCH.split(), "-o", "m.csv").code == ended.code
    first = Path("m.csv").read_text().splitlines()[1].split(",")
    assert float(first[5]) == found.periods[0].automated
    right = (rule.apply(new_p) == new_y).sum()
    decide = "decide new.csv --scores p_* --one-label --label kind --rule r.json"
    said = run(*decide.split(), "-o", "out.csv").err
    assert f"given a class, right  {right:,} of" in said
    for more in ("--metric f1", "--logits", "--zero-division 0"):
        name = more.split()[0]
        refused = run(*WATCH.split(), *more.split())
        refused.failed(2, f"{name} has no meaning with r.json")
    Path("new.csv").write_text("p_0,p_1,p_2,kind\n")
    run(*WATCH.split()).failed(1, "new.csv has no rows")
    Path("new.csv").write_text("p_0,p_1\n.5,.5\n")
    run(*WATCH.split()).failed(1, "label '2' is not among those of these rows")


def test_of_groups_one_row_each_counts_for_rows_that_are_asked_about(run, answer):
    rng = np.random.default_rng(0)
    p = rng.random(1500).round(6)
    y = (rng.random(1500) < p).astype(int)
    lines = [f"{a},{b},{i // 2}" for i, (a, b) in enumerate(zip(p, y, strict=True))]
    Path("val.csv").write_text("\n".join(["p,y,user", *lines]) + "\n")
    how = [*REVIEW, "--confidence", ".9", "--group", "user"]
    (found,) = answer(" ".join(how))["rules"]
    assert found["guarantee"]["n"] == 750
    run(*how, "--average", "pooled").failed(1, "of groups one row each counts")
    Path("days").mkdir()  # files of a folder are read at once for these options
    for name, part in (("a", lines[:700]), ("b", lines[700:])):
        Path(f"days/{name}.csv").write_text("\n".join(["p,y,user", *part]) + "\n")
    more = ("--new-rows", "500")
    (many,) = answer("tune days", *how[2:], *more)["rules"]
    (one,) = answer("tune val.csv", *how[2:], *more)["rules"]
    assert (many["low"], many["high"]) == (one["low"], one["high"])


def test_normal_rows_alone_prove_a_limit_on_false_alarms(run, answer):
    limits = "--min-specificity .98 --confidence .95"
    Path("normal.csv").write_text("\n".join(["score", *map(str, P)]) + "\n")
    wanted = am.tune(normal=P, min_specificity=0.98, confidence=0.95)
    (found,) = answer(f"tune normal.csv --normal {limits} -o rule.json")["rules"]
    assert found["threshold"] == wanted.threshold
    assert am.Rule.load("rule.json").guarantee == wanted.guarantee


PARITY = ["tune", "val.csv", "--parity", "recall", "--group", "sex", "--gap", ".1"]


def write_groups(name, n, seed, names="mf"):
    """Write rows of two groups; return their labels, scores and groups."""
    rng = np.random.default_rng(seed)
    group = rng.choice([*names], n, p=[0.6, 0.4])
    p = rng.beta(1, np.where(group == names[0], 2, 3)).round(12)
    y = (rng.random(n) < p).astype(int)
    lines = [f"{a},{b},{c}" for a, b, c in zip(p, y, group, strict=True)]
    Path(name).write_text("\n".join(["p,y,sex", *lines]) + "\n")
    return y, p, group


def test_each_group_has_a_threshold_in_files(run, answer):
    y, p, group = write_groups("val.csv", 4000, 0)
    new_y, new_p, new_group = write_groups("new.csv", 1000, 1)
    for more, how in (([], {}), (["--confidence", ".9"], {"confidence": 0.9})):
        said = run(*PARITY, *more, "-o", "r.json")
        wanted = am.tune(y, p, parity=("recall", group, 0.1), **how)
        found = am.ParityRule.load("r.json")
        assert found.thresholds == wanted.thresholds
        assert found.probability == pytest.approx(wanted.probability, nan_ok=True)
        assert wanted.sentence in " ".join(said.out.split())
    decide = "decide new.csv --rule r.json --group sex"
    shown = run(*decide.split(), "-o", "out.csv")
    chosen = wanted.apply(new_p, new_group)
    written = [x.rsplit(",", 1)[1] for x in Path("out.csv").read_text().split()[1:]]
    assert [*map(int, written)] == chosen.tolist()
    for name in "mf":
        k, n = chosen[new_group == name].sum(), (new_group == name).sum()
        assert f"{k} of {n} ({k / n:.1%}) positive" in shown.err
    said = run(*["export", "r.json", "--to", "sql", "--column", "p", "--column", "sex"])
    assert said.out.strip() == wanted.to_sql(column=["p", "sex"])
    run(*["export", "r.json", "--to", "onnx", "-o", "r.onnx"]).failed(
        1, "rules one by one"
    )
    rates = [chosen[(new_group == x) & (new_y == 1)].mean() for x in "mf"]
    assert f"{np.ptp(rates):.3f} (90% interval" in shown.err
    found = answer(decide)
    assert found["gap"] == pytest.approx(np.ptp(rates))
    assert found["gap_interval"][0] <= found["gap"] <= found["gap_interval"][1]
    for verb in ("decide", "forecast"):
        found = answer(f"{verb} new.csv --rule r.json --group sex")
        assert found["actual"]["score"] == float(am.evaluate(new_y, chosen, "f1"))
        assert found["forecast"]["mean"] == am.forecast(new_p, chosen, "f1").mean


def test_groups_of_a_rule_are_those_of_the_file_as_text(run):
    """Whole numbers of Python are text in a file; an unknown group is named."""
    y, p, group = write_groups("val.csv", 800, 0, names="01")
    write_groups("odd.csv", 40, 1, names="0x")
    am.tune(y, p, parity=("recall", group.astype(int), 0.1)).save("r.json")
    decide = "decide {} --rule r.json --group sex -o out.csv --force"
    assert run(*decide.format("val.csv").split()).code == 0
    lines = Path("odd.csv").read_text().split()
    row = next(i for i, line in enumerate(lines) if line.endswith(",x"))
    run(*decide.format("odd.csv").split()).failed(
        1, f"odd.csv: column 'sex', row {row} is 'x', a group that r.json has no"
    )
    run("decide", "odd.csv", "--rule", "r.json").failed(2, "pass --group COLUMN")
    Path("days").mkdir()
    Path("days/a.csv").write_text(Path("val.csv").read_text())
    run(*["decide", "days", "-o", "out", "--group", "sex", "--rule", "r.json"]).failed(
        1, "for rows that are read at once, as those of one file"
    )
    columns = {"p": p, "y": y, "sex": group.astype(float)}
    pq.write_table(pa.table(columns), "val.parquet")
    parity = "--parity selection_rate --group sex --gap .1 -o f.json"
    assert run("tune", "val.parquet", *parity.split()).code == 0
    assert {*map(str, am.ParityRule.load("f.json").names)} == {"0", "1"}
    with_rule = ["--rule", "f.json", "--group", "sex"]
    assert run("decide", "val.parquet", *with_rule, "-o", "o.csv").code == 0
    watch = ["monitor", "val.parquet", "--reference", "val.parquet", "--every", "400"]
    said = run(*watch, *with_rule)
    assert "gap" in said.out, said.err
    rule = am.ParityRule.load("r.json")
    am.ParityRule((1, "1"), rule.rules, "recall", 0.1).save("r.json")
    run(*decide.format("val.csv").split()).failed(1, "written alike")


def test_the_gap_between_groups_is_monitored_in_files(run, tmp_path):
    y, p, group = write_groups("val.csv", 4000, 0)
    new_y, new_p, new_group = write_groups("new.csv", 2000, 1)
    rule = am.tune(y, p, parity=("recall", group, 0.1), confidence=0.9)
    rule.save("r.json")
    watch = f"{PROMISED} --every 1000".split()
    how = {"groups": new_group, "reference": (y, p, group), "every": 1000}
    found = am.monitor(new_p, rule, known=new_y, **how)
    more = ["--json", "-o", "m.json", "--report", "m.html"]
    ended = run(*watch, "--group", "sex", *more)
    assert "Are the promises still kept?" in Path("m.html").read_text()
    periods = json.loads(ended.out)["periods"]
    assert [one["gap"] for one in periods] == [one.gap for one in found.periods]
    assert repr(am.ParityMonitoring.load("m.json")) == repr(found)
    assert ended.code == 3 * bool(found.alarms)
    text = Path("new.csv").read_text()
    Path("new.csv").write_text(text.replace("p,y,sex", "p,later,sex"))
    assert run(*watch, "--group", "sex", "-o", "m.csv").code == 0
    found = am.monitor(new_p, rule, **how)
    first = Path("m.csv").read_text().splitlines()[1].split(",")
    assert float(first[6]) == found.periods[0].forecast > 0.0
    run(*watch).failed(2, "r.json has a threshold for each group: pass --group COLUMN")
    run(*watch, "--group", "sex", "--floor", ".5").failed(2, "--floor has no meaning")
    Path("new.csv").write_text(text.replace(",m\n", ",x\n", 1))
    row = text.splitlines().index(next(x for x in text.splitlines() if x[-2:] == ",m"))
    run(*watch, "--group", "sex").failed(1, f"column 'sex', row {row} is 'x'")
