"""What counts as a label, and which of two classes is the positive one.

The one answer for functions, estimators, streams and files. The verdict depends on the
distinct labels alone (`classes_of`); every refusal has its words in `_words`.
"""

from argmetric._labels._arrays import (
    Labels,
    binary_labels,
    clear_labels,
    distinct,
    label_array,
    plain_label,
    read_together,
    refuse_missing,
    refuse_sparse_pos_label,
)
from argmetric._labels._estimators import (
    class_number,
    estimator_labels,
    is_second,
    refuse_more_than_two,
)
from argmetric._labels._responses import (
    Method,
    margins_of,
    probabilities_of,
    response_method,
    scores_of,
)
from argmetric._labels._spelling import (
    NO_LABEL,
    TRUTHS,
    Spelled,
    is_spelled_missing,
    same_spelling,
    spelled_label,
    spelled_number,
)
from argmetric._labels._verdict import Classes, classes_of, usual_pair
from argmetric._labels._words import (
    EVERY_ROW,
    LabelError,
    absent,
    foreign,
    listed,
    neither,
    no_label,
    one_class,
    too_many,
    unclear,
)

__all__ = [
    "EVERY_ROW",
    "NO_LABEL",
    "TRUTHS",
    "Classes",
    "LabelError",
    "Labels",
    "Method",
    "Spelled",
    "absent",
    "binary_labels",
    "class_number",
    "classes_of",
    "clear_labels",
    "distinct",
    "estimator_labels",
    "foreign",
    "is_second",
    "is_spelled_missing",
    "label_array",
    "listed",
    "margins_of",
    "neither",
    "no_label",
    "one_class",
    "plain_label",
    "probabilities_of",
    "read_together",
    "refuse_missing",
    "refuse_more_than_two",
    "refuse_sparse_pos_label",
    "response_method",
    "same_spelling",
    "scores_of",
    "spelled_label",
    "spelled_number",
    "too_many",
    "unclear",
    "usual_pair",
]
