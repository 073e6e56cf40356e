"""A stream is looked at a fixed number of times, however long it is."""

from argmetric.report import Look, StreamHistory
from argmetric.report._stream import POINTS


def test_looks_stay_few_and_even():
    history, rows = StreamHistory(), 0
    for size in (8192, 1, 500, 8192, 100_000, 3):
        for part in history.pieces(rows, size):
            rows += part.stop - part.start
            history.look(Look(rows, 0.5, 0.3, rows // 8, rows // 4, rows // 2))
    seen = [look.rows for look in history.looks]
    assert rows == 8192 + 1 + 500 + 8192 + 100_000 + 3
    assert POINTS // 2 <= len(seen) <= POINTS
    step = seen[0]
    assert seen == list(range(step, rows + 1, step))


def test_parts_cover_all_rows():
    history = StreamHistory(rows=1000)
    parts = list(history.pieces(1030, 100))
    assert [part.start for part in parts] == [0, 34, 98]
    assert [part.stop for part in parts] == [34, 98, 100]
