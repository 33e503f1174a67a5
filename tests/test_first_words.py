"""What a newcomer reads first: help that fits a terminal, refusals in whole sentences, what lies behind a missed claim, how far work is."""

import json
import os
import pty
import re
import select
import subprocess
import time

from conftest import COREPLANE, ROOT, Cli, Core


def test_examples_of_the_help_stand_as_they_were_written(cli: Cli) -> None:
    done = cli.run("--help", env={**os.environ, "COLUMNS": "80"})
    written = (ROOT / "crates/face/cli/src/help_examples.txt").read_text()
    assert written.strip() in done.stdout
    assert max(map(len, written.splitlines())) <= 80


def test_machines_that_cannot_be_compared_are_named_with_what_they_simulate(cli: Cli) -> None:
    said = cli.refuses("compare", "stream", "--on", "intel,amf")
    assert "every cache line is simulated on intel, visits of pages by programs on amf" in said


def test_an_installed_package_tells_why_claims_are_missed(cli: Cli) -> None:
    page = (ROOT / "validation/DEVIATIONS.md").read_text()
    assert cli.json("show", "deviations") == page
    text = cli("show", "deviations")
    assert not re.search(r"\*\*|`|\]\(|^#|^\|", text, re.M), "for a reader, without the marks of Markdown"
    claims = [row.split("|")[1].strip(" *") for row in page.splitlines() if row.startswith("| ")]
    assert len(claims) > 50 and all(re.sub(r"[`*]", "", claim) in text for claim in claims)
    assert "deviations" in cli("show")


def test_environment_variables_that_steer_the_compilers_are_in_the_manual() -> None:
    told = set()
    for file in ("cc.rs", "cc_args.rs", "cc_help.txt"):
        told |= set(re.findall(r"COREPLANE_(?:CC|CXX|PM)\b", (ROOT / "crates/face/cli/src" / file).read_text()))
    assert told == {"COREPLANE_CC", "COREPLANE_CXX", "COREPLANE_PM"}
    page = (ROOT / "docs/howto/record.md").read_text()
    assert all(word in page for word in told)


def test_long_work_says_on_a_terminal_how_far_it_is(cli: Cli) -> None:
    parent, child = pty.openpty()
    # On a fast host it may be done at once; then there is nothing to say.
    work = ["compare", "cceh", "--on", "intel,hops-rp,asap-rp,bbb,eadr", "--set", "workload.operations=60000"]
    running = subprocess.Popen([COREPLANE, *work], stdout=subprocess.DEVNULL, stderr=child, cwd=cli.folder)
    os.close(child)
    shown, began = b"", time.monotonic()
    while b" left" not in shown and time.monotonic() - began < 120:
        if select.select([parent], [], [], 0.2)[0]:
            try:
                shown += os.read(parent, 1 << 16)
            except OSError:
                break
    running.kill()
    running.wait()
    os.close(parent)
    assert re.search(rb"\d/5 .*left", shown), shown[-400:]


def test_a_result_names_the_recording_that_it_is_of_by_content(cli: Cli) -> None:
    cli("cc", "-O1", ROOT / "tests/programs/log.c", "-o", "log")
    cli("record", "--quiet", "--out", "log.cpt", "--", "./log", "log.pm")
    core = Core(cli.folder)
    core("run", "intel", "trace:log.cpt", "--no-bands", "--out", "one")
    core("compare", "trace:log.cpt", "--on", "intel,eadr", "--no-bands", "--out", "two")
    one = json.loads((cli.folder / "one/run.json").read_text())["provenance"]["recordings"]
    assert one == json.loads((cli.folder / "two/compare.json").read_text())["provenance"]["recordings"]
    assert one[0]["file"] == "log.cpt" and one[0]["bytes"] == (cli.folder / "log.cpt").stat().st_size
    assert re.fullmatch("[0-9a-f]{16}", one[0]["xxh3"])
    (cli.folder / "copy.cpt").write_bytes((cli.folder / "log.cpt").read_bytes())
    core("run", "intel", "trace:copy.cpt", "--no-bands", "--out", "three")
    assert json.loads((cli.folder / "three/run.json").read_text())["provenance"]["recordings"][0]["xxh3"] == one[0]["xxh3"]
