"""Do losses, thresholds and exact decisions help a small multi-label network?

    python benchmarks/tensors.py help --seeds 5

Sets: SCENE (294 features, 6 labels); CelebA's attributes of faces, where 20 of them are
predicted from 19 others; and rows drawn from a network like the one that is fitted (20
labels). CelebA is no published multi-label task: the attributes are real, and
we chose which of them are labels. A seed draws the split and the first weights.

The network has one hidden layer. Its training ends when the loss on validation rows no
longer falls; "overtrained" goes on for all epochs, as many networks in use do. The
exact loss fine-tunes the network of binary cross-entropy. The same validation rows
choose thresholds and fit a calibration map for each label (slope and intercept). The
score is F1 of a row's labels, averaged over test rows, 0/0 counted as 1.
"""

from __future__ import annotations

import copy
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from harness import data_file

SEEDS = 5
HIDDEN = 64
EPOCHS = 60
PATIENCE = 6
BATCH = 64
CUTS = np.linspace(0.02, 0.98, 97)
PUBLISHED = {
    "scene": "https://mulan.sourceforge.net/datasets-mlc.html",
    "celeba": "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
}
Parts = list[tuple[Any, Any]]  # features and labels for training, validation and test


def load(name: str, key: str) -> Any:
    path = data_file(f"tabular/{name}.npz", PUBLISHED[name])
    with np.load(path) as arrays:
        return arrays[key].astype(np.float64)


def cut_up(X: Any, Y: Any, sizes: tuple[int, int, int], seed: int) -> Parts:
    """Random parts; features standardised by the training part."""
    order = np.random.default_rng(seed).permutation(len(X))
    ends = np.cumsum(sizes)
    parts = np.split(order[: ends[-1]], ends[:-1])
    mean, sd = X[parts[0]].mean(0), X[parts[0]].std(0)
    X = (X - mean) / np.where(sd > 0, sd, 1.0)
    return [(X[part], Y[part]) for part in parts]


def scene(seed: int, small: bool = False) -> Parts:
    sizes = (60, 60, 60) if small else (900, 300, 1207)
    return cut_up(load("scene", "X"), load("scene", "Y"), sizes, seed)


def celeba(seed: int, small: bool = False) -> Parts:
    there = 1.0 - load("celeba", "X")  # the file has 1 for absent
    sizes = (60, 60, 60) if small else (4000, 1500, 5000)
    return cut_up(there[:, 1::2], there[:, ::2], sizes, seed)


def drawn(seed: int, small: bool = False) -> Parts:
    """Labels that are independent given the features, by a network of tanh units."""
    fixed, rng = np.random.default_rng(7), np.random.default_rng(seed + 1000)
    inner = fixed.normal(size=(20, 30)) / np.sqrt(20)
    outer = 2.5 * fixed.normal(size=(30, 20)) / np.sqrt(30)
    sizes = (60, 60, 60) if small else (3000, 1000, 5000)
    X = rng.normal(size=(sum(sizes), 20))
    score = np.tanh(2.0 * X @ inner) @ outer + fixed.normal(size=20) - 2.0
    Y = (rng.logistic(size=score.shape) < score).astype(np.float64)
    return cut_up(X, Y, sizes, seed)


SETS: dict[str, Callable[..., Parts]] = {
    one.__name__: one for one in (scene, celeba, drawn)
}


def row_f1(Y: Any, labels: Any) -> float:
    size = Y.sum(1) + labels.sum(1)
    hits = 2.0 * (Y * labels).sum(1)
    return float(np.where(size > 0, hits / np.maximum(size, 1), 1.0).mean())


def fit(
    torch: Any,
    model: Any,
    parts: Parts,
    loss: Callable[..., Any],
    rate: float,
    epochs: int,
    stop: bool = True,
) -> Any:
    """Train; the weights of the best epoch on validation rows, or the last ones."""
    (X, Y), (held_X, held_Y) = (
        tuple(torch.from_numpy(one).float() for one in part) for part in parts[:2]
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    best, kept, waited = np.inf, copy.deepcopy(model.state_dict()), 0
    for _ in range(epochs):
        for some in torch.randperm(len(X)).split(BATCH):
            optimizer.zero_grad()
            loss(model(X[some]), Y[some]).backward()
            optimizer.step()
        if not stop:
            continue
        with torch.no_grad():
            now = float(loss(model(held_X), held_Y))
        if now < best - 1e-5:
            best, kept, waited = now, copy.deepcopy(model.state_dict()), 0
        else:
            waited += 1
            if waited >= PATIENCE:
                break
    if stop:
        model.load_state_dict(kept)
    return model


def networks(torch: Any, parts: Parts, seed: int, epochs: int) -> dict[str, Any]:
    from argmetric.tensors import ExpectedMetricLoss, SoftMetricLoss

    def new() -> Any:
        torch.manual_seed(seed)
        widths = parts[0][0].shape[1], parts[0][1].shape[1]
        return torch.nn.Sequential(
            torch.nn.Linear(widths[0], HIDDEN),
            torch.nn.ReLU(),
            torch.nn.Linear(HIDDEN, widths[1]),
        )

    bce = torch.nn.BCEWithLogitsLoss()
    run = partial(fit, torch, parts=parts, epochs=epochs)
    plain = run(new(), loss=bce, rate=2e-3)
    return {
        "bce": plain,
        "overtrained": run(new(), loss=bce, rate=2e-3, stop=False),
        "soft": run(new(), loss=SoftMetricLoss("f1"), rate=2e-3),
        "exact fine-tune": fit(
            torch,
            copy.deepcopy(plain),
            parts,
            ExpectedMetricLoss("f1"),
            3e-4,
            max(epochs // 6, 1),
        ),
    }


def calibrated(held: Any, Y: Any, x: Any) -> tuple[Any, Any]:
    """Probabilities of validation and test rows after a map for each label."""
    import argmetric as am

    found = []
    for j in range(Y.shape[1]):
        try:
            one = am.calibrate(Y[:, j], held[:, j], "platt", logits=True)
            pair = [one.apply(z[:, j], logits=True) for z in (held, x)]
        except ValueError:  # one class only, or scores that rank backwards: the share
            pair = [np.full(len(z), Y[:, j].mean()) for z in (held, x)]
        found.append(pair)
    return tuple(np.stack(one, 1) for one in zip(*found, strict=True))


def best_cut(Y: Any, p: Any, score: Callable[..., float]) -> float:
    return float(max(CUTS, key=lambda cut: score(Y, (p >= cut).astype(float))))


def column_f1(Y: Any, labels: Any) -> float:
    return float(2.0 * (Y * labels).sum() / max(Y.sum() + labels.sum(), 1.0))


def judged(torch: Any, held_Y: Any, held: Any, Y: Any, p: Any) -> dict[str, float]:
    """Actual F1 of ways to decide, and the F1 that `decide` expects."""
    import argmetric as am

    one = best_cut(held_Y, held, row_f1)
    labels = range(Y.shape[1])
    many = np.array([best_cut(held_Y[:, j], held[:, j], column_f1) for j in labels])
    p_tensor = torch.from_numpy(p)
    ask = partial(am.decide, p_tensor, "f1", average="samples", zero_division=1.0)
    d = ask()
    line = {
        "half": row_f1(Y, (p >= 0.5).astype(float)),
        "one_cut": row_f1(Y, (p >= one).astype(float)),
        "cut_per_label": row_f1(Y, (p >= many).astype(float)),
        "decide": row_f1(Y, d.labels.numpy().astype(float)),
        "decide_expected": float(d.expected.mean()),
    }
    if held_Y.any(1).all():  # every row has a label, and no way to decide knows it
        top = p >= p.max(1, keepdims=True)
        known = ask(min_positives=1).labels.numpy().astype(float)
        line["one_cut_or_top"] = row_f1(Y, ((p >= one) | top).astype(float))
        line["decide_at_least_one"] = row_f1(Y, known)
    return line


def spread(values: list[float]) -> list[float]:
    """Mean and standard deviation over seeds."""
    sd = statistics.stdev(values) if len(values) > 1 else 0.0
    return [round(statistics.fmean(values), 4), round(sd, 4)]


def helps(device: Any, say: Callable[..., None]) -> None:
    """Mean and standard deviation over seeds, for every set and network.

    Differences to binary cross-entropy with one tuned cut are taken seed by seed.
    """
    asked, torch = device.options, device.torch
    for name, make in SETS.items():
        found: dict[tuple[str, bool], list[dict[str, float]]] = {}
        for seed in range(asked.seeds or SEEDS):
            parts = make(seed, asked.small)
            (_, held_Y), (test_X, Y) = parts[1:]
            for kind, model in networks(
                torch, parts, seed, asked.epochs or EPOCHS
            ).items():
                with torch.no_grad():
                    held, x = (
                        model(torch.from_numpy(X).float()).double().numpy()
                        for X in (parts[1][0], test_X)
                    )
                plain = [1.0 / (1.0 + np.exp(-z)) for z in (held, x)]
                for maps in (False, True):
                    pair = calibrated(held, held_Y, x) if maps else plain
                    line = judged(torch, held_Y, pair[0], Y, pair[1])
                    found.setdefault((kind, maps), []).append(line)
        for (kind, maps), lines in found.items():
            shared = [key for key in lines[0] if all(key in line for line in lines)]
            summary = {key: spread([line[key] for line in lines]) for key in shared}
            usual = [line["one_cut"] for line in found["bce", False]]
            gain = {
                key: spread([a[key] - b for a, b in zip(lines, usual, strict=True)])
                for key in shared
                if key != "decide_expected"
            }
            line = {"set": name, "network": kind, "calibrated": maps, **summary}
            say("help", **line, less_bce_one_cut=gain)
