"""A reference that a rule keeps: its calibrator, and its scores in bins."""

from __future__ import annotations

import warnings
from typing import Any

from argmetric._calibrate.bins import ReferenceBins
from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.fit import DEFAULT, fit_calibrator
from argmetric._calibrate.reference import check_reference
from argmetric._calibrate.resolve import FittedReference
from argmetric._ground.types import Booleans, Floats
from argmetric._ground.validation import Probabilities


class KeptReference:
    """Labelled rows until the first use of what is kept of them.

    The fit takes as long as tuning does, and many rules never need it.

    y, p : ndarray of shape (n_rows,)
        Labels and probabilities, which `tune` has checked.
    weight : ndarray of shape (n_rows,) or None
    """

    def __init__(
        self, y: Booleans, p: Floats, weight: Floats | None, *, logits: bool
    ) -> None:
        self._rows: tuple[Booleans, Floats, Floats | None, bool] | None
        self._rows = y, p, weight, logits
        self._fitted: FittedReference | None = None

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> KeptReference:
        """Return the reference that `to_dict` described."""
        calibrator = Calibrator.from_dict(values["calibrator"])
        bins = ReferenceBins.from_dict(values["cells"])
        return cls._from_fitted(FittedReference(calibrator, bins))

    @classmethod
    def _from_fitted(cls, fitted: FittedReference | None) -> KeptReference:
        kept = object.__new__(cls)
        kept._rows, kept._fitted = None, fitted
        return kept

    @property
    def fit_result(self) -> FittedReference | None:
        """Return the calibrator and the bins; None where the rows allow no fit."""
        if self._rows is not None:
            self._fitted, self._rows = _fit(*self._rows), None
        return self._fitted

    def to_dict(self) -> dict[str, object] | None:
        """Return plain values for JSON; None where the rows allow no fit."""
        if self.fit_result is None:
            return None
        calibrator, bins = self.fit_result
        assert calibrator is not None
        assert isinstance(bins, ReferenceBins)
        return {"calibrator": calibrator.to_dict(), "cells": bins.to_dict()}

    def __reduce__(self) -> tuple[object, ...]:
        return KeptReference._from_fitted, (self.fit_result,)


def _fit(
    y: Booleans, p: Floats, weight: Floats | None, logits: bool
) -> FittedReference | None:
    """Return the calibrator of `reference=(y, p)`; None where it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            rows = check_reference(y, Probabilities(p, logits), weight, logits=logits)
            fitted = fit_calibrator(rows, DEFAULT)
            return FittedReference(fitted, ReferenceBins.from_rows(rows))
        except (ValueError, ArithmeticError):
            return None
