"""A refusal in one line."""

import pytest


def refuses(error, message, call, /, *given, **options):
    """Assert that a call raises this error, in words that match."""
    with pytest.raises(error, match=message):
        call(*given, **options)
