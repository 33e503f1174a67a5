"""The Python module."""

import subprocess
import sys
import threading
from pathlib import Path

import altair as alt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coreplane as cp

SMALL = cp.Workload("queue", operations=200)


def test_a_run_has_time_and_described_statistics() -> None:
    run = cp.run(cp.Machine("asap-rp", ordering={"persist_buffer": 16}), SMALL, seed=3)
    assert run.time > 0 and run.data["configuration"]["ordering.persist_buffer"] == 16
    assert run.stats.columns == ["name", "value", "unit", "description"]
    assert run.stats.filter(pl.col("description") == "").is_empty()
    assert cp.run("asap-rp", SMALL, seed=3).time == cp.run("asap-rp", SMALL, seed=3, engine="reference").time


def test_a_power_failure_ends_a_run_and_leaves_an_image(tmp_path: Path) -> None:
    cut = cp.run("intel", SMALL, power_fails_at="20us", image=tmp_path / "left.pm")
    assert any("the power failed at 20 us" in remark for remark in cut.remarks), cut.remarks
    by_command = ["run", "intel", "queue", "--set", "workload.operations=200", "--power-fails-at", "20us", "--quiet", "--out", str(tmp_path / "o")]
    subprocess.run([sys.executable, "-m", "coreplane._cli", *by_command], check=True)
    assert (tmp_path / "left.pm").read_bytes() == (tmp_path / "o/image.pm").read_bytes()
    assert cp.run("intel", SMALL, power_fails_at="20us").time == cut.time


def test_nested_changes_reach_nested_keys() -> None:
    run = cp.run(cp.Machine("intel", memory={"pm": {"read_ns": 300.5}}), SMALL)
    assert run.data["configuration"]["memory.pm.read_ns"] == 300.5


def test_a_comparison_has_a_table_and_a_chart() -> None:
    both = cp.compare(SMALL, on=["intel", cp.Machine("eadr")])
    assert both.table["speedup"].to_list()[0] == 1.0 and both.table["speedup"].to_list()[1] > 1.0
    drawn = both.plot()
    assert isinstance(drawn, alt.Chart)
    label = drawn.to_dict()["encoding"]["x"]["axis"]["labelExpr"]
    assert f'"eadr": ["eadr", "{both.speedup["eadr"]:.2f}"]' in label


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cp.Machine("asapp"), "asap-ep"),
        (lambda: cp.run("intel", "ccehh"), "cceh"),
        (lambda: cp.Workload("cceh", thread=2), "workload.threads"),
        (lambda: cp.Machine("intel", l1={"ways": 3}), "no whole number of sets"),
        (lambda: cp.compare(SMALL, on=["intel"], baseline="eadr"), "baseline"),
        (lambda: cp.compare(SMALL, on=[]), "at least one"),
        (lambda: cp.run("intel", SMALL, power_fails_at="soon"), "power_fails_at: "),
        (lambda: cp.run("intel", SMALL, image="left.pm"), "give power_fails_at"),
        (lambda: cp.run("intel", SMALL, power_fails_at="1us", bands=True), "cut short has none"),
    ],
)
def test_bad_input_is_a_config_error(call: object, says: str) -> None:
    with pytest.raises(cp.ConfigError, match=says) as error:
        call()
    assert isinstance(error.value, ValueError)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=40), st.text(max_size=20))
def test_no_text_makes_it_panic(key: str, value: str) -> None:
    try:
        cp.run(cp.Machine("intel", **{key: {"x": value}}), SMALL)
    except cp.ConfigError:
        pass


def test_a_run_releases_the_interpreter() -> None:
    done = threading.Event()
    other = threading.Thread(target=lambda: (cp.run("asap-rp", cp.Workload("cceh", operations=20000)), done.set()))
    other.start()
    turns = 0
    while not done.is_set():
        turns += 1
    other.join()
    assert turns > 100
