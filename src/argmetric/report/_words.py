"""What a report says first, in words."""

from __future__ import annotations

from collections.abc import Iterator

from argmetric.report._document import Card, Document, Table, cut_text, units_of
from argmetric.report._numbers import count, number, percent, scores, share
from argmetric.report._sections import sections_of
from argmetric.report._summary import Summary


def document(said: Summary) -> Document:
    """The words for a summary."""
    if said.kind in ("decision", "labels"):
        return _of_decision(said)
    title = {
        "rule": f"A rule for {said.metric}",
        "check": "Are these probabilities fit to decide with?",
        "tags": "Predicted labels against right ones",
        "stream": f"{said.metric} of a stream, row by row",
    }[said.kind]
    rows = count(said.n, "row")
    if said.over is not None:
        rows = f"{said.names['file']}: {rows}"
    if said.tags is not None:
        tokens = count(said.n, "token")
        rows = (
            f"{said.names['file']}: {count(said.tags.sentences, 'sentence')}, {tokens}"
        )
    return Document(
        title=title,
        subtitle=f"{rows}, judged by {said.metric}",
        cards=tuple(Card(*fact) for fact in said.facts),
        assumptions=(),
        changes=None,
        change="",
        notes=said.notes,
        sections=tuple(sections_of(said)),
    )


def _of_decision(said: Summary) -> Document:
    chosen, score = said.chosen, said.score
    assert chosen is not None
    assert score is not None
    which = "Predict" if said.kind == "decision" else "These labels call"
    title = f"{which} {chosen.positives:,} of {said.n:,} rows positive"
    over = ""
    if said.n_groups is not None:
        over = f", the mean over {said.n_groups:,} {units_of(said)}"
    file = f"{said.names['file']}: " if "file" in said.names else ""
    return Document(
        title=title,
        subtitle=f"{file}judged by {said.metric}{over}; {said.convention}",
        cards=tuple(_cards(said)),
        assumptions=score.assumptions,
        changes=_changes(said),
        change=_near(said),
        notes=said.notes,
        sections=tuple(sections_of(said)),
    )


def _cards(said: Summary) -> Iterator[Card]:
    chosen, score, half = said.chosen, said.score, said.half
    assert chosen is not None
    assert score is not None
    assert half is not None
    raw = "" if said.raw_cut is None else f"{said.raw_cut} as given; "
    yield Card(
        "Cut",
        cut_text(said, chosen),
        f"{raw}{share(chosen.positives, said.n)} of the rows are called positive; "
        f"{said.expected_positives:,.1f} positives are expected",
    )
    yield Card(
        f"Expected {said.metric}",
        number(chosen.expected),
        f"{percent(score.coverage)} interval {scores(score.low, score.high)}",
    )
    gain = chosen.expected - half.expected
    on = f"of {said.scale}: " if said.scale.startswith("calibrated ") else ""
    yield Card(
        "A cut at 0.5 instead",
        number(half.expected),
        f"{on}{half.positives:,} positives; {_gain(said, gain)}",
    )
    if said.truth is not None:
        inside = "inside" if said.truth.surprise is None else "outside of"
        yield Card(
            f"{said.metric} that was had",
            number(said.truth.score),
            f"{inside} the interval that was forecast",
        )


def _gain(said: Summary, gain: float) -> str:
    better = gain if said.greater_is_better else -gain
    if abs(better) < 5e-5:
        return "this decision scores the same"
    how = "more" if gain > 0 else "less"
    return f"this decision scores {number(abs(gain))} {how}"


def _changes(said: Summary) -> Table | None:
    if not said.changes:
        return None
    rows = [
        (one.what, number(one.here), f"{one.positives:,}", number(one.best))
        for one in said.changes
    ]
    header = ("If …", "this decision scores", "the best has", "and scores")
    return Table("Expected score if something is not as assumed", header, tuple(rows))


def _near(said: Summary) -> str:
    curves = said.curves
    assert curves is not None
    low, high = (curves.k[at] for at in curves.near)
    if said.kind == "labels":
        best = said.choices[0]
        return (
            f"The best decision has {best.positives:,} positives and is expected to "
            f"score {number(best.expected)}."
        )
    first, last = (curves.cuts[at] for at in curves.near)
    cuts = f" ({said.scale} from {last} to {first})" if first and last else ""
    which = "The cut" if said.n_groups is None else "A single cut for all rows"
    return (
        f"{which} can move between {low:,} and {high:,} positives{cuts} and lose less "
        f"than 0.01 of {said.metric}."
    )
