"""What chooses the next piece of a summary: by frequency, weights, or references."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argmetric._input.types import Floats
from argmetric._text.summaries._grams import recall_steps
from argmetric._text.summaries._growth import Chooser, gain_per_unit
from argmetric._text.summaries._material import Material
from argmetric._text.summaries._weights import Weights

_TOKEN = 0.3  # what a token counts where a pair counts 1


class ByFrequency:
    """Pairs and tokens that several documents have, each counted once.

    Of one document, what its lead says counts as if one more sentence said it.
    The gain of a step is what it covers, as a share of all that there is to cover.
    """

    def chooser(self, material: Material) -> Chooser:
        """New pairs and tokens by their documents, by cost."""
        found = frequency_of_pairs(material)
        n_types = len(material.grams.types)
        tokens = material.grams.documents + material.grams.in_lead
        tokens *= tokens >= 2
        found[:n_types] = (_TOKEN * tokens * material.is_content)[:n_types]
        return Chooser((found / max(found.sum(), 1.0))[None, :, None], gain_per_unit)


def frequency_of_pairs(material: Material) -> Floats:
    """In how many documents a pair is, where in several; pairs of grammar have 0.

    Of one document, its sentences are counted, and the lead as one more.
    """
    grams, stop = material.grams, material.is_stop_word
    found = grams.documents.astype(np.float64)
    found[: len(stop)] = 0.0
    found[len(stop) :][stop[grams.lefts] & stop[grams.rights]] = 0.0
    several = np.where(found >= 2.0, found, 0.0)
    if not several.any():  # documents that have nothing in common
        several = found
    return np.where(grams.in_lead & (found > 0.0), found + 1.0, several)


@dataclass(frozen=True, eq=False)
class ByWeights:
    """Pairs by the recall that they are expected to bring, each counted once."""

    weights: Weights

    def chooser(self, material: Material) -> Chooser:
        """Weights of new pairs, by cost; tokens alone have none."""
        found = self.weights.of(material)
        found[: len(material.grams.types)] = 0.0
        return Chooser(found[None, :, None], gain_per_unit)


class ByReferences:
    """The oracle: ROUGE-2 recall itself, averaged over the references."""

    def chooser(self, material: Material) -> Chooser:
        """Gain in recall, by cost."""
        steps = recall_steps(material.grams, material.references)
        return Chooser(steps, gain_per_unit)
