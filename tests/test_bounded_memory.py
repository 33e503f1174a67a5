"""What commands hold does not grow with a recording's length: peak memory on a short recording, and on one ten times as long."""

import os
import subprocess
from pathlib import Path

import polars as pl
import pytest

from conftest import COREPLANE

SHORT, LONG = 100_000, 1_000_000
GROWTH_KB = 24 * 1024
FILE_SPACE = 1 << 62


def peak_kb(folder: Path, *args: object) -> int:
    command = [str(COREPLANE), *map(str, args), "-q"]
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, f"{args}: {said.decode()}"
    return usage.ru_maxrss


def record(path: Path, records: int) -> None:
    """A store, a flush and a fence to each of 4,096 lines in turn, and a counter beside them that nothing flushes."""
    n = pl.Series(range(records), dtype=pl.UInt64)
    step, line = n % 4, n // 4 % 4096
    kinds = pl.DataFrame({"step": pl.Series([0, 1, 2, 3], dtype=pl.UInt64), "kind": [1, 6, 9, 1]})
    rows = pl.DataFrame({"step": step, "value": n, "line": line}).join(kinds, on="step", maintain_order="left")
    address = pl.when(pl.col("step") == 3).then(0x1000_0000).otherwise(0x1000_0040 + pl.col("line") * 64)
    body = rows.select("kind", address.alias("address"), "value")
    head = pl.DataFrame({"kind": [20, 15], "address": [0, 0x1000_0000], "value": [FILE_SPACE, 4160 * 64]})
    every = pl.concat([head.cast(body.schema), body]).cast({"kind": pl.UInt8, "address": pl.UInt64, "value": pl.UInt64})
    zero = [pl.lit(0, dtype=t).alias(c) for c, t in [("thread", pl.UInt16), ("stamp", pl.UInt32)]]
    every.with_columns(pl.lit(8, dtype=pl.UInt8).alias("size"), *zero).write_parquet(path)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    for name, records in [("short", SHORT), ("long", LONG)]:
        record(folder / f"{name}.parquet", records)
        lines = (f"0x{n * 2654435761 % (1 << 40) & ~63:x} {'RW'[n % 2]}\n" for n in range(records))
        (folder / f"{name}.txt").write_text("".join(lines))
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("trace", "convert", "--from", "ramulator", "{}.txt", "out.cpt"),
        ("trace", "convert", "{}.parquet", "out.cpt"),
        ("trace", "convert", "--to", "pmemcheck", "{}.parquet", "out.log"),
        ("run", "intel", "trace:{}.parquet", "--no-bands"),
        ("crash", "intel", "trace:{}.parquet", "--check", "true {{image}}", "--points", 3, "--images", 3),
        ("crash", "asap-rp", "trace:{}.parquet", "--check", "true {{image}}", "--points", 3, "--images", 3),
    ],
    ids=["import", "convert", "export", "run", "crash-intel", "crash-asap"],
)
def test_memory_does_not_grow_with_a_recordings_length(recordings: Path, command: tuple[object, ...]) -> None:
    short, long = (
        peak_kb(recordings, *(str(c).format(name) for c in command)) for name in ("short", "long")
    )
    assert long < short + GROWTH_KB, f"{short} KB, {long} KB"
