"""The compiled path of `MultiLabel`: labels of a row, decided one after the other."""
