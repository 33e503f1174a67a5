"""Work of more than a moment says on a terminal how far it is and how long it still takes, also before its first part ends."""

import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pytest
from conftest import COREPLANE, ROOT, Cli

LONG = "--set workload.operations=10000000"
CAMPAIGN = 'machines = ["asap-rp", "intel"]\nworkloads = ["mix"]\n[vary]\nworkload.operations = [9000000, 10000000]\n'
#: What says how long it still takes, and by which lines.
LEFT = {
    "run": (f"run intel mix {LONG}", rb"ms simulated, [\d.]+ M references/s \d+\w, \d+\w left"),
    "run of pages": ("run dram-swap redis-mem", rb"simulated.* \d+\w, \d+\w left"),
    "compare, before a machine is done": (f"compare mix --on intel,asap-rp {LONG}", rb" 0/2 \d+\w, \d+\w left"),
    "compare of a recording, at the ends of what is open": ("compare trace:long.cpt --on intel,asap-rp,eadr", rb" \d/9 \d+\w, \d+\w left"),
    "sweep, before a run is done": ("sweep c.toml", rb"sweep .* 0/4 \d+\w, \d+\w left"),
    "bands": (f"run intel mix --bands {LONG}", rb"left"),
    "reproduce": ("reproduce nearpm", rb"nearpm .*\d+/\d+ \d+\w, \d+\w left"),
    "crash of a workload": ("crash asap-rp cceh --points 100000", rb"crash points .*\d+/\d+ \d+\w, \d+\w left"),
    "crash of a recording": ("crash intel trace:small.cpt --check 'sleep 0.05; ./kv --check {image} {acknowledged}'", rb"points .*\d+/\d+ \d+\w, \d+\w left"),
    "explore, if nothing new is found and if all that may be is": ("explore asap --epochs 6", rb"\d+ states \d+\w, \d+\w to \d+\w left"),
    "trace convert, reading": ("trace convert --from lackey far.txt far.cpt", rb"reading far.txt \d+\w, \d+\w left"),
    "trace convert, writing": ("trace convert long.cpt long.parquet", rb"writing long.parquet \d+\w, \d+\w left"),
    "record, in the title while the terminal is the program's": ("record --out t.cpt -- ./kv t.pm 1 3000000", rb"\x1b\]2;coreplane records: \d+ s, [\d.]+ MB\x07"),
    "record, once the program has ended": ("record --out r.parquet -- ./kv r.pm 1 30000", rb"(reading the recording|writing r.parquet) \d+\w, \d+\w left"),
    "shared": ("shared shared shared-log --schedules 1000000", rb"schedules \d+/1000000 \d+\w, \d+\w left"),
    "curve": ("curve optane", rb"optane .*\d+/\d+ \d+\w, \d+\w left"),
    "track": ("track --quiet --format json --interval 0.2 --windows 100 -- sleep 60", None),
    "track, so many windows": ("track --format json --interval 0.2 --windows 100 -- sleep 60", rb"windows .*\d+/100 \d+\w, \d+\w left"),
    "track, its lines in a file": ("track --interval 0.2 --windows 100 -- sleep 60", rb"windows .*\d+/100 \d+\w, \d+\w left"),
    "bench": ("bench", rb"bench .*\d+/\d+ \d+\w, \d+\w left"),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a campaign, a program, and recordings of it: one that takes long to read, one that does not."""
    cli = Cli(tmp_path_factory.mktemp("progress"))
    (cli.folder / "c.toml").write_text(CAMPAIGN)
    cli("cc", "-O2", "-pthread", ROOT / "examples/kv/kv.c", "-o", "kv")
    cli("record", "--quiet", "--out", "long.cpt", "--", "./kv", "kv.pm", 1, 30000)
    (cli.folder / "kv.pm").unlink()
    cli("record", "--quiet", "--out", "small.cpt", "--", "./kv", "kv.pm", 1, 40)
    lines = "".join(f" {'LS'[n % 2]} {0x1000_0000 + n * 2654435761 % (1 << 26):x},8\n" for n in range(200_000))
    (cli.folder / "far.txt").write_text(lines * 10)
    return cli.folder


def until(wanted: bytes | None, command: str, folder: Path) -> tuple[bytes, float]:
    """What the command shows on a terminal until that is there, a minute and a half at most, or three seconds for nothing; and how long it took."""
    above, below = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "RAYON_NUM_THREADS": "2"}
    running = subprocess.Popen(f"exec {COREPLANE} {command}", shell=True, stdout=subprocess.DEVNULL, stderr=below, cwd=folder, env=environment)
    os.close(below)
    began = time.monotonic()
    shown, end = b"", began + (90 if wanted else 3)
    while not (wanted and re.search(wanted, shown)) and time.monotonic() < end:
        if select.select([above], [], [], 0.2)[0]:
            try:
                shown += os.read(above, 1 << 16)
            except OSError:
                break
    took = time.monotonic() - began
    running.terminate()
    running.wait()
    os.close(above)
    return shown, took


@pytest.mark.parametrize("what", LEFT)
def test_long_work_says_how_long_it_still_takes(folder: Path, what: str) -> None:
    command, wanted = LEFT[what]
    shown, took = until(wanted, command, folder)
    if wanted is None:
        assert shown == b"", "--quiet says nothing"
    else:
        # On a fast host some of it is done within two seconds, and need not say so.
        assert re.search(wanted, shown) or took < 2, shown[-600:]
