"""Executors: results in order, failures told, lost workers made good."""

import sys
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import pytest

from argmetric.scale import Dask, Processes, Threads
from opened import decide
from scale_data import decisions, scored, write_parts
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


def test_what_has_a_map_is_an_executor(cluster, tmp_path):
    folder = write_parts(tmp_path / "in", scored(200), [90])
    labels = []
    with ThreadPoolExecutor(2) as pool:
        for executor in (pool, cluster.client):  # which is not ours to end
            decide(folder, output=tmp_path / "out", executor=executor)
            labels.append(decisions(tmp_path / "out").tolist())
    assert labels[0] == labels[1]
    assert list(cluster.map(square, [3])) == [9]
    with pytest.raises(TypeError, match="executor must have a method map"):
        decide(folder, output=tmp_path / "out", executor="threads")
    with pytest.raises(TypeError, match="client must be"):
        Dask(3)


def test_a_missing_library_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ModuleNotFoundError, match=r"argmetric\[dask\]"):
        Dask()


def test_an_old_dask_is_refused(monkeypatch):
    import distributed

    monkeypatch.setattr(distributed, "__version__", "2026.3.0")
    with pytest.raises(ImportError, match=r"2026\.6 or later"):
        Dask()


@pytest.mark.parametrize("verb", ["decide", "tune"])
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
