"""A replay that is killed goes on where it stood, and ends as one that was not."""

import json
import os
import platform
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import CORE, COREPLANE, ROOT, Cli, Core, as_by_hand

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64" or platform.system() != "Linux", reason="images are of Linux on x86-64")

OFTEN = {**os.environ, "COREPLANE_IMAGES": "0.03"}
NEVER = {**os.environ, "COREPLANE_IMAGES": "never"}
# Pages are replayed faster than lines: on a fast host a short recording is at its end when its first image is.
PAGES = ["amf"]
MACHINES = ["intel", "asap-rp", "nvdimmc-poc", "pberry", "amf", "nearpm-md"]


def recording(folder: Path, operations: int) -> Cli:
    cli = Core(folder)
    cli("cc", "-O2", "-pthread", ROOT / "examples/kv/kv.c", "-o", "kv")
    cli("record", "--quiet", "--out", "kv.cpt", "--", "./kv", "kv.pm", 2, operations)
    return cli


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return recording(tmp_path_factory.mktemp("recorded"), 30000)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return recording(tmp_path_factory.mktemp("long"), 80000)


def command(machine: str, out: str, *options: str, by: list[str] = CORE) -> list[str]:
    return [*by, "run", machine, "trace:kv.cpt", "--out", out, *options]


def killed(cli: Cli, words: list[str], after: float, number: int = signal.SIGKILL) -> str:
    """What the command said that was ended some time after it had left an image, or was whole."""
    running = subprocess.Popen(words, cwd=cli.folder, env=OFTEN, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=as_by_hand)
    runs = cli.folder / words[words.index("--out") + 1] / "runs"
    seen = {image.name: image.stat().st_mtime_ns for image in runs.glob("*.image")}
    deadline = time.monotonic() + 120
    while running.poll() is None and time.monotonic() < deadline:
        if any(seen.get(image.name) != image.stat().st_mtime_ns for image in runs.glob("*.image") if image.exists()):
            break
        time.sleep(0.01)
    time.sleep(after)
    running.send_signal(number)
    _, said = running.communicate(timeout=120)
    return said


def results(folder: Path) -> tuple[str, bytes]:
    """What a run came to, but for the host's time and where and when it was."""
    report = json.loads((folder / "run.json").read_text())
    report.pop("host_seconds", None)
    del report["provenance"]
    return json.dumps(report), (folder / "stats.parquet").read_bytes()


@pytest.mark.parametrize("machine", MACHINES)
def test_a_replay_that_is_killed_again_and_again_ends_the_same(recorded: Cli, long: Cli, machine: str) -> None:
    recorded = long if machine in PAGES else recorded
    subprocess.run(command(machine, f"{machine}-whole", "--no-bands", "--quiet"), cwd=recorded.folder, env=NEVER, check=True, stdout=subprocess.DEVNULL)
    out = f"{machine}-killed"
    said = [killed(recorded, command(machine, out, "--no-bands"), after) for after in (0.02, 0.15, 0.06)]
    last = subprocess.run(command(machine, out, "--no-bands"), cwd=recorded.folder, env=OFTEN, check=True, capture_output=True, text=True)
    said.append(last.stderr)
    assert any(f"coreplane: {machine} goes on from " in one for one in said), said
    assert not any("begins anew" in one for one in said), said
    assert results(recorded.folder / out) == results(recorded.folder / f"{machine}-whole")
    assert [path.name for path in (recorded.folder / out / "runs").iterdir()] == [f"01.{machine}.json"]


def test_both_ends_of_what_is_open_go_on_side_by_side(recorded: Cli) -> None:
    """By the whole command line, which draws a report of what it went on with."""
    by = [str(COREPLANE)]
    subprocess.run(command("intel", "ends-whole", "--quiet"), cwd=recorded.folder, env=NEVER, check=True, stdout=subprocess.DEVNULL)
    for after in (0, 0.05):
        killed(recorded, command("intel", "ends", by=by), after)
    last = subprocess.run(command("intel", "ends", by=by), cwd=recorded.folder, env=OFTEN, check=True, capture_output=True, text=True)
    assert "goes on from" in last.stderr and "report: ends/report.html" in last.stdout
    assert results(recorded.folder / "ends") == results(recorded.folder / "ends-whole")
    assert len(list((recorded.folder / "ends/runs").iterdir())) == 3


def test_ctrl_c_says_where_what_is_done_is_and_leaves_nothing_half(recorded: Cli) -> None:
    said = killed(recorded, command("asap-rp", "stopped", "--no-bands", "--quiet"), 0.1, signal.SIGINT)
    begin, end = "coreplane: interrupted with ", " % of the replay done; what is done is in stopped/runs (the same command goes on)\n"
    assert said.startswith(begin) and said.endswith(end), said
    assert [path.name for path in (recorded.folder / "stopped/runs").iterdir()] == ["01.asap-rp.image"]


def test_an_image_of_something_else_or_damaged_is_not_taken(long: Cli) -> None:
    recorded = long
    subprocess.run(command("amf", "other-whole", "--no-bands", "--quiet"), cwd=recorded.folder, env=NEVER, check=True, stdout=subprocess.DEVNULL)
    killed(recorded, command("amf", "other", "--no-bands"), 0)
    image = recorded.folder / "other/runs/01.amf.image"
    kept = image.read_bytes()

    def whole(*options: str) -> str:
        done = subprocess.run(command("amf", "other", "--no-bands", *options), cwd=recorded.folder, env=NEVER | {"COREPLANE_IMAGES": "600"}, check=True, capture_output=True, text=True)
        return done.stderr

    assert "01.amf.image is not taken, the run begins anew: it is of another run" in whole("--seed", "2")
    assert not image.exists()
    for damaged in (kept[:-1], kept[:100] + bytes([kept[100] ^ 1]) + kept[101:]):
        image.write_bytes(damaged)
        image.chmod(0o600)
        (recorded.folder / "other/runs/01.amf.json").unlink(missing_ok=True)
        assert "is not taken, the run begins anew: it is damaged" in whole()
        assert results(recorded.folder / "other") == results(recorded.folder / "other-whole")
    (recorded.folder / "other/runs/01.amf.json").unlink()
    image.write_bytes(kept)
    image.chmod(0o620)
    assert "others may have written it" in whole()
    (recorded.folder / "other/runs/01.amf.json").unlink()
    image.write_bytes(kept)
    image.chmod(0o600)
    assert "amf goes on from" in whole()
    assert results(recorded.folder / "other") == results(recorded.folder / "other-whole")


def test_a_word_that_is_no_time_is_refused(recorded: Cli) -> None:
    done = subprocess.run(command("intel", "refused"), cwd=recorded.folder, env=OFTEN | {"COREPLANE_IMAGES": "often"}, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "COREPLANE_IMAGES=often: give seconds between two images of a run, or never" in done.stderr
