"""A part of a program: what is outside of it is left out, files are not; by hooks and while Valgrind executes the program."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

import coreplane as cp
from conftest import COREPLANE, ROOT, Cli
from test_binaries import binary, compile_c, tool  # noqa: F401

#: A thousand rounds of a thousand loads and stores, of which a hundred are the region; a byte of a file for each ten.
LOOP = """
#include "coreplane.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile long memory[1000];
int main(void) {
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    if (ftruncate(fd, 4096)) return 1;
    volatile char *file = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int round = 0; round < 1000; round++) {
        if (round == 500) coreplane_roi_begin();
        if (round == 600) coreplane_roi_end();
        for (int i = 0; i < 1000; i++) memory[i] += i;
        if (round % 10 == 0) file[round] = 7;
    }
    return 0;
}
"""


@pytest.fixture(params=["hooks", "valgrind"])
def loop(cli: Cli, request: pytest.FixtureRequest) -> Cli:
    (cli.folder / "loop.c").write_text(LOOP)
    if request.param == "hooks":
        cli("cc", "-O1", "loop.c", "-o", "loop")
        return cli
    binary = request.getfixturevalue("binary")
    compile_c(binary, "loop", "-I", ROOT / "capture", source=binary.folder / "loop.c")
    return binary


def is_by_hooks(cli: Cli) -> bool:
    return b"coreplane_object" in (cli.folder / "loop").read_bytes()


def remade(loop: Cli, source: str) -> None:
    """Another program, by the same route."""
    by_hooks = is_by_hooks(loop)
    (loop.folder / "loop.c").write_text(source)
    if by_hooks:
        loop("cc", "-O1", "loop.c", "-o", "loop")
    else:
        compile_c(loop, "loop", "-I", ROOT / "capture", source=loop.folder / "loop.c")


def recorded(cli: Cli, *options: object) -> dict:
    cli("record", "--quiet", "--out", "t.cpt", *options, "--", "./loop")
    found = cli.json("trace", "info", "t.cpt")
    assert found["differs"] == [] and found["files"][0]["stores"] == 100, "files are recorded whole"
    assert "outside of its region" in found["lacks"]
    return found


def test_the_region_that_a_program_bounds_is_recorded(loop: Cli) -> None:
    found = recorded(loop, "--region")
    assert 200_000 <= found["records"] < 201_000
    assert 300_000 < found["instructions"] < 1_000_000, "those outside take no time"
    assert any(note.startswith("region: ") for note in found["notes"])
    assert found["kinds"]["region"] == 2


def test_a_warm_up_is_simulated_and_not_counted(loop: Cli) -> None:
    remade(loop, LOOP.replace("if (round == 500) ", "if (round == 400) coreplane_roi_warm_up(); if (round == 500) "))
    warm = recorded(loop, "--region")
    assert 400_000 <= warm["records"] < 401_000 and warm["kinds"]["region"] == 2
    loop("trace", "convert", "--quiet", "t.cpt", "warm.cpt")
    (loop.folder / "loop.c").write_text(LOOP)
    told = loop.json("run", "intel", "trace:warm.cpt", "--no-bands", "--quiet")
    assert told["references"] < 401_000, "what comes after the region is not simulated"
    assert 200_000 <= told["stats"]["cpu.references"] < 200_200, "only the region is counted"


def inside(found: dict) -> int:
    """Instructions of a region or of windows, as the recorder counted them."""
    return next(int(said[1]) for note in found["notes"] if (said := re.search(r": (\d+) of \d+ instructions", note)))


#: Computes for long between few accesses.
COMPUTES = """
#include "coreplane.h"
static volatile long kept[8];
static long worked(long y, int times) {
    for (int i = 0; i < times; i++) y = y * 25214903917 + 11;
    return y;
}
int main(int n, char **words) {
    long y = n;
    for (int i = 0; i < 2000; i++) kept[i % 8] = y = worked(y, 50);
    coreplane_roi_begin();
    kept[0] = worked(y, 100000);
    y = worked(y + 1, 100000);
    coreplane_roi_end();
    kept[1] = worked(y, 100000);
    return 0;
}
"""


def test_what_is_computed_up_to_the_end_of_a_region_is_of_it(loop: Cli) -> None:
    remade(loop, COMPUTES)
    loop("record", "--quiet", "--region", "--out", "t.cpt", "--", "./loop")
    found = loop.json("trace", "info", "t.cpt")
    assert 600_000 < inside(found) < 1_100_000
    assert abs(found["instructions"] - inside(found)) < 100


def test_what_is_computed_in_windows_and_nothing_else_is_of_them(loop: Cli) -> None:
    remade(loop, COMPUTES)
    loop("record", "--quiet", "--every", "2K", "--window", "500", "--out", "t.cpt", "--", "./loop")
    found = loop.json("trace", "info", "t.cpt")
    assert inside(found) > 100_000 and found["instructions"] == pytest.approx(inside(found), rel=0.02)


def test_a_region_of_instructions_is_recorded(loop: Cli) -> None:
    found = recorded(loop, "--skip", "1M", "--count", "500K")
    assert 400_000 < found["instructions"] <= 510_000
    assert 100_000 < found["records"] < 260_000
    warm = recorded(loop, "--skip", "1M", "--count", "500K", "--warm-up", "500K")
    assert 850_000 < warm["instructions"] <= 1_020_000 and warm["kinds"]["region"] == 2
    late = recorded(loop, "--skip", "100G")
    assert late["records"] < 1000 and any("never began" in note for note in late["notes"])


def test_a_region_that_never_began_is_no_program(loop: Cli) -> None:
    done = loop.run("record", "--quiet", "--skip", "100G", "--out", "late.cpt", "--", "./loop")
    assert done.returncode == 0 and "warning: the region never began" in done.stderr
    says = loop.refuses("run", "intel", "trace:late.cpt")
    assert says.startswith("coreplane: trace:late.cpt: the region never began") and "shorter --skip" in says
    assert loop.refuses("compare", "trace:late.cpt", "--on", "intel,eadr") == says
    (loop.folder / "c.toml").write_text("machines = 'intel'\nworkloads = 'trace:late.cpt'\n")
    assert "the region never began" in loop.refuses("sweep", "c.toml", "--out", "swept")


def test_a_region_of_instructions_is_recorded_from_python(loop: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(loop.folder)
    by_hand = recorded(loop, "--skip", "1M", "--count", "500K", "--warm-up", "500K")
    trace = cp.record([loop.folder / "loop"], out=loop.folder / "py.cpt", skip="1M", count=500_000, warm_up="500K")
    assert trace.summary["kinds"]["region"] == 2
    assert trace.summary["instructions"] == pytest.approx(by_hand["instructions"], rel=0.01)
    with pytest.raises(cp.ConfigError, match="^skip x: give instructions"):
        cp.record([loop.folder / "loop"], out=loop.folder / "py.cpt", skip="x")


def test_windows_say_how_far_they_stand_for_the_rest(loop: Cli) -> None:
    found = recorded(loop, "--every", "500K", "--window", "50K")
    (note,) = [note for note in found["notes"] if "windows" in note]
    said = re.fullmatch(r"(\d+) windows: (\d+) of (\d+) instructions; (\d\.\d{3}) records an instruction, standard error of sampling (\d+\.\d) %", note)
    assert said, note
    windows, inside, all_, rate, error = (float(n) for n in said.groups())
    assert windows >= 5 and inside < all_ / 5
    loop("record", "--quiet", "--out", "all.cpt", "--", "./loop")
    whole = loop.json("trace", "info", "all.cpt")
    assert abs(rate - whole["records"] / whole["instructions"]) < 0.02, "as the whole program's"
    assert error < 5


def test_windows_alone_are_counted_and_what_comes_before_each_warms_up(loop: Cli) -> None:
    windows = ["--every", "500K", "--window", "50K"]
    cold = recorded(loop, *windows)
    told = loop.json("run", "intel", "trace:t.cpt", "--no-bands", "--quiet")
    warm = recorded(loop, *windows, "--warm-up", "100K")
    assert cold["kinds"]["region"] == warm["kinds"]["region"] >= 10
    assert warm["records"] > 2.5 * cold["records"], "three times as many instructions"
    warmed = loop.json("run", "intel", "trace:t.cpt", "--no-bands", "--quiet")
    for run in (told, warmed):
        assert run["stats"]["sampling.windows"] == cold["kinds"]["region"] // 2
        assert run["stats"]["cpu.references"] < 1.1 * cold["records"], "what is outside of windows is not counted"
    assert warmed["stats"]["cpu.references"] == pytest.approx(told["stats"]["cpu.references"], rel=0.05)
    for stats, time in ((told["stats"], told["time_ns"]), (warmed["stats"], warmed["time_ns"])):
        # One more may be open when the program ends.
        ended = stats["sampling.windows"] * stats["sampling.window_time"]
        assert ended * (1 - 1e-6) <= time <= ended + stats["sampling.window_time"]


#: Rounds until there is a file: a signal comes meanwhile.
ENDLESS = """
#include <stdio.h>
#include <unistd.h>
static volatile long memory[1000];
int main(void) {
    for (int round = 0; access("stop", F_OK); round++) {
        for (int i = 0; i < 1000; i++) memory[i] += i;
        if (round == 2) puts("ready"), fflush(stdout);
        usleep(1000);
    }
    return 0;
}
"""


@pytest.mark.parametrize("route", ["hooks", "valgrind"])
def test_signals_bound_a_region(cli: Cli, route: str, request: pytest.FixtureRequest) -> None:
    (cli.folder / "endless.c").write_text(ENDLESS)
    if route == "hooks":
        cli("cc", "-O1", "endless.c", "-o", "endless")
    else:
        request.getfixturevalue("binary")
        compile_c(cli, "endless", source=cli.folder / "endless.c")
    command = [COREPLANE, "record", "--quiet", "--region-signal", "--out", "t.cpt", "--", "./endless"]
    with subprocess.Popen(command, cwd=cli.folder, stdout=subprocess.PIPE) as running:
        assert running.stdout and running.stdout.readline() == b"ready\n"
        for _ in range(2):
            running.send_signal(signal.SIGUSR2)
            time.sleep(0.2)
        (cli.folder / "stop").touch()
    found = cli.json("trace", "info", "t.cpt")
    assert running.returncode == 0 and found["kinds"]["region"] == 2
    assert any(note.startswith("region: ") for note in found["notes"]) and found["kinds"]["store"] > 2000


def test_options_that_make_no_region_are_refused(loop: Cli) -> None:
    for options in (["--every", "10"], ["--every", "10", "--window", "10"], ["--skip", "x"], ["--count", "0"], ["--region", "--skip", "1"]):
        assert options[0] in loop.refuses("record", *options, "--", "./loop")
    for options in (["--warm-up", "5"], ["--warm-up", "8", "--every", "9", "--window", "2"], ["--region-signal", "--skip", "1"]):
        assert options[0] in loop.refuses("record", *options, "--", "./loop")


@pytest.mark.skipif(not shutil.which("memcached"), reason="memcached is not installed (Debian: apt install memcached)")
def test_the_distributions_memcached_is_recorded_while_a_client_works(binary: Cli) -> None:  # noqa: F811
    # Valgrind keeps twelve descriptors, and the server wants to set as many as there may be.
    server = ["memcached", "-s", "s", "-t", "2", "-c", "1024", "-m", "2", "-A", *(["-u", "root"] if os.getuid() == 0 else [])]
    command = ["prlimit", "--nofile=1036:1036", COREPLANE, "record", "--quiet", "--memory", "all", "--out", "t.cpt", "--", *server]
    with subprocess.Popen(command, cwd=binary.folder) as running, socket.socket(socket.AF_UNIX) as client:
        _connect(client, binary.folder / "s", running)
        for key in range(20):
            assert _ask(client, b"set k%d 0 0 5\r\nvalue\r\n" % key) == b"STORED\r\n"
        assert _ask(client, b"get k7\r\n") == b"VALUE k7 0 5\r\nvalue\r\nEND\r\n"
        client.sendall(b"shutdown\r\n")
    assert running.returncode == 0
    found = binary.json("trace", "info", "t.cpt")
    assert len(found["threads"]) >= 3 and found["kinds"]["rmw"] > 0 and found["kinds"]["store"] > 100_000


def _connect(client: socket.socket, path: Path, running: subprocess.Popen) -> None:
    where = os.path.relpath(path)
    while True:
        try:
            return client.connect(min(str(path), where, key=len))
        except OSError:
            assert running.poll() is None
            time.sleep(0.05)


def _ask(client: socket.socket, words: bytes) -> bytes:
    client.sendall(words)
    answer = b""
    while not answer.endswith((b"STORED\r\n", b"END\r\n")):
        answer += client.recv(4096)
    return answer
