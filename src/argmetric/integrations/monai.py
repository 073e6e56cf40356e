"""MONAI: post-transforms from the output of a network to its best masks."""

from __future__ import annotations

from functools import cache
from typing import Any

from argmetric._ground.lazy import load_module
from argmetric.tensors import decide_masks


@cache
def _define_classes() -> dict[str, type[Any]]:
    """Define the transforms, which need MONAI as their base."""
    transforms = load_module("monai.transforms")
    utils = load_module("monai.utils")

    class BestMasks(transforms.Transform):  # type: ignore[misc, name-defined]
        """Turn logits or probabilities (classes, *space) into masks of the same shape.

        It replaces `Activations` and `AsDiscrete`. The arguments are those of
        `argmetric.tensors.decide_masks`.
        """

        backend = (utils.TransformBackends.TORCH,)

        def __init__(self, metric: str = "dice", **settings: Any) -> None:
            self.metric, self.settings = metric, settings

        def __call__(self, img: object) -> Any:
            tensor = utils.convert_to_tensor(img, track_meta=False)
            masks = decide_masks(tensor[None], self.metric, **self.settings).masks
            return utils.convert_to_dst_type(masks[0], img, dtype=tensor.dtype)[0]

    class BestMasksd(transforms.MapTransform):  # type: ignore[misc, name-defined]
        """Apply `BestMasks` to some keys of a dictionary."""

        backend = BestMasks.backend

        def __init__(
            self, keys: object, *, allow_missing_keys: bool = False, **settings: Any
        ) -> None:
            super().__init__(keys, allow_missing_keys)
            self.transform = BestMasks(**settings)

        def __call__(self, data: Any) -> dict[Any, Any]:
            return {
                **data,
                **{key: self.transform(data[key]) for key in self.key_iterator(data)},
            }

    return {"BestMasks": BestMasks, "BestMasksd": BestMasksd}


def __getattr__(name: str) -> type[Any]:
    if name in ("BestMasks", "BestMasksd"):
        return _define_classes()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
