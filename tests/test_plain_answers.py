"""What a newcomer is told: help begins with what the tool is, refusals come before the work and say what to give, evidence agrees with what it is given for."""

import inspect
import json
import os
import re
import subprocess
import time
from collections.abc import Callable

import pytest
from conftest import COREPLANE, Cli

import coreplane as cp

CAMPAIGN = 'machines = ["intel"]\nworkloads = ["queue"]\nset.workload.operations = 50\n'


@pytest.mark.parametrize("args", [(), ("-h",), ("--help",)])
def test_help_begins_with_what_the_tool_is(cli: Cli, args: tuple[str, ...]) -> None:
    done = cli.run(*args)
    assert (done.stdout + done.stderr).startswith("Run real programs on memory that cannot be bought")


@pytest.mark.parametrize(
    "args",
    [
        ("run", "intel", "queue"), ("compare", "queue", "--on", "intel,eadr"), ("crash", "intel", "hashmap"),
        ("reproduce", "asap"), ("curve", "cascade-lake"), ("holdup", "eadr"), ("sweep", "c.toml"), ("run", "intel", "queue", "--bands"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_folder_that_cannot_be_made_is_refused_before_the_work(cli: Cli, args: tuple[str, ...]) -> None:
    (cli.folder / "c.toml").write_text(CAMPAIGN)
    (cli.folder / "file").write_text("mine")
    assert cli.refuses(*args, "--out", "file") == "coreplane: --out file: is a file; give a folder"
    assert "--out file/more: file is a file; give a folder" in cli.refuses(*args, "--out", "file/more")
    assert (cli.folder / "file").read_text() == "mine"


def test_a_key_says_the_words_that_it_accepts(cli: Cli) -> None:
    said = cli.json("show", "memory.kind")["parameters"][0]["accepts"]
    kinds = said.removeprefix("one of ").split(", ")
    assert "pm" in kinds and "optane" in kinds
    assert f"give {said}" in cli.refuses("run", "intel", "queue", "--set", "memory.kind=foo")


def test_a_folder_for_results_has_nothing_in_it_but_results(cli: Cli) -> None:
    cli("run", "intel", "queue", "--set", "workload.operations=50", "--out", "a/b")
    assert {p.name for p in (cli.folder / "a/b").iterdir()} >= {"run.json", "stats.parquet"}
    assert not [p for p in (cli.folder / "a/b").iterdir() if p.name.startswith(".")]


def test_a_campaign_does_not_put_machines_side_by_side_that_simulate_different_things(cli: Cli) -> None:
    (cli.folder / "c.toml").write_text(CAMPAIGN.replace('["intel"]', '["intel", "amf"]').replace("queue", "stream"))
    said = cli.refuses("sweep", "c.toml")
    assert said.startswith("coreplane: c.toml: machines: every cache line is simulated on intel, visits of pages by programs on amf; ")


def test_a_recording_that_cannot_be_written_is_refused_before_the_program_runs(cli: Cli) -> None:
    (cli.folder / "file").write_text("mine")
    for more in ((), ("--host-per-process",), ("--trace-per-process",), ("--times", "2")):
        done = cli.run("record", "--route", "hooks", *more, "--out", "file/x.cpt", "--", "touch", "ran")
        assert done.returncode == 2 and re.fullmatch(r"coreplane: --out: file/x(\.1)?\.cpt cannot be written: Not a directory.*\n", done.stderr), done.stderr
        assert not (cli.folder / "ran").exists()


def test_the_folder_of_a_recording_or_of_what_is_tracked_is_made(cli: Cli) -> None:
    said = cli.refuses("record", "--route", "hooks", "--quiet", "--out", "a/b/x.cpt", "--", "true")
    assert "true: recorded nothing" in said and (cli.folder / "a/b").is_dir()
    cli("track", "--quiet", "--windows", 1, "--interval", "0.01", "--mode", "nothing", "--out", "c/d/x.parquet", "--", "sleep", "0.1")
    assert (cli.folder / "c/d/x.parquet").exists()


def test_two_recordings_into_one_name_are_not_made_at_once(cli: Cli) -> None:
    os.mkfifo(cli.folder / "go")
    command = [COREPLANE, "record", "--route", "hooks", "--quiet", "--out", "t.cpt", "--", "sh", "-c", "echo > ran; read line < go"]
    with subprocess.Popen(command, cwd=cli.folder, stderr=subprocess.PIPE, text=True) as first:
        while not (cli.folder / "ran").exists():
            time.sleep(0.01)
        (cli.folder / "t.recording").write_text("what the first one recorded")
        said = cli.refuses("record", "--route", "hooks", "--quiet", "--out", "t.cpt", "--", "true")
        assert said.endswith("--out: t.recording is being written by another coreplane record; give another name")
        assert (cli.folder / "t.recording").read_text() == "what the first one recorded"
        (cli.folder / "go").write_text("\n")
        first.communicate()
    assert not [path for path in cli.folder.iterdir() if path.name.startswith(".")]


def test_json_of_a_recording_is_alone_on_standard_output(cli: Cli) -> None:
    (cli.folder / "p.c").write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n')
    cli("cc", "p.c", "-o", "p")
    done = cli.run("record", "--out", "p.cpt", "--format", "json", "--", "./p")
    assert json.loads(done.stdout)["trace"] == "p.cpt" and "hello" in done.stderr
    assert "hello" in cli("record", "--out", "p.cpt", "--", "./p")


def test_a_column_of_a_comparison_is_shown_by_its_head(cli: Cli) -> None:
    head = cli("compare", "queue", "--on", "intel,asap-rp", "--set", "workload.operations=50").splitlines()[2]
    assert "stalled" in head and "cross deps" in head
    assert cli("show", "stalled") == cli("show", "ordering.stall_share")
    assert "under locks" in " ".join(cli("show", "stalled").split())
    assert cli("show", "cross deps").startswith("ordering.cross_dependences ")


def test_refusals_say_what_to_give(cli: Cli) -> None:
    (cli.folder / "folder").mkdir()
    (cli.folder / "fitted.toml").write_text('extends = "intel"\n[sources]\n"memory.pm.read_ns" = "fitted to asap.speedup.rp: by hand"\n')
    (cli.folder / "latin.toml").write_bytes(b'extends = "intel"\nabout = "caf\xe9"\n')
    for args, said in [
        (("run", "latin.toml", "queue"), "latin.toml:2: is not UTF-8; give a text file in UTF-8"),
        (("sweep", "latin.toml"), "latin.toml:2: is not UTF-8; give a text file in UTF-8"),
        (("reproduce", "asap", "--claims", "latin.toml"), "latin.toml:2: is not UTF-8; give a text file in UTF-8"),
        (("run", "fitted.toml", "queue"), "fitted.toml:3: sources: memory.pm.read_ns: is fitted to asap.speedup.rp, which is marked predict; give a claim marked calibrate"),
        (("run", "intel", "queue", "--set", "workload.bug=foo"), '--set workload.bug: workload queue: unknown key "workload.bug"'),
        (("run", "amf", "queue"), "redis-mem, stream, visits:FILE and trace:FILE"),
        (("run", "intel", "queue", "--set", "operations=5"), 'unknown key "operations"; did you mean workload.operations?'),
        (("run", "intel", "queue", "--set", "persist_buffer=5"), "did you mean ordering.persist_buffer?"),
        (("run", "queue", "intel"), "queue is a workload; the machine comes first: intel queue"),
        (("crash", "hashmap", "intel"), "hashmap is a workload; the machine comes first: intel hashmap"),
        (("run", "intel", "trace:"), "trace: names no file; give trace:FILE"),
        (("run", "intel", "trace:folder"), "trace:folder: is a folder; give trace:FILE"),
        (("compare", "queue", "--on", ""), "--on: a name is empty; give machines, separated by commas"),
    ]:
        assert said in cli.refuses(*args), args
    said = cli.refuses("show", "nope")
    assert "did you mean" not in said and "show machines" in said, said


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("run", "intel", "queue", "--seed", "x"), "invalid value 'x' for '--seed <SEED>': give a whole number\n"),
        (("run", "intel", "queue", "--seed", "99999999999999999999"), "give a smaller whole number\n"),
        (("track", "--interval", "1ms", "--", "true"), "invalid value '1ms' for '--interval <S>': give seconds as a number without a unit, such as 0.5\n"),
        (("crash", "intel", "hashmap", "--points", "many"), "for '--points <POINTS>': give a whole number\n"),
    ],
    ids=lambda a: a[2] if isinstance(a, tuple) else "",
)
def test_what_is_no_number_is_refused_with_the_accepted_form(cli: Cli, args: tuple[str, ...], said: str) -> None:
    done = cli.run(*args)
    assert done.returncode == 2 and said in done.stderr, done.stderr


def test_evidence_of_a_difference_moves_with_it(cli: Cli) -> None:
    on = "intel,hops-rp,asap-rp,eadr,small.toml"
    (cli.folder / "small.toml").write_text('extends = "asap-rp"\n[ordering]\npersist_buffer = 4\n[memory]\npm.read_ns = 600\n')
    seen = 0
    for workload in ("queue", "cceh", "btree"):
        data = cli.json("compare", workload, "--on", on, "--set", "workload.operations=100", "--explain")
        for reason in (r for m in data["machines"] for r in m["reasons"] if "evidence" in r):
            seen += 1
            evidence = reason["evidence"]
            assert (evidence["value"] > evidence["baseline"]) == (reason["more_ns_per_core"] > 0), reason
    assert seen


def test_evidence_is_what_took_the_time_and_few_keys_that_differ_are_named(cli: Cli) -> None:
    (cli.folder / "small.toml").write_text('extends = "pberry"\n[remote]\nlocal_kib = 1024\n')
    (cli.folder / "slow.toml").write_text('extends = "intel"\n[memory.pm]\nread_ns = 1000\n')
    sets = ("--set", "workload.operations=3000", "--set", "workload.keys=5000", "--set", "workload.threads=2")
    args = ("compare", "redis-random", "--on", "pberry,small.toml", *sets, "--explain")
    kernel = next(r for r in cli.json(*args)["machines"][1]["reasons"] if r["cause"] == "kernel")
    # Not what there is none of with enough memory: the pages that are fetched.
    assert kernel["evidence"]["statistic"] == "remote.fetches"
    assert "; they differ in remote.local_kib 1024 against " in " ".join(cli(*args).split())
    # The same program waits longer for the same locks: a few more of them are not why.
    args = ("compare", "queue", "--on", "intel,slow.toml", "--set", "workload.operations=500", "--explain")
    assert all(r.get("evidence", {}).get("statistic") != "cpu.locked" for r in cli.json(*args)["machines"][1]["reasons"])
    assert "; they differ in memory.pm.read_ns 1000 against " in " ".join(cli(*args).split())
    assert "they differ in" not in cli("compare", "queue", "--on", "intel,eadr", "--set", "workload.operations=100", "--explain")


def test_a_verdict_without_a_failure_says_what_it_left_out(cli: Cli) -> None:
    few = ("crash", "intel", "hashmap", "--set", "workload.operations=60", "--points", "30", "--images", "2")
    found = cli.json(*few)["model_images"]
    assert found["points"] == 30 < found["points_in_log"] and found["bounded_points"] > 0
    text = cli(*few)
    assert f"bounded: 30 of {found['points_in_log']:,} points, {found['bounded_points']} with images left out (--points, --images)" in text
    whole = cli("crash", "intel", "hashmap", "--set", "workload.operations=4", "--set", "workload.threads=1", "--points", "100000", "--images", "100000")
    assert "bounded:" not in whole


def test_a_small_program_is_cut_a_hundred_times_on_its_machine(cli: Cli) -> None:
    few = ("crash", "intel", "queue", "--set", "workload.operations=40", "--images", "2")
    assert 50 < cli.json(*few, "--points", 1000)["timed"]["points"] <= 102
    assert cli.json(*few, "--points", 7)["timed"] | {"failures": []} == {"points": 7, "bounded": True, "failing_points": 0, "failures": []}


def test_what_a_device_takes_is_told_where_nothing_failed(cli: Cli) -> None:
    published = ("--set", "nvdimm.write_queue_survives=false", "--set", "workload.operations=20")
    text = cli("crash", "nvdimmc-poc", "append", "--points", "20", *published)
    assert "its write pending queue is lost" in text and "none of it is a failure" in text
    done = cli.run("holdup", "nvdimmc-poc", "append", *published)
    assert done.returncode == 0 and "that is lost whatever energy is stored, and is not counted" in done.stderr
    assert "of a machine's protocol, explore" in cli.refuses("litmus", "asap-rp")


def test_one_instant_that_was_asked_for_is_no_bound(cli: Cli) -> None:
    text = cli("crash", "intel", "hashmap", "--at", "40 us", "--set", "workload.operations=60")
    assert "power failures in the run   1\n" in text and "the bound" not in text


def test_numbers_are_in_threes_and_times_scaled(cli: Cli) -> None:
    assert "states     76,137 (" in cli("explore", "nearpm")
    done = cli.run("crash", "nvdimmc-poc", "hashmap", "--set", "nvdimm.battery_uj=1", "--points", "20", "--set", "workload.operations=100")
    assert " ns" not in done.stdout, done.stdout


def test_whoever_reads_a_part_sees_no_traceback(cli: Cli) -> None:
    for command in (f"{COREPLANE} run intel queue --set workload.operations=50 --quiet --out r", f"{COREPLANE} show parameters"):
        done = subprocess.run(["bash", "-c", f"{command} | head -n 1"], cwd=cli.folder, capture_output=True, text=True, timeout=60)
        assert done.stderr == "" and len(done.stdout.splitlines()) == 1, done.stderr


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: cp.Machine(3), "a machine is a name or the path of its file, not 3"),
        (lambda: cp.Machine("intel", 3), "settings are a mapping of keys and values, not 3"),
        (lambda: cp.Machine("intel", memory=["pm"]), "a memory of the list is a mapping such as {'kind': 'pm'}, not 'pm'"),
        (lambda: cp.Workload(None), "a workload is its name, not None"),
        (lambda: cp.Trace(3), "a trace is the path of its file, not 3"),
        (lambda: cp.run("intel", cp.Program()), "a Program is a workload once it is kept"),
        (lambda: cp.run("intel", "queue", bands="x"), "bands is True or False, not 'x'"),
        (lambda: cp.run("intel", "queue", no_bands="x"), "no_bands is True or False, not 'x'"),
        (lambda: cp.compare("queue", on="intel", no_bands=1), "no_bands is True or False, not 1"),
        (lambda: cp.run("intel", "queue", timeline=None), "timeline is True or False, not None"),
        (lambda: cp.run("intel", "queue", bands=True, runs="x"), "runs is a whole number, not 'x'"),
        (lambda: cp.reproduce("asap", bands=True, runs=True), "runs is a whole number, not True"),
        (lambda: cp.sweep("c.toml", resume="yes"), "resume is True or False, not 'yes'"),
        (lambda: cp.sweep("c.toml", jobs=1.5), "jobs is a whole number, not 1.5"),
        (lambda: cp.sweep("c.toml", on=3), "on is local or a scheduler's address, not 3"),
        (lambda: cp.crash("intel", "queue", all="x"), "all is True or False, not 'x'"),
        (lambda: cp.crash("intel", "queue", every="x"), "every is a whole number, not 'x'"),
        (lambda: cp.crash("intel", "queue", time_limit="x"), "time_limit is a number, not 'x'"),
        (lambda: cp.crash("intel", "queue", check=["a"]), "check is text, not ['a']"),
        (lambda: cp.shared("shared", "shared-ring", schedules=True), "schedules is a whole number, not True"),
        (lambda: cp.litmus(failed_rmw_fences=1), "failed_rmw_fences is True or False, not 1"),
        (lambda: cp.explore("intel", states="x"), "states is a whole number, not 'x'"),
        (lambda: cp.record("true", host_per_process=1), "host_per_process is True or False, not 1"),
        (lambda: cp.record("true", times="2"), "times is a whole number, not '2'"),
        (lambda: cp.record("true", skip=1.5), "skip is a whole number, not 1.5"),
        (lambda: cp.record("true", region=1), "region is True or False, not 1"),
        (lambda: cp.track(1, interval="x"), "interval is a number, not 'x'"),
        (lambda: cp.track(1, children=1), "children is True or False, not 1"),
        (lambda: cp.curve("intel", reads="x"), "reads are shares in per cent, a list, not 'x'"),
        (lambda: cp.curve("intel", reads=["x"]), "reads is a whole number, not 'x'"),
        (lambda: cp.reproduce(3), "paper is text, not 3"),
        (lambda: cp.replay(3, [1]), "protocol is text, not 3"),
        (lambda: cp.replay("asap", "x"), "choices are the steps of a violation, a list, not 'x'"),
        (lambda: cp.track(1, mode=3), "mode is text, not 3"),
        (lambda: cp.Machine("intel", label=3), "label is text, not 3"),
        (lambda: cp.run("intel", "queue")[3], "a statistic is its name, not 3"),
        (lambda: cp.compare("queue", on=None), "on is a machine or a list of machines, not None"),
        (lambda: cp.crash("intel", "queue", at=["1 us"]), "at is one instant as text"),
        (lambda: cp.show(3), "what is a name, a Machine or a Workload, not 3"),
        (lambda: cp.litmus(3), "give the path of a file or folder, not 3"),
        (lambda: cp.record(3), "a command is text or a list of words, not 3"),
        (lambda: cp.record(["true", 3]), "a word of a command is text or a path, not 3"),
        (lambda: cp.track(name=3), "name is the name of a process or a list of names, not 3"),
        (lambda: cp.sweep(3), "a campaign is the path of its TOML file or a mapping of what it has, not 3"),
        (lambda: cp.compare("queue", on=["intel"], baseline=3), "baseline is a machine of on, not 3"),
        (lambda: cp.crash("intel", "queue", points=None), "points is a whole number, not None"),
        (lambda: cp.crash("intel", "queue", beside=1.5), "beside is the path of a file or folder, not 1.5"),
        (lambda: cp.explore("bbb", states=None), "states is a whole number, not None"),
        (lambda: cp.replay("bbb", [None]), "choices is a whole number, not None"),
        (lambda: cp.sweep("c.toml", out=1.5), "out is the path of a file or folder, not 1.5"),
        (lambda: cp.sweep(b"c.toml"), "a campaign is the path of its TOML file or a mapping of what it has, not b'c.toml'"),
        (lambda: cp.record("true", out=None), "out is the path of a file or folder, not None"),
        (lambda: cp.record("true", times=None), "times is a whole number, not None"),
        (lambda: cp.record("true", route=None), "route is text, not None"),
        (lambda: cp.track(1.5), "target is a process's number, several of them, or a command, not 1.5"),
        (lambda: cp.track(cgroup=1.5), "cgroup is the path of a file or folder, not 1.5"),
        (lambda: cp.reproduce("asap", claims=3), "claims is the path of a file or folder, not 3"),
        (lambda: cp.Program().save(None), "path is the path of a file or folder, not None"),
    ],
)
def test_an_argument_of_a_wrong_type_is_told_what_is_accepted(call: Callable[[], object], said: str) -> None:
    with pytest.raises(cp.ConfigError, match=re.escape(said)) as raised:
        call()
    assert isinstance(raised.value, TypeError)


@pytest.mark.parametrize("function", [cp.run, cp.compare, cp.sweep, cp.curve, cp.diff, cp.holdup, cp.crash, cp.shared, cp.explore, cp.replay, cp.record, cp.track, cp.reproduce, cp.show, cp.parameters])
def test_every_argument_is_looked_at(function: Callable[..., object]) -> None:
    good = {"machine": "intel", "workload": cp.Workload("queue", operations=1), "on": ["intel"], "campaign": "none.toml", "before": "none", "after": "none"}
    good |= {"protocol": "bbb", "choices": [0], "command": "no-such-program", "target": "no-such-program", "paper": "none"}
    taken = inspect.signature(function).parameters
    needed = {name: good[name] for name, one in taken.items() if one.default is one.empty and one.kind is not one.VAR_KEYWORD}
    needed |= {"target": "no-such-program"} if function is cp.track else {}
    for name in taken:
        for wrong in (object(), b"x", [object()]):
            with pytest.raises(cp.ConfigError):
                function(**(needed | {name: wrong}))


def test_a_lock_is_given_back_by_its_address() -> None:
    for take in (cp.Program().main.lock, cp.Program().main.unlock):
        for wrong in (None, [], "x"):
            with pytest.raises(cp.ConfigError, match="address: give a whole number"):
                take(wrong)  # type: ignore[arg-type]


def test_a_command_that_no_shell_would_take_apart_is_bad_input() -> None:
    with pytest.raises(cp.ConfigError, match="command 'a \"b': no closing quotation; close it, or give a list of words"):
        cp.record('a "b')


def test_a_machine_without_a_name_is_refused() -> None:
    for label in ("", " "):
        with pytest.raises(cp.ConfigError, match="label: is empty; give what results are to call the machine"):
            cp.Machine("intel", label=label)


def test_one_of_the_family_is_there_once_where_it_comes_first(cli: Cli) -> None:
    for on, first in ((["family", "intel"], ["intel", "hops-ep"]), (["asap-rp", "family"], ["asap-rp", "intel"])):
        done = cp.compare(cp.Workload("queue", operations=10), on=on)
        command = cli.json("compare", "queue", "--on", ",".join(on), "--set", "workload.operations=10")["machines"]
        named = list(done.table["machine"])
        assert named[:2] == first and named == [row["machine"] for row in command] and len(set(named)) == len(named)
    changed = cp.Machine("intel", {"memory.pm.read_ns": 300}, label="slow")
    done = cp.compare(cp.Workload("queue", operations=10), on=["eadr", changed, "family"])
    assert list(done.table["machine"])[:3] == ["eadr", "slow", "intel"]
    with pytest.raises(cp.ConfigError, match="family is there twice; give each machine once"):
        cp.compare("queue", on=["family", "family"])


@pytest.mark.parametrize(
    "call",
    [
        lambda name: cp.Machine(name),
        lambda name: cp.Machine("intel", label=name),
        lambda name: cp.Workload(f"trace:{name}"),
        lambda name: cp.run("intel", name),
        lambda name: cp.curve("intel", memory=name),
        lambda name: cp.crash("intel", "queue", check=name),
        lambda name: cp.litmus(text=name),
        lambda name: cp.explore(name),
        lambda name: cp.replay("asap", [], mutant=name),
        lambda name: cp.record(["true", name]),
        lambda name: cp.track(name=name),
        lambda name: cp.reproduce(name),
        lambda name: cp.show(name),
    ],
)
def test_text_that_is_not_utf_8_is_bad_input(call: Callable[[str], object]) -> None:
    with pytest.raises(cp.ConfigError, match=r"^'(trace:)?a\\udcffb': is not UTF-8$"):
        call("a\udcffb")


def test_numbers_that_make_no_sense_are_refused_in_python() -> None:
    with pytest.raises(cp.ConfigError, match="states -1: give at least 1"):
        cp.explore("intel", states=-1)
    for seed in ("1", True):
        with pytest.raises(cp.ConfigError, match=f"seed {seed!r}: give a whole number"):
            cp.run("intel", "queue", seed=seed)
    with pytest.raises(cp.ConfigError, match="no_bands: one time alone"):
        cp.run("intel", "queue", bands=True, no_bands=True)
    for choice, said in ((-1, "at least 0"), (70000, "at most 65535")):
        with pytest.raises(cp.ConfigError, match=f"choices {choice}: give {said}"):
            cp.replay("bbb", [choice])
    with pytest.raises(cp.ConfigError, match="every -1: give at least 1"):
        cp.crash("intel", "queue", every=-1)
    with pytest.raises(cp.ConfigError, match="windows -1: give at least 1"):
        cp.track(1, windows=-1)
    with pytest.raises(cp.ConfigError, match="points 1180591620717411303424: give at most 9223372036854775807"):
        cp.crash("intel", "queue", points=2**70)
    for seconds in (float("nan"), -1, float("inf")):
        with pytest.raises(cp.ConfigError, match=f"time_limit {seconds}: give a number of seconds, zero or more"):
            cp.crash("intel", "queue", time_limit=seconds)


def test_the_family_is_compared_by_its_name_in_python_too() -> None:
    assert len(cp.compare(cp.Workload("queue", operations=50), on="family").runs) == 16


def test_a_failure_that_the_machine_makes_is_said_to_be_its_own(cli: Cli) -> None:
    small = ("hashmap", "--set", "workload.operations=200", "--format", "json", "--points", 50)
    done = cli.run("crash", "nvdimmc-poc", *small)
    told = json.loads(done.stdout)
    assert told["timed"]["failures"] and any("may be the machine's fault" in note for note in told["notes"])
    done = cli.run("crash", "nvdimmc-poc", *small, "--set", "nvdimm.write_queue_survives=true")
    assert done.returncode == 0 and "machine's fault" not in done.stdout


@pytest.mark.parametrize(("kind", "ns", "most"), [("ddr5", 500, 416), ("ddr4", 5000, 1250)])
def test_a_controller_that_takes_too_long_is_told_by_its_own_key(cli: Cli, kind: str, ns: int, most: int) -> None:
    said = cli.refuses("run", "intel", "queue", "--set", f"memory.kind={kind}", "--set", f"memory.ddr.controller_ns={ns}")
    assert said.endswith(f"memory.ddr.controller_ns = {ns}: give at most {most}")


def test_shares_of_reads_may_come_one_by_one() -> None:
    with pytest.raises(cp.ConfigError, match="a share of reads of 40 %"):
        cp.curve("intel", reads=(share for share in (40,)))
    with pytest.raises(cp.ConfigError, match="shared: a machine at hosts fidelity has no memory under load"):
        cp.curve("shared", reads=[100])


def test_a_check_has_a_time_that_ends(cli: Cli) -> None:
    for seconds in ("nan", "-1", "inf"):
        done = cli.run("crash", "intel", "queue", f"--time-limit={seconds}")
        assert (done.returncode, done.stdout) == (2, "") and "give a number of seconds, zero or more" in done.stderr


def test_the_order_of_what_is_set_decides_nothing(cli: Cli) -> None:
    all_memories, one = ("--set", "memory.pm.read_ns=100"), ("--set", "memory.0.pm.media=ddr4")
    few = ("--set", "workload.operations=20")
    runs = [cli.json("run", "compose-bbb-two-media", "queue", *few, *sets) for sets in (all_memories + one, one + all_memories)]
    assert runs[0]["stats"] == runs[1]["stats"]
    orders = [{"memory.pm.read_ns": 100, "memory.0.pm.read_ns": 50}, {"memory.0.pm.read_ns": 50, "memory.pm.read_ns": 100}]
    both = [cp.run(cp.Machine("compose-bbb-two-media", sets), cp.Workload("queue", operations=20)) for sets in orders]
    assert both[0].stats.equals(both[1].stats)



@pytest.mark.parametrize("key", ["stride", "footprint", "clwb_size", "fence_size"])
def test_sizes_of_lattester_are_bytes_of_whole_lines_or_none(cli: Cli, key: str) -> None:
    few = ("--set", "workload.operations=200", "--set", "workload.operation=ntstore")

    def run(value: str) -> dict:
        return cli.json("run", "optane", "lattester", *few, "--set", f"workload.{key}={value}")

    assert run("4 KiB")["stats"] == run("4096")["stats"]
    assert run("0")["time_ns"] > 0
    said = cli.refuses("run", "optane", "lattester", *few, "--set", f"workload.{key}=300")
    assert 'give a multiple of 64 bytes up to 64 MiB (65536, "64 KiB"), or 0' in said
    (row,) = cli.json("show", f"workload.{key}")["parameters"]
    assert (row["unit"], row["workloads"]) == ("B", ["lattester"])



def test_what_counts_stores_says_which(cli: Cli) -> None:
    rows = {row["name"]: row["meaning"] for row in cli.json("show", "stats")}
    assert "locked operations" in rows["cpu.pm_stores"] and "locked operations" in rows["cpu.stores"]


def test_references_with_the_set_up_are_told_as_such(cli: Cli) -> None:
    done = cli("run", "intel", "cceh", "--set", "workload.operations=50")
    assert " references with the set-up in " in done
    run = cli.json("run", "intel", "cceh", "--set", "workload.operations=50")
    assert run["references"] > run["stats"]["cpu.references"]



def test_numbers_of_composed_machines_are_numbers(cli: Cli) -> None:
    said = cli.json("run", "compose-bbb-two-media", "queue", "--set", "workload.operations=20")["configuration"]
    shares = {key: value for key, value in said.items() if key.startswith("memory.0.") or key.startswith("memory.1.")}
    assert shares["memory.0.share"] > 0 and isinstance(shares["memory.0.kind"], str) and not [v for v in shares.values() if isinstance(v, str) and v.replace(".", "").isdigit()]



def test_spaces_round_commas_are_no_names(cli: Cli) -> None:
    few = ("--set", "workload.operations=50")
    rows = cli.json("compare", "queue", "--on", "intel, eadr", *few)
    assert [row["machine"] for row in rows["machines"]] == ["intel", "eadr"]
    assert "a name is empty" in cli.refuses("compare", "queue", "--on", "intel, ", *few)



def test_what_a_file_is_about_is_a_text(cli: Cli) -> None:
    (cli.folder / "m.toml").write_text('extends = "intel"\nabout = 5\n')
    assert "m.toml:2: about: give a text in quotes" in cli.refuses("run", "m.toml", "queue")
    (cli.folder / "c.toml").write_text('machines = "intel"\nworkloads = "queue"\nabout = ["x"]\n')
    assert "c.toml:3: about: give a text in quotes" in cli.refuses("sweep", "c.toml")



def test_a_foreign_trace_is_told_how_it_is_read(cli: Cli) -> None:
    (cli.folder / "lk.txt").write_text(" L 04222c80,8\n S 04222c88,8\n")
    said = cli.refuses("trace", "convert", "lk.txt", "x.cpt")
    assert "--from FORMAT, one of lackey, champsim, " in said and "pmemcheck" in said



def test_a_litmus_test_comes_by_standard_input(cli: Cli) -> None:
    test = "X86 two-stores\n{ x=0; y=0; }\n P0          ;\n MOV [x],$1  ;\nexists (x=0 /\\ y=0)\n"
    (cli.folder / "sb.litmus").write_text(test)
    args = ("--model", "px86", "--format", "json")
    by_name, piped = cli.run("litmus", "sb.litmus", *args), cli.run("litmus", "-", *args, input=test)
    assert by_name.returncode == piped.returncode == 0, piped.stderr
    assert [row | {"file": ""} for row in json.loads(by_name.stdout)] == [row | {"file": ""} for row in json.loads(piped.stdout)]
    assert json.loads(piped.stdout)[0]["file"] == "-"
