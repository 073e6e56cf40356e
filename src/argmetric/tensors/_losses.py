"""Losses for training: the expected metric of random labels, and of soft counts."""

from __future__ import annotations

import math
from typing import Any

from argmetric._expected.kernels.nodes import exponential_sum
from argmetric._ground.arguments import check_choice
from argmetric.metrics import MetricLike, RatioForm, get_metric
from argmetric.tensors._arrays import Tensor, require_torch
from argmetric.tensors._best_rows import has_triton

torch: Any = require_torch("a loss of argmetric.tensors")
USE_KERNEL = has_triton()
MOST_LABELS = 0
if USE_KERNEL:
    from argmetric.tensors._fused_loss import MOST_LABELS


def node_lists(
    d: tuple[float, float, float, float], n: int
) -> tuple[list[float], list[float]]:
    """Nodes and weights of 1/denominator over all counts of n items with a hit."""
    low, high = RatioForm((0.0, 1.0, 0.0, 0.0), d).denominator_range(n, n)
    s, w = exponential_sum(1.0, float(low), float(high))
    return s.tolist(), w.tolist()


# What torch.compiler.assume_constant_result sets, without loading the compiler
node_lists._dynamo_marked_constant = True  # type: ignore[attr-defined]


class ExpectedRatio(torch.autograd.Function):  # type: ignore[misc]
    """E[c·tp/(d·counts)] of y ~ Bernoulli(sigmoid(x)) against z, for each row.

    With D = base + Σ y_i·(d2 + d1·z_i), base = d0·n + d3·Σz, u_i = e^(-s(d2 + d1·z_i)),
    φ = q + p·u and r = p·u/φ: J = c·Σ w·e^(-s·base)·Πφ·V, V = Σ z·r, and
    dJ/dp_j = c·Σ w·e^(-s·base)·Πφ/φ_j·(z_j·u_j - (1-u_j)·(V - z_j·r_j)). The gradient
    is taken with the value, so that one tensor of the shape of x is kept.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        z: Tensor,
        d: tuple[float, float, float, float],
        scale: float,
        empty: float,
    ) -> Tensor:
        if x.is_cuda and USE_KERNEL and x.shape[1] <= MOST_LABELS:
            value, slope = torch.ops.argmetric.expected_ratio(x, z, d, scale, empty)
            ctx.save_for_backward(slope)
            return value
        n = x.shape[1]
        p, q = torch.sigmoid(x), torch.sigmoid(-x)
        d0, d1, d2, d3 = d
        positives = z.sum(1, keepdim=True)
        base = d0 * n + d3 * positives
        some = positives > 0
        chosen = z > 0.5
        nodes, weights = node_lists(d, n)
        tiny = torch.finfo(x.dtype).tiny
        one = torch.ones((), dtype=x.dtype, device=x.device)

        def factors(s: float) -> tuple[Tensor, Any, Any]:
            """φ, u and 1 - u of every item."""
            u, lost = math.exp(-s * d2), -math.expm1(-s * d2)
            if d1:
                of_hit = math.exp(-s * (d1 + d2)), -math.expm1(-s * (d1 + d2))
                u = torch.where(chosen, of_hit[0] * one, u * one)
                lost = torch.where(chosen, of_hit[1] * one, lost * one)
            return torch.clamp(q + p * u, min=tiny), u, lost

        heads, hits = [], []
        for s, w in zip(nodes, weights, strict=True):
            phi, u, lost = factors(s)
            logs = torch.where(p * lost < 0.5, torch.log1p(-p * lost), torch.log(phi))
            heads.append(w * torch.exp(logs.sum(1, keepdim=True) - s * base))
            hits.append((z * p * u / phi).sum(1, keepdim=True))
        none = torch.nn.functional.logsigmoid(-x).sum(1, keepdim=True).exp()
        value = sum(head * hit for head, hit in zip(heads, hits, strict=True)) * scale
        value = torch.where(some, value, empty * none)
        if ctx.needs_input_grad[0]:
            slope = torch.zeros_like(x)
            for s, head, hit in zip(nodes, heads, hits, strict=True):
                phi, u, lost = factors(s)
                rest = hit - z * p * u / phi
                slope = slope + head / phi * (z * u - lost * rest)
            # dJ/dx = p·q·dJ/dp; without a positive J = Π(1-p), so dJ/dx = -p·J
            ctx.save_for_backward(
                torch.where(some, scale * slope * p * q, -empty * none * p)
            )
        return value[:, 0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        (slope,) = ctx.saved_tensors
        return grad[:, None] * slope, None, None, None, None


class _MetricLoss(torch.nn.Module):  # type: ignore[misc]
    """1 less a metric: log-odds and 0/1 targets as rows, by the average asked for."""

    def __init__(
        self,
        metric: MetricLike = "f1",
        average: str = "samples",
        zero_division: float = 1.0,
    ) -> None:
        super().__init__()
        self.metric = get_metric(metric, zero_division=zero_division)
        form = self.metric.form
        if not isinstance(form, RatioForm) or not form.counts_hits_only:
            raise ValueError(
                f"{self.metric.name} has no such loss: use F-beta, 'jaccard' or Tversky"
            )
        check_choice(average, "average", ("samples", "macro", "batch"))
        self.average, self.zero, self.form = average, float(zero_division), form

    def extra_repr(self) -> str:
        return f"{self.metric.name!r}, average={self.average!r}"

    def _rows(self, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        if logits.shape != targets.shape:
            raise ValueError(
                f"targets has shape {tuple(targets.shape)} but logits has shape "
                f"{tuple(logits.shape)}"
            )
        if not logits.is_floating_point():
            raise TypeError(f"logits must be floats, not {logits.dtype}")
        if self.average == "batch":
            logits, targets = logits.reshape(1, -1), targets.reshape(1, -1)
        if logits.ndim != 2:
            raise ValueError(
                f"logits must have two dimensions, rows and labels, not {logits.ndim}"
            )
        if self.average == "macro":
            logits, targets = logits.T, targets.T
        if logits.dtype != torch.float64:  # sums of mixed precision are in float32
            logits = logits.float()
        return logits, targets.to(logits.dtype)


class ExpectedMetricLoss(_MetricLoss):
    """1 less the exact expected metric of labels drawn from the model.

    Label i of a row is drawn with probability sigmoid(logit i), independently; the
    loss is 1 - E[metric(drawn labels, targets)], averaged. It has a useful gradient on
    rows without positives, where drawing nothing scores `zero_division`.

    Parameters
    ----------
    metric : str or Metric, default="f1"
        F-beta, Jaccard or Tversky.
    average : {"samples", "macro", "batch"}, default="samples"
        One metric for each row, for each label, or for all cells together.
    zero_division : float, default=1.0
        Score where nothing is there and nothing is drawn.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> loss = ExpectedMetricLoss("f1")  # doctest: +SKIP
    >>> loss(model(X), Y).backward()  # doctest: +SKIP
    """

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Loss of log-odds against targets, both of the shape (rows, labels)."""
        x, z = self._rows(logits, targets)
        scores = ExpectedRatio.apply(x, z, self.form.d, self.form.c[1], self.zero)
        return 1.0 - scores.mean()


class SoftMetricLoss(_MetricLoss):
    """1 less the metric of soft counts: probabilities in place of drawn labels.

    Cheap, and not the expected metric: TP = Σ z·p, k = Σ p. A row without positives
    has no gradient.

    Parameters
    ----------
    metric, average
        As for `ExpectedMetricLoss`.
    """

    def __init__(self, metric: MetricLike = "f1", average: str = "samples") -> None:
        super().__init__(metric, average, 0.0)

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Loss of log-odds against targets, both of the shape (rows, labels)."""
        x, z = self._rows(logits, targets)
        p = torch.sigmoid(x)
        d0, d1, d2, d3 = self.form.d
        hits, k, t = (z * p).sum(1), p.sum(1), z.sum(1)
        below = d0 * x.shape[1] + d1 * hits + d2 * k + d3 * t
        safe = torch.where(below > 0, below, 1.0)
        return 1.0 - (self.form.c[1] * hits / safe).mean()
