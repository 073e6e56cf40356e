"""The page in a browser: its numbers are those of the package."""

import numpy as np
import pytest

import argmetric as am
from argmetric._ground.display import metric_title
from argmetric._report._curves import BETAS
from argmetric._report._figures import number
from argmetric.cli._report import short_threshold

KINDS = ("decision", "limited", "groups", "rule", "check", "tags", "stream", "monitor")
KINDS += ("labels", "classes", "class check", "class monitor")
METRICS = ("f1", "f0.25", "f3", "jaccard", "mcc", "kappa", "gmean", "accuracy")
PHONE = {"viewport": {"width": 390, "height": 844}}


def shown(page):
    """What the controls show, by name."""
    cells = page.locator("#now dd").all()
    return {cell.get_attribute("id")[4:]: cell.inner_text() for cell in cells}


def choose(page, metric):
    """Choose a metric by its name, with the slider where it is an F."""
    betas = [f"f{beta:g}" for beta in BETAS]
    if metric in betas:
        page.select_option("#metric", "")
        page.locator("#beta").fill(str(betas.index(metric)))
    else:
        page.select_option("#metric", metric)


def move(page, place):
    page.locator("#cut").fill(str(place))


def test_the_best_cut_of_every_metric_is_that_of_decide(visit, rows):
    p, page = rows[0], visit("decision")
    recall = am.decide(p, "recall", zero_division=np.nan).curve
    for metric in METRICS:
        choose(page, metric)
        wanted, now = am.decide(p, metric), shown(page)
        assert page.locator("#now-metric").inner_text() == metric_title(metric)
        assert now["score"] == number(wanted.expected)
        assert now["k"] == f"{wanted.n_positives:,}"
        assert now["cut"] == f"p ≥ {short_threshold(p, wanted.threshold)}"
        assert now["lost"] == "0.000"
        hits = p[wanted.labels == 1].sum()
        assert now["tp"] == f"{hits:,.1f}"
        assert now["fp"] == f"{wanted.n_positives - hits:,.1f}"
        assert now["fn"] == f"{p.sum() - hits:,.1f}"
        assert now["precision"] == number(hits / wanted.n_positives)
        assert now["recall"] == number(recall[wanted.n_positives])


@pytest.mark.parametrize(
    ("kind", "floor"),
    [
        ("recall", "0.6"),
        ("precision", "0.85"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                *(("recall", floor) for floor in ("0.3", "0.85")),
                *(("precision", floor) for floor in ("0.3", "0.6")),
            )
        ),
    ],
)
def test_floors_are_those_of_decide(visit, rows, kind, floor):
    p, page = rows[0], visit("decision")
    page.select_option(f"#floor-{kind}", floor)
    for metric in ("f1", "f2", "mcc"):
        choose(page, metric)
        wanted = am.decide(p, metric, **{f"min_{kind}": float(floor)})
        now = shown(page)
        assert now["k"] == f"{wanted.n_positives:,}"
        assert now["score"] == number(wanted.expected)


def test_floors_that_no_cut_meets(visit):
    page = visit("decision")
    page.select_option("#floor-recall", "0.95")
    page.select_option("#floor-precision", "0.95")
    assert page.locator("#impossible").is_visible()
    page.select_option("#floor-precision", "0.0")
    assert not page.locator("#impossible").is_visible()


def test_limits_of_the_decision_are_kept(visit, rows):
    p, page = rows[0], visit("limited")
    wanted = am.decide(p, "mcc", max_positives=200, min_recall=0.3)
    assert page.locator("#metric").input_value() == "mcc"
    assert page.locator("#floor-recall").input_value() == "0.3"
    assert shown(page)["k"] == f"{wanted.n_positives:,}"
    choose(page, "f2")
    wanted = am.decide(p, "f2", max_positives=200, min_recall=0.3)
    assert shown(page)["score"] == number(wanted.expected)
    page.select_option("#floor-recall", "0.0")
    for metric in ("accuracy", "f0.5"):
        choose(page, metric)
        wanted = am.decide(p, metric, max_positives=200)
        assert shown(page)["k"] == f"{wanted.n_positives:,}"


def test_a_metric_that_is_minimised(visit, rows):
    p, page = rows[0], visit("minimised")
    for metric in ("sec", "f1"):
        choose(page, metric)
        wanted = am.decide(p, metric, min_recall=0.2)
        page.select_option("#floor-recall", "0.2")
        assert shown(page)["score"] == number(wanted.expected)
        assert shown(page)["k"] == f"{wanted.n_positives:,}"


def test_a_cut_that_is_moved(visit, rows):
    p, page = rows[0], visit("decision")
    curves = {name: am.decide(p, name).curve for name in ("f1", "mcc")}
    for metric, curve in curves.items():
        choose(page, metric)
        for place in (0, 7, 100, 350):
            move(page, place)
            now = shown(page)
            k = int(now["k"].replace(",", ""))
            assert now["score"] == number(curve[k])
            assert now["lost"] == number(curve.max() - curve[k])
            if k:
                cut = float(now["cut"].removeprefix("p ≥ "))
                assert int((p >= cut).sum()) == k
    page.click("#best")
    assert shown(page)["score"] == number(curves["mcc"].max())


def test_a_cut_that_is_dragged(visit, rows):
    p, page = rows[0], visit("decision")
    curve = am.decide(p).curve
    page.locator("#curve").scroll_into_view_if_needed()
    box = page.locator("#curve").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], middle)
    page.mouse.down()
    seen = []
    for part in (0.4, 0.6, 0.8):
        page.mouse.move(box["x"] + part * box["width"], middle)
        now = shown(page)
        seen.append(int(now["k"].replace(",", "")))
        assert now["score"] == number(curve[seen[-1]])
    page.mouse.up()
    assert seen == sorted(set(seen))
    page.mouse.move(box["x"] + 0.2 * box["width"], middle)
    assert shown(page)["k"] == f"{seen[-1]:,}"


def test_by_keyboard(visit):
    page = visit("decision")
    page.focus("#cut")
    before = int(page.locator("#cut").input_value())
    page.keyboard.press("ArrowRight")
    assert int(page.locator("#cut").input_value()) == before + 1
    assert shown(page)["k"] in page.locator("#cut").get_attribute("aria-valuetext")
    page.focus("#best")
    page.keyboard.press("Enter")
    assert int(page.locator("#cut").input_value()) == before


def test_one_cut_for_all_groups(visit, rows):
    p, _, groups = rows
    page = visit("groups")
    for metric in ("f1", "jaccard"):
        choose(page, metric)
        decision = am.decide(p, metric, groups=groups, average="groups")
        now = shown(page)
        assert now["score"] == number(decision.best_cut.expected)
        assert now["k"] == f"{decision.best_cut.n_positives:,}"
    assert page.get_by_text("<script>alert(").count() == 10


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_hidden_without_a_script(visit, files, kind):
    page = visit(kind, java_script_enabled=False)
    assert not page.locator("#controls").is_visible()
    assert page.locator("h1").is_visible()
    looks = {"monitor": "line.error", "tags": "rect.bar", "classes": "rect.bar"}
    looks["class check"] = "rect.bar"
    drawn = looks.get(kind, looks.get(kind.removeprefix("class "), "path.line"))
    assert page.locator(f"figure svg {drawn}").count() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_only_tables_scroll_on_a_phone_and_say_so(visit, kind):
    page = visit(kind, **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    tables = page.evaluate(
        """[...document.querySelectorAll(".scroll")].map((one) => [
            one.getAttribute("aria-label"),
            one.scrollWidth > one.clientWidth + 24,
            getComputedStyle(one, "::before").content.includes("scroll"),
        ])"""
    )
    silent = [name for name, scrolls, told in tables if scrolls and not told]
    assert silent == []


VIEWS = {"light": {}, "dark": {"color_scheme": "dark"}, "phone": PHONE}


@pytest.mark.parametrize(
    ("kind", "view"),
    [
        pytest.param(kind, view, marks=() if (i - j) % 3 == 0 else pytest.mark.slow)
        for i, kind in enumerate(KINDS)
        for j, view in enumerate(VIEWS)
    ],
)
def test_axe_finds_nothing(visit, kind, view):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="needs axe-playwright-python: make test-browser",
    )
    found = axe.Axe().run(visit(kind, **VIEWS[view])).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_paper_has_no_controls(visit):
    page = visit("decision")
    page.emulate_media(media="print")
    assert not page.locator("#controls").is_visible()
    assert page.locator("figure").first.is_visible()


def test_the_first_screen_has_the_decision(visit, rows):
    p, page = rows[0], visit("decision", viewport={"width": 1280, "height": 800})
    low, high = am.forecast(p, am.decide(p).labels).interval
    for text in (
        f"90 % interval {low:.3f} to {high:.3f}",
        "labels independent given the scores",
        "The top of the curve is the best number of positives",
    ):
        box = page.get_by_text(text).first.bounding_box()
        assert box["y"] + box["height"] < 800


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_screen_has_cards_one_picture_and_at_most_one_warning(visit, kind):
    page = visit(kind, viewport={"width": 1280, "height": 800})
    assert page.locator(".note").count() <= 1
    for part in (".cards", ".lead figure > svg", ".lead figcaption"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] < 800


def test_the_histogram_is_that_of_the_chosen_period(visit, watched):
    page, said = visit("monitor"), am.report(watched).values["histogram"]
    assert page.locator("#period option").count() == len(watched.periods)

    def heights():
        bars = page.locator("#histogram .own").all()
        return np.array([float(bar.get_attribute("height")) for bar in bars])

    scales = []
    for i, shares in enumerate(said["shares"]):
        page.select_option("#period", str(i))
        scales.append(heights().sum())
        assert np.allclose(heights() / scales[-1], shares, atol=0.002)
    assert np.allclose(scales, scales[0], rtol=0.01)


def test_every_fine_says_what_cannot_be_seen(visit, watched):
    page = visit("monitor")
    assert "no shift" in [one.verdict for one in watched.periods]
    cells = page.locator("td").all_inner_texts()
    assert "no shift" in cells
    assert "a changed label definition" in page.inner_text("main")
