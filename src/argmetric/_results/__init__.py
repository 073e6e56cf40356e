"""How results are shown, saved and summed up."""
