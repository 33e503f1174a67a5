"""What cannot be written: standard output that is closed, disks without room."""

import json
import re
import resource
import shlex
import subprocess
import sys
from functools import partial

import pytest

from conftest import COREPLANE, Cli

RUN = ("run", "intel", "queue", "--set", "workload.operations=50")


@pytest.mark.parametrize(
    ("command", "code"),
    [(RUN, 0), ((*RUN, "--out", "r"), 0), (("run", "intel"), 2), (("explore", "bbb", "--mutant", "no-battery"), 1)],
)
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_command_whose_output_is_closed_ends_as_it_does_elsewhere(cli: Cli, command: tuple[str, ...], code: int, closed: str) -> None:
    done = subprocess.run(["bash", "-c", f"{shlex.join([str(COREPLANE), *command])} {closed}"], cwd=cli.folder, stderr=subprocess.PIPE, text=True)
    assert done.returncode == code and "Traceback" not in done.stderr, done
    # What is printed goes into no file that got the number of the closed output.
    assert all(json.loads(file.read_text()) for file in cli.folder.glob("r/*.json"))


def test_a_report_for_which_there_is_no_room_is_told_in_one_line(cli: Cli) -> None:
    # Results have room, the picture of a core's time has none.
    room = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (40_000, 40_000))
    done = cli.run(*RUN, "--quiet", "--out", "r", preexec_fn=room)
    assert done.returncode == 2
    assert re.fullmatch(r"coreplane: r/[\w-]+\.(svg|png|html): File too large \(os error 27\)\n", done.stderr), done.stderr
    assert json.loads((cli.folder / "r/run.json").read_text()) and not list(cli.folder.glob("r/.*"))


def test_what_python_prints_and_cannot_is_told_in_one_line(cli: Cli) -> None:
    code = "import sys; from coreplane import _cli; _cli._main = lambda: print('report') or 0; sys.exit(_cli.main())"
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", code], cwd=cli.folder, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "coreplane: standard output cannot be written: No space left on device (os error 28)\n"


def test_where_the_host_has_no_memory_one_line_says_so(cli: Cli) -> None:
    room = partial(resource.setrlimit, resource.RLIMIT_AS, (1 << 31, 1 << 31))
    for command in (("run", "intel", "queue", "--out", "r"), ("crash", "intel", "queue")):
        done = cli.run(*command, "--set", "llc.size_bytes=4294967296", preexec_fn=room)
        assert done.returncode == 2, done.stderr
        assert done.stderr == "coreplane: the host has no memory for it (or `ulimit -v` allows no more); give a smaller workload or machine\n"
    assert not (cli.folder / "r/run.json").exists()
