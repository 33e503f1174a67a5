"""Real programs: compiled, recorded, replayed; the file comes out byte for byte."""

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from conftest import ROOT, Cli, Core, Library

PROGRAMS = ROOT / "tests/programs"
SEVEN = ["intel", "hops-ep", "hops-rp", "asap-ep", "asap-rp", "bbb", "eadr"]


def image(cli: Cli, machine: str, trace: str, size: int) -> bytes:
    """What persistent memory holds after the replay, cut to the size of the file."""
    Core(cli.folder)("run", machine, f"trace:{trace}", "--no-bands", "--power-fails-at", "1 s", "--out", "o")
    data = (cli.folder / "o/image.pm").read_bytes()
    return data[:size].ljust(size, b"\0")


@pytest.fixture(scope="module")
def kv(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    cli = Cli(tmp_path_factory.mktemp("kv"))
    cli("cc", "-O2", "-pthread", ROOT / "examples/kv/kv.c", "-o", "kv")
    cli("record", "--quiet", "--out", "kv.parquet", "--", "./kv", "kv.pm", 4, 2000)
    return cli


@pytest.mark.parametrize("machine", SEVEN)
def test_replaying_a_threaded_store_leaves_its_file(kv: Cli, machine: str) -> None:
    file = (kv.folder / "kv.pm").read_bytes()
    assert image(kv, machine, "kv.parquet", len(file)) == file


def test_counts_of_persist_instructions_are_exact(cli: Cli) -> None:
    cli("cc", "-O2", "-pthread", PROGRAMS / "persist.c", "-o", "persist")
    cli("record", "--quiet", "--out", "p.cpt", "--", "./persist", "p.pm")
    kinds = cli.json("trace", "info", "p.cpt")["kinds"]
    rounds = 4 * 100
    assert kinds["clflush"] == 2 * rounds
    assert kinds["sfence"] == rounds
    assert kinds["mfence"] == rounds
    assert kinds["store-nt"] == 3 * rounds, "one of eight bytes, one of sixteen"
    assert kinds["rmw"] == rounds
    assert kinds["create"] == kinds["join"] == 4
    file = (cli.folder / "p.pm").read_bytes()
    for machine in ("eadr", "bbb", "asap-ep"):
        assert image(cli, machine, "p.cpt", len(file)) == file
    assert image(cli, "intel", "p.cpt", len(file)) != file, "not every line was flushed"


def test_a_trace_reads_the_same_in_every_form(kv: Cli) -> None:
    kv("trace", "convert", "kv.parquet", "kv.cpt")
    kv("trace", "convert", "kv.cpt", "again.parquet")
    first, again = (pl.read_parquet(kv.folder / n) for n in ("kv.parquet", "again.parquet"))
    assert first.equals(again) and first.columns[0] == "thread"
    times = [kv.json("run", "asap-rp", f"trace:{n}")["time_ns"] for n in ("kv.parquet", "kv.cpt")]
    assert times[0] == times[1]
    head = kv.json("trace", "head", "kv.cpt", "-n", 400)
    assert any("kv.c:" in (r["location"] or "") for r in head)
    assert "LD 0x" in _converted(kv)


def _converted(cli: Cli) -> str:
    cli("trace", "convert", "kv.cpt", "kv.txt", "--to", "ramulator")
    return (cli.folder / "kv.txt").read_text()


def test_unmodified_sqlite_is_recorded_and_replayed(cli: Cli, sqlite_library: Library) -> None:
    library, include = sqlite_library
    cli("cc", "-O1", "-I", include, PROGRAMS / "workload.c", library, "-o", "sq", "-pthread", "-lm")
    cli("record", "--quiet", "--out", "sq.cpt", "--", "./sq", "test.db", 30)
    info = cli.json("trace", "info", "sq.cpt")
    assert info["records"] > 100_000 and info["kinds"]["store"] > 20_000
    database = subprocess.run(
        [sys.executable, "-c", "import sqlite3; print(sqlite3.connect('test.db').execute('select count(*) from t').fetchone()[0])"],
        cwd=cli.folder, capture_output=True, text=True, check=True,
    )
    assert database.stdout.strip() == "30", "the program did its work while it was recorded"
    run = cli.json("run", "asap-rp", "trace:sq.cpt", "--set", "workload.pm=all")
    assert run["references"] > 100_000


@pytest.mark.skipif(not Path("/usr/include/libpmem.h").exists(), reason="libpmem is not installed")
def test_libpmem_calls_become_flushes_and_fences(cli: Cli) -> None:
    cli("cc", "-O2", PROGRAMS / "pmem.c", "-o", "pm", "-lpmem")
    env = os.environ | {"PMEM_IS_PMEM_FORCE": "1"}
    done = cli.run("record", "--quiet", "--out", "pm.cpt", "--", "./pm", "f.pm", env=env)
    assert done.returncode == 0, done.stderr
    kinds = cli.json("trace", "info", "pm.cpt")["kinds"]
    assert kinds["clwb"] == 50 * 2 + 1 + 5
    assert kinds["sfence"] == 50 + 1 + 1
    file = (cli.folder / "f.pm").read_bytes()
    assert image(cli, "intel", "pm.cpt", len(file)) == file


@pytest.mark.skipif(not shutil.which("clang"), reason="clang is not installed")
def test_clang_records_too(cli: Cli) -> None:
    env = os.environ | {"COREPLANE_CC": "clang"}
    done = cli.run("cc", "-O2", "-pthread", PROGRAMS / "persist.c", "-o", "persist", env=env)
    assert done.returncode == 0, done.stderr
    cli("record", "--quiet", "--out", "p.cpt", "--", "./persist", "p.pm")
    file = (cli.folder / "p.pm").read_bytes()
    assert image(cli, "eadr", "p.cpt", len(file)) == file


@pytest.fixture
def bad(cli: Cli) -> Cli:
    cli("cc", "-O1", PROGRAMS / "bad.c", "-o", "bad")
    return cli


def left(cli: Cli) -> set[str]:
    return {p.name for p in cli.folder.iterdir()} - {"bad"}


def test_programs_that_cannot_be_recorded_whole_leave_no_trace(bad: Cli) -> None:
    assert "signal 6" in bad.refuses("record", "--out", "t.parquet", "--", "./bad", "crash")
    assert left(bad) == {"t.recording"}, "what was recorded is kept under a name that says so"
    bad("trace", "convert", "--salvage", "t.recording", "salvaged.cpt")
    assert "its end" in bad.json("trace", "info", "salvaged.cpt")["lacks"]
    assert "damaged" in bad.refuses("trace", "info", "t.recording")
    bad("trace", "convert", "--salvage", "salvaged.cpt", "again.cpt")
    of = {name: bad.json("trace", "info", name)["lacks"] for name in ("salvaged.cpt", "again.cpt")}
    assert of["again.cpt"] == of["salvaged.cpt"], "a file that has its end loses nothing, and what it lacked stays said"
    for name in ("t.recording", "salvaged.cpt", "again.cpt"):
        (bad.folder / name).unlink()
    assert "forks" in bad.refuses("record", "--out", "t.parquet", "--", "./bad", "fork")
    assert "coreplane cc" in bad.refuses("record", "--route", "hooks", "--out", "t.parquet", "--", "true")
    assert left(bad) == set()
    assert "cut short" in bad.refuses("record", "--out", "t.parquet", "--", "./bad", "exec")
    assert ".parquet or .cpt" in bad.refuses("record", "--out", "t.txt", "--", "./bad")
    assert "absent" in bad.refuses("record", "--out", "t.cpt", "--", "./absent")


def test_a_full_disk_ends_the_recording_with_a_message(bad: Cli) -> None:
    limited = f"ulimit -f 200; exec {bad.folder / 'bad'}"
    (bad.folder / "limited").write_text(f"#!/bin/sh\ntrap '' XFSZ\n{limited}\n")
    (bad.folder / "limited").chmod(0o755)
    assert "cut short" in bad.refuses("record", "--out", "t.parquet", "--", "./limited")
    assert "t.parquet" not in left(bad)


def test_a_disk_without_any_room_is_said_before_the_program_runs(bad: Cli) -> None:
    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = bad.run("record", "--out", "t.cpt", "--", "./bad", preexec_fn=full)
    assert done.returncode == 2 and "t.recording cannot be written" in done.stderr
    assert left(bad) == set()


def test_an_output_that_the_program_has_as_its_own_file_stays(cli: Cli) -> None:
    cli("cc", "-O1", "-pthread", PROGRAMS / "persist.c", "-o", "persist")
    cli("record", "--quiet", "--out", "p.cpt", "--", "./persist", "y.cpt")
    data = (cli.folder / "y.cpt").read_bytes()
    done = cli.run("record", "--quiet", "--out", "y.cpt", "--", "./persist", "y.cpt")
    assert done.returncode == 2
    assert done.stderr == "coreplane: --out: y.cpt is a file of the program's, and stays; the recording is y.recorded.cpt (give --out another name)\n"
    assert (cli.folder / "y.cpt").read_bytes() == data and not (cli.folder / "y.recording").exists()
    kinds = [cli.json("trace", "info", name)["kinds"]["sfence"] for name in ("p.cpt", "y.recorded.cpt")]
    assert kinds[0] == kinds[1]


def test_a_killed_program_leaves_readable_blocks(cli: Cli) -> None:
    cli("cc", "-O2", "-pthread", ROOT / "examples/kv/kv.c", "-o", "kv")
    env = os.environ | {"COREPLANE_TRACE": str(cli.folder / "k.cpt")}
    program = subprocess.Popen(["./kv", "k.pm", "2", "100000000"], cwd=cli.folder, env=env, stdout=subprocess.DEVNULL)
    while not (cli.folder / "k.cpt").exists() or (cli.folder / "k.cpt").stat().st_size < 2_000_000:
        assert program.poll() is None
        time.sleep(0.02)
    program.send_signal(signal.SIGKILL)
    program.wait()
    cli("trace", "convert", "--salvage", "k.cpt", "k.parquet")
    assert cli.json("trace", "info", "k.parquet")["records"] > 100_000


def test_a_damaged_recording_is_said_to_be_damaged_and_where(cli: Cli) -> None:
    (cli.folder / "r.txt").write_text("LD 0x1000 8\n" * 40_000)
    cli("trace", "convert", "--quiet", "--from", "ramulator-data", "r.txt", "r.cpt")
    whole = (cli.folder / "r.cpt").read_bytes()
    second = whole.index(b"CBLK\2", whole.index(b"CBLK\2") + 1)
    damaged = bytearray(whole)
    damaged[second + 40] ^= 1
    (cli.folder / "d.cpt").write_bytes(damaged)
    said = f"damaged at byte {second}: the block's checksum is wrong"
    for command in (("run", "amf", "trace:d.cpt"), ("trace", "info", "--full", "d.cpt"), ("trace", "convert", "d.cpt", "o.cpt")):
        refusal = cli.refuses(*command)
        assert said in refusal and "cut short" not in refusal and "--salvage keeps what is before it" in refusal
    kept = cli.run("trace", "convert", "--salvage", "d.cpt", "s.cpt").stderr
    assert "16384 records in s.cpt; it lacks " in kept and f"its end ({len(whole) - second} bytes after the last whole block: {said})" in kept
    assert cli.json("trace", "info", "s.cpt")["records"] == 16384


@pytest.mark.parametrize("bit", [stat.S_ISUID, stat.S_ISGID])
def test_a_program_with_rights_of_its_own_is_refused_for_what_it_is(cli: Cli, bit: int) -> None:
    shutil.copy("/bin/true", cli.folder / "own")
    (cli.folder / "own").chmod(0o755 | bit)
    for route in ("valgrind", "auto"):
        said = cli.refuses("record", "--route", route, "--out", "t.cpt", "--", "./own")
        assert "./own: a set-uid or set-gid program is not run under Valgrind: record a copy without the bit" in said


def test_foreign_and_damaged_traces_are_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and then nothing")
    assert "x.parquet" in cli.refuses("run", "intel", "trace:x.parquet")
    (tmp_path / "x.cpt").write_bytes(b"\x7fELF")
    assert "not a trace" in cli.refuses("trace", "info", "x.cpt")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    assert "columns" in cli.refuses("trace", "info", "a.parquet")
    assert "absent.cpt" in cli.refuses("trace", "info", "absent.cpt")
    (tmp_path / "l.txt").write_text(" L 1000,8\n S zz,8\n")
    assert "line 2" in cli.refuses("trace", "convert", "--from", "lackey", "l.txt", "l.cpt")
    assert "lackey, champsim, ramulator" in cli.refuses("trace", "convert", "--from", "sniper", "l.txt", "l.cpt")


def test_an_imported_trace_has_no_persistent_range_until_all_of_it_is(cli: Cli, tmp_path: Path) -> None:
    lines = "".join(f" {'S' if n % 3 else 'L'} {0x1000 + n * 8:x},8\n" for n in range(500))
    (tmp_path / "l.txt").write_text(lines)
    cli("trace", "convert", "--from", "lackey", "l.txt", "l.cpt")
    assert "workload.pm=all" in cli.refuses("run", "intel", "trace:l.cpt")
    run = cli.json("run", "bbb", "trace:l.cpt", "--set", "workload.pm=all")
    assert run["stats"]["memory.writes"] > 0
