"""Real Dice of masks whose pixels depend on each other, and its forecast.

Each image shows one possible object: a disc whose place the network knows. It gives the
true probability of every pixel. In the case "pixels" each pixel is drawn on its own; in
"size" the object is there and its radius is uncertain; in "presence" it is there or not
as a whole. The overconfident network doubles its log-odds. Calibrators are fitted on
labelled images, and the figures come from other images.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CASES = ("pixels", "size", "presence")
SIDE = 40
SPREAD = 0.25  # standard deviation of the logarithm of a radius


def images(torch: Any, case: str, count: int, seed: int, device: str) -> Any:
    """Log-odds of every pixel, and the true masks."""
    generator = torch.Generator().manual_seed(seed)
    place = torch.rand(2, count, 1, 1, generator=generator) * 16.0 + 12.0
    radius = torch.rand(count, 1, 1, generator=generator) * 8.0 + 4.0
    there = torch.rand(count, 1, 1, generator=generator)
    if case == "size":
        there = torch.ones_like(there)
    line = torch.arange(SIDE)
    far = ((line[:, None] - place[0]) ** 2 + (line - place[1]) ** 2).sqrt() + 0.5
    normal = torch.distributions.Normal(0.0, 1.0)
    p = there * normal.cdf(torch.log(radius / far) / SPREAD)
    p = p.clamp(1e-6, 1.0 - 1e-6)
    if case == "pixels":
        y = torch.rand(p.shape, generator=generator) < p
    else:
        noise = torch.randn(count, 1, 1, generator=generator)
        y = far < radius * torch.exp(SPREAD * noise)
        y &= torch.rand(count, 1, 1, generator=generator) < there
    return torch.logit(p)[:, None].to(device), y[:, None].to(device)


def dice(masks: Any, y: Any) -> Any:
    """Dice of every image; an empty mask of an absent object scores 1."""
    both = (masks & y).sum((1, 2, 3)).double()
    size = (masks.sum((1, 2, 3)) + y.sum((1, 2, 3))).double()
    return (2.0 * both / size).nan_to_num(1.0)


def dependence(device: Any, say: Callable[..., None]) -> None:
    """Cut at 0.5, independent pixels, a temperature, and a shared effect."""
    from argmetric import tensors

    torch = device.torch
    for case in CASES:
        z, y = images(torch, case, 80, 1, device.name)
        new_z, new_y = images(torch, case, 200, 3, device.name)
        for factor in (1.0, 2.0):
            fitted = tensors.calibrate_masks(factor * z, y, logits=True)
            same = tensors.MaskCalibrator((1.0,), (0.0,))
            warm = tensors.MaskCalibrator(fitted.temperatures, (0.0,))
            x = factor * new_z
            line = {
                "case": case,
                "overconfident": factor > 1.0,
                "fitted_temperature": round(fitted.temperatures[0], 3),
                "shared_sd": round(fitted.shared_sd[0], 3),
                "cut_half": round(float(dice(x >= 0, new_y).mean()), 4),
            }
            ways = {"independent": same, "temperature": warm, "shared": fitted}
            if factor > 1.0:  # the temperature undoes it, as the first line shows
                del ways["temperature"], ways["shared"]
            for name, calibrator in ways.items():
                given: dict[str, Any] = {"logits": True, "reference": calibrator}
                found = tensors.decide_masks(x, **given)
                real = dice(found.masks, new_y)
                told = found.expected[:, 0]
                line[name] = {
                    "dice": round(float(real.mean()), 4),
                    "expected": round(float(told.mean()), 4),
                    "rms_error": round(float(((told - real) ** 2).mean().sqrt()), 4),
                    "empty": int((found.n_pixels == 0).sum()),
                }
            say("dependence", **line)
