"""A report as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from functools import cache
from importlib import resources
from typing import Any

from argmetric._report import _figures as figures
from argmetric._report._curves import BETAS, FLOORS
from argmetric._report._report import require_page
from argmetric._report._sections import SIGNS, is_best_cut, probability, units_of
from argmetric._report._summary import Summary
from argmetric._report._watched import watched_figures
from argmetric._report._words import document
from argmetric._results.display import metric_title

UNIT = 1e9  # scores travel as whole numbers: shorter, and exact to what is shown
_LONGEST_TITLE = 120
SCRIPTS = ("page.js", "monitor.js")


def page(said: Summary) -> str:
    """The page, the same byte for byte for the same summary."""
    template, style, scripts = _assets()
    script = scripts["monitor.js" if said.watched is not None else "page.js"]
    doc = document(said)
    drawn: dict[str, Any] = {"interval": figures.interval_figure(said)}
    data = None
    if said.curves is not None and said.mass is not None:
        drawn["curve"] = figures.curve_figure(said)
        drawn["mass"] = figures.mass_figure(said.mass)
        data = _embedded(_controls(said))
    if said.calibration is not None:
        drawn["calibration"] = figures.reliability_figure(said.calibration)
    if said.groups is not None:
        drawn["groups"] = figures.groups_figure(said.groups)
    if said.truth is not None:
        drawn["truth"] = figures.truth_figures(said.truth)
    if said.thresholds is not None:
        drawn["thresholds"] = figures.threshold_figure(said.thresholds)
    if said.over is not None and said.over.rows:
        drawn["over"] = figures.over_figures(said.metric, said.over)
    if said.watched is not None:
        drawn |= watched_figures(said.metric, said.watched)
        data = _embedded(drawn["scores"]["data"])
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    text: str = template.render(
        said=said,
        doc=doc,
        title=doc.title[:_LONGEST_TITLE],
        figures=drawn,
        frame=figures.frame(),
        data=data,
        families=_families(said),
        floors=_floors(said),
        signs=SIGNS,
        probability=probability(said),
        metric=metric_title(said.metric),
        title_of=metric_title,
        units=units_of(said),
        square=figures.frame(figures.SQUARE),
        both_cuts=said.curves is not None and not is_best_cut(said),
        style=style,
        script=script,
        policy=f"{policy}; base-uri 'none'; form-action 'none'",
    )
    return text


@cache
def _assets() -> tuple[Any, str, dict[str, str]]:
    """The template, the style and the scripts."""
    jinja2 = require_page()
    folder = resources.files("argmetric._report") / "page"
    style, *scripts = (
        _dense((folder / name).read_text(encoding="utf-8"))
        for name in ("page.css", *SCRIPTS)
    )
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(
            {
                name: (folder / name).read_text(encoding="utf-8")
                for name in ("page.html", "figures.html")
            }
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {}
    named = dict(zip(SCRIPTS, scripts, strict=True))
    return environment.get_template("page.html"), style, named


def _dense(text: str) -> str:
    """Without the spaces at the beginning of lines."""
    return re.sub(r"^\s+", "", text, flags=re.MULTILINE)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _embedded(values: dict[str, Any]) -> str:
    """JSON that no parser of HTML takes for anything but text."""
    text = json.dumps(values, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _families(said: Summary) -> dict[str, Any]:
    """Metrics to choose from: one entry for all F of the given betas."""
    if said.curves is None:
        return {}
    betas = [(f"{beta:g}", f"f{beta:g}") for beta in BETAS]
    others = [name for name in said.curves.scores if name not in dict(betas).values()]
    return {"betas": betas, "others": others}


def _floors(said: Summary) -> dict[str, list[float]]:
    """Floors to choose from, that of the decision included."""
    if said.curves is None or said.curves.recall is None:
        return {}
    return {
        name: sorted({0.0, *FLOORS, said.limits.get(f"min_{name}", 0.0)})
        for name in ("recall", "precision")
    }


def _controls(said: Summary) -> dict[str, Any]:
    """What the script works with: all numbers at all places, nothing to compute."""
    curves = said.curves
    assert curves is not None
    assert said.chosen is not None
    recall = curves.recall
    return {
        "metric": said.metric,
        "scale": said.scale,
        "sign": 1 if said.greater_is_better else -1,
        "positives": said.expected_positives,
        "n": said.n,
        "k": curves.k,
        "cuts": curves.cuts,
        "hits": [round(hits, 6) for hits in curves.hits],
        "recall": None if recall is None else _units(recall),
        "scores": {name: _units(values) for name, values in curves.scores.items()},
        "best": curves.best,
        "views": {
            name: [view.most, view.low, view.high, view.x_ticks, view.y_ticks]
            for name, view in curves.views.items()
        },
        "betas": _families(said)["betas"],
        "half": curves.half,
        "cut": None if is_best_cut(said) else curves.best_cut,
        "titles": {name: metric_title(name) for name in curves.scores},
        "chosen": curves.chosen,
        "level": said.chosen.expected,
        "least": curves.least,
        "most": curves.most,
        "frame": figures.frame(),
    }


def _units(values: tuple[float, ...]) -> list[int | None]:
    return [round(x * UNIT) if math.isfinite(x) else None for x in values]
