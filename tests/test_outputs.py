"""What an output's name may stand for (a file, a link, a pipe, a device), and what of an earlier result stays in a folder."""

import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from conftest import COREPLANE, Cli


@pytest.fixture
def two(cli: Cli) -> Cli:
    """A folder with a recording of two accesses, ``two.cpt``."""
    (cli.folder / "two.lk").write_text(" L 1000,8\n L 2000,8\n")
    cli("trace", "convert", "--quiet", "--from", "lackey", "two.lk", "two.cpt")
    return cli


def convert(cli: Cli, to: str) -> str:
    return cli("trace", "convert", "--quiet", "--to", "ramulator", "two.cpt", to)


def test_a_pipe_gets_the_bytes_and_stays_a_pipe(two: Cli) -> None:
    os.mkfifo(two.folder / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((two.folder / "pipe").read_bytes()), daemon=True)
    reader.start()
    convert(two, "pipe")
    reader.join(timeout=60)
    convert(two, "file")
    assert stat.S_ISFIFO((two.folder / "pipe").stat().st_mode)
    assert read == [(two.folder / "file").read_bytes()] and b"LD" in read[0]


def test_standard_output_by_its_name_gets_the_bytes(two: Cli) -> None:
    # As /dev/stdout is one, and in a folder of the test's own.
    (two.folder / "stdout").symlink_to("/proc/self/fd/1")
    assert convert(two, "stdout").count("LD") == 2
    with (two.folder / "file").open("w") as file:
        file.write("before\n")
        file.flush()
        subprocess.run([COREPLANE, "trace", "convert", "--quiet", "--to", "ramulator", "two.cpt", "stdout"], cwd=two.folder, stdout=file, check=True)
    assert (two.folder / "file").read_text().splitlines()[0] == "before" and (two.folder / "file").read_text().count("LD") == 2
    assert (two.folder / "stdout").is_symlink()


def test_a_device_that_is_full_is_said_to_be_and_stays(two: Cli) -> None:
    device = two.folder / "full"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        device.open("w").close()
    except PermissionError:
        pytest.skip("no device can be made here")
    assert "full: No space left on device" in two.refuses("trace", "convert", "--to", "ramulator", "two.cpt", "full")
    assert stat.S_ISCHR(device.stat().st_mode)


@pytest.mark.parametrize("name", ["two.cpt", "hard", "soft"])
def test_what_is_read_is_not_written_over(two: Cli, name: str) -> None:
    os.link(two.folder / "two.cpt", two.folder / "hard")
    (two.folder / "soft").symlink_to("two.cpt")
    before = (two.folder / "two.cpt").read_bytes()
    for option in (["--to", "gem5"], []):
        said = two.refuses("trace", "convert", *option, "two.cpt", name)
        assert said == f"coreplane: {name}: is the file that is read; give another name for what is written"
    assert (two.folder / "two.cpt").read_bytes() == before


def test_a_link_is_followed(two: Cli) -> None:
    (two.folder / "sub").mkdir()
    (two.folder / "sub/old").write_text("old")
    for link, to in {"first": "sub/old", "second": "first", "new": "sub/none"}.items():
        (two.folder / link).symlink_to(to)
        convert(two, link)
        assert (two.folder / link).is_symlink() and (two.folder / link).read_text().count("LD") == 2
    assert sorted(p.name for p in (two.folder / "sub").iterdir()) == ["none", "old"]
    (two.folder / "loop").symlink_to("loop")
    assert "loop: Too many levels of symbolic links" in two.refuses("trace", "convert", "--to", "ramulator", "two.cpt", "loop")
    (two.folder / "d").mkdir()
    (two.folder / "d/run.json").symlink_to("../sub/run.json")
    two("run", "intel", "append", "--set", "workload.operations=20", "--no-bands", "--quiet", "--out", "d")
    assert (two.folder / "d/run.json").is_symlink() and b'"machine"' in (two.folder / "sub/run.json").read_bytes()


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir() if p.suffix not in (".svg", ".png", ".html") and p.name != "runs"}


def test_a_folder_has_the_files_of_one_result(cli: Cli) -> None:
    few = ("--set", "workload.operations=20", "--no-bands", "--quiet", "--out", "d")
    cli("run", "intel", "append", "--timeline", "--power-fails-at", "1us", *few)
    (cli.folder / "d/trace.png").write_bytes(b"a user's")
    assert names(cli.folder / "d") == {"run.json", "stats.parquet", "timeline.pftrace", "image.pm"}
    cli("run", "eadr", "append", *few)
    assert names(cli.folder / "d") == {"run.json", "stats.parquet"}
    cli("run", "eadr", "append", "--set", "workload.operations=40", "--no-bands", "--quiet", "--out", "before")
    cli("compare", "append", "--on", "intel,eadr", *few)
    assert names(cli.folder / "d") == {"compare.json", "results.parquet"}
    assert cli.json("diff", "before", "d")["pairs"][0]["after"]["machine"] == "eadr"
    assert (cli.folder / "d/trace.png").read_bytes() == b"a user's"
    # Who has put both there is asked.
    (cli.folder / "d/run.json").write_bytes((cli.folder / "before/run.json").read_bytes())
    assert "both run.json and compare.json are in it; give the one that is meant" in cli.refuses("diff", "before", "d")
