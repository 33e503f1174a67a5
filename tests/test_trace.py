"""Recordings: what `record` says of a program's files, what `trace` shows, how much memory they take, other tools' Parquet."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import coreplane as cp
from conftest import COREPLANE, ROOT, Cli

PROGRAMS = ROOT / "tests/programs"


@pytest.fixture
def left(cli: Cli) -> Cli:
    cli("cc", "-O1", PROGRAMS / "left.c", "-o", "left")
    return cli


def record(cli: Cli, how: str) -> tuple[str, dict]:
    done = cli.run("record", "--out", "t.cpt", "--", "./left", how, f"{how}.pm")
    assert done.returncode == 0, done.stderr
    info = cli.json("trace", "info", "t.cpt")
    return done.stderr, info


def test_a_recording_is_compared_with_the_files_that_are_left(left: Cli) -> None:
    said, info = record(left, "plain")
    assert info["differs"] == [] and "warning" not in said, said
    (file,) = [f for f in info["files"] if f["path"].endswith("/plain.pm")]
    assert (file["first_bytes"], file["bytes"], file["written_bytes"]) == (0, 8192, 5)
    assert (file["stores"], file["syncs"], file["maps"]) == (100, 1, 1)
    assert info["calls"]["msync"] == 1 and info["calls"]["write"] == 1
    table = left("trace", "info", "t.cpt")
    assert "plain.pm" in table and "msync" in table


def test_bytes_that_the_recording_does_not_explain_are_named(left: Cli) -> None:
    said, info = record(left, "unseen")
    assert "warning" in said and "bytes 4100 to 4102" in said, said
    assert [(d["offset"], d["bytes"]) for d in info["differs"]] == [(4100, 3)]
    assert "bytes 4100 to 4102" in left("trace", "info", "t.cpt")


def test_a_file_that_is_gone_is_said_not_to_be_compared(left: Cli) -> None:
    said, info = record(left, "gone")
    assert "gone.pm: not compared" in said and info["differs"] == [], said
    assert any("gone.pm: not compared" in note for note in info["notes"])


def test_a_recording_that_makes_nothing_durable_is_said_to_be_so(left: Cli) -> None:
    said, info = record(left, "undurable")
    assert "without one flush, fence or sync" in said, said
    assert info["makes_durable"] is False
    assert "without one flush, fence or sync" in left("trace", "info", "t.cpt")


def test_a_program_that_fails_keeps_its_recording(left: Cli) -> None:
    said, info = record(left, "fail")
    assert "exit code 3" in said and info["calls"]["msync"] == 1
    assert any("exit code 3" in note for note in info["notes"])


def test_a_program_is_recorded_several_times(left: Cli) -> None:
    left("record", "--quiet", "--times", "3", "--out", "t.parquet", "--", "./left", "plain", "f.pm")
    names = sorted(p.name for p in left.folder.glob("t*"))
    assert names == ["t.1.parquet", "t.2.parquet", "t.3.parquet"]
    sizes = [left.json("trace", "info", name)["files"][0]["first_bytes"] for name in names]
    assert sizes == [0, 8192, 8192], "the second finds what the first left"
    assert "--times 0" in left.refuses("record", "--times", "0", "--", "./left", "plain", "f.pm")


def put(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def checksum(data: bytes) -> int:
    h = 0xCBF29CE484222325
    words = len(data) // 8
    for i in range(words):
        h = (h ^ int.from_bytes(data[8 * i : 8 * i + 8], "little")) * 0x100000001B3 % 2**64
    for byte in data[8 * words :]:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return (h ^ h >> 32) % 2**32


def block(kind: int, thread: int, count: int, data: bytes) -> bytes:
    fields = (kind, thread, count, len(data), len(data), checksum(data))
    return b"CBLK" + b"".join(f.to_bytes(4, "little") for f in fields) + data


STORE, MAP, CLWB, SFENCE = 1, 15, 6, 9


def piece(kind: int, log2size: int, step: int, value: int | None = None, stamp: int | None = None) -> bytes:
    """A record: its address lies `step` after that of the record before."""
    numbers = [step << 1, 0] + [n for n in (value, stamp) if n is not None]
    return bytes([kind | log2size << 5]) + b"".join(map(put, numbers))


HEADER = b"COREPLNT" + (2).to_bytes(4, "little") + bytes(4)
BASE = 0x7F00_0000_0000


def generated(path: Path, records: int) -> None:
    """Stores, flushes and fences of two threads, over and over, to one mebibyte."""
    lines = 1 << 13
    data = piece(STORE, 3, BASE, 7) + piece(CLWB, 0, 0) + piece(SFENCE, 0, 0)
    data += b"".join(piece(STORE, 3, 64, i) + piece(CLWB, 0, 0) + piece(SFENCE, 0, 0) for i in range(1, lines))
    first = piece(MAP, 0, BASE, 1 << 20, 1)
    again = block(1, 0, 3 * lines, data), block(1, 1, 3 * lines, data)
    with path.open("wb") as out:
        out.write(HEADER + block(1, 0, 1, first))
        for _ in range(records // (6 * lines)):
            out.writelines(again)
        out.write(block(4, 0, 0, b""))


def peak_kib(cli: Cli, *args: object) -> int:
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", code, COREPLANE, *args]
    done = subprocess.run(list(map(str, command)), cwd=cli.folder, capture_output=True, text=True, check=True)
    return int(done.stdout)


STREAMED = [
    ("trace", "info", "{}.cpt"),
    ("trace", "convert", "--quiet", "{}.cpt", "{}.parquet"),
    ("trace", "convert", "--quiet", "{}.parquet", "again-{}.cpt"),
]


def test_memory_does_not_grow_with_a_recording(cli: Cli) -> None:
    peaks = {}
    for millions in (1, 6):
        generated(cli.folder / f"{millions}.cpt", millions * 1_000_000)
        for command in STREAMED:
            peaks[command[:2], command[-2], millions] = peak_kib(cli, *(part.format(millions) for part in command))
    for (command, name, millions), peak in peaks.items():
        assert peak < 300 * 1024, (command, name, millions, peak)
        if millions == 6:
            small = peaks[command, name, 1]
            assert peak < small * 1.3 + 16 * 1024, (command, name, small, peak)
    assert cli.json("trace", "info", "again-1.cpt")["kinds"] == cli.json("trace", "info", "1.cpt")["kinds"]


def test_regions_without_bound_ask_for_no_memory(cli: Cli) -> None:
    data = piece(MAP, 0, BASE, 64 << 30, 1)
    data += b"".join(piece(STORE, 3, 16 << 20, i) + piece(CLWB, 0, 0) + piece(SFENCE, 0, 0) for i in range(2000))
    (cli.folder / "sparse.cpt").write_bytes(HEADER + block(1, 0, 6001, data) + block(4, 0, 0, b""))
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # noqa: E731
    for machine in ("intel", "asap-rp", "hops-ep", "eadr", "nearpm-md"):
        done = cli.run("run", machine, "trace:sparse.cpt", preexec_fn=limit)
        assert done.returncode == 0, done.stderr
    for machine in ("nvdimmc-poc", "pberry"):
        done = cli.run("run", machine, "trace:sparse.cpt", preexec_fn=limit)
        assert done.returncode in (1, 2) and "capacity_mib" in done.stderr, done.stderr
    data = piece(MAP, 0, BASE, 1 << 60, 1)
    (cli.folder / "absurd.cpt").write_bytes(HEADER + block(1, 0, 1, data) + block(4, 0, 0, b""))
    assert "makes no sense" in cli.refuses("trace", "info", "absurd.cpt")


def test_accesses_over_the_end_of_a_line_run(cli: Cli) -> None:
    rmw, load = 5, 0
    data = piece(MAP, 0, BASE, 4096, 1) + piece(STORE, 3, 60, 9) + piece(rmw, 3, 64, 7, 2) + piece(load, 3, 64)
    (cli.folder / "split.cpt").write_bytes(HEADER + block(1, 0, 4, data) + block(4, 0, 0, b""))
    for machine in ("intel", "asap-rp", "hops-rp", "eadr", "pberry", "amf"):
        assert "panicked" not in cli("run", machine, "trace:split.cpt")


def test_info_tells_without_reading_what_a_full_read_tells(left: Cli) -> None:
    record(left, "unseen")
    left("trace", "convert", "t.cpt", "t.parquet")
    for name in ("t.cpt", "t.parquet"):
        assert left("trace", "info", name) == left("trace", "info", name, "--full") != ""
        assert left.json("trace", "info", name) == left.json("trace", "info", name, "--full")


def test_info_of_a_file_without_a_summary_reads_it_and_says_so(left: Cli) -> None:
    record(left, "plain")
    left("trace", "convert", "t.cpt", "t.parquet")
    whole = left.json("trace", "info", "t.parquet")
    # Another program's file may keep what was said of other rows.
    rows = pl.read_parquet(left.folder / "t.parquet")
    kept = pl.read_parquet_metadata(left.folder / "t.parquet")
    rows.filter(pl.col("kind") != 9).write_parquet(left.folder / "fewer.parquet", metadata=kept)
    said = left.run("trace", "info", "fewer.parquet")
    assert "has no summary: all of it was read" in said.stderr
    fewer = left.json("trace", "info", "fewer.parquet")
    assert fewer["records"] == rows.filter(pl.col("kind") != 9).height and fewer["files"] == whole["files"]
    # A record is gone from the middle of a file that is whole otherwise: only who reads it knows.
    packed = (left.folder / "t.cpt").read_bytes()
    at = packed.index(b"CBLK" + (2).to_bytes(4, "little"))
    (left.folder / "changed.cpt").write_bytes(packed[: at + 40] + bytes([packed[at + 40] ^ 1]) + packed[at + 41 :])
    assert left.json("trace", "info", "changed.cpt")["records"] == whole["records"]
    assert "changed.cpt" in left.refuses("trace", "info", "--full", "changed.cpt")


def test_parquet_of_other_tools_is_read(left: Cli) -> None:
    polars = pytest.importorskip("polars")
    left("record", "--quiet", "--out", "t.parquet", "--", "./left", "plain", "f.pm")
    frame = polars.read_parquet(left.folder / "t.parquet")
    before = left.json("trace", "info", "t.parquet")
    wide = frame.select(reversed(frame.columns)).cast(polars.Int64, strict=False).with_columns(extra=polars.lit("x"))
    wide.write_parquet(left.folder / "wide.parquet", compression="snappy")
    frame.drop("instructions").write_parquet(left.folder / "fewer.parquet")
    for name in ("wide.parquet", "fewer.parquet"):
        after = left.json("trace", "info", name)
        assert (after["kinds"], after["threads"]) == (before["kinds"], before["threads"])
    nulls = frame.with_columns(value=polars.when(polars.col("value") > 3).then(polars.col("value")))
    nulls.write_parquet(left.folder / "nulls.parquet")
    assert "column value has nulls" in left.refuses("trace", "info", "nulls.parquet")
    frame.drop("kind").write_parquet(left.folder / "bad.parquet")
    assert "no column kind" in left.refuses("trace", "info", "bad.parquet")


def test_a_replay_counts_what_the_program_did_alone(cli: Cli) -> None:
    (cli.folder / "two.lk").write_text(" L 1000,8\n L 2000,8\n")
    cli("trace", "convert", "--quiet", "--from", "lackey", "two.lk", "two.cpt")
    stats = cli.json("run", "intel", "trace:two.cpt", "--set", "workload.pm=all", "--no-bands")["stats"]
    assert (stats["cpu.references"], stats["cpu.stores"]) == (2, 0)


def test_where_memory_keeps_nothing_all_of_a_program_is_in_it(cli: Cli) -> None:
    (cli.folder / "heap.lk").write_text("".join(f" L {0x1000_0000 + 4096 * n:x},8\n" for n in range(2000)))
    cli("trace", "convert", "--quiet", "--from", "lackey", "heap.lk", "heap.cpt")
    compared = cli.json("compare", "trace:heap.cpt", "--on", "ddr5,cxl-expander,pberry", "--no-bands")
    near, far, _ = (row["time_ns"] for row in compared["machines"])
    assert far > 1.2 * near, "a link is on the way"
    assert not any("all of the program" in remark for remark in compared["remarks"])
    run = cli.json("run", "ddr5", "trace:heap.cpt", "--no-bands")
    assert (run["time_ns"], run["configuration"]["workload.pm"]) == (near, "all")

    program = cp.Program()
    at = program.map("own.pm", 4096)
    program.main.store(at, 1)
    program.save(cli.folder / "own.parquet")
    mixed = ("compare", "trace:own.parquet", "--on", "intel,ddr5", "--no-bands")
    assert sum(remark.startswith("all of the program is in the memory of ddr5") for remark in cli.json(*mixed)["remarks"]) == 1
    assert "all of the program" not in str(cli.json(*mixed, "--set", "workload.pm=all").get("remarks"))


def test_conversions_say_what_was_written_and_what_was_lost(left: Cli) -> None:
    left("record", "--quiet", "--out", "t.cpt", "--", "./left", "plain", "plain.pm")
    said = left.json("trace", "convert", "--to", "pmemcheck", "t.cpt", "t.log")
    entries = (left.folder / "t.log").read_text().count("|") - 1
    registered = (left.folder / "t.log").read_text().count("REGISTER_FILE")
    assert (said["trace"], said["records"]) == ("t.log", entries - registered)
    assert "1 of write and its like" in said["lacks"] and "1 of msync, fsync and their like" in said["lacks"]
    kinds = left.json("trace", "info", "t.cpt")["kinds"]
    for tool in ("ramulator", "gem5"):
        said = left.json("trace", "convert", "--to", tool, "t.cpt", "t.out")
        lost = sum(kinds.values()) - said["records"]
        assert f"{lost} of {sum(kinds.values())} records (" in said["lacks"] and f"{kinds['map']} map" in said["lacks"]
        assert said["lacks"].startswith("store values, ") and "persistent ranges" in said["lacks"].split(";")[0]


def test_what_lies_beyond_the_last_address_is_refused(cli: Cli) -> None:
    (cli.folder / "a.rd").write_text("LD 0x10 8\nLD 0xffffffffffffffff 8\n")
    assert "beyond the last address" in cli.refuses("trace", "convert", "--from", "ramulator-data", "a.rd", "a.cpt")


def test_a_format_is_called_as_it_is_given(cli: Cli) -> None:
    (cli.folder / "a.rd").write_text("LD 0x10 8\n")
    cli("trace", "convert", "--quiet", "--from", "ramulator-data", "a.rd", "a.cpt")
    assert cli.json("trace", "info", "a.cpt")["source"] == "ramulator-data a.rd"


def test_what_cannot_be_is_said_plainly(cli: Cli) -> None:
    assert cli.refuses("record", "--", "nope") == "coreplane: nope: there is no such program in PATH; of one that lies elsewhere give the path"
    said = cli.refuses("shared", "shared", "shared-ring", "--set", "workload.hosts=4")
    assert said == 'coreplane: --set workload.hosts: "4" is not accepted; give 2'


def test_a_share_of_reads_is_given_once(cli: Cli) -> None:
    assert "100 % is given twice" in cli.refuses("curve", "intel", "--reads", "100", "--reads", "100")
