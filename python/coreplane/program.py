"""Programs in Python: what threads do to memory, access by access, with real bytes, kept as a recording that any machine runs."""

import contextlib
import os
import sys
from array import array
from bisect import bisect_right
from operator import itemgetter
from typing import Final

import polars as pl

from coreplane import _core, program_thread
from coreplane.inputs import Trace, paths
from coreplane.program_thread import FILE_SHIFT, FILE_SPACE, Thread, bytes_of, number, pieces

# Numbers of the file format: docs/reference/files.md.
_KINDS: Final = {
    name: number
    for number, name in enumerate(
        "load store store-nt load-acquire store-release rmw clwb clflushopt clflush sfence mfence lock unlock create join map unmap start end mark operand call written observed contents unseen order turn region".split()
    )
}
_PAGE: Final = 4096
#: Where memory without a file lies, and where files do, from and to. All of it is far from 0, so that a null pointer is found.
_MEMORY: Final = (1 << 32, 1 << 45)
_FILES: Final = (1 << 45, 1 << 46)
#: A gap behind every range, so that an access beyond its end is of nothing.
_GAP: Final = 1 << 21
_COLUMNS: Final = (("thread", "H", pl.UInt16), ("kind", "B", pl.UInt8), ("size", "B", pl.UInt8), ("address", "Q", pl.UInt64), ("value", "Q", pl.UInt64), ("stamp", "I", pl.UInt32), ("location", "I", pl.UInt32), ("instructions", "I", pl.UInt32))
_MOST_BYTES: Final = 1 << 40
#: Files whose lines are no places of a program: these two, and the one that runs the block of a ``with``.
_OWN: Final = (__file__, program_thread.__file__, contextlib.__file__)


class Program:
    """A program whose threads are driven from Python, one step after the other in the order of the calls.

    What its threads store is there for their loads at once, as on any coherent machine; what of it is durable, and when, the machine says
    on which it is run. A place is the line of Python that called. On a machine threads run side by side: what comes first there is what locks,
    atomic operations, starts and joins say, in the order of the calls; plain accesses of two threads with none of these between them race there,
    too, and may come in another order.

    >>> import coreplane as cp
    >>> program = cp.Program()
    >>> log, writer = program.map("log.pm", 4096), program.main
    >>> for n in range(1, 4):
    ...     writer.store(log + 64 * n, n)
    ...     writer.persist(log + 64 * n, 8)
    ...     writer.store(log, n)
    ...     writer.persist(log, 8)
    >>> trace = program.save("/tmp/log-of-three.parquet")
    >>> cp.run("intel", trace)["memory.writes"]
    6

    A recording in memory has 32 bytes an access.
    """

    def __init__(self) -> None:
        self._threads: list[Thread] = []
        self._columns = [array(code) for _, code, _ in _COLUMNS]
        self._stamp = 0
        self._places: dict[tuple[str, int, str], int] = {}
        self._ranges: list[tuple[int, int, int | None]] = []
        self._files: list[tuple[str, int]] = []
        self._pages: dict[int, bytearray] = {}
        self._locks: dict[int, int] = {}
        self._next = {True: _FILES[0], False: _MEMORY[0]}
        #: The thread that is there from the beginning.
        self.main = Thread(self)

    def map(self, path: str | os.PathLike[str], size: int, contents: bytes = b"") -> int:
        """Maps a file of ``size`` bytes as persistent memory; gives the address of its first byte. ``contents`` is what it holds before the program starts."""
        name, held = _named(path), bytes_of("map: contents", contents)
        self.main._goes_on("map")
        if any(os.path.abspath(name) == os.path.abspath(known) for known, _ in self._files):
            raise _core.ConfigError(f"map: {name} is mapped already; a file is mapped once")
        number("map: size", size, 1, _MOST_BYTES)
        if len(held) > size:
            raise _core.ConfigError(f"map: {name} has {size} bytes, its contents {len(held)}")
        place = FILE_SPACE | len(self._files) << FILE_SHIFT
        address = self._range("map", size, len(self._files))
        self._files.append((name, size))
        for offset, piece in pieces(0, held.rstrip(b"\0")):
            self.main._record("contents", address=place + offset, value=piece, size=len(piece), here=False)
        self._keep(address, held)
        self.main._record("operand", value=place, here=False)
        self.main._record("map", address=address, value=size, stamped=True)
        return address

    def memory(self, size: int) -> int:
        """Memory without a file, which a power failure empties; gives the address of its first byte."""
        number("memory: size", size, 1, _MOST_BYTES)
        return self._range("memory", size, None)

    def contents(self, address: int, size: int) -> bytes:
        """What memory holds now, without an access of any thread."""
        self._within("contents", address, number("contents: size", size, 0, _MOST_BYTES))
        return self._bytes(address, size)

    def save(self, path: str | os.PathLike[str]) -> Trace:
        """Ends every thread and keeps the recording as Parquet: a workload wherever one is taken. The program can go no further."""
        paths(path=path)
        name = os.fspath(path)
        if not name.endswith(".parquet"):
            raise _core.ConfigError(f"save: {name} does not end in .parquet")
        # Nothing ends before all of it can.
        for address, holder in self._locks.items():
            raise _core.ConfigError(f"save: thread {holder} still holds the lock at {address:#x}")
        for thread in reversed(self._threads):
            thread._end()
        columns = {column: pl.Series(column, values, dtype) for (column, _, dtype), values in zip(_COLUMNS, self._columns, strict=True)}
        # Rows of a thread stand together: a replay reads it alone.
        frame = pl.DataFrame(columns).sort("thread", maintain_order=True)
        whole = f"{name}.{os.getpid()}.part"
        try:
            frame.write_parquet(whole, compression="zstd", statistics=False, metadata=self._texts())
            os.replace(whole, name)
        except OSError as error:
            folder = os.path.dirname(name) or "."
            why = error.strerror or ("No such folder" if not os.path.isdir(folder) else "it cannot be written")
            raise _core.ConfigError(f"save: {name}: {why}") from None
        finally:
            with contextlib.suppress(OSError):
                os.unlink(whole)
        return Trace(name)

    @property
    def threads(self) -> "tuple[Thread, ...]":
        """All threads there have been, by number."""
        return tuple(self._threads)

    def _texts(self) -> dict[str, str]:
        files = {f"coreplane.file.{n + 1}": f"{n}\n0:{n + 1}\n{os.path.abspath(path)}\n{size}" for n, (path, size) in enumerate(self._files)}
        sources = sorted({os.path.abspath(path) for path, _, _ in self._places})
        files |= {f"coreplane.code-source.{n + 1}": path for n, path in enumerate(sources)}
        places = "\n".join(f"{number:x} {_shown(path)}:{line} {function}" for (path, line, function), number in self._places.items())
        return {"coreplane.source": f"a program in Python, {_shown(sys.argv[0] or 'interactive')}", "coreplane.lacks": "", "coreplane.locations": places} | files

    def _range(self, what: str, size: int, file: int | None) -> int:
        address, end = self._next[file is not None], (_FILES if file is not None else _MEMORY)[1]
        if address + size > end:
            raise _core.ConfigError(f"{what}: {size} bytes do not fit besides what there is; accepted: {end - address} bytes")
        self._next[file is not None] += (size + 2 * _GAP - 1) // _GAP * _GAP
        # In the order of addresses: memory without a file lies below the files.
        self._ranges.insert(bisect_right(self._ranges, address, key=itemgetter(0)), (address, address + size, file))
        return address

    def _within(self, what: str, address: int, size: int) -> int | None:
        """The number of the file that these bytes are of."""
        at = bisect_right(self._ranges, number(f"{what}: address", address, 0, (1 << 64) - 1), key=itemgetter(0)) - 1
        start, end, file = self._ranges[at] if at >= 0 else (0, 0, None)
        if not start <= address < end:
            raise _core.ConfigError(f"{what}: nothing is mapped at {address:#x}; map(path, size) and memory(size) give addresses")
        if address + size > end:
            raise _core.ConfigError(f"{what}: {size} bytes at {address:#x} reach {address + size - end} beyond the end of their range, which has {end - start}")
        return file

    def _bytes(self, address: int, size: int) -> bytes:
        parts = []
        while size > 0:
            page, offset = divmod(address, _PAGE)
            part = min(size, _PAGE - offset)
            held = self._pages.get(page)
            parts.append(bytes(part) if held is None else bytes(held[offset : offset + part]))
            address, size = address + part, size - part
        return b"".join(parts)

    def _keep(self, address: int, data: bytes) -> None:
        done = 0
        while done < len(data):
            page, offset = divmod(address + done, _PAGE)
            part = min(len(data) - done, _PAGE - offset)
            self._pages.setdefault(page, bytearray(_PAGE))[offset : offset + part] = data[done : done + part]
            done += part

    def _keep_record(self, thread: int, kind: str, size: int, address: int, value: int, stamped: bool, location: int, instructions: int) -> None:
        stamp = self._stamp if stamped else 0
        self._stamp += stamped
        for column, field in zip(self._columns, (thread, _KINDS[kind], size, address, value, stamp, location, instructions), strict=True):
            column.append(field)

    def _place(self) -> int:
        """The number of the line of Python outside this module that called."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename in _OWN:
            frame = frame.f_back
        key = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        return self._places.setdefault(key, len(self._places) + 1)


def _named(path: str | os.PathLike[str]) -> str:
    """A file's name, which is a line of a recording."""
    try:
        name = os.fspath(path)
    except TypeError:
        raise _core.ConfigError(f"map: give a file's name, not {type(path).__name__}") from None
    if not isinstance(name, str) or not name or any(ord(letter) < 32 for letter in name):
        raise _core.ConfigError(f"map: {name!r} is no name of a file")
    return name


def _shown(path: str) -> str:
    """A path as a reader of messages knows it: from the working folder on where it is in it."""
    inside = os.path.relpath(path)
    return path if inside.startswith(os.pardir) else inside
