"""What a command of argmetric leaves behind."""

from collections.abc import Callable
from typing import NamedTuple


class Ended(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ended]
