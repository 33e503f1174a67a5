"""Ctrl-C while the command's libraries are loaded ends it in one line, as it does later.

It is the first module of the package that is loaded, and loads nothing that takes long.
"""

import os
import signal
import sys

#: Of the command alone: whoever imports the package into a program of theirs has signals as they were.
_COMMAND = "coreplane"


def _end(number: int, frame: object) -> None:
    # Whatever is being loaded, nothing is there yet that has to be left in order.
    os.write(2, b"coreplane: interrupted\n")
    os._exit(128 + number)


def begin() -> None:
    """Ends the process upon Ctrl-C from here on, if it is the command."""
    name = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""  # noqa: PTH119 - without pathlib
    if name == _COMMAND and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def loaded() -> None:
    """Lets Ctrl-C be an exception again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


begin()
