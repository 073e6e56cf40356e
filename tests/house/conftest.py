import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def modules_of_benchmarks():
    """Benchmarks and docs are on the path of a test, but of no other folder's."""
    with pytest.MonkeyPatch.context() as patch:
        folders = [str(ROOT / name) for name in ("benchmarks", "docs")]
        patch.setattr(sys, "path", [*folders, *sys.path])
        yield
