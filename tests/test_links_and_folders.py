"""What programs do to names of all kinds, recorded by hooks and by Valgrind, and the folder that a check gets of it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, Cli
from test_binaries import binary, compile_c, tool  # noqa: F401 (fixtures)

CODES = {"clean": 0, "loses": 1}

#: Does by the word of its first argument what a test is about. A second argument leaves out a sync.
PROGRAM = r"""
#define _GNU_SOURCE
#include <coreplane.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
static int put(const char *name, int sync) {
    int fd = open(name, O_RDWR | O_CREAT, 0644);
    return write(fd, "contents", 8) != 8 || (sync && fsync(fd));
}
static int folder(const char *name) { return fsync(open(name, O_RDONLY | O_DIRECTORY)); }
int main(int count, char **words) {
    const char *word = words[1];
    int sync = count < 3;
    if (!strcmp(word, "name")) return put("caf\xe9.db", sync) || folder(".");
    if (!strcmp(word, "lines")) return put("two\nlines.new", sync) || rename("two\nlines.new", "two\nlines") || folder(".");
    if (!strcmp(word, "deep")) {
        char name[241] = {0};
        memset(name, 'x', 240);
        for (int n = 0; n < 18; n++)
            if (mkdir(name, 0755) || chdir(name)) return 1;
        return put("data", sync) || rename("data", "file") || folder(".");
    }
    if (!strcmp(word, "saved")) {
        if (mkdir("d", 0755) || folder(".") || put("d/new", 1) || folder("d") || rename("d/new", "d/data") || folder(sync ? "d" : ".")) return 1;
        coreplane_mark_here(1);
        return 0;
    }
    if (!strcmp(word, "own") || !strcmp(word, "memory")) {
        int fd = open("data", O_RDWR | O_CREAT, 0644);
        if (ftruncate(fd, 4096)) return 1;
        char text[] = "contents", *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        struct iovec from = {text, 8}, to = {page, 8};
        if (*word == 'm' && pwrite(open("/proc/self/mem", O_RDWR), text, 8, (off_t)page) != 8) return 1;
        if (*word == 'o' && process_vm_writev(getpid(), &from, 1, &to, 1, 0) != 8) return 1;
        return (sync && msync(page, 4096, MS_SYNC)) || folder(".");
    }
    if (!strcmp(word, "async")) {
        int fd = open("data", O_RDWR | O_CREAT, 0644);
        if (ftruncate(fd, 4096)) return 1;
        volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        page[0] = 1;
        return msync((void *)page, 4096, MS_ASYNC);
    }
    if (!strcmp(word, "lock")) {
        if (symlink("127.0.0.1:+77", "lock") || put("data", sync) || folder(".")) return 1;
        return unlink("lock");
    }
    if (!strcmp(word, "swap")) {
        if (put("1", sync) || put("2", sync) || symlink("1", "one") || symlink("2", "two") || folder(".")) return 1;
        return renameat2(AT_FDCWD, "one", AT_FDCWD, "two", RENAME_EXCHANGE) || folder(".");
    }
    if (!strcmp(word, "mail")) {
        if (mkdir("M", 0755) || mkdir("M/new", 0755) || mkdir("M/cur", 0755) || put("top", 1)) return 1;
        return put("M/new/1", 1) || folder("M/new");
    }
    if (!strcmp(word, "spool")) {
        if (put("tmp/1", sync) || rename("tmp/1", "new/1") || folder("new") || folder("tmp")) return 1;
        return put("tmp/2", 1) || folder("tmp");
    }
    if (!strcmp(word, "twice")) {
        if (mkdir("a", 0755) || mkdir("b", 0755)) return 1;
        return put("a/x", sync) || put("b/x", sync) || put("y", sync);
    }
    if (!strcmp(word, "marker")) {
        if (put("data", sync) || folder(".") || close(open("done", O_RDWR | O_CREAT, 0644))) return 1;
        return folder(".");
    }
    if (!strcmp(word, "moved")) {
        if (put("adm/tmp", sync) || rename("adm/tmp", "adm/data") || symlink("2", "alt/tmp")) return 1;
        return rename("alt/tmp", "alt/cur");
    }
    if (!strcmp(word, "late")) return rename("x", "y") || put("y/old", 1) || folder(".");
    if (!strcmp(word, "read")) {
        volatile char *zone = mmap(NULL, 4096, PROT_READ, MAP_SHARED, open("/usr/share/zoneinfo/UTC", O_RDONLY), 0);
        return zone[0] != 'T' || put("data", sync) || folder(".");
    }
    if (!strcmp(word, "splice")) {
        int ends[2], fd = open("data", O_RDWR | O_CREAT, 0644);
        loff_t at = 4096;
        if (pwrite(fd, "before", 6, 8000) != 6 || pipe(ends) || write(ends[1], "contents", 8) != 8) return 1;
        return splice(ends[0], NULL, fd, &at, 8, 0) != 8 || fsync(fd);
    }
    /* Ends by a signal when it has written more than a block. */
    int fd = open("data", O_RDWR | O_CREAT, 0644);
    for (int n = 0; n < 30000; n++)
        if (pwrite(fd, &n, sizeof n, n % 1000 * 8) != sizeof n) return 1;
    return kill(getpid(), strcmp(word, "abort") ? SIGKILL : SIGABRT);
}
"""


@pytest.fixture(scope="module", params=["hooks", "valgrind"])
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, compiled once for each of the two ways."""
    built = Cli(tmp_path_factory.mktemp(request.param))
    (built.folder / "p.c").write_text(PROGRAM)
    if request.param == "hooks":
        built("cc", "-O1", "-g", "p.c", "-o", "p")
    else:
        request.getfixturevalue("tool")
        compile_c(built, "p", "-g", "-I", ROOT / "capture", source=built.folder / "p.c")
    return built.folder / "p"


@pytest.fixture
def program(compiled: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A folder for the program's files alone: its recording lies above."""
    if compiled.parent.name.startswith("valgrind"):
        monkeypatch.setenv("COREPLANE_VALGRIND", str(request.getfixturevalue("tool")))
    monkeypatch.setenv("PROGRAM", str(compiled))
    (tmp_path / "w").mkdir()
    return Cli(tmp_path / "w")


def record(cli: Cli, *words: str) -> str:
    """What the program finds is not of an earlier run."""
    for path in cli.folder.glob("*"):
        if path.is_file() or path.is_symlink():
            path.unlink()
    return cli.run("record", "--out", "../t.cpt", "--", os.environ["PROGRAM"], *words).stderr


def crash(cli: Cli, check: str, *options: object) -> subprocess.CompletedProcess[str]:
    return cli.run("crash", "intel", "trace:../t.cpt", "--points", 20, "--images", 8, "--check", check, *options)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("symlink", "clean"), ("symlink_no_fsync", "loses"),
        ("folder_renamed", "clean"), ("folder_renamed_no_fsync", "loses"),
        ("syncfs", "clean"), ("syncfs_elsewhere", "loses"),
    ],
)
def test_valgrind_sees_names_as_hooks_do(binary: Cli, name: str, verdict: str) -> None:  # noqa: F811
    compile_c(binary, name, "-g", "-I", ROOT / "capture", source=ROOT / f"tests/truth/{name}.c")
    binary("record", "--quiet", "--memory", "pm", "--out", "t.cpt", "--", f"./{name}", "f.pm")
    check = f"{binary.folder}/{name} --check {{folder}}/f.pm {{acknowledged}}"
    done = binary.run("crash", "intel", "trace:t.cpt", "--model", "px86", "--points", 30, "--check", check)
    assert done.returncode == CODES[verdict], done.stdout + done.stderr


def test_a_link_that_was_replaced_is_there_where_its_replacing_is_lost(program: Cli) -> None:
    for folder in ("adm", "alt"):
        (program.folder / folder).mkdir()
    (program.folder / "adm/data").write_text("old")
    (program.folder / "alt/cur").symlink_to("1")
    (program.folder / "alt/1").write_text("found")
    record(program, "moved")
    done = crash(program, "readlink {folder}/alt/cur && test -s {folder}/adm/data", "--beside", ".")
    assert done.returncode == 0, done.stdout + done.stderr
    done = crash(program, "readlink {folder}/alt/cur | grep -q 2", "--beside", ".")
    assert done.returncode == 1, "nothing synced the new one's name"


def test_a_name_that_is_not_utf8_is_kept(program: Cli) -> None:
    assert "told as" in (said := record(program, "name")) and "caf\\xe9.db" in said
    found = program.json("trace", "info", "../t.cpt")
    assert [f["path"] for f in found["files"]] == [f"{program.folder}/caf\\xe9.db"] and found["differs"] == []
    whole = 'test ! -s "$(printf "%s/caf\\351.db" {folder})" || grep -q contents {image}'
    assert crash(program, whole).returncode == 0
    record(program, "name", "without a sync")
    assert crash(program, "test ! -e {image} || grep -q contents {image}").returncode == 1


def test_a_line_break_in_a_name_is_kept(program: Cli) -> None:
    record(program, "lines")
    found = program.json("trace", "info", "../t.cpt")
    assert [f["path"] for f in found["files"]] == [f"{program.folder}/two\\nlines.new"] and found["differs"] == []
    whole = 'name="$(printf "two\\nlines")"; test ! -e {folder}/"$name" || grep -q contents {folder}/"$name"'
    assert (done := crash(program, whole)).returncode == 0, done.stderr
    for image in ("{image}", '"{image}"', "'{image}'"):
        there = f"test ! -e {image} || grep -q contents {image}"
        assert (done := crash(program, there)).returncode == 0 and "no run of the check" not in done.stdout, done.stdout
    record(program, "lines", "without a sync")
    assert crash(program, whole).returncode == 1


def test_the_sync_of_a_wrong_folder_is_told(program: Cli) -> None:
    for wrong in ([], ["the wrong folder"]):
        shutil.rmtree(program.folder / "d", ignore_errors=True)
        record(program, "saved", *wrong)
        done = crash(program, "test ! -e {folder}/data || grep -q contents {folder}/data")
        assert done.returncode == 0 and ("its folder not synced" in done.stdout) == bool(wrong), done.stdout + done.stderr


def test_a_path_that_the_kernel_does_not_tell_is_not_judged(program: Cli) -> None:
    record(program, "deep", "without a sync")
    done = crash(program, "true")
    assert done.returncode == 2 and "a path of more than 4095 bytes" in done.stderr and "p.c:" in done.stderr


def test_what_a_program_writes_to_its_own_memory_is_told(program: Cli, compiled: Path) -> None:
    whole = "test ! -s {folder}/data || grep -q contents {folder}/data"
    record(program, "memory", "without a sync")
    assert (done := crash(program, whole)).returncode == 2, done.stdout
    record(program, "own", "without a sync")
    done = crash(program, whole)
    if compiled.parent.name.startswith("valgrind"):
        assert done.returncode == 1, done.stderr
    else:
        assert "explains no store to a file or to persistent memory" in done.stderr and "by code that has no hooks, found at the end" in done.stderr
        assert "--accept-unseen" in done.stderr and "mapped no file" not in done.stderr


def test_files_of_one_name_are_told_apart(program: Cli) -> None:
    record(program, "twice")
    assert crash(program, "true", "--file", "x").stderr.endswith("--file x: several have that name: a/x, b/x\n")
    # As the program's user calls it, from another folder.
    for name in ("w/a/x", "../w/a/x", "./a/x", program.folder / "a/x"):
        assert "file a/x, beside" in (done := crash(program, "true {image}", "--file", name)).stdout, done.stderr
    for name in ("v/a/x", "/a/x", ".", ""):
        assert f"--file {name}: the recording has a/x, b/x, y" in crash(program, "true", "--file", name).stderr


def test_a_sync_that_only_begins_is_told_to_make_nothing_durable(program: Cli) -> None:
    record(program, "async")
    done = crash(program, "true {image}")
    assert done.returncode == 2 and "Its msync with MS_ASYNC (1 times) makes nothing durable" in done.stderr


def test_a_lock_that_is_a_link_is_no_matter(program: Cli) -> None:
    record(program, "lock")
    check = "test ! -e {folder}/data || grep -q contents {folder}/data"
    assert (done := crash(program, check)).returncode == 0, done.stderr
    assert "not modelled" not in done.stdout


def test_links_that_exchange_their_names_are_not_judged(program: Cli) -> None:
    for words in ((), ("without a sync",)):
        record(program, "swap", *words)
        done = crash(program, "grep -q contents {folder}/one")
        assert done.returncode == 2 and "two files exchanged their names" in done.stderr


def test_a_file_with_nothing_in_it_is_there(program: Cli) -> None:
    check = "test ! -e {folder}/done || grep -q contents {image}"
    record(program, "marker")
    assert (done := crash(program, f"{check}; {check}")).returncode == 0, done.stderr
    record(program, "marker", "without a sync")
    assert crash(program, check).returncode == 1


def test_empty_folders_come_with_beside_and_are_named_without(program: Cli) -> None:
    record(program, "mail")
    check = "test ! -e {folder}/M/new/1 || test -d {folder}/M/cur"
    said = crash(program, check).stderr
    assert f"{{folder}} stands for {program.folder}: the files were M/new/1, top there" in said
    assert f"{program.folder}/M/cur, which the program made" in said and f"--beside {program.folder}" in said
    assert (done := crash(program, check, "--beside", program.folder)).returncode == 0, done.stderr
    assert "without --beside for" not in done.stdout
    # A copy that lies elsewhere keeps its path, and the folder is that of both.
    shutil.copytree(program.folder, program.folder.parent / "copy")
    done = crash(program, "test -d {folder}/copy/M/cur", "--beside", "../copy")
    assert f"{{folder}} stands for {program.folder.parent}, and without --beside for {program.folder}" in done.stdout
    # What is asked for is beside the recorded files, wherever a copy is.
    said = crash(program, "false {folder}", "--beside", "../copy").stderr
    assert f"as {program.folder}/M/cur, which the program made, are in no image: with --beside {program.folder} they" in said, said


def test_folders_that_a_program_found_are_there_whatever_is_lost(program: Cli) -> None:
    for name in ("tmp", "new"):
        (program.folder / name).mkdir()
    record(program, "spool")
    whole = "(test ! -e {folder}/new/1 || grep -q contents {folder}/new/1) && touch {folder}/tmp/next {folder}/new/next"
    assert (done := crash(program, whole)).returncode == 0, done.stdout + done.stderr
    for path in program.folder.glob("*/*"):
        path.unlink()
    record(program, "spool", "without a sync")
    assert crash(program, whole).returncode == 1


def test_what_was_in_a_folder_before_that_was_renamed_is_not_judged(program: Cli) -> None:
    (program.folder / "x").mkdir()
    (program.folder / "x/old").write_text("contents of old")
    record(program, "late")
    done = crash(program, "test -e {folder}/old")
    assert done.returncode == 2 and "a folder was renamed before this file in it was recorded" in done.stderr


def test_files_that_are_only_read_do_not_move_the_folder(program: Cli) -> None:
    record(program, "read")
    holds = "test ! -e {folder}/data || grep -q contents {folder}/data"
    assert (done := crash(program, holds)).returncode == 0 and "UTC" not in done.stdout, done.stderr
    record(program, "read", "without a sync")
    assert crash(program, holds).returncode == 1


def test_a_check_that_opens_nothing_is_told(program: Cli) -> None:
    record(program, "read")
    told = "no run of the check opened a file of the recording"
    said = crash(program, "cat {folder}/elsewhere 2>/dev/null; true").stdout
    assert told in said and f"{{folder}} stands for {program.folder}: the files were " in said
    assert told not in crash(program, "cat {image} 2>/dev/null; true").stdout


def test_splice_says_where_it_wrote(program: Cli) -> None:
    record(program, "splice")
    assert "(8 bytes of data from 0x1000 on)" in crash(program, "true {image}").stderr


@pytest.mark.parametrize("how", ["abort", "kill"])
def test_what_a_program_left_that_was_ended_has_its_places(program: Cli, how: str) -> None:
    record(program, how)
    program("trace", "convert", "--salvage", "../t.recording", "../s.cpt")
    assert program.json("trace", "info", "../s.cpt")["locations"] > 0
