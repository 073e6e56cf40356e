"""What a command of argmetric leaves behind, and waiting for one that runs."""

import time
from collections.abc import Callable
from typing import NamedTuple

PATIENCE = 300  # seconds; a machine under load may need many of them


class Ended(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ended]


def wait_for(sign, process):
    """Return as soon as a running process gives a sign of what it has done."""
    limit = time.monotonic() + PATIENCE
    while not sign():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit, "no sign came"
        time.sleep(0.01)
