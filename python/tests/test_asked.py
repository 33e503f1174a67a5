"""What is asked without an argument is answered as the command line answers it; what is meant otherwise is refused with what to give."""

import polars as pl
import pytest

import coreplane as cp


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: cp.run("intel", "queue", seed="x"), "seed 'x': give a whole number from 0 to"),  # type: ignore[arg-type]
        (lambda: cp.run("intel", "queue", seed=1.5), "seed 1.5: give a whole number"),  # type: ignore[arg-type]
        (lambda: cp.Machine("asap-rp", ordering=8), '"ordering" is a group of keys; give one of them, such as ordering.'),  # type: ignore[arg-type]
        (lambda: cp.compare("queue", on="intel,asap-rp"), r"on intel,asap-rp: give a list of machines: on=\['intel', 'asap-rp'\]"),
        (lambda: cp.Machine("asap-rp", operations=8), "did you mean workload.operations?"),  # type: ignore[call-arg]
        (lambda: cp.Workload("trace:"), "trace: names no file; give trace:FILE"),
    ],
)
def test_what_is_meant_otherwise_is_refused_with_what_to_give(make: object, says: str) -> None:
    with pytest.raises(cp.ConfigError, match=says):
        make()  # type: ignore[operator]


def test_show_alone_lists_what_there_is_to_show() -> None:
    assert {"machines", "workloads", "stats", "parameters", "claims", "schema"} <= set(cp.show()["show"])


def test_every_parameter_is_listed_with_the_machines_that_it_acts_on() -> None:
    every = cp.parameters()
    assert len(every) > 200
    # Of a key that workloads have otherwise, each has its own row.
    assert every.select(pl.col("key"), pl.col("workloads").list.join(",")).is_unique().all()
    assert every.filter(~pl.col("key").str.starts_with("workload."))["key"].is_unique().all()
    assert "asap-rp" in every.filter(pl.col("key") == "ordering.persist_buffer")["machines"].item().to_list()
    assert every.equals(cp.show("parameters"))
