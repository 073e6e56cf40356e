"""Rows of groups, and their labels from one call."""

import numpy as np
import pyarrow as pa

import argmetric as am

COLUMNS = {"p": "score", "groups": "user"}


def rows(n=2000, n_groups=150, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "user": rng.integers(0, n_groups, n),
            "score": rng.beta(1, 3, n),
            "row": np.arange(n),
        }
    )


def whole(table, metric="f1", **settings):
    scores, users = table["score"].to_numpy(), table["user"].to_numpy()
    return am.decide(scores, metric, groups=users, average="groups", **settings).labels


def sorted_labels(tables):
    found = pa.concat_tables(tables).sort_by("row")
    return found["decision"].to_numpy()
