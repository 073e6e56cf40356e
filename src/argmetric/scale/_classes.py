"""decide and evaluate with one of several classes per row, over files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from argmetric._ground.arguments import as_flags, check_seed, shown
from argmetric._ground.label_words import clip_label, list_labels
from argmetric._ground.labels import label_array, plain_label
from argmetric._ground.saving import plain
from argmetric._ground.types import ClassNames, Floats, Integers, Path, ReferenceLike
from argmetric.classes import (
    ActualClassScore,
    MultiClassRule,
    check_class_probabilities,
    codes_of,
    decide,
    expected_table,
    given_classes,
    refuse_asked,
    resolve_calibrator,
    score_of_counts,
    sorted_classes,
)
from argmetric.metrics import ClassAverage, MetricLike, get_class_metric
from argmetric.scale._columns import LEAST_ROWS, FileBatch, WantedColumns, label_codes
from argmetric.scale._decide import name_of
from argmetric.scale._output import Writer, writing
from argmetric.scale._result import ScaledClassDecision
from argmetric.scale._scan import OpenedFiles, Scan, scanning
from argmetric.scale.files import DataError

SAMPLE_ROWS = 200_000  # that are decided together to find a rule
CELL_BYTES = 64  # of a probability, while its row is read, mapped and decided
MOST_CLASSES = 10_000  # of columns of labels
Pairs = Counter[tuple[Any, Any]]  # rows by true label and decision


def decide_classes(
    files: OpenedFiles,
    metric: MetricLike = "f1",
    *,
    output: Path,
    classes: ClassNames | None = None,
    average: ClassAverage | None = None,
    zero_division: float | None = None,
    reference: ReferenceLike | None = None,
    rule: MultiClassRule | None = None,
    random_state: int = 0,
    resume: bool = False,
) -> ScaledClassDecision:
    r"""Choose one of several classes for every row.

    A random sample of at most 200,000 rows is decided as by `argmetric.classes.decide`.
    The rule of that decision, the largest weight·p + offset, labels all rows in one
    pass. The output has the same files, rows, order and columns, as Parquet, plus the
    labels. It appears when it is complete. The files were opened with `scores`, the
    columns of probabilities.

    Parameters
    ----------
    files : Files
        The files, of which this is a method.
    metric, average, zero_division
        See `argmetric.classes.decide`; a metric whose decisions are such a rule.
    output : str or path
        The folder to write. One of an earlier run is replaced.
    classes : array-like, optional
        The class of each of the columns `scores`; by default their names.
    reference : pair (y, p) or Calibrator, optional
        See `argmetric.classes.decide`; labelled rows are in memory.
    rule : MultiClassRule, optional
        The rule to apply, such as `ClassDecision.rule` or that of
        `argmetric.classes.tune`; by default it is found on the sample.
    random_state : int, default=0
        Seed of the sample, which is smaller where memory is short.
    resume : bool, default=False
        Continue a run that was interrupted.

    Returns
    -------
    ScaledClassDecision
        Where the labels are, how many there are of each class, and the expected score.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from argmetric import scale
    >>> folder = Path(tempfile.mkdtemp())
    >>> path = folder / "scores.csv"
    >>> size = path.write_text("cat,dog\n0.9,0.1\n0.2,0.8\n")
    >>> files = scale.open(path, scores=["cat", "dog"])
    >>> files.decide_classes("accuracy", output=folder / "out").counts
    array([1, 1])
    """
    (resume,) = as_flags(resume=resume)
    columns = files.scores or []
    if len(columns) < 2 or len(set(columns)) < len(columns):
        raise ValueError(
            "open the files with scores=, two columns or more, each once, not "
            f"{shown(files.scores)}"
        )
    given = columns if classes is None else classes
    names = given_classes(given, len(columns))
    sorted_classes(set(names), "classes")
    try:
        pa.array(names)
    except (OverflowError, pa.ArrowException):
        large = max(names, key=abs) if isinstance(names[0], int) else names[0]
        raise ValueError(
            f"classes has {clip_label(large)}, which no column of a file can hold: "
            "pass text, or whole numbers below 2^63"
        ) from None
    words: Any = {"average": average, "zero_division": zero_division}
    of_metric = get_class_metric(metric, n_classes=len(names), **words)
    if rule is not None:
        if not isinstance(rule, MultiClassRule):
            raise TypeError(f"rule must be a MultiClassRule, not {shown(rule)}")
        if rule.classes != names:
            raise ValueError(
                f"rule is for the classes {list_labels(rule.classes)}, and scores for "
                f"{list_labels(names)}: name the columns in the order of the rule, and "
                "classes="
            )
        if reference is not None:
            raise ValueError("rule has a map of its own: leave out reference")
    calibrator, _ = resolve_calibrator(reference, names)
    check_seed(random_state)
    added = files.decision_column or "decision"
    wanted = WantedColumns({}, classes=columns, added=added)
    n_sampled = 0
    with writing(files, output, wanted, resume=resume) as writer:
        if rule is None:
            n_sampled, p = _sample(writer.scan, random_state)
            kept: dict[str, Any] = {"classes": names, "reference": calibrator}
            rule = decide(p, metric, **words, **kept).rule
        if rule is None:
            raise ValueError(
                f"{of_metric.name} has no rule for single rows: pass rule="
            )
        scan = writer.settle(
            {
                "metric": of_metric.name,
                "options": [plain(x) for x in (rule.weights, rule.offsets, rule.gains)],
                "calibrator": name_of(rule.calibrator),
                "columns": [columns, list(map(repr, names)), added],
            }
        )
        counts, tables = _label_files(writer, rule, added)
        if counts.sum() != scan.n:
            raise DataError(f"{scan.n:,} rows were read and {counts.sum():,} labelled")
        expected, most_probable = map(float, of_metric.score(tables))
    return ScaledClassDecision(
        output=writer.folders.output,
        classes=names,
        n=scan.n,
        n_files=len(scan.sources),
        counts=counts,
        expected_confusion=tables[0],
        expected=expected,
        most_probable=most_probable,
        rule=rule,
        n_sampled=n_sampled,
        metric=of_metric,
        skipped=scan.skipped,
    )


def _sample(scan: Scan, random_state: int) -> tuple[int, Floats]:
    """Return how many rows a rule is found on, and their probabilities."""
    cells = scan.memory // (CELL_BYTES * len(scan.columns.classes))
    size = min(scan.n, SAMPLE_ROWS, max(cells, LEAST_ROWS))
    rng = np.random.default_rng(random_state)
    rows = np.sort(rng.choice(scan.n, size, replace=False, shuffle=False))
    (p,) = scan.rows(rows, lambda batch: [batch.values])
    return size, p


def _label_files(writer: Writer, rule: MultiClassRule, column: str) -> list[Any]:
    """Write the output, and return the rows of each class and expected confusions.

    The confusions (2, classes, classes) are those of the labels and of the most
    probable classes.
    """
    names, count = pa.array(rule.classes), len(rule.classes)

    def label(batch: FileBatch) -> tuple[pa.Array, list[Any]]:
        p = given = batch.values
        if rule.calibrator is not None:
            apply = getattr(rule.calibrator, "apply", rule.calibrator)
            place = f"{batch.source.path}: calibrated p"
            p = check_class_probabilities(apply(p), place, first=batch.first + 1)
        codes = rule.predicts(given)
        tables = [expected_table(p, one) for one in (codes, p.argmax(axis=1))]
        counts = np.bincount(codes, minlength=count)
        return names.take(pa.array(codes)), [counts, np.stack(tables)]

    return writer.append(column, names.type, label, CELL_BYTES * count)


def evaluate_classes(
    files: OpenedFiles,
    metric: MetricLike = "f1",
    *,
    classes: ClassNames | None = None,
    average: ClassAverage | None = None,
    zero_division: float | None = None,
) -> ActualClassScore:
    r"""Return the actual score of a column of classes.

    The score is that of `argmetric.classes.evaluate` on all rows at once.

    Parameters
    ----------
    files : Files
        The files, of which this is a method.
    metric, average, zero_division
        See `argmetric.classes.evaluate`.
    classes : array-like, optional
        All classes, in the order of the table of counts; by default those that occur,
        sorted.

    Returns
    -------
    ActualClassScore
        The score and the table of counts.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from argmetric import scale
    >>> path = Path(tempfile.mkdtemp(), "classes.csv")
    >>> size = path.write_text("label,decision\ncat,cat\ndog,cat\ndog,dog\n")
    >>> scale.open(path).evaluate_classes("accuracy").confusion.tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    known = None if classes is None else label_array(classes, "classes")
    names = None if known is None else tuple(map(plain_label, known.tolist()))
    words: Any = {"average": average, "zero_division": zero_division}
    get_class_metric(metric, n_classes=len(names or (0, 1)), **words)
    wanted = WantedColumns(
        {"decision_column": files.decision_column, "label": files.label}
    )
    with scanning(files, wanted, two_classes=False) as scan:
        columns = [one.column for one in scan.columns.of_labels]

        def count(batch: FileBatch) -> Pairs:
            return _pairs(batch, columns, names)

        def merge(parts: list[Pairs]) -> Pairs:
            return sum(parts, Counter())

        pairs = scan.merge_batches(count, merge)
        if sum(pairs.values()) != scan.n:
            raise DataError(f"{scan.n:,} rows were read and others are counted")
    if names is None:
        true, decided = (set(side) for side in zip(*pairs, strict=True))
        refuse_asked(true, decided, columns[1])
        names = sorted_classes(true | decided, "the columns")
    of_metric = get_class_metric(metric, n_classes=len(names), **words)
    actual, said = (
        codes_of(list(side), names, len(pairs), column)
        for side, column in zip(zip(*pairs, strict=True), columns, strict=True)
    )
    counts = np.zeros((len(names), len(names)), np.int64)
    np.add.at(counts, (actual, said), list(pairs.values()))
    return score_of_counts(counts, names, of_metric)


def _pairs(
    batch: FileBatch, columns: Sequence[str], classes: tuple[Any, ...] | None
) -> Pairs:
    """Return the number of rows of a batch with each pair of labels."""
    pairs: Pairs = Counter()
    coded = [_label_codes(batch, one, classes) for one in columns]
    (of_truth, truth), (of_decision, decision) = coded
    counts = np.bincount(truth * len(of_decision) + decision)
    for place in np.flatnonzero(counts).tolist():
        i, j = divmod(place, len(of_decision))
        pairs[of_truth[i], of_decision[j]] += int(counts[place])
    return pairs


def _label_codes(
    batch: FileBatch, column: str, classes: tuple[Any, ...] | None
) -> tuple[list[Any], Integers]:
    """Return the labels of a batch as `label_codes` does, if they are among classes."""
    names, codes = label_codes(batch, column)
    place = f"{batch.source.path}: column {column!r} has"
    if len(names) > MOST_CLASSES:
        raise DataError(f"{place} more than {MOST_CLASSES:,} classes")
    odd = [name for name in names if name not in (classes or names)]
    if odd:
        row = batch.first + int(np.argmax(codes == names.index(odd[0]))) + 1
        raise DataError(
            f"{place} the label {shown(odd[0])} at row {row}, which is not among the "
            f"classes ({list_labels(classes or ())})"
        )
    return names, codes
