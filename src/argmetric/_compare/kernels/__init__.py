"""Compiled loops of this subpackage: plain arrays in, plain arrays out."""
