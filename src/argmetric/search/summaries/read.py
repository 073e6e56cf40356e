"""Read sources and references from files: folders of text, and JSON lines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any

from argmetric._ground.saving import parse_json
from argmetric._ground.whole_files import DataError
from argmetric.search.corpus.sentences import BYTE_ORDER, CONVERT, STREAM, read_text
from argmetric.search.corpus.trees import Tree, format_of_name, read_trees
from argmetric.search.summaries.cluster import Cluster, read_cluster
from argmetric.search.summaries.material import read_queries
from argmetric.search.summaries.rouge import read_references

_LAYOUT = (
    "a folder with a folder or a file for each cluster, or JSON lines with the keys "
    "documents and references"
)


@dataclass(frozen=True, eq=False)
class ClusterFiles:
    """Clusters read from files, with their references if there are any."""

    name: str  # what messages call the file or the folder
    clusters: list[Cluster] = field(default_factory=list)  # the sources
    # those of each cluster; none where none were asked for
    references: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what was left out
    # what the summary of each cluster is to be about, where that was said
    queries: list[str] | None = None


@dataclass(frozen=True)
class _Reader:
    """Read texts, and record which are empty."""

    encoding: str
    otherwise: str
    notes: list[str]

    def text(self, path: str | Path) -> str:
        text = read_text(os.fspath(path), self.encoding, self.otherwise)[1]
        return text.removeprefix(BYTE_ORDER)

    def document(self, path: str | Path) -> str | list[Tree]:
        """Return the trees of a file .conllu or .dp, and the text of any other."""
        return read_trees(path) if format_of_name(path) else self.text(path)

    def cluster(self, paths: Sequence[str | Path], name: str) -> Cluster:
        """Read the files as the documents of one cluster; empty ones are left out."""
        documents = list(map(self.document, paths))
        names = ["standard input" if p == STREAM else os.fspath(p) for p in paths]
        pairs = list(zip(names, documents, strict=True))
        blank = [isinstance(one, str) and not one.split() for one in documents]
        self.notes.extend(
            f"{one} is empty: it is left out" for one in compress(names, blank)
        )
        filled = [pair for pair, empty in zip(pairs, blank, strict=True) if not empty]
        if not filled:
            what = names[0] if len(names) == 1 else f"every file of {name}"
            raise DataError(f"{what} is empty: there is nothing to summarise")
        kept, bodies = zip(*filled, strict=True)
        return read_cluster(list(bodies), name, kept)


def read_sources(
    paths: Sequence[str], *, encoding: str = "UTF-8", otherwise: str = CONVERT
) -> ClusterFiles:
    """Read all files, and all files of folders, as the documents of one cluster.

    ``"-"`` is standard input. Files .conllu and .dp have dependency trees, which
    compressed summaries need. Files of a folder are sorted by name; those that begin
    with a point, and folders in it, are left out. `otherwise` says what to do about
    text that is written in another encoding, for the message.
    """
    files: list[str | Path] = []
    notes: list[str] = []
    for path in paths:
        if path != STREAM and os.path.isdir(path):
            found = _entries(path)
            files += [entry for entry in found if entry.is_file()]
            folders = [entry for entry in found if entry.is_dir()]
            if not any(entry.is_file() for entry in found):
                raise DataError(f"{path} has no files{_only_folders(folders)}")
            notes += [f"{entry} is a folder: it is left out" for entry in folders]
        else:
            files.append(path)
    if not files:
        raise DataError("there are no files to summarise")
    once = list(dict.fromkeys(os.path.normpath(path) for path in files))
    if len(once) < len(files):
        notes.append(f"{len(files) - len(once)} of the files are given twice")
    name = os.path.normpath(paths[0]) if len(paths) == 1 else f"{len(once)} files"
    name = "standard input" if name == STREAM else name
    cluster = _Reader(encoding, otherwise, notes).cluster(once, name)
    return ClusterFiles(name, [cluster], [], notes)


def read_labelled(
    path: str,
    references: str | None = None,
    *,
    encoding: str = "UTF-8",
    otherwise: str = CONVERT,
) -> ClusterFiles:
    """Read clusters with their references.

    They are JSON lines with the keys documents (each text, or a list of sentences),
    references and, if wanted, name and query; or a folder with a folder of documents,
    or one document, for each cluster. Then `references` has for the cluster NAME a
    folder NAME, or files such as NAME.txt or NAME.1.txt; each file is one reference.
    """
    reader = _Reader(encoding, otherwise, [])
    if path == STREAM or not os.path.isdir(path):
        if references is not None:
            raise DataError(
                f"{path} is a file of JSON lines, which have their references: those "
                f"of {references} are not looked at"
            )
        name = "standard input" if path == STREAM else path
        clusters, gold = [], []
        queries: list[str | None] = []
        for number, line in enumerate(reader.text(path).split("\n"), start=1):
            if not line.strip():
                continue
            try:
                cluster, own, query = _from_line(line, number)
                if queries and (query is None) != (queries[0] is None):
                    is_there = "is missing" if query is None else "is new"
                    raise ValueError(f"'query' {is_there}: all lines have one, or none")
            except (ValueError, TypeError) as error:
                raise DataError(f"{name}, line {number}: {error}") from None
            clusters.append(cluster)
            gold.append(own)
            queries.append(query)
        if not clusters:
            raise DataError(f"{name} is empty; needed: {_LAYOUT}")
        asked = [query for query in queries if query is not None]
        return ClusterFiles(name, clusters, gold, reader.notes, asked or None)
    if references is None:
        raise DataError(f"{path} is a folder: name that of its references, too")
    if not os.path.isdir(references):
        raise DataError(f"{references} must be a folder of references")
    return _from_folders(path, references, reader)


def _from_line(line: str, number: int) -> tuple[Cluster, list[str], str | None]:
    """Return the cluster, references and query of one JSON line."""
    try:
        row = parse_json(line, rows=True)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}; needed: {_LAYOUT}") from None
    if not isinstance(row, dict):
        raise ValueError(f"not a JSON object: {line[:40]}; needed: {_LAYOUT}")
    for key in ("documents", "references"):
        if not isinstance(row.get(key), list):
            is_there = "is no list" if key in row else "is missing"
            raise ValueError(f"{key!r} {is_there}; needed: {_LAYOUT}")
    name = row.get("name")
    if not isinstance(name, str):
        name = f"cluster {number - 1}" if name is None else str(name)
    query = row.get("query")
    if query is not None:
        read_queries([query], [name])
    cluster = read_cluster(row["documents"], name)
    return cluster, read_references([row["references"]], [name])[0], query


def _from_folders(path: str, references: str, reader: _Reader) -> ClusterFiles:
    """Read a folder of clusters, and the references of the same names."""
    found = ClusterFiles(path, notes=reader.notes)
    gold = _entries(references)
    used: set[Path] = set()
    for entry in _entries(path):
        files = [one for one in _entries(entry) if one.is_file()]
        if not files:
            raise DataError(f"{entry} has no files{_only_folders(_entries(entry))}")
        name, own = _own_references(entry, gold)
        if not own:
            raise DataError(
                f"{entry} has no reference: there is neither "
                f"{os.path.join(references, name)} nor a file of that name with an "
                "extension"
            )
        used.update(own)
        found.clusters.append(reader.cluster(files, name))
        gold_files = [one for part in own for one in _entries(part)]
        if not gold_files:
            raise DataError(f"{own[0]} has no files: references are missing")
        texts = list(map(reader.text, gold_files))
        for one, text in zip(gold_files, texts, strict=True):
            read_references([text], [os.fspath(one)])
        found.references.append(texts)
    if not found.clusters:
        raise DataError(f"{path} has no files; needed: {_LAYOUT}")
    unused = len(gold) - len(used)
    if unused:
        what = "entry belongs" if unused == 1 else "entries belong"
        found.notes.append(f"{references}: {unused:,} {what} to no cluster")
    return found


def _own_references(entry: Path, gold: Sequence[Path]) -> tuple[str, list[Path]]:
    """Return the name of a cluster, and the folder or files of its references.

    The name is that of the file without as many extensions as it takes to find some:
    NAME.txt.data belongs to the folder NAME.
    """
    names = list(_shorter(entry.name)) if entry.is_file() else [entry.name]
    for name in names:
        same = [one for one in gold if one.name == name]
        own = same or [one for one in gold if name in list(_shorter(one.name))[:3]]
        if own:
            return name, own
    return names[-1], []


def _shorter(name: str) -> Iterator[str]:
    """Yield a name without its last, last two, ... extensions."""
    yield name
    while (stem := os.path.splitext(name)[0]) != name:
        yield (name := stem)


def _entries(path: str | Path) -> list[Path]:
    """Return the entries of a folder by name, without hidden ones; a file is itself."""
    folder = Path(path)
    if folder.is_file():
        return [folder]
    try:
        return sorted(one for one in folder.iterdir() if not one.name.startswith("."))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None


def _only_folders(folders: Sequence[Any]) -> str:
    return f", only folders such as {folders[0]}" if folders else ""
