"""The sections of the benchmark of streams."""
