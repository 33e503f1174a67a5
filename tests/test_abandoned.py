"""Half-made files of killed processes go with the next recording in their folder; those of living ones stay."""

import fcntl
import os
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


def test_the_folder_of_a_killed_crash_test_goes_with_the_next(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = {"dead": f"coreplane-crash-{dead.pid}-0", "locked": f"coreplane-crash-{dead.pid}-1", "living": f"coreplane-crash-{os.getpid()}-0"}
    folders = {what: cli.folder / name for what, name in left.items()}
    for folder in folders.values():
        (folder / "below").mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(cli.folder))
    held = os.open(folders["locked"], os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    cli("cc", "-O1", "-pthread", PROGRAM, "-o", "persist")
    cli("record", "--quiet", "--out", "p.cpt", "--", "./persist", "p.pm")
    cli("crash", "intel", "trace:p.cpt", "--check", "test -f {image}", "--points", "2")
    os.close(held)
    assert not folders["dead"].exists()
    assert folders["locked"].exists() and folders["living"].exists()
