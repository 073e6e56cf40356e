"""A stream is looked at a fixed number of times, however long it is."""

import numpy as np
import pytest

from argmetric.stream import StreamHistory, StreamMoment, alarms_in


def test_looks_stay_few_and_even():
    history, rows = StreamHistory(), 0
    for size in (8192, 1, 500, 8192, 100_000, 3):
        for part in history.pieces(rows, size):
            rows += part.stop - part.start
            history.look(StreamMoment(rows, 0.5, 0.3, rows // 8, rows // 4, rows // 2))
    seen = [look.rows for look in history.looks]
    assert rows == 8192 + 1 + 500 + 8192 + 100_000 + 3
    assert 256 <= len(seen) <= 512
    step = seen[0]
    assert seen == list(range(step, rows + 1, step))


def looks_of(wrong):
    """Looks at 64 rows each, of rows that are all positive and found unless wrong."""
    hits = np.cumsum(~wrong)
    return [
        StreamMoment(n, 0.5, 0.5, int(hits[n - 1]), int(hits[n - 1]), n)
        for n in range(64, wrong.size + 1, 64)
    ]


def test_a_rise_of_errors_is_an_alarm_and_told_once():
    rng = np.random.default_rng(0)
    error_rate = np.where(np.arange(25_600) < 12_800, 0.10, 0.25)
    (alarm,) = alarms_in(looks_of(rng.random(25_600) < error_rate))
    assert 12_800 < alarm.rows <= 12_800 + 2 * 640
    assert alarm.before == pytest.approx(0.10, abs=0.02)
    assert alarm.now == pytest.approx(0.25, abs=0.06)


def test_noise_learning_and_short_streams_are_none():
    rng = np.random.default_rng(1)
    for _ in range(100):
        assert list(alarms_in(looks_of(rng.random(25_600) < 0.2))) == []
    learning = 0.5 * np.exp(-np.arange(25_600) / 5000) + 0.05
    assert list(alarms_in(looks_of(rng.random(25_600) < learning))) == []
    assert list(alarms_in([])) == []
    assert list(alarms_in(looks_of(np.zeros(100, dtype=bool)))) == []


def test_a_first_error_is_no_alarm_and_many_are():
    """Before, nothing was wrong: the share of errors has no variance."""
    wrong = np.zeros(6400, dtype=bool)
    wrong[5000] = True
    assert list(alarms_in(looks_of(wrong))) == []
    wrong[5000:5100:5] = True
    (alarm,) = alarms_in(looks_of(wrong))
    assert alarm.before == 0.0
