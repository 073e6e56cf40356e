"""Ten kinds of scores × twelve metrics × nine lengths: time, and labels against arrays.

A cell is measured by F1 of the same scores: `over_f1` is the worst ratio of a length.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LENGTHS = (1, 20, 100, 1000, 1025, 10**4, 10**5, 10**6, 10**7)
KINDS = (
    *("uniform", "powers", "rare", "beta", "blobs", "saturated", "confident"),
    *("bfloat16", "half absent", "most absent"),
)
METRICS = (
    *("f1", "f3", "jaccard", "tversky", "mcc", "kappa", "balanced_accuracy", "recall"),
    *("specificity", "fowlkes_mallows", "precision", "accuracy"),
)
ABSENT = {"half absent": 0.5, "most absent": 0.95}
CELLS = 4 * 10**6
COMPARED = 200  # rows of a cell
ANSWER_CELLS = 2 * 10**5  # of a cell whose answers the array path makes
SLOW = 2.0  # what takes so many seconds is asked once


def rows_of(length: int) -> int:
    """About CELLS cells in all."""
    return max(CELLS // length, 1) if length > 1 else 10**6


def scores(kind: str, length: int) -> Any:
    """Rows of scores in float32, the same on every machine."""
    rng = np.random.default_rng(length)
    shape = rows_of(length), length
    x = rng.random(shape, dtype=np.float32)
    if kind in ("powers", "rare"):  # by products, which are rounded alike everywhere
        x = (x * x * x) * (x * x * x)
        if kind == "rare":
            x = (x * x * x) * (x * x * x)
    elif kind == "beta":
        x = (x * x * x) * (x * x) * ((x * x * x) * (x * x))
        x = np.minimum(x / (x + rng.random(shape, dtype=np.float32)), 1.0)
    elif kind == "blobs":
        width = max(length // 50, 1)
        x = np.cumsum(x.astype(np.float64) - 0.5, axis=1)
        x[:, width:] -= x[:, :-width].copy()
        x = 1.0 / (1.0 + np.exp(-20.0 * (x / np.sqrt(width / 12.0) - 1.0)))
    elif kind == "saturated":
        x = np.clip(3.0 * x - 1.0, 0.0, 1.0)
        if shape[0] > 2:
            x[0], x[1] = 0.0, 1.0
    elif kind == "confident":  # one in a hundred nearly certain, the others nearly not
        sure = rng.random(shape, dtype=np.float32) < 0.01
        x = np.where(sure, 0.999 + 0.0005 * x, 1e-4 * x)
    elif kind == "bfloat16":
        bits = x.view(np.uint32).astype(np.uint64)  # to nearest, ties to even
        bits += 0x7FFF + ((bits >> 16) & 1)
        x = ((bits >> 16) << 16).astype(np.uint32).view(np.float32)
    x = np.ascontiguousarray(x, dtype=np.float32)
    if kind in ABSENT and shape[0] > 1:  # half a positive is expected in an absent row
        gone = np.arange(shape[0]) % 20 < 20 * ABSENT[kind]
        x[gone] *= 0.5 / np.maximum(x[gone].sum(1, keepdims=True), 0.5)
    return x


def metric_of(name: str) -> Any:
    from argmetric.metrics import Tversky, get_metric

    return Tversky(1.5, 0.4) if name == "tversky" else get_metric(name)


def compared(length: int) -> int:
    return min(rows_of(length), COMPARED, max(ANSWER_CELLS // length, 4))


def write_answers(path: Path, longest: int) -> None:
    """Counts and values of the array path."""
    import argmetric as am

    answers = dict(np.load(path)) if path.exists() else {}
    for length in [one for one in LENGTHS if one <= longest]:
        for kind in KINDS:
            p = scores(kind, length)[: compared(length)].astype(np.float64)
            for metric in METRICS:
                name = f"{length} {kind} {metric}"
                if name in answers and answers[name].shape[1] == len(p):
                    continue
                found = am.decide(p, metric_of(metric), average="samples")
                answers[name] = np.stack([found.labels.sum(1), found.group_expected])
            np.savez_compressed(path, **answers)


def sweep(device: Any, say: Callable[..., None], answers: Path) -> None:
    from argmetric import tensors

    torch, options = device.torch, device.options
    stored = np.load(answers) if answers.exists() else {}
    lengths = options.lengths or (LENGTHS if device.cuda else LENGTHS[:3])
    table: dict[str, dict[int, float]] = {metric: {} for metric in METRICS}
    worst_of_all: list[Any] = [0.0]
    for length in lengths:
        took: dict[tuple[str, str], float] = {}
        worst = 0.0
        unlike = checked = 0
        for kind in KINDS:
            p = torch.from_numpy(scores(kind, length)).to(device.name)
            if kind == "bfloat16":
                p = p.bfloat16()
            for metric in METRICS:

                def ask(p: Any = p, metric: str = metric) -> Any:
                    return tensors.decide(p, metric_of(metric), average="samples")

                name = f"{length} {kind} {metric}"
                try:
                    ask()  # compiles
                    start = time.perf_counter()
                    found = ask()
                    device.wait()
                    once = time.perf_counter() - start
                    slow = once > SLOW / 4 and length > 1024
                    took[kind, metric] = once * 1e3 if slow else device.time(ask, 3)
                except Exception as error:
                    say("sweep", cell=name, failed=f"{error!r}"[-300:])
                    continue
                if not bool(top_rows(torch, p, found)):
                    say("sweep", cell=name, failed="labels are not the top scores")
                if name in stored:
                    best, value = torch.from_numpy(stored[name])
                    some = best.numel()
                    got = found.n_positives[:some].cpu(), found.expected[:some].cpu()
                    rows = int((got[0] != best).sum())
                    error = float((got[1] - value).abs().max())
                    checked, unlike = checked + some, unlike + rows
                    worst = max(worst, error)
                    if rows or not error < 1e-11:
                        place = int((got[0] != best).long().argmax())
                        row = [place, int(got[0][place]), int(best[place])]
                        say("sweep", cell=name, unlike=rows, error=error, row=row)
        ratios = {
            f"{kind} {metric}": round(ms / took[kind, "f1"], 1)
            for (kind, metric), ms in took.items()
        }
        slowest = max(ratios, key=lambda name: ratios[name])
        worst_of_all = max(worst_of_all, [ratios[slowest], length, slowest])
        for metric, row in table.items():
            row[length] = round(max(took.get((one, metric), 0.0) for one in KINDS), 2)
        say(
            "sweep",
            length=length,
            rows=rows_of(length),
            over_f1=ratios[slowest],
            rows_compared=checked,
            rows_unlike_arrays=unlike,
            largest_error=worst,
        )
    heads = "".join(f"{length:>10,}" for length in lengths)
    lines = [f"{'slowest kind, ms':<18}{heads}"]
    for metric, row in table.items():
        cells = "".join(f"{row[length]:>10.2f}" for length in lengths)
        lines.append(f"{metric:<18}{cells}")
    say("sweep", worst_over_f1=worst_of_all, table=lines)


def agree(device: Any, say: Callable[..., None]) -> None:
    """Labels and values of 99,000 rows of ten kinds beside those of arrays."""
    import argmetric as am
    from argmetric import tensors

    for length in (20, 300, 1000, 2500):
        for metric in ("f1", "mcc", "kappa", "balanced_accuracy"):
            unlike, worst, row = 0, 0.0, ["", 0]
            for kind in KINDS:
                p = scores(kind, length)[:2500]
                p = np.concatenate(
                    [p, scores(kind, 2 * length)[: 2500 - len(p), :length]]
                )
                x = device.torch.from_numpy(p).to(device.name)
                found = tensors.decide(x, metric, average="samples")
                plain = am.decide(
                    p.astype(np.float64), metric, average="samples", n_jobs=-1
                )
                k = found.n_positives.cpu().numpy()
                unlike += int((k != plain.group_n_positives).sum())
                error = np.abs(found.expected.cpu().numpy() - plain.group_expected)
                if error.max() > worst:
                    worst, row = float(error.max()), [kind, int(error.argmax())]
            say("agree", n=length, metric=metric, unlike=unlike, error=worst, row=row)


def top_rows(torch: Any, p: Any, found: Any) -> Any:
    """Whether the positives are the best scores, the first ones of a tie."""
    p, labels = p[:COMPARED], found.labels[:COMPARED]
    least = torch.where(labels, p, torch.inf).amin(1)
    most = torch.where(labels, -torch.inf, p).amax(1)
    return (most <= least).all() & (labels.sum(1) == found.n_positives[:COMPARED]).all()


def image(torch: Any, device: str, kind: str, classes: int, h: int, w: int) -> Any:
    """A softmax over smooth fields: blobs, thin structures, absent classes."""
    generator = torch.Generator(device).manual_seed(classes)

    def field(cells: int, size: tuple[int, int] = (h, w)) -> Any:
        shape = 1, classes, cells * h // w + 2, cells + 2
        noise = torch.randn(shape, device=device, generator=generator)
        return torch.nn.functional.interpolate(noise, size, mode="bicubic")[0]

    x = 6.0 * field(8) + field(64)
    if kind == "thin":
        x[1::2] = 12.0 - 60.0 * field(8)[1::2].abs()
    if kind in ("half", "most"):
        gone = (
            torch.arange(classes, device=device) % 20 >= {"half": 10, "most": 1}[kind]
        )
        x[gone] -= 25.0
    return torch.softmax(x, 0)[None]


def images(device: Any, say: Callable[..., None]) -> None:
    """Masks of one image beside rankseg's, on the same image."""
    from argmetric import tensors

    torch = device.torch
    sizes = [(21, 512, 512), (19, 1024, 2048), (150, 512, 683), (2, 4096, 4096)]
    for classes, h, w in sizes if device.cuda else [(5, 48, 64)]:
        for kind in ("blobs", "thin", "half", "most"):
            p = image(torch, device.name, kind, classes, h, w)
            line = {"image": kind, "classes": classes, "size": [h, w]}
            line["sort_ms"] = device.time(lambda p=p: torch.sort(p.flatten(2), dim=2))
            for metric in ("dice", "iou"):

                def ask(p: Any = p, metric: str = metric) -> Any:
                    return tensors.decide_masks(p, metric)

                found = ask()
                line[f"{metric}_ms"] = device.time(ask)
                line[f"{metric}_captured_ms"] = device.time_captured(ask)
                line[f"{metric}_expected"] = float(found.mean_expected)
                line |= beside_rankseg(device, p, metric)
            line["multiclass_ms"] = device.time(
                lambda p=p: tensors.decide_masks(p, mode="multiclass")
            )
            say("images", **line)


def beside_rankseg(device: Any, p: Any, metric: str) -> dict[str, Any]:
    """Time of rankseg, and the expected score of its masks."""
    try:
        from rankseg import rankseg_rma
    except ImportError as error:
        return {"rankseg": str(error)}
    from argmetric import tensors

    line = {}
    for screened in (False, True) if metric == "dice" else (False,):
        extra = {"safe_screening": screened} if metric == "dice" else {}
        name = {"dice": "dice", "iou": "IoU"}[metric]

        def ask(extra: Any = extra, name: str = name) -> Any:
            return rankseg_rma(
                p, metric=name, output_mode="multilabel", pruning_prob=0.0, **extra
            )

        which = f"rankseg_{metric}_{'screened' if screened else 'plain'}"
        try:
            masks = ask().reshape(p.shape)
            line[f"{which}_ms"] = device.time(ask)
            theirs = tensors.forecast_masks(p, masks, metric)
            line[f"{which}_expected"] = float(theirs.mean())
        except Exception as error:
            line[which] = repr(error)[-200:]
    return line
