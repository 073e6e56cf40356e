"""``argmetric tag``: train, predict, evaluate and templates of taggers."""
