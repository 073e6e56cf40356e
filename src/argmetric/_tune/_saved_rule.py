"""What all kinds of rules share: files, equality, the printed form."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from argmetric._display import Lines, as_html, as_text
from argmetric._tune._files import FrozenDict, read_only

CURVE = ("thresholds", "scores")  # not saved: as long as the rows


class SavedRule:
    """A frozen rule that can be written to a file and read back."""

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    def _title(self) -> str:
        raise NotImplementedError

    def _lines(self) -> Lines:
        raise NotImplementedError

    def _notes(self) -> tuple[str, ...]:
        return ()

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Any:
        """The rule that `to_dict` described, of whichever kind it is.

        Parameters
        ----------
        values : dict
            What `to_dict` gave.
        """
        from argmetric._tune._kinds import rule_from_dict

        return rule_from_dict(values)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule to a JSON file, which is replaced whole or not at all.

        Parameters
        ----------
        path : str or path
            The file.
        """
        from argmetric._files import save_json

        save_json(path, self.to_dict())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Any:
        """Read a rule of any kind that `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.
        """
        from argmetric._files import load_json

        values = load_json(path, "rule")
        try:
            return SavedRule.from_dict(values)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        """Plain dicts for pickles and the like, which fill a mapping item by item."""
        state = dict(vars(self))
        for name, value in state.items():
            if isinstance(value, FrozenDict):
                state[name] = dict(value)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            if isinstance(value, dict):
                value = FrozenDict(value)
            elif isinstance(value, np.ndarray):
                value = read_only(value)
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, SavedRule)
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> str:
        """All that is saved, as text: nan equals itself there."""
        try:
            return json.dumps(self.to_dict(), sort_keys=True)
        except TypeError:  # a function as calibrator, or labels of a kind of their own
            kept = {name: x for name, x in vars(self).items() if name not in CURVE}
            return repr(kept)

    def __repr__(self) -> str:
        return as_text(self._title(), self._lines(), self._notes())

    def _repr_html_(self) -> str:
        return as_html(self._title(), self._lines(), self._notes())
