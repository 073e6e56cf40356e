"""Executors: results in order, failures told, lost workers made good."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import pytest

from argmetric._ground.lazy import load_module
from argmetric.scale import Dask, Processes, Threads
from argmetric.scale._executors import as_executor
from scale_data import scored, write_parts
from scale_tasks import die, die_once, refuse_three, square, tasks_done


@pytest.fixture(params=["threads", "processes", "dask"])
def executor(request):
    if request.param == "threads":
        return Threads(2)
    return request.getfixturevalue(
        {"dask": "cluster", "processes": "processes"}[request.param]
    )


def test_results_come_in_the_order_of_the_items(executor):
    assert list(executor.map(square, range(7))) == [0, 1, 4, 9, 16, 25, 36]
    assert list(executor.map(square, [])) == []
    assert executor.n_workers == 2


def test_a_failure_is_raised_where_its_result_would_be(executor):
    results = iter(executor.map(refuse_three, [1, 2, 3, 4]))
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(ValueError, match="three is refused"):
        next(results)


def test_a_failure_cancels_what_has_not_begun():
    begun = []

    def work(item):
        begun.append(item)
        if item == 0:
            raise ValueError("stop here")
        time.sleep(0.05)

    with pytest.raises(ValueError, match="stop here"):
        list(Threads(2).map(work, range(1000)))
    assert len(begun) < 50


@pytest.mark.parametrize("kind", ["processes", "dask"])
def test_a_killed_worker_costs_its_tasks_again_and_nothing_else(
    tmp_path, kind, request
):
    executor = request.getfixturevalue("cluster" if kind == "dask" else kind)
    items = [(i, tmp_path / "mark" if i == 2 else None) for i in range(6)]
    assert list(executor.map(die_once, items)) == [0, 1, 2, 3, 4, 5]
    assert (tmp_path / "mark").exists()


def test_pools_are_not_lost_for_ever():
    with pytest.raises(BrokenProcessPool):
        list(Processes(1, retries=1).map(die, [0]))


def test_what_has_a_map_is_an_executor(cluster):
    with ThreadPoolExecutor(2) as pool:
        assert as_executor(pool, None) is pool
    assert as_executor(None, 3).n_workers == 3
    client = as_executor(cluster.client, None)
    assert isinstance(client, Dask)
    client.close()  # not ours to end
    assert list(cluster.map(square, [3])) == [9]
    with pytest.raises(TypeError, match="executor must have a method map"):
        as_executor("threads", None)
    with pytest.raises(TypeError, match="client must be"):
        Dask(3)


def test_a_missing_library_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ModuleNotFoundError, match=r"argmetric\[dask\]"):
        load_module("distributed")


def test_workers_of_our_own_are_given_time_to_come_back(monkeypatch):
    import dask
    import distributed

    class Client:
        def __init__(self, **words):
            self.closed = False

        def nthreads(self):
            return {"tcp://here": 1}

        def close(self):
            self.closed = True

    monkeypatch.setattr(distributed, "Client", Client)
    setting = "distributed.deploy.lost-worker-timeout"
    with dask.config.set({setting: "15s"}):
        with Dask(n_jobs=1) as executor:
            assert dask.config.get(setting) == "10 minutes"
        assert executor.client.closed
        assert dask.config.get(setting) == "15s"


def test_an_old_dask_is_refused(monkeypatch):
    import distributed

    monkeypatch.setattr(distributed, "__version__", "2026.3.0")
    with pytest.raises(ImportError, match=r"2026\.6 or later"):
        Dask()


@pytest.mark.parametrize("verb", ["decide", "evaluate", "forecast", "tune"])
def test_commands_run_on_the_scheduler_that_they_are_given(
    run, cluster, tmp_path, verb
):
    table = scored(600)
    label = (table["score"].to_numpy() > 0.2).astype(int)
    table = table.append_column("label", [label])
    if verb != "decide":
        table = table.append_column("decision", [label])
    write_parts(tmp_path / "in", table, [250])
    before = cluster.client.run_on_scheduler(tasks_done)
    words = ["-o", "out"] if verb == "decide" else []
    address = cluster.client.scheduler.address
    ended = run(verb, "in", *words, "--engine", "dask", "--scheduler", address)
    assert ended.code == 0, ended.err
    assert "engine dask" in ended.out + ended.err
    assert cluster.client.run_on_scheduler(tasks_done) >= before + 2
