"""Floors that hold for new rows: which thresholds labelled rows prove."""

from argmetric._guarantees._certify import PROMISES, LabelledRows, certify
from argmetric._guarantees._result import Guarantee, NotCertifiedError, Promise

__all__ = [
    "PROMISES",
    "Guarantee",
    "LabelledRows",
    "NotCertifiedError",
    "Promise",
    "certify",
]
