"""``argmetric parse``: train, predict and evaluate parsers."""
