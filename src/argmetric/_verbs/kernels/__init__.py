"""Compiled loops of this room: plain arrays in, plain arrays out."""
