"""What counts as a label, and which of two classes is the positive one.

The one answer for functions, estimators, streams and files. The verdict depends on the
distinct labels alone (`classes_of`); every refusal has its words in `_words`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._lazy import lazy_names

if TYPE_CHECKING:
    from argmetric._input.labels._arrays import Labels as Labels
    from argmetric._input.labels._arrays import binary_labels as binary_labels
    from argmetric._input.labels._arrays import clear_labels as clear_labels
    from argmetric._input.labels._arrays import distinct as distinct
    from argmetric._input.labels._arrays import label_array as label_array
    from argmetric._input.labels._arrays import missing_labels as missing_labels
    from argmetric._input.labels._arrays import plain_label as plain_label
    from argmetric._input.labels._arrays import read_together as read_together
    from argmetric._input.labels._arrays import refuse_missing as refuse_missing
    from argmetric._input.labels._arrays import (
        refuse_sparse_pos_label as refuse_sparse_pos_label,
    )
    from argmetric._input.labels._estimators import class_number as class_number
    from argmetric._input.labels._estimators import estimator_labels as estimator_labels
    from argmetric._input.labels._estimators import is_second as is_second
    from argmetric._input.labels._estimators import (
        refuse_more_than_two as refuse_more_than_two,
    )
    from argmetric._input.labels._responses import Method as Method
    from argmetric._input.labels._responses import margins_of as margins_of
    from argmetric._input.labels._responses import probabilities_of as probabilities_of
    from argmetric._input.labels._responses import response_method as response_method
    from argmetric._input.labels._responses import scores_of as scores_of
    from argmetric._input.labels._spelling import NO_LABEL as NO_LABEL
    from argmetric._input.labels._spelling import TRUTHS as TRUTHS
    from argmetric._input.labels._spelling import Spelled as Spelled
    from argmetric._input.labels._spelling import (
        is_spelled_missing as is_spelled_missing,
    )
    from argmetric._input.labels._spelling import same_spelling as same_spelling
    from argmetric._input.labels._spelling import spelled_label as spelled_label
    from argmetric._input.labels._spelling import spelled_number as spelled_number
    from argmetric._input.labels._verdict import Classes as Classes
    from argmetric._input.labels._verdict import classes_of as classes_of
    from argmetric._input.labels._verdict import usual_pair as usual_pair
    from argmetric._input.labels._words import EVERY_ROW as EVERY_ROW
    from argmetric._input.labels._words import LabelError as LabelError
    from argmetric._input.labels._words import absent as absent
    from argmetric._input.labels._words import foreign as foreign
    from argmetric._input.labels._words import listed as listed
    from argmetric._input.labels._words import neither as neither
    from argmetric._input.labels._words import no_label as no_label
    from argmetric._input.labels._words import one_class as one_class
    from argmetric._input.labels._words import too_many as too_many
    from argmetric._input.labels._words import unclear as unclear

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_arrays": (
            "Labels",
            "binary_labels",
            "clear_labels",
            "distinct",
            "label_array",
            "missing_labels",
            "plain_label",
            "read_together",
            "refuse_missing",
            "refuse_sparse_pos_label",
        ),
        "_estimators": (
            "class_number",
            "estimator_labels",
            "is_second",
            "refuse_more_than_two",
        ),
        "_responses": (
            "Method",
            "margins_of",
            "probabilities_of",
            "response_method",
            "scores_of",
        ),
        "_spelling": (
            "NO_LABEL",
            "TRUTHS",
            "Spelled",
            "is_spelled_missing",
            "same_spelling",
            "spelled_label",
            "spelled_number",
        ),
        "_verdict": (
            "Classes",
            "classes_of",
            "usual_pair",
        ),
        "_words": (
            "EVERY_ROW",
            "LabelError",
            "absent",
            "foreign",
            "listed",
            "neither",
            "no_label",
            "one_class",
            "too_many",
            "unclear",
        ),
    },
)
