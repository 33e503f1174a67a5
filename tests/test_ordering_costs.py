"""What an ordering model costs the host: at most one and a half times ASAP's instructions a reference, but for those that send so much more.

Instructions are counted by Valgrind inside of runs alone, by the difference of two lengths: what a machine's building and a program's set-up take
falls out. One process runs all, since Python's start is what takes long.
"""

import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("valgrind") is None, reason="Valgrind counts instructions")

#: What every ordering is held to.
MOST = 1.5
#: The ordering that it is a multiple of.
OF = "asap-ep"
ORDERINGS = ["lrp", "lb++", "pmem-spec", "vorpal", "cwsp", "ppa", "capri", "dpo", "strandweaver", "hops-ep", "bbb", "intel"]
#: Programs, with two lengths.
PROGRAMS = {"bandwidth": (50, 200), "echo": (10, 30), "cceh": (100, 300)}
#: Those that take more, since they send a message for nearly every store where ASAP sends one for many (docs/orderings.md), and how much more.
MORE = {
    ("bandwidth", "pmem-spec"): 2.1,
    ("bandwidth", "vorpal"): 1.9,
    ("bandwidth", "cwsp"): 1.8,
}
#: How much more than either is a mistake: another compiler, or optimization across crates, makes other instructions, by some hundredths.
GROWTH = 1.15

#: Small caches: an empty one of full size takes longer to make than these programs run. It is the compiled core that is asked: under Valgrind the
#: libraries that ``coreplane``'s tables are made with take twenty seconds to import.
CODE = """
from coreplane import _core
small = [("l2.size_bytes", "256KiB"), ("llc.size_bytes", "1MiB")]
for program, lengths in PROGRAMS.items():
    for name in MACHINES:
        machine = _core.Machine(name, small, [])
        for operations in lengths:
            sets = [("workload.threads", "4"), ("workload.operations", str(operations))]
            sets += [("workload.keys", "100")] if program == "echo" else []
            report, _ = _core.run(machine, _core.Workload(program, sets), 1, False, ("none", None), False)
            print(report["stats"]["cpu.references"])
"""


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], float]:
    """Instructions a reference, by program and machine."""
    folder = tmp_path_factory.mktemp("counted")
    machines = [OF, *ORDERINGS]
    code = f"PROGRAMS, MACHINES = {PROGRAMS!r}, {machines!r}\n{CODE}"
    inside = ["--toggle-collect=machine::run::run", "--dump-after=machine::run::run", f"--callgrind-out-file={folder}/counts"]
    command = ["valgrind", "--tool=callgrind", *inside, sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    references = [int(line) for line in done.stdout.split()]
    counts = [total(Path(f"{folder}/counts.{n}")) for n in range(1, len(references) + 1)]
    assert len(references) == 2 * len(PROGRAMS) * len(machines) and min(counts) > 0
    per = [a / b for a, b in zip(differences(counts), differences(references), strict=True)]
    return dict(zip(product(PROGRAMS, machines), per, strict=True))


def differences(of: list[int]) -> list[int]:
    return [longer - shorter for shorter, longer in zip(of[::2], of[1::2], strict=True)]


def total(dump: Path) -> int:
    found = re.search(r"^totals: (\d+)", dump.read_text(), re.MULTILINE)
    assert found, f"{dump} is no dump of a run"
    return int(found[1])


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_ordering_costs_more_than_it_may(program: str, costs: dict[tuple[str, str], float]) -> None:
    found = {machine: costs[program, machine] / costs[program, OF] for machine in ORDERINGS}
    most = {machine: GROWTH * MORE.get((program, machine), MOST) for machine in ORDERINGS}
    assert {machine: f"{ratio:.2f}" for machine, ratio in found.items() if ratio > most[machine]} == {}


def test_what_may_cost_more_does(costs: dict[tuple[str, str], float]) -> None:
    assert [key for key in MORE if costs[key] <= MOST * costs[key[0], OF]] == []
