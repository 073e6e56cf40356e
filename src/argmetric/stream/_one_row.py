"""One row at a time, as river has it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from argmetric._arguments import check_label
from argmetric.stream._core import NO_LABELS, ONE, StreamCore, sigmoid
from argmetric.stream._labels import order_classes, two_classes
from argmetric.stream._rules import undecided


class OneRow(StreamCore):
    """`learn_one`, `predict_one` and `predict_proba_one`."""

    def learn_one(self, x: Mapping[Hashable, Any], y: Any) -> None:
        """Learn from one row of named features.

        Parameters
        ----------
        x : dict
            Numbers by name; text counts as the feature "name=text" of value 1. New
            names are taken up, missing ones are 0.
        y : bool, or a label
            Its label.
        """
        check_label(y, "y")
        if not self._started():
            if not hasattr(self, "classes_"):
                found = two_classes(np.asarray([y]), None)
                self.classes_ = order_classes(found, self.pos_label)
            self.n_features_in_ = 0
            self._start(2**self.hash_bits if self.hash_bits else 0)
        truth = self._truth([y], None, 1)
        rows = self._vocabulary.row(x, bits=self.hash_bits, learn=True)
        if not self.hash_bits:
            self._state.grow(self._learner, len(self._vocabulary))
            self.n_features_in_ = max(self.n_features_in_, len(self._vocabulary))
        self._run(rows, truth, ONE, 0)

    def predict_proba_one(self, x: Mapping[Hashable, Any]) -> dict[Any, float]:
        """Probabilities by class; the model is left alone."""
        if not self._started():
            return {False: 0.5, True: 0.5}
        logit = float(self._predict_one(x)[1])
        values = sigmoid(np.array([-logit, logit])).tolist()
        return dict(zip(self.classes_.tolist(), values, strict=True))

    def predict_one(self, x: Mapping[Hashable, Any]) -> Any:
        """Label of one row; the model is left alone."""
        if not self._started():
            return undecided(self.rule, self.metric)
        return self.classes_[int(self._predict_one(x)[0])].item()

    def _predict_one(self, x: Mapping[Hashable, Any]) -> tuple[int, float]:
        rows = self._vocabulary.row(x, bits=self.hash_bits, learn=False)
        labels, logits = self._chunk(rows, NO_LABELS, ONE, 0, learn=False)
        return int(labels[0]), float(logits[0])
