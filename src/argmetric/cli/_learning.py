"""What commands that learn by epochs have in common."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from argmetric.cli._errors import say
from argmetric.cli._summary import Values

_INTERRUPT = "learning was interrupted"  # how the warning of `fit` begins


def tell_epoch(row: dict[str, Any]) -> None:
    """Say what an epoch came to."""
    score = "" if row["score"] is None else f", dev {row['score']:.4f}"
    say(
        f"{row['stage']}, epoch {row['epoch']}: {100 * row['error']:.2f} % of the "
        f"decisions wrong{score}, {row['seconds']:.1f} s"
    )


@contextlib.contextmanager
def warnings_in(notes: list[str]) -> Iterator[None]:
    """Let warnings be notes, but for that of an interrupt."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    said = (" ".join(str(warning.message).split()) for warning in caught)
    notes += [s for s in dict.fromkeys(said) if not s.startswith(_INTERRUPT)]


def at_last(history: list[Values]) -> str:
    """How the last epoch ended, for the line on learning."""
    return "".join(
        f", at last {100 * row['error']:.2f} % wrong" for row in history[-1:]
    )


def written_model(path: str, n_bytes: int) -> str:
    """Which file a model was written to, and its size."""
    kilobytes = max(1, round(n_bytes / 1e3))
    size = f"{kilobytes} kB" if kilobytes < 1000 else f"{n_bytes / 1e6:.1f} MB"
    return f"{path} ({size})"
