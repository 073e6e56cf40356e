"""One namespace for torch and for arrays of the array API, and checks of input.

Code of this room uses the names of the array API. torch has most of them under the
same names; `TorchNamespace` holds those that differ, so that torch alone is enough.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from argmetric._ground.arguments import check_choice, install, is_tensor
from argmetric._ground.types import AnyArray
from argmetric._ground.validation import check_scores

Tensor: TypeAlias = Any  # of torch, or of a library that follows the array API
Namespace: TypeAlias = Any  # the module of its functions, or `TorchNamespace`
# Of each row: the best count, its value and the cut-off
BestCounts: TypeAlias = tuple[Tensor, Tensor, Tensor]
Checks: TypeAlias = list[Callable[[], Tensor | None]]
Answer = TypeVar("Answer")
OLD_NUMPY = not hasattr(np, "cumulative_sum")  # its arrays are not of the array API


class TorchNamespace:
    """Namespace of torch with the names of the array API."""

    def __init__(self, torch: ModuleType) -> None:
        self.torch = torch
        self.max, self.cumulative_sum = torch.amax, torch.cumsum
        self.take_along_axis, self.permute_dims = torch.take_along_dim, torch.permute
        self.unique_values = torch.unique

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def astype(self, x: Tensor, dtype: object) -> Tensor:
        return x.to(dtype)

    def flip(self, x: Tensor, axis: int) -> Tensor:
        return self.torch.flip(x, (axis,))

    def take(self, x: Tensor, places: Tensor, axis: int) -> Tensor:
        return self.torch.index_select(x, axis, places)


def namespace(x: Tensor) -> Namespace:
    """Return the array namespace of a tensor."""
    loaded = sys.modules.get("torch")
    if loaded is not None and isinstance(x, loaded.Tensor):
        return TorchNamespace(loaded)
    if OLD_NUMPY if isinstance(x, np.ndarray | np.generic) else not is_tensor(x):
        kind = f"numpy {np.__version__}" if isinstance(x, np.ndarray) else type(x)
        raise TypeError(
            "argmetric.tensors takes tensors of torch and arrays of the array API "
            f"(numpy from 2.1 on), not {getattr(kind, '__name__', kind)}; "
            "functions such as argmetric.decide take lists and arrays of any numpy"
        )
    return x.__array_namespace__()


def require_torch(what: str) -> ModuleType:
    """Import torch; an error names the extra that installs it."""
    try:
        import torch
    except ImportError:
        raise ImportError(f"{what} needs torch: {install('torch')}") from None
    return cast("ModuleType", torch)


class _Torch:
    """torch, loaded when something of it is first used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by those who look at a module
            raise AttributeError(name)
        return getattr(require_torch("this part of argmetric.tensors"), name)


torch: Any = _Torch()


def to_host(x: Tensor) -> AnyArray:
    """Return a numpy copy, for small results and for messages."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        return np.asarray(x.double() if x.is_floating_point() else x)
    own = isinstance(x, np.ndarray | np.generic)
    return np.asarray(x) if own else np.from_dlpack(x)


def like(xp: Namespace, values: object, tensor: Tensor, dtype: object = None) -> Tensor:
    """Return host values on the device of a tensor, in its dtype by default."""
    return xp.asarray(values, dtype=dtype or tensor.dtype, device=tensor.device)


def descending(xp: Namespace, x: Tensor) -> Tensor:
    """Return rows in descending order."""
    if isinstance(xp, TorchNamespace):
        return xp.torch.sort(x, dim=-1, descending=True).values
    return xp.flip(xp.sort(x, axis=-1), axis=-1)


def work_dtype(xp: Namespace, dtype: str, tensor: Tensor) -> object:
    """Return the dtype in which sums are taken."""
    check_choice(dtype, "dtype", ("float64", "float32"))
    work = getattr(xp, dtype)
    if xp.zeros(1, dtype=work, device=tensor.device).dtype != work:
        raise TypeError(f"{dtype} is switched off here: switch it on, or use float32")
    return work


def _check_form(x: Tensor, name: str, most_dims: int) -> None:
    """Refuse a tensor with a gradient, sparse, empty, or of too many dimensions."""
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


def read_tensor(
    x: Tensor,
    name: str,
    *,
    logits: bool = False,
    most_dims: int = 2,
    later: Checks | None = None,
) -> Tensor:
    """Return scores as floats on their device: no gradient or NaN, in [0, 1].

    Waiting for the range of scores on a GPU would leave it idle. With `later` the check
    of values is put there, to be called when all work is queued (`run_with_checks`). It
    raises, or gives scores clipped where rounding put some just outside of [0, 1].
    """
    xp = namespace(x)
    _check_form(x, name, most_dims)
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
    if isinstance(xp, TorchNamespace):
        extent = xp.stack(xp.aminmax(x))
    else:
        extent = np.array([float(xp.min(x)), float(xp.max(x))])

    def check() -> Tensor | None:
        """Check the range of values; return them clipped if off by rounding."""
        low, high = extent.tolist()  # both are nan where there is one
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


def read_labels(labels: Tensor, name: str, template: Tensor, other: str) -> Tensor:
    """Return labels as booleans, on the device and in the shape of a template."""
    xp = namespace(template)
    foreign = isinstance(labels, np.ndarray) and not isinstance(template, np.ndarray)
    if foreign or not (hasattr(labels, "shape") and hasattr(labels, "device")):
        raise TypeError(
            f"{name} must be a tensor, as {other} is, not {type(labels).__name__}"
        )
    if tuple(labels.shape) != tuple(template.shape):
        raise ValueError(
            f"{name} has shape {tuple(labels.shape)} but {other} has shape "
            f"{tuple(template.shape)}"
        )
    if labels.device != template.device:
        raise ValueError(
            f"{name} is on {labels.device} but {other} is on {template.device}"
        )
    if labels.dtype == xp.bool:
        return labels
    chosen = labels == 1
    if not bool(xp.all(chosen | (labels == 0))):
        raise ValueError(f"{name} must hold 0 and 1, or booleans")
    return chosen


def run_with_checks(
    run: Callable[[Tensor], Answer], x: Tensor, later: Checks
) -> Answer:
    """Return `run` of scores, or of clipped ones if a late check asks for it."""
    answer = run(x)
    for check in later:
        clipped = check()
        if clipped is not None:
            answer = run(clipped)
    return answer


def capturing(x: Tensor) -> bool:
    """Return whether a CUDA graph is being recorded, when values cannot be read."""
    gpu = getattr(x, "is_cuda", False)
    return bool(gpu and torch.cuda.is_current_stream_capturing())


def both_p(xp: Namespace, scores: Tensor, logits: bool) -> tuple[Tensor, Tensor]:
    """Return p and 1-p, both accurate."""
    if not logits:
        return scores, 1.0 - scores
    small = xp.exp(-xp.abs(scores))
    large, small = 1.0 / (1.0 + small), small / (1.0 + small)
    positive = scores >= 0
    return xp.where(positive, large, small), xp.where(positive, small, large)


def as_single(cut: Tensor) -> Tensor:
    """Return cuts rounded up to float32, so that float32 scores compare alike."""
    single = cut.float()
    above = torch.nextafter(single, torch.full_like(single, math.inf))
    return torch.where(single.double() < cut, above, single)


def cut_between(xp: Namespace, upper: Tensor, lower: Tensor) -> Tensor:
    """Return a cut below one score and above the next; nan if they are equal.

    Half-way, if that survives rounding to float32.
    """
    finite = xp.isfinite(upper) & xp.isfinite(lower)
    middle = xp.where(finite, lower / 2.0 + upper / 2.0, upper)
    rounded = xp.astype(xp.astype(middle, xp.float32), middle.dtype)
    fits = finite & (lower < rounded) & (rounded <= upper)
    return xp.where(upper == lower, math.nan, xp.where(fits, middle, upper))
