"""Compiled parsers: dependency trees, one transition after the other."""
