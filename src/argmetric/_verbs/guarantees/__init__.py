"""Floors that hold for new rows: which thresholds labelled rows prove."""

from argmetric._verbs.guarantees._certify import LabelledRows, certify
from argmetric._verbs.guarantees._result import Guarantee, NotCertifiedError, Promise

__all__ = [
    "Guarantee",
    "LabelledRows",
    "NotCertifiedError",
    "Promise",
    "certify",
]
