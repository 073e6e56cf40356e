"""Pictures in the way of scikit-learn's displays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from argmetric._results.display._pictures import drawing


@dataclass(repr=False)
class Display:
    """What is drawn, and once it is drawn, where.

    A class has the values to draw as its fields, and says in `_draw` how; `plot` may be
    called again, on other axes.
    """

    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)
    line_: Any = field(default=None, init=False)

    def plot(self, ax: Any = None) -> Self:
        """Draw on given axes, or on those of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        Display
            The display itself, with its artists as attributes.
        """
        with drawing(ax, self._size(), **self._labels()) as ax:
            self.line_ = self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure."""
        return 6.4, 3.8

    def _labels(self) -> dict[str, Any]:
        """What ``ax.set`` takes."""
        raise NotImplementedError

    def _draw(self, ax: Any) -> Any:
        """Draw, and return the line that people will want to style."""
        raise NotImplementedError

    def __repr__(self) -> str:
        state = "not drawn yet" if self.ax_ is None else "drawn"
        return f"{type(self).__name__}({state})"
