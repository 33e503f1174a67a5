"""What the cross-language tests share: the command line, and programs made by its compiler wrapper."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COREPLANE = Path(sys.executable).parent / "coreplane"


def as_by_hand() -> None:
    """To call in a new process: whoever runs the tests may have signals ignored, those who run commands by hand do not."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Cli:
    """The command line in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *args: object, code: int = 0) -> str:
        done = self.run(*args)
        assert done.returncode == code, f"{args}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def run(self, *args: object, **options: object) -> subprocess.CompletedProcess[str]:
        command = [str(COREPLANE), *map(str, args)]
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


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)
