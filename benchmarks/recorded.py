"""Compare public calls with their recorded answers, to 1e-12 and labels exactly.

    python benchmarks/recorded.py                    # run all calls and compare
    python benchmarks/recorded.py --only decide/mcc  # those whose keys begin so
    python benchmarks/recorded.py --warm             # after `argmetric.warmup()`
    python benchmarks/recorded.py --list             # the keys
    python benchmarks/recorded.py --record           # keep the answers of now

Run it before and after a change that should change no answer. Every difference is one
line of JSON; the last line counts them by verb. The exit code is 1 if a call differs.
Calls in which only printed text differs are counted apart too.
`--record` with `--only` replaces the answers of those calls alone.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import gzip
import itertools
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # sums of BLAS are those of one thread
os.environ["COLUMNS"] = "100"

VALUES = Path(__file__).parent / "recorded_parts" / "values.jsonl.gz"
SHOWN = 300  # characters of a leaf in a line


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", action="store_true", help="keep what is found")
    parser.add_argument("--only", default="", help="keys that begin with this")
    parser.add_argument("--list", action="store_true", help="print the keys")
    parser.add_argument("--warm", action="store_true", help="call warmup() first")
    parser.add_argument("--seconds", action="store_true", help="the slowest calls")
    options = parser.parse_args()
    from recorded_parts import structures, verbs, watching

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        # One after the other: what is loaded may decide which way an answer is found
        parts = (verbs, watching, structures)
        every = itertools.chain.from_iterable(part.all_calls() for part in parts)
        calls = (pair for pair in every if pair[0].startswith(options.only))
        if options.list:
            print("\n".join(key for key, _ in calls))
            return 0
        if options.warm:
            import argmetric

            argmetric.warmup()
        now, spent = answers(calls)
    if options.seconds:
        for key in sorted(spent, key=spent.__getitem__)[-40:]:
            print(json.dumps({"key": key, "seconds": round(spent[key], 3)}))
    if options.record:
        write({**(read() if options.only else {}), **now})
        return 0
    recorded = {key: v for key, v in read().items() if key.startswith(options.only)}
    return compared(recorded, now, sum(spent.values()))


def answers(
    calls: Iterable[tuple[str, Any]],
) -> tuple[dict[str, Any], dict[str, float]]:
    """Digests of all calls in their order, and CPU seconds."""
    from recorded_parts.digest import outcome

    found: dict[str, Any] = {}
    spent: dict[str, float] = {}
    for key, call in calls:
        assert key not in found, key
        start = time.process_time()
        # As JSON gives it back, so that both sides are alike
        found[key] = json.loads(json.dumps(outcome(call)))
        spent[key] = time.process_time() - start
    return found, spent


def compared(recorded: dict[str, Any], now: dict[str, Any], seconds: float) -> int:
    from recorded_parts.digest import TEXT, differences

    largest, text_only = 0.0, 0
    by_verb: dict[str, collections.Counter[str]] = {}
    for key in [*recorded, *(key for key in now if key not in recorded)]:
        count = by_verb.setdefault(key.split("/")[0], collections.Counter())
        count["calls"] += 1
        if key not in recorded or key not in now:
            found = [("", key in recorded, key in now, math.inf)]
        else:
            found = differences(recorded[key], now[key])
        if not found:
            continue
        count["different"] += 1
        text_only += all(path == TEXT for path, *_ in found)
        for path, before, after, distance in found:
            if math.isfinite(distance):
                largest = max(largest, distance)
            line = {"key": key, "path": path, "recorded": shown(before)}
            line |= {"now": shown(after), "difference": distance}
            print(json.dumps(line, ensure_ascii=False), flush=True)
    different = sum(count["different"] for count in by_verb.values())
    total = sum(count["calls"] for count in by_verb.values())
    summary = {"calls": total, "equal": total - different, "different": different}
    summary |= {"only text different": text_only, "largest difference": largest}
    summary |= {"seconds": round(seconds, 1), "by verb": by_verb}
    print(json.dumps(summary))
    return int(different > 0)


def shown(leaf: Any) -> Any:
    return f"{leaf[:SHOWN]}…" if isinstance(leaf, str) and len(leaf) > SHOWN else leaf


def read() -> dict[str, Any]:
    with gzip.open(VALUES, "rt", encoding="utf-8") as file:
        return dict(json.loads(line) for line in file)


def write(found: dict[str, Any]) -> None:
    lines = (json.dumps(pair, ensure_ascii=False) for pair in found.items())
    data = "\n".join(lines).encode()
    VALUES.write_bytes(gzip.compress(data, 9, mtime=0))
    print(json.dumps({"recorded": len(found), "bytes": VALUES.stat().st_size}))


if __name__ == "__main__":
    sys.exit(main())
