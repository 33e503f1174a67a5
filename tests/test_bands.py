"""Bands: what nobody has published, varied; on the command line, for claims and for a program of one's own."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from conftest import CORE

SMALL = ["--set", "workload.operations=200", "--quiet"]


def coreplane(*args: str, cwd: Path | None = None, code: int = 0) -> str:
    done = subprocess.run([*CORE, *args], capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def of_the_design(folder: Path) -> list[Path]:
    """Its runs; those of the machines as they are have a number and a name."""
    return [file for file in folder.glob("*.json") if not file.name[:2].isdigit() or "." not in file.stem]


def test_every_parameter_says_where_it_comes_from() -> None:
    kinds = {"paper", "artifact", "datasheet", "measured", "fitted", "open"}
    rows = json.loads(coreplane("show", "asap-rp", "--format", "json"))["parameters"]
    assert {row["source_kind"]["kind"] for row in rows} <= kinds
    commit = next(row for row in rows if row["key"] == "ordering.commit_ns")
    assert commit["source_kind"]["kind"] == "open" and commit["source_kind"]["interval"] == ["5", "50"]
    assert commit["source_kind"]["reason"]
    schema = json.loads(coreplane("show", "schema"))
    assert schema["properties"]["ordering"]["properties"]["commit_ns"]["x-source"]["interval"] == ["5", "50"]


def test_a_comparison_says_how_sure_it_is_and_what_decides(tmp_path: Path) -> None:
    args = ["compare", "queue", "--on", "intel,asap-rp", *SMALL, "--bands", "--runs", "60", "--out", "out", "--format", "json"]
    rows = json.loads(coreplane(*args, cwd=tmp_path))["machines"]
    low, high = rows[1]["band"]["speedup"]
    assert low <= rows[1]["speedup"] <= high and low < high
    effects = rows[1]["band"]["effects"]
    assert rows[1]["band"]["moved_by"] == effects[0]["parameter"]
    assert all(a["swing"] >= b["swing"] > 0 for a, b in zip(effects, effects[1:]))
    assert rows[0]["band"]["speedup"] == [1, 1] and rows[0]["band"]["moved_by"] is None
    # A parameter that stands at an end has one run less.
    assert 50 < len(list((tmp_path / "out" / "runs").glob("*.json"))) <= 60
    text = coreplane("compare", "queue", "--on", "intel,asap-rp", *SMALL, "--bands", "--out", "out", cwd=tmp_path)
    assert f"times as fast as intel; {effects[0]['parameter']} decides" in text


def test_what_is_set_is_not_varied(tmp_path: Path) -> None:
    args = ["run", "asap-rp", "queue", *SMALL, "--set", "ordering.commit_ns=20", "--bands", "--out", "out", "--format", "json"]
    band = json.loads(coreplane(*args, cwd=tmp_path))["band"]
    assert "ordering.commit_ns" not in [e["parameter"] for e in band["effects"]]
    assert band["time_ns"][0] < band["time_ns"][1]
    runs = [json.loads(p.read_text()) for p in of_the_design(tmp_path / "out" / "runs")]
    assert runs and all("ordering.commit_ns" not in run["setting"] for run in runs)


def test_parameters_of_a_users_own_file_take_part(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    closed = 'extends = "asap-rp"\n[ordering]\ncommit_ns = 20\n'
    file.write_text(closed)
    args = ["run", "mine.toml", "queue", *SMALL, "--bands", "--out", "out", "--format", "json"]

    def names() -> list[str]:
        return [e["parameter"] for e in json.loads(coreplane(*args, cwd=tmp_path))["band"]["effects"]]

    assert "ordering.commit_ns" not in names()
    file.write_text(closed + '[sources]\n"ordering.commit_ns" = "open 10..300: two designs of the controller"\n')
    assert "ordering.commit_ns" in names()


def test_too_few_and_too_many_runs_are_refused_with_what_is_accepted(tmp_path: Path) -> None:
    for runs in ("3", "201"):
        text = coreplane("run", "asap-rp", "queue", *SMALL, "--bands", "--runs", runs, cwd=tmp_path, code=2)
        assert f"--runs {runs}" in text and "to 200" in text
    assert "--bands" in coreplane("run", "asap-rp", "queue", "--runs", "50", cwd=tmp_path, code=2)


def test_a_killed_study_goes_on_where_it_was_and_ends_the_same(tmp_path: Path) -> None:
    args = ["run", "asap-rp", "cceh", "--set", "workload.operations=4000", "--quiet", "--bands", "--format", "json", "--out"]
    killed = subprocess.Popen([*CORE, *args, "killed"], cwd=tmp_path, stdout=subprocess.DEVNULL)
    runs = tmp_path / "killed" / "runs"
    deadline = time.monotonic() + 120
    while len(list(runs.glob("*.json"))) < 8 and killed.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    if killed.poll() is None:
        os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    before = {p.name: p.stat().st_mtime_ns for p in runs.glob("*.json")}
    assert 8 <= len(before) < 60, "it was killed in the middle"
    ours = json.loads(coreplane(*args, "killed", cwd=tmp_path))
    whole = json.loads(coreplane(*args, "whole", cwd=tmp_path))
    assert ours["band"] == whole["band"]
    after = {p.name: p.stat().st_mtime_ns for p in runs.glob("*.json")}
    assert before.items() <= after.items(), "what was there is not made again"
