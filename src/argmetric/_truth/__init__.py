"""What may be true of rows without labels, given rows with them."""
