"""A part of a program that Valgrind executes: what is outside of it is left out, files are not."""

import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

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


@pytest.fixture
def loop(binary: Cli) -> Cli:  # noqa: F811
    (binary.folder / "loop.c").write_text(LOOP)
    compile_c(binary, "loop", "-I", ROOT / "capture", source=binary.folder / "loop.c")
    return binary


def recorded(cli: Cli, *options: object) -> dict:
    cli("record", "--quiet", "--out", "t.cpt", *options, "--", "./loop")
    found = cli.json("trace", "info", "t.cpt")
    assert found["differs"] == [] and found["files"][0]["stores"] == 100, "files are recorded whole"
    assert "outside of its region" in found["lacks"]
    return found


def test_the_region_that_a_program_bounds_is_recorded(loop: Cli) -> None:
    found = recorded(loop, "--region")
    assert 200_000 <= found["records"] < 201_000
    assert 500_000 < found["instructions"] < 1_000_000, "those outside take no time"
    assert any(note.startswith("region: ") for note in found["notes"])


def test_a_region_of_instructions_is_recorded(loop: Cli) -> None:
    found = recorded(loop, "--skip", "1M", "--count", "500K")
    assert 400_000 < found["instructions"] <= 510_000
    assert 100_000 < found["records"] < 200_000
    late = recorded(loop, "--skip", "100G")
    assert late["records"] < 1000 and any("never began" in note for note in late["notes"])


def test_windows_say_how_far_they_stand_for_the_rest(loop: Cli) -> None:
    found = recorded(loop, "--every", "500K", "--window", "50K")
    (note,) = [note for note in found["notes"] if "windows" in note]
    said = re.fullmatch(r"(\d+) windows: (\d+) of (\d+) instructions; (\d\.\d{3}) records an instruction, standard error of sampling (\d+\.\d) %", note)
    assert said, note
    windows, inside, all_, rate, error = (float(n) for n in said.groups())
    assert windows >= 10 and inside < all_ / 5
    loop("record", "--quiet", "--route", "valgrind", "--out", "all.cpt", "--", "./loop")
    whole = loop.json("trace", "info", "all.cpt")
    assert abs(rate - whole["records"] / whole["instructions"]) < 0.02, "as the whole program's"
    assert error < 5


def test_options_that_make_no_region_are_refused(loop: Cli) -> None:
    for options in (["--every", "10"], ["--every", "10", "--window", "10"], ["--skip", "x"], ["--count", "0"], ["--region", "--skip", "1"]):
        assert options[0] in loop.refuses("record", *options, "--", "./loop")
    loop("cc", "-O1", loop.folder / "loop.c", "-o", "hooked")
    assert "--route valgrind" in loop.refuses("record", "--region", "--", "./hooked")


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
