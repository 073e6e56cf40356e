"""What all rules have in common: how they are applied, compared and kept."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np

from argmetric._ground.display import (
    Field,
)
from argmetric._ground.saving import Saved, check_version
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Frame,
    Series,
)
from argmetric._verbs.tune._export import Exported
from argmetric._verbs.tune._files import (
    FrozenDict,
    read_only,
)

FORMAT = 2  # of the saved form; 1 had no reference
NAME = "argmetric rule"
CURVE = ("thresholds", "scores")  # not saved: as long as the rows


class SavedRule(Exported, Saved[Any]):
    """A frozen rule that can be written to a file and read back.

    A new kind of rule is a class below this one with a `kind`, `fields` and
    `_from_plain`, that the face of the room imports.
    """

    _what: ClassVar[str] = "rule"
    _elsewhere: ClassVar[dict[str, str]] = {
        "multiclass": "argmetric.classes.MultiClassRule"
    }

    def apply(self, p: ArrayLike) -> AnyArray | Series | Frame:
        raise NotImplementedError

    def predict(self, p: ArrayLike) -> AnyArray | Series | Frame:
        """Labels of the scores: what `apply` gives, by scikit-learn's name.

        Parameters
        ----------
        p : array-like
            Scores as they were tuned on, not rows of features.

        Returns
        -------
        array-like
        """
        return self.apply(p)

    def _header(self) -> list[Field]:
        head = {"file": NAME, "format": FORMAT, "kind": self.kind}
        return [Field(*pair) for pair in head.items()]

    @classmethod
    def _kind_of(cls, values: Any) -> str:
        # A sparse matrix of keys is a dict with a `get` of its own.
        if not isinstance(values, dict) or dict.get(values, "file") != NAME:
            raise ValueError(f"this is no saved rule: its key 'file' is not {NAME!r}")
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
        """All that is compared, as text: nan equals itself there.

        Not the rows that it was tuned on: files read in pieces keep none.
        """
        compared = [one for one in self.fields() if one.key != "reference"]
        try:
            return json.dumps(self._plain(compared), sort_keys=True)
        except TypeError:  # a function as calibrator, or labels of a kind of their own
            left = (*CURVE, "threshold_raw", "_kept")
            kept = {name: x for name, x in vars(self).items() if name not in left}
            return repr(kept)
