"""Options however they are written: the wrapper that draws reports reads them as the compiled core does."""

import json
import re

import pytest

from coreplane import _cli

from conftest import Cli

CAMPAIGN = 'machines = ["intel", "eadr"]\nworkloads = ["queue"]\n[set]\n"workload.operations" = 50\n'


@pytest.mark.parametrize("out", [["-or"], ["-o=r"], ["-o", "r"], ["-qor"], ["-qo", "r"], ["--out=r"], ["--out", "r"]], ids=" ".join)
def test_the_folder_of_results_is_found(out: list[str]) -> None:
    assert _cli._options(["run", "intel", "queue", *out, "--seed", "2"])[0]["--out"] == "r"


def test_words_that_are_values_or_anothers_are_no_options() -> None:
    given, words = _cli._options(["sweep", "-j4", "--only", "--plan", "--out", "json", "a", "--format=table", "--", "-ob"])
    assert given == {"--jobs": "4", "--only": "--plan", "--out": "json", "--format": "table"}
    assert words == ["sweep", "a", "-ob"]


def test_options_that_take_values_are_those_of_the_command(cli: Cli) -> None:
    # Of the command whose other words are looked at, too.
    told = re.findall(r"^ +(?:-(\w), |    )(--\w+) <", cli("sweep", "--help"), re.M)
    assert sorted(_cli.VALUED) == sorted(long for _, long in told)
    assert {short: long for short, long in told if short} == _cli.SHORT


def test_a_report_is_drawn_wherever_the_folder_stands(cli: Cli) -> None:
    text = cli("run", "intel", "queue", "--set", "workload.operations=50", "-ojson")
    assert text.endswith("\nreport: json/report.html\n")


def test_a_campaign_is_drawn_whatever_it_is_called(cli: Cli) -> None:
    (cli.folder / "dd").mkdir()
    (cli.folder / "dd/plain").write_text(CAMPAIGN)
    assert "report: plain.sweep/report.html" in cli("sweep", "--jobs", "1", "dd/plain")
    # What asks for no run has no report, though results are there.
    assert not any("report:" in cli("sweep", "dd/plain", *asked) for asked in (["--plan", "--resume"], ["--help"]))


def test_json_is_the_only_thing_printed_in_a_folder_of_any_name(cli: Cli) -> None:
    (cli.folder / "c.toml").write_text(CAMPAIGN)
    assert json.loads(cli("sweep", "c.toml", "--out", "table", "--format", "json"))
    assert (cli.folder / "table/report.html").exists()
