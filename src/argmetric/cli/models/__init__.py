"""Commands that learn from tables and apply what was learned: train, predict."""
