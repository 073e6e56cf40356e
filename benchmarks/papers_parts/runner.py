"""Run claims, one after the other: whatever becomes of one, the next has its turn."""

from __future__ import annotations

import math
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from harness import MissingData, described, unheard

from papers_parts.claim import FAILED, NOT_RUN, Claim, Estimate, Figure, Figures


def entry(claim: Claim) -> dict[str, Any]:
    """What is declared of a claim."""
    return {
        "name": claim.name,
        "paper": claim.paper,
        "place": claim.place,
        "says": claim.says,
        "data": claim.data,
        "seeds": claim.seeds,
        "asked": {ask.figure: described(ask.target) for ask in claim.asks},
        "printed": dict(claim.printed),
        "remark": claim.remark,
    }


def run(claims: Sequence[Claim], *, fast: bool) -> Iterator[dict[str, Any]]:
    """What was declared and what was found, as soon as it is."""
    for claim in claims:
        yield outcome(claim, fast=fast)


def outcome(claim: Claim, *, fast: bool) -> dict[str, Any]:
    """One claim: its figures and its verdict, or why there are none."""
    start = time.process_time()
    figures: Figures = {}
    judged: dict[str, Any] = {"answers": {}}
    try:
        with unheard(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are for those who choose the options
            figures = claim.measure(fast)
        judged = _judged(claim, figures, fast)
    except MissingData as missing:
        judged |= {"verdict": NOT_RUN, "why": str(missing)}
    except ModuleNotFoundError as missing:
        package = (missing.name or "").split(".")[0]
        why = f"{package} is not installed: it is in the extra bench"
        judged |= {"verdict": NOT_RUN, "why": why}
    except Exception as problem:
        why = f"{type(problem).__name__}: {problem}, {_where(problem)}"
        judged |= {"verdict": FAILED, "why": why}
    ours = {name: _stored(figure) for name, figure in figures.items()}
    seconds = round(time.process_time() - start, 1)
    return entry(claim) | {"fast": fast, "ours": ours, **judged, "cpu_seconds": seconds}


def judged_again(claim: Claim, stored: dict[str, Any]) -> dict[str, Any]:
    """A stored result, in the words and by the rules that are declared now."""
    keys = ("fast", "ours", "verdict", "why", "cpu_seconds")
    found = {"answers": {}, **{key: stored[key] for key in keys}}
    if stored["verdict"] not in (NOT_RUN, FAILED):
        figures = {name: _figure(one) for name, one in stored["ours"].items()}
        found |= _judged(claim, figures, stored["fast"])
    return entry(claim) | found


def _judged(claim: Claim, figures: Figures, fast: bool) -> dict[str, Any]:
    verdict, why = claim.verdict(figures, fast=fast)
    answers = claim.answers(figures, fast=fast)
    return {"answers": answers, "verdict": verdict, "why": why}


def _where(problem: Exception) -> str:
    last = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno}"


def _stored(figure: Figure) -> dict[str, Any]:
    interval = None
    if isinstance(figure, Estimate):
        interval = [_number(figure.low), _number(figure.high)]
        figure = figure.value
    return {"value": _number(figure), "interval": interval}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _figure(stored: dict[str, Any]) -> Figure:
    if stored["interval"] is None:
        return _float(stored["value"])
    return Estimate(*map(_float, (stored["value"], *stored["interval"])))


def _float(value: float | None) -> float:
    return math.nan if value is None else value
