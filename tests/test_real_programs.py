"""Programs that others wrote, unchanged: what the crash lab says about LMDB and SQLite."""

import json
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, Cli

DRIVERS = ROOT / "tests/programs/real"


def crate(name: str, package: str) -> Path:
    """Where cargo keeps the sources of a package that tests/NAME depends on."""
    command = ["cargo", "metadata", "--format-version", "1", "--manifest-path", ROOT / f"tests/{name}/Cargo.toml"]
    packages = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["packages"]
    return Path(next(p["manifest_path"] for p in packages if p["name"] == package)).parent


def build_lmdb(cli: Cli) -> None:
    source = crate("lmdb", "lmdb-master-sys") / "lmdb/libraries/liblmdb"
    files = [DRIVERS / "lmdb.c", source / "mdb.c", source / "midl.c"]
    cli("cc", "-O1", "-w", "-I", source, *files, "-pthread", "-o", "program")


def build_sqlite(cli: Cli) -> None:
    source = crate("sqlite", "libsqlite3-sys") / "sqlite3"
    flags = ["-O1", "-w", "-DSQLITE_OMIT_LOAD_EXTENSION", "-I", source]
    cli("cc", *flags, DRIVERS / "sqlite.c", source / "sqlite3.c", "-pthread", "-lm", "-o", "program")


def verdict(cli: Cli, machine: str, *mode: str) -> dict:
    for file in cli.folder.glob("f.db*"):
        file.unlink()
    cli("record", "--quiet", "--out", "t.cpt", "--", "./program", "f.db", *mode)
    check = f"{cli.folder}/program --check {{image}} {{acknowledged}}"
    # A check opens a whole database: fewer points and images than the defaults serve.
    bounds = ["--points", 60, "--images", 12, "--every", 200]
    done = cli.run("crash", machine, "trace:t.cpt", "--check", check, *bounds, "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("machine", ["intel", "asap-rp"])
def test_lmdb_keeps_what_it_synced(cli: Cli, machine: str) -> None:
    build_lmdb(cli)
    for mode in ("default", "writemap"):
        found = verdict(cli, machine, mode)
        assert found["clean"], (mode, found)
        assert found["model_images"]["points"] >= 30
    assert not verdict(cli, machine, "nosync")["clean"]


@pytest.mark.parametrize("machine", ["intel", "asap-rp"])
def test_sqlite_keeps_what_it_synced(cli: Cli, machine: str) -> None:
    build_sqlite(cli)
    for journal in ("delete", "wal"):
        found = verdict(cli, machine, journal, "full")
        assert found["clean"], (journal, found)
        assert found["model_images"]["points"] >= 30
        assert not verdict(cli, machine, journal, "off")["clean"], journal
