"""What cannot be written: standard output that is closed, disks without room."""

import json
import os
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


def test_where_addresses_are_limited_reports_have_no_figures(cli: Cli) -> None:
    few = partial(resource.setrlimit, resource.RLIMIT_AS, (16 << 30, 16 << 30))
    (cli.folder / "c.toml").write_text('machines = "intel"\nworkloads = "queue"\n[set]\nworkload.operations = 20\n[vary]\nmemory.pm.read_ns = [50, 800]\n')
    for command, folder in (((*RUN, "-o", "r"), "r"), (("sweep", "c.toml"), "c.sweep")):
        done = cli.run(*command, "--quiet", preexec_fn=few)
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"coreplane: figures are left out: [^\n]* this process may have 16 GiB \(ulimit -v\)\n", done.stderr), done.stderr
        assert "The figure is left out: drawing reserves" in (cli.folder / folder / "report.html").read_text()
        assert not [file for file in (cli.folder / folder).iterdir() if file.suffix in (".svg", ".png")]
    # Notebooks say it in the place of a figure.
    code = "import coreplane as cp; print(cp.run('intel', cp.Workload('queue', operations=20)).plot()._repr_html_())"
    shown = subprocess.run([sys.executable, "-c", code], cwd=cli.folder, capture_output=True, text=True, preexec_fn=few)
    assert shown.returncode == 0 and shown.stdout.startswith("<p>No figure: drawing reserves"), shown
    # What they need is there without a limit.
    cli(*RUN, "--quiet", "-o", "r")
    assert list((cli.folder / "r").glob("*.svg"))


def test_a_python_without_docstrings_has_no_report_and_says_so(cli: Cli) -> None:
    done = cli.run(*RUN, "--quiet", "-o", "r", env={**os.environ, "PYTHONOPTIMIZE": "2"})
    assert done.returncode == 2
    assert done.stderr.startswith("coreplane: the result is whole in r, without its page: ") and done.stderr.count("\n") == 1, done.stderr
    assert json.loads((cli.folder / "r/run.json").read_text())
