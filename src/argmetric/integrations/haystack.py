"""Haystack: a component that keeps the documents chosen by a `PassageChoice`."""

from functools import cache
from typing import Any

from argmetric._ground.lazy import load_module
from argmetric.integrations._tables import PassageChoice


@cache
def _define_classes() -> type[Any]:
    """Define `PassageFilter`, which needs Haystack as its base."""
    haystack = load_module("haystack")
    documents_type = list[haystack.Document]  # type: ignore[name-defined]

    @haystack.component
    class PassageFilter:
        """Keep the documents that a `PassageChoice` chooses by their scores."""

        def __init__(self, choice: PassageChoice | None = None) -> None:
            self.choice = choice or PassageChoice()

        @haystack.component.output_types(documents=documents_type)  # type: ignore[untyped-decorator]
        def run(self, documents: documents_type) -> dict[str, Any]:
            """Return the documents to pass on, in their order."""
            scores = [one.score for one in documents]
            texts = [one.content or "" for one in documents]
            kept = self.choice.choose(scores, texts)
            return {"documents": [documents[i] for i in kept]}

    return PassageFilter


def __getattr__(name: str) -> type[Any]:
    if name == "PassageFilter":
        return _define_classes()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
