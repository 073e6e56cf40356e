"""How a command ends, and how its errors name its flags."""

from __future__ import annotations

import re
import sys

from argmetric._files import ROLES

DONE = 0
FAILURE = 1
USAGE = 2
GATE_NOT_MET = 3
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
PIPE_CLOSED = 141  # 128 + SIGPIPE
TERMINATED = 143  # 128 + SIGTERM


class UsageError(Exception):
    """The command line itself is wrong, whatever the data may be."""


def say(message: str) -> None:
    """Tell something that is not the answer."""
    print(f"argmetric: {message}", file=sys.stderr)


_FLAGS: dict[str, str] = {role: f"--{role.replace('_', '-')}" for role in ROLES}
_FLAGS["output"] = "-o"
_MARKED = re.compile(rf"`({'|'.join(ROLES)})(?:=([^`]*))?`")


def with_flags(message: str) -> str:
    """Return a message in which every role is the flag that stands for it.

    Examples
    --------
    >>> with_flags("pass `hash_bits=18`, or `drop`")
    'pass --hash-bits 18, or --drop'
    """

    def flag(found: re.Match[str]) -> str:
        role, value = found.groups()
        return _FLAGS[role] if value is None else f"{_FLAGS[role]} {value}"

    return _MARKED.sub(flag, message)
