"""LlamaIndex: a post-processor that keeps the nodes chosen by a `PassageChoice`."""

from functools import cache
from typing import Any

from argmetric._ground.lazy import load_module
from argmetric.integrations._tables import PassageChoice


@cache
def _define_classes() -> type[Any]:
    """Define `PassageFilter`, which needs LlamaIndex as its base."""
    base = load_module("llama_index.core.postprocessor.types")

    class PassageFilter(base.BaseNodePostprocessor):  # type: ignore[misc, name-defined]
        """Keep the nodes that a `PassageChoice` chooses by their scores."""

        choice: PassageChoice = PassageChoice()

        @classmethod
        def class_name(cls) -> str:
            return "PassageFilter"

        def _postprocess_nodes(
            self, nodes: list[Any], query_bundle: object = None
        ) -> list[Any]:
            scores = [one.score for one in nodes]
            texts = [one.node.get_content() for one in nodes]
            return [nodes[i] for i in self.choice.choose(scores, texts)]

    return PassageFilter


def __getattr__(name: str) -> type[Any]:
    if name == "PassageFilter":
        return _define_classes()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
