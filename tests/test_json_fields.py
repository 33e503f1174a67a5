"""What commands print as JSON is on the page of files and exit codes."""

import json
import re

import pytest
from conftest import ROOT, Cli

PAGE = (ROOT / "docs/reference/files.md").read_text()
TEST = """X86 two-stores
{ x=0; y=0; }
 P0          ;
 MOV [x],$1  ;
exists (x=0 /\\ y=1)
"""


@pytest.mark.parametrize(
    "args",
    [
        ("curve", "intel", "--reads", 100, "--set", "workload.operations=100"),
        ("holdup", "bbb", "queue", "--set", "workload.operations=20"),
        ("shared", "shared", "shared-log", "--schedules", 2, "--set", "workload.bug=record-not-flushed"),
        ("litmus", "two.litmus", "--model", "px86"),
        ("record", "--route", "hooks", "--out", "p.cpt", "--", "./p"),
    ],
    ids=lambda args: args[0],
)
def test_the_fields_of_a_command_are_told(cli: Cli, args: tuple[object, ...]) -> None:
    (cli.folder / "two.litmus").write_text(TEST)
    if args[0] == "record":
        (cli.folder / "p.c").write_text("int main(void) { return 0; }\n")
        cli("cc", "p.c", "-o", "p")
    (told,) = re.findall(rf"^\| `{args[0]}` \| (.*) \|$", PAGE, re.M)
    found = json.loads(cli.run(args[0], "--format", "json", *args[1:]).stdout)
    rows = found if isinstance(found, list) else [found]
    fields = {key for row in rows for key in (*row, *(key for one in row.get("findings", []) for key in one))}
    assert rows and fields <= set(re.findall(r"`(\w+)`", told))


def test_ends_that_checks_have_are_told() -> None:
    (told,) = re.findall(r"^\| 1 \| (.*) \|$", PAGE, re.M)
    for check in ("crash point", "litmus", "exploration", "`shared`", "`diff --slower-than`"):
        assert check in told
