"""A Chromium of the system, or a skip that says what is missing."""

import os
import shutil

import numpy as np
import pytest

DAYS = ("2026-01-05", "2026-01-12", "2026-01-19")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def chromium():
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: make test-browser"
    )
    path = os.environ.get("ARGMETRIC_CHROMIUM")
    path = path or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("needs Chromium: install it, or set ARGMETRIC_CHROMIUM to its path")
    with sync_api.sync_playwright() as playwright:
        # Without its sandbox and shared memory it also runs in a container, and it
        # looks for nothing in the network.
        flags = ["no-sandbox", "disable-dev-shm-usage", "disable-background-networking"]
        flags += ["disable-component-update", "disable-sync", "no-first-run"]
        browser = playwright.chromium.launch(
            executable_path=path, args=[f"--{flag}" for flag in flags], timeout=120_000
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def rows():
    rng = np.random.default_rng(11)
    p = rng.beta(0.4, 3.0, 3000)
    y = (rng.random(p.size) < p).astype(int)
    groups = np.array([f"<script>alert({i % 300})</script>" for i in range(p.size)])
    return p, y, groups


@pytest.fixture(scope="session")
def watched(rows):
    """Three periods: a quiet one, one of other rows, one of few positives."""
    import argmetric as am

    p, y, groups = rows
    new = np.concatenate([p[1000:1500], p[1500:][(p > 0.05)[1500:]][:300]])
    new = np.concatenate([new, p[2000:][(p < 0.3)[2000:]][:500]])
    known = np.where(
        np.arange(new.size) < 450, np.resize(y[1000:1500], new.size), np.nan
    )
    day = np.repeat(DAYS, [500, 300, 500])
    names = np.where(np.arange(new.size) % 2, groups[0], "b")
    how = {"time": day, "known": known, "by": names, "floor": 0.3}
    return am.monitor(new, 0.3, reference=(y[:1000], p[:1000]), every="week", **how)


@pytest.fixture(scope="session")
def files(rows, watched, tmp_path_factory):
    """Reports of every kind, as files."""
    import argmetric as am
    from argmetric._report import report_decision
    from argmetric.cli import main

    p, y, groups = rows
    folder = tmp_path_factory.mktemp("reports")
    rng, labels = np.random.default_rng(3), (p >= 0.4).astype(int)
    many = rng.dirichlet([3.0, 1.0, 0.4], size=600)
    code = (many.cumsum(axis=1) > rng.random((600, 1))).argmax(axis=1)
    classes = am.classes.decide(many)
    known = {"reference": (code[:300], many[:300]), "time": np.repeat(DAYS[:2], 150)}
    made = {
        "labels": report_decision(am.decide(p), labels=labels),
        "classes": am.report(classes, code),
        "class check": am.report(am.classes.check(code, many)),
        "class monitor": am.report(
            am.classes.monitor(many[300:], classes.labels[300:], every="week", **known)
        ),
        "decision": am.report(am.decide(p), y),
        "limited": am.report(am.decide(p, "mcc", max_positives=200, min_recall=0.3)),
        "minimised": am.report(am.decide(p, "sec")),
        "groups": am.report(am.decide(p, groups=groups, average="groups"), y),
        "rule": am.report(am.tune(y, p)),
        "check": am.report(am.calibration_check(y, p)),
        "monitor": am.report(watched),
    }
    for name, report in made.items():
        report.save(folder / f"{name}.html")
    (folder / "tags.txt").write_text("Ana B-PER B-PER\n<b> O B-LOC\n\n" * 9)
    lines = [f"{label},{x:.4f}" for x, label in zip(p, y, strict=True)]
    (folder / "rows.csv").write_text("\n".join(["label,x", *lines]) + "\n")
    for name, *command in (("tags", "tag", "evaluate"), ("stream", "stream")):
        source = {"tags": "tags.txt", "stream": "rows.csv"}[name]
        target = str(folder / f"{name}.html")
        assert main([*command, str(folder / source), "--report", target]) == 0
    return folder


@pytest.fixture
def visit(chromium, files):
    """Open a report; whatever it complains of fails the test."""
    contexts, complaints = [], []

    def visit(name, **options):
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        address = (files / f"{name}.html").as_uri()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on(
            "request",
            lambda request: request.url == address or complaints.append(request.url),
        )
        page.goto(address)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []
