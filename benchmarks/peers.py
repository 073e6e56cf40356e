"""argmetric beside its peers, on the same data: who wins where.

    make peers                                # an environment of its own, everything
    python benchmarks/peers.py                # run all, write docs/peers.jsonl
    python benchmarks/peers.py --only MAPIE   # some of them; the other lines stay
    python benchmarks/peers.py --fast         # a smoke run: prints, writes nothing
    python benchmarks/peers.py --page         # write docs/peers.rst from the results

A line of the results is a peer: its version, the machine, the date, and for every
measure the values of each case, theirs and ours; or the reason why it did not run. Who
wins is computed from them. Seconds are CPU seconds. The data are embedded in
scikit-learn or generated; sets of the folder that ARGMETRIC_DATA names are added.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import platform
import sys
import traceback
import warnings
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from peers_parts.page import page

import argmetric as am

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "docs" / "peers.jsonl", ROOT / "docs" / "peers.rst"


@dataclass(frozen=True)
class Peer:
    """A peer, the packages that matter, and the function that compares."""

    name: str
    packages: tuple[str, ...]
    module: str
    function: str = "run"


CUTOFFS = "optimal-classification-cutoffs"
PEERS = (
    Peer("scikit-learn", ("scikit-learn",), "thresholds"),
    Peer(CUTOFFS, (CUTOFFS,), "cutoffs"),
    Peer("xCOLUMNs", ("xcolumns",), "labels"),
    Peer("MAPIE", ("mapie",), "floors"),
    Peer("NannyML", ("nannyml",), "unlabelled"),
    Peer("rankseg", ("rankseg", "torch"), "masks"),
    Peer("empulse", ("empulse",), "amounts"),
    Peer("river", ("river",), "streams", "river"),
    Peer("Vowpal Wabbit", ("vowpalwabbit",), "streams", "vowpal_wabbit"),
    Peer("crfsuite", ("python-crfsuite",), "chunks"),
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = [peer.name for peer in PEERS]
    parser.add_argument("--only", nargs="+", choices=known, default=known)
    parser.add_argument("--fast", action="store_true", help="figures mean nothing")
    parser.add_argument("--page", action="store_true", help="write the page, run none")
    given = parser.parse_args(arguments)
    if given.page:
        PAGE.write_text(page(read()), encoding="utf-8")
        return 0
    warnings.simplefilter("ignore")  # folds without a positive, and the like
    for peer in PEERS:
        if peer.name in given.only:
            line = measured(peer, fast=given.fast)
            print(json.dumps(line, ensure_ascii=False), flush=True)
            if not given.fast:
                write(line)
    return 0


def measured(peer: Peer, *, fast: bool) -> dict[str, Any]:
    """The line of a peer; one that fails has its reason."""
    from search_parts.data import cpu

    start, rows, why = cpu(), [], None
    try:
        module = importlib.import_module(f"peers_parts.{peer.module}")
        rows = [row.to_dict() for row in getattr(module, peer.function)(fast)]
    except ImportError as error:
        why = f"it is not installed here: {error}"
    except Exception as error:  # a peer that fails is a line, not the end
        traceback.print_exc()
        why = f"it failed: {type(error).__name__}: {error}"
    return {
        "peer": peer.name,
        "versions": versions(peer.packages),
        "ours": am.__version__,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "cpu_seconds": round(cpu() - start, 1),
        "why_not": why,
        "rows": [row for row in rows if row["cases"]],
    }


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "processor": processor(),
        "system": platform.system(),
        "python": platform.python_version(),
        **versions(("numpy", "numba", "scikit-learn")),
    }


def processor() -> str:
    """The name that Linux tells, or the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2] for line in lines if line.startswith("model name")]
    return named[0].strip() if named else platform.processor() or platform.machine()


def read() -> list[dict[str, Any]]:
    """The results, in the order of the peers."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    found = {line["peer"]: line for line in map(json.loads, lines)}
    return [found[peer.name] for peer in PEERS if peer.name in found]


def write(line: dict[str, Any]) -> None:
    """Put a peer's line in the place of its old one."""
    lines = {one["peer"]: one for one in read()} | {line["peer"]: line}
    told = [lines[peer.name] for peer in PEERS if peer.name in lines]
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in told)
    RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
