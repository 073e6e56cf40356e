"""Tensors: decisions, losses and masks on a device, against other ways to get them.

    python benchmarks/tensors.py                      # on the CPU, few and small
    python benchmarks/tensors.py --device cuda        # the figures of the docs
    python benchmarks/tensors.py --write-answers      # answers of the array path
    python benchmarks/tensors.py help                 # multi-label networks: 6 minutes
    python benchmarks/tensors.py ner                  # entities: tensors_parts/ner.py

Each part prints JSON lines; a part that fails prints its traceback, and the others
go on. The parts need torch alone, but for help and the decoding of ner. With
--write-answers the labels of the array path are kept in benchmarks/tensors_answers.npz,
which a machine without numba compares with.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import cpu_seconds
from tensors_parts.dependence import dependence
from tensors_parts.helps import helps
from tensors_parts.ner import ner
from tensors_parts.sweep import agree, images, sweep, write_answers

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
ANSWERS = ROOT / "benchmarks" / "tensors_answers.npz"


def say(part: str, **values: Any) -> None:
    print(json.dumps({"part": part, **values}), flush=True)


class Device:
    """Where the parts run, and how time is taken there."""

    def __init__(self, name: str) -> None:
        import torch

        self.torch, self.name = torch, name
        self.options = argparse.Namespace()
        self.cuda = name.startswith("cuda")
        if not self.cuda:
            torch.set_num_threads(1)

    def wait(self) -> None:
        if self.cuda:
            self.torch.cuda.synchronize()

    def time(self, work: Callable[[], Any], repeats: int = 9) -> float:
        """Median milliseconds of a call, after three that warm up."""
        for _ in range(3 if self.cuda else 1):
            work()
        found = []
        for _ in range(repeats if self.cuda else 3):
            self.wait()
            start = time.perf_counter()
            work()
            self.wait()
            found.append((time.perf_counter() - start) * 1e3)
        return round(statistics.median(found), 3)

    def time_captured(self, work: Callable[[], Any]) -> float | None:
        """Median milliseconds of a call that is captured in a CUDA graph."""
        if not self.cuda:
            return None
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            work()
        return self.time(graph.replay)

    def memory(self, work: Callable[[], Any]) -> float | None:
        """Peak megabytes beyond what is held before."""
        if not self.cuda:
            return None
        cuda = self.torch.cuda
        self.wait()
        cuda.reset_peak_memory_stats()
        before = cuda.memory_allocated()
        work()
        self.wait()
        return round((cuda.max_memory_allocated() - before) / 2**20, 1)


def rows(device: Device) -> None:
    """Exact decisions from unsorted float32 probabilities, in float64."""
    from argmetric import tensors

    torch = device.torch
    shapes = [(10**6, 20), (10**6, 100), (10**5, 1000)]
    if not device.cuda:
        shapes = [(2000, 20), (500, 100)]
    for count, n in shapes:
        generator = torch.Generator(device.name).manual_seed(1)
        x = torch.rand(count, n, device=device.name, generator=generator)
        for distribution, p in (("uniform", x), ("rare", x**8), ("rarest", x**40)):
            line = {"rows": count, "n": n, "distribution": distribution}
            line["sort_ms"] = device.time(lambda p=p: torch.sort(p, dim=1))
            for metric in ("f1", "jaccard", "mcc", "balanced_accuracy"):
                line[f"{metric}_ms"] = device.time(
                    lambda p=p, metric=metric: tensors.decide(
                        p, metric, average="samples"
                    )
                )
            say("rows", **line)
    if not device.cuda:
        arrays()


def arrays() -> None:
    """CPU time of the array path for a million rows or a tenth of that."""
    import argmetric as am

    rng = np.random.default_rng(1)
    for count, n, whole in (
        (10**5, 20, 10**6),
        (10**4, 100, 10**6),
        (1000, 1000, 10**5),
    ):
        call = partial(am.decide, rng.random((count, n)), "f1", average="samples")
        call()
        took = round(cpu_seconds(call) * whole / count, 2)
        say("arrays", rows=whole, n=n, metric="f1", cpu_seconds=took)


def loss(device: Device) -> None:
    """Forward and backward, beside BCE."""
    from argmetric.tensors import ExpectedMetricLoss, SoftMetricLoss

    torch = device.torch
    shapes = [(256, 1000), (4096, 1000)] if device.cuda else [(64, 100)]
    for batch, labels in shapes:
        x = torch.randn(batch, labels, device=device.name, requires_grad=True)
        z = (torch.rand(batch, labels, device=device.name) < 0.05).float()
        bce = torch.nn.functional.binary_cross_entropy_with_logits
        kinds = {"bce": bce, "exact": ExpectedMetricLoss(), "soft": SoftMetricLoss()}
        kinds |= {name: ExpectedMetricLoss(name) for name in ("mcc", "gmean")}
        for name, one in kinds.items():
            for compiled in (False, True) if device.cuda else (False,):
                try:
                    run = torch.compile(one, fullgraph=True) if compiled else one

                    def step(run: Any = run, x: Any = x, z: Any = z) -> None:
                        x.grad = None
                        run(x, z).backward()

                    step()
                    took = {"ms": device.time(step), "megabytes": device.memory(step)}
                    shape = {"batch": batch, "labels": labels}
                    say("loss", loss=name, compiled=compiled, **shape, **took)
                except Exception:
                    failed(f"loss {name} compiled={compiled}")


def failed(part: str) -> None:
    say(part, failed=traceback.format_exc()[-3000:])


PARTS = {"rows": rows, "loss": loss}
PARTS["dependence"] = partial(dependence, say=say)
PARTS["sweep"] = partial(sweep, say=say, answers=ANSWERS)
PARTS["agree"] = partial(agree, say=say)
PARTS["images"] = partial(images, say=say)
# these train networks, and run where they are named
LONG_PARTS = {"ner": partial(ner, say=say), "help": partial(helps, say=say)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = PARTS | LONG_PARTS
    parser.add_argument("parts", nargs="*", metavar="part", help=str(tuple(every)))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--write-answers", action="store_true")
    parser.add_argument("--lengths", type=int, nargs="+", help="of the sweep")
    long = parser.add_argument_group("ner and help")
    long.add_argument("--seeds", type=int)
    long.add_argument("--epochs", type=int)
    long.add_argument("--small", action="store_true", help="figures mean nothing")
    long.add_argument("--write-scores", type=Path, metavar="FILE")
    long.add_argument("--read-scores", type=Path, metavar="FILE")
    asked = parser.parse_args()
    if asked.write_answers:
        write_answers(ANSWERS, max(asked.lengths or [10**5]))
        return 0
    device = Device(asked.device)
    device.options = asked
    where = device.torch.cuda.get_device_name() if device.cuda else "cpu"
    say("machine", device=where, torch=device.torch.__version__)
    warnings.simplefilter("ignore")  # scores that tell nothing, and the like
    for name in asked.parts or PARTS:
        start = time.perf_counter()
        try:
            every[name](device)
        except Exception:
            failed(name)
        say("took", of=name, seconds=round(time.perf_counter() - start, 1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
