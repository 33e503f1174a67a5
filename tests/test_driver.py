"""What `coreplane cc` makes of programs: instructions in any form, libraries, and every way to call a compiler."""

import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, Cli

PROGRAMS = ROOT / "tests/programs"
FLAGS = set(Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split())


@pytest.mark.skipif(not {"clwb", "clflushopt"} <= FLAGS, reason="this processor has no clwb")
@pytest.mark.parametrize("flags", [["-O2"], ["-O0", "-masm=intel"]])
def test_persist_instructions_are_seen_in_every_form(cli: Cli, flags: list[str]) -> None:
    source = PROGRAMS / "encoded.c"
    if "-masm=intel" in flags:
        text = source.read_text().replace(".intel_syntax noprefix;", "").replace(".att_syntax prefix", "")
        text = text.replace('xsaveopt %0" : "+m"(LINE(0))', 'xsaveopt [rax]" : : "a"(&LINE(0)) : "memory"')
        source = cli.folder / "intel.c"
        source.write_text(text.replace("clwb (%%rsp)", "clwb [rsp]"))
    done = cli.run("cc", *flags, source, "-o", "encoded")
    assert (done.returncode, done.stderr) == (0, "")
    cli("record", "--quiet", "--out", "e.cpt", "--", "./encoded", "e.pm")
    kinds = cli.json("trace", "info", "e.cpt")["kinds"]
    seen = {name: kinds.get(name, 0) / 100 for name in ("clwb", "clflushopt", "clflush", "store-nt", "sfence", "mfence")}
    assert seen == {"clwb": 6, "clflushopt": 4, "clflush": 2, "store-nt": 2, "sfence": 3, "mfence": 1}
    flushed = {r["address"] for r in cli.json("trace", "head", "e.cpt", "-n", 3000) if r["kind"] in ("clwb", "clflush", "clflushopt")}
    lines = {int(a, 16) // 64 if isinstance(a, str) else a // 64 for a in flushed}
    assert len(lines) == 12, "eleven lines of the file, and one of the stack"


def test_what_is_not_understood_is_said_where_it_stands(cli: Cli) -> None:
    (cli.folder / "x.c").write_text(
        'int main(int n, char **v) {\n  __asm__ volatile(".byte 0x66,0x0f,0xae,0x35; .long 0f-.-4; 0:");\n'
        '  __asm__ volatile(".macro f a\\nclwb \\\\a\\n.endm\\n f (%%rsp)" :::);\n'
        '  __asm__ volatile(".byte 0xeb,0x01,0xc3; .byte 1f-0f; 0: nop; 1:" ::: "memory");\n  return n == 77;\n}\n'
    )
    done = cli.run("cc", "-O1", "-c", "x.c")
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "not recorded" in line]
    assert [line.split(": ")[0] for line in said] == ["x.c:2", "x.c:3"]
    section = subprocess.run(
        ["objcopy", "-O", "binary", "--only-section=coreplane_unseen", "x.o", "/dev/stdout"],
        cwd=cli.folder, capture_output=True, check=True,
    )
    assert section.stdout.split(b"\0")[:-1] == [
        b"x.c:2: bytes that are not understood", b"x.c:3: an operand of a macro",
    ]
