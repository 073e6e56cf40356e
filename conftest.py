"""Modules that import torch are collected where it is installed."""

from importlib.util import find_spec

collect_ignore = []
if find_spec("torch") is None:
    collect_ignore += ["src/argmetric/tensors/_losses.py"]
if find_spec("triton") is None:
    collect_ignore += ["src/argmetric/tensors/_fused.py"]
