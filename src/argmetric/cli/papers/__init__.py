"""``argmetric papers``: list and run what the five papers claim."""
