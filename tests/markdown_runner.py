"""Runs the console blocks of a page and compares what they print.

A block is ```` ```console ````: lines that begin with ``$ `` are commands for bash (``> `` continues one), the lines below are
what they print. ``...`` alone on a line stands for any lines. Times of the host are not compared. A comment before a
block says what else it wants:

* ``<!-- docs: slow -->``: takes more than a few seconds; run with COREPLANE_SLOW_DOCS or by ``.ci/run nightly``;
* ``<!-- docs: numbers within 60 % -->``: a recorded program differs from run to run, and other work is the same each time and
  moves with the model alone (5 %); why a machine is faster is then compared as far as by how much;
* ``<!-- docs: exit 1 -->``: the last command's exit code;
* ``<!-- docs: needs /usr/include/libpmem.h -->``: skipped where that file is not;
* ``<!-- docs: not run: why -->``: shown only; the reason is for the reader of the source.

All blocks of a page run in one folder, one after the other; ``examples`` of the project is there.
"""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

BLOCK = re.compile(r"(?P<marks>(?:<!-- docs: [^>]*-->\n)*)```console\n(?P<body>.*?)^```$", re.S | re.M)
MARK = re.compile(r"<!-- docs: ([^>]*?) -->")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
#: What the host takes, and folders that tests have.
VARIES = [
    (re.compile(r"\d+\.\d+ host seconds \(\d+\.\d+ million a second\)"), "T host seconds (R million a second)"),
    (re.compile(r"\(\d+ thousand a second\)"), "(N thousand a second)"),
]


@dataclass
class Block:
    """A console block of a page."""

    page: Path
    line: int
    marks: list[str]
    commands: list[tuple[str, list[str]]] = field(default_factory=list)

    @property
    def is_slow(self) -> bool:
        return "slow" in self.marks

    @property
    def is_run(self) -> bool:
        needs = [m.removeprefix("needs ") for m in self.marks if m.startswith("needs ")]
        return not any(m.startswith("not run") for m in self.marks) and all(Path(need).exists() for need in needs)

    @property
    def code(self) -> int:
        return next((int(m.split()[1]) for m in self.marks if m.startswith("exit ")), 0)

    @property
    def tolerance(self) -> float:
        return next((int(m.split()[2]) / 100 for m in self.marks if m.startswith("numbers within")), 0.0)


def commands_of(body: str, where: str) -> list[tuple[str, list[str]]]:
    """The commands of a block, each with the lines below it."""
    found: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line[:2] in ("> ", ">") and found and not found[-1][1]:
            found[-1] = (found[-1][0] + "\n" + line[2:], [])
        else:
            assert found, f"{where}: a console block begins with a command"
            found[-1][1].append(line)
    return found


def blocks(page: Path) -> list[Block]:
    """The console blocks of a page, in order."""
    text = page.read_text()
    found = []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("body"))
        commands = commands_of(match["body"], f"{page}:{line}")
        found.append(Block(page, line, MARK.findall(match["marks"]), commands))
    return found


#: What ``--explain`` says of two machines, on as many lines as it takes: the verdict, and the reasons for it.
EXPLAINED = re.compile(r"^(\S+ (?:is|takes) (?:[\d.]+ (?:\([\d.]+ to [\d.]+\) )?times )?as (?:fast|long) as \S+),(?:[^.\n]|\.(?=\S)|\n(?=\S))*\.$", re.M)


def plain(text: str, tolerance: float = 0.0) -> list[str]:
    """Lines without what varies."""
    if tolerance:
        text = EXPLAINED.sub(r"\1", text)
        text = re.sub(r"0x[0-9a-f]+", "0x", text)
    for pattern, word in VARIES:
        text = pattern.sub(word, text)
    return [re.sub(r"\s+", " ", re.sub(r"-{4,}", "----", line)).rstrip() for line in text.strip("\n").splitlines()]


def same(wanted: str, got: str, tolerance: float) -> bool:
    """Whether two lines say the same; numbers may differ by ``tolerance``."""
    if wanted == got:
        return True
    if not tolerance or NUMBER.sub("#", wanted) != NUMBER.sub("#", got):
        return False
    pairs = zip(NUMBER.findall(wanted), NUMBER.findall(got), strict=True)
    values = [(float(a.replace(",", "")), float(b.replace(",", ""))) for a, b in pairs]
    return all(abs(a - b) <= tolerance * max(abs(a), abs(b)) + 1e-9 for a, b in values)


def matches(wanted: list[str], got: list[str], tolerance: float) -> bool:
    """Whether the printed lines are the expected ones; ``...`` stands for any lines."""
    if not wanted:
        return not got
    if wanted[0].strip() == "...":
        return any(matches(wanted[1:], got[n:], tolerance) for n in range(len(got) + 1))
    return bool(got) and same(wanted[0], got[0], tolerance) and matches(wanted[1:], got[1:], tolerance)


def run(block: Block, folder: Path, coreplane: Path) -> None:
    """Runs a block's commands in ``folder`` and compares what they print."""
    # The interpreter that runs the tests has the package; so has `python` on a page.
    path = f"{coreplane.parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
    for number, (command, expected) in enumerate(block.commands):
        where = f"{block.page.name}:{block.line}: $ {command}"
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=600)
        last = number + 1 == len(block.commands)
        assert done.returncode == (block.code if last else 0), f"{where}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        printed = plain(done.stdout + done.stderr, block.tolerance)
        wanted = plain("\n".join(expected), block.tolerance)
        shown = "\n".join(printed)
        assert matches(wanted, printed, block.tolerance), f"{where}\nprinted:\n{shown}\n\nthe page says:\n" + "\n".join(wanted)


def update(page: Path, folder: Path, coreplane: Path) -> None:
    """Writes what commands print now into a page, where nothing is left out by ``...``: for who changes an output."""
    text = page.read_text()
    path = f"{coreplane.parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": "100", "LC_ALL": "C.UTF-8"}

    def rerun(match: re.Match[str]) -> str:
        if any(m.startswith("not run") for m in MARK.findall(match["marks"])):
            return match[0]
        body = []
        for command, expected in commands_of(match["body"], str(page)):
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=900)
            printed = [line.rstrip() for line in (done.stdout + done.stderr).strip("\n").splitlines()]
            assert not any(line.startswith("Traceback") for line in printed), f"{page}: $ {command}\n" + "\n".join(printed)
            first, *more = command.split("\n")
            body += [f"$ {first}", *(f"> {line}".rstrip() for line in more)]
            body += expected if "..." in [line.strip() for line in expected] else printed
        return f"{match['marks']}```console\n" + "\n".join(body) + "\n```"

    page.write_text(BLOCK.sub(rerun, text))


if __name__ == "__main__":
    import sys
    import tempfile

    root = Path(__file__).parent.parent
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as scratch:
            (Path(scratch) / "examples").symlink_to(root / "examples")
            beside = Path(sys.executable).parent / "coreplane"
            update(Path(name), Path(scratch), Path(os.environ.get("COREPLANE", beside)))
