"""A program written in Python, step by step, on machines that cannot be bought, and with its power cut.

Two writers append to a log under a lock. The first form counts an entry before the entry is durable.

``python examples/python/program.py``
"""

import sys
import tempfile
from pathlib import Path

import coreplane as cp

CHECK = """
import struct, sys
image, acknowledged = open(sys.argv[1], "rb").read(), int(sys.argv[2])
count = struct.unpack_from("<Q", image)[0]
if count < acknowledged:
    sys.exit(f"{acknowledged} entries were acknowledged, {count} are there")
for n in range(1, count + 1):
    if struct.unpack_from("<Q", image, 64 * n)[0] != n:
        sys.exit(f"entry {n} of {count} is not there")
"""


def append(writer: cp.Thread, log: int, number: int, *, entry_first: bool) -> None:
    """One entry of a line, and the count of entries in the log's first line."""
    writer.compute(400)
    writer.store(log + 64 * number, number)
    if entry_first:
        writer.persist(log + 64 * number, 8)
    writer.store(log, number)
    if not entry_first:
        writer.clwb(log + 64 * number)
    writer.persist(log, 8)
    writer.mark(number)


def program(path: Path, *, entry_first: bool) -> cp.Trace:
    """Two threads that take turns."""
    made = cp.Program()
    log, lock = made.map("log.pm", 8192), made.memory(64)
    writers = [made.main.start() for _ in range(2)]
    for number in range(1, 41):
        writer = writers[number % 2]
        with writer.locked(lock):
            append(writer, log, number, entry_first=entry_first)
    for writer in writers:
        made.main.join(writer)
    return made.save(path)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        check = Path(folder, "check.py")
        check.write_text(CHECK)
        for name, entry_first in (("count first", False), ("entry first", True)):
            log = program(Path(folder, "log.parquet"), entry_first=entry_first)
            found = cp.crash("intel", log, check=f"{sys.executable} {check} {{image}} {{acknowledged}}", points=40)
            print(f"{name}: {'clean' if found.ok else 'fails'}")
            for finding in found.findings:
                print(f"  {finding.why or finding.message}")
        for machine, times in cp.compare(log, on=["intel", "asap-rp", "eadr"], no_bands=True).speedup.items():
            print(f"{machine:8} {times:.2f}")


if __name__ == "__main__":
    main()
