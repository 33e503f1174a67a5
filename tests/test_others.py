"""Traces of other tools, by the command line: samples that the tools wrote where they can be installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, Cli

SAMPLES = ROOT / "tests/samples"


@pytest.mark.parametrize("form", ["data", "json", "txt"])
def test_what_damo_keeps_runs_at_page_fidelity_alone(cli: Cli, form: str) -> None:
    # Of damo 3.4.3: two targets, two intervals; the same as json_compressed, json and perf_script.
    cli("trace", "convert", "--quiet", "--from", "damon", SAMPLES / f"damo.{form}", "d.cpt")
    info = cli.json("trace", "info", "d.cpt")
    assert info["threads"] == [21, 1] and info["kinds"] == {"load": 22}
    run = cli.json("run", "dram-swap", "trace:d.cpt", "--no-bands")
    assert run["references"] == 22
    assert not any("caches of cores" in remark for remark in run.get("remarks", [])), "each of these is a page that was accessed"
    assert "page fidelity" in cli.refuses("run", "intel", "trace:d.cpt")


def test_a_recording_at_page_fidelity_has_the_remark_that_caches_are_not_modelled(cli: Cli) -> None:
    (cli.folder / "r.txt").write_text("LD 0x1000 8\nST 0x1041 3 1 2 3\n" * 5)
    cli("trace", "convert", "--quiet", "--from", "ramulator-data", "r.txt", "r.cpt")
    said = "caches of cores are not modelled at page fidelity"
    for command in (("run", "amf"), ("compare", "--on", "amf,tiering")):
        args = (*command, "trace:r.cpt", "--no-bands")
        assert sum(said in remark for remark in cli.json(*args)["remarks"]) == 1
        assert cli.run(*args).stderr.count(said) == 1
        assert said not in cli.run(*args, "--quiet").stderr
    assert said not in str(cli.json("run", "intel", "trace:r.cpt", "--no-bands", "--set", "workload.pm=all").get("remarks"))


def test_a_recording_goes_to_gem5_and_back(cli: Cli) -> None:
    (cli.folder / "r.txt").write_text("LD 0x1000 8\nST 0x1041 3 1 2 3\n" * 500)
    cli("trace", "convert", "--quiet", "--from", "ramulator-data", "r.txt", "r.cpt")
    for name in ("a.gz", "a"):
        cli("trace", "convert", "--quiet", "--to", "gem5", "r.cpt", name)
        cli("trace", "convert", "--quiet", "--from", "gem5", name, "g.cpt")
        assert cli.json("trace", "info", "g.cpt")["kinds"] == {"load": 500, "store": 1000}
    cli("trace", "convert", "--quiet", "--to", "ramulator-data", "r.cpt", "again.txt")
    assert (cli.folder / "again.txt").read_text() == "LD 0x1000 8\nST 0x1041 2 1 2\nST 0x1043 1 3\n" * 500


@pytest.mark.parametrize(
    ("form", "bytes_", "place"),
    [
        ("drmemtrace", b"\x19" + bytes(20), "byte 12"),
        ("gem5", b"gem5\x05", "byte 5"),
        ("ramulator-data", b"LD 1 2\nLD 1\n", "line 2"),
        ("ramulator", b"3 64\n3 64 128 192\n", "line 2"),
        ("dramsim3", b"0x80 READ 1\n0x80 READ\n", "line 2"),
        ("damon", b"x damon_aggregated: y\n", "line 1"),
        ("perf-mem", b"a\nb 2 z |OP LOAD|\n", "line 2"),
        ("oracle-general", bytes(25), "byte 24"),
        ("ktracker", bytes(8) + b"\x01" * 8, "byte 8"),
        ("oracle-general", b"what anybody may have written, such as this text " * 24, "byte 24: not oracleGeneral: a time of"),
    ],
)  # fmt: skip
def test_what_is_not_of_the_format_is_named_with_its_place(cli: Cli, form: str, bytes_: bytes, place: str) -> None:
    (cli.folder / "bad").write_bytes(bytes_)
    said = cli.refuses("trace", "convert", "--from", form, "bad", "o.cpt")
    assert said.startswith("coreplane: bad: ") and place in said and said.count("\n") <= 1
    assert not (cli.folder / "o.cpt").exists()


def test_lines_of_perf_are_understood(cli: Cli) -> None:
    """Processors that sample memory are rare in machines for tests: faults have addresses, and no load or store."""
    perf = shutil.which("perf")
    if perf is None:
        pytest.skip("perf is not installed (Debian: linux-perf)")
    data = cli.folder / "p.data"
    subprocess.run([perf, "record", "-q", "-e", "page-faults", "-c", "1", "-d", "-o", data, "true"], capture_output=True, check=False)
    fields = "comm,tid,time,event,addr,data_src"
    lines = subprocess.run([perf, "script", "-F", fields, "-i", data], capture_output=True, text=True, check=False).stdout
    if "|OP " not in lines:
        pytest.skip("perf may not record here")
    (cli.folder / "p.txt").write_text(lines)
    assert "no memory access" in cli.refuses("trace", "convert", "--from", "perf-mem", "p.txt", "o.cpt")
    # What a processor that samples says in the same place: a load.
    (cli.folder / "p.txt").write_text("".join(f"{_with_source(line, 0x68100142)}\n" for line in lines.splitlines()))
    cli("trace", "convert", "--quiet", "--from", "perf-mem", "p.txt", "p.cpt")
    assert cli.json("trace", "info", "p.cpt")["kinds"] == {"load": lines.count("|OP ")}


def _with_source(line: str, source: int) -> str:
    before, after = line.split("|OP ", 1)
    return f"{before.rsplit(maxsplit=1)[0]} {source:x} |OP {after}"
