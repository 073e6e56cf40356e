"""Temperatures of classes of pixels, of highest likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._ground.types import Booleans, Floats
from argmetric.tensors._arrays import Tensor, chances, like, namespace, to_host

CELLS = 1 << 22  # pixels at a time
SLOPES = (0.05, 20.0)  # of 1/temperature
LOWEST_LOG = -100.0  # in the place of log 0


def log_scale(x: Tensor, mode: str, logits: bool) -> Tensor:
    """Log-odds, or logarithms of a softmax over the second axis, in float64."""
    xp = namespace(x)
    x = xp.astype(x, xp.float64)
    if mode == "multilabel":
        return x if logits else xp.log(x) - xp.log1p(-x)
    if not logits:
        return xp.log(x)
    x = x - xp.max(x, axis=1, keepdims=True)
    return x - xp.log(xp.sum(xp.exp(x), axis=1, keepdims=True))


def fit_slopes(x: Tensor, y: Tensor, known: Tensor, mode: str, logits: bool) -> Floats:
    """1/temperature of every class by Newton's method, on a convex likelihood.

    A pixel whose label is certain at any temperature (p of 0 or 1) counts nothing. So
    does a class that is absent from all masks, or everywhere: its slope stays 1.
    """
    xp = namespace(x)
    images, classes, n = x.shape
    step = max(CELLS // (classes * n), 1)
    firsts = range(0, images, step)

    def sums(beta: Floats) -> tuple[float, Floats, Floats]:
        each = like(xp, beta, x, xp.float64)[None, :, None]
        loss, slope, bend = 0.0, np.zeros(classes), np.zeros((classes, classes))
        for first in firsts:
            some = slice(first, min(first + step, images))
            z = log_scale(x[some, ...], mode, logits)
            found = slope_terms(xp, z, y[some, ...], known[some, ...], each, mode)
            loss, slope, bend = loss + found[0], slope + found[1], bend + found[2]
        return loss, slope, bend

    beta = np.ones(classes)
    free = ~absent(y, known)
    loss, slope, bend = sums(beta)
    for _ in range(50):
        inner = bend[np.ix_(free, free)] + 1e-12 * np.eye(int(free.sum()))
        move = np.zeros(classes)
        move[free] = np.linalg.solve(inner, slope[free])
        for _ in range(30):
            new = np.clip(beta + move, *SLOPES)
            found = sums(new)
            if found[0] <= loss:
                break
            move = move / 2.0
        moved = np.abs(new - beta).max()
        beta, (loss, slope, bend) = new, found
        if moved < 1e-9:
            break
    return beta


def absent(y: Tensor, known: Tensor) -> Booleans:
    """Classes without a positive pixel in all masks, or without a negative one."""
    xp = namespace(y)
    count = xp.sum(xp.astype(y & known[:, None, :], xp.int64), axis=2)
    positives = to_host(xp.sum(count, axis=0))
    total = int(xp.sum(xp.reshape(xp.astype(known, xp.int64), (-1,)), axis=0))
    return np.asarray((positives == 0) | (positives == total))


def slope_terms(
    xp: Any, z: Tensor, y: Tensor, known: Tensor, beta: Tensor, mode: str
) -> tuple[float, Floats, Floats]:
    """-log likelihood of some images, its slope downwards, and its second derivative.

    With π of βz: Σ z·(y-π), and Σ z²·π(1-π) or Σ z·z'·(π·[same class] - π·π').
    """
    one = xp.astype(y, z.dtype)
    certain = ~xp.isfinite(z)
    weight = xp.astype(known, z.dtype)[:, None, :]
    if mode == "multilabel":
        weight = xp.where(certain, 0.0, weight)
        z = xp.where(certain, 0.0, z)
        p, q = chances(xp, beta * z, True)
        high = xp.clip(beta * z, 0.0, None)
        cost = high + xp.log1p(xp.exp(-xp.abs(beta * z))) - one * beta * z
    else:
        hopeless = xp.astype(y & certain, z.dtype)
        weight = weight * (1.0 - xp.max(hopeless, axis=1, keepdims=True))
        z = xp.where(certain, LOWEST_LOG, z)
        p = softmax(xp, beta * z)
        q = 1.0 - p
        cost = -one * xp.log(xp.where(one > 0, p, 1.0))

    def total(values: Tensor) -> Floats:
        return to_host(xp.sum(xp.sum(weight * values, axis=2), axis=0))

    loss, slope = float(total(cost).sum()), total(z * (one - p))
    if mode == "multilabel":
        return loss, slope, np.diag(total(z * z * p * q))
    wide = xp.reshape(xp.permute_dims(z * p, (1, 0, 2)), (z.shape[1], -1))
    each = xp.reshape(xp.permute_dims(weight, (1, 0, 2)), (1, -1))
    both = xp.matmul(wide * each, xp.permute_dims(wide, (1, 0)))
    return loss, slope, np.diag(total(z * z * p)) - to_host(both)


def softmax(xp: Any, z: Tensor) -> Tensor:
    """Over the second axis."""
    z = xp.exp(z - xp.max(z, axis=1, keepdims=True))
    return z / xp.sum(z, axis=1, keepdims=True)
