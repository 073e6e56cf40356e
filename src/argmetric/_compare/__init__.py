"""Which model is better, which labels would tell, and which rows a person looks at."""

from argmetric._compare.compare import compare
from argmetric._compare.parts import VERDICTS as VERDICTS
from argmetric._compare.parts import Best as Best
from argmetric._compare.parts import Difference
from argmetric._compare.parts import Look as Look
from argmetric._compare.parts import ModelScore as ModelScore
from argmetric._compare.result import Comparison
from argmetric._compare.review import Review, review_rows
from argmetric._compare.strata import refuse_two_labels as refuse_two_labels

__all__ = ["Comparison", "Difference", "Review", "compare", "review_rows"]
