"""``coreplane.shared``: programs of several hosts."""

import pickle

import coreplane as cp
import pytest


def test_a_mistake_has_both_sides_and_a_correct_program_none() -> None:
    found = cp.shared("shared", cp.Workload("shared-log", bug="reader-keeps-record"), schedules=5)
    assert not found and not found.ok
    finding = found.findings[0]
    assert finding.kind == "stale-read" and "never invalidated its copy" in finding.message
    assert finding.there is not None and {finding.here.host, finding.there.host} == {0, 1}
    assert finding.apart_ns == finding.here.time_ns - finding.there.time_ns
    assert found.table["kind"][0] == "stale-read"
    assert "1 findings" in repr(found) and "stale-read" in found._repr_html_()
    assert pickle.loads(pickle.dumps(found)).findings == found.findings
    clean = cp.shared(cp.Machine("shared", shared={"link_ns": 150}), "shared-log", schedules=5, seed=2)
    assert clean and clean.data["time_ns"] > 0


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(cp.ConfigError, match="is one host"):
        cp.shared("intel", "shared-log")
    with pytest.raises(cp.ConfigError, match="schedules 0: give at least 1"):
        cp.shared("shared", "shared-log", schedules=0)
