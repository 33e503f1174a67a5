"""The recorder's half in the program: it sees what happens to files, and right programs stay right."""

import os
import struct
import subprocess
from pathlib import Path

import pytest

from conftest import Cli

PROGRAMS = Path(__file__).parent / "programs"
SPACE, SHIFT = 1 << 62, 44
STORES = {"store", "store-nt", "store-release", "rmw", "observed"}
HARD = {
    "gone": (0, ""), "forbidden": (0, ""), "moved": (0, "1\n"), "cancelled": (0, ""), "cleaned": (0, "300\n"), "threads": (0, "5000\n"),
    "interrupted": (0, "1\n"), "jumped": (0, "200\n"), "faults": (0, "1 8 7\n"), "refused_stores": (0, "4 4\n"), "closes": (0, ""),
    "children": (0, "4 5\n"), "ends": (6, ""), "destructors": (0, "18\n"), "exit": (7, ""), "quick": (8, "quick\n"),
    "_Exit": (9, ""), "last": (0, ""),
}


class Recording:
    """A recording, its texts read from the blocks, and what it says that files hold."""

    def __init__(self, cli: Cli, name: str) -> None:
        self.records = cli.json("trace", "head", name, "-n", 10_000_000)
        self.kinds = cli.json("trace", "info", name)["kinds"]
        self.texts: list[tuple[str, str]] = []
        raw, at = (cli.folder / name).read_bytes(), 16
        while at < len(raw):
            kind, _, _, _, length, _ = struct.unpack("<6I", raw[at + 4 : at + 28])
            if kind == 3:
                key, value = raw[at + 28 : at + 28 + length].decode().split("\n", 1)
                self.texts.append((key, value))
            at += 28 + length

    def of(self, key: str) -> list[str]:
        return [value for k, value in self.texts if k == key]

    def images(self) -> dict[str, bytes]:
        """Contents of the files at the end, from nothing but the recording."""
        described = [value.split("\n") for value in self.of("file")]
        images = {int(number): bytearray(int(size)) for number, _, _, size in described}
        maps: list[tuple[int, int, int]] = []
        operand = 0
        for r in self.records:
            kind, address, value = r["kind"], number_of(r["address"]), number_of(r["value"])
            if kind in ("map", "unmap"):
                end = address + (value + 4095) // 4096 * 4096
                maps = [m for old in maps for m in without(old, address, end)]
            if kind == "map":
                maps.append((address, end, operand))
            elif kind in STORES:
                address = next((m[2] + address - m[0] for m in reversed(maps) if m[0] <= address < m[1]), 0)
            if address >> 62 == 1:
                change(images[address >> SHIFT & 0x3FFFF], kind, address & (1 << SHIFT) - 1, value, r["size"])
            operand = value if kind == "operand" else 0
        return {path: bytes(images[int(number)]) for number, _, path, _ in described}


def without(mapping: tuple[int, int, int], start: int, end: int) -> list[tuple[int, int, int]]:
    """What is left of a mapping."""
    low, high, target = mapping
    left = (low, min(high, start), target)
    right = (max(low, end), high, target + max(low, end) - low)
    return [m for m in (left, right) if m[0] < m[1]]


def number_of(value: object) -> int:
    return int(str(value), 0) if value is not None else 0


def change(image: bytearray, kind: str, offset: int, value: int, size: int) -> None:
    if kind == "call":
        call, n = value & 0xFF, value >> 8
        if call in (1, 8):
            image.extend(bytes(max(0, offset + n - len(image))))
        if call == 7:
            del image[n:]
            image.extend(bytes(n - len(image)))
    elif kind in STORES | {"written", "contents"}:
        image[offset : offset + size] = value.to_bytes(8, "little")[:size][: max(0, len(image) - offset)]


def record(cli: Cli, *command: str, code: int = 0) -> Recording:
    env = os.environ | {"COREPLANE_TRACE": str(cli.folder / "r.cpt"), "PMEM_IS_PMEM_FORCE": "1"}
    done = subprocess.run(command, cwd=cli.folder, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return Recording(cli, "r.cpt")


def build(cli: Cli, name: str, *flags: str) -> None:
    cli("cc", "-O1", PROGRAMS / f"{name}.c", "-o", name, "-pthread", *flags)


def same(cli: Cli, recording: Recording, *names: str) -> None:
    images = recording.images()
    for name in names:
        path = str(cli.folder / name)
        assert path in images, f"{path} is not among {list(images)}"
        assert images[path] == Path(path).read_bytes()


@pytest.fixture(scope="module")
def robust(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cli = Cli(tmp_path_factory.mktemp("robust"))
    build(cli, "robust")
    return cli.folder / "robust"


@pytest.mark.parametrize("case", HARD)
def test_right_programs_end_as_they_would_without_a_recorder(cli: Cli, robust: Path, case: str) -> None:
    code, text = HARD[case]
    for traced in ({}, {"COREPLANE_TRACE": str(cli.folder / "r.cpt")}):
        env = os.environ | traced
        done = subprocess.run([robust, case, "r.pm"], cwd=cli.folder, env=env, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stdout) == (code, text), done.stderr
    # Whole, with every thread.
    info = cli.json("trace", "info", "r.cpt")
    assert info["kinds"]["start"] == {"threads": 5001, "cancelled": 41, "cleaned": 301, "ends": 5, "destructors": 4, "last": 2}.get(case, 1)
    if case == "closes":
        assert (cli.folder / "r.pm").read_bytes() == b"mine"


def test_every_way_to_change_a_file_is_seen(cli: Cli) -> None:
    (cli.folder / "old").write_bytes(bytes(range(256)) * 20)
    (cli.folder / "gone").write_bytes(b"soon")
    build(cli, "changes")
    r = record(cli, "./changes", "old", "new")
    same(cli, r, "old", "new", "new.copy")
    assert r.images()[str(cli.folder / "new.tmp")] == (cli.folder / "new.last").read_bytes()
    calls = [number_of(x["value"]) & 0xFF for x in r.records if x["kind"] == "call"]
    for call in (1, 2, 4, 5, 7, 8, 9, 16, 17, 18):
        assert call in calls, f"no call {call}"
    # A write that is durable when it returns makes what it wrote durable alone: RWF_DSYNC at 200, O_SYNC at 0.
    ranges = [(number_of(x["address"]) & (1 << SHIFT) - 1, number_of(x["value"]) >> 8) for x in r.records if x["kind"] == "call" and number_of(x["value"]) & 0xFF == 2]
    assert (200, 10) in ranges and (0, 4) in ranges, ranges
    assert calls.count(5) == 1, "one fsync of a file"
    assert not r.of("unseen")
    assert r.kinds["contents"] >= 256 * 20 // 8 - 20


def test_what_code_without_hooks_stores_is_observed_and_said(cli: Cli) -> None:
    build(cli, "unhooked")
    r = record(cli, "./unhooked", "u.pm")
    same(cli, r, "u.pm")
    observed = [number_of(x["value"]) for x in r.records if x["kind"] == "observed"]
    assert observed == [0x1234, 0x5678, 0x9ABC]
    said = r.of("unseen")
    assert len(said) == 3 and "found at msync" in said[0] and "found at a flush" in said[1] and "found at the end" in said[2]


def test_what_is_made_durable_of_thousands_of_mappings_is_seen(cli: Cli) -> None:
    build(cli, "many")
    cli("record", "--quiet", "--out", "m.cpt", "--", "./many", "m.pm")
    (file,) = cli.json("trace", "info", "m.cpt")["files"]
    assert (file["maps"], file["syncs"]) == (4200, 100)


def test_files_that_have_no_number_left_are_told_of(cli: Cli) -> None:
    build(cli, "many")
    journal = f"/dev/shm/coreplane-test-{os.getpid()}"
    cli("record", "--quiet", "--out", "m.cpt", "--", "./many", "m.pm", journal)
    info = cli.json("trace", "info", "m.cpt")
    (kept,) = [file["number"] for file in info["files"] if file["path"].endswith("m.pm")]
    (unseen,) = info["unseen"]
    assert "more than 65535 files" in unseen["text"] and {"file": kept, "times": 1} in unseen["files"]
    assert [place["place"].split(":")[0] for place in unseen["places"]] == ["many.c"]


def test_the_c_librarys_streams_are_seen(cli: Cli) -> None:
    build(cli, "stream")
    same(cli, record(cli, "./stream", "s.txt"), "s.txt")


def test_every_function_that_writes_to_a_stream_is_seen(cli: Cli) -> None:
    build(cli, "stream_ways", "-D_FORTIFY_SOURCE=2")
    r = record(cli, "./stream_ways")
    ways = [path.name for path in cli.folder.glob("*.way")]
    assert len(ways) == 45
    same(cli, r, *ways)
    assert not r.of("unseen")


@pytest.mark.parametrize("how", ["alone", "threads"])
def test_a_file_that_grew_without_a_write_is_told_of(cli: Cli, how: str) -> None:
    build(cli, "grew")
    r = record(cli, "./grew", how)
    (said,) = r.of("unseen")
    assert "more bytes than the writes" in said


@pytest.mark.skipif(not Path("/usr/include/libpmemobj.h").exists(), reason="libpmemobj is not installed")
def test_a_pool_of_the_distributions_libpmemobj_is_seen(cli: Cli) -> None:
    build(cli, "pmemobj", "-lpmemobj")
    r = record(cli, "./pmemobj", "o.pm")
    same(cli, r, "o.pm")
    assert r.kinds["clwb"] > 1000 and r.kinds["sfence"] > 20
    assert not r.of("unseen"), "its stores are known facts"
    before = {i for i, x in enumerate(r.records) if x["kind"] == "operand" and number_of(x["value"]) == 1}
    assert all(i - 1 in before for i, x in enumerate(r.records) if x["kind"] == "observed")


@pytest.mark.skipif(not Path("/usr/include/lmdb.h").exists(), reason="LMDB is not installed")
def test_a_library_without_hooks_is_seen_through_its_calls(cli: Cli) -> None:
    build(cli, "lmdb", "-llmdb")
    r = record(cli, "./lmdb", "d.mdb")
    same(cli, r, "d.mdb")
    calls = [number_of(x["value"]) & 0xFF for x in r.records if x["kind"] == "call"]
    assert calls.count(4) + calls.count(5) >= 3, "each transaction is made durable"


@pytest.fixture
def asynchronous(cli: Cli) -> Cli:
    cli("cc", "-O1", "-w", PROGRAMS / "asynchronous.c", "-o", "asynchronous")
    return cli


CHECK = ("crash", "intel", "trace:a.cpt", "--points", "4", "--check", "test {acknowledged} = 0 || grep -q after {image}")


@pytest.mark.parametrize("how, named", [("aio", "(aio)"), ("ring", "io_uring"), ("no ring", "io_uring"), ("submission", "(io_submit)")])
def test_what_goes_on_beside_the_program_is_unseen(asynchronous: Cli, how: str, named: str) -> None:
    if "refused" in asynchronous("record", "--quiet", "--out", "a.cpt", "--", "./asynchronous", how):
        # What was asked for and not given changes nothing.
        assert named not in asynchronous(*CHECK, code=1)
        return
    assert how != "no ring"
    said = asynchronous.refuses(*CHECK)
    assert "not modelled" in said and named in said and "a.dat" in said


@pytest.mark.parametrize("how", ["system", "child"])
def test_a_program_that_is_started_is_told_of(asynchronous: Cli, how: str) -> None:
    asynchronous("record", "--quiet", "--out", "a.cpt", "--", "./asynchronous", how)
    assert "a program was started" in asynchronous(*CHECK, code=1)
