"""``argmetric stream``: follow rows as they come, and go on after an interruption."""
