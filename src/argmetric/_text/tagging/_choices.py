"""What may be decided, as arrays for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._text.corpus.labels import roles_and_kinds, well_formed
from argmetric._text.kernels.tagging_layout import Choices
from argmetric._text.tagging.templates import Template, lags


@dataclass(frozen=True)
class Tier:
    """A sequence of labels to decide.

    Attributes
    ----------
    name : str
        What templates call it.
    labels : tuple of str
        The labels, in the order of their numbers.
    spans : bool
        Whether they are labels of IOB2, of which some may not follow others.
    """

    name: str
    labels: tuple[str, ...]
    spans: bool


def make_choices(
    tiers: Sequence[Tier],
    tables: Sequence[Sequence[Template]],
    *,
    hash_bits: int,
    base: int = 0,
    value: float = 1.0,
) -> Choices:
    """Arrays that say what may be decided and where its weights stand.

    Static features have the rows below 2**hash_bits, or, where `base` is given, those
    below `base`, and history features those from there on.
    """
    most = max(len(tier.labels) for tier in tiers)
    bits = 8 if most < 255 else 16
    names = [tier.name for tier in tiers]
    masks, ends = [], [0]
    state = 0
    for number, table in enumerate(tables):
        for template in table:
            if template.labels:
                masks.append(_mask(lags(template, number, names), bits, template))
                state |= masks[-1]
        ends.append(len(masks))
    if any(tier.spans for tier in tiers):
        state |= ((1 << bits) - 1) << bits * (len(tiers) - 1)
    rows = base + (1 << hash_bits)
    sizes = [rows * len(tier.labels) for tier in tiers]
    allowed, roles, kinds = _legality(tiers, most)
    return Choices(
        np.array([len(tier.labels) for tier in tiers], dtype=np.int64),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array(ends, dtype=np.int64),
        np.array(masks, dtype=np.uint64),
        allowed,
        roles,
        kinds,
        np.uint64(bits),
        # Labels in between are kept where the code is, or the mask would move
        np.uint64(_filled(state)),
        np.uint64(64 - hash_bits),
        np.int64(base),
        np.float32(value),
    )


def _filled(state: int) -> int:
    return int((1 << state.bit_length()) - 1)


def _mask(steps: Sequence[int], bits: int, template: Template) -> int:
    if max(steps) * bits > 64:
        raise ValueError(
            f"template {template.text!r} looks {max(steps)} decisions back; with this "
            f"many labels {64 // bits} is the farthest"
        )
    return sum(((1 << bits) - 1) << bits * (step - 1) for step in set(steps))


def _legality(tiers: Sequence[Tier], most: int) -> tuple[Any, Any, Any]:
    allowed = np.zeros((len(tiers), most + 1, most), dtype=np.bool_)
    roles = np.full((len(tiers), most), -1, dtype=np.int64)
    kinds = np.full((len(tiers), most), -1, dtype=np.int64)
    for s, tier in enumerate(tiers):
        n = len(tier.labels)
        allowed[s, : n + 1, :n] = True
        if not tier.spans:
            continue
        first, follows, _ = well_formed(tier.labels, "IOB2")
        allowed[s, 0, :n] = first
        allowed[s, 1 : n + 1, :n] = follows
        roles[s, :n], kinds[s, :n] = roles_and_kinds(tier.labels)
    return allowed, roles, kinds


def size_of(choices: Choices) -> int:
    """How many weights the choices have."""
    return int(choices.starts[-1])
