"""Trees in files that several tests read."""

from argmetric.search import Tree


def put(name, text, encoding="utf-8"):
    with open(name, "wb") as stream:
        stream.write(text.encode(encoding))
    return name


def tree(heads, **parts):
    words = [f"w{i}" for i in range(1, len(heads) + 1)]
    return Tree(**{"words": words, "tags": None, "heads": heads} | parts)
