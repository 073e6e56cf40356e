"""A refusal in one line."""

from typing import Any

import pytest


def refuses(
    error: Any, message: str, call: Any, /, *given: Any, **options: Any
) -> None:
    """Assert that a call raises this error, in words that match."""
    with pytest.raises(error, match=message):
        call(*given, **options)
