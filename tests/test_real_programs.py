"""Programs that others wrote, unchanged: what the crash lab says about LMDB, SQLite and libpmemobj's examples."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, Cli, Library, crate

DRIVERS = ROOT / "tests/programs/real"


def build_lmdb(cli: Cli) -> None:
    source = crate("lmdb", "lmdb-master-sys") / "lmdb/libraries/liblmdb"
    files = [DRIVERS / "lmdb.c", source / "mdb.c", source / "midl.c"]
    cli("cc", "-O1", "-w", "-I", source, *files, "-pthread", "-o", "program")


@pytest.fixture
def sqlite(cli: Cli, sqlite_library: Library) -> Path:
    """A program with all of SQLite in it."""
    library, include = sqlite_library
    cli("cc", "-O1", "-w", "-I", include, DRIVERS / "sqlite.c", library, "-pthread", "-lm", "-o", "program")
    return cli.folder / "program"


def verdict(cli: Cli, machine: str, *mode: str) -> dict:
    for file in cli.folder.glob("f.db*"):
        file.unlink()
    env = os.environ | {"PMEM_IS_PMEM_FORCE": "1"}
    recorded = cli.run("record", "--quiet", "--out", "t.cpt", "--", "./program", "f.db", *mode, env=env)
    assert recorded.returncode == 0, recorded.stderr
    check = f"PMEM_IS_PMEM_FORCE=1 {cli.folder}/program --check {{image}} {{acknowledged}}"
    # A check opens a whole database: fewer points and images than the defaults serve.
    bounds = ["--points", 30, "--images", 8, "--every", 200]
    done = cli.run("crash", machine, "trace:t.cpt", "--check", check, *bounds, "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("machine", ["intel", "asap-rp"])
def test_lmdb_keeps_what_it_synced(cli: Cli, machine: str) -> None:
    build_lmdb(cli)
    for mode in ("default", "writemap"):
        found = verdict(cli, machine, mode)
        assert found["clean"], (mode, found)
        assert found["model_images"]["points"] >= 10
    assert not verdict(cli, machine, "nosync")["clean"]


# What differs on another machine differs with the log that is written ahead.
@pytest.mark.parametrize(
    ("machine", "journal", "synchronous"),
    [("intel", "delete", "extra"), ("intel", "wal", "full"), ("asap-rp", "wal", "full")],
)
def test_sqlite_keeps_what_it_synced(cli: Cli, sqlite: Path, machine: str, journal: str, synchronous: str) -> None:
    found = verdict(cli, machine, journal, synchronous)
    assert found["clean"], found
    assert found["model_images"]["points"] >= 10
    assert not verdict(cli, machine, journal, "off")["clean"]


def test_only_extra_makes_the_removal_of_sqlites_journal_durable(cli: Cli, sqlite: Path) -> None:
    """The removal is what commits; SQLite documents it so."""
    found = verdict(cli, "intel", "delete", "full")
    assert any("f.db-journal" in f["why"] for f in found["model_images"]["failures"])


EXAMPLES = Path("/usr/share/doc/libpmemobj-dev/examples")
TABLES = {
    # Where the example is, what stands before an undo record without which a power failure breaks the table, and that.
    "btree": (EXAMPLES / "tree_map/btree_map.c", "node_item item)\n{\n", "\tTX_ADD(node);\n", "-DBTREE"),
    "hashmap": (
        EXAMPLES / "hashmap/hashmap_tx.c",
        "",
        "\t\tTX_ADD_FIELD(D_RO(hashmap)->buckets, bucket[h]);\n",
        "-DHASHMAP",
    ),
}


@pytest.mark.skipif(not EXAMPLES.exists(), reason="libpmemobj-dev is not installed")
@pytest.mark.parametrize("mutant", [False, True], ids=["as shipped", "an undo record less"])
@pytest.mark.parametrize("name", TABLES)
def test_tables_of_the_installed_libpmemobj(cli: Cli, name: str, mutant: bool) -> None:
    source, before, line, define = TABLES[name]
    text = source.read_text()
    assert before + line in text
    (cli.folder / "table.c").write_text(text.replace(before + line, before, 1) if mutant else text)
    files = [DRIVERS / "tables.c", "table.c"]
    cli("cc", "-O1", "-w", define, "-I", source.parent, "-I", EXAMPLES, *files, "-o", "program", "-lpmemobj")
    found = verdict(cli, "intel")
    assert found["clean"] != mutant, found
