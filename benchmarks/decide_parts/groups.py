"""3. Many small groups: throughput on one core, against the copied kernel, threads."""

from __future__ import annotations

import os
import statistics

import numpy as np
from harness import emit, interleaved, median_ratio, wall_seconds

import argmetric as am
from decide_parts import copied_kernel


def baskets(
    n_groups: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities, ids and sizes of baskets: 1 to 80 rows, about 20, few positives.

    Sizes are log-normal; logits are the sum of a basket's and a row's own effect.
    """
    sizes = np.clip(np.rint(rng.lognormal(2.75, 0.75, n_groups)), 1, 80).astype(int)
    ids = np.repeat(np.arange(n_groups) * 3 + 17, sizes)
    logits = np.repeat(rng.normal(-2.5, 1.0, n_groups), sizes)
    logits += rng.normal(0.0, 1.2, ids.size)
    return 1 / (1 + np.exp(-logits)), ids, sizes


def run(*, quick: bool) -> None:
    n_groups, repeats = (5_000, 1) if quick else (1_000_000, 3)
    rng = np.random.default_rng(3)
    p, ids, sizes = baskets(n_groups, rng)

    def call(p: np.ndarray, ids: np.ndarray, n_jobs: int) -> am.Decision:
        return am.decide(p, "f1", groups=ids, average="groups", n_jobs=n_jobs)

    few = int(sizes[: min(n_groups, 3_000)].sum())
    call(p[:few], ids[:few], 1)  # compile before timing
    sample = np.split(p[:few], np.cumsum(sizes)[: min(n_groups, 3_000) - 1])
    copied_groups, list_groups = (10, 30) if quick else (150, 600)
    times = interleaved(
        {
            "one": lambda: call(p, ids, 1),
            "copied": lambda: [
                copied_kernel.expectations(x) for x in sample[:copied_groups]
            ],
            "lists": lambda: [
                copied_kernel.expectations_in_lists(x) for x in sample[:list_groups]
            ],
        },
        repeats,
    )
    about = f"{n_groups:,} groups, {p.size:,} rows, sizes 1-80, mean {sizes.mean():.1f}"
    _emit_speed(f"contiguous ids, {about}", n_groups, times["one"])
    order = rng.permutation(p.size)
    shuffled_p, shuffled_ids = p[order], ids[order]
    shuffled = interleaved(
        {"one": lambda: call(shuffled_p, shuffled_ids, 1)}, min(repeats, 2)
    )["one"]
    _emit_speed(f"shuffled ids, {about}", n_groups, shuffled, judged=False)
    for name, count, how in (
        ("copied", copied_groups, "the copied kernel (numpy element by element)"),
        ("lists", list_groups, "the same recurrence on plain Python lists"),
    ):
        per_group = [t / count for t in times[name]]
        ours = [t / n_groups for t in times["one"]]
        emit(
            "groups",
            f"decide on one core / {how}, time per group",
            median_ratio(per_group, ours),
            "× faster",
            (">=", 100) if name == "copied" else None,
            peer_groups_per_s=1 / statistics.median(per_group),
            peer_timed_on_groups=count,
        )
    threads = interleaved(
        {"one": lambda: call(p, ids, 1), "two": lambda: call(p, ids, 2)},
        repeats,
        wall_seconds,
    )
    # The best of the repeats: work of others costs two threads more than one.
    emit(
        "groups",
        f"one thread / two threads, wall clock, contiguous ids, {about}",
        min(threads["one"]) / min(threads["two"]),
        "× faster with two, best of the repeats",
        (">=", 1.6),
        two_threads_groups_per_s=n_groups / min(threads["two"]),
        median_ratio=median_ratio(threads["one"], threads["two"]),
        load_of_the_machine=os.getloadavg()[0],
    )


def _emit_speed(
    what: str, n_groups: int, times: list[float], *, judged: bool = True
) -> None:
    emit(
        "groups",
        f"decide(p, 'f1', groups=..., n_jobs=1), {what}",
        n_groups / statistics.median(times),
        "groups per CPU second, the whole call",
        (">=", 300_000) if judged else None,
        cpu_s=statistics.median(times),
    )
