"""What the command in Python adds to the compiled core's: signals before and after that works, and no page of a result that is not there."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

LOADING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # Who runs tests in the background has it ignored.
sys.argv = ["NAME", "show", "machines"]
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "coreplane._core":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
from coreplane._cli import main
"""
MAIN = """
import signal, sys
from coreplane import _cli
sys.argv = ["coreplane", "crash", "intel", "queue", "--out", "r"]
_cli._core_main = lambda args: CODE
_cli._pages = lambda args, is_read: DRAWN
sys.exit(_cli.main())
"""


def done(script: str, folder: Path) -> tuple[int, str]:
    ended = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True)
    return ended.returncode, ended.stderr


def test_ctrl_c_while_libraries_are_loaded_ends_the_command_in_one_line(tmp_path: Path) -> None:
    assert done(LOADING.replace("NAME", "/usr/bin/coreplane"), tmp_path) == (130, "coreplane: interrupted\n")
    code, said = done(LOADING.replace("NAME", "own.py"), tmp_path)
    assert code == -signal.SIGINT and "KeyboardInterrupt" in said, "a program that imports the package has signals as they were"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_interrupts_the_drawing_of_a_page_is_told_where_the_result_is(tmp_path: Path, number: signal.Signals) -> None:
    script = f"import signal; signal.signal({number:d}, signal.default_int_handler if {number:d} == 2 else signal.SIG_DFL)\n"
    script += MAIN.replace("CODE", "0").replace("DRAWN", f"signal.raise_signal({number:d})")
    assert done(script, tmp_path) == (128 + number, "coreplane: interrupted; the result is whole in r, without its page\n")


def test_a_command_that_leaves_no_result_has_no_page(tmp_path: Path) -> None:
    script = MAIN.replace("DRAWN", "print('drawn', file=sys.stderr) or []")
    new = "__import__('pathlib').Path('r/crash.json').write_text('{}') - 1"
    (tmp_path / "r").mkdir()
    assert done(script.replace("CODE", "1"), tmp_path) == (1, "")
    assert done(script.replace("CODE", new), tmp_path) == (1, "drawn\n")
    assert done(script.replace("CODE", "1"), tmp_path) == (1, ""), "what is there is of an earlier command"
