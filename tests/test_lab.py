"""Litmus tests and exploration, as a user calls them."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from conftest import COREPLANE, ROOT, Cli

BAD = "X86_64 bad\n{ x=0; }\n P0 ;\n mov [x],$1 ;\nexists (x=1 /\\ )\n"
GOOD = "X86_64 good\n{ x=0; y=0; }\n P0 ;\n mov [x],$1 ;\n clwb [x] ;\n sfence ;\n mov [y],$1 ;\n~exists (x=0 /\\ y=1)\n"


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(COREPLANE), *args], capture_output=True, text=True, check=False)


def test_every_specification_agrees() -> None:
    done = run("litmus", "--format", "json")
    rows = json.loads(done.stdout)
    assert done.returncode == 0 and len(rows) == 33 * 2 + 9 + 15 * 2 + 58
    assert all(row["ok"] and row["expected"] for row in rows)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "good.litmus"
    file.write_text(GOOD)
    (row,) = json.loads(run("litmus", str(file), "--model", "px86", "--format", "json").stdout)
    assert row["image_count"] == 3 and row["holds"] and not row["reachable"]
    file.write_text(GOOD.replace(" clwb [x] ;\n", ""))
    assert run("litmus", str(file)).returncode == 1


@pytest.mark.parametrize(
    ("text", "arguments", "wanted"),
    [
        (BAD, [], ":5:16: "),
        ("", [], ":1:1: empty"),
        (GOOD.replace("y=1)", "yy=1)"), [], ":8:17: `yy` is no location of this test; it has x, y"),
        (GOOD.replace("{", "Expect.px68=forbidden 3\n{"), [], ":2:1: Expect.px68: `px68` is no model"),
        (GOOD, ["--model", "px87"], "accepted: px86, px86-line, armv8, release, one-sided, strict, shared"),
        (GOOD, ["--model", "armv8"], "is for another instruction set"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, text: str, arguments: list[str], wanted: str) -> None:
    file = tmp_path / "t.litmus"
    file.write_text(text)
    done = run("litmus", str(file), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert wanted in done.stderr


def test_exploration_finds_nothing_wrong_and_every_mutant() -> None:
    done = run("explore", "asap", "--epochs", "2", "--format", "json")
    outcome = json.loads(done.stdout)
    assert done.returncode == 0 and outcome["complete"] and outcome["violation"] is None
    assert outcome["states"] > 10_000 and outcome["depth"] > 20
    for mutant in ("undo-on-complete", "ignore-dependence"):
        done = run("explore", "asap", "--mutant", mutant, "--format", "json")
        assert done.returncode == 1, mutant
        assert json.loads(done.stdout)["violation"]["trace"], mutant


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["explore", "mesi"], "accepted: intel, hops, asap, bbb, eadr"),
        (["explore", "asap", "--mutant", "none"], "accepted: no-nack-fallback"),
        (["explore", "asap", "--cores", "0"], "--cores 0: accepted are 1 to 4"),
        (["explore", "asap", "--states", "0"], "at least 1"),
    ],
)
def test_bad_bounds_are_told(arguments: list[str], wanted: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert wanted in done.stderr


def test_a_reader_that_leaves_is_no_mistake() -> None:
    done = subprocess.run(f"{COREPLANE} show stats | head -1", shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def crash(cli: Cli, *args: object, code: int = 0) -> dict:
    done = cli.run("crash", *args, "--format", "json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_a_correct_structure_is_clean_and_a_seeded_bug_is_named(cli: Cli) -> None:
    clean = crash(cli, "asap-rp", "cceh", "--every", 100, "--points", 100)
    assert clean["clean"] and clean["timed"]["points"] > 20 and clean["model_images"]["images"] > 1000
    found = crash(cli, "intel", "hashmap", "--set", "workload.bug=token-before-data", code=1)
    first = found["model_images"]["failures"][0]
    assert first["missing"][0]["site"].startswith("hashmap.rs:")
    assert first["present"][0]["site"].startswith("hashmap.rs:")
    assert "can persist before the store at" in first["why"]
    again = crash(cli, "intel", "hashmap", "--set", "workload.bug=token-before-data", "--replay", first["replay"], code=1)
    assert again["timed"]["points"] == 1


@pytest.mark.parametrize("bug", [True, False])
def test_a_recorded_program_is_checked_by_its_own_recovery(cli: Cli, bug: bool) -> None:
    source = ROOT / "tests/programs/ledger.c"
    cli("cc", "-g", "-O1", *(["-DBUG"] if bug else []), source, "-o", "ledger")
    subprocess.run(["cc", "-O1", str(source), "-o", str(cli.folder / "recover")], check=True)
    cli("record", "--quiet", "--out", "l.parquet", "--", "./ledger", "l.pm")
    found = crash(cli, "intel", "trace:l.parquet", "--check", "./recover --check {image}", code=int(bug))
    assert found["clean"] != bug
    if bug:
        (first, *_) = found["model_images"]["failures"]
        assert "marked valid and is not whole" in first["message"]
        assert first["present"][0]["site"].startswith("ledger.c:33")
        assert first["missing"][0]["site"].startswith(("ledger.c:28", "ledger.c:29"))
        assert "nothing flushes its line" in first["why"]


# The first image is the uncut one, which every check has to be content with.
UNCUT = "test -e uncut || { touch uncut; exit 0; };"


def test_what_a_hanging_check_started_ends_with_it(cli: Cli) -> None:
    cli("cc", "-g", "-O1", ROOT / "tests/programs/ledger.c", "-o", "ledger")
    cli("record", "--quiet", "--out", "l.parquet", "--", "./ledger", "l.pm")
    check = f"{UNCUT} sleep 61.25 & echo $! > started; wait; : {{image}}"
    few = ["intel", "trace:l.parquet", "--points", 1, "--images", 1, "--time-limit", 2]
    crash(cli, *few, "--check", check, code=1)
    started = int((cli.folder / "started").read_text())
    state = Path(f"/proc/{started}/stat")
    for _ in range(100):
        if not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.05)
    raise AssertionError(f"process {started} is still there")


def test_a_pmemcheck_log_serves_as_a_trace(cli: Cli) -> None:
    source = ROOT / "tests/programs/ledger.c"
    cli("cc", "-O1", "-DBUG", source, "-o", "ledger")
    subprocess.run(["cc", "-O1", str(source), "-o", str(cli.folder / "recover")], check=True)
    cli("record", "--quiet", "--out", "l.parquet", "--", "./ledger", "l.pm")
    cli("trace", "convert", "--to", "pmemcheck", "l.parquet", "l.log")
    assert (cli.folder / "l.log").read_text().startswith("START|REGISTER_FILE;")
    cli("trace", "convert", "--from", "pmemcheck", "l.log", "again.cpt")
    crash(cli, "intel", "trace:again.cpt", "--check", "./recover --check {image}", code=1)


def test_checks_that_misbehave_are_told(cli: Cli) -> None:
    cli("cc", "-g", "-O1", ROOT / "tests/programs/ledger.c", "-o", "ledger")
    cli("record", "--quiet", "--out", "l.parquet", "--", "./ledger", "l.pm")
    few = ["intel", "trace:l.parquet", "--points", 1, "--images", 1, "--time-limit", 2]
    for command, wanted in {
        "sleep 60; : {image}": "did not end in 2 s of its own (0.0 s on a processor)",
        "while :; do :; done; : {image}": "did not end in 2 s of its own (2.",
        "kill -SEGV $$; : {image}": "signal: 11",
        "rm {image}; head -c 300000 /dev/zero; exit 3": "exit status: 3",
    }.items():
        (cli.folder / "uncut").unlink(missing_ok=True)
        found = crash(cli, *few, "--check", f"{UNCUT} {command}", code=1)
        assert wanted in found["model_images"]["failures"][0]["message"], command
        assert any("did not end" in note for note in found["notes"]) == ("did not end" in wanted)
    crash(cli, *few, "--check", "echo x > {image}")


def test_an_interrupted_search_goes_on(cli: Cli) -> None:
    cli("cc", "-g", "-O1", ROOT / "tests/programs/ledger.c", "-o", "ledger")
    cli("record", "--quiet", "--out", "l.parquet", "--", "./ledger", "l.pm")
    # The check ends the search at its third crash point, and later lets it go on.
    check = cli.folder / "check.sh"
    check.write_text("test -e go || ! grep -q 'points.:2[,}]' out/crash.so-far.json || kill -9 $(cat pid)\n")
    args = ["intel", "trace:l.parquet", "--check", "sh check.sh {image}", "--out", "out"]
    done = subprocess.Popen([str(COREPLANE), "crash", *args], cwd=cli.folder, stdout=subprocess.DEVNULL)
    (cli.folder / "pid").write_text(str(done.pid))
    assert done.wait(60) == -9
    assert json.loads((cli.folder / "out/crash.so-far.json").read_text())["found"]["points"] == 2
    (cli.folder / "go").write_text("")
    recording = (cli.folder / "l.parquet").read_bytes()
    cli("record", "--quiet", "--out", "l.parquet", "--", "./ledger", "other.pm")
    assert "of another recording, machine or version" in cli.refuses("crash", *args, "--resume")
    (cli.folder / "l.parquet").write_bytes(recording)
    whole = crash(cli, *args, "--resume")
    assert whole["model_images"]["points"] == whole["model_images"]["points_in_log"] > 20
    assert not (cli.folder / "out/crash.so-far.json").exists() and (cli.folder / "out/crash.json").exists()
    (cli.folder / "out/crash.so-far.json").write_text("{}")
    assert "other arguments" in cli.refuses("crash", *args, "--resume")


def test_a_search_that_went_on_finds_what_a_whole_one_does(cli: Cli) -> None:
    cli("cc", "-O1", "-I", ROOT / "capture", ROOT / "tests/programs/log.c", "-o", "log")
    cli("record", "--quiet", "--out", "bad.cpt", "--", "./log", "bad.pm", "order")
    # The check ends the search at its sixth crash point, and later lets it go on.
    (cli.folder / "check.sh").write_text("echo >> calls; test -e go || ! grep -q '[{,].points.:5[,}]' out/crash.so-far.json || kill -9 $(cat pid); ./log check $1 $2\n")
    args = ["intel", "trace:bad.cpt", "--check", "sh check.sh {image} {acknowledged}", "--points", "12", "--images", "4", "--out"]
    done = subprocess.Popen([str(COREPLANE), "crash", *args, "out"], cwd=cli.folder, stdout=subprocess.DEVNULL)
    (cli.folder / "pid").write_text(str(done.pid))
    assert done.wait(60) == -9 and (cli.folder / "out/crash.so-far.checks").exists()
    (cli.folder / "go").write_text("")

    def made(*more: str) -> tuple[dict, int]:
        (cli.folder / "calls").unlink()
        return crash(cli, *args, *more, code=1)["model_images"], len((cli.folder / "calls").read_text())

    (result, less), (whole, all_of_them) = made("out", "--resume"), made("anew")
    assert result == whole and whole["failing_points"] > 0
    assert less < all_of_them, "what was tried is tried again"
    assert not list((cli.folder / "out").glob("crash.so-far*"))


def test_what_was_found_stays_until_another_search_has_ended(cli: Cli) -> None:
    search = ["crash", "intel", "hashmap", "--set", "workload.bug=token-before-data", "--points", 20, "--out", "o", "--quiet"]
    cli(*search, code=1)
    result, so_far = cli.folder / "o/crash.json", cli.folder / "o/crash.so-far.json"
    kept = result.read_text()
    so_far.write_text("{}")
    replay = json.loads(kept)["model_images"]["failures"][0]["replay"]
    cli(*search, "--replay", replay, code=1)
    for mistake in (["--set", "workload.opperations=9"], ["--resume"], ["--replay", "x"], ["--model", "tso"]):
        cli.refuses(*search, *mistake)
    assert (result.read_text(), so_far.read_text()) == (kept, "{}")
    cli.run(*search, "--at", "1 us")
    assert json.loads(result.read_text())["model_images"] is None and so_far.exists()


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["intel", "mix"], "keeps nothing that could be recovered; those that do: append, hashmap, nstore, echo"),
        (["intel", "hashmap", "--every", "0"], "--every 0"),
        (["intel", "hashmap", "--points", "0"], "--points 0"),
        (["intel", "hashmap", "--at", "soon"], "--at: "),
        (["intel", "hashmap", "--model", "tso"], "accepted: px86-line, px86, armv8, strand, epoch, release, one-sided, strict"),
        (["intel", "hashmap", "--replay", "x"], "not what a finding prints"),
        (["intel", "hashmap", "--check", "true {image}"], "for recorded programs"),
    ],
)
def test_bad_crash_arguments_are_told(cli: Cli, arguments: list[str], wanted: str) -> None:
    done = cli.run("crash", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert wanted in done.stderr
