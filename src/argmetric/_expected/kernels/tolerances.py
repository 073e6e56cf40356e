"""Numbers that kernels and their drivers share."""

TIE = 1e-12  # values this close, relatively, are ties: the smaller count wins
TOLERANCE = 1e-18  # entries of a PMF below it are trimmed, their mass is counted
KINDS = {"geometric": 0, "harmonic": 1, "quadratic": 2}  # means of two rates
