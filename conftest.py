"""Modules that import torch are collected where it is installed."""

from importlib.util import find_spec

collect_ignore = ["tests/tensors/interpreted.py"]  # a program of its own
if find_spec("torch") is None:
    names = ("_achievable", "_losses")
    collect_ignore += [f"src/argmetric/tensors/{name}.py" for name in names]
if find_spec("triton") is None:
    names = ("_fused", "_fused_loss", "_fused_masks", "_fused_rows")
    collect_ignore += [f"src/argmetric/tensors/{name}.py" for name in names]
