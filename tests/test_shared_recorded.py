"""Programs of several processes that share a file: recorded as hosts, and looked through for what lacks."""

import html
import json
import re
from pathlib import Path

import pytest
from conftest import ROOT, Cli
from test_recorder import number_of

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
    said = cli("shared", "shared", "trace:t.cpt", "--out", "o", code=1)
    assert finding["message"] in said
    page = html.unescape((cli.folder / "o/report.html").read_text())
    marked = re.findall(r"<mark>(.*?)</mark>", page)
    assert finding["message"] in page and any("wrong += slot->words[i]" in line for line in marked) and any("slot->words[i] = n * 8 + i;" in line for line in marked)
    code, found = checked(cli, RING)
    assert code == 0 and found["findings"] == [] and found["fence_ns"] > 0
    about = cli.json("trace", "info", "t.cpt")
    assert about["hosts"] == 2 and [Path(f["path"]).name for f in about["files"]] == ["shared.file"]


def test_programs_that_a_shell_starts_are_hosts_of_one_trace(cli: Cli) -> None:
    both = ("sh", "-c", "./program shared.file produce & ./program shared.file consume; wait")
    assert checked(cli, RING, command=both)[1]["findings"] == []
    assert cli.json("trace", "info", "t.cpt")["hosts"] == 2


def test_processes_are_numbered_as_they_were_forked(cli: Cli) -> None:
    cli("cc", "-O1", HOSTS / "siblings.c", "-o", "siblings")
    cli("record", "--quiet", "--host-per-process", "--out", "t.cpt", "--", "./siblings")
    stores = [r for r in cli.json("trace", "head", "t.cpt", "-n", 10_000) if r["kind"] == "store"]
    assert [number_of(r["value"]) for r in sorted(stores, key=lambda r: r["thread"])] == [99, *range(16)]


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
        ("none", "no process loads from or stores to memory that may be shared"),
    ],
)
def test_processes_that_share_nothing_are_refused(cli: Cli, how: str, says: str) -> None:
    cli("cc", "-O1", REFUSED, "-o", "refused")
    said = cli.refuses("record", "--host-per-process", "--out", "t.cpt", "--", "./refused", how)
    assert says in said and not (cli.folder / "t.cpt").exists()
    assert list(cli.folder.glob(".t.cpt*")) == []


def test_a_recording_stays_where_another_cannot_be_made(cli: Cli) -> None:
    (cli.folder / "t.cpt").write_bytes(b"kept")
    assert "recorded nothing" in cli.refuses("record", "--host-per-process", "--out", "t.cpt", "--", "true")
    assert (cli.folder / "t.cpt").read_bytes() == b"kept"


def test_what_cannot_be_checked_is_refused_in_one_line(cli: Cli) -> None:
    cli("cc", "-O1", REFUSED, "-o", "refused")
    cli("record", "--quiet", "--host-per-process", "--out", "five.cpt", "--", "./refused", "five")
    assert "five.cpt: is of 5 hosts, which are more than the machine has; shared.hosts = 4" in cli.refuses("shared", "shared", "trace:five.cpt")
    cli("shared", "shared", "trace:five.cpt", "--set", "shared.hosts=5", code=1)
    cli("record", "--quiet", "--out", "one.cpt", "--", "./refused", "alone-indeed")
    assert "one.cpt: is of one host; record the processes with" in cli.refuses("shared", "shared", "trace:one.cpt")
    for option in ("--schedules", "--seed"):
        assert f"{option}: does nothing on a recording" in cli.refuses("shared", "shared", "trace:five.cpt", "--set", "shared.hosts=5", option, 7)
    assert "intel: is one host" in cli.refuses("shared", "intel", "trace:five.cpt")
    assert "a recording is for coreplane shared" in cli.refuses("run", "shared", "trace:five.cpt")
    assert "--host-per-process is of programs with hooks" in cli.refuses("record", "--host-per-process", "--memory", "pm", "--", "./refused", "five")
    assert "recorded nothing" in cli.refuses("record", "--host-per-process", "--out", "t.cpt", "--", "true")


HOSTS = ROOT / "tests/programs/hosts"
#: Programs of hosts, and of each of their mistakes what is told.
CORPUS: dict[str, dict[int, tuple[str, str]]] = {
    "log.c": {
        1: ("stale-read", "never flushed the line"),
        2: ("publication-before-data", "no fence"),
        3: ("publication-before-data", "flushed"),
        4: ("stale-read", "never invalidated its copy"),
        5: ("stale-read", "never invalidated its copy"),
    },
    "seqlock.cpp": {
        1: ("stale-read", "never flushed the line"),
        2: ("publication-before-data", "no fence"),
        3: ("stale-read", "never invalidated its copy"),
        4: ("stale-read", "never flushed the line"),
    },
    "lock.c": {
        1: ("lock-release-not-flushed", "never flushed the line"),
        2: ("stale-read", "never flushed the line"),
        3: ("stale-read", "never invalidated its copy"),
        4: ("write-write-conflict", "is into a line into which"),
        5: ("publication-before-data", "no fence"),
    },
    "allocator.cpp": {
        1: ("stale-read", "never flushed the line"),
        2: ("stale-read", "never flushed the line"),
        3: ("stale-read", "never invalidated its copy"),
        4: ("write-write-conflict", "is into a line into which"),
        5: ("stale-read", "never flushed the line"),
    },
    "pages.c": {
        1: ("stale-read", "never flushed the line"),
        2: ("stale-read", "never flushed the line"),
        3: ("stale-read", "never invalidated its copy"),
        4: ("write-write-conflict", "had not been written back"),
    },
    "tickets.c": {
        1: ("lock-release-not-flushed", "never flushed the line"),
        2: ("stale-read", "never flushed the line"),
        3: ("stale-read", "never invalidated its copy"),
        4: ("publication-before-data", "no fence"),
    },
    "mailbox.c": {
        1: ("stale-read", "never flushed the line"),
        2: ("unordered-read", "nothing orders the two"),
        3: ("unordered-read", "nothing orders the two"),
    },
    "sequence.c": {
        1: ("stale-read", "never flushed the line"),
        2: ("unordered-read", "nothing orders the two"),
        3: ("unordered-read", "nothing orders the two"),
    },
    "heartbeat.c": {
        1: ("stale-read", "never flushed the line"),
    },
    "pipes.c": {},
    "late.c": {1: ("stale-read", "never flushed the line")},
    "threads.c": {
        1: ("stale-read", "never flushed the line"),
        2: ("stale-read", "never invalidated its copy"),
    },
}


def recorded(cli: Cli, source: Path, *flags: object) -> dict:
    """What is found in one run of a program, compiled with these flags."""
    cli("c++" if source.suffix == ".cpp" else "cc", "-g", "-mclwb", "-mclflushopt", "-pthread", *flags, source, "-o", "program")
    cli.run("record", "--quiet", "--host-per-process", "--out", "t.cpt", "--", "./program")
    return json.loads(cli.run("shared", "shared", "trace:t.cpt", "--format", "json").stdout)


@pytest.mark.parametrize("flag", ["-O1", "-O2", "-O0"])
@pytest.mark.parametrize("name", CORPUS)
def test_nothing_is_found_in_right_programs_of_hosts(cli: Cli, name: str, flag: str) -> None:
    found = recorded(cli, HOSTS / name, flag)
    assert found["findings"] == [] and found["references"] > 100, found


@pytest.mark.parametrize(("name", "bug"), [(name, bug) for name, bugs in CORPUS.items() for bug in bugs])
def test_each_mistake_in_a_program_of_hosts_is_told_with_a_smallest_schedule(cli: Cli, name: str, bug: int) -> None:
    kind, words = CORPUS[name][bug]
    # A recording is one schedule; hosts meet in it where they can, which a machine with much else to do may not let them.
    for _ in range(2):
        found = recorded(cli, HOSTS / name, "-O2" if bug % 2 else "-O1", f"-DBUG={bug}")["findings"]
        told = [f for f in found if f["kind"] == kind and words in f["message"] and f["here"]["line"] > 0 and f["there"]["line"] > 0]
        if told:
            break
    assert told, found
    (first, *_) = told
    assert 0 < first["operations"] == len(first["steps"]) <= 24, first
    hosts = {first["here"]["host"], first["there"]["host"]}
    assert len(hosts) == 2 and {step["host"] for step in first["steps"]} >= hosts, first


def test_what_a_recording_lacks_is_said(cli: Cli) -> None:
    unseen = HOSTS / "unseen.c"
    assert recorded(cli, unseen, "-O1")["findings"] == []
    said = cli("shared", "shared", "trace:t.cpt")
    load = line_of(unseen, "bad += s->data[0] < n")
    assert " got bytes that no recorded store left" in said and load in said, said
    about = cli.json("trace", "info", "t.cpt")
    assert any("what it did after its last fence may not be in it" in note for note in about["notes"]), about
    # All that the killed host told is there.
    assert about["hosts"] == 2


def test_what_one_thread_stores_another_one_of_its_host_sees(cli: Cli) -> None:
    assert recorded(cli, HOSTS / "threads.c", "-O1", "-DBUG=3")["findings"] == []


def test_a_place_in_a_function_of_many_callers_has_that_of_the_call(cli: Cli) -> None:
    pages = HOSTS / "pages.c"
    (store, load) = (line_of(pages, "put_word(&words[i], turn"), line_of(pages, "bad += get_word("))
    found = recorded(cli, pages, "-O1", "--callers", "-DBUG=1")["findings"]
    callers = {f["there"]["called_at"] for f in found}
    assert callers == {store}, found
    assert found[0]["there"]["line"] == int(line_of(pages, "*w = v; }").split(":")[1]) and f"(called at {store})" in found[0]["message"]
    # One place of calls tells nothing.
    assert found[0]["here"]["called_at"] is None and load
    assert recorded(cli, pages, "-O1", "--callers")["findings"] == []


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("anonymous", "one process alone uses shared memory (anonymous memory 1)"),
        ("halves", "the processes share no line of what they map: host 0 bytes 0x0 to 0x40 of"),
    ],
)
def test_memory_of_which_hosts_share_nothing_is_refused(cli: Cli, how: str, says: str) -> None:
    cli("cc", "-O1", REFUSED, "-o", "refused")
    assert says in cli.refuses("record", "--host-per-process", "--out", "t.cpt", "--", "./refused", how)


def test_more_hosts_than_a_machine_can_have_are_refused(cli: Cli) -> None:
    cli("cc", "-O1", REFUSED, "-o", "refused")
    cli("record", "--quiet", "--host-per-process", "--out", "nine.cpt", "--", "./refused", "nine")
    said = cli.refuses("shared", "shared", "trace:nine.cpt", "--set", "shared.hosts=8")
    assert "nine.cpt: is of 9 hosts, which are more than the machine has; shared.hosts = 8 (at most 8)" in said
