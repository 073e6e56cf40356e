"""Losses for training: the expected metric of random labels, and of soft counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np

from argmetric._expected.kernels.nodes import exponential_sum, two_sided_sum
from argmetric._ground.arguments import check_choice
from argmetric.metrics import MCC, GMean, Metric, MetricLike, RatioForm, get_metric
from argmetric.tensors._arrays import Tensor, both_p, namespace, require_torch
from argmetric.tensors._best_rows import has_triton
from argmetric.tensors._curves import PaddedRows, each_node, tilt, tilted_sets

torch: Any = require_torch("a loss of argmetric.tensors")
Operator: TypeAlias = Callable[..., tuple[Tensor, Tensor]]  # value and slope of rows


def ratio_and_slope(
    x: Tensor, z: Tensor, d: list[float], scale: float, empty: float
) -> tuple[Tensor, Tensor]:
    """Return E[scale·tp/D] of each row and its gradient.

    Labels are y ~ Bernoulli(sigmoid(x)), scored against z.

    The targets are the chosen set of `tilted_sets`, where labels and truth, d2 and d3,
    change places. By log-odds r = p·u/φ has the slope r(1-r) and log φ has r - p =
    -q·(1/φ - 1), so that nothing has to be kept for a backward pass.
    """
    x, z, n = x.contiguous(), z.contiguous(), x.shape[1]
    if x.is_cuda and has_triton():
        from argmetric.tensors._fused_loss import MOST_LABELS, ratio_and_slope_fused

        if n <= MOST_LABELS:
            return ratio_and_slope_fused(x, z, d, scale, empty)
    xp = namespace(x)
    p, q = both_p(xp, x, True)
    rows = PaddedRows(xp, p, q, np.array([n]))
    form = RatioForm((0.0, scale, 0.0, 0.0), (d[0], d[1], d[3], d[2]))
    value, slope = torch.zeros_like(x[:, :1]), torch.zeros_like(x)
    for head, share, log in tilted_sets(rows, z > 0.5, form, 1):
        hit, lost = z * share, q * torch.expm1(-log)  # p - r, and 1 - r is q more
        hits = hit.sum(1, keepdim=True)
        value += head * hits
        slope += head * (hit * (q + lost) - hits * lost)
    none = empty * torch.nn.functional.logsigmoid(-x).sum(1, keepdim=True).exp()
    some = z.sum(1, keepdim=True) > 0
    value = torch.where(some, scale * value, none)
    return value[:, 0], torch.where(some, scale * slope, -none * p)


def sum_and_slope(
    x: Tensor, c: Tensor, counted: Tensor, root: bool
) -> tuple[Tensor, Tensor]:
    """Return E[f(K)·Σ c_i·y_i] of each row, and its gradient; f is Σ_j w_j·e^(-s_j·K).

    Labels are y ~ Bernoulli(sigmoid(x)), and K is the sum of those that are counted;
    others have c_i = 0. With `root` f(K) is K^(-1/2), else one half of that of
    (K(n-K))^(-1/2) (`two_sided_sum`). With r = p·u/φ the sum is Σ w·Πφ·V, V = Σ c·r,
    and its slope Σ w·Πφ·(c·r·(1-r) + V·(r-p)), as in `ratio_and_slope`.
    """
    xp, n = namespace(x), max(x.shape[1], 2)
    p, q = both_p(xp, x, True)
    value, slope = torch.zeros_like(x[:, :1]), torch.zeros_like(x)
    rule = exponential_sum(0.5, 1.0, float(n)) if root else two_sided_sum(n)
    for node, weight in each_node(rule):
        share, log = tilt(xp, p, q, node)
        lost = q * torch.expm1(-log)  # p - r, and 1 - r is q more
        hit, log, lost = c * share, counted * log, counted * lost
        hits = hit.sum(1, keepdim=True)
        head = weight * torch.exp(log.sum(1, keepdim=True))
        value += head * hits
        slope += head * (hit * (q + lost) - hits * lost)
    return value[:, 0], slope


def _operator(name: str, function: Operator, others: str) -> Operator:
    """Return a function as an operator: torch.compile takes it as one step."""
    none = [None] * len(others.split(","))
    found: Any = torch.library.custom_op(
        f"argmetric::{name}",
        function,
        mutates_args=(),
        schema=f"(Tensor x, {others}) -> (Tensor, Tensor)",
    )
    found.register_fake(lambda x, *_: (x.new_empty(x.shape[0]), x.new_empty(x.shape)))
    found.register_autograd(
        lambda ctx, grad, _: (grad[:, None] * ctx.saved_tensors[0], *none),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output[1]),
    )
    return cast("Operator", found)


expected_ratio = _operator(
    "expected_ratio", ratio_and_slope, "Tensor z, float[] d, float scale, float empty"
)
expected_sum = _operator(
    "expected_sum", sum_and_slope, "Tensor c, Tensor counted, bool root"
)


def expected_mcc(x: Tensor, z: Tensor) -> Tensor:
    """Return E[MCC] of drawn labels against z for each row; 0 for one class alone.

    (n·tp - k·t)/√(k(n-k)) is Σ c_i·y_i with c = n·z - t times a sum of e^(-s·k) and of
    e^(-s(n-k)). As Σ c = 0, the second is that of the labels 1 - y, with -c.
    """
    n, t = x.shape[1], z.sum(1, keepdim=True)
    c, every = n * z - t, torch.ones_like(z)
    both = expected_sum(x, c, every, False)[0] + expected_sum(-x, -c, every, False)[0]
    scale = (t * (n - t))[:, 0]
    return torch.where(scale > 0, both / scale.clamp(min=1.0).sqrt(), 0.0)


def expected_gmean(x: Tensor, z: Tensor, empty: float) -> Tensor:
    """Return E[√(tpr·tnr)] of drawn labels against z for each row.

    The hits and the rejections are independent, and √S = S·S^(-1/2) is a sum of
    S·e^(-s·S). A class without items has the rate `empty`.
    """
    out = torch.ones_like(x[:, 0])
    for logits, counted in ((x, z), (-x, 1.0 - z)):
        size = counted.sum(1)
        root = expected_sum(logits, counted, counted, True)[0]
        rate = root / size.clamp(min=1.0).sqrt()
        out = out * torch.where(size > 0, rate, empty**0.5)
    return out


class _MetricLoss(torch.nn.Module):  # type: ignore[misc]
    """1 less a metric of log-odds against 0/1 targets, averaged over rows."""

    _others: ClassVar[tuple[type[Metric], ...]] = ()  # with sums of their own

    def __init__(
        self,
        metric: MetricLike = "f1",
        average: str = "samples",
        zero_division: float | None = None,
    ) -> None:
        super().__init__()
        self.metric = get_metric(metric, zero_division=zero_division)
        form = self.metric.form
        self.form = form if isinstance(form, RatioForm) else None
        if self.form is not None and self.form.counts_hits_only:
            zero = 1.0 if zero_division is None else float(zero_division)
            self.metric = self.metric.with_zero_division(zero)
        elif type(self.metric) not in self._others:
            names = "".join(f", {one().name}" for one in self._others)
            raise ValueError(
                f"{self.metric.name} has no such loss: use F-beta, Jaccard, Tversky"
                f"{names}"
            )
        self.zero = float(self.metric.zero_division)
        if math.isnan(self.zero):
            raise ValueError("zero_division=nan has no loss: use 0 or 1")
        check_choice(average, "average", ("samples", "macro", "batch"))
        self.average = average

    def extra_repr(self) -> str:
        return f"{self.metric.name!r}, average={self.average!r}"

    def _rows(self, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return log-odds and targets with a row for each mean, checked."""
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
        F-beta, Jaccard, Tversky, MCC or G-mean.
    average : {"samples", "macro", "batch"}, default="samples"
        One metric for each row, for each label, or for all cells together.
    zero_division : {0.0, 1.0}, optional
        Score where nothing is there and nothing is drawn, 1 by default; for G-mean the
        rate of a class without items, 0 by default. MCC has none: it is 0 there.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> loss = ExpectedMetricLoss("f1")  # doctest: +SKIP
    >>> loss(model(X), Y).backward()  # doctest: +SKIP
    """

    _others = MCC, GMean

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of log-odds against targets, both (rows, labels)."""
        x, z = self._rows(logits, targets)
        if self.form is not None:
            scores, _ = expected_ratio(x, z, self.form.d, self.form.c[1], self.zero)
        elif isinstance(self.metric, MCC):
            scores = expected_mcc(x, z)
        else:
            scores = expected_gmean(x, z, self.zero)
        return 1.0 - scores.mean()


class SoftMetricLoss(_MetricLoss):
    """1 less the metric of soft counts: probabilities in place of drawn labels.

    Cheap, and not the expected metric: TP = Σ z·p, k = Σ p. A row without positives
    has no gradient.

    Parameters
    ----------
    metric : str or Metric, default="f1"
        F-beta, Jaccard or Tversky.
    average : {"samples", "macro", "batch"}, default="samples"
        As for `ExpectedMetricLoss`.

    Examples
    --------
    >>> import torch
    >>> from argmetric.tensors import SoftMetricLoss
    >>> loss = SoftMetricLoss("f1")
    >>> float(loss(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])))  # p = 1/2 twice
    0.5
    """

    def __init__(self, metric: MetricLike = "f1", average: str = "samples") -> None:
        super().__init__(metric, average, 0.0)

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of log-odds against targets, both (rows, labels)."""
        x, z = self._rows(logits, targets)
        p = torch.sigmoid(x)
        assert self.form is not None
        d0, d1, d2, d3 = self.form.d
        hits, k, t = (z * p).sum(1), p.sum(1), z.sum(1)
        below = d0 * x.shape[1] + d1 * hits + d2 * k + d3 * t
        safe = torch.where(below > 0, below, 1.0)
        return 1.0 - (self.form.c[1] * hits / safe).mean()
