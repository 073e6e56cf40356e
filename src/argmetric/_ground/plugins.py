"""Metrics of other packages, by their entry points."""

from __future__ import annotations

from typing import Any, Literal

Group = Literal["argmetric.metrics"]


def plugin_names(group: Group) -> list[str]:
    """Return the sorted names that installed packages add to a group."""
    from importlib.metadata import entry_points

    return sorted({one.name for one in entry_points(group=group)})


def load_plugin(group: Group, name: str) -> Any:
    """Return the object that an installed package registers under a name, or None.

    Raises
    ------
    ValueError
        Two packages offer the name, or the one that does cannot be loaded.
    """
    from importlib.metadata import entry_points

    found = list(entry_points(group=group, name=name))
    if not found:
        return None
    offered = sorted({f"{one.dist.name if one.dist else one.value}" for one in found})
    if len(offered) > 1:
        raise ValueError(
            f"{name!r} of {group} is offered by {' and '.join(offered)}: uninstall one"
        )
    try:
        return found[0].load()
    except Exception as error:
        raise ValueError(
            f"{name!r} of {group} is offered by {offered[0]}, which cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error
