import multiprocessing

import pytest

from argmetric.scale import Dask, Processes
from scale_data import scored, write_parts

LOADED = [
    *("distributed", "distributed.nanny", "distributed.worker", "pandas", "numba"),
    *("pyarrow.parquet", "argmetric.scale._decide", "argmetric.scale._tune"),
]


@pytest.fixture(scope="module", autouse=True)
def little_memory():
    """Let runs be granted so little that a few rows are many buckets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("argmetric.scale._executors.LEAST_MEMORY", 1)
        yield


@pytest.fixture
def files(tmp_path):
    """A folder of three files, their rows, and where an output may go."""
    table = scored(3000)
    return write_parts(tmp_path / "in", table, [800, 1900]), table, tmp_path / "out"


@pytest.fixture(scope="session")
def cluster():
    """One Dask cluster for all that need one; a worker that is killed comes back.

    Workers are forks of a process that has loaded everything, where there can be one:
    to load it in each of them takes most of the time of these tests.
    """
    import dask

    settings = {}
    if "forkserver" in multiprocessing.get_all_start_methods():
        from multiprocessing import forkserver

        multiprocessing.get_context("forkserver").set_forkserver_preload(LOADED)
        forkserver.ensure_running()
        settings["distributed.worker.multiprocessing-method"] = "forkserver"
    with dask.config.set(settings), Dask(n_jobs=2) as executor:
        yield executor


@pytest.fixture(scope="session")
def processes():
    """One pool of processes, which import everything once."""
    with Processes(2) as executor:
        yield executor
