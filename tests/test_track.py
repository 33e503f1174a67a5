"""Live tracking: exact counts of a known program, a program that goes on unharmed, and what is refused."""

import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import COREPLANE, ROOT, Cli, as_by_hand


class Dirty:
    """A program whose every change is known, under the tracker."""

    def __init__(self, cli: Cli, *options: object, before: str = "") -> None:
        subprocess.run(["cc", "-O1", ROOT / "tests/programs/dirty.c", "-o", cli.folder / "dirty"], check=True)
        self.program = subprocess.Popen([cli.folder / "dirty"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.program.stdout.readline() == b"ready\n"
        for step in before:
            self.say(step)
        while self.status("State") != "S":
            time.sleep(0.01)
        switches = self.switches()
        command = [COREPLANE, "track", str(self.program.pid), *map(str, options)]
        self.tracker = subprocess.Popen(command, cwd=cli.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # The tracer stops the program to copy it. It has slept till then: once it gave its core up again, it stands still.
        while self.traced() == 0 or self.switches() == switches:
            assert self.tracker.poll() is None, self.tracker.stderr.read()
            time.sleep(0.01)
        # The first copy is there once the program runs again.
        self.say("-")

    def status(self, key: str) -> str:
        status = Path(f"/proc/{self.program.pid}/status").read_text()
        return re.search(rf"^{key}:\s*(\w+)", status, re.MULTILINE)[1]

    def traced(self) -> int:
        return int(self.status("TracerPid"))

    def switches(self) -> int:
        return int(self.status("voluntary_ctxt_switches"))

    def say(self, what: str) -> None:
        self.program.stdin.write(what.encode())
        self.program.stdin.flush()
        assert self.program.stdout.readline() == b"done\n"

    def stop_tracker(self) -> str:
        self.tracker.send_signal(signal.SIGINT)
        out, err = self.tracker.communicate(timeout=60)
        assert self.tracker.returncode == 0, err
        return out

    def end(self) -> None:
        self.program.stdin.close()
        assert self.program.wait(timeout=60) == 0


@pytest.mark.parametrize("mechanism", ["scan", "read"])
def test_counts_are_exact(cli: Cli, mechanism: str) -> None:
    # One long window: it ends when the tracker is interrupted.
    dirty = Dirty(cli, "--interval", 600, "--mechanism", mechanism, "--out", "t.parquet", "--format", "json")
    dirty.say("s")
    (window,) = json.loads(dirty.stop_tracker())
    assert (cli.folder / "t.html").exists()
    assert dirty.traced() == 0
    dirty.say("s")
    dirty.end()
    table = pl.read_parquet(cli.folder / "t.parquet")
    ours = table.filter((pl.col("lines") == 3) & (pl.col("bytes") == 3))
    assert ours.height == 1000
    assert ours["address"].diff().drop_nulls().unique().to_list() == [8192]
    # Besides them a few pages of its stack and its C library.
    assert 3000 <= window["bytes"] <= 3000 + 2000
    assert 2000 <= window["lines"] <= 2000 + 100
    assert 1000 <= window["pages"] <= 1000 + 12
    assert window["mechanism"] == mechanism
    assert table["bytes"].sum() == window["bytes"]


def test_mappings_come_and_go(cli: Cli) -> None:
    dirty = Dirty(cli, "--interval", 600, "--format", "json")
    dirty.say("m")
    (window,) = json.loads(dirty.stop_tracker())
    assert 512 <= window["pages"] <= 512 + 12
    assert 512 * 4096 <= window["bytes"] <= 513 * 4096
    dirty.say("u")
    dirty.end()
    dirty = Dirty(cli, "--interval", 0.05, "--out", "t.parquet", "--format", "json")
    for step in "mumsum":
        dirty.say(step)
        time.sleep(0.1)
    windows = json.loads(dirty.stop_tracker())
    assert len(windows) > 4
    dirty.end()
    # Windows may end in the midst of "s": each of its thousand pages has its three bytes in them all the same.
    pages = pl.read_parquet(cli.folder / "t.parquet").group_by("address").agg(pl.col("bytes").sum())
    assert pages.filter(pl.col("bytes") == 3).height >= 1000


def test_write_protection_counts_pages_and_finds_silent_stores(cli: Cli) -> None:
    dirty = Dirty(cli, "--interval", 600, "--mode", "write-protect", "--format", "json")
    dirty.say("s")
    (window,) = json.loads(dirty.stop_tracker())
    assert 1000 <= window["pages"] <= 1012
    assert window["bytes"] == window["pages"] * 4096
    dirty.end()


def test_a_program_that_filters_its_calls_is_not_made_to_break_its_rules(cli: Cli) -> None:
    dirty = Dirty(cli, "--interval", 600, "--format", "json", before="k")
    dirty.say("s")
    (window,) = json.loads(dirty.stop_tracker())
    assert window["mechanism"] == "read"
    assert 3000 <= window["bytes"] <= 5000
    assert "seccomp" in cli.refuses("track", dirty.program.pid, "--mechanism", "scan")
    dirty.say("s")
    dirty.end()


def test_a_killed_tracker_leaves_the_program_running(cli: Cli) -> None:
    dirty = Dirty(cli, "--interval", 0.01)
    dirty.say("s")
    time.sleep(0.2)
    dirty.tracker.kill()
    dirty.tracker.wait()
    for step in "smus":
        dirty.say(step)
    assert dirty.traced() == 0
    dirty.end()


def test_a_window_begins_when_the_program_goes_on_and_not_once_its_pages_are_compared(cli: Cli) -> None:
    busy = "import itertools\nm = bytearray(64 << 20)\nfor n in itertools.count(1):\n m[::4096] = bytes([n % 256]) * (len(m) // 4096)"
    windows = json.loads(cli("track", "--format", "json", "--interval", 0.1, "--windows", 4, "--", sys.executable, "-c", busy))
    assert len(windows) == 4
    for before, after in zip(windows, windows[1:]):
        assert after["start_s"] == pytest.approx(before["end_s"] + before["pause_ms"] / 1e3, abs=1e-5)


def test_the_end_of_a_short_command_is_seen(cli: Cli) -> None:
    code = "import os\nb = bytearray(1 << 22)\nfor i in range(0, 1 << 22, 4096): b[i] = 1\nos._exit(0)"
    (window,) = json.loads(cli("track", "--interval", 600, "--format", "json", "--", sys.executable, "-c", code))
    assert window["pages"] >= 1024
    # A program that ends right after it replaced another has no window, or one.
    assert len(json.loads(cli("track", "--interval", 600, "--format", "json", "--", "sh", "-c", "exec true"))) <= 1


def test_what_was_tracked_is_printed_without_progress_too(cli: Cli) -> None:
    text = cli("track", "--quiet", "--interval", 600, "--", "sh", "-c", "exit 3")
    assert "dirty pages of 4 KiB" in text and "exit code" not in text


@pytest.mark.parametrize(("end", "told"), [("exit 3", "the program ended with exit code 3"), ("kill -9 $$", "the program ended by signal 9"), ("exit 0", None)])
def test_how_a_command_ended_is_told(cli: Cli, end: str, told: str | None) -> None:
    text = cli("track", "--interval", 600, "--", "sh", "-c", end)
    assert told in text if told else "ended" not in text


def test_children_signals_and_replaced_programs_are_survived(cli: Cli) -> None:
    script = "for i in 1 2 3 4 5 6 7 8; do sleep 0.02; (true); done; kill -STOP $$; exit 0"
    tracker = subprocess.Popen(
        [COREPLANE, "track", "--interval", "0.03", "--", "sh", "-c", script], cwd=cli.folder, stdout=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    children: list[str] = []
    while time.monotonic() < deadline and not children:
        time.sleep(0.5)
        children = subprocess.run(["pgrep", "-P", str(tracker.pid)], capture_output=True, text=True).stdout.split()
    # It has stopped itself, and stays stopped under the tracker until somebody lets it go on.
    time.sleep(1)
    assert tracker.poll() is None
    os.kill(int(children[0]), signal.SIGCONT)
    out, _ = tracker.communicate(timeout=60)
    assert tracker.returncode == 0
    assert "over all windows" in out


def test_the_binary_log_has_the_same_pages(cli: Cli) -> None:
    dirty = Dirty(cli, "--interval", 600, "--out", "t.ktracker", "--quiet")
    dirty.say("s")
    assert "over all windows" in dirty.stop_tracker()
    dirty.end()
    words = struct.unpack(f"<{(cli.folder / 't.ktracker').stat().st_size // 8}Q", (cli.folder / "t.ktracker").read_bytes())
    assert words[0] == 0
    assert len(words) == 2 + 2 * words[1]
    assert words[3::2].count(3) >= 1000


def test_what_was_dirty_runs_on_a_machine(cli: Cli) -> None:
    dirty = Dirty(cli, "--interval", 600, "--out", "t.ktracker", "--quiet")
    dirty.say("s")
    dirty.stop_tracker()
    dirty.end()
    words = struct.unpack(f"<{(cli.folder / 't.ktracker').stat().st_size // 8}Q", (cli.folder / "t.ktracker").read_bytes())
    cli("trace", "convert", "--quiet", "--from", "ktracker", "t.ktracker", "t.cpt")
    kinds = cli.json("trace", "info", "t.cpt")["kinds"]
    assert kinds == {"store": sum(lines.bit_count() for lines in words[3::2]), "mark": 1}
    for machine in ("intel", "pberry"):
        run = cli.json("run", machine, "trace:t.cpt", "--set", "workload.pm=all", "--no-bands")
        assert run["stats"]["cpu.pm_stores"] == kinds["store"] and run["stats"]["cpu.operations"] == 1


def in_one_window(cli: Cli, steps: str, mechanism: str) -> pl.DataFrame:
    """The rows of the pages that steps of `tests/programs/rights.c` change: five bytes in two lines of each."""
    program = subprocess.Popen([compiled(cli, "rights")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    say = steps_of(program)
    command = [COREPLANE, "track", str(program.pid), "--interval", "600", "--mechanism", mechanism, "--out", "t.parquet", "--quiet"]
    tracker = subprocess.Popen(command, cwd=cli.folder, stdout=subprocess.DEVNULL)
    while "TracerPid:\t0\n" in Path(f"/proc/{program.pid}/status").read_text():
        assert tracker.poll() is None
        time.sleep(0.01)
    # It stands still until its memory is copied, or soon will.
    time.sleep(0.5)
    for step in steps:
        say(step)
    tracker.send_signal(signal.SIGINT)
    assert tracker.wait(timeout=60) == 0
    program.stdin.close()
    assert program.wait(timeout=60) == 0
    return pl.read_parquet(cli.folder / "t.parquet").filter((pl.col("lines") == 1 << 7 | 1 << 33) & (pl.col("bytes") == 5))


@pytest.mark.parametrize("mechanism", ["scan", "read"])
def test_pages_count_that_are_made_read_only_once_written(cli: Cli, mechanism: str) -> None:
    # Private, without any rights, writable for a moment, shared: fifty pages each.
    assert in_one_window(cli, "rnxs", mechanism).height == 200


@pytest.mark.parametrize(("steps", "pages"), [("m", 50), ("f", 100)])
def test_memory_that_moves_is_compared_with_what_it_held(cli: Cli, steps: str, pages: int) -> None:
    assert in_one_window(cli, steps, "scan").height == pages


def test_what_cannot_be_tracked_is_refused(cli: Cli) -> None:
    assert "there is none" in cli.refuses("track", 999_999_999)
    assert "no-such-program" in cli.refuses("track", "--", "./no-such-program")
    assert "1 or more" in cli.refuses("track", 0)
    assert "0.001 to 86400" in cli.refuses("track", "--interval", 0, "--", "true")
    assert ".parquet or .ktracker" in cli.refuses("track", "--out", "x.csv", "--", "true")
    (cli.folder / "file").touch()
    assert "file/folder" in cli.refuses("track", "--out", "file/folder/x.parquet", "--", "true")


def test_what_was_tracked_before_stays_where_nothing_can_be(cli: Cli) -> None:
    (cli.folder / "kept.parquet").write_bytes(b"kept")
    assert "there is none" in cli.refuses("track", "--out", "kept.parquet", 999_999_999)
    assert {file.name: file.read_bytes() for file in cli.folder.iterdir()} == {"kept.parquet": b"kept"}
    (cli.folder / "folder.parquet").mkdir()
    assert "folder.parquet cannot be written: is a directory" in cli.refuses("track", "--out", "folder.parquet", 999_999_999)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_no_signal_ends_is_killed_once_the_tracker_is_to_end(cli: Cli, how: int) -> None:
    script = 'trap "" TERM INT; exec sleep 60'
    command = [COREPLANE, "track", "--windows", "1", "--interval", "1", "--", "sh", "-c", script]
    tracker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=as_by_hand)
    # The line of the only window comes when it has ended.
    assert "dirty" in tracker.stdout.readline() and tracker.stdout.readline()
    tracker.send_signal(how)
    out, err = tracker.communicate(timeout=40)
    assert tracker.returncode == 0 and "did not end by SIGTERM, and was killed" in out, out + err


def test_a_command_that_an_interrupt_ends_may_write_back_what_it_holds(cli: Cli) -> None:
    script = 'trap "sleep 1; echo all > written; exit" TERM; while :; do sleep 0.1; done'
    tracker = subprocess.Popen([COREPLANE, "track", "--interval", "1", "--", "sh", "-c", script], cwd=cli.folder, stdout=subprocess.PIPE, text=True, preexec_fn=as_by_hand)
    assert "dirty" in tracker.stdout.readline() and tracker.stdout.readline()
    tracker.send_signal(signal.SIGINT)
    out, _ = tracker.communicate(timeout=40)
    assert "killed" not in out and (cli.folder / "written").read_text() == "all\n", out


def started(cli: Cli, name: str, argument: str | None = None) -> subprocess.Popen[bytes]:
    """A program of that name, which waits to be told what to do."""
    if not (cli.folder / name).exists():
        subprocess.run(["cc", "-O1", ROOT / "tests/programs/dirty.c", "-o", cli.folder / name], check=True)
    words = [argument or str(cli.folder / name)]
    program = subprocess.Popen(words, executable=cli.folder / name, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdout.readline() == b"ready\n"
    return program


def test_a_process_is_given_by_its_name(cli: Cli) -> None:
    short, long = f"by-name-{os.getpid() % 10**6}", f"a-name-longer-than-the-kernel-keeps-{os.getpid()}"
    names = {short: started(cli, short), long: started(cli, long), f"argument-{os.getpid()}": started(cli, short + "x", f"/a/argument-{os.getpid()}")}
    for name in [*names, str(cli.folder / short), f"./{short}"]:
        (window,) = cli.json("track", name, "--interval", 0.05, "--windows", 1)
        assert window["mechanism"] in ("scan", "read")
    # A part of a name is none, and the tracker's own arguments are not a process of that name.
    assert f"{long[:-1]}: no process is called that" in cli.refuses("track", long[:-1])
    assert f"did you mean {short}" in cli.refuses("track", short.replace("-n", "n"))
    # All that are called so, once each; and some by numbers, as pidof and pgrep list them.
    again = started(cli, short)
    both = sorted([names[short].pid, again.pid])
    for words in ([short], both, [f"{both[0]},{both[1]}"], [short, *both]):
        (window,) = cli.json("track", *words, "--interval", 0.05, "--windows", 1)
        assert [p["process"] for p in window["processes"]] == both
    for program in (*names.values(), again):
        program.stdin.close()
        assert program.wait(timeout=60) == 0


def compiled(cli: Cli, name: str) -> Path:
    subprocess.run(["cc", "-O1", "-pthread", ROOT / f"tests/programs/{name}.c", "-o", cli.folder / name], check=True)
    return cli.folder / name


def steps_of(program: subprocess.Popen) -> Callable[[str], None]:
    """Has a program that is ready take a step, and waits until it has."""

    def say(step: str) -> None:
        program.stdin.write(step.encode())
        program.stdin.flush()
        assert program.stdout.readline() == b"done\n"

    assert program.stdout.readline() == b"ready\n"
    return say


def family(cli: Cli, before: str, after: str, *options: object) -> tuple[dict, pl.DataFrame, pl.DataFrame]:
    """What a process and its child change in one window, some of it in memory that they share: the window, and the rows of
    pages of their own and of shared ones."""
    program = subprocess.Popen([compiled(cli, "family")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    say = steps_of(program)
    for step in before:
        say(step)
    command = [COREPLANE, "track", str(program.pid), "--interval", "600", "--out", "t.parquet", "--format", "json", *map(str, options)]
    tracker = subprocess.Popen(command, cwd=cli.folder, stdout=subprocess.PIPE, text=True)
    children = subprocess.run(["pgrep", "-P", str(program.pid)], capture_output=True, text=True).stdout.split()
    for process in [str(program.pid), *(children if "--children" in options else [])]:
        while "TracerPid:\t0\n" in Path(f"/proc/{process}/status").read_text():
            time.sleep(0.01)
    # They stand still until their memory is copied, or soon will.
    time.sleep(0.5)
    for step in after:
        say(step)
    tracker.send_signal(signal.SIGINT)
    (window,) = json.loads(tracker.communicate(timeout=60)[0])
    assert tracker.returncode == 0
    say("x" if "f" in before + after and "x" not in after else "-")
    program.stdin.close()
    assert program.wait(timeout=60) == 0
    table = pl.read_parquet(cli.folder / "t.parquet")
    assert table["bytes"].sum() == window["bytes"] == sum(p["bytes"] for p in window["processes"])
    assert table.height == window["pages"] == sum(p["pages"] for p in window["processes"])
    own = table.filter((pl.col("lines") == 1 << 7) & (pl.col("bytes") == 3))
    shared = table.filter((pl.col("lines") == 1 << 9 | 1 << 11) & (pl.col("bytes") == 2))
    # A page of a stack may happen to look so too; those that are shared lie together.
    found = set(shared["address"])
    together = [address for address in found if {address - 4096, address + 4096} & found]
    return window, own, table.filter(pl.col("address").is_in(together))


@pytest.mark.parametrize("mechanism", ["scan", "read"])
@pytest.mark.parametrize(("before", "after"), [("f", "pc"), ("", "fpc"), ("", "pfcx"), ("f", "pcx")])
def test_children_are_counted_and_shared_pages_once(cli: Cli, before: str, after: str, mechanism: str) -> None:
    window, own, shared = family(cli, before, after, "--children", "--mechanism", mechanism)
    parent, child = (p["process"] for p in window["processes"])
    assert own.group_by("process").len().sort("process").rows() == [(parent, 30), (child, 50)]
    # Both write a byte of each page that they share: a page is one page, with two bytes changed.
    assert shared.height == 10 and shared["bytes"].to_list() == [2] * 10
    assert shared["lines"].unique().to_list() == [1 << 9 | 1 << 11]
    assert shared["process"].unique().to_list() == [parent]


def test_only_who_was_asked_for_is_tracked(cli: Cli) -> None:
    window, own, shared = family(cli, "f", "pc")
    # What the child changed of a shared page is seen with what the parent did.
    assert len(window["processes"]) == 1 and own.height == 30 and shared.height == 10


def test_a_binary_log_of_several_processes_is_refused(cli: Cli) -> None:
    for words in (["--children", "--", "true"], [1, 2]):
        assert "has no room for several processes" in cli.refuses("track", "--out", "t.ktracker", *words)


def test_programs_that_fork_and_spawn_in_threads_are_unharmed(cli: Cli) -> None:
    words = ["track", "--children", "--interval", 0.02, "--out", "t.parquet", "--", compiled(cli, "burst"), 12]
    assert "0 wrong, 36 of 36 signals" in cli(*words)
    kept = json.loads((cli.folder / "t.json").read_text())["windows"]
    processes = {p["process"] for w in kept for p in w["processes"]}
    # The program, and two children of each thread in each round.
    assert len(processes) == 1 + 3 * 12 * 2
    # What a forked child changes is seen, though it lives for less than a window.
    table = pl.read_parquet(cli.folder / "t.parquet").group_by("process").agg(pl.col("bytes").sum())
    assert table.filter(pl.col("bytes") >= 1 << 16).height >= 3 * 12


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_tracker_that_ends_among_forks_leaves_everybody_running(cli: Cli, how: int) -> None:
    program = compiled(cli, "burst")
    for number in range(8):
        running = subprocess.Popen([program, "200"], stdout=subprocess.PIPE, text=True)
        assert running.stdout.readline() == "ready\n"
        words = [COREPLANE, "track", str(running.pid), "--children", "--interval", "0.01", "--quiet"]
        tracker = subprocess.Popen(words, cwd=cli.folder, stdout=subprocess.DEVNULL)
        time.sleep(0.17 + 0.031 * number)
        tracker.send_signal(how)
        tracker.wait(timeout=60)
        said, _ = running.communicate(timeout=120)
        assert (running.returncode, said) == (0, "0 wrong, 600 of 600 signals\n")


def test_a_shell_a_build_and_its_programs_are_tracked(cli: Cli) -> None:
    (cli.folder / "Makefile").write_text("all: a b c\na b c:\n\t@cp /bin/true $@ && ./$@ && (echo $@ | tr abc xyz)\n.PHONY: a b c\n")
    out = cli("track", "--children", "--interval", 0.05, "--out", "t.parquet", "--quiet", "--", "make", "-j2")
    assert sorted(out.split()[-3:]) == ["x", "y", "z"] or set("xyz") <= set(out.split())
    names = {p["name"] for w in json.loads((cli.folder / "t.json").read_text())["windows"] for p in w["processes"]}
    assert {"make", "sh", "cp", "tr", "a", "b", "c"} <= names


def test_a_child_that_saves_a_database_is_tracked(cli: Cli, redis: tuple[int, int]) -> None:
    pid, port = redis
    ask = lambda *words: subprocess.run(["redis-cli", "-p", str(port), *words], capture_output=True, text=True, check=True).stdout
    ask("eval", "for n = 1, 20000 do redis.call('set', 'key' .. n, string.rep('v', 100)) end", "0")
    tracker = subprocess.Popen([COREPLANE, "track", str(pid), "--children", "--interval", "0.1", "--format", "json"], stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    ask("bgsave")
    while "rdb_bgsave_in_progress:1" in ask("info", "persistence"):
        time.sleep(0.05)
    tracker.send_signal(signal.SIGINT)
    windows = json.loads(tracker.communicate(timeout=60)[0])
    assert "rdb_last_bgsave_status:ok" in ask("info", "persistence")
    saving = {p["process"] for w in windows for p in w["processes"]} - {pid}
    assert len(saving) == 1
    assert ask("dbsize").split() == ["20000"]


def reading(cli: Cli, steps: str, *options: object, before: str = "", seconds: float = 0) -> list[dict[str, Any]]:
    """The windows of a program whose every read is known, with the pages of its heap and of its file."""
    program = subprocess.Popen([compiled(cli, "reads"), "pages.dat"], cwd=cli.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    say = steps_of(program)
    for step in before:
        say(step)
    command = [COREPLANE, "track", str(program.pid), "--accessed", "--format", "json", *map(str, options)]
    tracker = subprocess.Popen(command, cwd=cli.folder, stdout=subprocess.PIPE, text=True)
    while "TracerPid:\t0\n" in Path(f"/proc/{program.pid}/status").read_text():
        time.sleep(0.01)
    time.sleep(0.5 + seconds)
    for step in steps:
        say(step)
    tracker.send_signal(signal.SIGINT)
    windows = json.loads(tracker.communicate(timeout=60)[0])
    program.stdin.close()
    assert program.wait(timeout=60) == 0
    for window in windows:
        window["of"] = {m["name"]: m for m in window["mappings"]}
        for key in ("pages_resident", "pages_accessed"):
            assert window[key] == sum(m[key] for m in window["mappings"]) == sum(p[key] for p in window["processes"])
    return windows


@pytest.mark.parametrize("options", [("--mechanism", "scan"), ("--mechanism", "read"), ("--mode", "nothing")])
@pytest.mark.parametrize(("steps", "heap", "changed", "file"), [("-", 0, 0, 0), ("r", 700, 0, 0), ("w", 40, 20, 0), ("f", 0, 0, 120), ("rwf", 740, 20, 120)])
def test_pages_that_are_read_are_counted_by_mapping(cli: Cli, steps: str, heap: int, changed: int, file: int, options: tuple[str, ...]) -> None:
    (window,) = reading(cli, steps, "--interval", 600, *options)
    found = window["of"]["[heap]"]
    assert 3000 <= found["pages_resident"] <= 3010
    # Besides them a page or two of its C library's.
    assert heap <= found["pages_accessed"] <= heap + 3
    assert "nothing" in options or changed <= found["pages"] <= changed + 3
    found = window["of"][str(cli.folder / "pages.dat")]
    assert (found["pages_resident"], found["pages_accessed"], found["pages"]) == (500, file, 0)


def test_pages_that_are_read_all_the_time_are_hot_in_every_window(cli: Cli) -> None:
    # Their translations stay in the processor, which sets no bit again unless it is made to forget them.
    windows = reading(cli, "", "--interval", 0.2, before="l", seconds=1.5)
    assert len(windows) > 4
    assert all(64 <= w["of"]["[heap]"]["pages_accessed"] <= 67 for w in windows)


def test_a_kernel_that_does_not_tell_accesses_is_named(cli: Cli) -> None:
    program = started(cli, "dirty")
    # Another file lies over the one that clears the bits.
    words = f"mount --bind /proc/version /proc/{program.pid}/clear_refs && exec {COREPLANE} track {program.pid} --accessed --interval 0.05 --windows 2"
    done = subprocess.run(["unshare", "--mount", "sh", "-c", words], cwd=cli.folder, capture_output=True, text=True)
    program.stdin.close()
    assert program.wait(timeout=60) == 0
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip("mounts need root")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the kernel does not tell which pages were accessed") == 1
    assert "cold" not in done.stdout and "dirty bytes" in done.stdout


def test_hot_and_cold_memory_is_drawn(cli: Cli) -> None:
    code = "import time\nb = bytearray(8 << 20)\nfor n in range(1, 7):\n for i in range(0, 1 << 20, 4096): b[i] = n\n time.sleep(.2)"
    text = cli("track", "--accessed", "--interval", 0.2, "--out", "t.parquet", "--", sys.executable, "-c", code)
    assert re.search(r"pages of a window +resident +accessed +changed +cold", text)
    shown = (cli.folder / "t.html").read_text()
    assert "Hot and cold" in shown and "share cold" in shown and "was accessed in the mean window" in shown
    assert (cli.folder / "t-accessed.png").stat().st_size > 5000


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """A cgroup of this test, with another below it."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    folder = next((Path(words[1]) for words in mounts if words[2] == "cgroup2"), Path("/none")) / f"track-{os.getpid()}"
    try:
        (folder / "below").mkdir(parents=True)
        (folder / "cgroup.procs").read_text()
    except OSError:
        pytest.skip("cgroups need root")
    yield folder
    (folder / "below").rmdir()
    folder.rmdir()


def test_the_processes_of_a_cgroup_are_tracked_and_who_joins_it(cli: Cli, cgroup: Path) -> None:
    assert f"{cgroup}: no process is in it" in cli.refuses("track", "--cgroup", cgroup)
    first, below, later = (started(cli, "dirty") for _ in range(3))
    (cgroup / "cgroup.procs").write_text(str(first.pid))
    (cgroup / "below/cgroup.procs").write_text(str(below.pid))
    # As its folder, or below where cgroups are mounted.
    (window,) = cli.json("track", "--cgroup", cgroup.name, "--interval", 0.05, "--windows", 1)
    assert {p["process"] for p in window["processes"]} == {first.pid, below.pid}
    tracker = subprocess.Popen([COREPLANE, "track", "--cgroup", str(cgroup), "--interval", "0.1", "--windows", "10", "--format", "json"], stdout=subprocess.PIPE, text=True)
    time.sleep(0.3)
    (cgroup / "cgroup.procs").write_text(str(later.pid))
    windows = json.loads(tracker.communicate(timeout=60)[0])
    assert {p["process"] for p in windows[-1]["processes"]} == {first.pid, below.pid, later.pid}
    for program in (first, below, later):
        program.stdin.close()
        assert program.wait(timeout=60) == 0


def test_a_cgroup_that_is_none_is_refused(cli: Cli) -> None:
    assert "--cgroup no/such: no cgroup is there" in cli.refuses("track", "--cgroup", "no/such")


def of_ends(cli: Cli) -> pl.DataFrame:
    """The rows of the pages that `tests/programs/ends.c` changes: five bytes in two lines of each."""
    return pl.read_parquet(cli.folder / "t.parquet").filter((pl.col("lines") == 1 << 7 | 1 << 33) & (pl.col("bytes") == 5))


@pytest.mark.parametrize(("how", "options"), [("outlived", ()), ("outlived", ("--children",)), ("outlived", ("--mechanism", "read")), ("replaced", ("--children",))])
def test_a_process_is_tracked_until_its_last_thread_ends(cli: Cli, how: str, options: tuple[str, ...]) -> None:
    # Its first thread ends and another goes on, or another replaces the program.
    words = ["track", *options, "--interval", 600, "--out", "t.parquet", "--quiet", "--", compiled(cli, "ends"), how]
    assert "exit code" not in cli(*words)
    assert of_ends(cli).height == 50


@pytest.mark.parametrize("options", [(), ("--children",)])
def test_a_process_is_tracked_whose_first_thread_has_ended(cli: Cli, options: tuple[str, ...]) -> None:
    program = subprocess.Popen([compiled(cli, "ends"), "steps"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    say = steps_of(program)
    (other,) = {folder.name for folder in Path(f"/proc/{program.pid}/task").iterdir()} - {str(program.pid)}
    say("s")
    tracker = subprocess.Popen([COREPLANE, "track", str(program.pid), *options, "--interval", "600", "--out", "t.parquet", "--quiet"], cwd=cli.folder, stdout=subprocess.DEVNULL)
    while "TracerPid:\t0\n" in Path(f"/proc/{program.pid}/task/{other}/status").read_text():
        assert tracker.poll() is None
        time.sleep(0.01)
    time.sleep(0.5)
    say("s")
    program.stdin.close()
    assert program.wait(timeout=60) == 0 and tracker.wait(timeout=60) == 0
    assert of_ends(cli).height == 50


def test_a_process_that_has_ended_is_said_to_have(cli: Cli) -> None:
    program = subprocess.Popen(["true"])
    while not Path(f"/proc/{program.pid}/stat").read_text().split(") ")[1].startswith("Z"):
        time.sleep(0.01)
    assert "it has ended, and its parent has not waited for it yet" in cli.refuses("track", program.pid)
    program.wait()


def test_children_are_tracked_whose_parents_end_at_once(cli: Cli) -> None:
    # Each of eight generations forks and ends; the last one changes pages.
    cli("track", "--children", "--interval", 600, "--out", "t.parquet", "--quiet", "--", compiled(cli, "ends"), "orphan")
    kept = json.loads((cli.folder / "t.json").read_text())["windows"]
    assert len({p["process"] for w in kept for p in w["processes"]}) == 9
    assert of_ends(cli).height == 50


def test_who_is_traced_already_is_refused(cli: Cli) -> None:
    dirty = Dirty(cli, "--interval", 600)
    text = cli.refuses("track", dirty.program.pid)
    assert "no permission" in text
    assert "ptrace_scope" in text
    dirty.stop_tracker()
    dirty.end()


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """A real Redis on a free port of this host: its process and its port."""
    server = shutil.which("redis-server")
    if server is None:
        pytest.skip("redis-server is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port), "--save", "", "--appendonly", "no", "--dir", str(tmp_path)]
    process = subprocess.Popen([server, *options], stdout=subprocess.DEVNULL)
    while subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True).stdout != b"PONG\n":
        assert process.poll() is None
        time.sleep(0.05)
    yield process.pid, port
    process.terminate()
    assert process.wait(timeout=60) == 0


def test_a_real_redis_under_load(cli: Cli, redis: tuple[int, int]) -> None:
    pid, port = redis
    load = ["redis-benchmark", "-p", str(port), "-q", "-d", "300", "-P", "16", "-r", "20000"]
    subprocess.run([*load, "-t", "set", "-n", "100000"], check=True, capture_output=True)
    more = subprocess.Popen([*load, "-t", "set,get", "-n", "300000"], stdout=subprocess.PIPE)
    windows = cli.json("track", "--interval", 0.2, "--windows", 4, pid)
    out, _ = more.communicate(timeout=120)
    assert b"requests per second" in out
    assert len(windows) == 4
    for window in windows:
        assert window["bytes"] <= 64 * window["lines"] <= 4096 * window["pages"] <= (2 << 20) * window["huge_pages"]
    # How many depends on how much of the host the load gets.
    assert sum(w["pages"] for w in windows) > 0 and sum(w["bytes"] for w in windows) > 0
    ping = subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True)
    assert ping.stdout == b"PONG\n"


def test_the_example_measures_real_programs() -> None:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    words = [sys.executable, ROOT / "examples/track/measure.py", "--keys", "2000", "--seconds", "1", "--mib", "16"]
    text = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300).stdout
    rows = {line[:18].strip(): line.split() for line in text.splitlines()}
    for name in ["redis, at random", "redis, in order", "linreg", "histogram"]:
        pages, huge, lines, _ = map(float, text.split(name, 1)[1].split()[:4])
        assert 0 < lines < pages < huge < 1, rows[name]
