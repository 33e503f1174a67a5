"""Exploration: what is listed, what each protocol accepts, and traces that replay."""

import html
import json
import re

import pytest
from conftest import ROOT, Cli

from coreplane import report_explore


def protocols(cli: Cli) -> dict[str, dict]:
    return {p["name"]: p for p in json.loads(cli("explore", "list", "--format", "json"))}


def test_every_protocol_is_listed_with_its_bounds_and_mutants(cli: Cli) -> None:
    listed = protocols(cli)
    (model,) = (p for p in cli.json("show", "ordering.model")["parameters"] if p["key"] == "ordering.model")
    orderings = model["accepts"].removeprefix("one of ").split(", ")
    assert {*orderings, "nearpm", "nvdimmc", "optane", "cmmh", "remote", "shared"} == set(listed)
    assert all(p["bounds"] and len(p["mutants"]) >= 4 for p in listed.values())
    shown = cli("explore", "list")
    assert "Entries of each recovery table" in shown and "  --units Units of each device: 1 to 4 [default: 2]" in shown


def test_the_manual_counts_the_mistakes_of_each_protocol(cli: Cli) -> None:
    rows = re.findall(r"^\| ((?:`[^`|]+`(?:, )?)+) \|.*\| ([\d, ]+) \|$", (ROOT / "docs/models/explore.md").read_text(), re.M)
    told = {name: int(n) for names, counts in rows for name, n in zip(re.findall(r"`([^`]+)`", names), counts.split(", "), strict=True)}
    assert told == {name: len(p["mutants"]) for name, p in protocols(cli).items()}


def test_a_bound_of_another_protocol_is_refused_and_told_whose_it_is(cli: Cli) -> None:
    message = cli.refuses("explore", "asap", "--units", 2)
    assert "--units" in message and "nearpm" in message and "--recovery-table" in message
    assert "asap" in cli.refuses("explore", "remote", "--recovery-table", 2)
    assert "--cores" in cli.refuses("explore", "list", "--cores", 9)
    assert "--states" in cli.refuses("explore", "asap", "--replay", "0", "--states", 5)


@pytest.mark.parametrize(("protocol", "mutant"), [("hops", "ignores-dependence"), ("bbb", "no-battery"), ("asap", "skip-delay"), ("intel", "flush-skips-owner"), ("nvdimmc", "no-flush"), ("optane", "joins-late"), ("cmmh", "fills-twice")])
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
    """And of each protocol's first two, every step of the way has somebody who takes it."""
    every = [(name, mutant["name"]) for name, p in protocols(cli).items() for mutant in p["mutants"]]
    assert len(every) > 60
    found = {(name, mutant): cli.run("explore", name, "--mutant", mutant, "--format", "json") for name, mutant in every}
    assert [of for of, done in found.items() if done.returncode != 1] == []
    for name, p in protocols(cli).items():
        for mutant in p["mutants"][:2]:
            way = json.loads(found[name, mutant["name"]].stdout)["violation"]["trace"]
            assert [step for step in way if report_explore.parties(step) == ["elsewhere"]] == [], name
    assert "(with --stores 2)" in cli("explore", "capri", "--mutant", "list")
    listed = cli.json("explore", "capri", "--mutant", "list")
    assert listed == protocols(cli)["capri"]["mutants"] and {"name": "stores", "value": "2"} in [b for mutant in listed for b in mutant["bounds"]]


@pytest.mark.parametrize(("protocol", "mutant"), [("asap", "skip-delay"), ("intel", "flush-skips-owner"), ("nvdimmc", "no-flush"), ("remote", "reply-overwrites"), ("shared", "fence-forgets"), ("nearpm", "no-ordering")])
def test_a_way_to_a_violation_is_drawn_and_can_be_gone_again(cli: Cli, protocol: str, mutant: str) -> None:
    assert cli.run("explore", protocol, "--mutant", mutant, "--out", "e", "--quiet").returncode == 1
    page = html.unescape((cli.folder / "e/report.html").read_text())
    kept = json.loads((cli.folder / "e/explore.json").read_text())
    assert kept["violation"]["message"] in page and kept["violation"]["trace"][-1] in (cli.folder / "e/trace.svg").read_text()
    assert ("the power fails: this " in (cli.folder / "e/trace.svg").read_text()) == kept["violation"]["message"].startswith("a power failure")
    meaning = next(m["meaning"] for m in protocols(cli)[protocol]["mutants"] if m["name"] == mutant)
    assert meaning in page and all(bound["meaning"] in page for bound in kept["within"]) and len(kept["within"]) >= len(kept["bounds"])
    command = re.search(r"<code>coreplane (explore .*?)</code>", page)
    assert command
    again = cli.run(*command[1].split(), "--out", "again")
    assert again.returncode == 1 and kept["violation"]["message"] in again.stdout
    assert json.loads((cli.folder / "again/explore.json").read_text())["violation"]["trace"] == kept["violation"]["trace"]


def test_who_hears_from_whom() -> None:
    assert report_explore.parties("controller 0 takes a flush of core 1") == ["controller 0", "core 1"]
    assert report_explore.parties("packet 0 in the air arrives") == ["network"]
    assert report_explore.parties("the directory hears of the controller") == ["directory", "controller"]
    assert report_explore.parties("line 1 leaves the caches") == ["caches"]


def test_an_exploration_without_violation_says_so(cli: Cli) -> None:
    cli("explore", "hops", "--epochs", 1, "--out", "e", "--quiet")
    assert "No violation: every state within these bounds was visited" in (cli.folder / "e/report.html").read_text()
    cli("explore", "asap", "--states", 1000, "--out", "few", "--quiet")
    assert "more are left (--states)" in (cli.folder / "few/report.html").read_text()
    assert cli.json("explore", "optane", "--states", 1000)["states"] == 1000
