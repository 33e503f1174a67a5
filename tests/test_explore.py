"""Exploration: what is listed, what each protocol accepts, and traces that replay."""

import json

import pytest
from conftest import Cli


def protocols(cli: Cli) -> dict[str, dict]:
    return {p["name"]: p for p in json.loads(cli("explore", "list", "--format", "json"))}


def test_every_protocol_is_listed_with_its_bounds_and_mutants(cli: Cli) -> None:
    listed = protocols(cli)
    assert {"asap", "hops", "bbb", "dpo", "eadr", "strandweaver", "pmem-spec", "lb++", "lrp", "vorpal", "ppa", "capri", "cwsp", "intel", "nearpm", "nvdimmc", "remote", "shared"} == set(listed)
    assert all(p["bounds"] and len(p["mutants"]) >= 3 for p in listed.values())
    shown = cli("explore", "list")
    assert "Entries of each recovery table" in shown and "  --units Units of each device: 1 to 4 [default: 2]" in shown


def test_a_bound_of_another_protocol_is_refused_and_told_whose_it_is(cli: Cli) -> None:
    message = cli.refuses("explore", "asap", "--units", 2)
    assert "--units" in message and "nearpm" in message and "--recovery-table" in message
    assert "asap" in cli.refuses("explore", "remote", "--recovery-table", 2)


@pytest.mark.parametrize(("protocol", "mutant"), [("hops", "ignores-dependence"), ("bbb", "no-battery"), ("asap", "skip-delay"), ("intel", "flush-skips-owner"), ("nvdimmc", "no-flush")])
def test_a_trace_replays(cli: Cli, protocol: str, mutant: str) -> None:
    seeded = ("explore", protocol, "--mutant", mutant, "--format", "json")
    found = cli.run(*seeded)
    assert found.returncode == 1
    violation = json.loads(found.stdout)["violation"]
    choices = ",".join(map(str, violation["choices"]))
    again = cli.run(*seeded, "--replay", choices)
    assert again.returncode == 1
    assert json.loads(again.stdout) == {"trace": violation["trace"], "message": violation["message"]}
    assert cli.run("explore", protocol, "--replay", "0").returncode == 0
    assert "choice 99" in cli.refuses("explore", protocol, "--replay", "99")


def test_every_mutant_shows_without_any_bound_given(cli: Cli) -> None:
    every = [(name, mutant["name"]) for name, p in protocols(cli).items() for mutant in p["mutants"]]
    assert len(every) > 60
    unseen = [(name, mutant) for name, mutant in every if cli.run("explore", name, "--mutant", mutant, "--quiet").returncode != 1]
    assert not unseen
    assert "(with --stores 2)" in cli("explore", "capri", "--mutant", "list")
