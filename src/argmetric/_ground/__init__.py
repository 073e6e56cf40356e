"""Input, checked, named and laid out in arrays; what all subpackages share."""
