"""Figures as SVG, where the host has the addresses that drawing takes."""

import mmap
import resource
from typing import Any

import vl_convert as vlc

#: Addresses that V8, which draws, reserves at first, with some to spare; it uses few of them.
RESERVED = (64 << 30) + (512 << 20)


class Drawing:
    """Whether figures can be drawn here. V8 ends the process where it cannot reserve its addresses, so it is asked for only where it can."""

    def __init__(self) -> None:
        #: Why figures were left out; empty where none was.
        self.left_out = ""
        self._has_drawn = False

    def svg(self, spec: str | dict[str, Any]) -> str | None:
        """A chart as SVG; none where none can be drawn, and ``left_out`` says why."""
        if not self._has_drawn and not _has_room():
            self.left_out = f"drawing reserves {RESERVED / (1 << 30):g} GiB of addresses, though it uses little memory{_allowed()}"
            return None
        self._has_drawn = True
        return str(vlc.vegalite_to_svg(spec))


def _has_room() -> bool:
    """Whether so many addresses can be had."""
    try:
        # Neither read nor written, and so no memory: what a limit of addresses counts, and nothing else.
        mmap.mmap(-1, RESERVED, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0).close()
    except (OSError, OverflowError, MemoryError):
        return False
    return True


def _allowed() -> str:
    """What the process may have, in words."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return "" if limit == resource.RLIM_INFINITY else f", and this process may have {limit / (1 << 30):.3g} GiB (ulimit -v)"


#: Of this process.
DRAWING = Drawing()
