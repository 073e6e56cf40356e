"""What all kinds of rules share: files and equality."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np

from argmetric._results.display import Result
from argmetric._results.saving import Saved, check_version
from argmetric._tune._files import FrozenDict, read_only

FORMAT = 1  # of the saved form
NAME = "argmetric rule"
CURVE = ("thresholds", "scores")  # not saved: as long as the rows


class SavedRule(Saved[Any], Result):
    """A frozen rule that can be written to a file and read back.

    A new kind of rule is a class below this one with a `kind`, `to_dict` and
    `_from_plain`, that the face of the room imports.
    """

    _what: ClassVar[str] = "rule"

    def _header(self) -> dict[str, Any]:
        return {"file": NAME, "format": FORMAT, "kind": self.kind}

    @classmethod
    def _kind_of(cls, values: Any) -> str:
        # A sparse matrix of keys is a dict with a `get` of its own.
        if not isinstance(values, dict) or dict.get(values, "file") != NAME:
            raise ValueError(f"this is no saved rule: it does not say {NAME!r}")
        made = values.get("versions")
        by = made.get("argmetric", "") if isinstance(made, dict) else ""
        check_version(values.get("format"), FORMAT, "this rule", by)
        return str(values.get("kind"))

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
