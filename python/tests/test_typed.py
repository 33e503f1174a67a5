"""Names and keys are checked when things are made, results are typed, and what is shown needs no network."""

import copy
import json
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import altair as alt
import polars as pl
import pytest

import coreplane as cp
from coreplane import notebook

ROOT = Path(__file__).parents[2]
SMALL = cp.Workload("queue", operations=100)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: cp.Machine("asap-rp", ordering={"nope": 1}), 'unknown key "ordering.nope"'),
        (lambda: cp.Machine("asap-rp", ordering={"persist_buffer": "many"}), "ordering.persist_buffer: .*whole number"),
        (lambda: cp.Machine("asap-rp", {"ordering.persist_bufer": 1}), "ordering.persist_buffer"),
        (lambda: cp.Machine("intel", remote={"link_ns": 5}), "remote.link_ns"),
        (lambda: cp.Machine("intel", ordering={"persist_buffer": None}), "ordering.persist_buffer: give text, a number or a truth value, not NoneType"),
        (lambda: cp.Machine("bbb", memory=[{"kind": "tape"}]), "tape"),
        (lambda: cp.Machine("bbb", memory=[{"share": 1}]), "has no kind"),
        (lambda: cp.Workload("nope"), 'no workload is called "nope"'),
        (lambda: cp.Workload("trace:/no/such/file"), "/no/such/file"),
        (lambda: cp.Trace("/no/such/file"), "/no/such/file"),
        (lambda: cp.crash("asap-rp", SMALL, points=0), "points 0: give at least 1"),
        (lambda: cp.crash("asap-rp", SMALL, model="nope"), "model: `nope` is not known"),
        (lambda: cp.crash("asap-rp", SMALL, at="1 us", all=True), "give one of at, every and all"),
        (lambda: cp.litmus(text="no litmus"), "text:1"),
        (lambda: cp.explore("nope"), "`nope` is no protocol"),
        (lambda: cp.explore("asap", cores="many"), "many"),
        (lambda: cp.explore("remote", epochs=2), "does nothing for remote"),
        (lambda: cp.record(["/bin/true"], out="x.txt"), ".parquet or .cpt"),
        (lambda: cp.track(0), "give a process's number"),
        (lambda: cp.track(), "give one of a process's number, a command, the name of a process and a cgroup"),
        (lambda: cp.track(name="no-such-server"), "no-such-server: no process is called that"),
        (lambda: cp.track("true", interval=-1), "interval -1: give 0.001 to 86400 seconds"),
        (lambda: cp.reproduce("nope"), "give one of asap"),
        (lambda: cp.show("asapp"), "asap-ep"),
        (lambda: cp.run("intel", SMALL, seed=-1), "seed -1"),
        (lambda: cp.run("intel", SMALL, engine="slow"), "engine slow"),
        (lambda: cp.run("intel", SMALL, bands=True, timeline=True), "leave timeline and power_fails_at away"),
        (lambda: cp.run("intel", SMALL, runs=20), "give bands=True"),
        (lambda: cp.compare(SMALL, on="intel", bands=True, runs=0), "runs 0: give at least 1"),
        (lambda: cp.crash("intel", SMALL, resume=True), "resume: give out"),
    ],
)
def test_what_is_wrong_is_refused_where_it_is_said(make: object, says: str) -> None:
    with pytest.raises(cp.ConfigError, match=says) as error:
        make()
    for word in ("--", "Usage", "coreplane "):
        assert word not in str(error.value)


def test_errors_belong_to_the_package() -> None:
    assert (cp.ConfigError.__module__, cp.RunError.__module__) == ("coreplane", "coreplane")
    assert issubclass(cp.ConfigError, ValueError)
    assert issubclass(cp.RunError, RuntimeError)


def test_only_public_names_are_listed() -> None:
    assert set(dir(cp)) == set(cp.__all__)
    for name in cp.__all__:
        assert getattr(cp, name) is not None
    with pytest.raises(AttributeError, match="nope"):
        cp.nope  # noqa: B018


def test_a_run_answers_by_name() -> None:
    run = cp.run("asap-rp", SMALL)
    assert isinstance(run["ordering.epochs"], int)
    assert run["ordering.epochs"] == run.stats.filter(pl.col("name") == "ordering.epochs")["value"].item()
    assert "ordering.epochs" in run
    assert "nand.reads" not in run
    with pytest.raises(KeyError, match=r"did you mean .*ordering\.epochs"):
        run["ordering.epoch"]
    with pytest.raises(KeyError, match="it has no such part"):
        cp.run("eadr", SMALL)["ordering.recovery_table.max"]


def test_all_of_a_cores_time_is_there() -> None:
    found = cp.compare("queue", on=["intel", "asap-rp"])
    for run in found.runs:
        assert run.spent["share"].sum() == pytest.approx(1) and run.spent["time_ns"].sum() == pytest.approx(run.time)
        assert "fences" in run._repr_html_()
    assert set(found.spent["machine"]) == {"intel", "asap-rp"} and found.spent.columns == ["machine", "cause", "time_ns", "share"]
    pages = cp.run("amf", cp.Workload("redis-mem", operations=2000))
    assert pages.spent["time_ns"].sum() == pytest.approx(pages.time)


def test_a_timeline_comes_when_it_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="timeline=True"):
        cp.run("intel", SMALL).save_timeline(tmp_path / "t.pftrace")
    cp.run("intel", SMALL, timeline=True).save_timeline(tmp_path / "t.pftrace")
    assert (tmp_path / "t.pftrace").stat().st_size > 100


def test_one_name_is_one_machine_and_machines_of_one_name_are_told_apart() -> None:
    assert list(cp.compare(SMALL, on="intel")) == ["intel"]
    deep = cp.Machine("asap-rp", ordering={"persist_buffer": 4})
    both = cp.compare(SMALL, on=["asap-rp", deep])
    assert list(both) == ["asap-rp", "asap-rp ordering.persist_buffer = 4"]
    assert both["asap-rp"].time == cp.run("asap-rp", SMALL).time
    assert both.speedup["asap-rp"] == 1.0
    assert set(both.stats["machine"]) == set(both)
    assert cp.compare(SMALL, on=["intel", deep], baseline=deep).baseline == "asap-rp"
    with pytest.raises(cp.ConfigError, match="label"):
        cp.compare(SMALL, on=["intel", "intel"])


def test_a_machine_has_a_list_of_memories() -> None:
    slow = cp.Machine("bbb", memory=[{"kind": "pm", "share": 3}, {"kind": "pm", "pm": {"read_ns": 900}}])
    assert cp.run(slow, SMALL).configuration != cp.run("bbb", SMALL).configuration


def test_a_machine_is_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('extends = "asap-rp"\n[ordering]\npersist_buffer = 4\n')
    machine = cp.Machine(tmp_path / "mine.toml")
    assert machine.name == "mine"
    assert cp.run(machine, SMALL).time == cp.run(cp.Machine("asap-rp", ordering={"persist_buffer": 4}), SMALL).time
    row = machine.parameters.filter(pl.col("key") == "ordering.persist_buffer")
    assert row["value"].item() == "4"


def test_power_failures_give_both_stores() -> None:
    found = cp.crash("intel", cp.Workload("hashmap", bug="flush-address", operations=20), points=60, every=20)
    assert not found.ok
    first = next(f for f in found.findings if f.source == "model")
    assert first.missing
    assert first.present
    assert first.why
    assert found.images > 0
    assert found.images_possible is None
    again = cp.crash("intel", cp.Workload("hashmap", bug="flush-address", operations=20), replay=first.replay)
    assert not again.ok
    clean = cp.crash("asap-rp", SMALL, points=40)
    assert clean.ok
    assert clean.points > 0
    assert clean.table.is_empty()


STORE_BUFFERING = """X86 two-stores
{ x=0; y=0; }
 P0          ;
 MOV [x],$1  ;
 MOV [y],$1  ;
exists (x=0 /\\ y=1)
"""


def test_litmus_tests_give_images() -> None:
    found = cp.litmus(text=STORE_BUFFERING, model="px86")
    assert len(found) == 1
    assert found[0].reachable
    assert {"x": 0, "y": 1} in found[0].images
    own = cp.litmus()
    assert own.ok
    assert own.table["ok"].all()


def test_explorations_find_seeded_mistakes_and_take_their_steps_again() -> None:
    whole = cp.explore("bbb")
    assert whole.ok
    assert whole.complete
    assert whole.states > 10
    mutants = cp.protocols().filter(pl.col("name") == "bbb")["mutants"].item()
    name = mutants[0].split(":")[0]
    found = cp.explore("bbb", mutant=name)
    assert found.violation is not None
    assert cp.replay("bbb", found.violation.choices, mutant=name).message == found.violation.message


def test_what_there_is_can_be_listed() -> None:
    assert "asap-rp" in cp.machines()["name"]
    assert "cceh" in cp.workloads()["name"]
    assert cp.show("machines").equals(cp.machines())
    assert cp.show("memory.writes")["meaning"].item()
    assert "workload.threads" in cp.show("cceh")["key"]
    assert "ordering.persist_buffer" in cp.parameters("asap-rp")["key"]
    assert len(cp.claims()) > 20
    assert "ordering" in cp.schema()["properties"]


def test_a_live_program_is_tracked() -> None:
    program = "import time; d = bytearray(1 << 20)\nfor i in range(40): d[i * 4096] = i + 1; time.sleep(0.02)"
    found = cp.track([sys.executable, "-c", program], interval=0.1, windows=3)
    assert found.table["bytes"].sum() > 0
    assert isinstance(found.plot(), alt.Chart)
    assert not len(found.mappings)
    hot = cp.track([sys.executable, "-c", program], interval=0.1, windows=3, accessed=True)
    assert hot.mappings["pages_accessed"].sum() == hot.table["pages_accessed"].sum() > 0


def test_a_program_is_tracked_by_its_name(tmp_path: Path) -> None:
    program = tmp_path / f"named-{os.getpid()}"
    shutil.copy(shutil.which("sleep") or "sleep", program)
    with subprocess.Popen([program, "60"]) as running:
        found = cp.track(name=program.name, interval=0.05, windows=2)
        assert len(found) == 2 and found.processes["process"].to_list() == [running.pid] * 2
        assert cp.track([running.pid], interval=0.05, windows=1).processes["name"].to_list() == [program.name]
        running.kill()
    shell = cp.track(["sh", "-c", "sleep 0.1 & wait"], children=True)
    assert set(shell.processes["name"]) == {"sh", "sleep"}


def test_ctrl_c_ends_tracking_with_what_was_seen() -> None:
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    found = cp.track(["sleep", "600"], interval=0.1)
    assert 0 < len(found) < 100


def test_an_empty_section_has_a_name_that_keys_have() -> None:
    assert cp.Machine("intel", cpu={}, memory={"pm": {}}) == cp.Machine("intel")
    assert len(cp.Machine("intel", memory=[{"kind": "pm", "pm": {}}]).memories) == 1
    for given, says in [
        ({"nope": {}}, 'unknown key "nope"'),
        ({"memory": {"pmm": {}}}, 'unknown key "memory.pmm"'),
        ({"memory": [{"kind": "pm", "pmm": {}}]}, 'unknown key "pmm" of a memory'),
        ({"cpu": {"cores": {}}}, "cpu.cores: give a value"),
    ]:
        with pytest.raises(cp.ConfigError, match=says):
            cp.Machine("intel", **given)
    with pytest.raises(cp.ConfigError, match="operations: give a value"):
        cp.Workload("queue", operations={})


def test_a_recording_is_a_workload(tmp_path: Path) -> None:
    program, trace = tmp_path / "kv", tmp_path / "kv.parquet"
    coreplane = str(Path(sys.executable).parent / "coreplane")
    subprocess.run([coreplane, "cc", "-O2", "-pthread", str(ROOT / "examples/kv/kv.c"), "-o", str(program)], check=True)
    recorded = cp.record([program, tmp_path / "kv.pm", "2", "50"], out=trace)
    assert recorded.paths == [trace]
    assert recorded.summary["records"] == recorded.kinds["records"].sum() == recorded.records.select(pl.len()).collect().item()
    found = cp.crash("intel", recorded, check="test -s {image}", points=20, images=8)
    assert found.points > 0
    assert found.images_possible >= found.images > 0
    both = cp.compare(recorded, on=["intel", "asap-rp"])
    assert both.table.columns[:3] == ["machine", "time_ns", "speedup"]
    assert pickle.loads(pickle.dumps(recorded)).summary == recorded.summary


def shown() -> list[object]:
    comparison = cp.compare(SMALL, on=["intel", "eadr"])
    return [
        cp.Machine("asap-rp"), SMALL, comparison.runs[0], comparison, comparison.plot(), cp.crash("eadr", SMALL, points=10),
        cp.litmus(text=STORE_BUFFERING), cp.explore("bbb"),
    ]  # fmt: skip


def test_notebooks_show_everything_without_a_network() -> None:
    for thing in shown():
        html = thing._repr_html_()
        assert "<" in html, thing
        assert "http" not in html.replace("http://www.w3.org/", ""), thing
    bundle = cp.compare(SMALL, on=["intel"]).plot()._repr_mimebundle_()
    assert bundle["text/html"].startswith("<svg")
    assert "&lt;script&gt;" in notebook.table(pl.DataFrame({"x": ["<script>"]}))


def test_machines_workloads_and_results_can_be_pickled() -> None:
    machine = cp.Machine("asap-rp", ordering={"persist_buffer": 8}, label="eight")
    again = pickle.loads(pickle.dumps((machine, SMALL)))
    assert again == (machine, SMALL)
    assert hash(again) == hash((machine, SMALL))
    run = pickle.loads(pickle.dumps(cp.run(machine, SMALL)))
    assert run.machine == "eight"
    assert run.time == cp.run(again[0], again[1]).time


def test_a_machine_that_is_copied_is_what_its_files_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("base.toml").write_text('extends = "intel"\n')
    Path("mine.toml").write_text('extends = "base.toml"\n')
    machine = cp.Machine("mine.toml", {"memory.pm.read_ns": 300})
    Path("base.toml").write_text('extends = "eadr"\n')
    other = cp.Machine("mine.toml", {"memory.pm.read_ns": 300})
    assert machine != other
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for again in (pickle.loads(pickle.dumps(machine)), copy.copy(machine), copy.deepcopy(machine), machine.named_by_changes()):
        assert again.parameters.equals(machine.parameters) and not again.parameters.equals(other.parameters)
    assert pickle.loads(pickle.dumps(machine)) == machine


def test_a_recording_that_is_copied_is_found_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.rd").write_text("LD 0x10 8\n")
    subprocess.run([sys.executable, "-m", "coreplane._cli", "trace", "convert", "--quiet", "--from", "ramulator-data", "a.rd", "a.cpt"], check=True)
    workload = cp.Workload("trace:a.cpt")
    kept = pickle.dumps(workload)
    assert pickle.loads(kept) == workload
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert pickle.loads(kept).parameters.equals(workload.parameters)


def test_processes_that_are_spawned_can_run() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.starmap(cp.run, [(cp.Machine("eadr"), SMALL)])
    assert found[0].time == cp.run("eadr", SMALL).time


@pytest.mark.parametrize(
    "work",
    [
        lambda: cp.run("intel", cp.Workload("mix", operations=10_000_000)),
        lambda: cp.crash("asap-rp", "cceh", points=1_000_000, every=1),
        lambda: cp.explore("asap", epochs=6),
        lambda: cp.record(["sleep", "600"], out="never.parquet", route="hooks"),
        lambda: cp.reproduce("asap"),
    ],
    ids=["run", "crash", "explore", "record", "reproduce"],
)
def test_ctrl_c_stops_long_work(work: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert list(tmp_path.iterdir()) == []
    assert cp.run("eadr", SMALL).time > 0


def test_bands_say_how_far_numbers_go_and_what_moves_them() -> None:
    few = {"seed": 3, "bands": True, "runs": 40}
    compared = cp.compare(SMALL, on=["intel", "asap-rp"], **few)
    row = compared.table.row(by_predicate=pl.col("machine") == "asap-rp", named=True)
    assert row["speedup_low"] < row["speedup"] < row["speedup_high"]
    alone = cp.run("asap-rp", SMALL, **few)
    assert alone.band[0] < alone.time < alone.band[1]
    assert alone.effects["parameter"][0] == alone.moved_by
    assert alone.effects["swing"].is_sorted(descending=True)
    # What the user sets is not open.
    held = cp.run(cp.Machine("asap-rp", {alone.moved_by: alone.configuration[alone.moved_by]}), SMALL, **few)
    assert alone.moved_by not in held.effects["parameter"]
    assert cp.run("asap-rp", SMALL).band is None and cp.run("asap-rp", SMALL).effects.is_empty()


def test_a_crash_search_keeps_what_it_found(tmp_path: Path) -> None:
    found = cp.crash("asap-rp", SMALL, points=5, out=tmp_path)
    kept = json.loads((tmp_path / "crash.json").read_text())
    assert {name: kept[name] for name in found.data} == found.data
    assert not (tmp_path / "crash.so-far.json").exists()
