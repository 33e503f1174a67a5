"""What cannot be written: standard output that is closed, disks without room."""

import json
import shlex
import subprocess

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
