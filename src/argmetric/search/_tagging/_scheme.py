"""What may be decided, as arrays for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._corpus import roles_and_kinds, well_formed
from argmetric._kernels.tagging_layout import Scheme
from argmetric.search._tagging._templates import Template, lags


@dataclass(frozen=True)
class Stream:
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


def make_scheme(
    streams: Sequence[Stream],
    tables: Sequence[Sequence[Template]],
    *,
    hash_bits: int,
    base: int = 0,
    value: float = 1.0,
) -> Scheme:
    """Arrays that say what may be decided and where its weights stand.

    Static features have the rows below 2**hash_bits, or, where `base` is given, those
    below `base`, and history features those from there on.
    """
    most = max(len(stream.labels) for stream in streams)
    bits = 8 if most < 255 else 16
    names = [stream.name for stream in streams]
    masks, ends = [], [0]
    state = 0
    for number, table in enumerate(tables):
        for template in table:
            if template.labels:
                masks.append(_mask(lags(template, number, names), bits, template))
                state |= masks[-1]
        ends.append(len(masks))
    if any(stream.spans for stream in streams):
        state |= ((1 << bits) - 1) << bits * (len(streams) - 1)
    rows = base + (1 << hash_bits)
    sizes = [rows * len(stream.labels) for stream in streams]
    allowed, roles, kinds = _legality(streams, most)
    return Scheme(
        np.array([len(stream.labels) for stream in streams], dtype=np.int64),
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


def _legality(streams: Sequence[Stream], most: int) -> tuple[Any, Any, Any]:
    allowed = np.zeros((len(streams), most + 1, most), dtype=np.bool_)
    roles = np.full((len(streams), most), -1, dtype=np.int64)
    kinds = np.full((len(streams), most), -1, dtype=np.int64)
    for s, stream in enumerate(streams):
        n = len(stream.labels)
        allowed[s, : n + 1, :n] = True
        if not stream.spans:
            continue
        first, follows, _ = well_formed(stream.labels, "IOB2")
        allowed[s, 0, :n] = first
        allowed[s, 1 : n + 1, :n] = follows
        roles[s, :n], kinds[s, :n] = roles_and_kinds(stream.labels)
    return allowed, roles, kinds


def size_of(scheme: Scheme) -> int:
    """How many weights a scheme has."""
    return int(scheme.starts[-1])
