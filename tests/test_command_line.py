"""What the command line says of itself, and how it says it: help, lists, widths, units, completions, explanations."""

import json
import os
import re
import subprocess
from pathlib import Path

import coreplane as cp
import polars as pl
import pytest
from conftest import COREPLANE, Cli
from coreplane import api

CAUSES = ["time.compute", "time.memory", "time.fences", "time.buffer_full", "time.locks", "time.devices", "time.kernel", "time.idle"]


def narrow(cli: Cli, *args: object, columns: int = 100) -> str:
    done = cli.run(*args, env={**os.environ, "COLUMNS": str(columns)})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_show_alone_lists_what_there_is_to_show(cli: Cli) -> None:
    text = cli("show")
    for word in ("machines", "workloads", "stats", "claims", "schema", "asap-rp", "cceh"):
        assert word in text, word
    assert cli.json("show")["machines"][0] == "intel"


def test_every_word_of_the_list_can_be_shown(cli: Cli) -> None:
    words = re.findall(r"^([a-z]+)  ", cli("show"), re.M)
    assert {"machines", "parameters", "protocols", "deviations"} <= set(words)
    lines = {word: len(cli("show", word).splitlines()) for word in words if word != "coreplane"}
    assert lines["parameters"] > 200 and lines["protocols"] > 20 and min(lines.values()) > 10
    assert len(cli.json("show", "parameters")["parameters"]) > 200
    assert cli.json("show", "protocols") == cli.json("explore", "list")


def test_python_shows_what_the_command_shows(cli: Cli) -> None:
    words = cp.show()["show"].to_list()
    assert words == re.findall(r"^(\w+)  ", cli("show"), re.M)
    topics = [word for word in words if word.islower()]
    assert set(api.TOPICS) == {"statistics" if word == "stats" else word for word in topics} and len(topics) == len(set(topics))
    for word in topics:
        (told, shown) = (cli.json("show", word), cp.show(word))
        if not isinstance(shown, pl.DataFrame):
            assert shown == told and len(shown) > 3, word
            continue
        # Of parameters the command says that it is all of them.
        rows = told["parameters"] if isinstance(told, dict) else told
        first = shown.columns[0]
        assert shown[first].to_list() == [row[first] for row in rows], word
        assert {key for row in rows for key in row} <= {*shown.columns, "column"}, word


def test_a_machines_keys_stand_in_groups_by_system_and_none_of_another_system(cli: Cli) -> None:
    text = narrow(cli, "show", "asap-rp")
    assert re.search(r"^ordering: order of persists$", text, re.M) and re.search(r"^cpu: cores$", text, re.M)
    assert not re.search(r"^ +(nvdimm|neardata|remote|os)\.", text, re.M)
    assert max(map(len, text.splitlines())) <= 100


def test_a_composed_machine_is_shown_with_its_memories(cli: Cli) -> None:
    rows = {row["key"]: row for row in cli.json("show", "compose-bbb-two-media")["parameters"]}
    assert rows["memory.0.share"]["value"] == "3" and (rows["memory.1.pm.read_ns"]["value"], rows["memory.1.pm.read_ns"]["unit"]) == ("60", "ns")
    shown = cp.Machine("compose-bbb-two-media").parameters
    assert dict(shown.select("key", "value").iter_rows()) == {key: row["value"] for key, row in rows.items()}


def test_a_parameter_is_found_by_its_last_word(cli: Cli) -> None:
    text = cli("show", "persist_buffer")
    assert "ordering.persist_buffer" in text and "accepts a whole number from 1 to 1024" in text and "asap-rp" in text
    assert cli("show", "persist-buffer") == text
    assert "ordering.epoch_table" in cli("show", "ordering")
    assert "did you mean ordering.persist_buffer?" in cli.refuses("show", "persist_bufer") or "ordering" in cli.refuses("show", "ordering.persist_bufer")


def test_what_bands_vary_without_a_machine_is_shown(cli: Cli) -> None:
    (slower,) = cli.json("show", "counting.slower")["parameters"]
    assert slower["source"].startswith("open 1..10000") and slower["machines"] == []
    assert "cannot be set" in cli("show", "counting.reference_bytes")
    assert "counting.slower" in cli.refuses("run", "pberry", "redis-seq", "--set", "counting.slower=2")


@pytest.mark.parametrize("columns", [80, 100])
def test_tables_are_no_wider_than_the_terminal(cli: Cli, columns: int) -> None:
    for args in (
        ("run", "asap-rp", "queue", "--set", "workload.operations=100"),
        ("compare", "queue", "--on", "intel,asap-rp,eadr", "--set", "workload.operations=100"),
        ("show", "stats"), ("show", "workloads"), ("show", "claims"), ("show",),
    ):  # fmt: skip
        widest = max(narrow(cli, *args, columns=columns).splitlines(), key=len)
        assert len(widest) <= columns, f"{args}: {widest}"


def test_values_are_scaled_for_people_and_plain_in_json(cli: Cli) -> None:
    args = ("run", "intel", "queue", "--set", "workload.operations=2000")
    text, plain = cli(*args), cli.json(*args)
    assert re.search(r"intel, seed 1: [\d.,]+ ms simulated", text)
    assert re.search(r"cpu\.references +\d{2},\d{3} ", text)
    assert re.search(r"ordering\.stall_share +[\d.]+ +% ", text)
    assert plain["time_ns"] > 1e6 and 0 < plain["stats"]["ordering.stall_share"] < 1


@pytest.mark.parametrize(("machine", "workload"), [("intel", "queue"), ("asap-rp", "cceh"), ("nearpm-md", "btree"), ("remote-pages", "redis-random"), ("nvdimmc-poc", "fio")])
def test_the_cores_time_adds_up(cli: Cli, machine: str, workload: str) -> None:
    args = ("run", machine, workload, "--set", "workload.operations=60")
    data = cli.json(*args)
    spent = sum(data["stats"].get(cause, 0) for cause in CAUSES)
    assert spent == pytest.approx(data["time_ns"] * data["configuration"]["workload.threads"], rel=1e-9)
    shares = re.search(r"the cores' time: (.*?)\n\n", cli(*args), re.DOTALL)[1]
    assert sum(float(n) for n in re.findall(r"([\d.]+) %", shares)) == pytest.approx(100, abs=0.5)


def test_a_comparison_says_why_machines_differ(cli: Cli) -> None:
    args = ("compare", "queue", "--on", "intel,asap-rp", "--set", "workload.operations=300", "--explain")
    text = cli(*args)
    said = re.search(r"asap-rp is ([\d.]+) times as fast as intel, [\d.]+ us\s+less: each core spends", text)
    assert said, text
    data = cli.json(*args)
    row = data["machines"][1]
    assert float(said[1]) == pytest.approx(row["speedup"], abs=0.01)
    assert row["reasons"][0]["share"] >= row["reasons"][-1]["share"]
    difference = data["machines"][1]["time_ns"] - data["machines"][0]["time_ns"]
    for reason in row["reasons"]:
        assert reason["more_ns_per_core"] / difference == pytest.approx(reason["share"])
    assert "reasons" not in cli.json(*args[:-1])["machines"][1]


def test_the_reasons_that_are_told_add_up_to_the_difference(cli: Cli) -> None:
    for workload in ("cceh", "btree"):
        data = cli.json("compare", workload, "--on", "intel,hops-rp,asap-rp,eadr", "--set", "workload.operations=300", "--explain")
        base = data["machines"][0]
        for row in data["machines"][1:]:
            told = {reason["cause"]: reason["share"] for reason in row["reasons"]}
            of = {cause.removeprefix("time.").replace("_", " "): row["stats"].get(cause, 0) - base["stats"].get(cause, 0) for cause in CAUSES}
            difference = sum(of.values())
            large = {cause for cause, more in of.items() if abs(more / difference) > 0.25}
            assert large <= set(told), (workload, row["machine"], of, told)


def test_what_makes_others_wait_is_named_where_waiting_is_all_that_differs(cli: Cli) -> None:
    args = ("compare", "heap", "--on", "intel,asap-rp", "--set", "workload.operations=300", "--explain")
    told = " ".join(cli(*args).split())
    assert re.search(r"each core spends .* which follows from what the others do: [\d.]+ us less waiting at fences and flushes", told), told
    causes = [reason["cause"] for reason in cli.json(*args)["machines"][1]["reasons"]]
    assert sorted(causes[:2]) == ["idle", "locks"] and causes[2] == "fences"


def test_a_column_that_says_nothing_is_left_out(cli: Cli) -> None:
    text = cli("compare", "redis-random", "--on", "remote-pages,pberry", "--set", "workload.operations=60")
    head = text.splitlines()[2]
    assert "faults" in head and "PB mean" not in head and "epochs" not in head, head


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_generated(cli: Cli, shell: str) -> None:
    script = cli("completions", shell)
    assert "reproduce" in script and "crash" in script and len(script) > 2000
    assert cli.json("completions", shell, "--quiet") == {"shell": shell, "script": script}


def test_the_documentation_takes_the_options_of_every_command(cli: Cli) -> None:
    done = cli.run("docs", "--format", "json", "--quiet")
    # A package carries it, and other builds say so.
    if done.returncode == 0:
        assert Path(json.loads(done.stdout)["page"]).name == "index.html"
    else:
        assert done.returncode == 2 and "this build carries no documentation" in done.stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("rep", ["reproduce"]),
        ("run pberry@", ["pberry@cxl"]),
        ("run mine.toml ccE", []),
        ("run mine.toml cce", ["cceh"]),
        ("shared shared shared-lo", ["shared-log", "shared-lock"]),
        ("run intel cceh --set cpu.store_", ["cpu.store_buffer=", "cpu.store_prefetch=", "cpu.store_interval_ns="]),
        ("compare cceh --on asap-rp@o", ["asap-rp@optane"]),
        ("sweep mine.toml --on asap", []),
        ("compare cceh --on intel,eadr,asap-rp@o", ["intel,eadr,asap-rp@optane"]),
        ("show ordering.persist_b", ["ordering.persist_buffer"]),
        ("show protoc", ["protocols"]),
        ("explore near", ["nearpm"]),
        ("explore asap --mutant skip-d", ["skip-delay"]),
        ("reproduce am", ["amf"]),
    ],
)
def test_bash_completes_commands_and_names(cli: Cli, words: str, offered: list[str]) -> None:
    (cli.folder / "c.bash").write_text(cli("completions", "bash"))
    ask = f'source c.bash; COMP_WORDS=(coreplane {words}); COMP_CWORD=$(({len(words.split())})); '
    last = words.split()[-1]
    before = ["coreplane", *words.split()][-2]
    ask += f'_coreplane coreplane {last} {before}; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", ask], cwd=cli.folder, capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered


def test_files_are_offered_beside_names(cli: Cli) -> None:
    assert "compadd -- intel " in (script := cli("completions", "zsh")) and "; _files}" in script
    assert "-o default" in cli("completions", "bash")
    assert 'using_subcommand compare; and test (count (commandline -opc)) -eq 2" -a "bandwidth ' in cli("completions", "fish")


def test_manual_pages_are_generated(cli: Cli) -> None:
    cli("man", "--out", "man")
    names = {p.name for p in (cli.folder / "man").iterdir()}
    assert {"coreplane.1", "coreplane-run.1", "coreplane-trace-convert.1"} <= names
    page = (cli.folder / "man/coreplane-compare.1").read_text()
    assert page.startswith(".ie") or ".TH" in page
    assert "explain" in page


def test_help_says_what_the_tool_is_with_examples_and_every_evaluation(cli: Cli) -> None:
    text = cli("--help")
    assert "Run real programs on memory that cannot be bought" in text and "Examples:" in text
    papers = re.search(r"accepted|give one of ([\w, ]+)", cli.refuses("reproduce", "nothing"))[1]
    helped = cli("reproduce", "--help")
    assert all(p.strip() in helped for p in papers.split(",")), helped


def test_examples_of_the_help_are_commands(cli: Cli) -> None:
    for line in re.findall(r"^  coreplane (show|compare [^ ]+ --on [\w,-]+ --explain)", cli("--help"), re.M):
        done = subprocess.run([COREPLANE, *line.split(), *(["--set", "workload.operations=50"] if "compare" in line else [])], capture_output=True)
        assert done.returncode == 0, done.stderr


def test_results_say_where_they_are_from(cli: Cli) -> None:
    done = cli.run("compare", "queue", "--on", "intel,eadr", "--set", "workload.operations=50", "--out", "r", "--format", "json")
    kept = json.loads((cli.folder / "r/compare.json").read_text())
    assert re.fullmatch(r"\d+\.\d+\.\d+", kept["provenance"]["version"])
    assert kept["provenance"]["command"].startswith("coreplane compare queue --on intel,eadr ")
    assert "explained" in kept["machines"][1]
    assert "provenance" not in json.loads(done.stdout)
