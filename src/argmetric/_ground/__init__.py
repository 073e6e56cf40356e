"""What came in: checked, named and laid out."""
