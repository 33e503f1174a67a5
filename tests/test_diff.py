"""`coreplane diff`: what differs between two results, in words, as JSON and as a page."""

import json
import math
import os
import re
import shlex
import subprocess

import pytest
from conftest import CORE, Cli, Core

import coreplane as cp


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """Results of one structure: on two machines, with another parameter, and of several machines."""
    cli = Cli(tmp_path_factory.mktemp("kept"))
    core = Core(cli.folder)
    small = ("--set", "workload.operations=200", "--quiet")
    core("run", "intel", "queue", *small, "--out", "intel")
    core("run", "asap-rp", "queue", *small, "--out", "asap")
    core("run", "intel", "queue", *small, "--set", "memory.pm.read_ns=400", "--out", "slow")
    core("compare", "queue", "--on", "intel,eadr,bbb", *small, "--no-bands", "--out", "three")
    core("compare", "queue", "--on", "asap-rp,intel,eadr", *small, "--no-bands", "--set", "memory.pm.read_ns=400", "--out", "others")
    return cli


def test_parameters_and_statistics_that_differ_are_named(kept: Cli) -> None:
    text = kept("diff", "intel", "slow")
    assert re.search(r"after:  queue on intel, seed 1: .*, 1\.\d\d times slower", text)
    assert re.search(r"^memory.pm.read_ns +175 +400$", text, re.M), text
    assert re.search(r"^time.memory .* \+\d+\.\d %$", text, re.M) and "cores' time" in text
    data = kept.json("diff", "intel", "slow")
    (pair,) = data["pairs"]
    assert pair["parameters"] == [{"key": "memory.pm.read_ns", "before": 175.0, "after": 400.0}]
    time = next(entry for entry in pair["statistics"] if entry["name"] == "time.memory")
    assert time["unit"] == "ns" and abs(time["change_percent"] - 100 * (time["after"] / time["before"] - 1)) < 1e-9
    assert abs(pair["speedup"] - pair["before"]["time_ns"] / pair["after"]["time_ns"]) < 1e-9 and pair["speedup"] < 1
    names = {entry["name"] for entry in pair["statistics"]}
    same = {name for name, value in pair["before"]["stats"].items() if pair["after"]["stats"].get(name) == value}
    assert not names & same and names | same >= set(pair["before"]["stats"])


def test_a_result_does_not_differ_from_itself(kept: Cli) -> None:
    text = kept("diff", "asap", "asap")
    assert "every statistic is the same" in text and "as fast as before" in text and "parameter" not in text
    (pair,) = kept.json("diff", "asap", "asap/run.json")["pairs"]
    assert (pair["speedup"], pair["parameters"], pair["statistics"]) == (1.0, [], [])


def test_machines_are_told_apart_by_name(kept: Cli) -> None:
    data = kept.json("diff", "three", "others")
    assert [(p["before"]["machine"], p["after"]["machine"]) for p in data["pairs"]] == [("intel", "intel"), ("eadr", "eadr")]
    assert data["alone"] == ["bbb only in three", "asap-rp only in others"]
    assert len(kept.json("diff", "intel", "asap")["pairs"]) == 1
    assert "they have no machine in common: asap-rp only in asap, intel only in three" in kept.refuses("diff", "asap", "three")


def test_one_that_became_slower_ends_with_1_where_that_is_asked(kept: Cli) -> None:
    done = kept.run("diff", "intel", "slow", "--slower-than", 2)
    assert done.returncode == 1 and "slower by more than 2 %: queue on intel, seed 1" in done.stderr
    assert kept.run("diff", "slow", "intel", "--slower-than", 2).returncode == 0
    run = json.loads((kept.folder / "intel/run.json").read_text())
    (kept.folder / "little.json").write_text(json.dumps(run | {"time_ns": run["time_ns"] * 1.00001}))
    done = kept.run("diff", "intel", "little.json", "--slower-than", 0.0001)
    assert done.returncode == 1 and done.stderr.endswith("slower by more than 0.0001 %: queue on intel, seed 1 by 0.001 %\n")


def test_a_result_is_printed_where_no_progress_is_wanted(kept: Cli) -> None:
    assert kept("diff", "intel", "slow", "--quiet") == kept("diff", "intel", "slow")
    assert kept.run("diff", "intel", "slow", "--slower-than", 100000).returncode == 0


def test_what_cannot_be_compared_passes_no_check(kept: Cli) -> None:
    for percent in ("nan", "1e400", "-5"):
        assert "give a number of percent, from 0 on" in kept.refuses("diff", "intel", "slow", "--slower-than", percent)
    assert "--slower-than: bbb only in three" in kept.refuses("diff", "three", "others", "--slower-than", 5)
    core = Core(kept.folder)
    core("run", "intel", "queue", "--set", "workload.operations=100", "--quiet", "--out", "less")
    assert "the one did 200 operations, the other 100" in kept("diff", "intel", "less")
    assert "did 200 operations, the other 100, so that times cannot be compared" in kept.refuses("diff", "intel", "less", "--slower-than", 5)
    core("run", "intel", "cceh", "--set", "workload.operations=200", "--quiet", "--out", "another")
    assert "the workloads are not the same" in kept.refuses("diff", "intel", "another", "--slower-than", 5)
    found = cp.diff(kept.folder / "intel", kept.folder / "another")
    assert found.other_work == {"intel": "the workloads are not the same"} and "(the workloads are not the same)" in repr(found)
    assert cp.diff(kept.folder / "intel", kept.folder / "slow").other_work == {}


def test_recordings_are_told_apart_by_what_they_hold(kept: Cli) -> None:
    def recorded(stores: int, name: str) -> None:
        program = cp.Program()
        at = program.map("f", 4096)
        for n in range(stores):
            program.main.store(at + 8 * n, n)
        program.save(kept.folder / name)

    for stores, name, out in ((5, "t.parquet", "five"), (9, "t.parquet", "nine"), (5, "u.parquet", "again")):
        recorded(stores, name)
        Core(kept.folder)("run", "intel", f"trace:{name}", "--no-bands", "--quiet", "--out", out)
    assert "the recordings are not the same" in kept("diff", "five", "nine")
    assert "not the same" not in kept("diff", "five", "again")


def test_fewer_statistics_are_shown_where_they_move_little(kept: Cli) -> None:
    rows = lambda *more: len([line for line in kept("diff", "intel", "slow", *more).splitlines() if re.match(r"^[a-z_0-9]+\.\S+ .*(%|-)$", line)])  # noqa: E731
    assert rows("--at-least", 1000) < rows("--at-least", 5) < rows("--all")


def test_what_a_shell_pipes_in_is_read_as_a_file_is(kept: Cli) -> None:
    core = shlex.join(map(str, CORE))
    one = f"<({core} run <(echo 'extends = \"intel\"') queue --set workload.operations=200 --quiet --format json)"
    said = subprocess.run(["bash", "-c", f"{core} diff {one} intel --format json"], cwd=kept.folder, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    (pair,) = json.loads(said.stdout)["pairs"]
    assert (pair["speedup"], pair["statistics"]) == (1.0, [])


def test_what_is_no_result_is_refused(kept: Cli) -> None:
    (kept.folder / "empty").mkdir(exist_ok=True)
    for name, text in (("text.json", "{"), ("list.json", "[]"), ("odd.json", '{"machine": 1}'), ("none.json", '{"machines": []}')):
        (kept.folder / name).write_text(text)
    assert "neither run.json nor compare.json" in kept.refuses("diff", "empty", "intel")
    assert "nope: No such file" in kept.refuses("diff", "intel", "nope")
    assert "text.json: it is no JSON" in kept.refuses("diff", "text.json", "intel")
    (kept.folder / "t.cpt").write_bytes(b"COREPLNT" + bytes(8))
    assert "t.cpt: it is a recording, and no result of run or compare" in kept.refuses("diff", "intel", "t.cpt")
    (kept.folder / "bytes.json").write_bytes(b"\xff\xfe")
    assert "bytes.json: it is no text, and no result of run or compare" in kept.refuses("diff", "bytes.json", "intel")
    run = json.loads((kept.folder / "intel/run.json").read_text())
    (kept.folder / "back.json").write_text(json.dumps(run | {"time_ns": -1}))
    os.mkfifo(kept.folder / "pipe")
    assert kept.refuses("diff", "intel", "pipe") == "coreplane: pipe: it is neither a folder that run or compare --out made nor a file of their JSON"
    (kept.folder / "bell.json").write_text(json.dumps(run | {"machine": "a\x1b[2Jb"}))
    assert "\x1b" not in kept("diff", "bell.json", "intel")
    for name in ("list.json", "odd.json", "none.json", "back.json"):
        assert f"{name}: it is no result of run or compare" in kept.refuses("diff", "intel", name)


def test_a_result_of_no_simulated_time_is_compared_but_for_its_speed(kept: Cli) -> None:
    run = json.loads((kept.folder / "intel/run.json").read_text())
    none = {name: 0 for name in run["stats"] if name.startswith("time.")}
    for name, time in (("no-time.json", 0), ("none-either.json", 0)):
        (kept.folder / name).write_text(json.dumps(run | {"time_ns": time, "stats": run["stats"] | none}))
    for sides, words in ((("intel", "no-time.json"), "after"), (("no-time.json", "intel"), "before"), (("no-time.json", "none-either.json"), "before or after")):
        text = kept("diff", *sides)
        assert f"no simulated time passed {words}, so that there is no speedup" in text
        (pair,) = kept.json("diff", *sides)["pairs"]
        assert pair["speedup"] is None and bool(pair["statistics"]) is (words != "before or after")
        assert "--slower-than: no simulated time passed" in kept.refuses("diff", *sides, "--slower-than", 5)
        found = cp.diff(*[kept.folder / side for side in sides])
        assert math.isnan(found.speedup["intel"]) and repr(found) == "<intel: no speedup>"
    kept("diff", "intel", "no-time.json", "--out", "n", "--quiet")
    assert "no speedup, since no simulated time passed on one side or both" in (kept.folder / "n/report.html").read_text()


def test_a_page_shows_both_sides(kept: Cli) -> None:
    assert "report: d/report.html" in kept("diff", "intel", "asap", "--out", "d")
    page = (kept.folder / "d/report.html").read_text()
    assert re.search(r"queue on asap-rp, seed 1: \d\.\d\d times as fast as before \([^)]* before, [^)]* after\)\. What changed most: each core spends \S+ \w+ less on \w+", page)
    assert "coreplane run intel queue" in page and page.count(f"<td class=\"t\">{cp.__version__}</td>") == 2
    for heading in ("Where the time went", "How long operations take", "Parameters that differ", "Statistics that differ", "Provenance"):
        assert heading in page, heading
    assert "flush instructions that left a core" in page and (kept.folder / "d/time.svg").exists()
    kept("diff", "three", "others", "--out", "several", "--quiet")
    several = (kept.folder / "several/report.html").read_text()
    places = re.findall(r'<h2 id="([^"]+)"', several)
    assert "Statistics that differ: eadr" in several and len(places) == len(set(places))
    assert json.loads((kept.folder / "several/diff.json").read_text())["provenance"]["command"].startswith("coreplane diff three others")
    assert sorted(place.parent.name for place in kept.folder.glob("several/*/time.svg")) == ["01.intel", "02.eadr"]
    Core(kept.folder)("diff", "intel", "asap", "--out", "several")
    assert [place.name for place in kept.folder.glob("several/*")] == ["diff.json"], "no figure of the pairs before"


def test_python_gives_frames(kept: Cli) -> None:
    found = cp.diff(kept.folder / "intel", kept.folder / "slow")
    assert found.parameters.rows() == [("intel", "memory.pm.read_ns", "175", "400")] and found.speedup["intel"] < 1
    assert set(found.statistics.columns) == {"machine", "name", "unit", "before", "after", "change_percent"}
    assert "times as fast" in repr(found) and "memory.pm.read_ns" in found._repr_html_()
    same = cp.diff(kept.folder / "intel", kept.folder / "intel")
    assert not len(same.statistics) and same.statistics.schema == found.statistics.schema and same.parameters.schema == found.parameters.schema
    with pytest.raises(cp.ConfigError, match="nope"):
        cp.diff(kept.folder / "nope", kept.folder / "slow")


def test_python_takes_results_that_are_kept_in_no_file(kept: Cli) -> None:
    small = cp.Workload("queue", operations=200)
    runs = [cp.run(machine, small) for machine in ("intel", cp.Machine("intel", {"memory.pm.read_ns": 400}))]
    found = cp.diff(*runs)
    assert found.parameters.rows() == [("intel", "memory.pm.read_ns", "175", "400")]
    assert found.statistics.rows() == cp.diff(kept.folder / "intel", runs[1]).statistics.rows()
    compared = cp.compare(small, on=["intel", "eadr"], no_bands=True)
    assert cp.diff(compared, compared).speedup == {"intel": 1, "eadr": 1}
    with pytest.raises(cp.ConfigError, match="no machine in common: asap-rp only in before"):
        cp.diff(cp.run("asap-rp", small), compared)
    with pytest.raises(TypeError, match="after: give a Run, a Comparison or the path"):
        cp.diff(runs[0], 7)  # type: ignore[arg-type]
