"""How a command ends."""

from __future__ import annotations

DONE = 0
FAILURE = 1
USAGE = 2
GATE_NOT_MET = 3
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
PIPE_CLOSED = 141  # 128 + SIGPIPE
TERMINATED = 143  # 128 + SIGTERM


class UsageError(Exception):
    """The command line itself is wrong, whatever the data may be."""
