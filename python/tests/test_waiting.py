"""Whoever waits for a function sees how far it is: on a terminal and in a notebook, after two seconds, and nowhere else."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

LONG = "import coreplane as cp\ncp.run('intel', cp.Workload('mix', operations={}))\nprint('done')\n"


def on_a_terminal(script: str, folder: Path) -> bytes:
    """What a script leaves on standard error where that is a terminal."""
    above, below = pty.openpty()
    running = subprocess.Popen([sys.executable, "-c", script], cwd=folder, stdout=subprocess.DEVNULL, stderr=below)
    os.close(below)
    text = b""
    while True:
        try:
            text += os.read(above, 1 << 16)
        except OSError:
            break
    os.close(above)
    assert running.wait() == 0, text
    return text


def test_long_work_says_on_a_terminal_how_far_it_is(tmp_path: Path) -> None:
    for operations in (5_000_000, 80_000_000):
        text = on_a_terminal(LONG.format(operations), tmp_path)
        if text:
            break
    assert b"\rcoreplane: 2 s, " in text and b" simulated" in text and b"% done" in text and b" left" in text, text[-300:]
    assert not text.rsplit(b"\r", 1)[-1].strip(), "the line is wiped out in the end"
    assert on_a_terminal(LONG.format(1000), tmp_path) == b"", "what is short says nothing"


def test_nothing_is_said_where_nobody_looks(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LONG.format(5_000_000)], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == "" and done.stdout == "done\n"


def test_a_notebook_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    import coreplane as cp

    out = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(sys, "stderr", out)
    for operations in (5_000_000, 80_000_000):
        cp.run("intel", cp.Workload("mix", operations=operations))
        if out.getvalue():
            break
    assert "\rcoreplane: 2 s, " in out.getvalue()
