import pytest

from argmetric.scale import Dask, Processes


@pytest.fixture(scope="session")
def cluster():
    """One Dask cluster for all that need one; a worker that is killed comes back."""
    with Dask(n_jobs=2) as executor:
        yield executor


@pytest.fixture(scope="session")
def processes():
    """One pool of processes, which import everything once."""
    with Processes(2) as executor:
        yield executor
