"""Labelled text: sentences and trees in files, chunks, and how many are right."""

from argmetric._text.corpus._chunks import (
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
from argmetric._text.corpus._columns import (
    BYTE_ORDER,
    CONVERT,
    DOCUMENT,
    STREAM,
    Column,
    ColumnFile,
    read_columns,
    read_text,
)
from argmetric._text.corpus._heads import Heads
from argmetric._text.corpus._plain import PlainText, tokenized
from argmetric._text.corpus._read import HasLabels, read_sentences
from argmetric._text.corpus._schemes import (
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
from argmetric._text.corpus._sentence import CorpusFormat, Sentence
from argmetric._text.corpus._tree_checks import (
    check_trees,
    heads_of_trees,
)
from argmetric._text.corpus._tree_scores import N_WORST, Share, TreeScores, score_trees
from argmetric._text.corpus._tree_text import draw_tree
from argmetric._text.corpus._tree_writing import write_trees
from argmetric._text.corpus._trees import UNKNOWN, Tree, TreeFormat, read_trees
from argmetric._text.corpus._words import word_shape
from argmetric._text.corpus._write import write_sentences, write_text

__all__ = [
    "BEGIN",
    "BYTE_ORDER",
    "CONVERT",
    "DOCUMENT",
    "INSIDE",
    "N_WORST",
    "OUTSIDE",
    "SCHEMES",
    "STREAM",
    "UNKNOWN",
    "Chunk",
    "ChunkCounts",
    "Chunks",
    "Column",
    "ColumnFile",
    "CorpusFormat",
    "HasLabels",
    "Heads",
    "Labels",
    "PlainText",
    "Roles",
    "SchemeName",
    "Sentence",
    "Share",
    "Span",
    "Tree",
    "TreeFormat",
    "TreeScores",
    "check_trees",
    "chunks_of",
    "count_chunks",
    "draw_tree",
    "heads_of_trees",
    "is_label",
    "read_chunks",
    "read_columns",
    "read_sentences",
    "read_text",
    "read_trees",
    "repaired",
    "roles_and_kinds",
    "roles_of",
    "score_trees",
    "tokenized",
    "well_formed",
    "word_shape",
    "write_labels",
    "write_sentences",
    "write_text",
    "write_trees",
]
