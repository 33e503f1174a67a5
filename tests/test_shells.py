"""Completions in the shells themselves: what is offered after a tab."""

import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest
from conftest import COREPLANE, Cli

OFFERED = [
    ("coreplane repr", "coreplane reproduce"),
    ("coreplane run pberry@", "pberry@cxl"),
    ("coreplane run mine.toml cce", "cceh"),
    ("coreplane run intel cceh --set cpu.store_b", "cpu.store_buffer="),
    ("coreplane compare cceh --on asap-rp@o", "asap-rp@optane"),
    ("coreplane compare cceh --on intel,eadr,asap-rp@o", "intel,eadr,asap-rp@optane"),
    ("coreplane show ordering.persist_b", "ordering.persist_buffer"),
    ("coreplane explore near", "nearpm"),
    ("coreplane reproduce am", "amf"),
]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(("typed", "offered"), OFFERED)
def test_fish_completes_commands_and_names(cli: Cli, typed: str, offered: str) -> None:
    (cli.folder / "c.fish").write_text(cli("completions", "fish"))
    done = subprocess.run(["fish", "-N", "-c", f'source c.fish; complete -C "{typed}"'], cwd=cli.folder, capture_output=True, text=True, check=True)
    found = [line.split("\t")[0] for line in done.stdout.split("\n") if line.strip()]
    assert found == [offered.split()[-1]], done


@pytest.fixture
def zsh(cli: Cli) -> Iterator[tuple[Callable[[str], None], Callable[[str], str]]]:
    """A zsh with the completions: types into it, and reads its screen until a word is there."""
    (cli.folder / "_coreplane").write_text(cli("completions", "zsh"))
    parent, child = pty.openpty()
    env = {**os.environ, "TERM": "dumb", "ZDOTDIR": str(cli.folder), "COLUMNS": "200", "PATH": f"{COREPLANE.parent}:{os.environ['PATH']}"}
    shell = subprocess.Popen(["zsh", "-f", "-i"], cwd=cli.folder, env=env, stdin=child, stdout=child, stderr=child, start_new_session=True)
    os.close(child)

    def read_until(word: str) -> str:
        seen, end = "", time.monotonic() + 60
        while word not in seen and time.monotonic() < end:
            if select.select([parent], [], [], 0.2)[0]:
                seen += os.read(parent, 65536).decode(errors="replace")
        assert word in seen, seen
        return seen

    def typed(text: str) -> None:
        os.write(parent, text.encode())

    typed("PS1='ready> '; unsetopt zle_bracketed_paste; fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; print rea''dy-now\n")
    read_until("ready-now")
    yield typed, read_until
    typed("\x03exit\n")
    shell.kill()
    shell.wait()
    os.close(parent)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.parametrize(("typed", "offered"), OFFERED)
def test_zsh_completes_commands_and_names(zsh: tuple[Callable[[str], None], Callable[[str], str]], typed: str, offered: str) -> None:
    type_in, read_until = zsh
    type_in(f"{typed}\t")
    read_until(offered.split()[-1])
