"""Functions of Arrow on columns, called by their names.

``pyarrow.compute`` writes a Python function, with documentation, for each of three
hundred of them when it is loaded, which takes longer than what a small job does.
"""

from __future__ import annotations

from typing import Any

_OPTIONS = {
    "count_substring_regex": "MatchSubstringOptions",
    "match_substring_regex": "MatchSubstringOptions",
    "replace_substring": "ReplaceSubstringOptions",
    "replace_substring_regex": "ReplaceSubstringOptions",
}


def call(name: str, *columns: Any, **options: str) -> Any:
    """Apply a function to columns and scalars, with the options that it has."""
    engine = _engine()
    chosen = getattr(engine, _OPTIONS[name])(**options) if options else None
    return engine.call_function(name, list(columns), chosen)


def cast(column: Any, type_: Any, *, safe: bool = True) -> Any:
    """Return a column as another type; unsafe casts may lose digits."""
    engine = _engine()
    options = engine.CastOptions
    chosen = options.safe(type_) if safe else options.unsafe(type_)
    return engine.call_function("cast", [column], chosen)


def _engine() -> Any:
    """The module that `pyarrow.compute` has these from, where there is one."""
    try:
        from pyarrow import _compute as engine
    except ImportError:
        from pyarrow import compute as engine
    return engine
