"""5. What the peers decide, what it is truly worth, and how long it takes.

Nobody's own score is believed: the expected F1 of each peer's labels is computed here
by summing over all counts, in code that argmetric does not share.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import metadata

import numpy as np
from harness import emit, markdown_table

from decide_parts import rivals
from decide_parts.groups import baskets
from decide_parts.rivals import Task, true_expected_f1

Decider = Callable[[Task], np.ndarray]
SINGLE, TIES = "one vector, n = 1,000", "the same, p rounded to 0.1"
REPEATS, ENOUGH_SECONDS = 7, 1.0  # of a call that is timed
GROUPS = "2,000 groups of about 20, 0/0 = {:g}"


@dataclass(frozen=True)
class Peer:
    """A way to decide.

    `stand_in`, if there is one, decides the same more quickly on all tasks but the
    first, which alone is timed.
    """

    name: str
    package: str | None
    decider: Decider
    stand_in: Decider | None = None


CUTOFFS = "optimal-classification-cutoffs"
PEERS = (
    Peer("cut at 0.5", None, rivals.cut_half),
    Peer("TunedThresholdClassifierCV", "scikit-learn", rivals.tuned_threshold),
    Peer(f"{CUTOFFS}, p > t (default)", CUTOFFS, rivals.cutoffs_above),
    Peer(f"{CUTOFFS}, p >= t", CUTOFFS, rivals.cutoffs_at_least),
    Peer("xcolumns", "xcolumns", rivals.xcolumns),
    Peer("copied O(n²) kernel", None, rivals.copied, rivals.copied_compiled),
    Peer("copied O(n²) kernel under @njit", None, rivals.copied_compiled),
    Peer("argmetric", "argmetric", rivals.argmetric),
)


@dataclass(frozen=True)
class Outcome:
    """CPU seconds of a call, and the true expected F1 of what it decides.

    Of a call the least of several repeats counts, over vectors the median of those.
    """

    seconds: float
    expected: float


def single_tasks(count: int, n: int, rng: np.random.Generator) -> list[Task]:
    tasks = []
    for _ in range(count):
        p, past = rng.beta(0.5, 2.0, (2, n))
        past_y = (rng.random(n) < past).astype(np.int64)
        tasks.append(Task(p, None, 0.0, past, past_y, None))
    return tasks


def rounded(task: Task) -> Task:
    """Scores to one digit; the labels of the past keep their distribution."""
    return replace(task, p=task.p.round(1), past_p=task.past_p.round(1))


def group_task(n_groups: int, zero_division: float, seed: int) -> Task:
    rng = np.random.default_rng(seed)
    p, _, sizes = baskets(n_groups, rng)
    past, _, past_sizes = baskets(n_groups, rng)
    past_y = (rng.random(past.size) < past).astype(np.int64)
    return Task(p, sizes, zero_division, past, past_y, past_sizes)


def run(*, quick: bool) -> str:
    """Measure, and return the table as Markdown."""
    count, n, n_groups = (1, 60, 40) if quick else (10, 1_000, 2_000)
    vectors = single_tasks(count, n, np.random.default_rng(5))
    settings = {SINGLE: vectors, TIES: [rounded(task) for task in vectors]}
    for zero in (0.0, 1.0):
        settings[GROUPS.format(zero)] = [group_task(n_groups, zero, seed=55)]
    table: dict[str, dict[str, Outcome | None]] = {}
    for setting, tasks in settings.items():
        for peer in PEERS:
            table.setdefault(peer.name, {})[setting] = _measure(peer, setting, tasks)
        outcomes = {name: row[setting] for name, row in table.items()}
        _emit_beside(setting, outcomes)
    return _markdown(table)


def _measure(peer: Peer, setting: str, tasks: list[Task]) -> Outcome | None:
    outcome, failure = None, None
    try:
        outcome = _try(peer, tasks)
    except Exception as problem:  # a peer that fails is a line, not the end
        failure = f"{type(problem).__name__}: {problem}"
    emit(
        "peers",
        f"true expected F1 of what {peer.name} decides, {setting}",
        outcome.expected if outcome else None,
        "E[F1], mean over groups or vectors",
        cpu_s=outcome.seconds if outcome else None,
        version=metadata.version(peer.package) if peer.package and outcome else None,
        vectors=len(tasks),
        failed=failure,
    )
    return outcome


def _try(peer: Peer, tasks: list[Task]) -> Outcome:
    if peer.stand_in is None:
        peer.decider(tasks[0])  # imports and compilation are not timed
    times, scores = [], []
    for i, task in enumerate(tasks):
        if peer.stand_in is not None and i > 0:
            labels = peer.stand_in(task)
        else:
            labels, seconds = _timed(peer.decider, task)
            times.append(seconds)
        scores.append(true_expected_f1(task, labels))
    return Outcome(statistics.median(times), float(np.mean(scores)))


def _timed(decider: Decider, task: Task) -> tuple[np.ndarray, float]:
    """Labels, and the least CPU time of some calls: others on the machine only add."""
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < ENOUGH_SECONDS:
        start = time.process_time()
        labels = decider(task)
        times.append(time.process_time() - start)
    return labels, min(times)


def _emit_beside(setting: str, outcomes: dict[str, Outcome | None]) -> None:
    """No labels can be better than the exact optimum: a check of everything above."""
    others = {name: one for name, one in outcomes.items() if one is not None}
    ours = others.pop("argmetric")
    for name, one in others.items():
        ratio = one.seconds / ours.seconds
        emit("peers", f"CPU time of {name} over argmetric's, {setting}", ratio, "×")
    best = max(others, key=lambda name: others[name].expected)
    what = f"argmetric's expected F1 minus that of the best other ({best}), {setting}"
    lead = ours.expected - others[best].expected
    emit("peers", what, lead, "E[F1]", (">=", -1e-12))


def _markdown(table: dict[str, dict[str, Outcome | None]]) -> str:
    settings = list(next(iter(table.values())))
    rows = [[name, *(_cell(row[s]) for s in settings)] for name, row in table.items()]
    return markdown_table(["expected F1, CPU time", *settings], rows)


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "fails"
    spent = outcome.seconds
    if spent >= 0.95:
        time_ = f"{spent:.1f} s"
    elif spent >= 0.00095:
        time_ = f"{1e3 * spent:.0f} ms"
    else:
        time_ = f"{1e6 * spent:.0f} µs"
    return f"{outcome.expected:.4f}, {time_}"
