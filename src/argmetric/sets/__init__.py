"""One answer from several: sets of items, from samples of any model's outputs.

An answer is a set of entities, tags, files, passages or products. A model gave several
answers to the same question; `decide` finds the set of the highest mean score over
them, whatever the items have to do with each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.sets._decide import decide as decide
    from argmetric.sets._result import SetDecision as SetDecision

__getattr__, __dir__, __all__ = lazy_names(
    __name__, {"_decide": ("decide",), "_result": ("SetDecision",)}
)
