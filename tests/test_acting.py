"""Keys that do nothing on a machine are refused; where several machines run, a key has to act on one of them."""

import json
from pathlib import Path

import pytest
from conftest import Cli

FEW = ("--set", "workload.operations=40")


def test_a_key_that_does_nothing_is_refused_with_the_machines_on_which_it_acts(cli: Cli, tmp_path: Path) -> None:
    said = cli.refuses("run", "intel", "queue", "--set", "remote.link_ns=5")
    assert "remote.link_ns: does nothing on intel; it acts on remote-pages, pberry" in said
    mine = tmp_path / "mine.toml"
    mine.write_text('extends = "asap-rp"\n[ordering]\nsfence_blocks = "stores"\n')
    assert "mine.toml:3: ordering.sfence_blocks: does nothing on mine; it acts on intel" in cli.refuses("run", str(mine), "queue")


def test_several_machines_need_one_on_which_a_key_acts(cli: Cli, tmp_path: Path) -> None:
    on = ("compare", "queue", "--on", "intel,asap-rp", *FEW)
    rows = cli.json(*on, "--set", "ordering.persist_buffer=4")["machines"]
    assert "ordering.persist_buffer" not in rows[0]["configuration"]
    assert rows[1]["configuration"]["ordering.persist_buffer"] == 4
    assert "does nothing on intel, asap-rp; it acts on" in cli.refuses(*on, "--set", "nand.dies=4")
    plan = tmp_path / "c.toml"
    plan.write_text("machines = ['intel', 'asap-rp']\nworkloads = 'queue'\n[vary]\nremote.link_ns = [50, 60]\n")
    assert "c.toml:4: remote.link_ns: does nothing on intel, asap-rp" in cli.refuses("sweep", str(plan), "--plan")


@pytest.mark.parametrize(("machine", "has", "has_not"), [
    ("intel", "ordering.sfence_blocks", "ordering.persist_buffer"),
    ("bbb", "ordering.persist_buffer", "ordering.recovery_table"),
    ("amf", "fusion.design", "l1.ways"),
])
def test_a_machine_shows_what_acts(cli: Cli, machine: str, has: str, has_not: str) -> None:
    keys = {row["key"] for row in cli.json("show", machine)["parameters"]}
    assert has in keys and has_not not in keys
    assert has_not.split(".")[1] in json.dumps(cli.json("show", "schema"))


def test_a_machine_without_a_persist_buffer_reports_none(cli: Cli) -> None:
    stats = cli.json("run", "intel", "queue", *FEW)["stats"]
    assert not [name for name in stats if "persist_buffer" in name or "recovery_table" in name or "blocked" in name]
    assert "PB mean" not in cli("compare", "queue", "--on", "intel,eadr", *FEW)
    assert "PB mean" in cli("compare", "queue", "--on", "intel,bbb", *FEW)


def test_a_file_extends_a_file_from_its_own_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "base.toml").write_text('extends = "asap-rp"\n[ordering]\npersist_buffer = 7\nepoch_table = 9\n')
    (tmp_path / "more/child.toml").write_text('extends = "../base.toml"\n[ordering]\nepoch_table = 11\n')
    rows = {p["key"]: p["value"] for p in cli.json("show", str(tmp_path / "more/child.toml"))["parameters"]}
    assert (rows["ordering.persist_buffer"], rows["ordering.epoch_table"]) == ("7", "11")
    (tmp_path / "lost.toml").write_text('extends = "nowhere.toml"\n')
    said = cli.refuses("show", str(tmp_path / "lost.toml"))
    assert "lost.toml:1: extends: " in said and "nowhere.toml" in said and "No such file" in said
    (tmp_path / "a.toml").write_text('extends = "b.toml"\n')
    (tmp_path / "b.toml").write_text('extends = "a.toml"\n')
    assert "extends itself" in cli.refuses("show", str(tmp_path / "a.toml"))
    # What is wrong in a file that is extended is said of that file.
    (tmp_path / "base.toml").write_text('extends = "asap-rp"\n[ordering]\npersist_buffer = "many"\n')
    assert "base.toml:3: ordering.persist_buffer" in cli.refuses("show", str(tmp_path / "more/child.toml"))


def test_what_a_file_says_in_vain_beside_what_is_set_is_told(cli: Cli, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('extends = "asap-rp"\n[ordering]\nrecovery_table = 16\n')
    remark = f"{mine}:3: ordering.recovery_table does nothing beside what was set"
    plain = ["queue", "--set", "workload.operations=20", "--no-bands"]
    assert remark not in cli.run("run", mine, *plain).stderr
    assert remark in cli.run("run", mine, *plain, "--set", "ordering.model=hops").stderr
    said = cli.json("compare", "queue", "--on", f"eadr,{mine}", *plain[1:], "--set", "ordering.model=hops")
    assert remark in said["remarks"]


def test_a_campaign_is_told_on_which_memory_a_key_acts(cli: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "c.toml"
    plan.write_text('machines = ["compose-nvdimmc-pm"]\nworkloads = ["queue"]\n[vary]\n"memory.controllers" = [1, 2]\n')
    said = cli.refuses("sweep", plan, "--plan")
    assert "c.toml:4: memory.controllers: does nothing on compose-nvdimmc-pm, where memories have their own: give memory.1.controllers" in said


def test_a_key_that_hangs_on_another_is_shown_with_it(cli: Cli) -> None:
    said = " ".join(cli("show", "remote.cpu_after").split())
    assert "acts on remote-pages, pberry" in said and said.endswith("with remote.kind=lines and remote.cpu_kib!=0")
    for system in ("remote", "memory", "nand", "neardata", "ordering", "cpu"):
        assert not [line for line in cli("show", system).splitlines() if line.rstrip().endswith("acts on")], system
