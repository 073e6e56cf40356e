"""What was known of a stream after ever more rows, and when its errors rose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

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


class Alarm(NamedTuple):
    """After so many rows errors had become more than chance explains: their shares."""

    rows: int
    before: float
    now: float


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
    begun = last = Look(0, 0.0, 0.0, 0, 0, 0)
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
