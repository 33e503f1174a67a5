"""Records which pages of memory SQLite and Redis visit: ``python -m coreplane.visits sqlite|redis FILE``.

The unmodified program runs under Valgrind's lackey, which prints every load and store. What is kept: visits of pages
of 4 KiB, in order, with the lines that they touched and whether they wrote. A visit ends when 64 other pages have been
visited since (the reach of a first-level TLB). Pages first touched before the first operation keep their number;
pages that the operations made the program touch are numbered by first touch, so that a larger run can stand on them.
``coreplane run amf visits:FILE`` runs the result. Needs ``valgrind`` and ``sqlite3`` or ``redis-server``, ``redis-benchmark`` and ``redis-cli``.
"""

import random
import re
import subprocess
import sys
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import IO

MAGIC = b"COREPLANE-VISITS 1\n"
WINDOW = 64
LACKEY = ["valgrind", "--tool=lackey", "--trace-mem=yes", "--log-fd=1"]
NS_PER_INSTRUCTION = 0.5
ACCESS = re.compile(rb"^ ([LSM]) ([0-9a-f]+),", re.M)
PAGE = re.compile(rb"^ [LSM] ([0-9a-f]+)[0-9a-f]{3},", re.M)
PHASE = re.compile(rb"^.*PHASE ([a-z]+) ?([0-9]*)$", re.M)


class Phase:
    """Operations of one kind, and what they visited."""

    def __init__(self, name: str, operations: int) -> None:
        self.name, self.operations, self.instructions = name, operations, 0
        self.visits: list[tuple[int, int, bool]] = []


class Folder:
    """Turns loads and stores into visits of pages."""

    def __init__(self) -> None:
        self.phases: list[Phase] = []
        self.fixed: dict[int, int] = {}
        self.grown: dict[int, int] = {}
        self.window: OrderedDict[int, list[int]] = OrderedDict()

    def begin(self, name: str, operations: int) -> None:
        self.end()
        self.phases.append(Phase(name, operations))

    def end(self) -> None:
        while self.window:
            self._close(*self.window.popitem(last=False))

    def accesses(self, text: bytes) -> None:
        if not self.phases:
            for page in sorted(int(page, 16) for page in set(PAGE.findall(text))):
                self.fixed.setdefault(page, len(self.fixed))
            return
        self.phases[-1].instructions += text.count(b"\nI ")
        for kind, address in ACCESS.findall(text):
            self.access(int(address, 16), kind != b"L")

    def access(self, address: int, store: bool) -> None:
        page = address >> 12
        if page not in self.fixed:
            self.grown.setdefault(page, len(self.grown))
        state = self.window.get(page)
        if state is None:
            state = self.window[page] = [0, 0]
            if len(self.window) > WINDOW:
                self._close(*self.window.popitem(last=False))
        else:
            self.window.move_to_end(page)
        state[0] |= 1 << (address >> 6 & 63)
        state[1] |= store

    def _close(self, page: int, state: list[int]) -> None:
        self.phases[-1].visits.append((page, state[0].bit_count(), bool(state[1])))

    def bytes(self) -> bytes:
        grown = len(self.grown)
        number = {**{p: grown + n for p, n in self.fixed.items()}, **self.grown}
        head, body = [f"{grown} {len(self.fixed)}"], bytearray()
        for phase in self.phases:
            work = phase.instructions * NS_PER_INSTRUCTION / max(1, len(phase.visits))
            head.append(f"{phase.name} {phase.operations} {len(phase.visits)} {round(work)}")
            last = 0
            for page, lines, store in phase.visits:
                step = number[page] - last
                last = number[page]
                body += _varint((step << 1 ^ step >> 63) << 1 | store)
                body.append(lines - 1)
        return MAGIC + "\n".join(head).encode() + b"\n\n" + bytes(body)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def fold(stream: IO[bytes], folder: Folder) -> None:
    """Reads lackey's lines; a line with ``PHASE name operations`` begins a phase, ``PHASE end`` ends the last."""
    rest = b""
    while block := stream.read(1 << 22):
        block = rest + block
        cut = block.rfind(b"\n") + 1
        rest = block[cut:]
        parts = PHASE.split(block[:cut])
        folder.accesses(parts[0])
        for name, operations, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            if name == b"end":
                folder.end()
                return
            folder.begin(name.decode(), int(operations))
            folder.accesses(text)


def _transactions(statements: list[str]) -> list[str]:
    """A hundred to a transaction: SQLite walks all pages of a database in memory at the end of each."""
    batches = [statements[n : n + 100] for n in range(0, len(statements), 100)]
    return [line for batch in batches for line in ("BEGIN;", *batch, "COMMIT;")]


def sqlite(folder: Folder) -> None:
    """An in-memory table of records of 4 KB: random inserts, updates, selects and deletes."""
    records, others = 1700, 300
    pick = random.Random(1)
    keys = list(range(records))
    pick.shuffle(keys)
    sql = ["PRAGMA journal_mode=memory;", "CREATE TABLE t(k INTEGER PRIMARY KEY, v BLOB);", f".print PHASE insert {records}"]
    sql += _transactions([f"INSERT INTO t VALUES({k}, zeroblob(4000));" for k in keys])
    kinds: list[tuple[str, Callable[[int], str]]] = [
        ("update", lambda k: f"UPDATE t SET v = zeroblob(4000) WHERE k = {k};"),
        ("select", lambda k: f"SELECT length(v), hex(substr(v, 3990, 2)) FROM t WHERE k = {k};"),
        ("delete", lambda k: f"DELETE FROM t WHERE k = {k};"),
    ]
    for name, statement in kinds:
        sql.append(f".print PHASE {name} {others}")
        sql += _transactions([statement(k) for k in pick.sample(keys, others)])
    sql.append(".print PHASE end")
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write("\n".join(sql) + "\n")
        script.flush()
        command = [*LACKEY, "sqlite3", ":memory:", f".read {script.name}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            fold(process.stdout, folder)
            process.kill()


def redis(folder: Folder) -> None:
    """A server without persistence, values of 4 kB: set, get, lpush and lpop, the keys at random for the first two."""
    port, requests, keys = "16399", 1200, 16
    server = [
        *LACKEY, "redis-server", "--port", port, "--save", "", "--appendonly", "no",
        "--enable-debug-command", "yes", "--io-threads", "1",
    ]  # fmt: skip
    # In a folder of its own: the server would load the dump of another.
    with tempfile.TemporaryDirectory() as here, subprocess.Popen(server, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=here) as process:
        assert process.stdout is not None
        client = subprocess.Popen([sys.executable, "-c", _LOAD, port, str(requests), str(keys)])
        fold(process.stdout, folder)
        process.kill()
        client.wait()


_LOAD = """
import subprocess, sys, time
port, requests, keys = sys.argv[1:]
cli = ["redis-cli", "-p", port]
while subprocess.run([*cli, "ping"], capture_output=True).stdout != b"PONG\\n":
    time.sleep(0.5)
def load(name, requests):
    subprocess.run(["redis-benchmark", "-p", port, "-t", name, "-n", requests, "-r", keys, "-d", "4096", "-c", "8", "-P", "8", "-q"], capture_output=True)
# Buffers that do not grow with the requests are touched before the first of them.
for name in ("lpush", "lpop", "get"):
    load(name, "100")
for name in ("set", "get", "lpush", "lpop"):
    subprocess.run([*cli, "debug", "log", f"PHASE {name} {requests}"], capture_output=True)
    load(name, requests)
subprocess.run([*cli, "debug", "log", "PHASE end"], capture_output=True)
"""


def main() -> None:
    """Records one program."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("sqlite", "redis"):
        sys.exit("usage: python -m coreplane.visits sqlite|redis FILE")
    folder, began = Folder(), time.monotonic()
    (sqlite if sys.argv[1] == "sqlite" else redis)(folder)
    Path(sys.argv[2]).write_bytes(folder.bytes())
    for phase in folder.phases:
        print(f"{phase.name}: {phase.operations} operations, {len(phase.visits)} visits, {phase.instructions} instructions")
    print(f"{len(folder.grown)} pages grown, {len(folder.fixed)} fixed, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
