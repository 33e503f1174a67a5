"""Programs that race, on machines where releases and acquires alone order threads."""

from pathlib import Path

import pytest
from conftest import Cli

PROGRAM = Path(__file__).parent / "programs/racy.c"
STORE = next(n for n, line in enumerate(PROGRAM.read_text().splitlines(), 1) if "*count = *count" in line)


@pytest.fixture
def recorded(cli: Cli) -> Cli:
    cli("cc", "-O1", "-g", "-pthread", PROGRAM, "-o", "racy")
    cli("record", "--quiet", "--out", "wrong.cpt", "--", "./racy", "a.pm", "unlocked")
    cli("record", "--quiet", "--out", "right.cpt", "--", "./racy", "b.pm")
    return cli


def remarks(cli: Cli, *command: object) -> list[str]:
    return [r for r in cli.json(*command).get("remarks", []) if r.startswith("warning: ")]


def test_both_stores_of_a_race_are_named_where_order_needs_a_program_without(recorded: Cli) -> None:
    for command in (("run", "asap-rp"), ("run", "pmem-spec"), ("compare",)):
        rest = ("--on", "intel,hops-rp", "--no-bands") if command[0] == "compare" else ("--no-bands",)
        [said] = remarks(recorded, *command, "trace:wrong.cpt", *rest)
        assert f"the program races: two threads store to the same bytes at racy.c:{STORE}" in said, said
        assert remarks(recorded, *command, "trace:right.cpt", *rest) == []
    assert remarks(recorded, "run", "asap-ep", "trace:wrong.cpt", "--no-bands") == [], "conflicts order epochs"


def test_a_program_that_comes_with_the_project_is_told_the_same(cli: Cli) -> None:
    for command in (("run", "lrp"), ("run", "cwsp"), ("compare", "--on", "intel,hops-rp")):
        racy = (command[0], *command[1:2], "mix") if command[0] == "run" else ("compare", "mix", *command[1:])
        small = ("--set", "workload.operations=4000", "--set")
        [said] = remarks(cli, *racy, *small, "workload.racy=true")
        assert "the program races: " in said and "mix.rs:" in said, said
        assert remarks(cli, *racy, *small, "workload.racy=false") == []
    assert remarks(cli, "run", "lb++", "mix", *small, "workload.racy=true") == [], "conflicts order epochs"


def test_the_crash_lab_says_it_of_the_program_that_it_judges(recorded: Cli) -> None:
    said = recorded.json("crash", "lrp", "trace:wrong.cpt", "--check", "test -f {image}", "--points", 3, "--accept-unseen")
    assert any(f"racy.c:{STORE}" in note for note in said["notes"]), said["notes"]


@pytest.mark.parametrize(("how", "races"), [("fenced", False), ("full", False), ("relaxed", True)])
def test_fences_between_threads_make_relaxed_operations_release_and_acquire(cli: Cli, how: str, races: bool) -> None:
    cli("cc", "-O1", "-g", "-pthread", PROGRAM, "-o", "racy")
    cli("record", "--quiet", "--out", "t.cpt", "--", "./racy", "a.pm", how)
    said = remarks(cli, "run", "asap-rp", "trace:t.cpt", "--no-bands")
    assert [f"racy.c:{STORE}" in remark for remark in said] == [True] * races
    kinds = cli.json("trace", "info", "t.cpt")["kinds"]
    assert kinds.get("store-release", 0) == (0 if races else 40), "one for each store that follows a fence"


MANY = r"""
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_long words[64], done;
static long count;
static void *tell(void *unused) {
    atomic_thread_fence(memory_order_release);
    for (long i = 0; i < count; i++) atomic_store_explicit(&words[i], 1, memory_order_relaxed);
    while (!atomic_load(&done)) sched_yield();
    return unused;
}
int main(int argc, char **argv) {
    pthread_t other;
    count = atol(argv[argc - 1]);
    pthread_create(&other, 0, tell, 0);
    for (long i = 0; i < count; i++)
        while (!atomic_load_explicit(&words[i], memory_order_relaxed)) sched_yield();
    atomic_thread_fence(memory_order_acquire);
    atomic_store(&done, 1);
    return pthread_join(other, 0);
}
"""


def test_a_fence_that_acquires_less_than_was_looked_at_is_told(cli: Cli) -> None:
    (cli.folder / "many.c").write_text(MANY)
    cli("cc", "-O1", "-pthread", "many.c", "-o", "many")
    for words, told in ((32, False), (33, True)):
        said = cli.run("record", "--out", "t.cpt", "--", "./many", words).stderr
        assert ("relaxed loads of more than 32 words" in said) is told, said
