"""Labelled text: corpora, taggers, parsers and summaries."""
