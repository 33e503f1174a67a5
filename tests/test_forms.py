"""What the recorder packs comes out as it happened: accesses of every form, by several threads."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from conftest import Cli

PROGRAM = Path(__file__).parent / "programs/forms.c"
AREA, THREADS, STEPS = 1 << 16, 3, 40_000
LOAD, STORE, SET, COPY = range(4)
Access = tuple[int, int, int]


def pieces(address: int, size: int) -> Iterator[tuple[int, int]]:
    """Aligned words, and what is left before and after them."""
    end = address + size
    while address < end:
        part = 1 << (min(end - address, 8 - address % 8).bit_length() - 1)
        yield address, part
        address += part


def parts(address: int, size: int) -> list[tuple[int, int]]:
    """An access of the program: one record, unless it crosses a line."""
    return [(address, size)] if address % 64 + size <= 64 else list(pieces(address, size))


def lines(address: int, size: int) -> list[tuple[int, int]]:
    return [(max(line, address), 1) for line in range(address & -64, address + size, 64)] if size else []


def expected(area: int, steps: list[Access]) -> tuple[list[Access], list[Access]]:
    """Loads and stores that the steps of one thread are."""
    half = AREA // 2
    memory = bytearray(half) + bytes(0 if at % 3 else at & 0xFF for at in range(half, AREA))
    loads: list[Access] = []
    stores: list[Access] = []
    for what, address, size, value in steps:
        at = address - area
        if what == LOAD:
            loads += [(*part, 0) for part in parts(address, size)]
            continue
        if what == STORE:
            memory[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")
        elif what == SET:
            memory[at : at + size] = bytes([value]) * size
        else:
            loads += [(*part, 0) for part in lines(value, size)]
            memory[at : at + size] = memory[value - area : value - area + size]
        word = lambda a, n: int.from_bytes(memory[a - area : a - area + n], "little")
        of = parts(address, size) if what == STORE else pieces(address, size)
        stores += [(a, n, word(a, n)) for a, n in of]
    return loads, stores


def done(data: bytes) -> Iterator[tuple[int, list[Access]]]:
    at = 0
    while at < len(data):
        area, count = struct.unpack_from("<2Q", data, at)
        yield area, list(struct.iter_unpack("<4Q", data[at + 16 : at + 16 + 32 * count]))
        at += 16 + 32 * count


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("shared", [False, True])
def test_every_access_is_recorded_as_it_was(cli: Cli, compiler: str, shared: bool) -> None:
    def cc(*args: object) -> None:
        flags = ("-O1", "-fno-strict-aliasing", "-pthread")
        made = cli.run("cc", *flags, *args, env=os.environ | {"COREPLANE_CC": compiler})
        assert made.returncode == 0, made.stderr

    if shared:
        # Its locations are found in another way than those of the program that the recorder is part of.
        main = cli.folder / "main.c"
        main.write_text("int work(int, char **);\nint main(int argc, char **argv) { return work(argc, argv); }\n")
        cc("-fPIC", "-shared", "-Dmain=work", PROGRAM, "-o", "libforms.so")
        cc(main, "-L.", "-lforms", "-Wl,-rpath,$ORIGIN", "-o", "forms")
    else:
        cc(PROGRAM, "-o", "forms")
    cli("record", "--quiet", "--out", "forms.parquet", "--", "./forms", "steps", THREADS, STEPS)
    records = pl.read_parquet(cli.folder / "forms.parquet")
    threads = list(done((cli.folder / "steps").read_bytes()))
    assert len(threads) == THREADS
    for thread, (area, steps) in enumerate(threads, 1):
        mine = records.filter((pl.col("thread") == thread) & pl.col("address").is_between(area, area + AREA - 1))
        for kind, wanted in enumerate(expected(area, steps)):
            seen = mine.filter(pl.col("kind") == kind).select("address", "size", "value").rows()
            assert seen == wanted, (thread, kind)
        assert records.filter(pl.col("thread") == thread)["instructions"].max() > 20_000_000
