"""Expected score of given masks.

With 1/D = Σ w·e^(-s·D), tp hits of the k pixels of a mask, and φ(u) = 1 - p + p·u:
E[tp·e^(-s·D)] = e^(-s·d2·k)·u1·Π φ(u1)·Π' φ(u3)·Σ p/φ(u1), over the pixels inside of
the mask and, for Π', those outside; u1 = e^(-s(d1+d3)), u3 = e^(-s·d3). Pixels enter by
the sums of their powers: log φ = -Σ a^j·p^j/j and p/φ = Σ a^(j-1)·p^j with a = 1 - u.
Where few positives are expected, the largest pixels are taken one by one instead.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from argmetric._expected.kernels.nodes import exponential_sum
from argmetric.metrics import Metric, RatioForm
from argmetric.tensors._arrays import Tensor, torch
from argmetric.tensors._best_rows import has_triton
from argmetric.tensors._shared_effect import expected_shared

Sums: TypeAlias = tuple[Tensor, Tensor]  # of powers, and single pixels
POWERS = 8
MANY_PIXELS = 150.0  # expected positives from which 8!/mean^8 is below rounding
LARGEST = 128  # pixels inside and outside of a mask that are taken one by one
NODES = 100  # of an exponential sum, about
CELLS = 1 << 26  # of (rows, pixels), or of (rows, largest pixels, nodes), at a time


def power_sums(x: Tensor) -> Tensor:
    """Return sums of the powers 1 … POWERS of every row, in float64."""
    if x.is_cuda and has_triton():
        from argmetric.tensors._fused_masks import sums_fused

        return sums_fused(x)
    x = x.double()
    power, sums = x, [x.sum(1)]
    for _ in range(POWERS - 1):
        power = power * x
        sums.append(power.sum(1))
    return torch.stack(sums, 1)


def expected_of(
    p: Tensor, chosen: Tensor, metric: Metric, sd: Tensor | None = None
) -> Tensor:
    """Return the expected score of masks of rows, maybe with a random effect."""
    if sd is not None:
        return expected_shared(p, chosen, sd, metric)
    k, n, form = chosen.sum(1), p.shape[1], metric.form
    assert isinstance(form, RatioForm)
    inside = power_sums(torch.where(chosen, p, 0.0))
    outside = power_sums(torch.where(chosen, 0.0, p))
    nothing = inside.new_empty((len(p), 0))
    value = value_of(form, n, k, (inside, nothing), (outside, nothing))
    rare = torch.nonzero(inside[:, 0] + outside[:, 0] < MANY_PIXELS)[:, 0]
    for few in rare.split(max(CELLS // max(n, LARGEST * NODES), 1)):
        some, flags, kinds = p[few].double(), chosen[few], []
        for one, total in ((flags, inside[few]), (~flags, outside[few])):
            top = torch.topk(torch.where(one, some, 0.0), min(n, LARGEST), 1).values
            kinds.append(((total - power_sums(top)).clamp(min=0.0), top))
        value[few] = value_of(form, n, k[few], *kinds)
        none = torch.log1p(-some).sum(1).exp()
        value[few] += torch.where(k[few] == 0, metric.zero_division * none, 0.0)
    return value


def value_of(form: RatioForm, n: int, k: Tensor, inside: Sums, outside: Sums) -> Tensor:
    """Return E[c1·tp/D], 0/0 = 0, from power sums and single pixels of both kinds."""
    _, d1, d2, d3 = form.d
    s, w = nodes_of(form, n, k.device)
    logs, hits = series(inside, s * (d1 + d3))
    behind, _ = series(outside, s * d3)
    logs = logs + behind - s * (d2 * k[:, None] + d1 + d3)
    return form.c[1] * (w * logs.exp() * hits).sum(1)


@lru_cache(maxsize=32)
def nodes_of(form: RatioForm, n: int, device: object) -> list[Tensor]:
    """Return nodes and weights of 1/D for n pixels."""
    rule = exponential_sum(1.0, *map(float, form.denominator_range(n, n)))
    return [torch.from_numpy(x).to(device) for x in rule]


def series(part: Sums, rate: Tensor) -> tuple[Tensor, Tensor]:
    """Return Σ log φ and Σ p/φ for u = e^-rate of every node, of rows."""
    a = -torch.expm1(-rate)
    j = torch.arange(1, POWERS + 1, device=a.device, dtype=a.dtype)[:, None]
    sums, single = part[0], part[1][:, :, None]
    phi = (1.0 - single) + single * (-rate).exp()
    logs = phi.log().sum(1) - sums @ (a**j / j)
    return logs, (single / phi).sum(1) + sums @ a ** (j - 1.0)
