"""JSON by people and machines of all kinds, with one error for all that is wrong."""

from __future__ import annotations

import json
from typing import Any


def parsed(text: str | bytes) -> Any:
    """Parse a text; a ValueError says in a few words what is wrong with it."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(error.msg) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise
    except ValueError:  # of Python, which reads no number of more than 4,300 digits
        raise ValueError("a number has thousands of digits") from None
