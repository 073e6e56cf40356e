"""One namespace for torch and for arrays of the array API, and checks of input.

Code of this room uses the names of the array API. torch has most of them under the
same names; `TorchNamespace` holds those that differ, so that torch alone is enough.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from argmetric._ground.arguments import check_choice, install
from argmetric._ground.types import AnyArray
from argmetric._ground.validation import check_scores

Tensor: TypeAlias = Any  # of torch, or of a library that follows the array API


class TorchNamespace:
    """The functions of torch under the names and arguments of the array API."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def asarray(self, x: Any, dtype: Any = None, device: Any = None) -> Tensor:
        return self.torch.as_tensor(x, dtype=dtype, device=device)

    def astype(self, x: Tensor, dtype: Any) -> Tensor:
        return x.to(dtype)

    def sum(self, x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
        return self.torch.sum(x, dim=axis, keepdim=keepdims)

    def max(self, x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
        return self.torch.amax(x, dim=axis, keepdim=keepdims)

    def argmax(self, x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
        return self.torch.argmax(x, dim=axis, keepdim=keepdims)

    def argsort(self, x: Tensor, stable: bool = True) -> Tensor:
        return self.torch.argsort(x, stable=stable)

    def cumulative_sum(self, x: Tensor, axis: int) -> Tensor:
        return self.torch.cumsum(x, dim=axis)

    def flip(self, x: Tensor, axis: int) -> Tensor:
        return self.torch.flip(x, (axis,))

    def concat(self, parts: list[Tensor], axis: int) -> Tensor:
        return self.torch.cat(parts, dim=axis)

    def take(self, x: Tensor, places: Tensor, axis: int) -> Tensor:
        return self.torch.index_select(x, axis, places)

    def take_along_axis(self, x: Tensor, places: Tensor, axis: int) -> Tensor:
        return self.torch.take_along_dim(x, places, dim=axis)

    def permute_dims(self, x: Tensor, axes: tuple[int, ...]) -> Tensor:
        return x.permute(axes)

    def unique_values(self, x: Tensor) -> Tensor:
        return self.torch.unique(x)


def namespace(x: Any) -> Any:
    """What computes with a tensor."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return TorchNamespace(torch)
    return x.__array_namespace__()


def require_torch(what: str) -> Any:
    """The module torch; an error that names the extra where it is missing."""
    try:
        import torch
    except ImportError:
        raise ImportError(f"{what} needs torch: {install('torch')}") from None
    return torch


def to_host(x: Tensor) -> AnyArray:
    """A numpy copy: for small results and for messages."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        return np.asarray(x.double() if x.is_floating_point() else x)
    own = isinstance(x, np.ndarray | np.generic)
    return np.asarray(x) if own else np.from_dlpack(x)


def like(xp: Any, values: Any, tensor: Tensor, dtype: Any = None) -> Tensor:
    """Host values on the device of a tensor, in its type unless another is given."""
    return xp.asarray(values, dtype=dtype or tensor.dtype, device=tensor.device)


def descending(xp: Any, x: Tensor) -> Tensor:
    """Rows in descending order."""
    if isinstance(xp, TorchNamespace):
        return xp.torch.sort(x, dim=-1, descending=True).values
    return xp.flip(xp.sort(x, axis=-1), axis=-1)


def work_dtype(xp: Any, dtype: str, tensor: Tensor) -> Any:
    """The type that sums are taken in."""
    check_choice(dtype, "dtype", ("float64", "float32"))
    work = getattr(xp, dtype)
    if xp.zeros(1, dtype=work, device=tensor.device).dtype != work:
        raise TypeError(f"{dtype} is switched off here: switch it on, or use float32")
    return work


def read_tensor(
    x: Tensor,
    name: str,
    *,
    logits: bool = False,
    most_dims: int = 2,
    later: list[Callable[[], Tensor | None]] | None = None,
) -> Tensor:
    """Scores as floats on their device: no gradient, no NaN, within [0, 1].

    Waiting for the range of scores on a GPU would leave it idle. With `later` the check
    of values is put there, to be called when all work is queued. It raises, or gives
    scores to start again with where rounding put some just outside of [0, 1].
    """
    xp = namespace(x)
    if getattr(x, "requires_grad", False):
        raise TypeError(
            f"{name} requires grad, and labels have no gradient: pass {name}.detach()"
        )
    if getattr(x, "is_sparse", False):
        raise TypeError(f"{name} is sparse: pass {name}.to_dense(), or a scipy matrix")
    if not 1 <= x.ndim <= most_dims:
        wanted = "one or two" if most_dims == 2 else f"up to {most_dims}"
        raise ValueError(f"{name} must have {wanted} dimensions, not {x.ndim}")
    if math.prod(x.shape) == 0:
        raise ValueError(f"{name} is empty: there is nothing to decide")
    kind = str(x.dtype).rpartition(".")[2]
    if "complex" in kind:
        raise TypeError(f"{name} must hold numbers, not {kind}")
    if "float" not in kind:
        if logits:
            raise TypeError(
                f"{name} holds {kind}, and logits=True: log-odds are floats"
            )
        x = xp.astype(x, xp.float64)
    elif kind in ("float16", "bfloat16"):
        x = xp.astype(x, xp.float32)
    if capturing(x):
        return x
    extent = extent_of(xp, x)

    def check() -> Tensor | None:
        low, high = extent.tolist() if hasattr(extent, "tolist") else extent
        # Both are nan where there is one
        if low == low if logits else 0.0 <= low <= high <= 1.0:
            return None
        host = np.asarray(to_host(x), dtype=np.float64)
        check_scores(host, name, logits=logits)  # raises, unless it is rounding
        return xp.clip(x, 0.0, 1.0)

    if later is not None and getattr(x, "is_cuda", False):
        later.append(check)
        return x
    clipped = check()
    return x if clipped is None else clipped


def extent_of(xp: Any, x: Tensor) -> Any:
    """Smallest and largest number; on a GPU they are not waited for."""
    if isinstance(xp, TorchNamespace):
        return xp.torch.stack(xp.torch.aminmax(x))
    return float(xp.min(x)), float(xp.max(x))


def capturing(x: Tensor) -> bool:
    """Whether calls are recorded in a CUDA graph, so that no number can be read."""
    if not getattr(x, "is_cuda", False):
        return False
    return bool(require_torch("tensors").cuda.is_current_stream_capturing())


def chances(xp: Any, scores: Tensor, logits: bool) -> tuple[Tensor, Tensor]:
    """P and 1-p, each accurate."""
    if not logits:
        return scores, 1.0 - scores
    small = xp.exp(-xp.abs(scores))
    large, small = 1.0 / (1.0 + small), small / (1.0 + small)
    positive = scores >= 0
    return xp.where(positive, large, small), xp.where(positive, small, large)


def as_single(cut: Tensor) -> Tensor:
    """Cut-offs of torch rounded up to float32: scores in float32 compare the same."""
    torch = require_torch("masks")
    single = cut.float()
    above = torch.nextafter(single, torch.full_like(single, math.inf))
    return torch.where(single.double() < cut, above, single)
