"""Programs written in Python are recordings: they run on every machine, hold real bytes, and their lines are named."""

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import coreplane as cp

ROOT = Path(__file__).parents[2]


def check(folder: Path, text: str) -> str:
    (folder / "check.py").write_text(text)
    return f"{sys.executable} {folder / 'check.py'} {{image}} {{acknowledged}}"


def log(folder: Path, *, right: bool) -> cp.Trace:
    program = cp.Program()
    at, writer = program.map("log.pm", 4096), program.main
    for n in range(1, 6):
        writer.store(at + 64 * n, n)
        if right or n != 3:
            writer.persist(at + 64 * n, 8)
        writer.store(at, n)
        writer.persist(at, 8)
        writer.mark(n)
    return program.save(folder / "log.parquet")


COUNTED = """
import struct, sys
image = open(sys.argv[1], "rb").read()
count = struct.unpack_from("<Q", image)[0]
if count < int(sys.argv[2]): sys.exit("lost")
for n in range(1, count + 1):
    if struct.unpack_from("<Q", image, 64 * n)[0] != n: sys.exit(f"entry {n} of {count}")
"""


def test_a_missing_flush_is_named_by_its_line_of_python(tmp_path: Path) -> None:
    for machine in ("intel", "asap-rp", "hops-rp"):
        right = cp.crash(machine, log(tmp_path, right=True), check=check(tmp_path, COUNTED))
        assert right.ok, right.table
    wrong = cp.crash("intel", log(tmp_path, right=False), check=check(tmp_path, COUNTED))
    line = next(n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "writer.store(at + 64 * n" in text)
    sites = {store.site for finding in wrong.findings for store in finding.missing}
    assert any(site.endswith(f"test_program.py:{line} log") for site in sites), sites
    assert "nothing flushes its line" in " ".join(finding.why for finding in wrong.findings)


@pytest.mark.parametrize("seed", range(4))
def test_what_memory_holds_in_python_is_what_the_machine_holds(tmp_path: Path, seed: int) -> None:
    """A power failure after the last step leaves every byte; the check compares all of them, and an image with one changed is refused."""
    chance = random.Random(seed)
    program = cp.Program()
    size, before = 1 << 14, bytes(chance.randrange(256) for _ in range(777))
    at = program.map("pool.pm", size, before)
    threads = [program.main, program.main.start(), program.main.start()]
    turn = program.memory(8)
    known = bytearray(before.ljust(size, b"\0"))
    for _ in range(300):
        thread, width = chance.choice(threads), chance.choice((1, 2, 4, 8))
        thread.lock(turn)
        offset, value = chance.randrange(size - 8), chance.randrange(1 << 8 * width)
        act = chance.randrange(6)
        if act < 2:
            [thread.store, thread.store_nontemporal][act](at + offset, value, width)
            if act:
                # Nobody else's fence sends it out of its buffer.
                thread.sfence()
            known[offset : offset + width] = value.to_bytes(width, "little")
        elif act == 2:
            data = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 100)))[: size - offset]
            thread.write(at + offset, data)
            known[offset : offset + len(data)] = data
        elif act == 3:
            aligned = offset // 8 * 8
            old = int.from_bytes(known[aligned : aligned + 8], "little")
            assert thread.fetch_add(at + aligned, value) == old
            known[aligned : aligned + 8] = ((old + value) % (1 << 64)).to_bytes(8, "little")
        elif act == 4:
            assert thread.load(at + offset, width) == int.from_bytes(known[offset : offset + width], "little")
        else:
            length = min(90, size - offset)
            assert thread.read(at + offset, length) == bytes(known[offset : offset + length])
        thread.unlock(turn)
    for thread in threads[1:]:
        program.main.join(thread)
    program.main.persist(at, size)
    program.main.mark(1)
    assert program.contents(at, size) == bytes(known)
    trace = program.save(tmp_path / "any.parquet")
    (tmp_path / "left").write_bytes(known)
    equal = f"import sys; sys.exit(int(sys.argv[2]) == 1 and open(sys.argv[1], 'rb').read() != open({str(tmp_path / 'left')!r}, 'rb').read())"
    found = cp.crash("eadr", trace, check=check(tmp_path, equal), points=5)
    assert found.ok, found.table
    known[size // 2] ^= 1
    (tmp_path / "left").write_bytes(known)
    with pytest.raises(cp.ConfigError, match="before any power failure"):
        cp.crash("eadr", trace, check=check(tmp_path, equal), points=5)


def test_threads_locks_and_computation_take_their_time(tmp_path: Path) -> None:
    def made(work: int, *, locked: bool) -> cp.Run:
        program = cp.Program()
        pool, lock = program.map("pool.pm", 1 << 16), program.memory(64)
        threads = [program.main.start() for _ in range(4)]
        for n in range(200):
            thread = threads[n % 4]
            if locked:
                thread.lock(lock)
            thread.compute(work)
            thread.store(pool + 64 * n, n)
            thread.persist(pool + 64 * n, 8)
            if locked:
                thread.unlock(lock)
        for thread in threads:
            program.main.join(thread)
        return cp.run("intel", program.save(tmp_path / "p.parquet"))

    little, much, locked = made(0, locked=False), made(4000, locked=False), made(4000, locked=True)
    # 50 times 4,000 instructions a core, at most two of them a cycle of 2 GHz: not below 50 us.
    assert much.time > little.time + 40_000
    assert locked.time > 2 * much.time
    assert locked["time.locks"] > much["time.locks"]


def test_bytes_stay_real_through_atomics_and_msync(tmp_path: Path) -> None:
    program = cp.Program()
    at, main = program.map("f", 128), program.main
    assert main.compare_exchange(at, 0, 7) and not main.compare_exchange(at, 0, 8)
    assert main.exchange(at, 9) == 7 and main.load_acquire(at) == 9
    main.store_release(at + 8, 1)
    main.msync(at, 128)
    main.mark(1)
    trace = program.save(tmp_path / "f.parquet")
    kinds = dict(trace.kinds.iter_rows())
    assert (kinds["rmw"], kinds["load-acquire"], kinds["store-release"], kinds["call"]) == (3, 1, 1, 1)
    assert trace.records.collect()["thread"].to_list() == [0] * trace.summary["records"]
    found = cp.crash("intel", trace, check=check(tmp_path, "import sys; sys.exit(int(sys.argv[2]) == 1 and open(sys.argv[1], 'rb').read(16) != bytes([9] + [0] * 7 + [1] + [0] * 7))"))
    assert found.ok, found.table


def test_what_makes_no_sense_is_refused_where_it_is_called(tmp_path: Path) -> None:
    program = cp.Program()
    at, main = program.map("f", 128), program.main
    other = main.start()
    main.lock(at)
    refused = [
        (lambda: main.store(at + 124, 1), "8 bytes at 0x[0-9a-f]+ reach 4 beyond the end"),
        (lambda: main.load(8), "nothing is mapped at 0x8"),
        (lambda: main.store(at, -1), "-1 does not fit 8 bytes"),
        (lambda: main.store(at, 256, 1), "256 does not fit 1 bytes; accepted: 0 to 255"),
        (lambda: main.load(at, 3), "3 bytes; accepted: 1, 2, 4 or 8"),
        (lambda: main.compute(-1), "compute: instructions before one access: -1; accepted: 0 to"),
        (lambda: main.join(main), "its own end"),
        (lambda: other.lock(at), "thread 0 holds the lock"),
        (lambda: other.unlock(at), "thread 1 does not hold the lock"),
        (lambda: program.map("f", 64), "f is mapped already"),
        (lambda: program.map("g", 0), "map: size: 0; accepted: 1 to"),
        (lambda: program.map("g", 4, b"12345"), "g has 4 bytes, its contents 5"),
        (lambda: main.msync(program.memory(8), 8), "is of no file"),
        (lambda: program.save(tmp_path / "x.txt"), "does not end in .parquet"),
        (lambda: program.save(tmp_path / "x.parquet"), "save: thread 0 still holds the lock"),
    ]
    anything: Any = main
    whatever: Any = program
    refused += [
        (lambda: main.compute(1 << 32), "compute: instructions before one access: 4294967296; accepted: 0 to 4294967294"),
        (lambda: main.msync(at, -8), "msync: size: -8; accepted: 0 to"),
        (lambda: main.read(at, -5), "read: size: -5"),
        (lambda: main.persist(at, -5), "persist: size: -5"),
        (lambda: program.contents(at, -5), "contents: size: -5"),
        (lambda: main.compare_exchange(at, 256, 1, 1), "compare_exchange: expected: 256 does not fit 1 bytes"),
        (lambda: main.compare_exchange(at, 5, 1 << 70), "does not fit 8 bytes"),
        (lambda: anything.store(at, 1.5), "store: give a whole number, not float"),
        (lambda: anything.store(None, 1), "store: address: give a whole number, not NoneType"),
        (lambda: anything.write(at, "abc"), "write: give bytes, not str"),
        (lambda: anything.fetch_add(at, 1.5), "fetch_add: give a whole number"),
        (lambda: anything.mark("a"), "mark: give a whole number"),
        (lambda: anything.join(None), "join: give a thread of this program"),
        (lambda: main.join(cp.Program().main), "join: give a thread of this program"),
        (lambda: other.join(main), "the first thread ends last"),
        (lambda: whatever.map("x", 4096.5), "map: size: give a whole number, not float"),
        (lambda: whatever.map("x", 4096, "hello"), "map: contents: give bytes, not str"),
        (lambda: whatever.map(5, 64), "map: give a file's name, not int"),
        (lambda: program.map("", 64), "is no name of a file"),
        (lambda: program.map("a\nb", 64), "is no name of a file"),
        (lambda: program.map("./f", 64), "is mapped already"),
        (lambda: whatever.memory("a"), "memory: size: give a whole number, not str"),
    ]
    before = [len(column) for column in program._columns]
    for call, says in refused:
        with pytest.raises(cp.ConfigError, match=says):
            call()
    assert [len(column) for column in program._columns] == before
    main.unlock(at)
    # What was refused has ended nobody.
    other.load(at)
    main.join(other)
    late = [lambda: other.store(at, 1), lambda: other.write(at, b"Z"), lambda: other.fetch_add(at, 1), lambda: other.lock(at), lambda: other.compute(1), lambda: main.join(other)]
    for call in late:
        with pytest.raises(cp.ConfigError, match="thread 1 has ended"):
            call()
    assert program.contents(at, 8) == bytes(8) and not program._locks
    with pytest.raises(cp.ConfigError, match=r"save: .*x\.parquet: No such folder"):
        program.save(tmp_path / "no/x.parquet")
    trace = program.save(tmp_path / "x.parquet")
    assert trace.summary["threads"] == [8, 3] and list(tmp_path.iterdir()) == [tmp_path / "x.parquet"]
    assert pl.read_parquet(tmp_path / "x.parquet").height == 11


def test_the_example_finds_its_mistake() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "examples/python/program.py")], capture_output=True, text=True, check=True)
    assert "count first: fails" in done.stdout and "entry first: clean" in done.stdout
    assert "can persist before the store at" in done.stdout


def test_times_of_operations_are_those_between_their_ends(tmp_path: Path) -> None:
    program = cp.Program()
    at, main = program.map("f", 4096), program.main
    for n in range(1200):
        main.compute(100_000 if n == 600 else 1000 if n % 2 else 3000)
        main.store(at, n)
        main.mark(n)
    run = cp.run("eadr", program.save(tmp_path / "f.parquet"))
    assert run["cpu.operations"] == 1200
    short, long = run["operation.time.p10"], run["operation.time.p90"]
    # What 1,000 and 3,000 instructions take, and their loads and stores; buckets are a hundredth apart.
    assert 2.6 < long / short < 3.1
    assert run["operation.time.p50"] in (short, long) and run["operation.time.p99"] == long
    assert 30 < run["operation.time.p999"] / long or run["operation.time.p999"] == long
    assert abs(run["operation.time.mean"] * 1199 / run.time - 1) < 0.01


def test_a_mistake_in_every_turn_of_a_loop_is_met_whatever_the_bound(tmp_path: Path) -> None:
    program = cp.Program()
    at, main, turns = program.map("f", 1 << 16), program.main, 30
    for n in range(1, turns + 1):
        main.store(at + 64 * n, n)
        main.clwb(at + 64 * n)
        main.store(at, n)
        main.persist(at, 8)
        main.persist(at + 64 * n, 8)
    trace = program.save(tmp_path / "f.parquet")
    every = check(tmp_path, COUNTED.replace("int(sys.argv[2])", "0"))
    for points in (10, 30, 1000):
        found = cp.crash("intel", trace, check=every, points=points)
        assert any(f.source == "model" for f in found.findings), (points, found)
        assert any("points of the model were tried" in note for note in found.notes) == (points < 61)
