"""Ctrl-C and its like: every command ends soon, says so in one line, keeps what is whole and leaves nothing else."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import COREPLANE, ROOT, Cli, Core, as_by_hand

LONG = ("--set", "workload.operations=10000000")
CAMPAIGN = """
machines = ["asap-rp", "intel"]
workloads = ["mix"]
seeds = [1, 2, 3, 4, 5, 6, 7, 8]
[vary]
workload.operations = [100, 10000000]
"""
COMMANDS = {
    "run": ("run", "intel", "mix", *LONG),
    "run of hits alone": ("run", "intel", "bench", *LONG),
    "run of pages": ("run", "dram-swap", "redis-mem"),
    "compare": ("compare", "mix", "--on", "intel,asap-rp,eadr", *LONG),
    "reproduce": ("reproduce", "asap"),
    "crash": ("crash", "asap-rp", "cceh", "--points", "1000000", "--every", "1"),
    "explore": ("explore", "asap", "--epochs", "6"),
    "bench": ("bench",),
    "record": ("record", "--route", "hooks", "--", "sleep", "600"),
}


def started(folder: Path, *args: str, **options: object) -> subprocess.Popen[str]:
    env = {**os.environ, "TMPDIR": str(folder)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": folder, "env": env}
    return subprocess.Popen([str(COREPLANE), *args], preexec_fn=as_by_hand, **(pipes | options))


def ended(process: subprocess.Popen[str], number: int) -> str:
    """What it said after the signal; the limit is for a loaded machine."""
    time.sleep(1)
    assert process.poll() is None, process.communicate()
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number, said
    assert "Traceback" not in said
    assert "panicked" not in said
    return said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_signal_ends_a_command_with_one_line_and_nothing_left(tmp_path: Path, command: tuple[str, ...], number: int) -> None:
    said = ended(started(tmp_path, *command), number)
    assert said == "coreplane: interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_keeps_the_runs_that_are_done(cli: Cli) -> None:
    (cli.folder / "c.toml").write_text(CAMPAIGN)
    sweep = started(cli.folder, "sweep", "c.toml", "--jobs", "2")
    for _ in range(600):
        if list(cli.folder.glob("c.sweep/*.parquet")):
            break
        time.sleep(0.1)
    said = ended(sweep, signal.SIGINT)
    assert said == "coreplane: interrupted; runs that are done are in c.sweep (--resume goes on)\n"
    files = [path for path in (cli.folder / "c.sweep").iterdir() if path.suffix not in (".json", ".parquet", ".toml")]
    assert files == []
    plan = cli.json("sweep", "c.toml", "--resume", "--plan")
    assert 0 < sum(run["done"] for run in plan["runs"]) < len(plan["runs"])


def test_a_comparison_keeps_the_runs_that_are_done(cli: Cli) -> None:
    machines = "intel,eadr,bbb,hops-ep,hops-rp,asap-ep,asap-rp,dpo,lb++,lrp"
    process = started(cli.folder, "compare", "mix", "--on", machines, "--out", "out", "--set", "workload.operations=50000")
    kept = cli.folder / "out/runs"
    while not list(kept.glob("*.json")):
        time.sleep(0.01)
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and said == "coreplane: interrupted; runs that are done are in out/runs (the same command goes on)\n"
    files = sorted(kept.iterdir())
    assert 0 < len(files) < 10 and not (cli.folder / "out/compare.json").exists()
    for file in files:
        report = json.loads(file.read_text())
        number, machine, _ = file.name.split(".")
        assert report["machine"] == machine == machines.split(",")[int(number) - 1] and report["time_ns"] > 0
    # The same command makes the others alone, and says what one makes that was not interrupted.
    before = {file: file.stat().st_mtime_ns for file in files}
    words = ["compare", "mix", "--on", machines, "--set", "workload.operations=50000"]
    core = Core(cli.folder)
    core(*words, "--out", "out")
    kept_for = [json.loads(file.read_text())["kept_for"] for file in kept.iterdir()]
    assert len(set(kept_for)) == 10
    whole = json.loads((cli.folder / "out/compare.json").read_text())
    core(*words, "--out", "anew")
    fresh = json.loads((cli.folder / "anew/compare.json").read_text())
    for row in whole["machines"] + fresh["machines"]:
        del row["host_seconds"]
    assert whole["machines"] == fresh["machines"]
    # What was kept for another seed is not taken.
    core(*words, "--out", "out", "--seed", 2)
    again = json.loads((cli.folder / "out/compare.json").read_text())
    assert [row["seed"] for row in again["machines"]] == [2] * 10 and before


@pytest.mark.parametrize("command", [("reproduce", "asap"), ("curve", "optane")], ids=lambda c: c[0])
def test_an_evaluation_keeps_the_runs_that_are_done_and_goes_on_with_them(cli: Cli, command: tuple[str, ...]) -> None:
    reproduce = started(cli.folder, *command, "--out", "kept")
    for _ in range(600):
        if list(cli.folder.glob("kept/runs/*.json")):
            break
        time.sleep(0.1)
    said = ended(reproduce, signal.SIGINT)
    assert said == "coreplane: interrupted; runs that are done are in kept/runs (the same command goes on)\n"
    kept = {path: path.stat().st_mtime_ns for path in cli.folder.glob("kept/runs/*.json")}
    again = started(cli.folder, *command, "--out", "kept")
    ended(again, signal.SIGINT)
    after = {path: path.stat().st_mtime_ns for path in cli.folder.glob("kept/runs/*.json")}
    assert kept and kept.items() <= after.items(), "what was kept is run again"


def test_power_failures_on_a_machine_go_on_where_they_were_interrupted(cli: Cli) -> None:
    cli("cc", "-O1", "-I", ROOT / "capture", ROOT / "tests/programs/log.c", "-o", "log")
    cli("record", "--quiet", "--out", "bad.cpt", "--", "./log", "bad.pm", "order")
    calls = cli.folder / "calls"
    check = f"echo >> {calls}; sleep 0.02; ./log check {{image}} {{acknowledged}}"
    command = ["crash", "intel", "trace:bad.cpt", "--check", check, "--points", "30", "--images", "4", "--quiet", "--out"]
    process, so_far = started(cli.folder, *command, "o"), cli.folder / "o/crash.so-far.json"
    while not so_far.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "; what was found so far is in o/crash.so-far.json (--resume goes on)" in said
    kept = json.loads(so_far.read_text())
    assert 0 < kept["timed"]["points"] < 30 and kept["found"]["points"] == 0

    def made(folder: str, *more: str) -> tuple[dict, int]:
        calls.unlink()
        Core(cli.folder)(*command, folder, *more, code=1)
        result = json.loads((cli.folder / folder / "crash.json").read_text())
        return {part: result[part] for part in ("timed", "model_images")}, len(calls.read_text())

    (result, less), (whole, all_of_them) = made("o", "--resume"), made("anew")
    assert result == whole and whole["timed"]["failing_points"] > 0
    assert less < all_of_them, "what was tried is tried again"
    assert not so_far.exists()


def test_ctrl_c_on_a_terminal_ends_a_run_and_its_progress(tmp_path: Path) -> None:
    above, below = pty.openpty()
    run = started(tmp_path, "run", "intel", "mix", *LONG, stdin=below, stdout=below, stderr=below, start_new_session=True)
    os.close(below)
    said = b""
    while b"references/s" not in said:
        said += os.read(above, 4096)
    assert b"us simulated" in said or b"ms simulated" in said
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(timeout=60) == 130
    rest = os.read(above, 65536)
    assert rest.count(b"coreplane: interrupted") == 1


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    ignored = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    run = subprocess.Popen([str(COREPLANE), "run", "intel", "mix", *LONG], preexec_fn=ignored, cwd=tmp_path)
    time.sleep(1)
    run.send_signal(signal.SIGHUP)
    time.sleep(1)
    assert run.poll() is None
    run.kill()
    run.wait()


PYTHON = """
import signal, threading, time
import coreplane as cp
signal.signal(signal.SIGINT, signal.default_int_handler)
before = cp.run("asap-rp", "queue")
threading.Timer(1, lambda: signal.raise_signal(signal.SIGINT) or None).start()
try:
    WORK
except KeyboardInterrupt:
    print("interrupted")
print(cp.run("asap-rp", "queue").data["stats"] == before.data["stats"])
"""


@pytest.mark.parametrize(
    "work",
    [
        'cp.run("intel", cp.Workload("mix", operations=10000000))',
        'cp.compare(cp.Workload("mix", operations=10000000), on=["intel", "asap-rp"])',
        'cp.sweep("c.toml")',
    ],
)
def test_python_raises_keyboard_interrupt_and_goes_on(tmp_path: Path, work: str) -> None:
    pytest.importorskip("coreplane._core")
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    script = PYTHON.replace("WORK", work)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["interrupted", "True"], done.stderr
