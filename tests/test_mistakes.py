"""Mistakes at the command line: what was meant is told."""

import pytest
from conftest import Cli


def test_a_file_that_is_given_as_a_workload_is_told_how_recordings_are_given(cli: Cli) -> None:
    (cli.folder / "kv.parquet").write_bytes(b"")
    assert "a recording is given as trace:kv.parquet" in cli.refuses("run", "intel", "kv.parquet")


def test_names_are_found_whatever_the_case_of_their_letters(cli: Cli) -> None:
    assert "did you mean cceh?" in cli.refuses("run", "asap-rp", "CCEH")
    assert "did you mean asap-rp?" in cli.refuses("run", "ASAP-RP", "cceh")


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (("run", "intel", "cceh", "--threads", "8"), "--set workload.threads=8"),
        (("run", "asap-rp", "cceh", "--persist-buffer=4"), "--set ordering.persist_buffer=4"),
        (("compare", "cceh", "intel", "asap-rp"), "--on intel,asap-rp"),
        (("compare", "cceh", "--on", "intel", "asap-rp"), "--on intel,asap-rp"),
        (("track", "redis-server"), "give a process's number (pidof redis-server), or `-- COMMAND ...`"),
    ],
)
def test_arguments_that_are_not_accepted_come_with_what_was_meant(cli: Cli, args: tuple[str, ...], hint: str) -> None:
    done = cli.run(*args)
    assert done.returncode == 2
    assert hint in done.stderr


def test_help_begins_with_what_the_tool_is(cli: Cli) -> None:
    assert cli("--help").startswith("Run real programs on memory that cannot be bought: a simulator")


def test_a_program_too_large_for_its_memory_is_refused_in_words(cli: Cli) -> None:
    for command in ("run", "crash"):
        said = cli.refuses(command, "asap-rp@artifact", "dash-lh", "--set", "workload.initial_depth=12")
        assert "a thread needs more than the 64 MiB of memory that it has; give less of" in said
        assert "workload.initial_depth" in said
