"""A report of models on the same rows: the verdict, the picture, the rows to label."""

from __future__ import annotations

from argmetric._compare import VERDICTS, Comparison
from argmetric._ground.display import metric_title
from argmetric._report import _figures as draw
from argmetric._report._figures import Figure, count, number, percent, scores
from argmetric._report._report import Card, PageTable, Report, Section

NEXT = 25  # rows to label that are listed
MEANINGS = dict(
    zip(
        VERDICTS,
        (
            "the posterior probability is .99 or more; it is no p-value",
            "the posterior probability is .9 or more: a batch of labels may settle it",
            "the posterior probability is below .9: label the rows below",
            "no label can tell models apart that decide alike",
        ),
        strict=True,
    )
)


def report_comparison(found: Comparison) -> Report:
    """A report of a comparison of two models or more."""
    one, best, title = found.difference(), found.best(), metric_title(found.metric.name)
    gap, models = f"{title} of {one.first} - {one.second}", found.scores()
    within = f"{percent(found.coverage)} interval {scores(*one.interval)}"
    sure = f"that {best.model} is the best"
    cards = (
        Card("Verdict", one.verdict, MEANINGS[one.verdict], accent=True),
        Card(f"{one.first} - {one.second}", f"{one.mean:+.4f}", within),
        Card("Probability", f"{best.probability:.3f}", sure),
        Card("Labels", f"{found.n_labels:,}", f"of {count(found.n, 'row')}"),
    )
    chances = dict(zip(found.names, found.to_dict()["p_best"], strict=True))
    table = [
        (name, number(x.mean), scores(*x.interval), f"{chances[name]:.3f}")
        for name, x in models.items()
    ]
    header = ("model", title, f"{percent(found.coverage)} interval", "P(best)")
    labels, mean, low, high = zip(*found.looks(), strict=True)
    y = draw.axis(gap, min(*low, 0.0), max(*high, 0.0), text="{:+g}".format)
    x = draw.axis("labels of these rows", 0.0, max(*labels, 1), whole=True)
    points = draw.points(labels, mean, name="mean and interval", low=low, high=high)
    zero = draw.level(0.0, "half", "no difference")
    caption = "The difference after each batch of labels; 0 is no difference."
    sections = [
        Section("models", "Scores", tables=(PageTable("Models", header, table),)),
        Section(
            "labels",
            "Difference by labels",
            figures=(Figure(caption, x, y, (points, zero)),),
        ),
    ]
    if found.n_labels < found.n and one.verdict != VERDICTS[3]:
        rows = ", ".join(map(str, found.next_rows(NEXT) + 1))
        needed = found.labels_needed(max(abs(one.mean), 0.005))
        text = (
            f"Counted from 1: {rows}.",
            f"About {count(needed, 'label')} of such rows show a difference of "
            f"{max(abs(one.mean), 0.005):.4f} with a probability of .8, if it is real.",
        )
        sections.append(Section("next", "Rows to label next", text))
    return Report(
        kind="compare",
        title=found._title(),
        subtitle=f"{count(found.n, 'row')}; metric: {title}",
        cards=cards,
        sections=tuple(sections),
        notes=found.notes,
        assumptions=found.assumptions,
        values={"comparison": {k: v for k, v in found.to_dict().items() if k in KEPT}},
    )


KEPT = ("names", "scores", "mean", "interval", "probability", "best", "n", "n_labels")
