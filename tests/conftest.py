"""What the cross-language tests share: the command line, and programs made by its compiler wrapper."""

import fcntl
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
COREPLANE = Path(sys.executable).parent / "coreplane"
#: The same without what Python adds: results of which no figures and reports are drawn, which takes longer than a small run does.
CORE = [sys.executable, "-c", "import sys; from coreplane._cli import _core_main; sys.exit(_core_main(sys.argv[1:]))"]


def as_by_hand() -> None:
    """To call in a new process: whoever runs the tests may have signals ignored, those who run commands by hand do not."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Builds the recorder once, which takes a while and says so, before tests side by side ask for it."""
    if COREPLANE.exists() and not hasattr(session.config, "workerinput"):
        subprocess.run([COREPLANE, "cc", "--version"], capture_output=True)


class Cli:
    """The command line in a folder of its own."""

    command = [str(COREPLANE)]

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *args: object, code: int = 0) -> str:
        done = self.run(*args)
        assert done.returncode == code, f"{args}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def run(self, *args: object, **options: object) -> subprocess.CompletedProcess[str]:
        command = [*self.command, *map(str, args)]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=600, **options)

    def json(self, *args: object) -> object:
        return json.loads(self(*args, "--format", "json"))

    def refuses(self, *args: object) -> str:
        """The one message of a command that is refused: exit code 2, nothing on standard output, one line."""
        done = self.run(*args)
        assert done.returncode == 2, f"{args}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.stdout == ""
        lines = [line for line in done.stderr.splitlines() if line.startswith("coreplane: ")]
        assert lines, done.stderr
        assert "panicked" not in done.stderr
        return lines[-1]


class Core(Cli):
    """The command line of those who look at results alone."""

    command = CORE


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def core(tmp_path: Path) -> Cli:
    return Core(tmp_path)


def crate(name: str, package: str) -> Path:
    """Where cargo keeps the sources of a package that tests/NAME depends on."""
    command = ["cargo", "metadata", "--format-version", "1", "--manifest-path", ROOT / f"tests/{name}/Cargo.toml"]
    packages = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["packages"]
    return Path(next(p["manifest_path"] for p in packages if p["name"] == package)).parent


class Library(NamedTuple):
    """All of SQLite as `coreplane cc` compiled it, and where its header is."""

    file: Path
    include: Path


@pytest.fixture(scope="session")
def sqlite_library(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Library:
    """Compiled once, whichever of the processes that run tests asks first."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "sqlite-library"
    folder.mkdir(exist_ok=True)
    source = crate("sqlite", "libsqlite3-sys") / "sqlite3"
    file = folder / "sqlite3.o"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            Cli(folder)("cc", "-O0", "-w", "-DSQLITE_OMIT_LOAD_EXTENSION", "-c", source / "sqlite3.c", "-o", file)
            (folder / "whole").touch()
    return Library(file, source)
