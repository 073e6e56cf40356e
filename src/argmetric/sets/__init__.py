"""Choose a set of items from several sampled sets, such as answers of a language model.

An answer is a set of entities, tags, files, passages or products. Given several sampled
answers to one question, `decide` returns the set with the highest mean score over them.
Items may depend on each other in any way.

Experimental: names and parameters may change in any release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.sets._decide import decide as decide
    from argmetric.sets._result import SetDecision as SetDecision

if not TYPE_CHECKING:  # a misspelt name is an error for type checkers
    __getattr__, __dir__, __all__ = lazy_names(
        __name__, {"_decide": ("decide",), "_result": ("SetDecision",)}
    )
