"""Objects that are kept in JSON files, in families of several kinds."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Generic, TypeVar

from argmetric._results.saving._json import load_json, save_json
from argmetric._results.saving._whole import FilePath

Kept = TypeVar("Kept")


class Saved(Generic[Kept]):
    """An object that is kept in a JSON file; every kind of it registers itself.

    The class that names it in `_what` is the head of a family, and each class below it
    with a `kind` of its own is one of its kinds. `to_dict` and `_from_plain` are a
    kind's own; `_kind_of` is the family's.
    """

    _what: ClassVar[str] = ""
    kind: ClassVar[str] = ""
    _kinds: ClassVar[dict[str, Any]]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "_what" in vars(cls):
            cls._kinds = {}
        if vars(cls).get("kind"):
            cls._kinds[cls.kind] = cls

    def to_dict(self) -> dict[str, Any]:
        """All that is saved, for JSON; `from_dict` gives an equal object back."""
        raise NotImplementedError

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> Kept:
        """One of this kind, from a dict whose kind and format were checked."""
        raise NotImplementedError

    @classmethod
    def _kind_of(cls, values: Any) -> str:
        """The kind that a dict names; refuse another thing, or a later format."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Kept:
        """What `to_dict` described, of whichever kind it is.

        Parameters
        ----------
        values : dict
            What `to_dict` gave.
        """
        kind = cls._kind_of(values)
        if kind not in cls._kinds:
            known = ", ".join(sorted(cls._kinds))
            raise ValueError(f"no {cls._what} of the kind {kind!r}; known are {known}")
        try:
            return cls._kinds[kind]._from_plain(values)  # type: ignore[no-any-return]
        except KeyError as error:
            raise ValueError(f"a saved {cls._what} lacks {error}") from None
        except RecursionError:
            raise ValueError(f"a saved {cls._what} is nested too deeply") from None
        except (TypeError, AttributeError, ValueError, ArithmeticError) as error:
            raise ValueError(f"a saved {cls._what} is damaged: {error}") from None

    def save(self, path: FilePath) -> None:
        """Write it to a JSON file, which is replaced whole or not at all.

        Parameters
        ----------
        path : str or path
            The file.
        """
        save_json(path, self.to_dict())

    @classmethod
    def load(cls, path: FilePath) -> Kept:
        """Read what `save` wrote, of whichever kind it is.

        Parameters
        ----------
        path : str or path
            The file.
        """
        values = load_json(path, cls._what)
        try:
            return cls.from_dict(values)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None
