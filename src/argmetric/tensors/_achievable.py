"""Best score that a threshold reaches in an epoch, as a torchmetrics metric."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from argmetric.metrics import MetricLike, get_metric, require_defined
from argmetric.tensors._arrays import Tensor, read_labels, require_torch, to_host

torch: Any = require_torch("BestAchievable")
BINS = 1 << 14  # cut-offs between scores of 0 and 1 that are told apart


class PlainMetric(torch.nn.Module):  # type: ignore[misc]
    """Replacement of the used part of torchmetrics.Metric if that is not installed."""

    def add_state(self, name: str, default: Tensor, dist_reduce_fx: str) -> None:
        self.register_buffer(name, default)

    def forward(self, preds: Tensor, target: Tensor) -> None:
        self.update(preds, target)

    def reset(self) -> None:
        self.counts.zero_()


Base: Any = PlainMetric
if find_spec("torchmetrics") is not None:
    import torchmetrics

    Base = torchmetrics.Metric


class BestAchievable(Base):  # type: ignore[misc]
    """Best score of an epoch over all thresholds, its threshold, and the score at 0.5.

    It has the methods of a torchmetrics metric: `update` for each batch, `compute` at
    the end of an epoch, `reset`. It is one where that package is installed, and else a
    module with the same methods and `merge`. Two counts for each of 16,384 intervals of
    the score are kept, whatever the size of the epoch; they add up over devices.

    Parameters
    ----------
    metric : str or Metric, default="f1"
        Any metric of the counts.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own.
    logits : bool, default=False
        Whether scores are log-odds.

    Examples
    --------
    >>> best = BestAchievable("f1")  # doctest: +SKIP
    >>> best.update(torch.tensor([0.9, 0.3, 0.2]), torch.tensor([1, 1, 0]))
    ... # doctest: +SKIP
    >>> best.compute()["score"]  # doctest: +SKIP
    tensor(1., dtype=torch.float64)
    """

    full_state_update = False
    higher_is_better = True
    is_differentiable = False

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        zero_division: float | None = None,
        logits: bool = False,
    ) -> None:
        super().__init__()
        self.metric = get_metric(metric, zero_division=zero_division)
        self.logits = logits
        counts = torch.zeros((2, BINS + 1), dtype=torch.int64)  # of both labels
        self.add_state("counts", default=counts, dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch of scores and 0/1 labels of the same shape."""
        true = read_labels(target, "target", preds, "preds")
        p = preds.detach().double()
        p = torch.sigmoid(p) if self.logits else p
        if p.numel() and not bool(((p >= 0) & (p <= 1)).all()):
            raise ValueError(
                "preds must be probabilities within [0, 1], without NaN; for log-odds "
                "use BestAchievable(..., logits=True)"
            )
        place = torch.floor(p * BINS).long() + (BINS + 1) * true
        counts = torch.bincount(place.reshape(-1), minlength=2 * (BINS + 1))
        self.counts += counts.reshape(2, -1)

    def merge(self, other: BestAchievable) -> None:
        """Add the counts of another one, of the same metric."""
        if self.metric != other.metric:
            raise ValueError(
                f"cannot merge {other.metric.name} into {self.metric.name}"
            )
        self.counts += other.counts.to(self.counts.device)
        self._computed = None  # what torchmetrics keeps of the counts before

    def compute(self) -> dict[str, Tensor]:
        """Return the best `score`, its `threshold` (p >= threshold), and `at_half`."""
        above = to_host(self.counts.flip(1).cumsum(1).flip(1)).astype(float)
        above = np.pad(above, ((0, 0), (0, 1)))  # the last predicts nothing
        hits, k = above[1], above.sum(axis=0)
        n, t = float(k[0]), float(hits[0])
        if n == 0:
            raise ValueError("no batch has been counted: call update first")
        require_defined(self.metric, int(n))
        values = np.asarray(self.metric.value(hits, k, t, n))
        signed = values if self.metric.greater_is_better else -values
        equal = np.flatnonzero(signed == np.fmax.reduce(signed))
        if not equal.size:
            raise ValueError(
                f"{self.metric.name} is undefined (0/0) on these labels; "
                "zero_division=0 or 1 gives it a value"
            )
        # Of the highest cut-offs that are as good, the middle one
        run = np.split(equal, np.flatnonzero(np.diff(equal) > 1) + 1)[-1]
        place = int(run[0] + run[-1]) // 2
        found = {
            "score": values[place],
            "threshold": np.inf if place > BINS else place / BINS,
            "at_half": values[BINS // 2],
        }
        kind = {"dtype": torch.float64, "device": self.counts.device}
        return {name: torch.tensor(float(x), **kind) for name, x in found.items()}
