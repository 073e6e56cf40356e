"""Floors that hold for new rows: which thresholds labelled rows prove."""

from argmetric._verbs.guarantees._certify import (
    Guarantee,
    LabelledRows,
    NotCertifiedError,
    Promise,
    certify,
)

__all__ = [
    "Guarantee",
    "LabelledRows",
    "NotCertifiedError",
    "Promise",
    "certify",
]
