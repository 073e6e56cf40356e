"""Libraries whose arrays the tests pass; a test of a missing one is skipped."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from argmetric.tensors._arrays import OLD_NUMPY

NEW_NUMPY = pytest.mark.skipif(
    OLD_NUMPY, reason="arrays follow the array API from numpy 2.1 on"
)
LIBRARIES = ["numpy", "array_api_strict", "torch"]


def library(name):
    """A module of arrays; the test is skipped where it is not installed."""
    reason = f"{name} is not installed: make test-torch runs this test"
    if importlib.util.find_spec(name) is None:
        pytest.skip(reason, allow_module_level=True)
    module = importlib.import_module(name)
    if name == "torch":
        module.set_num_threads(1)
    return module


def host(x):
    if hasattr(x, "detach"):
        return x.detach().cpu().numpy()
    own = isinstance(x, np.ndarray | np.generic)
    return np.asarray(x) if own else np.from_dlpack(x)


def array(name, values):
    return library(name).asarray(np.asarray(values))
