"""What memory was measured to cost is kept in the user's cache, and changes nothing but how long a run takes."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import COREPLANE

MACHINE = ["amf@curve", "spec-mix", "--set", "fusion.dram_gib=1", "--set", "fusion.pm_gib=3", "--set", "fusion.device_gib=1"]
SHORT = ["--set", "workload.instances=8", "--set", "workload.scale_percent=30", "--set", "workload.interval_ns=0", "--set", "os.cores=4"]


def begin(cache: Path, *more: str) -> subprocess.Popen[str]:
    command = [str(COREPLANE), "run", *MACHINE, *SHORT, *more, "--quiet", "--format", "json"]
    environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result(process: subprocess.Popen[str]) -> dict[str, object]:
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    found = json.loads(out)
    del found["host_seconds"]
    return found


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """A cache that two processes have filled at once, and what both of them said."""
    cache = tmp_path_factory.mktemp("cache")
    one, other = [result(process) for process in [begin(cache), begin(cache)]]
    assert one == other
    return cache, one


def test_processes_side_by_side_leave_a_whole_file_for_each_measurement(kept: tuple[Path, dict[str, object]]) -> None:
    cache, _ = kept
    files = sorted((cache / "coreplane" / "measured").iterdir())
    assert len(files) == 12, "reads and writes, of one line and of all, by three loads"
    for file in files:
        time, described = file.read_text().split(" ps\n")
        assert int(time) > 0 and described.endswith("\n") and "memory.pm.read_ns" in described


def test_what_is_kept_is_taken_and_what_is_damaged_or_anothers_is_measured_again(kept: tuple[Path, dict[str, object]]) -> None:
    cache, said = kept
    files = sorted((cache / "coreplane" / "measured").iterdir())
    whole = [file.read_text() for file in files]
    files[0].write_text("")
    files[1].write_text(whole[1][:-9])
    files[2].write_text(whole[3])
    files[4].write_bytes(b"\xff\xfe")
    files[5].unlink()
    assert result(begin(cache)) == said
    assert [file.read_text() for file in files] == whole
    # A time that somebody writes there is believed: it is what was looked at.
    for file, text in zip(files, whole, strict=True):
        time, described = text.split(" ps\n")
        file.write_text(f"{int(time) * 50} ps\n{described}")
    assert result(begin(cache))["time_ns"] > said["time_ns"]
    for file, text in zip(files, whole, strict=True):
        file.write_text(text)


def test_another_description_is_measured_for_itself(kept: tuple[Path, dict[str, object]]) -> None:
    cache, said = kept
    assert result(begin(cache, "--set", "memory.pm.read_ns=2000"))["time_ns"] > said["time_ns"]
    assert len(list((cache / "coreplane" / "measured").iterdir())) > 12


def test_where_nothing_can_be_kept_everything_is_measured(kept: tuple[Path, dict[str, object]], tmp_path: Path) -> None:
    no_folder = tmp_path / "file"
    no_folder.write_text("")
    assert result(begin(no_folder)) == kept[1]
