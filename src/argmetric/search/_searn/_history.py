"""What happened in each iteration of SEARN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, overload

from argmetric._ground.display import Shown
from argmetric._ground.pictures import drawing

_COLUMNS = (
    *("iteration", " beta", "examples", "regret", "mistakes", "roll-in"),
    *("dev loss", "initial", "seconds"),
)


@dataclass(frozen=True)
class Iteration:
    """One iteration."""

    number: int  # from 1
    beta: float  # share of decisions that the new classifier got in the mixture
    examples: int  # decisions it was trained on
    regret: float  # mean regret of its choices on these (its cost-sensitive loss)
    # share of its choices on these that have a regret: under `cross_validation`, of the
    # classifiers that did not see the input
    mistakes: float
    # mean loss of the policy that the examples came from, on the training inputs
    roll_in_loss: float
    # mean loss of all learned policies, the initial one removed, on development inputs
    dev_loss: float | None
    initial_weight: float  # share of decisions still with the initial policy
    seconds: float  # time taken
    # as `mistakes`, of a classifier that did not see the input; in the first of several
    # iterations without `cross_validation`, where there are enough to count. Far more
    # of them than `mistakes` mean that the policy learns next to nothing from further
    # iterations.
    unseen_mistakes: float | None = None

    def __str__(self) -> str:
        dev = "" if self.dev_loss is None else f", dev loss {self.dev_loss:.4f}"
        return (
            f"iteration {self.number}: {self.examples} examples, regret "
            f"{self.regret:.4f}, mistakes {self.mistakes:.2%}, roll-in loss "
            f"{self.roll_in_loss:.4f}{dev}, beta {self.beta:g}, {self.seconds:.1f} s"
        )


@dataclass(frozen=True, repr=False)
class History(Shown):
    """All iterations of a fit, in order.

    Attributes
    ----------
    iterations : tuple of Iteration
        The figures of each iteration.
    best : int
        Number of the iteration whose policy was kept.
    stopped : str
        Why the fit ended.
    """

    iterations: tuple[Iteration, ...]
    best: int
    stopped: str

    def __len__(self) -> int:
        return len(self.iterations)

    def __iter__(self) -> Iterator[Iteration]:
        return iter(self.iterations)

    @overload
    def __getitem__(self, index: int) -> Iteration: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Iteration, ...]: ...
    def __getitem__(self, index: int | slice) -> Iteration | tuple[Iteration, ...]:
        return self.iterations[index]

    def to_dict(self) -> list[dict[str, Any]]:
        """One dict for each iteration."""
        return [asdict(one) for one in self.iterations]

    def _lines(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [_COLUMNS]
        for one in self.iterations:
            dev = "-" if one.dev_loss is None else f"{one.dev_loss:.4f}"
            mark = "*" if one.number == self.best else " "
            row = [f"{mark}{one.number:9d}", f"{one.beta:.3g}", f"{one.examples}"]
            row += [f"{one.regret:.4f}", f"{one.mistakes:.2%}"]
            row += [f"{one.roll_in_loss:.4f}", dev, f"{one.initial_weight:.3g}"]
            rows.append((*row, f"{one.seconds:.2f}"))
        return rows

    def _notes(self) -> tuple[str, ...]:
        unseen = [one for one in self.iterations if one.unseen_mistakes is not None]
        return (
            f"* kept; {self.stopped}",
            *(
                f"mistakes on inputs not seen in iteration {one.number}: "
                f"{one.unseen_mistakes:.2%}"
                for one in unseen
            ),
        )

    def __repr__(self) -> str:
        widths = [len(name) + 1 for name in _COLUMNS]
        rows = [
            " ".join(cell.rjust(n) for cell, n in zip(cells, widths, strict=True))
            for cells in self._lines()
        ]
        return "\n".join([*rows, *self._notes()])

    def plot(self, ax: Any = None) -> Any:
        """Draw loss against iterations, as in Fig. 6 of the paper.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        numbers = [one.number for one in self.iterations]
        losses = [one.dev_loss for one in self.iterations]
        with drawing(ax, xlabel="iterations", ylabel="mean loss") as ax:
            if None not in losses and losses:
                ax.plot(numbers, losses, "o-", color="C0", label="learned policy, dev")
                ax.plot(self.best, losses[self.best - 1], "o", color="C3", label="kept")
            before = [number - 1 for number in numbers]  # of the policy before
            rolled, label = [one.roll_in_loss for one in self], "with initial policy"
            ax.plot(before, rolled, ".--", color="C1", label=f"{label}, training")
        return ax
