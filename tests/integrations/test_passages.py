"""Post-processors of retrieval frameworks pass on what `decide` chooses."""

import numpy as np
import pytest

import argmetric as am
from argmetric.integrations import PassageChoice
from refusing import refuses

SCORES = [0.2, 0.9, 0.7, 0.05, 0.6, 0.1]
TEXTS = ["one", "two words", "a long text of seven words here", "x", "y z", "w"]
CHOICE = PassageChoice("f2", max_tokens=5)
CHOSEN = [0, 1, 4]


def test_the_choice_is_that_of_decide():
    cost = [len(text.split()) for text in TEXTS]
    labels = am.decide(SCORES, "f2", budget=(cost, 5)).labels
    assert CHOICE.choose(SCORES, TEXTS) == np.flatnonzero(labels).tolist() == CHOSEN
    free = np.flatnonzero(am.decide(SCORES, "f2").labels).tolist()
    assert PassageChoice("f2").choose(SCORES, TEXTS) == free != CHOSEN
    by_letters = PassageChoice("f2", max_tokens=3, count_tokens=len)
    assert by_letters.choose(SCORES, TEXTS) == [4]
    assert CHOICE.choose([], []) == []
    with pytest.raises(ValueError, match="passage 1 has no score: rerank"):
        CHOICE.choose([0.3, None], ["a", "b"])
    refuses(ValueError, "2 scores for 1 passages", CHOICE.choose, [0.3, 0.2], ["a"])
    refuses(ValueError, "unknown metric 'f_1'", PassageChoice, "f_1")
    refuses(TypeError, "max_tokens must be a number", PassageChoice, max_tokens="9")


def test_langchain():
    core = pytest.importorskip("langchain_core", reason="langchain-core is not there")
    from langchain_core.documents import Document

    documents = [
        Document(page_content=text, metadata={"relevance_score": score})
        for text, score in zip(TEXTS, SCORES, strict=True)
    ]
    found = am.integrations.langchain.PassageFilter(choice=CHOICE)
    assert isinstance(found, core.documents.compressor.BaseDocumentCompressor)
    kept = found.compress_documents(documents, "a query")
    assert kept == [documents[i] for i in CHOSEN]


def test_llama_index():
    pytest.importorskip("llama_index.core", reason="llama-index-core is not there")
    from llama_index.core.schema import NodeWithScore, TextNode

    nodes = [
        NodeWithScore(node=TextNode(text=text), score=score)
        for text, score in zip(TEXTS, SCORES, strict=True)
    ]
    found = am.integrations.llama_index.PassageFilter(choice=CHOICE)
    kept = found.postprocess_nodes(nodes, query_str="a query")
    assert kept == [nodes[i] for i in CHOSEN]


def test_haystack():
    pytest.importorskip("haystack", reason="haystack-ai is not installed")
    from haystack import Document, Pipeline

    documents = [
        Document(content=text, score=score)
        for text, score in zip(TEXTS, SCORES, strict=True)
    ]
    pipeline = Pipeline()
    component = am.integrations.haystack.PassageFilter(CHOICE)
    pipeline.add_component("filter", component)
    found = pipeline.run({"filter": {"documents": documents}})
    assert found["filter"]["documents"] == [documents[i] for i in CHOSEN]


@pytest.mark.parametrize(
    ("module", "library"),
    [
        ("langchain", "langchain_core"),
        ("llama_index", "llama_index"),
        ("haystack", "haystack"),
    ],
)
def test_a_missing_framework_names_its_extra(monkeypatch, module, library):
    import sys

    found = getattr(am.integrations, module)
    for name in [x for x in sys.modules if x.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    found._define_classes.cache_clear()
    extra = module.replace("_", "-")
    text = rf"this needs {library}: pip install 'argmetric\[{extra}\]'"
    with pytest.raises(ModuleNotFoundError, match=text):
        found.PassageFilter  # noqa: B018
    found._define_classes.cache_clear()
    with pytest.raises(AttributeError, match="has no attribute 'Other'"):
        found.Other  # noqa: B018
