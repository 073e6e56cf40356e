"""``argmetric summarize``: summaries of files, train and evaluate."""
