import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder():
    """Folder of real data, or a skip that says what is missing."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ARGMETRIC_DATA", default))
    if not folder.is_dir():
        pytest.skip("needs real data: set ARGMETRIC_DATA to the folder that holds it")
    return folder
