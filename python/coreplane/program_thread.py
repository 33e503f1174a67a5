"""What a thread of a program in Python does, in its order."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Final

from coreplane import _core

if TYPE_CHECKING:
    from coreplane.program import Program

#: Addresses of files: the byte at ``offset`` of file ``n`` is ``FILE_SPACE | n << FILE_SHIFT | offset``.
FILE_SPACE: Final = 1 << 62
FILE_SHIFT: Final = 44
#: The number of the call in its record.
_MSYNC: Final = 2
_LINE: Final = 64
#: More at once are more than a machine has cores for, by far.
_MOST_THREADS: Final = 4096
#: What a record can tell.
_MOST_INSTRUCTIONS: Final = (1 << 32) - 2
_MOST_BYTES: Final = 1 << 40


class Thread:
    """A thread of a program: what it does, in its order. Values are integers without sign of 1, 2, 4 or 8 bytes, little-endian in memory."""

    def __init__(self, program: "Program") -> None:
        self._program = program
        #: Its number, from 0.
        self.number = len(program._threads)
        self._ended = False
        self._instructions = 0
        program._threads.append(self)
        self._record("start", stamped=True)

    def start(self) -> "Thread":
        """A new thread, created by this one."""
        self._goes_on("start")
        if len(self._program._threads) == _MOST_THREADS:
            raise _core.ConfigError(f"start: more than {_MOST_THREADS} threads")
        self._record("create", value=len(self._program._threads), stamped=True)
        return Thread(self._program)

    def join(self, thread: "Thread") -> None:
        """Waits for the end of a thread, which ends here."""
        self._goes_on("join")
        if not isinstance(thread, Thread) or thread._program is not self._program:
            raise _core.ConfigError("join: give a thread of this program")
        if thread is self:
            raise _core.ConfigError("join: a thread cannot wait for its own end")
        if thread is self._program.main:
            raise _core.ConfigError("join: the first thread ends last; nobody waits for it")
        if thread._ended:
            raise _core.ConfigError(f"join: thread {thread.number} has ended")
        thread._end()
        self._record("join", value=thread.number, stamped=True)

    def compute(self, instructions: int) -> None:
        """Executes instructions that access no memory. Each access is one instruction besides."""
        self._goes_on("compute")
        most = _MOST_INSTRUCTIONS - self._instructions
        self._instructions += number("compute: instructions before one access", instructions, 0, most)

    def load(self, address: int, size: int = 8) -> int:
        """Loads an integer."""
        return self._load("load", address, size, stamped=False)

    def load_acquire(self, address: int, size: int = 8) -> int:
        """Loads an integer with acquire order."""
        return self._load("load-acquire", address, size, stamped=True)

    def store(self, address: int, value: int, size: int = 8) -> None:
        """Stores an integer."""
        self._store("store", address, value, size, stamped=False)

    def store_nontemporal(self, address: int, value: int, size: int = 8) -> None:
        """Stores an integer past the caches; an sfence orders it."""
        self._store("store-nt", address, value, size, stamped=False)

    def store_release(self, address: int, value: int, size: int = 8) -> None:
        """Stores an integer with release order."""
        self._store("store-release", address, value, size, stamped=True)

    def read(self, address: int, size: int) -> bytes:
        """Loads bytes, eight at a time where they are aligned."""
        self._goes_on("read")
        self._program._within("read", address, number("read: size", size, 0, _MOST_BYTES))
        data = self._program._bytes(address, size)
        for offset, piece in pieces(address, data):
            self._record("load", address=offset, size=len(piece))
        return data

    def write(self, address: int, data: bytes) -> None:
        """Stores bytes, eight at a time where they are aligned."""
        self._goes_on("write")
        held = bytes_of("write", data)
        self._program._within("write", address, len(held))
        self._program._keep(address, held)
        for offset, piece in pieces(address, held):
            self._record("store", address=offset, value=piece, size=len(piece))

    def exchange(self, address: int, value: int, size: int = 8) -> int:
        """Stores an integer, atomically; gives what was there."""
        stored = _checked("exchange", value, size)
        return self._modify("exchange", address, size, lambda _: stored)

    def fetch_add(self, address: int, value: int, size: int = 8) -> int:
        """Adds an integer, atomically; gives what was there."""
        added = number("fetch_add", value, -(1 << 64), 1 << 64)
        return self._modify("fetch_add", address, size, lambda old: (old + added) % (1 << 8 * size))

    def compare_exchange(self, address: int, expected: int, value: int, size: int = 8) -> bool:
        """Stores an integer where another is expected, atomically; says whether it was."""
        wanted, stored = _checked("compare_exchange: expected", expected, size), _checked("compare_exchange", value, size)
        return self._modify("compare_exchange", address, size, lambda old: stored if old == wanted else old) == wanted

    def clwb(self, address: int) -> None:
        """Writes the line back that holds this byte."""
        self._flush("clwb", address)

    def clflushopt(self, address: int) -> None:
        """Writes the line back and drops it."""
        self._flush("clflushopt", address)

    def clflush(self, address: int) -> None:
        """Writes the line back and drops it, in order with other stores."""
        self._flush("clflush", address)

    def sfence(self) -> None:
        """Orders stores and flushes before it with those after it."""
        self._record("sfence")

    def mfence(self) -> None:
        """Orders everything before it with everything after it."""
        self._record("mfence")

    def persist(self, address: int, size: int) -> None:
        """Writes the lines of these bytes back, then fences: what libpmem's ``pmem_persist`` does."""
        self._goes_on("persist")
        self._program._within("persist", address, number("persist: size", size, 0, _MOST_BYTES))
        for line in range(address // _LINE * _LINE, address + size, _LINE):
            self._record("clwb", address=max(line, address))
        self.sfence()

    def msync(self, address: int, size: int) -> None:
        """Has the kernel make these bytes of a file durable (``MS_SYNC``)."""
        self._goes_on("msync")
        program = self._program
        file = program._within("msync", address, number("msync: size", size, 0, _MOST_BYTES))
        if file is None:
            raise _core.ConfigError(f"msync: {address:#x} is of no file; map(path, size) gives memory that is")
        start = next(start for start, _, number in program._ranges if number == file)
        self._record("call", address=(FILE_SPACE | file << FILE_SHIFT) + address - start, value=size << 8 | _MSYNC, stamped=True)

    def lock(self, address: int) -> None:
        """Takes the lock whose word this is."""
        self._goes_on("lock")
        self._program._within("lock", address, 1)
        holder = self._program._locks.get(address)
        if holder is not None:
            raise _core.ConfigError(f"lock: thread {holder} holds the lock at {address:#x}; threads take their steps in the order of the calls, so that thread {self.number} would wait for ever")
        self._program._locks[address] = self.number
        self._record("lock", address=address, stamped=True)

    def unlock(self, address: int) -> None:
        """Gives the lock back."""
        self._goes_on("unlock")
        if self._program._locks.get(number("unlock: address", address, 0, (1 << 64) - 1)) != self.number:
            raise _core.ConfigError(f"unlock: thread {self.number} does not hold the lock at {address:#x}")
        del self._program._locks[address]
        self._record("unlock", address=address, stamped=True)

    @contextmanager
    def locked(self, address: int) -> Iterator[None]:
        """Holds a lock while the block runs."""
        self.lock(address)
        try:
            yield
        finally:
            self.unlock(address)

    def mark(self, number: int) -> None:
        """Says that something was acknowledged: a check of ``crash`` is told the last number before the power failed."""
        self._record("mark", value=_checked("mark", number, 8))

    def begin_region(self) -> None:
        """What a run counts begins here; without a region it counts everything."""
        self._record("region", value=1)

    def end_region(self) -> None:
        """What a run counts ends here."""
        self._record("region", value=0)

    def _load(self, kind: str, address: int, size: int, *, stamped: bool) -> int:
        self._goes_on(kind)
        self._program._within(kind, address, _size(kind, size))
        self._record(kind, address=address, size=size, stamped=stamped)
        return int.from_bytes(self._program._bytes(address, size), "little")

    def _store(self, kind: str, address: int, value: int, size: int, *, stamped: bool) -> None:
        self._goes_on(kind)
        self._program._within(kind, address, _size(kind, size))
        data = _checked(kind, value, size).to_bytes(size, "little")
        self._program._keep(address, data)
        self._record(kind, address=address, value=data, size=size, stamped=stamped)

    def _modify(self, what: str, address: int, size: int, change: Callable[[int], int]) -> int:
        self._goes_on(what)
        self._program._within(what, address, _size(what, size))
        old = int.from_bytes(self._program._bytes(address, size), "little")
        data = _checked(what, change(old), size).to_bytes(size, "little")
        self._program._keep(address, data)
        self._record("rmw", address=address, value=data, size=size, stamped=True)
        return old

    def _flush(self, kind: str, address: int) -> None:
        self._program._within(kind, address, 1)
        self._record(kind, address=address)

    def _end(self) -> None:
        if self._ended:
            return
        for address, holder in self._program._locks.items():
            if holder == self.number:
                raise _core.ConfigError(f"join: thread {self.number} still holds the lock at {address:#x}")
        self._record("end", stamped=True)
        self._ended = True

    def _goes_on(self, what: str) -> None:
        """Nothing is done for a thread that has ended: neither kept nor recorded."""
        if self._ended:
            raise _core.ConfigError(f"{what}: thread {self.number} has ended")

    def _record(self, kind: str, *, address: int = 0, value: int | bytes = 0, size: int = 0, stamped: bool = False, here: bool = True) -> None:
        self._goes_on(kind)
        program = self._program
        # Kinds that are no instruction of the program leave what it computed to the next that is.
        instructions = self._instructions + 1 if here else 0
        self._instructions = 0 if here else self._instructions
        told = value if isinstance(value, int) else int.from_bytes(value, "little")
        program._keep_record(self.number, kind, size, address, told, stamped, program._place() if here else 0, instructions)


def pieces(address: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """Bytes as accesses of 8, 4, 2 or 1 of them, each aligned."""
    done = 0
    while done < len(data):
        at = address + done
        size = next(n for n in (8, 4, 2, 1) if at % n == 0 and done + n <= len(data))
        yield at, data[done : done + size]
        done += size


def number(what: str, value: object, least: int, most: int) -> int:
    """A whole number within bounds."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise _core.ConfigError(f"{what}: give a whole number, not {type(value).__name__}")
    if not least <= int(value) <= most:
        raise _core.ConfigError(f"{what}: {int(value)}; accepted: {least} to {most}")
    return int(value)


def bytes_of(what: str, data: object) -> bytes:
    """Bytes, of whatever holds some."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise _core.ConfigError(f"{what}: give bytes, not {type(data).__name__}")
    return bytes(data)


def _size(what: str, size: object) -> int:
    if not isinstance(size, Integral) or size not in (1, 2, 4, 8):
        raise _core.ConfigError(f"{what}: {size} bytes; accepted: 1, 2, 4 or 8, or bytes by read and write")
    return int(size)


def _checked(what: str, value: object, size: int) -> int:
    most = (1 << 8 * _size(what, size)) - 1
    if isinstance(value, Integral) and not isinstance(value, bool) and not 0 <= int(value) <= most:
        raise _core.ConfigError(f"{what}: {int(value)} does not fit {size} bytes; accepted: 0 to {most}")
    return number(what, value, 0, most)
