"""The command line as its users and other programs see it."""

import json
from pathlib import Path

import duckdb
import polars as pl
import pytest

from conftest import Cli

MACHINES = ["intel", "hops-ep", "hops-rp", "asap-ep", "asap-rp", "bbb", "eadr"]


@pytest.mark.parametrize("machine", MACHINES)
def test_the_same_seed_gives_the_same_json_twice_and_with_the_reference_engine(cli: Cli, machine: str) -> None:
    args = ("run", machine, "queue", "--seed", 7, "--set", "workload.operations=400")
    runs = [cli.json(*args), cli.json(*args), cli.json(*args, "--engine", "reference")]
    for run in runs:
        run.pop("host_seconds")
    assert runs[0] == runs[1] == runs[2]
    assert {"machine", "workload", "seed", "time_ns", "references", "stats"} <= runs[0].keys()


def test_promised_statistics_are_there(cli: Cli) -> None:
    stats = cli.json("run", "asap-rp", "cceh", "--set", "workload.operations=500")["stats"]
    promised = """throughput.operations_per_second throughput.bytes_per_second memory.reads memory.writes
        memory.bytes_written ordering.epochs ordering.cross_dependences ordering.blocked_share ordering.stall_share
        ordering.persist_buffer.mean ordering.persist_buffer.p99 ordering.recovery_table.max ordering.nacks
        ordering.undo_records""".split()
    assert [name for name in promised if name not in stats] == []
    known = {s["name"] for s in cli.json("show", "stats")}
    assert set(stats) <= known


@pytest.mark.parametrize("setting", ["ordering.recovery_table=0", "ordering.persist_buffer=1", "ordering.epoch_table=2"])
def test_the_smallest_tables_run_to_the_end(cli: Cli, setting: str) -> None:
    run = cli.json("run", "asap-rp", "cceh", "--set", setting, "--set", "workload.operations=2000")
    assert run["stats"]["ordering.stale_drops"] == 0


def test_compare_writes_a_report_and_a_table(cli: Cli, tmp_path: Path) -> None:
    args = ("compare", "queue", "--on", "intel,asap-rp,eadr", "--set", "workload.operations=300", "--out", "r")
    text = cli(*args)
    assert "report: r/report.html" in text and "speedup" in text
    names = {p.name for p in (tmp_path / "r").iterdir()}
    assert {"report.html", "speedup.png", "speedup.svg", "time.png", "results.parquet", "compare.json"} <= names
    page = (tmp_path / "r/report.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page.replace("https://ui.perfetto.dev", "")
    rows = duckdb.sql(f"select count(distinct machine), count(*) from '{tmp_path}/r/results.parquet'").fetchall()[0]
    assert rows[0] == 3 and rows[1] > 60
    assert pl.read_parquet(tmp_path / "r/results.parquet").columns[:3] == ["machine", "workload", "seed"]


def test_json_is_the_only_thing_on_standard_output(cli: Cli) -> None:
    out = cli("compare", "queue", "--on", "intel,eadr", "--set", "workload.operations=100", "--out", "r", "--format=json")
    assert [m["machine"] for m in json.loads(out)["machines"]] == ["intel", "eadr"]


def test_every_name_can_be_shown(cli: Cli) -> None:
    for machine in cli.json("show", "machines"):
        parameters = cli.json("show", machine["name"])["parameters"]
        assert all(p["source"] and p["meaning"] and p["unit"] for p in parameters)
    for workload in cli.json("show", "workloads"):
        assert cli.json("show", workload["name"])["parameters"]
    assert cli.json("show", "schema")["title"] == "Coreplane machine"
    assert any(c["id"] == "asap.speedup.rp" for c in cli.json("show", "claims"))


def test_bad_input_is_refused_with_one_message(cli: Cli, tmp_path: Path) -> None:
    assert "asap-rp" in cli.refuses("run", "asap-rb", "queue")
    assert "cceh" in cli.refuses("run", "intel", "ccehh")
    assert "ordering.persist_buffer" in cli.refuses("run", "intel", "queue", "--set", "ordering.persist_bufer=3")
    assert "from 1 to 1024" in cli.refuses("run", "intel", "queue", "--set", "ordering.persist_buffer=-1")
    assert "KEY=VALUE" in cli.refuses("run", "intel", "queue", "--set", "threads")
    assert "l2.size_bytes" in cli.refuses("run", "intel", "queue", "--set", "l1.size_bytes=4194304")
    assert "baseline" in cli.refuses("compare", "queue", "--on", "intel", "--baseline", "eadr")
    assert "asap" in cli.refuses("reproduce", "asapp")
    (tmp_path / "m.toml").write_text('extends = "asap-rp"\n\n[ordering]\npersist_buffer = "many"\n')
    message = cli.refuses("run", "m.toml", "queue")
    assert "m.toml:4" in message and "ordering.persist_buffer" in message
    assert "absent.toml" in cli.refuses("run", "absent.toml", "queue")
    assert "\n" not in message


def test_a_machine_from_a_file_differs_as_it_says(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('extends = "asap-rp"\n[memory]\npm.read_ns = 300\n')
    run = cli.json("run", "mine.toml", "queue", "--set", "workload.operations=200")
    assert run["machine"] == "mine" and run["configuration"]["memory.pm.read_ns"] == 300


def test_a_timeline_is_a_perfetto_trace(cli: Cli, tmp_path: Path) -> None:
    cli("run", "asap-rp", "queue", "--set", "workload.operations=50", "--timeline", "--out", "t")
    data = (tmp_path / "t/timeline.pftrace").read_bytes()
    tracks, packets, at = set(), 0, 0
    while at < len(data):
        assert data[at] == 0x0A, "field 1 of Trace: a packet"
        length, at = _varint(data, at + 1)
        packet, at = data[at : at + length], at + length
        packets += 1
        tracks |= {name for name in (b"persist buffer", b"recovery table", b"stall", b"core 0") if name in packet}
    assert packets > 100 and len(tracks) == 4


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at
