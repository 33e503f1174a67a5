"""Half-made files of killed processes go with the next recording in their folder; those of living ones stay."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Cli

PROGRAM = Path(__file__).parent / "programs/persist.c"


def test_what_a_killed_process_left_half_made_goes(cli: Cli) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = {"dead": dead.pid, "locked": dead.pid, "living": os.getpid()}
    files = {what: cli.folder / f".{what}.parquet.{pid}.partial" for what, pid in left.items()}
    others = [cli.folder / name for name in (".partial", f"dead.{dead.pid}.partial", ".x.y.partial")]
    for file in [*files.values(), *others]:
        file.write_text("half")
    with files["locked"].open() as held:
        # As by a process of another host, whose number is not one of this host's.
        fcntl.flock(held, fcntl.LOCK_EX)
        cli("cc", "-O1", "-pthread", PROGRAM, "-o", "persist")
        cli("record", "--quiet", "--out", "p.cpt", "--", "./persist", "p.pm")
    assert not files["dead"].exists()
    assert all(file.exists() for file in [files["locked"], files["living"], *others])
    assert not list(cli.folder.glob(".p.cpt*")), "its own is under its name"


def test_a_run_that_was_half_kept_goes_with_the_next_command(core: Cli) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    (core.folder / "o/runs").mkdir(parents=True)
    half, others = core.folder / f"o/runs/.01.intel.json.{dead.pid}.partial", core.folder / f"o/runs/.01.intel.json.{os.getpid()}.partial"
    half.write_text("half")
    others.write_text("half")
    core("run", "intel", "queue", "--set", "workload.operations=20", "--out", "o")
    assert not half.exists() and others.exists()


def test_the_folder_of_a_killed_crash_test_goes_with_the_next(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = {"dead": f"{dead.pid}-0", "locked": f"{dead.pid}-1", "living": f"{os.getpid()}-0", "new": f"{dead.pid}-2", "others": f"{dead.pid}-2-3"}
    folders = {what: Path("/dev/shm") / f"coreplane-crash-{name}" for what, name in left.items()}
    for what, folder in folders.items():
        (folder / "below").mkdir(parents=True)
        if what != "new":
            os.utime(folder, (0, 0))
    monkeypatch.delenv("TMPDIR", raising=False)
    held = os.open(folders["locked"], os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    cli("cc", "-O1", "-pthread", PROGRAM, "-o", "persist")
    cli("record", "--quiet", "--out", "p.cpt", "--", "./persist", "p.pm")
    cli("crash", "intel", "trace:p.cpt", "--check", "test -f {image}", "--points", "2")
    os.close(held)
    there = {what for what, folder in folders.items() if folder.exists()}
    for folder in folders.values():
        shutil.rmtree(folder, ignore_errors=True)
    assert there == {"locked", "living", "new", "others"}
