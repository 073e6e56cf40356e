"""Decisions inside other engines; each module imports its library on first use.

`spark.decide` for Spark, `mlflow.log_rule` for MLflow, and post-processors for
LangChain, LlamaIndex and Haystack in `langchain`, `llama_index` and `haystack`. For
networks `monai.BestMasks`, `transformers.RuleMetrics` and `lightning.RuleCallback`. For
DuckDB, Polars and Ray `decide_table` labels one table, and `decide_batches` many.

Experimental: names and parameters may change in any release.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.integrations._tables import PassageChoice as PassageChoice
    from argmetric.integrations._tables import decide_batches as decide_batches
    from argmetric.integrations._tables import decide_table as decide_table

_ENGINES = (
    *("spark", "mlflow", "langchain", "llama_index", "haystack"),
    *("lightning", "monai", "transformers"),
)
if not TYPE_CHECKING:  # a misspelt name is an error for type checkers
    _load, __dir__, __all__ = lazy_names(
        __name__, {"_tables": ("PassageChoice", "decide_batches", "decide_table")}
    )

    def __getattr__(name: str) -> object:
        if name in _ENGINES:
            return importlib.import_module(f"{__name__}.{name}")
        return _load(name)
