"""The verbs for one label: decide, evaluate, tune, check."""
