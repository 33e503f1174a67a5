"""Instructions of a run of each family: what grows by more than a twentieth is named in the CHANGELOG, or it is a mistake.

Instructions are counted by Valgrind, on a processor of its own kind, so that hosts count alike. Another compiler makes other ones.
``python tests/test_instructions.py record 'WORDS OF THE CHANGELOG'`` records them anew.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COREPLANE = ROOT / ".venv/bin/coreplane"
RECORDED = ROOT / "validation/instructions.toml"
#: A program of each family, small, with as little set-up as it has.
RUNS = {
    "epochs": ("asap-rp", "cceh", "operations=10000"),
    "flushes": ("intel", "queue", "operations=2000"),
    "near data": ("nearpm-md", "btree", "operations=2000"),
    "DRAM before flash": ("nvdimmc-poc", "fio", "operations=300", "file_bytes=262144"),
    "remote memory": ("pberry", "redis-random", "operations=1000", "keys=1000"),
    "pages": ("amf", "redis-mem", "operations=100000"),
}
#: How much more is a mistake.
GROWTH = 1.05


def counted(*args: str) -> int:
    """Instructions of a command, Python's start included."""
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    env = {**os.environ, "PYTHONHASHSEED": "0"}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*valgrind, sys.executable, str(COREPLANE), *args], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))


@functools.cache
def start() -> int:
    return counted("show", "machines", "--format", "json")


def of_a_run(machine: str, workload: str, *settings: str) -> int:
    return counted("run", machine, workload, "--quiet", *(word for s in settings for word in ("--set", f"workload.{s}"))) - start()


def compiler() -> str:
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]


recorded = tomllib.loads(RECORDED.read_text()) if RECORDED.exists() else {}
counts = pytest.mark.skipif(shutil.which("valgrind") is None, reason="Valgrind counts instructions")


@counts
@pytest.mark.parametrize("family", RUNS)
def test_no_family_takes_more_instructions_than_it_did(family: str) -> None:
    if compiler() != recorded["rustc"]:
        pytest.skip(f"counts are of rustc {recorded['rustc']}")
    now, before = of_a_run(*RUNS[family]), recorded["instructions"][family]
    assert now <= GROWTH * before, f"{now:,} instructions, {now / before:.3f} times as many as recorded: make it cheaper, or say it in CHANGELOG.md and record it"


def test_what_was_recorded_is_said_in_the_changelog() -> None:
    assert " ".join(recorded["changelog"].split()) in " ".join((ROOT / "CHANGELOG.md").read_text().split())
    assert recorded["instructions"].keys() == RUNS.keys()


def record(said: str) -> None:
    lines = [f'# Instructions of a run of each family (tests/test_instructions.py), and what the CHANGELOG says of them.\nrustc = "{compiler()}"\nchangelog = "{said}"\n\n[instructions]']
    lines += [f'"{family}" = {of_a_run(*run)}' for family, run in RUNS.items()]
    RECORDED.write_text("\n".join(lines) + "\n")


if __name__ == "__main__" and sys.argv[1:2] == ["record"]:
    record(sys.argv[2])
