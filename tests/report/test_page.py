"""The page: its size, its bytes, its policy, and names that mean harm."""

import base64
import hashlib
import html
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import argmetric as am
from argmetric._report import report_decision, report_stream, report_tags
from argmetric._report._figures import number, short
from argmetric.cli._report import short_threshold
from argmetric.search.corpus.sentences import read_columns
from argmetric.stream import StreamMoment, alarms_in
from refusing import refuses

RNG = np.random.default_rng(2)
P = RNG.beta(0.4, 3.0, 1000)
Y = (RNG.random(P.size) < P).astype(int)
HOSTILE = "</script><script>alert(1)</script>\"'&|`*_[x](y)"


class Parts(HTMLParser):
    """Tags with their attributes, and all text outside of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self._raw = [], "", False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._raw = tag in ("script", "style")

    def handle_endtag(self, tag):
        self._raw = False

    def handle_data(self, data):
        if not self._raw:
            self.text += data


@pytest.fixture(scope="module")
def page():
    return am.report(am.decide(P), Y).render()


@pytest.fixture(scope="module")
def hostile():
    groups = np.array([f"{HOSTILE} {i % 60}" for i in range(P.size)])
    names = dict.fromkeys(("file", "score", "label", "group"), HOSTILE)
    decision = am.decide(P, groups=groups, average="groups")
    return report_decision(decision, Y, names=names)


def test_only_our_own_script_and_style_may_run(page):
    (policy,) = re.findall(r'Security-Policy" content="([^"]+)"', page)
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'")
    for kind, tag in (("script", "<script>"), ("style", "<style>")):
        content = page.split(tag)[1].split(f"</{kind}>")[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    attributes = {name for _, given in Parts(page).tags for name in given}
    assert not attributes & {"src", "href", "style", "onclick", "onload"}
    addresses = set(re.findall(r"https?://[\w./]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_names_that_mean_harm_are_text(hostile):
    page = hostile.render()
    parts = Parts(page)
    scripts = [given for tag, given in parts.tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "data"}, {}]
    assert "<script>alert" not in page
    assert HOSTILE in parts.text
    assert f"{HOSTILE} 1" in parts.text


def test_no_line_breaks_within_a_date():
    report = am.report(am.decide(P))
    page = replace(report, notes=("<b> from 2026-04-06 on", "2026-01-05")).render()
    assert '&lt;b&gt; from <span class="date">2026-04-06</span> on' in page
    assert page.count('<span class="date">') == 2


def test_names_that_mean_harm_are_text_in_markdown(hostile):
    text = hostile.render("md")
    assert "<script>" not in text.replace("\\<", "")
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert sum("alert" in block for block in blocks) > 1
    for block in blocks:
        bars = [len(re.findall(r"(?<!\\)\|", row)) for row in block.splitlines()]
        assert len(set(bars)) == 1


def test_a_terminal_is_not_commanded():
    said = report_decision(am.decide(P), names={"file": "\x1b[2Jscores\n.csv"})
    assert "\x1b" not in said.render("text")


def test_the_page_and_the_plot_of_a_check_show_the_same_points_and_cut():
    """On rare positives, where bins of rows lie far below the cut."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.1, 4.0, 5000)
    y = rng.random(p.size) < p**1.3
    check = am.calibration_check(y, p, n_bootstrap=2)
    display = am.CalibrationCostDisplay(check).plot()
    page = am.report(check).render()
    part = page.split('id="calibration-part"')[1].split("</figure>")[0]
    tags = Parts(part).tags
    ticks = [
        (float(x), float(value))
        for x, value in re.findall(r'class="x" x="([\d.]+)" y="\d+">([\d.]+)<', part)
    ]
    (left, low), (right, high) = ticks[0], ticks[-1]
    unit = (high - low) / (right - left)

    def placed(x):
        return low + unit * (float(x) - left)

    points = [placed(one["cx"]) for tag, one in tags if tag == "circle"]
    drawn = display.line_.get_xdata()
    np.testing.assert_allclose(points[: len(drawn)], drawn, atol=unit)
    assert len(points) == len(drawn) + 1  # and one in the legend
    (cut, _) = (placed(a["x1"]) for tag, a in tags if a.get("class") == "cut")
    assert cut == pytest.approx(check.threshold, abs=unit)
    assert f"threshold of decide: p ≥ {check.threshold:.3g}" in part
    assert f"threshold of decide: p ≥ {check.threshold:.3g}" in [
        one.get_label() for one in display.ax_.lines
    ]


@pytest.mark.parametrize("form", ["html", "md", "text"])
def test_the_figures_are_in_every_form(form):
    decision = am.decide(P)
    low, high = am.forecast(P, decision.labels).interval
    text = am.report(decision, Y).render(form)
    shown = [
        f"{decision.n_positives:,} of {P.size:,} rows",
        f"p ≥ {short_threshold(P, decision.threshold)}",
        f"{decision.expected:.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{decision.cut_half.expected:.3f}",
        "Actual F1",
        f"{am.evaluate(Y, decision.labels):.3f}",
        f"{am.decide(P, 'mcc').expected:.3f}",
        f"{am.calibration_check(Y, P).score_recalibrated:.3f}",
    ]
    assert [figure for figure in shown if figure not in text] == []


def test_the_docs_call_the_parts_as_the_page_does():
    decision = am.decide(P, groups=np.arange(P.size) % 20, average="groups")
    report = am.report(decision, Y)
    titles = [re.sub(r"^[\d,]+ g", "G", one.title) for one in report.sections]
    text = (Path(__file__).parents[2] / "docs/read_report.rst").read_text()
    named = re.findall(r"^(?:- )?\*\*([^*]+)\*\*", text, re.MULTILINE)
    assert named == ["The first screen", *titles]


def _other_pages(folder):
    """A page of each other kind, by what read_report calls it."""
    rng = np.random.default_rng(8)
    names = np.array(["ok", "late", "lost"])
    p = rng.dirichlet([3.0, 1.0, 0.5], size=300)
    code = (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
    day = np.repeat(["2026-01-05", "2026-01-12"], 300)
    many = am.classes.decide(p, classes=names)
    moved = np.concatenate([p[150:], p[150:][np.argsort(-p[150:, 1])][:60]])
    known = {"reference": (names[code[:150]], p[:150]), "classes": names}
    chosen, ends = np.argmax(moved, axis=1), np.repeat(day[::300], [150, 60])
    watched = am.classes.monitor(moved, names[chosen], time=ends, every="week", **known)
    halves = np.where(np.arange(600) % 2, "a", "b")
    monitored = am.monitor(
        P[400:], 0.3, reference=(Y[:400], P[:400]), time=day, every="week", by=halves
    )
    looks = [StreamMoment(n, 0.5, 0.3, n // 8, n // 4, n // 2) for n in (64, 128)]
    stream = {"metric": am.get_metric("f1"), "rows": 128, "file": "s.csv", "lines": []}
    (folder / "t.txt").write_text("Ana B-PER B-LOC\nran O O\n\n")
    text = read_columns(str(folder / "t.txt"))
    scores = ("LOC", "0.0", "0.0", "0.0", "0", "1", "1")
    how = {"metric": "f1", "cards": [], "types": [scores], "chunks": True}
    return {
        "A rule of ``tune``": am.report(am.tune(Y, P, n_bootstrap=2)),
        "A calibration check": am.report(am.calibration_check(Y, P)),
        "A decision among classes": am.report(many, names[code]),
        "A calibration check of classes": am.report(
            am.classes.check(code, p, n_bootstrap=2)
        ),
        "Monitoring": am.report(monitored),
        "Monitoring of classes": am.report(watched),
        "A stream": report_stream(looks, **stream),
        "Tags": report_tags(text, text.columns[1], text.columns[2], **how),
    }


def test_read_report_calls_the_parts_of_every_page_as_the_page_does(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "read_report.rst").read_text()
    part = " ".join(text.split("Other pages\n")[1].split("Questions to ask")[0].split())
    named = {
        item.split(":")[0]: re.findall(
            r"(?<!\*)\*([^*`]+)\*", item.split(" With more")[0]
        )
        for item in part.split(" - ")[1:]
    }
    pages = _other_pages(tmp_path)
    titles = {kind: [x.title for x in page.sections] for kind, page in pages.items()}
    assert named == titles
    for page in pages.values():
        shown = re.findall(r"<h2>(.+?)</h2>", page.render())
        (lead,) = [x.title for x in page.sections if x.figures][:1]
        assert shown[0] == lead
        assert set(shown) - {"Notes"} == {html.escape(x.title) for x in page.sections}


def test_html_alone_needs_the_extra(monkeypatch):
    from argmetric._report import _report

    report = am.report(am.decide(P))
    monkeypatch.setitem(sys.modules, "jinja2", None)
    _report._assets.cache_clear()
    refuses(ModuleNotFoundError, r"argmetric\[report\]", report.render, "html")
    assert report.render("md").startswith("# Predict")


def test_files_are_whole_or_not_there(tmp_path):
    report = am.report(am.decide(P))
    refuses(ValueError, r"ends in \.html", report.save, tmp_path / "report.pdf")
    refuses(ValueError, "cannot write", report.save, tmp_path / "none" / "report.html")
    assert list(tmp_path.iterdir()) == []
    for name, form in (("a.html", "html"), ("a.md", "md"), ("a.json", "json")):
        report.save(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == report.render(form)


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(page):
    shown = am.report(am.decide(P), Y)._repr_html_()
    assert shown.startswith("<iframe")
    assert "<script" not in shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.000"),
        (0.73456, "0.735"),
        (-0.25, "-0.250"),
        (12.5, "12.500"),
        (0.00873, "0.00873"),
        (0.0005, "0.000500"),
        (-2.671e-5, "-0.0000267"),
        (1e-12, "0.000000000"),
        (np.nan, "undefined"),
    ],
)
def test_numbers_are_written_out(value, text):
    assert number(value) == text


def test_a_long_name_is_cut_to_what_fits():
    assert short("monthly", 7) == "monthly"
    assert short("monthly orders", 7) == "monthl…"


def test_labels_found_in_another_way():
    labels = (P >= 0.4).astype(int)
    said = report_decision(am.decide(P), labels=labels)
    assert said.kind == "labels"
    assert said.title.startswith(f"These labels predict {labels.sum():,} of")
    assert said.values["forecast"] == am.forecast(P, labels).to_dict()
    decision = am.decide(P, reference=(Y, P))
    decided, said = (
        am.report(decision),
        report_decision(decision, labels=decision.labels),
    )
    assert said.values["forecast"] == decided.values["forecast"]
    levels = [one.values["curves"]["level"] for one in (said, decided)]
    assert levels[0] == pytest.approx(levels[1], rel=1e-12)


def test_advice_is_in_the_syntax_of_the_surface_that_was_used():
    decision = am.decide(P, groups=np.arange(P.size), average="groups")
    shell = report_decision(decision, Y, names={"file": "a.csv"}).render()
    python = am.report(decision, Y).render()
    for one, other in (
        ("--average pooled", "average=&#39;pooled&#39;"),
        ("--min-recall 0.8", "min_recall=0.8"),
        ("as --reference", "as reference=(y, p)"),
    ):
        assert one in shell
        assert one not in python
        assert other in python
        assert other not in shell


def test_an_alarm_is_said_and_drawn():
    hits = np.cumsum(
        np.arange(25_600) % np.where(np.arange(25_600) < 12_800, 10, 4) > 0
    )
    looks = [StreamMoment(n, 0.5, 0.5, *hits[[n - 1, n - 1]].tolist(), n)
             for n in range(64, 25_601, 64)]  # fmt: skip
    words = {"metric": am.get_metric("f1"), "rows": 25_600, "file": "s.csv"}
    page = report_stream(looks, **words, lines=[])
    (alarm,) = alarms_in(looks)
    assert f"Alarm at row {alarm.rows:,}: " in page.render("md")
    assert page.render("html").count('<line class="cut"') == 2 * 3  # and in legends
    calm = report_stream(looks[:200], **words, lines=[])
    assert "Alarm" not in calm.render("md")
    assert '<line class="cut"' not in calm.render("html")
