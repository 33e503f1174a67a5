"""What users met and no other file holds: FOUND.md names each."""

import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pytest
from conftest import COREPLANE, ROOT, Cli

WRAPPED = """
#include <libpmem.h>
int main(int n, char **v) {
    size_t bytes;
    char *pool = pmem_map_file(v[n - 1], 4096, PMEM_FILE_CREATE, 0644, &bytes, 0);
    if (!pool) return 1;
    pmem_memcpy_persist(pool, "kept", 5);
    return bytes != 4096;
}
"""
PARALLEL = """
#include <stdio.h>
int main(void) {
    static long sums[64 * 8];
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 64; i++) sums[i * 8] += i;
    long all = 0;
    for (int i = 0; i < 64; i++) all += sums[i * 8];
    printf("%ld\\n", all);
    return 0;
}
"""


@pytest.mark.skipif(not Path("/usr/include/libpmem.h").exists(), reason="libpmem is not installed")
def test_a_program_of_wrapped_calls_alone_keeps_its_library(cli: Cli) -> None:
    (cli.folder / "wrapped.c").write_text(WRAPPED)
    cli("cc", "-O1", "-Wl,--as-needed", "wrapped.c", "-lpmem", "-o", "wrapped")
    env = os.environ | {"PMEM_IS_PMEM_FORCE": "1"}
    subprocess.run(["./wrapped", "alone.pm"], cwd=cli.folder, env=env, check=True)
    done = cli.run("record", "--quiet", "--out", "w.cpt", "--", "./wrapped", "w.pm", env=env)
    assert done.returncode == 0, done.stderr
    kinds = cli.json("trace", "info", "w.cpt")["kinds"]
    assert (kinds["clwb"], kinds["sfence"], kinds["map"]) == (1, 1, 1)


def test_openmp_is_recorded_with_all_its_threads(cli: Cli) -> None:
    (cli.folder / "parallel.c").write_text(PARALLEL)
    cli("cc", "-O1", "-fopenmp", "parallel.c", "-o", "parallel")
    assert cli("record", "--quiet", "--out", "p.cpt", "--", "./parallel") == "2016\n"
    info = cli.json("trace", "info", "p.cpt")
    assert len(info["threads"]) == 4 and min(info["threads"]) >= 2 * 16, "each has its sixteen loads and stores"


def test_marks_and_declared_memory_are_in_the_manual() -> None:
    words = re.findall(r"static inline void (coreplane_\w+)\(", (ROOT / "capture/coreplane.h").read_text())
    assert len(words) == 6
    page = (ROOT / "docs/howto/record.md").read_text()
    assert all(word in page for word in words)


LARGE = """
#include <fcntl.h>
#include <emmintrin.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int n, char **v) {
    int file = open(v[n - 1], O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, 1 << 20)) return 1;
    char *at = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    at[0] = 1;
    _mm_clflush(at);
    _mm_sfence();
    return 0;
}
"""


def test_a_check_may_copy_a_pool_that_is_large(cli: Cli) -> None:
    (cli.folder / "large.c").write_text(LARGE)
    cli("cc", "-O1", "large.c", "-o", "large")
    cli("record", "--quiet", "--out", "l.cpt", "--", "./large", "l.pm")
    check = "cat {image} {image} {image} {image} | cat > {image}.copies && test $(stat -c %s {image}.copies) = 4194304"
    found = cli.json("crash", "intel", "trace:l.cpt", "--check", check, "--points", 2)
    assert found["clean"]


def test_runs_of_a_check_that_write_to_one_place_are_no_losses(cli: Cli) -> None:
    (cli.folder / "large.c").write_text(LARGE)
    cli("cc", "-O1", "large.c", "-o", "large")
    cli("record", "--quiet", "--out", "l.cpt", "--", "./large", "l.pm")
    check = "echo {image} > mine; sleep 0.3; grep -qxF {image} mine"
    found = cli.json("crash", "intel", "trace:l.cpt", "--check", check, "--points", 6)
    assert found["clean"]
    together = [note for note in found["notes"] if "held on the same alone" in note]
    # On one processor nothing runs beside another.
    assert len(together) == (len(os.sched_getaffinity(0)) > 1), found["notes"]


def shown_on_a_terminal(cli: Cli, wanted: bytes, *args: object) -> bytes:
    """What a command shows until that is there, and two minutes at most."""
    above, below = pty.openpty()
    running = subprocess.Popen([COREPLANE, *map(str, args)], stdout=subprocess.DEVNULL, stderr=below, cwd=cli.folder)
    os.close(below)
    shown, began = b"", time.monotonic()
    while not re.search(wanted, shown) and time.monotonic() - began < 120:
        if select.select([above], [], [], 0.2)[0]:
            try:
                shown += os.read(above, 1 << 16)
            except OSError:
                break
    running.kill()
    running.wait()
    os.close(above)
    return shown


def over_64_mib(cli: Cli, accesses: int, step: int) -> tuple[str, ...]:
    """What runs a recording of accesses that are a step apart, round and round, on large remote pages."""
    lines = (f" {'LS'[n % 2]} {0x1000_0000 + n * step % (1 << 26) // 64 * 64:x},8\n" for n in range(accesses))
    (cli.folder / "far.txt").write_text("".join(lines))
    cli("trace", "convert", "--quiet", "--from", "lackey", "far.txt", "far.cpt")
    return ("run", "remote-pages@2m", "trace:far.cpt", "--set", "workload.pm=all", "--no-bands")


def test_a_recording_on_large_remote_pages_ends_and_says_how_far_it_is(cli: Cli) -> None:
    run = cli.json(*over_64_mib(cli, 16384, 4096))
    assert run["stats"]["os.major_faults"] >= 32, "each page of 64 MiB once at least"
    shown = shown_on_a_terminal(cli, rb" left", *over_64_mib(cli, 200_000, 2654435761))
    assert re.search(rb"simulated, [\d.]+ M references/s \d+s, \d+\w left", shown), shown[-400:]


def test_a_crash_search_says_how_many_points_are_left(cli: Cli) -> None:
    shown = shown_on_a_terminal(cli, rb"crash points .*left", "crash", "asap-rp", "cceh", "--points", 4000)
    assert re.search(rb"crash points \S+ \d+/\d+ \d+\w+, \d+\w+ left", shown), shown[-400:]


def test_a_comparison_with_a_machine_that_is_refused_names_its_place(cli: Cli) -> None:
    (cli.folder / "wrong.toml").write_text('extends = "asap-rp"\n[nvdimm]\nbattery_uj = 5\n')
    said = cli.refuses("compare", "queue", "--on", "intel,wrong.toml")
    assert "wrong.toml:3: nvdimm.battery_uj: does nothing" in said


def test_a_longer_buffer_is_no_slower_where_flushes_do_not_wait_for_its_filling(cli: Cli) -> None:
    def time_of(entries: int, trigger: int) -> float:
        sets = {"operations": 100, "persist_buffer": entries, "flush_trigger": trigger}
        keys = {"operations": "workload"}
        words = [w for k, v in sets.items() for w in ("--set", f"{keys.get(k, 'ordering')}.{k}={v}")]
        return float(cli.json("run", "hops-rp", "queue", *words)["time_ns"])

    early = [time_of(entries, 2) for entries in (4, 16, 32)]
    assert all(longer < 1.05 * shorter for shorter, longer in zip(early, early[1:], strict=False)), early
    # And with the preset's, a buffer that is flushed when it is full waits for that.
    assert time_of(16, 16) > 1.5 * time_of(16, 2)
    source = {p["key"]: p for p in cli.json("show", "hops-rp")["parameters"]}["ordering.flush_trigger"]["source"]
    assert source.startswith("open 2..16")


def test_machines_that_take_the_same_time_are_said_to(cli: Cli) -> None:
    small = ("--set", "workload.operations=40")
    text = " ".join(cli("compare", "btree", "--on", "nearpm-cpu,nearpm-sd,nearpm-md", *small, "--explain").split())
    assert "nearpm-md is" in text
    assert "it takes as long as nearpm-sd to the last digit: no core ever waits for what differs (" in text
    # Not of a machine that is only nearly alike, nor of one that is the same.
    (cli.folder / "same.toml").write_text('extends = "eadr"\n')
    text = cli("compare", "queue", "--on", "intel,eadr,same.toml,asap-rp", *small, "--explain")
    assert "last digit" not in text


def test_a_litmus_test_of_the_manual_is_one(cli: Cli) -> None:
    page = (ROOT / "docs/models/litmus.md").read_text()
    (test,) = re.findall(r"^```litmus\n(.*?)^```", page, re.S | re.M)
    (cli.folder / "t.litmus").write_text(test)
    (answer,) = cli.json("litmus", "t.litmus", "--model", "px86")
    assert answer["ok"] and answer["image_count"] > 1


@pytest.mark.parametrize(
    ("machine", "workload", "setting"),
    [
        ("hops-rp", "queue", "cpu.store_interval_ns=1000000"),
        ("hops-rp", "queue", "ordering.flush_issue_ns=1000000"),
        ("asap-rp", "queue", "memory.refresh.trefi_ns=1000000"),
        ("amf", "redis-mem", "os.switch_ns=1e13"),
        ("nvdimmc-poc", "fio", "workload.file_bytes=2147483648"),
        ("nvdimmc-poc", "filecopy", "workload.file_bytes=2147483648"),
    ],
)
def test_times_and_sizes_without_sense_are_refused_with_what_is_accepted(cli: Cli, machine: str, workload: str, setting: str) -> None:
    said = cli.refuses("run", machine, workload, "--set", setting)
    assert f"--set {setting.split('=')[0]}: " in said and "is not accepted; give " in said


def test_a_store_of_eight_bytes_fits_its_box() -> None:
    pytest.importorskip("coreplane._core")
    from coreplane import report_more

    lost = {"site": "structures/table.c:1102 change", "event": 3, "size": 8, "address": 0x7FFF_FFFF_FFF8, "value": 2**64 - 1}
    drawn = report_more._order(lost, {**lost, "event": 9}, 12)
    boxes = re.findall(r'<rect x="(\d+)" y="\d+" width="(\d+)"', drawn)
    (whole,) = set(re.findall(r'viewBox="0 0 (\d+) ', drawn))
    assert len(boxes) == 4 and all(int(x) + int(width) < int(whole) for x, width in boxes)
    for size, text in re.findall(r'font-size="(1[23])">([^<]*(?:bytes at|change)[^<]*)</text>', drawn):
        # Letters of a sans-serif face are not wider than that, all in all.
        assert len(text) * int(size) * 0.6 < int(boxes[0][1]) - 24, text
