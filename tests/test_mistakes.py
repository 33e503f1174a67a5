"""Mistakes at the command line: what was meant is told."""

import json
import re
import subprocess

import pytest
from conftest import COREPLANE, Cli


def test_a_file_that_is_given_as_a_workload_is_told_how_recordings_are_given(cli: Cli) -> None:
    (cli.folder / "kv.parquet").write_bytes(b"")
    assert "a recording is given as trace:kv.parquet" in cli.refuses("run", "intel", "kv.parquet")


@pytest.mark.parametrize("args", [("crash", "intel", "trace:a.cpt,b.cpt", "--check", "true"), ("holdup", "intel", "trace:a.cpt,b.cpt")], ids=lambda args: args[0])
def test_several_recordings_are_refused_where_one_is_taken(cli: Cli, args: tuple[str, ...]) -> None:
    assert cli.refuses(*args) == "coreplane: trace:a.cpt,b.cpt: several recordings are for run and compare; give one, such as trace:a.cpt"


def test_names_are_found_whatever_the_case_of_their_letters(cli: Cli) -> None:
    assert "did you mean cceh?" in cli.refuses("run", "asap-rp", "CCEH")
    assert "did you mean asap-rp?" in cli.refuses("run", "ASAP-RP", "cceh")


@pytest.mark.parametrize(
    "args",
    [
        ("run", "intel", "WORD"),
        ("compare", "WORD", "--on", "intel,eadr"),
        ("crash", "intel", "WORD"),
        ("holdup", "intel", "WORD"),
        ("run", "unified", "WORD"),
        ("run", "shared", "WORD"),
        ("shared", "shared", "WORD"),
        ("show", "WORD"),
    ],
    ids=" ".join,
)
def test_an_unknown_workload_is_told_what_is_called_nearly_so(cli: Cli, args: tuple[str, ...]) -> None:
    for word, near in (("cceg", "cceh"), ("histgram", "histogram"), ("spec-mi", "spec-mix"), ("pmemkv@artifac", "pmemkv@artifact")):
        said = cli.refuses(*(word if arg == "WORD" else arg for arg in args))
        assert re.search(rf'"{word}"; did you mean {near}[?,]', said), said


def test_a_campaign_is_told_which_workload_is_called_nearly_so(cli: Cli) -> None:
    (cli.folder / "near.toml").write_text('machines = ["intel"]\nworkloads = ["cceg"]\n')
    assert "did you mean cceh?" in cli.refuses("sweep", "near.toml")


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (("run", "intel", "tarce:kv.cpt"), "did you mean trace:kv.cpt?"),
        (("compare", "visit:kv", "--on", "intel"), "did you mean visits:kv?"),
        (("run", "cceg", "intel"), "intel is a machine; the machine comes first: intel cceg"),
        (("run", "none.toml", "intel"), "none.toml: No such file"),
        (("show", "schem"), "did you mean schema"),
        (("run", "intel", "cceh", "--threads", "8"), "--set workload.threads=8"),
        (("run", "asap-rp", "cceh", "--persist-buffer=4"), "--set ordering.persist_buffer=4"),
        (("compare", "cceh", "intel", "asap-rp"), "--on intel,asap-rp"),
        (("compare", "cceh", "--on", "intel", "asap-rp"), "--on intel,asap-rp"),
        (("track", "no-such-server"), "no-such-server: no process is called that (`ps -A` lists names); a program to start is given as a command"),
        (("track",), "coreplane track [OPTIONS] -- <COMMAND>..."),
        (("track",), "--cgroup <PATH>"),
    ],
)
def test_arguments_that_are_not_accepted_come_with_what_was_meant(cli: Cli, args: tuple[str, ...], hint: str) -> None:
    done = cli.run(*args)
    assert done.returncode == 2
    assert hint in done.stderr


def test_help_begins_with_what_the_tool_is(cli: Cli) -> None:
    assert cli("--help").startswith("Run real programs on memory that cannot be bought: a simulator")


def test_a_program_too_large_for_its_memory_is_refused_in_words(cli: Cli) -> None:
    for command in ("run", "crash"):
        said = cli.refuses(command, "asap-rp@artifact", "dash-lh", "--set", "workload.initial_depth=12")
        assert "a thread needs more than the 64 MiB of memory that it has; give less of" in said
        assert "workload.initial_depth" in said
    said = cli.refuses("run", "intel", "cceh", "--set", "workload.initial_depth=14")
    assert "the 64 MiB of memory that it has; give more of workload.thread_mib, or less of" in said


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("run", "intel", "queue", "--seed", "-1"), "invalid value '-1' for '--seed <SEED>': give a whole number"),
        (("track", "--interval", "-1", "--", "true"), "--interval -1: give 0.001 to 86400 seconds"),
        (("trace", "head", "x.cpt", "-n", "-5"), "invalid value '-5' for"),
    ],
)
def test_a_negative_number_is_the_value_of_its_option(cli: Cli, args: tuple[str, ...], said: str) -> None:
    done = cli.run(*args)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert "tip:" not in done.stderr


def test_options_that_would_be_taken_for_something_else_are_refused(cli: Cli) -> None:
    (cli.folder / "file").touch()
    (cli.folder / "c.toml").write_text('machines = ["intel"]\nworkloads = ["queue"]\n')
    assert cli.refuses("sweep", "c.toml", "--jobs", 0) == "coreplane: --jobs 0: give at least 1"
    assert not (cli.folder / "c.sweep").exists()
    assert cli.refuses("man", "--out", "file") == "coreplane: --out file: is a file; give a folder"
    assert cli.refuses("show", "xyzzy") == 'coreplane: nothing is called "xyzzy" (coreplane show lists what there is, show machines the machines)'


def test_a_kind_of_memory_that_there_is_not_is_told_with_its_line(cli: Cli) -> None:
    (cli.folder / "m.toml").write_text('extends = "intel"\n[memory]\nkind = "flash"\n')
    assert cli.refuses("run", "m.toml", "queue").startswith("coreplane: m.toml:3: memory.kind = flash: give one of pm, ")


def test_an_empty_table_has_a_name_that_keys_have(cli: Cli) -> None:
    def refused(text: str) -> str:
        (cli.folder / "m.toml").write_text(f'extends = "intel"\n{text}\n')
        return cli.refuses("run", "m.toml", "queue").removeprefix("coreplane: ")

    assert refused("[cpu]\n[nope]").startswith('m.toml:3: unknown key "nope"')
    assert refused("[cpuu.x]").startswith('m.toml:2: unknown key "cpuu.x"')
    assert refused("[memory.pmm]").startswith('m.toml:2: unknown key "memory.pmm"')
    assert refused("cpu.cores = {}").startswith("m.toml:2: cpu.cores: give a number")
    assert refused('[[memory]]\nkind = "pm"\npmm = {}').startswith('m.toml:4: unknown key "pmm" of a memory')
    assert refused('[[memory]]\nkind = "pm"\nshare = {}').startswith("m.toml:4: share: give a number")
    (cli.folder / "m.toml").write_text('extends = "intel"\n[cpu]\n[memory.pm]\n')
    cli("run", "m.toml", "queue", "--set", "workload.operations=5")
    (cli.folder / "m.toml").write_text('extends = "intel"\n[[memory]]\nkind = "pm"\npm = {}\ncxl = {}\n')
    cli("run", "m.toml", "queue", "--set", "workload.operations=5")


@pytest.mark.parametrize("section", ["set", "vary"])
def test_an_empty_table_of_a_campaign_has_a_name_that_keys_have(cli: Cli, section: str) -> None:
    def campaign(text: str) -> tuple[str, ...]:
        (cli.folder / "c.toml").write_text(f"machines = 'intel'\nworkloads = 'queue'\n[{section}]\n{text}\n")
        return "sweep", "c.toml", "--plan"

    assert "c.toml:4: workload.operations: give a number" in cli.refuses(*campaign("workload.operations = {}"))
    assert "c.toml:4: workload.pm: give a number" in cli.refuses(*campaign("workload.pm = {}")), "a recording's"
    assert 'c.toml:5: unknown key "nope"' in cli.refuses(*campaign("cpu.cores = 8\nnope = {}"))
    cli(*campaign("cpu = {}\nworkload = {}\nmemory.0.pm = {}"))


def test_fewer_cores_than_threads_are_refused_and_those_of_a_file_are_raised(cli: Cli) -> None:
    short = ("queue", "--set", "workload.operations=20")
    said = "cpu.cores=1: queue has 4 threads, and each takes a core; give at least 4, or workload.threads=1"
    for command in ("run", "crash"):
        assert said in cli.refuses(command, "intel", *short, "--set", "cpu.cores=1")
    (cli.folder / "c.toml").write_text('machines = "intel"\nworkloads = "queue"\n[vary]\ncpu.cores = [4, 2]\n')
    assert "cpu.cores=2: queue has 4 threads" in cli.refuses("sweep", "c.toml", "--plan")
    (cli.folder / "m.toml").write_text('extends = "intel"\ncpu.cores = 1\n')
    for sets, cores in (((), 4), (("--set", "workload.threads=1"), 1), (("--set", "cpu.cores=8"), 8)):
        assert cli.json("run", "m.toml", *short, *sets)["configuration"]["cpu.cores"] == cores


def test_a_machine_of_which_nothing_is_said_is_refused(cli: Cli) -> None:
    (cli.folder / "m.toml").write_text("# to be written\n")
    said = 'coreplane: m.toml: says nothing; name a machine to begin with (extends = "intel"), then what differs'
    assert cli.refuses("run", "m.toml", "queue") == said


def test_a_replay_of_another_programs_finding_is_no_clean_result(cli: Cli) -> None:
    bug = ("crash", "intel", "hashmap", "--set", "workload.bug=token-before-data", "--set", "workload.operations=20")
    found = cli.run(*bug, "--points", 60, "--format", "json")
    replay = json.loads(found.stdout)["model_images"]["failures"][0]["replay"]
    model, rest = replay.split("@")
    assert cli.run(*bug, "--replay", replay).returncode == 1
    assert "not an image of this: the program has" in cli.refuses(*bug, "--replay", f"{model}@99999999:{rest.split(':')[1]}")
    point = rest.split(":")[0]
    assert f"stores to dead40 that are in flight after event {point}: 0" in cli.refuses(*bug, "--replay", f"{model}@{point}:dead40=1")


@pytest.mark.parametrize("command", [("run", "intel", "queue", "--set", "workload.operations=50"), ("show", "stats"), ("explore", "nearpm", "--states", "500"), ("--help",), ("--version",)])
def test_output_that_cannot_be_written_is_told_in_one_line(cli: Cli, command: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([COREPLANE, *command], cwd=cli.folder, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and done.stderr.strip().splitlines()[-1].startswith("coreplane: standard output cannot be written: No space left"), done
    assert "Traceback" not in done.stderr and "panicked" not in done.stderr


def test_a_campaign_names_the_line_of_what_is_not_there_or_there_twice(cli: Cli) -> None:
    def refused(vary: str, machines: str = "['intel']", workloads: str = "['queue']") -> str:
        (cli.folder / "c.toml").write_text(f"machines = {machines}\nworkloads = {workloads}\n[vary]\n{vary}\n")
        return cli.refuses("sweep", "c.toml", "--plan").removeprefix("coreplane: ")

    assert refused("", workloads="[\n'queue',\n'trace:none.cpt']").startswith("c.toml:4: none.cpt: ")
    assert refused("", workloads="[\n'queue',\n'none']").startswith("c.toml:4: ")
    assert refused("", machines="[\n'none.toml']").startswith("c.toml:2: none.toml: ")
    same = "c.toml:4: memory.pm.read_ns: 175 and 175 ns are the same value"
    assert refused("memory.pm.read_ns = [175, '175 ns']") == same
    assert refused("workload.operations = [10, 20, 10]") == "c.toml:4: workload.operations: 10 stands there twice"


@pytest.mark.parametrize("command", [("run", "intel", b"trace:bad\xff.cpt"), ("run", b"bad\xff.toml", "queue"), ("trace", "info", b"bad\xff.cpt"), ("sweep", b"bad\xff.toml", "--on", "tcp://none:1")])
def test_a_name_that_is_not_utf_8_is_refused(cli: Cli, command: tuple[str | bytes, ...]) -> None:
    done = subprocess.run([COREPLANE, *command], cwd=cli.folder, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert re.fullmatch(r"coreplane: (trace:)?bad\\xff\.\w+: is not UTF-8, in which arguments are given\n", done.stderr), done.stderr


def test_a_damaged_file_of_a_search_is_named_with_what_to_do(cli: Cli) -> None:
    command = ("crash", "intel", "queue", "--set", "workload.operations=20", "--points", "2", "--out", "o")
    (cli.folder / "o").mkdir()
    for text, why in (('{"arguments": "cut', "EOF while parsing a string at line 1 column 18"), ("{}", "of a search with other arguments; give these, or another --out")):
        (cli.folder / "o/crash.so-far.json").write_text(text)
        told = "" if "arguments;" in why else ": it is damaged; without --resume the search begins anew"
        assert cli.refuses(*command, "--resume") == f"coreplane: o/crash.so-far.json: {why}{told}"
    cli(*command)
