"""Trees in files and their scores, as they stand among the labelled texts."""

from argmetric._corpus import Tree as Tree
from argmetric._corpus import TreeScores as TreeScores
from argmetric._corpus import read_trees as read_trees
from argmetric._corpus import score_trees as score_trees
from argmetric._corpus import write_trees as write_trees
