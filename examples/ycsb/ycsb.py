"""YCSB's core workload C for a Redis behind a Unix socket, as YCSB's client for Redis does it, with nothing to install.

python ycsb.py SOCKET RECORDS READS stores RECORDS records of ten fields of a hundred bytes (HMSET, and ZADD of the index, two requests
each), reads READS of them (HGETALL) by YCSB's scrambled zipfian, and shuts the server down.
"""

import random
import socket
import sys
import time
from typing import IO, Any

ITEMS, ALL, THETA = 10_000_000_000, 26.46902820178302, 0.99
LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789"


def hashed(value: int) -> int:
    """FNV of the eight bytes of a number, as YCSB has it."""
    found = 0xCBF29CE484222325
    for _ in range(8):
        found = (found ^ (value & 0xFF)) * 1099511628211 % (1 << 64)
        value >>= 8
    return min(found, (1 << 64) - found)


def item(draw: float) -> int:
    """The item that is wanted, for a number from zero to one; the first ones are wanted most."""
    if draw * ALL < 1:
        return 0
    second = 1 + 0.5**THETA
    if draw * ALL < second:
        return 1
    eta = (1 - (2 / ITEMS) ** (1 - THETA)) / (1 - second / ALL)
    return int(ITEMS * (eta * draw - eta + 1) ** (1 / (1 - THETA)))


def answer(stream: IO[bytes]) -> Any:
    """What the server says: a line, a string, or a list."""
    line = stream.readline()
    if line[:1] == b"*":
        return [answer(stream) for _ in range(int(line[1:]))]
    if line[:1] == b"$":
        return stream.read(int(line[1:]) + 2)[:-2]
    return line


class Server:
    """A connection, one request at a time."""

    def __init__(self, path: str) -> None:
        """Waits up to a minute for the server."""
        self.socket = socket.socket(socket.AF_UNIX)
        for _ in range(600):
            try:
                self.socket.connect(path)
                break
            except OSError:
                time.sleep(0.1)
        self.answers = self.socket.makefile("rb")

    def __call__(self, *words: bytes) -> Any:
        """Sends a request and reads its answer."""
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return answer(self.answers)


def main() -> None:
    """Loads, reads, and ends the server."""
    records, reads = int(sys.argv[2]), int(sys.argv[3])
    server, draw = Server(sys.argv[1]), random.Random(1)
    for record in range(records):
        name = b"user%d" % hashed(record)
        fields = [(b"field%d" % n, bytes(draw.choices(LETTERS, k=100))) for n in range(10)]
        server(b"HMSET", name, *(word for field in fields for word in field))
        server(b"ZADD", b"_indices", b"%d" % (hashed(record) % (1 << 31)), name)
    for _ in range(reads):
        found = server(b"HGETALL", b"user%d" % hashed(hashed(item(draw.random())) % records))
        if len(found) != 20:
            sys.exit(f"a record has {len(found)} words instead of 20")
    server.socket.sendall(b"*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n")


main()
