"""The crash lab on recorded programs: what is refused, what a check is told, and cuts of whole machines."""

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

import coreplane as cp
from conftest import COREPLANE, ROOT, Cli, as_by_hand

PROGRAMS = ROOT / "tests/programs"
CHECK = "./log check {image} {acknowledged}"


@pytest.fixture
def log(cli: Cli) -> Cli:
    cli("cc", "-O1", "-I", ROOT / "capture", PROGRAMS / "log.c", "-o", "log")
    return cli


def record(cli: Cli, name: str, *how: str) -> str:
    cli("record", "--quiet", "--out", f"{name}.cpt", "--", "./log", f"{name}.pm", *how)
    return f"trace:{name}.cpt"


def found(cli: Cli, *args: object, code: int) -> dict:
    done = cli.run("crash", *args, "--format", "json", "--quiet")
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_correct_log_is_clean_on_machines_of_every_kind(log: Cli) -> None:
    trace = record(log, "ok")
    for machine in ("intel", "eadr", "bbb"):
        result = found(log, machine, trace, "--check", CHECK, "--points", 60, code=0)
        assert result["timed"]["points"] > 20 and result["timed"]["failing_points"] == 0
        assert result["model_images"]["points"] > 20
        assert result["recording"]["marks"] == 40


def test_a_store_that_comes_too_early_is_found_by_both(log: Cli) -> None:
    trace = record(log, "bad", "order")
    result = found(log, "intel", trace, "--check", CHECK, code=1)
    assert result["timed"]["failing_points"] > 0
    assert {f["acknowledged"] for f in result["timed"]["failures"]} <= set(range(41))
    assert any("log.c" in f["why"] for f in result["model_images"]["failures"])
    machine = found(log, "asap-rp", trace, "--check", CHECK, code=1)
    assert machine["timed"]["failing_points"] > 0, "the machine itself leaves the counter without its entry"


def test_files_in_a_memory_that_a_power_failure_empties_are_told_of_where_nothing_fails(log: Cli) -> None:
    trace = record(log, "ok")
    options = ("--check", "test -f {image}", "--points", 20)
    says = "memory 1 (ddr5): DRAM forgets what it holds when the power fails: files lie there"
    for of_pm, of_dram, is_told in (("", "size = '1 MiB'", True), ("", "share = 1", True), ("size = '64 MiB'", "", False)):
        memories = f"[[memory]]\nkind = 'pm'\n{of_pm}\n[[memory]]\nkind = 'ddr5'\ncontrollers = 1\n{of_dram}\n"
        (log.folder / "m.toml").write_text(f"extends = 'intel'\n{memories}")
        notes = found(log, "m.toml", trace, *options, code=0)["notes"]
        assert any(note.startswith(says) for note in notes) == is_told, notes


@pytest.mark.parametrize("apart", [8, 64])
def test_two_stores_in_the_wrong_order_lack_no_fence(cli: Cli, apart: int) -> None:
    program = cp.Program()
    base, thread = program.map("m.pm", 4096), program.main
    thread.store(base + 64, 1)
    if apart == 64:
        thread.persist(base + 64, 8)
    thread.store(base + 64 + apart, 7)
    thread.persist(base + 64 + apart, 8)
    thread.mark(1)
    program.save(cli.folder / "t.parquet")
    (cli.folder / "check.py").write_text(f"import sys; d = open(sys.argv[1], 'rb').read(); sys.exit(d[64] == 1 and d[{64 + apart}] != 7)")
    for machine in ("intel", "asap-rp"):
        result = found(cli, machine, "trace:t.parquet", "--check", "python3 check.py {image}", code=1)
        why = [f["why"] for f in result["model_images"]["failures"]]
        assert why and not any(" fence" in text for text in why), why
        words = "the two are not one" if apart == 8 else "what was durable before needs it, the store at "
        assert any(words in text for text in why), why


def test_checks_that_cannot_be_run_are_no_verdict(log: Cli) -> None:
    trace = record(log, "ok")
    (log.folder / "text").write_text("not a program\n")
    for command, word in [("./absent {image}", "127"), ("./text {image}", "126"), ("exit 127 # {image}", "127")]:
        said = log.refuses("crash", "intel", trace, "--check", command)
        assert "could not be run" in said and word in said
    assert "{image}" in log.refuses("crash", "intel", trace, "--check", "true")


def test_a_check_that_fails_without_a_power_failure_is_refused(log: Cli) -> None:
    trace = record(log, "ok")
    said = log.refuses("crash", "intel", trace, "--check", "echo bad magic; false {image}", "--out", "o")
    assert "end of the recording does not satisfy the check" in said and "bad magic" in said
    assert "end of the recording" in json.loads((log.folder / "o/crash.json").read_text())["refused"]


def is_running(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")")[-1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


# A server may go into a session of its own, and write its name over its environment.
@pytest.mark.parametrize("start", ["", "setsid", "cd {folder} && env -i setsid"])
def test_what_a_check_leaves_in_the_background_ends_with_it(log: Cli, start: str) -> None:
    trace = record(log, "ok")
    started = log.folder / "started"
    server = f"(log={shlex.quote(str(started))}; {start} sh -c 'echo $$ >> '$log'; exec sleep 60') &"
    command = f"{server} until [ -s {shlex.quote(str(started))} ]; do sleep .01; done; {CHECK}"
    found(log, "intel", trace, "--check", command, "--points", 2, "--images", 2, code=0)
    until = time.monotonic() + 20
    assert started.read_text().split()
    while any(map(is_running, started.read_text().split())):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_program_that_makes_nothing_durable_is_refused_where_that_is_needed(log: Cli) -> None:
    trace = record(log, "bare", "bare")
    for machine in ("intel", "asap-rp", "hops-ep", "nvdimmc-poc"):
        said = log.refuses("crash", machine, trace, "--check", CHECK)
        assert "not one flush" in said and "sync" in said
    found(log, "eadr", trace, "--check", "./log check {image} 0", "--points", 20, code=0)


#: Writes a file, says that it is there, and syncs nothing.
WRITES = """
#include "coreplane.h"
#include <fcntl.h>
#include <unistd.h>
int main(void) {
    int fd = open("data", O_CREAT | O_TRUNC | O_RDWR, 0600);
    if (write(fd, "hello", 5) != 5) return 1;
    coreplane_mark_here(1);
    return 0;
}
"""


def test_writes_without_a_sync_are_judged_where_the_check_asks_what_was_acknowledged(cli: Cli) -> None:
    (cli.folder / "writes.c").write_text(WRITES)
    cli("cc", "writes.c", "-o", "writes")
    crash = ("crash", "intel", "trace:w.cpt", "--check")
    cli("record", "--quiet", "--out", "w.cpt", "--", "./writes")
    said = cli(*crash, "[ {acknowledged} = 0 ] || grep -q hello {image}", code=1)
    assert "nothing syncs it" in said
    assert "{acknowledged} judges it" in cli.refuses(*crash, "test -e {image}")
    # What the program found is emptied now.
    cli("record", "--quiet", "--out", "w.cpt", "--", "./writes")
    assert "--from-start judges" in cli.refuses(*crash, "grep -q hello {image}")
    cli(*crash, "grep -q hello {image}", "--from-start", code=1)


def test_what_a_check_is_told(log: Cli) -> None:
    trace = record(log, "ok")
    tell = 'echo {acknowledged} $(cat {marks}) $(basename {image}) $(ls {folder}) "${COREPLANE_TRACE-no}" >> '
    command = f"{tell} {shlex.quote(str(log.folder / 'told'))}; {CHECK}"
    found(log, "intel", trace, "--check", command, "--points", 10, code=0)
    told = [line.split() for line in (log.folder / "told").read_text().splitlines()]
    assert told[0][0] == "40" and told[0][1:3] == ["0", "40"], "the uncut image comes first"
    assert all(line[-1] == "no" for line in told)
    numbers = {int(line[0]) for line in told}
    assert len(numbers) > 5 and max(numbers) == 40


def test_a_check_that_is_told_of_marks_where_there_are_none_says_so(cli: Cli) -> None:
    for marks in (0, 1):
        program = cp.Program()
        base, thread = program.map("m.pm", 4096), program.main
        thread.store(base, 1)
        thread.persist(base, 8)
        for number in range(marks):
            thread.mark(number + 1)
        program.save(cli.folder / "t.parquet")
        for told in ("{acknowledged}", "{marks}", ""):
            check = f"cat {{image}} > read; echo {told}"
            result = found(cli, "intel", "trace:t.parquet", "--check", check, code=0)
            is_said = any("{acknowledged} is 0 at every power failure" in note for note in result["notes"])
            assert is_said == (marks == 0 and told != "") and result["clean"], result["notes"]
            text = cli("crash", "intel", "trace:t.parquet", "--check", check, "--quiet")
            assert ("the recording has no mark" in text) == is_said


def test_power_fails_after_a_mark_alone(log: Cli) -> None:
    trace = record(log, "ok")
    all_points = found(log, "intel", trace, "--check", CHECK, code=0)
    least = "test {acknowledged} -ge 30 && " + CHECK
    late = found(log, "intel", trace, "--check", least, "--after", 30, code=0)
    for kind, key in (("timed", "points"), ("model_images", "points")):
        assert 0 < late[kind][key] < all_points[kind][key]
    assert "1 to 40" in log.refuses("crash", "intel", trace, "--check", CHECK, "--after", 41)


def test_instants_and_settings_act_on_recordings(log: Cli) -> None:
    trace = record(log, "bad", "order")
    every = found(log, "intel", trace, "--check", CHECK, "--every", 1, code=1)
    at = every["timed"]["failures"][0]["at_ns"]
    one = found(log, "intel", trace, "--check", CHECK, "--at", f"{at} ns", code=1)
    assert one["timed"]["points"] == 1 and one["model_images"] is None
    assert one["timed"]["failures"][0]["at_ns"] == at
    late = found(log, "intel", trace, "--check", CHECK, "--at", "1 s", code=0)
    assert late["timed"]["points"] == 1 and any("before the power failed: nothing was cut short" in note for note in late["notes"]), late["notes"]
    assert not any("cut short" in note for note in one["notes"])
    whole = found(log, "intel", trace, "--check", CHECK, "--all", "--points", 5000, code=1)
    assert whole["timed"]["points"] > every["timed"]["points"]
    slow = found(
        log, "intel", trace, "--check", CHECK, "--at", f"{at} ns", "--set", "wires.directory_controller_ns=1000", code=0
    )
    assert slow["timed"]["failing_points"] == 0, "nothing is durable yet"
    assert "0" in log.refuses("crash", "intel", trace, "--check", CHECK, "--every", 0)


def test_the_limit_on_files_is_shown_and_kept(log: Cli) -> None:
    trace = record(log, "ok")
    result = found(log, "intel", trace, "--check", CHECK, "--points", 3, code=0)
    limit = result["recording"]["file_size_limit_bytes"]
    assert limit == 128 << 20, "the least there is"
    large = f"head -c {limit + 1} /dev/zero > {log.folder}/large; {CHECK}"
    said = log.refuses("crash", "intel", trace, "--check", f"set -e; {large}")
    assert f"{limit:,} bytes" in log("crash", "intel", trace, "--check", CHECK, "--points", 3)
    assert "limit" in said or "end of the recording" in said


def test_a_slow_check_ends_with_its_limits(log: Cli) -> None:
    trace = record(log, "bad", "order")
    assert "did not end" in log.refuses("crash", "intel", trace, "--check", "sleep 5 # {image}", "--time-limit", 0.2)
    begun = time.monotonic()
    slow = f"sleep 0.05; {CHECK}"
    args = ["--check", slow, "--points", 4, "--images", 4, "--minimise-seconds", 0.1]
    result = found(log, "intel", trace, *args, code=1)
    assert time.monotonic() - begun < 30
    assert result["model_images"]["failing_points"] > 0


def test_interruption_leaves_nothing_running_and_keeps_what_was_found(log: Cli) -> None:
    trace = record(log, "ok")
    (log.folder / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(log.folder / "tmp")}
    command = [str(COREPLANE), "crash", "intel", trace, "--out", "o", "--points", "50"]
    command += ["--check", f"sleep 0.02; {CHECK}", "--quiet"]
    for number in (signal.SIGINT, signal.SIGTERM):
        running = subprocess.Popen(command, cwd=log.folder, env=environment, stderr=subprocess.PIPE, preexec_fn=as_by_hand)
        so_far = log.folder / "o/crash.so-far.json"
        while not so_far.exists():
            assert running.poll() is None
            time.sleep(0.02)
        running.send_signal(number)
        assert running.wait(timeout=10) == 128 + number
        assert list((log.folder / "tmp").iterdir()) == []
        assert json.loads(so_far.read_text())["found"]["failing_points"] == 0
        so_far.unlink()


def test_workloads_say_that_they_were_made_shorter(cli: Cli) -> None:
    text = cli("crash", "intel", "hashmap", "--points", 3, "--images", 2)
    assert "workload.operations=1000" in text
    assert "workload.operations" not in cli(
        "crash", "intel", "hashmap", "--points", 3, "--images", 2, "--set", "workload.operations=50"
    )
    assert "recorded programs" in cli.refuses("crash", "intel", "hashmap", "--after", 3)


@pytest.fixture
def two(cli: Cli) -> Cli:
    cli("cc", "-O1", "-I", ROOT / "capture", PROGRAMS / "two.c", "-o", "two")
    return cli


def test_all_files_are_in_a_folder_and_one_is_the_image(two: Cli) -> None:
    two("record", "--quiet", "--out", "two.cpt", "--", "./two", "store")
    paths = f'echo {{image}} $(cd {{folder}}; find -type f | sort | tr "\\n" " ") >> {two.folder}/told; ./two check {{folder}}'
    for asked, image in ((None, "data/main"), ("side", "data/side"), ("data/side", "data/side"), ("lock", "lock")):
        (two.folder / "told").unlink(missing_ok=True)
        option = ["--file", asked] if asked else []
        result = found(two, "intel", "trace:two.cpt", "--check", paths, "--points", 6, *option, code=0)
        assert result["recording"]["file"] == image
        assert {f["name"] for f in result["recording"]["files"]} == {"data/main", "data/side", "lock"}
        first = (two.folder / "told").read_text().splitlines()[0].split()
        assert first[0].endswith(f"/files/{image}") and first[1:] == ["./data/main", "./data/side", "./lock"]
    said = two.refuses("crash", "intel", "trace:two.cpt", "--check", "true {image}", "--file", "absent")
    assert "data/main" in said and "lock" in said


def test_an_entry_synced_too_late_is_found(two: Cli) -> None:
    two("record", "--quiet", "--out", "late.cpt", "--", "./two", "late", "late")
    result = found(two, "intel", "trace:late.cpt", "--check", "./two check {folder}", code=1)
    assert result["model_images"]["failing_points"] > 0
    assert any("two.c" in f["why"] for f in result["model_images"]["failures"])


def test_a_machine_with_an_empty_battery_loses_what_was_acknowledged(log: Cli) -> None:
    trace = record(log, "ok")
    saved = ["--set", "nvdimm.write_queue_survives=true"]
    found(log, "nvdimmc-poc", trace, "--check", CHECK, "--points", 20, *saved, code=0)
    dead = found(log, "nvdimmc-poc", trace, "--check", CHECK, "--points", 20, "--set", "nvdimm.battery_uj=0", code=1)
    assert dead["timed"]["failing_points"] > 0 and dead["timed"]["failures"][0]["lost_pages"]
    assert dead["model_images"]["failing_points"] == 0, "the model knows no battery"


def test_a_file_of_an_earlier_run_is_there_on_the_machine(log: Cli) -> None:
    record(log, "ok")
    log("record", "--quiet", "--out", "more.cpt", "--", "./log", "ok.pm", "more")
    for machine in ("intel", "asap-rp", "eadr", "nvdimmc-poc", "nearpm-cpu"):
        least = "./log check {image} 40 && " + CHECK
        saved = ["--set", "nvdimm.write_queue_survives=true"] if machine == "nvdimmc-poc" else []
        result = found(log, machine, "trace:more.cpt", "--check", least, "--points", 20, *saved, code=0)
        assert result["timed"]["points"] > 3


SHORTER = """
#include <fcntl.h>
#include <unistd.h>
int main(int n, char **v) {
    int file = open(v[n - 1], O_RDWR);
    for (int i = 0; i < 8; i++)
        if (pwrite(file, "y", 1, i) != 1 || fsync(file)) return 1;
    return ftruncate(file, 4096) || fsync(file);
}
"""


def test_a_file_that_is_made_shorter_at_the_end_is_whole_before(cli: Cli) -> None:
    (cli.folder / "shorter.c").write_text(SHORTER)
    cli("cc", "-O1", "shorter.c", "-o", "shorter")
    (cli.folder / "s.pm").write_bytes(b"x" * (1 << 19))
    cli("record", "--quiet", "--out", "s.cpt", "--", "./shorter", "s.pm")
    copies = "cat {image} {image} {image} > {image}.copies"
    check = f"test $(stat -c %s {{image}}) -eq 4096 || {{ tail -c 1 {{image}} | grep -q x && {copies}; }}"
    result = found(cli, "intel", "trace:s.cpt", "--check", check, "--points", 12, code=0)
    assert result["timed"]["points"] > 3 and result["model_images"]["images"] > 1


READS = """
#include <fcntl.h>
#include <unistd.h>
int main(void) {
    char rows[4];
    int from = open("d/old/table", O_RDONLY), to = open("d/log", O_CREAT | O_WRONLY, 0600);
    if (read(from, rows, 4) != 4 || write(to, rows, 4) != 4) return 1;
    return fsync(to);
}
"""


def test_files_that_a_program_only_read_are_given_beside(cli: Cli) -> None:
    """A database that is opened again has files that nobody changes."""
    (cli.folder / "d/old").mkdir(parents=True)
    (cli.folder / "d/old/table").write_text("rows")
    (cli.folder / "p.c").write_text(READS)
    cli("cc", "p.c", "-o", "p")
    cli("record", "--quiet", "--out", "t.cpt", "--", "./p")
    check = "cat {folder}/old/table && echo more >> {folder}/old/table"
    said = cli.refuses("crash", "intel", "trace:t.cpt", "--check", check)
    assert f"--beside {cli.folder}/d" in said and "old/table" in said
    found = cli.json("crash", "intel", "trace:t.cpt", "--check", check, "--beside", "d", "--points", 3)
    assert found["clean"] and found["recording"]["beside"] == 1
    assert (cli.folder / "d/old/table").read_text() == "rows", "a check has copies"
    again = cp.crash("intel", f"trace:{cli.folder}/t.cpt", check=check, beside=cli.folder / "d", points=3)
    assert not again.findings
    assert "--beside absent" in cli.refuses("crash", "intel", "trace:t.cpt", "--check", check, "--beside", "absent")


SAVES = """
#include <fcntl.h>
#include <unistd.h>
int main(void) {
    int fd = open("setting", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (write(fd, "new", 3) != 3) return 1;
    return fsync(fd);
}
"""


def test_a_file_that_is_emptied_is_judged_from_the_start_where_that_is_asked(cli: Cli) -> None:
    (cli.folder / "p.c").write_text(SAVES)
    cli("cc", "p.c", "-o", "p")
    crash = ["crash", "intel", "trace:t.cpt", "--check", "grep -qx 'old\\|new' {image}"]
    (cli.folder / "setting").write_text("old")
    cli("record", "--quiet", "--out", "t.cpt", "--", "./p")
    made_anew = cli.run(*crash)
    assert made_anew.returncode == 0 and "--from-start has the power fail" in made_anew.stdout
    found = json.loads(cli.run(*crash, "--from-start", "--format", "json").stdout)
    assert not found["clean"] and found["recording"]["from_the_start"] and not found["recording"]["emptied"]
    with pytest.raises(cp.ConfigError, match="one of after and from_start"):
        cp.crash("intel", f"trace:{cli.folder}/t.cpt", check="true", after=1, from_start=True)
    # Where nothing was there before, the check has to take that.
    (cli.folder / "setting").unlink()
    cli("record", "--quiet", "--out", "t.cpt", "--", "./p")
    assert "--from-start: what the program found does not satisfy the check" in cli.refuses(*crash, "--from-start")
    assert cli.run(*crash[:-1], "! test -e {image} || grep -qx new {image}", "--from-start").returncode == 1
