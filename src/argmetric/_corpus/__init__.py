"""Labelled text: sentences in files, chunks, and the labels that write them."""

from argmetric._corpus._chunks import (
    Chunk,
    ChunkCounts,
    Chunks,
    Labels,
    Span,
    chunks_of,
    count_chunks,
    read_chunks,
    repaired,
    write_labels,
)
from argmetric._corpus._columns import DOCUMENT, Column, ColumnFile, read_columns
from argmetric._corpus._read import HasLabels, read_sentences
from argmetric._corpus._schemes import (
    BEGIN,
    INSIDE,
    OUTSIDE,
    SCHEMES,
    Roles,
    SchemeName,
    is_label,
    roles_and_kinds,
    roles_of,
    well_formed,
)
from argmetric._corpus._sentence import CorpusFormat, Sentence
from argmetric._corpus._words import word_shape
from argmetric._corpus._write import write_sentences, write_text

__all__ = [
    "BEGIN",
    "DOCUMENT",
    "INSIDE",
    "OUTSIDE",
    "SCHEMES",
    "Chunk",
    "ChunkCounts",
    "Chunks",
    "Column",
    "ColumnFile",
    "CorpusFormat",
    "HasLabels",
    "Labels",
    "Roles",
    "SchemeName",
    "Sentence",
    "Span",
    "chunks_of",
    "count_chunks",
    "is_label",
    "read_chunks",
    "read_columns",
    "read_sentences",
    "repaired",
    "roles_and_kinds",
    "roles_of",
    "well_formed",
    "word_shape",
    "write_labels",
    "write_sentences",
    "write_text",
]
