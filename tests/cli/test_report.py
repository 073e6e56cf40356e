"""``argmetric report``, and ``--report`` of other commands."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import argmetric as am

N = 400
RNG = np.random.default_rng(4)
P = RNG.beta(0.6, 2.0, N).round(4).clip(0.001, 0.999)
Y = (RNG.random(N) < P).astype(int)
GROUP = np.array([f"o{i % 50}" for i in range(N)])


def write(name="scores.csv", p=P, group="g"):
    rows = zip(p.tolist(), Y.tolist(), GROUP, strict=False)
    lines = [f"p,y,{group}", *(",".join(map(str, row)) for row in rows)]
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return name


def test_text_on_standard_output_and_twins(run):
    write()
    text = run("report", "scores.csv").out
    assert text.startswith("Predict ")
    for name in ("page.md", "page.json"):
        assert run("report", "scores.csv", "--report", name).out == ""
    assert Path("page.md").read_text().startswith("# Predict ")
    values = json.loads(Path("page.json").read_text())
    assert values["decision"] == am.decide(P).to_dict()
    assert values["names"] == {"file": "scores.csv", "score": "p", "label": "y"}


@pytest.mark.parametrize(
    "call",
    [
        ["decide", "scores.csv", "-o", "out.csv"],
        ["decide", "scores.csv", "-o", "out.csv", "--group", "g"],
        ["decide", "scores.csv", "--reference", "scores.csv", "--json"],
        ["decide", "scores.csv", "--prior", "0.2"],
        ["forecast", "scores.csv", "--threshold", "0.4"],
        ["tune", "scores.csv"],
    ],
)
def test_report_of_other_commands(run, call):
    write()
    ended = run(*call, "--report", "page.html")
    assert ended.code == 0
    assert "written: page.html" in ended.err
    assert "</html>" in Path("page.html").read_text(encoding="utf-8")
    plain = run(*call)
    assert plain.out == ended.out


def test_a_report_of_a_rule(run):
    write()
    assert run("tune", "scores.csv", "-o", "r.json").code == 0
    how = ["scores.csv", "--rule", "r.json", "--report"]
    assert run("decide", *how, "a.md", "-o", "out.csv").code == 0
    assert run("forecast", *how, "b.md").code == 0
    assert Path("a.md").read_text() == Path("b.md").read_text()


def test_the_report_of_decide_is_that_of_report(run):
    write()
    run("report", "scores.csv", "--group", "g", "--report", "one.html")
    run("decide", "scores.csv", "--group", "g", "--report", "two.html")
    assert Path("one.html").read_bytes() == Path("two.html").read_bytes()


TAGGED = """\
Ana B-PER B-PER
<script> O O
lives O B-LOC
in O O
New B-LOC B-LOC
York I-LOC O

"""


def test_tags(run, answer):
    Path("tags.txt").write_text(TAGGED * 40)
    assert run("tag", "evaluate", "tags.txt", "--report", "page.html").code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.count("<script") == 0
    assert '<mark class="right">Ana <small>PER ✓</small></mark>' in page
    assert '<mark class="missed">New York <small>LOC missed</small></mark>' in page
    assert '<mark class="wrong">lives <small>LOC ✗</small></mark>' in page
    values = answer("tag evaluate tags.txt")
    assert f"<strong>{values['strict']['f1']:.4f}</strong>" in page
    run("tag", "evaluate", "tags.txt", "--report", "page.md")
    text = Path("page.md").read_text(encoding="utf-8")
    assert "| O | B-LOC | 40 |" in text
    assert "| PER | 1.0000 | 1.0000 | 1.0000 | 40 | 40 | 40 |" in text


def test_a_stream(run):
    rows = [f"{y},{p:.4f},1" for p, y in zip(P, Y, strict=True)]
    Path("stream.csv").write_text("\n".join(["y,a,b", *rows * 3]) + "\n")
    plain = run("stream", "stream.csv", "-o", "plain.jsonl", "--json")
    told = run("stream", "stream.csv", "-o", "told.jsonl", "--report", "page.json")
    assert (plain.code, told.code) == (0, 0)
    assert Path("plain.jsonl").read_bytes() == Path("told.jsonl").read_bytes()
    said = json.loads(Path("page.json").read_text(encoding="utf-8"))
    over, values = said["over"], json.loads(plain.out)
    assert over["rows"] == list(range(64, 1200, 64))
    lines = Path("told.jsonl").read_text().splitlines()
    predictions = [json.loads(line) for line in lines]
    label, decision = (
        np.array([row[name] for row in predictions]) for name in ("label", "decision")
    )
    for i in (0, 7, 17):
        n = over["rows"][i]
        assert over["score"][i] == am.evaluate(label[:n], decision[:n])
        assert over["recent"][i] == am.evaluate(label[n - 64 : n], decision[n - 64 : n])
        assert over["predicted"][i] == decision[n - 64 : n].mean()
        assert over["actual"][i] == label[n - 64 : n].mean()
    assert said["cards"][0]["value"] == f"{values['score']:.4f}"
    assert run("stream", "stream.csv", "--report", "page.html").code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 3
    assert "<script" not in page


def test_a_missing_extra_is_named_before_the_work(run, monkeypatch):
    write()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    run("decide", "scores.csv", "-o", "out.csv", "--report", "page.html").failed(
        1, "pip install 'argmetric[report]'"
    )
    assert not Path("out.csv").exists()
