"""A recording of each process that a program starts, by fork and by exec, on both routes."""

import json
from pathlib import Path

import pytest

from conftest import ROOT, Cli
from test_binaries import binary, compile_c, tool  # noqa: F401

#: Stores to a file, then forks: each of two children stores a hundred words to a file of its own, and one of them to the parent's.
FORKS = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long *file(const char *name) {
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    if (ftruncate(fd, 4096)) _exit(3);
    return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
int main(int argc, char **argv) {
    volatile long *own = file("parent.pm");
    for (int i = 0; i < 50; i++) own[i] = i;
    for (int child = 0; child < 2; child++) {
        if (fork()) continue;
        char name[20];
        snprintf(name, sizeof name, "child%d.pm", child);
        volatile long *words = file(name);
        for (int i = 0; i < 100; i++) words[i] = child + i;
        if (child == 1) own[60] = 7;
        return 0;
    }
    while (wait(NULL) > 0) {}
    own[51] = 1;
    return 0;
}
"""


@pytest.fixture(params=["hooks", "valgrind"])
def forks(cli: Cli, request: pytest.FixtureRequest) -> Cli:
    (cli.folder / "forks.c").write_text(FORKS)
    if request.param == "hooks":
        cli("cc", "-O1", "-g", "forks.c", "-o", "forks")
    else:
        request.getfixturevalue("binary")
        compile_c(cli, "forks", "-g", source=cli.folder / "forks.c")
    return cli


def record(cli: Cli, *command: object, route: str = "auto") -> list[dict]:
    done = cli("record", "--quiet", "--format", "json", "--route", route, "--trace-per-process", "--out", "t.cpt", "--", *command)
    told = json.loads(done)
    assert told["exit_code"] == 0
    return told["processes"]


def stores(process: dict, name: str) -> int:
    return next((f["stores"] for f in process["summary"]["files"] if f["path"].endswith(name)), 0)


def test_each_process_of_a_fork_has_its_recording(forks: Cli) -> None:
    parent, *children = record(forks, "./forks")
    assert [Path(p["trace"]).name for p in (parent, *children)] == ["t.1-forks.cpt", "t.2-forks.cpt", "t.3-forks.cpt"]
    assert stores(parent, "parent.pm") == 51
    for number, child in enumerate(children):
        assert stores(child, f"child{number}.pm") == 100 and stores(child, "parent.pm") == number
        assert child["summary"]["differs"] == []
        # What another process stored to the file that both have mapped, hooks find as stores of code that has none.
        assert all("parent.pm" in unseen["text"] for unseen in child["summary"]["unseen"])
        # The file that several use is as the child found it when it was forked.
        found = forks.json("trace", "info", child["trace"])
        assert found["kinds"]["contents"] >= 49 and found["locations"] > 0
        assert any("other recorded processes use it" in note for note in found["notes"])
        assert forks.json("run", "intel", f"trace:{child['trace']}", "--no-bands", "--quiet")["time_ns"] > 0


#: The parent writes, and its child makes that durable before the parent goes on.
SYNCS = """
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int fd = open("f", O_RDWR | O_CREAT, 0600);
    if (write(fd, "old", 3) != 3 || fsync(fd) || pwrite(fd, "new", 3, 0) != 3) return 1;
    if (!fork()) _exit(fdatasync(fd));
    wait(NULL);
    return pwrite(fd, "more", 4, 0) != 4 || fsync(fd);
}
"""


#: The child is there before the file, and only opens it.
SYNCS_LATE = """
#include <fcntl.h>
#include <unistd.h>
int main(void) {
    int ask[2], answer[2];
    char byte = 0;
    if (pipe(ask) || pipe(answer)) return 1;
    if (!fork()) {
        int fd = read(ask[0], &byte, 1) == 1 ? open("f", O_RDWR) : -1;
        return fsync(fd) || write(answer[1], &byte, 1) != 1;
    }
    int fd = open("f", O_RDWR | O_CREAT, 0600);
    if (write(fd, "old", 3) != 3 || fsync(fd) || pwrite(fd, "new", 3, 0) != 3) return 1;
    if (write(ask[1], &byte, 1) != 1 || read(answer[0], &byte, 1) != 1) return 1;
    return pwrite(fd, "more", 4, 0) != 4 || fsync(fd);
}
"""


@pytest.mark.parametrize("program", [SYNCS, SYNCS_LATE], ids=["inherited", "late"])
def test_there_is_no_verdict_on_a_file_that_another_process_makes_durable(forks: Cli, program: str) -> None:
    (forks.folder / "syncs.c").write_text(program)
    by_valgrind = b"coreplane_object" not in (forks.folder / "forks").read_bytes()
    compile_c(forks, "syncs", "-g", source=forks.folder / "syncs.c") if by_valgrind else forks("cc", "syncs.c", "-o", "syncs")
    crash = ["crash", "intel", "--check", "true {image}", "--points", 2]
    parent, child = record(forks, "./syncs")
    said = forks.refuses(*crash, f"trace:{parent['trace']}")
    assert "another process changes it or makes it durable" in said and "(f)" in said
    for process in (parent, child):
        assert any("other processes change it" in remark for remark in process["remarks"])
    if by_valgrind:
        forks("record", "--quiet", "--out", "one.cpt", "--", "./syncs")
        assert "another process changes it" in forks.refuses(*crash, "trace:one.cpt")


def test_processes_one_after_the_other_may_change_one_file(cli: Cli) -> None:
    (cli.folder / "one.c").write_text(SYNCS.replace("!fork()", "0"))
    cli("cc", "one.c", "-o", "one")
    told = record(cli, "sh", "-c", "./one; ./one", route="hooks")
    assert len(told) == 2
    for process in told:
        assert cli.json("crash", "intel", f"trace:{process['trace']}", "--check", "true {image}", "--points", 2)["clean"]


#: Forks while other threads take locks in a file: a child, which has one thread, takes one of its own.
LOCKS = """
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t *locks;
static atomic_int over;
static void *take(void *lock) {
    while (!over) pthread_mutex_lock(lock), pthread_mutex_unlock(lock);
    return NULL;
}
int main(void) {
    pthread_t threads[2];
    int fd = open("locks.pm", O_RDWR | O_CREAT, 0600), bad = ftruncate(fd, 4096), status;
    locks = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int t = 0; t < 2; t++) pthread_create(&threads[t], NULL, take, locks + t);
    for (int n = 0; n < 20 && !bad; n++) {
        pid_t child = fork();
        if (!child) {
            pthread_mutex_lock(locks + 2), pthread_mutex_unlock(locks + 2);
            return 0;
        }
        /* One that waits for ever does so with all signals blocked. */
        for (int ms = 0; waitpid(child, &status, WNOHANG) != child; ms++) {
            if (ms == 20000) kill(child, SIGKILL);
            usleep(1000);
        }
        bad = status;
    }
    over = 1;
    for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
    return bad;
}
"""


def test_a_child_does_not_wait_for_threads_that_only_its_parent_has(cli: Cli) -> None:
    (cli.folder / "locks.c").write_text(LOCKS)
    cli("cc", "-O1", "-pthread", "locks.c", "-o", "locks")
    assert len(record(cli, "./locks", route="hooks")) == 21


#: Does what is not modelled before it forks, and its child does it again.
EXCHANGES = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long *file(const char *name) {
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    if (ftruncate(fd, 4096)) _exit(3);
    return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
int main(void) {
    volatile long *one = file("one.pm"), *other = file("other.pm");
    one[0] = other[0] = 1;
    if (renameat2(AT_FDCWD, "one.pm", AT_FDCWD, "other.pm", RENAME_EXCHANGE)) return 4;
    if (!fork()) {
        one[1] = 2;
        return renameat2(AT_FDCWD, "one.pm", AT_FDCWD, "other.pm", RENAME_EXCHANGE);
    }
    int status;
    return wait(&status) < 0 || status;
}
"""


def test_a_child_says_what_it_does_that_is_not_seen_as_its_parent_did(cli: Cli) -> None:
    (cli.folder / "exchanges.c").write_text(EXCHANGES)
    cli("cc", "-O1", "-g", "exchanges.c", "-o", "exchanges")
    for process in record(cli, "./exchanges"):
        texts = [unseen["text"] for unseen in process["summary"]["unseen"]]
        assert "two files exchanged their names" in texts, (process["process"], texts)


def test_each_program_of_a_shell_has_its_recording(forks: Cli) -> None:
    by_valgrind = b"coreplane_object" not in (forks.folder / "forks").read_bytes()
    (forks.folder / "one.c").write_text((ROOT / "tests/programs/counted.c").read_text())
    if by_valgrind:
        compile_c(forks, "one", source=forks.folder / "one.c")
    else:
        forks("cc", "-O1", "-w", "-pthread", "one.c", "-o", "one")
    script = "./one a.pm >/dev/null; ./one b.pm >/dev/null; true"
    told = record(forks, "sh", "-c", script, route="valgrind" if by_valgrind else "hooks")
    names = [p["program"] for p in told]
    assert names == (["sh", "one", "one"] if by_valgrind else ["one", "one"])
    for process, file in zip(told[-2:], ("a.pm", "b.pm"), strict=True):
        assert process["summary"]["kinds"]["clwb"] == 400 and process["summary"]["differs"] == []
        assert any(f["path"].endswith(file) for f in process["summary"]["files"])


def test_processes_that_record_nothing_are_said_to(cli: Cli) -> None:
    assert "recorded nothing" in cli.refuses("record", "--route", "hooks", "--trace-per-process", "--", "true")
    assert "--host-per-process" in cli.refuses("record", "--host-per-process", "--trace-per-process", "--", "true")
