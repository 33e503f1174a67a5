"""Programs of several processes that share a file: recorded as hosts, and looked through for what lacks."""

import json
from pathlib import Path

import pytest
from conftest import ROOT, Cli

RING = ROOT / "examples/shared/ring.c"
TABLE = ROOT / "tests/programs/shared_table.c"
REFUSED = ROOT / "tests/programs/shared_refused.c"


def line_of(file: Path, text: str) -> str:
    """FILE:LINE of the only line with this text."""
    (line,) = [n for n, line in enumerate(file.read_text().splitlines(), 1) if text in line]
    return f"{file.name}:{line}"


def checked(cli: Cli, source: Path, *flags: str, command: tuple[str, ...] = ("./program", "shared.file")) -> tuple[int, dict]:
    """Compiles, records and checks a program: the exit code and what JSON says."""
    cli("cc", "-g", "-O1", "-mclwb", "-mclflushopt", *flags, source, "-o", "program")
    cli("record", "--quiet", "--host-per-process", "--out", "t.cpt", "--", *command)
    done = cli.run("shared", "shared", "trace:t.cpt", "--format", "json")
    return done.returncode, json.loads(done.stdout)


def test_a_ring_of_two_processes_is_mended(cli: Cli) -> None:
    code, found = checked(cli, RING, "-DBUG")
    (finding,) = found["findings"]
    load, store = line_of(RING, "wrong += slot->words[i]"), line_of(RING, "slot->words[i] = n * 8 + i;")
    assert code == 1 and finding["kind"] == "stale-read", found
    assert [f"{finding[side]['file']}:{finding[side]['line']}" for side in ("here", "there")] == [load, store]
    assert load in finding["message"] and store in finding["message"] and "never flushed the line" in finding["message"]
    said = cli("shared", "shared", "trace:t.cpt", code=1)
    assert finding["message"] in said
    code, found = checked(cli, RING)
    assert code == 0 and found["findings"] == [] and found["fence_ns"] > 0
    about = cli.json("trace", "info", "t.cpt")
    assert about["hosts"] == 2 and [Path(f["path"]).name for f in about["files"]] == ["shared.file"]


def test_programs_that_a_shell_starts_are_hosts_of_one_trace(cli: Cli) -> None:
    both = ("sh", "-c", "./program shared.file produce & ./program shared.file consume; wait")
    assert checked(cli, RING, command=both)[1]["findings"] == []
    assert cli.json("trace", "info", "t.cpt")["hosts"] == 2


def test_a_table_under_a_lock_that_processes_share(cli: Cli) -> None:
    code, found = checked(cli, TABLE, "-pthread")
    assert code == 0 and found["findings"] == [], found
    for bug, store, words in [
        ("-DNO_FLUSH", "t->entries[at] = e;", "never flushed the line"),
        ("-DNO_FENCE", "t->entries[at] = e;", "no fence"),
        ("-DNO_DROP", "t->entries[at] = e;", "never invalidated its copy"),
    ]:
        code, found = checked(cli, TABLE, "-pthread", bug)
        messages = [f["message"] for f in found["findings"]]
        assert code == 1 and any(words in text and line_of(TABLE, store) in text for text in messages), (bug, messages)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("alone", "one process alone uses shared memory"),
        ("apart", "the processes map different files"),
        ("none", "no process loads from or stores to a file that it maps with MAP_SHARED"),
    ],
)
def test_processes_that_share_nothing_are_refused(cli: Cli, how: str, says: str) -> None:
    cli("cc", "-O1", REFUSED, "-o", "refused")
    said = cli.refuses("record", "--host-per-process", "--out", "t.cpt", "--", "./refused", how)
    assert says in said and not (cli.folder / "t.cpt").exists()
    assert list(cli.folder.glob(".t.cpt*")) == []


def test_what_cannot_be_checked_is_refused_in_one_line(cli: Cli) -> None:
    cli("cc", "-O1", REFUSED, "-o", "refused")
    cli("record", "--quiet", "--host-per-process", "--out", "five.cpt", "--", "./refused", "five")
    assert "five.cpt: is of 5 hosts, which are more than the machine has; shared.hosts = 4" in cli.refuses("shared", "shared", "trace:five.cpt")
    cli("shared", "shared", "trace:five.cpt", "--set", "shared.hosts=5", code=1)
    cli("record", "--quiet", "--out", "one.cpt", "--", "./refused", "alone-indeed")
    assert "one.cpt: is of one host; record the processes with" in cli.refuses("shared", "shared", "trace:one.cpt")
    assert "intel: is one host" in cli.refuses("shared", "intel", "trace:five.cpt")
    assert "a recording is for coreplane shared" in cli.refuses("run", "shared", "trace:five.cpt")
    assert "--host-per-process is of programs with hooks" in cli.refuses("record", "--host-per-process", "--memory", "pm", "--", "./refused", "five")
    assert "recorded nothing" in cli.refuses("record", "--host-per-process", "--out", "t.cpt", "--", "true")
