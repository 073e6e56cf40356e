"""What a command of argmetric leaves behind, and waiting for one that runs."""

import json
import time
from collections.abc import Callable
from typing import NamedTuple

PATIENCE = 300  # seconds; a machine under load may need many of them


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    def failed(self, code: int, *said: str, exactly: str | None = None) -> None:
        """Assert that a command failed so: no answer, one line that says all that."""
        assert (self.code, self.out) == (code, ""), self.err
        assert [one for one in said if one not in self.err] == [], self.err
        assert self.err.startswith("argmetric: ")
        assert self.err.count("\n") == 1
        assert exactly is None or self.err == f"argmetric: {exactly}\n"


Run = Callable[..., Ended]


def words(text):
    """Return a text with single blanks, as lines may be aligned in any way."""
    return " ".join(text.split())


def plain(values):
    """Return values as JSON gives them back."""
    return json.loads(json.dumps(values))


def wait_for(sign, process):
    """Return as soon as a running process gives a sign of what it has done."""
    limit = time.monotonic() + PATIENCE
    while not sign():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit, "no sign came"
        time.sleep(0.01)
