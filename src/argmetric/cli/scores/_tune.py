"""``argmetric tune``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from argmetric import _files as files
from argmetric._input.label_words import Spelled
from argmetric._input.types import Floats
from argmetric.cli._errors import UsageError
from argmetric.cli._learning import warnings_in
from argmetric.cli._option_sets import (
    DEFAULT_COLUMNS,
    DEFAULT_SCORES,
    Columns,
    Judge,
    Scores,
    metric_named,
)
from argmetric.cli._options import (
    AMOUNT,
    METRIC,
    METRICS,
    NAMED_METRIC,
    Choice,
    Coverage,
    Flag,
    Json,
    MoreFiles,
    MostTuned,
    ReportTarget,
    RowsFile,
    Seed,
    Share,
    Target,
    Weight,
    WideAverageOver,
    ZeroOverZero,
)
from argmetric.cli._progress import progress
from argmetric.cli._summary import Values, rows_described
from argmetric.cli.scores._inputs import Input, gathered, shown_input
from argmetric.cli.scores._load import (
    Groups,
    find_label,
    find_score,
    load_weights,
    read_rows,
    refuse_shared,
)
from argmetric.cli.scores._many import NO_PIECES, Pieces, refuse_beside_pieces
from argmetric.cli.scores._page import require, save
from argmetric.cli.scores._rules import (
    refuse_bad_target,
    rule_values,
    save_rule,
)
from argmetric.cli.scores._tuned import tell
from argmetric.cli.scores.wide._columns import NOT_WIDE, Wide, refuse_beside_wide
from argmetric.cli.scores.wide._tune import tune_wide

if TYPE_CHECKING:
    from argmetric import Rule

_PLACEHOLDER = "{metric}"


def tune(
    file: RowsFile,
    /,
    *more: MoreFiles,
    scores: Scores = DEFAULT_SCORES,
    wide: Wide = NOT_WIDE,
    columns: Columns = DEFAULT_COLUMNS,
    weight: Weight = None,
    no_label: Annotated[bool, Flag, Parameter(group=METRIC)] = False,
    metric: Annotated[
        list[str] | None,
        NAMED_METRIC,
        Parameter(
            negative="",
            help=f"{METRICS} Repeat it for several metrics, each with its own rule. "
            "[default: f1]",
        ),
    ] = None,
    zero_division: ZeroOverZero = None,
    cost_fp: Annotated[float | None, Parameter(group=METRIC, validator=AMOUNT)] = None,
    cost_fn: Annotated[float | None, Parameter(group=METRIC, validator=AMOUNT)] = None,
    average: WideAverageOver = None,
    choice: Choice = "best",
    max_positives: MostTuned = None,
    min_precision: Share = None,
    min_recall: Share = None,
    coverage: Coverage = 0.9,
    seed: Seed = 0,
    output: Target = None,
    report: ReportTarget = None,
    json: Json = False,
    pieces: Pieces = NO_PIECES,
) -> int:
    """Find the threshold with the best score on labelled rows, and keep it as a rule.

    Every cut between two different scores is tried, so none is better. The answer goes
    to standard output: the rule, its score here and the score to expect on other rows,
    with bootstrap intervals, and how far the threshold can move without loss.
    `argmetric decide --rule` applies the rule. With --scores 'p_*' and --labels 'y_*'
    rows have several labels, each with a threshold of its own. A folder or a pattern
    such as 'scores/*.parquet', and a file larger than --memory, are read in pieces.

    Parameters
    ----------
    no_label
        Use no labels: the threshold that is best for a large population with these
        probabilities, if they are calibrated. For f1, jaccard and other fractions.
    cost_fp
        The cost of a false alarm; with --cost-fn, instead of a metric.
    cost_fn
        The cost of a miss; with --cost-fp, instead of a metric.
    min_precision
        Keep the precision on these rows at or above this.
    min_recall
        Keep the recall on these rows at or above this.
    output
        The file for the rule, JSON, replaced whole or not at all. With several metrics
        its name must hold {metric}, as in rule-{metric}.json.
    """
    source = gathered(file, more)
    cost = _cost(cost_fp, cost_fn, metric)
    metrics = [metric_named(name, zero_division) for name in metric or ["f1"]]
    names = [one.name for one in metrics] if not cost else ["cost"]
    targets, reports = (_targets(path, names) for path in (output, report))
    for path in reports:
        require(path)
    limits: dict[str, Any] = {
        "min_precision": min_precision,
        "min_recall": min_recall,
        "max_positives": max_positives,
        "choice": "best" if choice == "best" else "one_se",
        "coverage": coverage,
        "random_state": seed,
    }
    judge = Judge(average=average)
    if wide.asked:
        refuse_beside_wide(
            no_label=no_label, cost_fp=cost is not None, report=report is not None
        )
        if pieces.asked_for(source):
            refuse_beside_pieces(scores=True)
        return tune_wide(
            source,
            wide,
            scores,
            columns,
            judge,
            metrics,
            weight,
            targets,
            json=json,
            **limits,
        )
    how = judge.average_for(columns.group)
    if no_label and columns.label is not None:
        raise UsageError("--no-label and --label exclude each other")
    if pieces.asked_for(source):
        refuse_beside_pieces(
            format=columns.format is not None,
            no_label=no_label,
            group=columns.group is not None,
            weight=weight is not None,
            report=report is not None,
        )
        summary = _in_pieces(
            source,
            scores,
            columns,
            [None] if cost else [*metrics],
            targets,
            cost,
            pieces,
            cost=None if cost is None else (cost["fp"], cost["fn"]),
            **limits,
        )
        return tell(summary, json=json)
    table = read_rows(source, **columns.reading)
    score, p = _scores(table, scores, columns, label_free=no_label)
    label, y, positive = None, None, None
    if not no_label:
        taken = [score, columns.group, weight]
        label = find_label(table, columns.label, taken=taken)
        y, positive = files.classes(table, label, columns.pos_label)
    refuse_shared(score=score, label=label, group=columns.group, weight=weight)
    groups = None
    if columns.group is not None and how is not None:
        name = files.named_column(table, columns.group)
        groups = Groups(name, *files.groups(table, name), how)
    weights = load_weights(table, weight)
    with progress(f"tuning on {table.n_rows:,} rows"):
        from argmetric import tune as tuned

        rules: Any = tuned(
            y,
            p,
            None if cost else [*metrics],
            sample_weight=weights,
            groups=None if groups is None else groups.checked,
            average=how,
            cost=None if cost is None else (cost["fp"], cost["fn"]),
            pos_label=positive,
            **limits,
        )
    found: list[Rule] = list(rules.values()) if isinstance(rules, dict) else [rules]
    for rule, target in zip(found, targets, strict=bool(targets)):
        save_rule(rule, target)
    for rule, target in zip(found, reports, strict=bool(reports)):
        with progress("reporting"):
            save(rule.report(), target)
    used = {"score": score, "label": label, "group": columns.group, "weight": weight}
    summary = {
        **rows_described(table, **used),
        "groups": None if groups is None else len(groups.ids),
        "average": how,
        "prevalence": found[0].prevalence,
        "cost": cost,
        "rules": [rule_values(rule, score, p) for rule in found],
        "output": targets,
    }
    return tell(summary, json=json)


def _in_pieces(
    file: Input,
    scores: Scores,
    columns: Columns,
    metrics: list[Any],
    targets: list[str],
    costs: Values | None,
    pieces: Pieces,
    **options: Any,
) -> Values:
    """Tune on files of any size, each metric for itself."""
    from argmetric.scale import columns_of
    from argmetric.scale import tune as tuned

    score, label = columns_of(
        file,
        score=(scores.score, files.SCORE_NAMES + files.LOGIT_NAMES),
        label=(columns.label, files.LABEL_NAMES),
    )
    notes = [f"read in pieces, engine {pieces.engine}"]
    with warnings_in(notes), pieces.running() as how:
        found = [
            tuned(
                file,
                metric,
                score=score,
                label=label,
                pos_label=Spelled(columns.pos_label),
                **options,
                **how,
            )
            for metric in metrics
        ]
    for rule, target in zip(found, targets, strict=bool(targets)):
        save_rule(rule, target)
    rules = [rule_values(rule, score, None) for rule in found]
    for one in rules:
        one["notes"] = [*notes, *one["notes"]]
    return {
        "file": shown_input(file),
        "format": "parquet",
        "rows": found[0].n,
        "columns": {"score": score, "label": label},
        "groups": None,
        "average": None,
        "prevalence": found[0].prevalence,
        "cost": costs,
        "rules": rules,
        "output": targets,
    }


def _cost(
    fp: float | None, fn: float | None, metric: list[str] | None
) -> Values | None:
    if fp is None and fn is None:
        return None
    if fp is None or fn is None:
        raise UsageError("--cost-fp and --cost-fn go together")
    if metric is not None:
        raise UsageError("--cost-fp and --cost-fn take the place of --metric")
    return {"fp": fp, "fn": fn}


def _targets(output: str | None, names: list[str]) -> list[str]:
    """Return the file of every rule; one that cannot be is refused before the work."""
    if len(set(names)) < len(names):
        raise UsageError("--metric names the same metric twice")
    if output is None:
        return []
    if len(names) > 1 and _PLACEHOLDER not in output:
        raise UsageError(
            "several metrics make several rules: put {metric} into the name of the "
            "file, as in -o 'rule-{metric}.json'"
        )
    targets = [output.replace(_PLACEHOLDER, name) for name in names]
    for target in targets:
        refuse_bad_target(target)
    return targets


def _scores(
    table: files.Table, scores: Scores, columns: Columns, *, label_free: bool
) -> tuple[str, Floats]:
    """Return the column of scores: any numbers, but probabilities without labels."""
    score = find_score(table, scores, taken=[columns.group, columns.label])
    if not label_free:
        return score, files.numbers(table, score)
    if scores.logits:
        raise UsageError("--no-label works on probabilities, not on --logits")
    return score, files.probabilities(table, score)
