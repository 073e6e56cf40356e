"""LangChain: a document compressor that keeps those chosen by a `PassageChoice`."""

from functools import cache
from typing import Any

from argmetric._ground.lazy import load_module
from argmetric.integrations._tables import PassageChoice


@cache
def _define_classes() -> type[Any]:
    """Define `PassageFilter`, which needs LangChain as its base."""
    core = load_module("langchain_core.documents")
    base = load_module("langchain_core.documents.compressor")

    class PassageFilter(base.BaseDocumentCompressor):  # type: ignore[misc, name-defined]
        """Keep the documents that a `PassageChoice` chooses by their scores."""

        choice: PassageChoice = PassageChoice()
        score_key: str = "relevance_score"  # of the metadata

        def compress_documents(
            self, documents: list[Any], query: str, callbacks: object = None
        ) -> list[core.Document]:  # type: ignore[name-defined]
            scores = [one.metadata.get(self.score_key) for one in documents]
            texts = [one.page_content for one in documents]
            return [documents[i] for i in self.choice.choose(scores, texts)]

    return PassageFilter


def __getattr__(name: str) -> type[Any]:
    if name == "PassageFilter":
        return _define_classes()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
