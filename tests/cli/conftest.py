"""Every test of the command line runs in an empty folder of its own."""

import pytest


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    # Files that a test writes without asking for a folder came back into the root twice
    monkeypatch.chdir(tmp_path)
