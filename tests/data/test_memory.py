import pytest

from residuum import Domain, Workload, WorkloadError
from residuum.data import memory
from residuum.data.memory import check_memory

WORKLOAD = Workload.all_kway(Domain({"a": 4, "b": 3}), 2)


def test_up_to_the_last_byte(monkeypatch):
    monkeypatch.setattr(memory, "_available_memory", lambda: 2**30)
    check_memory(WORKLOAD, 2**30)
    with pytest.raises(
        WorkloadError, match=r"20 cells and need 1\.00 GiB of memory \(1,073,741,825 bytes\), but only 1"
    ):
        check_memory(WORKLOAD, 2**30 + 1)
    with pytest.raises(WorkloadError, match=r"bytes\) beside the counts, but only"):
        check_memory(WORKLOAD, 2**31, " beside the counts")


def test_there_is_some_memory():
    assert memory._available_memory() > 2**20


def test_memory_where_the_system_does_not_list_it(monkeypatch):
    def refuse(*_args, **_options):
        raise OSError

    monkeypatch.setattr("builtins.open", refuse)
    assert memory._available_memory() > 2**20
