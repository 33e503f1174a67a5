"""Results and inputs in Python are what they are told to be."""

from collections.abc import Mapping

import coreplane as cp

QUEUE = cp.Workload("queue", operations=50)


def test_a_comparison_is_a_mapping() -> None:
    found = cp.compare(QUEUE, on=["intel", "eadr"])
    assert isinstance(found, Mapping) and list(found.keys()) == ["intel", "eadr"]
    assert dict(found) == {run.machine: run for run in found.runs} == dict(found.items())
    assert found.get("bbb") is None and "bbb" not in found and "eadr" in found
    assert {found: "a result is itself"}[found] and found != cp.compare(QUEUE, on=["intel", "eadr"])


def test_what_is_equal_has_one_hash() -> None:
    keys = {"memory.pm.read_ns": 300, "ordering.persist_buffer": 4}
    machines = [cp.Machine("asap-rp", order) for order in (keys, dict(reversed(keys.items())))]
    workloads = [cp.Workload("queue", operations=50, threads=2), cp.Workload("queue", threads=2, operations=50)]
    assert machines[0] == machines[1] and len(set(machines)) == 1
    assert workloads[0] == workloads[1] and len(set(workloads)) == 1
