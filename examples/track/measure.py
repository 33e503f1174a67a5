"""Dirty data of real programs: Redis under a random and a sequential load, and two MapReduce programs.

    .venv/bin/python examples/track/measure.py [--keys 100000] [--seconds 5] [--mib 256]

Prints, for each program, how much of every dirty block is clean and what lines save against pages, and for Redis what
tracking costs its throughput. Programs are small next to the published ones (4 GB of keys, 40 GB of input): what hangs on
the size is how many keys a window of a second touches, and that is printed too.
"""

import argparse
import json
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

COREPLANE = Path(sys.executable).parent / "coreplane"
HERE = Path(__file__).parent
VALUE = 300
BATCH = 1000


def command(*words: bytes) -> bytes:
    """A request in Redis's protocol."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Load(threading.Thread):
    """One set for each get, in batches, until told to stop; as memtier does with --ratio 1:1 --pipeline."""

    def __init__(self, port: int, keys: int, sequential: bool) -> None:
        super().__init__()
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.keys, self.sequential, self.requests, self.stopped = keys, sequential, 0, False
        self.random, self.next = random.Random(1), 0

    def key(self) -> bytes:
        self.next += 1
        number = self.next % self.keys if self.sequential else self.random.randrange(self.keys)
        return b"memtier-%d" % number

    def batch(self) -> None:
        requests = []
        for _ in range(BATCH // 2):
            key = self.key()
            # Values differ from one set to the next: none is stored in silence.
            requests.append(command(b"SET", key, self.random.randbytes(8).hex().encode() * 18 + b"0123456789ab"))
            requests.append(command(b"GET", key))
        self.connection.sendall(b"".join(requests))
        answers = 0
        buffer = b""
        wanted = BATCH // 2 * (len(b"+OK\r\n") + len(b"$300\r\n") + VALUE + 2)
        while answers < wanted:
            buffer = self.connection.recv(1 << 16)
            if not buffer:
                raise ConnectionError("the server has gone")
            answers += len(buffer)
        self.requests += BATCH

    def run(self) -> None:
        while not self.stopped:
            self.batch()


def shares(windows: list[dict[str, float]]) -> str:
    total = {unit: sum(w[unit] for w in windows) for unit in ("bytes", "lines", "pages", "huge_pages")}
    clean = [1 - total["bytes"] / max(1, total[unit] * block) for unit, block in (("pages", 4096), ("huge_pages", 2 << 20), ("lines", 64))]
    saved = 1 - total["lines"] * 64 / max(1, total["pages"] * 4096)
    return "  ".join(f"{share:8.4f}" for share in [*clean, saved])


def track(process: int, seconds: int, mode: str = "lines") -> list[dict[str, float]]:
    words = [str(COREPLANE), "track", str(process), "--windows", str(seconds), "--mode", mode, "--format", "json"]
    windows: list[dict[str, float]] = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    return windows


def redis(sequential: bool, keys: int, seconds: int) -> None:
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        words = ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", folder]
        server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        while subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True).returncode:
            time.sleep(0.1)
        filling = Load(port, keys, True)
        while filling.requests < 2 * keys:
            filling.batch()
        load = Load(port, keys, sequential)
        load.start()
        rates = {}
        for mode in ("nothing", "write-protect", "lines"):
            before, start = load.requests, time.monotonic()
            windows = track(server.pid, seconds, mode)
            rates[mode] = (load.requests - before) / (time.monotonic() - start)
        load.stopped = True
        load.join()
        server.terminate()
        server.wait()
    name = "redis, in order" if sequential else "redis, at random"
    print(f"{name:18} {shares(windows)}   {rates['lines'] / keys:.2f} requests a key and window")
    alone = rates["nothing"]
    pause = max(w["pause_ms"] for w in windows)
    print(
        f"{'':18} {alone:,.0f} requests/s untracked; {rates['write-protect'] / alone:.0%} of that with write-protection, "
        f"{rates['lines'] / alone:.0%} with lines (longest pause {pause:.1f} ms)"
    )


def map_reduce(job: str, mib: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "map_reduce"
        subprocess.run(["cc", "-O2", "-pthread", HERE / "map_reduce.c", "-o", program], check=True)
        running = subprocess.Popen([program, job, str(mib), "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert running.stdin is not None and running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        words = [str(COREPLANE), "track", str(running.pid), "--interval", "0.02", "--format", "json"]
        tracker = subprocess.Popen(words, stdout=subprocess.PIPE)
        status = Path(f"/proc/{running.pid}/status")
        while "TracerPid:\t0\n" in status.read_text():
            time.sleep(0.01)
        time.sleep(1)
        running.stdin.write(b"\n")
        running.stdin.close()
        windows = json.loads(tracker.communicate()[0])
        running.wait()
    print(f"{job:18} {shares(windows)}   {mib} MiB of input, windows of 20 ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=256)
    options = parser.parse_args()
    print("content difference per window; share of each dirty block that is clean, and what lines save against 4 KiB pages")
    print(f"{'':18} {'4 KiB':>8}  {'2 MiB':>8}  {'64 B':>8}  {'saved':>8}")
    if shutil.which("redis-server"):
        for sequential in (False, True):
            redis(sequential, options.keys, options.seconds)
    else:
        print("redis-server is not installed: its two loads are left out", file=sys.stderr)
    for job in ("linreg", "histogram"):
        map_reduce(job, options.mib)


main()
