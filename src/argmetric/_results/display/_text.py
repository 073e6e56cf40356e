"""Numbers and columns as others want to see them."""

from __future__ import annotations

from typing import Any

from argmetric._input.arguments import check_choice


def shortest_cut(threshold: float, low: float, high: float) -> str:
    """A threshold with as few digits as still cut above `low` and not above `high`."""
    for digits in range(2, 18):
        text = f"{threshold:.{digits}g}"
        if low < float(text) <= high:
            return text
    return repr(threshold)


def as_frame(columns: dict[str, Any], backend: str) -> Any:
    """Columns as a frame of the library of that name."""
    import narwhals as nw

    check_choice(backend, "backend", ("pandas", "polars", "pyarrow"))
    return nw.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]
