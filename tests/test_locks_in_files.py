"""Locks in mapped files: what the thread library writes there is known, so that a verdict can be given."""

from conftest import ROOT, Cli


def test_a_lock_that_is_made_and_destroyed_in_a_file_is_explained(cli: Cli) -> None:
    source = ROOT / "tests/programs/lock_in_file.c"
    cli("cc", "-O1", "-pthread", "-I", ROOT / "capture", source, "-o", "lock")
    recorded = cli.run("record", "--out", "t.cpt", "--", "./lock", "store", "t.pm")
    assert recorded.returncode == 0 and "not modelled" not in recorded.stderr, recorded.stderr
    done = cli.run("crash", "intel", "trace:t.cpt", "--check", "./lock check {image} {acknowledged}")
    assert done.returncode == 0, done.stdout + done.stderr
