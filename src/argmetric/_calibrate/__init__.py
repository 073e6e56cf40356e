"""Are my probabilities fit to decide with? The repair: monotone maps."""
