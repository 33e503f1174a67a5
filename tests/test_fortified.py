"""Flags that distributions compile with hide no store from the recorder."""

import pytest

from conftest import ROOT, Cli


@pytest.mark.parametrize("stage", ["at once", "object"])
def test_stores_of_fortified_functions_are_recorded_as_the_programs_own(cli: Cli, stage: str) -> None:
    flags = ["-O2", "-D_FORTIFY_SOURCE=2", "-w"]
    source = ROOT / "tests/programs/fortified.c"
    if stage == "object":
        cli("cc", *flags, "-c", source, "-o", "f.o")
        cli("cc", "f.o", "-o", "fortified")
    else:
        cli("cc", *flags, source, "-o", "fortified")
    recorded = cli.run("record", "--out", "t.cpt", "--", "./fortified", "f.pm")
    assert recorded.returncode == 0 and "unseen" not in recorded.stderr, recorded.stderr
    info = cli.json("trace", "info", "t.cpt")
    assert info["kinds"].get("observed", 0) == 0
    (file,) = [f for f in info["files"] if f["path"].endswith("/f.pm")]
    assert file["stores"] >= (4096 + 300) // 8
