"""The demo's story, with what is installed already: real input, machines that differ, time that adds up, a mistake that is found."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from conftest import COREPLANE, ROOT


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("demo")
    script = (ROOT / "demo").read_text()
    head, story = script.split("environment\n", 1)
    assert "source" in head
    story = story.replace(".venv/bin/coreplane", str(COREPLANE)).replace("out=out/demo", f"out={folder}")
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", story], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, folder


def test_machines_differ_and_the_reasons_are_named(demo: tuple[str, Path]) -> None:
    text, folder = demo
    machines = json.loads((folder / "compare.json").read_text())["machines"]
    speed = {m["machine"]: m["speedup"] for m in machines}
    assert speed["intel"] == 1 < speed["asap-rp"] < speed["eadr"] and speed["hops-rp"] < speed["asap-rp"]
    for m in machines[1:]:
        assert "each core spends" in m["explained"]
    assert text.count("times as fast as intel") == 4
    report = (folder / "report.html").read_text()
    assert "The first microseconds" in report and "to scale" in report


def test_no_difference_that_is_told_is_one_of_the_recordings_schedules(demo: tuple[str, Path]) -> None:
    text, folder = demo
    machines = {m["machine"]: m for m in json.loads((folder / "compare.json").read_text())["machines"]}
    times = {name: m["band"]["recordings"]["time_ns"] for name, m in machines.items()}
    assert all(len(own) == 5 for own in times.values())
    for slow, fast in (("intel", "hops-rp"), ("hops-rp", "asap-rp"), ("asap-rp", "eadr")):
        assert all(a > b for a, b in zip(times[slow], times[fast], strict=True)), f"{fast} is faster than {slow} in every recording"
    for name in ("hops-rp", "asap-rp", "bbb", "eadr"):
        low, high = machines[name]["band"]["speedup"]
        assert high - low < low - 1, "the difference is larger than what recordings differ by"
        assert f"{name} is {machines[name]['speedup']:.2f} ({low:.2f} to {high:.2f}) times as fast as intel" in text


def test_flushes_keep_their_lines_where_the_processor_has_such(demo: tuple[str, Path]) -> None:
    # With clflush, which throws lines out, the first machine would be slow for how the example is written.
    _, folder = demo
    told = subprocess.run([COREPLANE, "trace", "info", folder / "kv.1.cpt", "--format", "json"], capture_output=True, text=True, check=True)
    kinds = json.loads(told.stdout)["kinds"]
    wanted, other = ("clwb", "clflush") if " clwb" in Path("/proc/cpuinfo").read_text() else ("clflush", "clwb")
    assert kinds[wanted] > 1000 and not kinds.get(other)


def test_all_of_the_cores_time_is_there(demo: tuple[str, Path]) -> None:
    _, folder = demo
    for m in json.loads((folder / "compare.json").read_text())["machines"]:
        spent = sum(v for k, v in m["stats"].items() if k.startswith("time."))
        cores = round(spent / m["time_ns"])
        assert cores >= 4 and spent == pytest.approx(cores * m["time_ns"], rel=0, abs=cores * 0.001), "a mean of times is in whole picoseconds"


def test_the_right_program_is_clean_and_the_mistake_is_found(demo: tuple[str, Path]) -> None:
    text, folder = demo
    clean, wrong = text.split("== 4.")
    assert re.findall(r"recovery fails +(\d+)", clean) == ["0", "0"]
    assert re.search(r"recovery fails +[1-9]\d* points", wrong)
    assert "the store at kv.c" in wrong and "can persist before the store at kv.c" in wrong
    assert json.loads((folder / "crash/crash.json").read_text())["clean"] is False
