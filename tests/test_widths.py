"""Nothing that a command prints on a terminal is wider than that: every command, on a narrow one."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from conftest import COREPLANE, ROOT, Cli, Core

SHORT = "--set workload.operations=40"
#: As many digits as the whole, in a third of the time.
PAGES = "--set workload.operations=10000000"
BUG = "crash intel trace:bug.cpt --check './bug --check {image} {acknowledged}' --points 200 --images 32"
TRACK = "track --interval 0.1 --windows 2 -- python3 -c 'import time; b = bytearray(1 << 20); time.sleep(1)'"
#: Commands as a user types them, each kind of output once; what ends with 1 has found something.
COMMANDS = [
    *(f"{command} --help" for command in ("", "run", "compare", "diff", "reproduce", "sweep", "show", "bench", "record", "cc", "trace convert", "crash", "shared", "litmus", "explore", "track", "completions", "man", "docs", "curve", "holdup")),
    *(f"show {what}" for what in ("", "machines", "workloads", "parameters", "stats", "protocols", "claims", "deviations")),
    *(f"show {name}" for name in ("asap-rp", "nvdimmc-poc", "amf", "compose-nvdimmc-pm", "optane", "fio", "redis-mem", "persist_buffer", "nvdimm", "llc.misses")),
    f"run asap-rp queue {SHORT}", f"run nvdimmc-poc fio {SHORT}", f"run amf redis-mem {PAGES}", "run intel trace:bug.cpt",
    f"compare queue --on intel,asap-rp,eadr --explain {SHORT}", f"compare queue --on family --explain {SHORT}", f"compare redis-random --on remote-pages,pberry --explain {SHORT}",
    f"compare redis-mem --on unified,amf --explain {PAGES}", "compare trace:bug.cpt --on intel,eadr --explain",
    f"compare queue --on intel,asap-rp --bands {SHORT}",
    "crash intel hashmap --set workload.bug=token-before-data --points 40", "crash nvdimmc-poc fio --points 20 --set nvdimm.battery_uj=0", BUG,
    "curve intel --reads 75 --set workload.operations=100", f"holdup bbb queue {SHORT}", "diff fast slow --all",
    "litmus", "explore list", "explore nearpm --states 500", "explore asap --mutant list", "explore asap --mutant skip-delay",
    "sweep c.toml", "record --out again.cpt -- ./bug again.pm 2 5", "trace info bug.cpt", "trace head bug.cpt", "trace convert bug.cpt bug.parquet", TRACK,
    "completions bash", "man --out pages",
]  # fmt: skip
#: A minute and more each: `reproduce` (tests/test_scoreboard.py runs it) and `bench`.
SLOW = ["reproduce nearpm", "bench"] if os.environ.get("COREPLANE_NIGHTLY") else []
#: Scripts for shells are no lines for people.
NO_LINES = ["completions bash"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a recording of a program that has a bug, a campaign, and two results."""
    cli = Cli(tmp_path_factory.mktemp("widths"))
    cli("cc", "-DBUG", "-O2", "-pthread", ROOT / "examples/kv/kv.c", "-o", "bug")
    cli("record", "--quiet", "--out", "bug.cpt", "--", "./bug", "bug.pm", 1, 200)
    (cli.folder / "c.toml").write_text('machines = ["hops-rp"]\nworkloads = ["queue"]\n[set]\nworkload.operations = 20\n[vary]\nordering.persist_buffer = [2, 16]\n')
    for machine, name in (("intel", "slow"), ("asap-rp", "fast")):
        Core(cli.folder)("run", machine, "queue", *SHORT.split(), "--out", name, "--quiet")
    return cli.folder


def shown(command: str, folder: Path, columns: int) -> tuple[int, list[str]]:
    """The exit code, and the lines on a terminal so wide."""
    above, below = pty.openpty()
    fcntl.ioctl(below, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    running = subprocess.Popen(f"{COREPLANE} {command}", shell=True, cwd=folder, env=env, stdin=below, stdout=below, stderr=below)
    os.close(below)
    text = b""
    while True:
        try:
            part = os.read(above, 1 << 16)
        except OSError:
            break
        text += part
    os.close(above)
    # What is drawn over (progress) stands before the last return of a line; colours are no columns.
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.decode())
    return running.wait(), [line.rstrip("\r").rsplit("\r", 1)[-1] for line in plain.split("\n")]


#: Narrower is harder; a few kinds are looked at in both widths.
BOTH = ("show", "crash", "track")


@pytest.mark.parametrize(("command", "columns"), [(c, n) for n in (60, 80) for c in COMMANDS + SLOW if c not in NO_LINES and (n == 60 or c.startswith(BOTH))])
def test_no_line_is_wider_than_the_terminal(folder: Path, command: str, columns: int) -> None:
    if command.startswith("sweep"):
        command += f" --out s{columns}"
    code, lines = shown(command, folder, columns)
    assert code in (0, 1) and any(lines), lines
    assert command != BUG or code == 1, "a finding is among the lines"
    # A word that is longer than the line, such as a path, stands alone and whole: it can be copied.
    wide = [line for line in lines if len(line) > columns and len(line.split()) > 1]
    assert not wide, max(wide, key=len)


def test_every_command_is_looked_at(cli: Cli) -> None:
    there = set(re.findall(r"^  ([a-z+]+)  ", cli("--help").split("Commands:")[1].split("Options:")[0], re.M))
    looked_at = {word for command in COMMANDS for word in command.split()[:1]}
    assert there - looked_at == {"c++", "help"}
