"""What a report says of a stream: score, threshold and positives over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from argmetric._report._summary import Alarm, Over, Row, Summary
from argmetric.metrics import Metric
from argmetric.stream import of_late

POINTS = 512
FIRST_STEP = 64  # rows
STRETCHES = 40  # that are compared with what went before
LEAST_BEFORE = 4  # stretches
SIGMAS = 5.0  # beyond which a stretch is not chance: once in millions


class Look(NamedTuple):
    """What was known after some rows; hits and both kinds of positives are counts."""

    rows: int
    score: float
    threshold: float
    hits: int
    predicted: int
    actual: int

    @property
    def errors(self) -> int:
        """Rows that were predicted wrongly."""
        return self.predicted + self.actual - 2 * self.hits


NOTHING = Look(0, 0.0, 0.0, 0, 0, 0)


class StreamHistory:
    """Looks at a stream at even distances, which double when there are too many.

    Attributes
    ----------
    looks : list of Look
        At most `POINTS` of them.
    """

    def __init__(self, rows: int = 0) -> None:
        self.looks: list[Look] = []
        self._begun, self._step = rows, FIRST_STEP

    def pieces(self, rows: int, count: int) -> Iterator[slice]:
        """Parts of the next rows that end where the stream is to be looked at."""
        begin = 0
        while begin < count:
            left = self._step - (rows + begin - self._begun) % self._step
            end = min(begin + left, count)
            yield slice(begin, end)
            begin = end

    def look(self, look: Look) -> None:
        """Keep what is known now, where it is time to."""
        if (look.rows - self._begun) % self._step:
            return
        self.looks.append(look)
        if len(self.looks) > POINTS:
            self.looks = self.looks[1::2]
            self._step *= 2


def alarms_in(looks: Sequence[Look]) -> Iterator[Alarm]:
    """Stretches with more errors than those since the last alarm let expect.

    The share of errors before is an estimate too: the variance of the difference of
    what is seen and what is expected is m·p·(1-p)·(1 + m/n).
    """
    begun, last = NOTHING, NOTHING
    step = max(1, len(looks) // STRETCHES)
    for look in looks[step - 1 :: step]:
        rows, errors = look.rows - last.rows, look.errors - last.errors
        rows_before = last.rows - begun.rows
        if rows_before >= LEAST_BEFORE * rows:
            before = (last.errors - begun.errors) / rows_before
            variance = rows * before * (1 - before) * (1 + rows / rows_before)
            if errors - rows * before > SIGMAS * max(variance, 1.0) ** 0.5:
                yield Alarm(look.rows, before, errors / rows)
                begun = last
        last = look


def summarize_stream(
    looks: Sequence[Look],
    *,
    metric: Metric,
    rows: int,
    file: str,
    facts: Sequence[Row],
    notes: Sequence[str] = (),
) -> Summary:
    """Say how a stream went.

    Parameters
    ----------
    looks : sequence of Look
        What was known after ever more rows.
    metric : Metric
        What predictions are judged by.
    rows : int
        Rows in all.
    file : str
        Where they came from.
    facts : sequence of (str, str, str)
        What has to be seen first.
    notes : sequence of str
        What the reader should know.
    """
    seen = [(one.hits, one.predicted, one.actual, one.rows) for one in looks]
    late = of_late(np.array(seen, dtype=np.float64).reshape(-1, 4).T)
    _, predicted, actual, rows_of_late = late
    return Summary(
        kind="stream",
        metric=metric.name,
        convention="",
        n=rows,
        names={"file": file},
        facts=tuple(facts),
        notes=tuple(notes),
        over=Over(
            rows=tuple(look.rows for look in looks),
            score=tuple(look.score for look in looks),
            recent=tuple(np.atleast_1d(metric.value(*late)).tolist()),
            threshold=tuple(look.threshold for look in looks),
            predicted=tuple((predicted / rows_of_late).tolist()),
            actual=tuple((actual / rows_of_late).tolist()),
            alarms=tuple(alarms_in(looks)),
        ),
    )
