"""What tests of `monitor` share."""

import numpy as np

from argmetric._calibrate.calibrators import PlattCalibrator
from argmetric._forecast.draws import Posterior
from argmetric._monitor._distribution import BinProbabilities


class CertainPosterior(Posterior):
    """A reference so large that it leaves nothing open but the calibrator."""

    def factors(self, cells, each):
        one = np.ones((each, self.n_calibrators))
        return [(side, one, one) for side in (cells.called, ~cells.called)]


def shifted_maps(p, count, spread=0.0):
    """Calibrators that add a normal constant to the log-odds of bins with these p."""
    x = np.log(p / (1 - p))
    moves = spread * np.random.default_rng(1).standard_normal(count)
    draws = np.column_stack([np.ones(count), moves])
    found = PlattCalibrator(1.0, 0.0, draws=draws, n=1000, prevalence=0.5)
    return BinProbabilities(
        CertainPosterior(found), x, 1 / (1 + np.exp(-found._family._map(x)))
    )
