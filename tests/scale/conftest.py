import pytest

from scale_data import scored, write_parts


@pytest.fixture(scope="module", autouse=True)
def little_memory():
    """Let runs be granted so little that a few rows are many buckets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("argmetric.scale._memory.LEAST_MEMORY", 1)
        yield


@pytest.fixture
def files(tmp_path):
    """A folder of three files, their rows, and where an output may go."""
    table = scored(3000)
    return write_parts(tmp_path / "in", table, [800, 1900]), table, tmp_path / "out"
