"""Claims of the papers, a module a paper, and what they are declared and judged by."""
