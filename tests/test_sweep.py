"""Campaigns: at home, interrupted, shared by several processes, and on a Dask scheduler."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import coreplane as cp
import coreplane.cluster
import duckdb
import polars as pl
import pytest
from conftest import CORE, COREPLANE, ROOT, Cli, Core
from distributed import LocalCluster

CAMPAIGN = """
about = "How deep a persist buffer has to be"
machines = ["hops-rp", "mine.toml"]
workloads = ["cceh", "queue"]
seeds = [1, 2]

[set]
workload.operations = 300

[vary]
ordering.persist_buffer = [4, 32]
"""


@pytest.fixture
def campaign(cli: Cli) -> Cli:
    (cli.folder / "depth.toml").write_text(CAMPAIGN)
    (cli.folder / "mine.toml").write_text('extends = "asap-rp"\n[memory.pm]\nread_ns = 300\n')
    return cli


def results(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".json", ".parquet")}


def test_a_campaign_is_one_table_and_each_run_is_what_run_makes(campaign: Cli) -> None:
    swept = campaign.json("sweep", "depth.toml")
    assert swept["folder"] == "depth.sweep" and len(swept["runs"]) == 16
    table = f"'{campaign.folder}/depth.sweep/*.parquet'"
    question = f"""SELECT machine, workload, seed, "ordering.persist_buffer", value FROM {table} WHERE name = 'time_ns'"""
    times = {tuple(row[:4]): row[4] for row in duckdb.sql(question).fetchall()}
    assert len(times) == 16
    for run in swept["runs"]:
        depth = run["settings"]["ordering.persist_buffer"]
        machine = Path(run["machine"]).stem
        assert times[machine, run["workload"], run["seed"], depth] == run["time_ns"]
    one = campaign.json("run", "mine.toml", "queue", "--seed", 2, "--set", "workload.operations=300", "--set", "ordering.persist_buffer=4")
    assert times["mine", "queue", 2, 4] == one["time_ns"]
    again = cp.sweep(campaign.folder / "depth.toml", out=campaign.folder / "depth.sweep", resume=True)
    assert again.ok and again.table["time_ns"].to_list() == [run["time_ns"] for run in swept["runs"]]
    assert again.stats.filter(pl.col("name") == "time_ns")["value"].to_list() == [run["time_ns"] for run in swept["runs"]]
    plan = campaign.json("sweep", ROOT / "examples/sweep/depth.toml", "--plan", "--out", "none")
    assert len(plan["runs"]) == 180 and not any(run["done"] for run in plan["runs"])
    kept = json.loads((campaign.folder / "depth.sweep/campaign.json").read_text())
    assert kept["vary"] == ["ordering.persist_buffer"] and kept["runs"] == 16


def test_the_terminal_is_told_what_each_key_does_to_each_machine(campaign: Cli) -> None:
    printed = campaign("sweep", "depth.toml")
    told = " ".join(printed.split("one table:")[1].split("report:")[0].split())
    assert "16 runs, means over 2 seeds." in told
    assert "ordering.persist_buffer over all 2 workloads (geometric mean" in told and "hops-rp does most at" in told and "mine" in told
    quiet = campaign("sweep", "depth.toml", "--out", "quiet", "--quiet")
    assert "does most at" not in quiet and "report:" in quiet


def test_a_recording_that_counts_no_operations_is_judged_by_its_time(cli: Cli) -> None:
    (cli.folder / "r.txt").write_text("".join(f" L {0x1000_0000 + n * 4096:x},8\n" for n in range(300)))
    cli("trace", "convert", "--quiet", "--from", "lackey", "r.txt", "r.cpt")
    (cli.folder / "c.toml").write_text('machines = "intel"\nworkloads = ["trace:r.cpt", "trace:r2.cpt"]\n[set]\nworkload.pm = "all"\n[vary]\nmemory.pm.read_ns = [50, 800]\n')
    shutil.copy(cli.folder / "r.cpt", cli.folder / "r2.cpt")
    told = " ".join(cli("sweep", "c.toml").split())
    assert "(geometric mean; each of them may go its own way), by the time of a run: intel is fastest at 50" in told, told
    report = (cli.folder / "c.sweep/report.html").read_text()
    assert "operations a second" not in report and "M operations/s" not in report and ">time, us<" in report


def test_a_mapping_is_a_campaign_as_its_file_is(campaign: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign("sweep", "depth.toml", "--quiet")
    monkeypatch.chdir(campaign.folder)
    given = {
        "about": 'How deep a "persist buffer" has to be, \U0001f642',
        "machines": [cp.Machine("hops-rp"), Path("mine.toml")],
        "workloads": ("cceh", cp.Workload("queue")),
        "seeds": range(1, 3),
        "set": {"workload": {"operations": 300}},
        "vary": {"ordering.persist_buffer": [4, 32.0]},
    }
    swept = cp.sweep(given, out="given")
    assert swept.ok and len(swept.table) == 16
    assert {name: data for name, data in results(Path("given")).items() if name != "campaign.json"} == {
        name: data for name, data in results(Path("depth.sweep")).items() if name != "campaign.json"
    }
    again = cp.sweep(given, out="given", resume=True)
    assert again.table.equals(swept.table)
    # What is kept of it is a campaign's file.
    Path("given/mine.toml").write_bytes(Path("mine.toml").read_bytes())
    assert cp.sweep("given/campaign.toml", out="given", resume=True).table.equals(swept.table)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"machine": ["asap-rp"]}, 'campaign: unknown key "machine"; did you mean machines?'),
        ({"machines": []}, "machines"),
        ({"machines": [cp.Machine("asap-rp", ordering={"persist_buffer": 4})]}, "give its changes under set or vary"),
        ({"machines": [cp.Machine("asap-rp", label="mine")]}, "give its changes under set or vary"),
        ({"machines": {"a": 1}}, "machines"),
        ({"machines": [3.5]}, "machines: give text, whole numbers or a list of them, not 3.5"),
        ({"seeds": [True]}, "seeds: give text, whole numbers or a list of them, not True"),
        ({"seeds": [-1]}, "seeds"),
        ({"vary": {"ordering.persist_bufer": [4]}}, "campaign: "),
        ({"vary": {"ordering.persist_buffer": [None]}}, "ordering.persist_buffer: give text, a number or a truth value, not NoneType"),
        ({"vary": {"ordering": {3: [4]}}}, "a campaign's keys are text, not 3"),
        ({"vary": {'a"b = 1\n': [4]}}, "a"),
        ({"set": [1]}, "set"),
        ({3: 4}, "a campaign's keys are text, not 3"),
    ],
)
def test_a_mapping_that_is_no_campaign_is_refused_before_anything_is_made(tmp_path: Path, changes: dict[str, object], says: str) -> None:
    good = {"machines": ["asap-rp"], "workloads": ["queue"], "set": {"workload.operations": 20}}
    with pytest.raises(cp.ConfigError) as refused:
        cp.sweep(good | changes, out=tmp_path / "out")
    assert says in str(refused.value)
    assert not (tmp_path / "out").exists()
    with pytest.raises(cp.ConfigError, match="out: give a folder of results for a campaign that is in no file"):
        cp.sweep(good)
    with pytest.raises(cp.ConfigError, match="on tcp://a:1: a cluster runs campaigns that are files"):
        cp.sweep(good, out=tmp_path / "out", on="tcp://a:1")


def test_results_of_what_a_campaign_had_before_are_not_told_as_its_own(campaign: Cli) -> None:
    campaign("sweep", "depth.toml", "--quiet")
    text = (campaign.folder / "depth.toml").read_text()
    (campaign.folder / "depth.toml").write_text(text.replace('"hops-rp", ', "").replace("[1, 2]", "[1]"))
    told = " ".join(campaign("sweep", "depth.toml", "--resume").split())
    assert "hops-rp" not in told and "4 runs." in told
    assert "12 results in the folder are of runs that the campaign had before" in told
    assert "hops-rp" not in (campaign.folder / "depth.sweep/report.html").read_text()
    assert len(list((campaign.folder / "depth.sweep").glob("*.parquet"))) == 16


def test_a_killed_sweep_goes_on_and_gives_the_same_files(campaign: Cli) -> None:
    text = CAMPAIGN.replace("300", "3000")
    (campaign.folder / "depth.toml").write_text(text)
    begun = subprocess.Popen([*CORE, "sweep", "depth.toml", "--jobs", "1", "--quiet"], cwd=campaign.folder, stdout=subprocess.DEVNULL)
    folder = campaign.folder / "depth.sweep"
    while len(list(folder.glob("*.parquet"))) < 3:
        assert begun.poll() is None, "it ended before it could be killed"
        time.sleep(0.001)
    begun.send_signal(signal.SIGKILL)
    begun.wait()
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.parquet")}
    assert 3 <= len(before) < 16
    assert "give --resume" in campaign.refuses("sweep", "depth.toml")
    core = Core(campaign.folder)
    core("sweep", "depth.toml", "--resume")
    assert all(path.stat().st_mtime_ns == at for path, at in before.items()), "what was there was made again"
    core("sweep", "depth.toml", "--out", "whole")
    assert results(folder) == results(campaign.folder / "whole")


def test_jobs_of_an_array_share_a_folder(campaign: Cli) -> None:
    command = [COREPLANE, "sweep", "depth.toml", "--resume", "--out", "shared", "--share"]
    jobs = [subprocess.Popen([*command, f"{i}/3"], cwd=campaign.folder, stdout=subprocess.DEVNULL) for i in range(3)]
    assert [job.wait() for job in jobs] == [0, 0, 0]
    assert not list((campaign.folder / "shared").glob(".*")), "half files are left"
    Core(campaign.folder)("sweep", "depth.toml", "--out", "whole")
    assert results(campaign.folder / "shared") == results(campaign.folder / "whole")


def test_a_broken_promise_fails_its_run_alone(core: Cli) -> None:
    text = """machines = ["nvdimmc-poc"]\nworkloads = ["stream"]\n[vary]\nnvdimm.device.ignore_window = [false, true]\n"""
    (core.folder / "collide.toml").write_text(text)
    swept = json.loads(core("sweep", "collide.toml", "--format", "json", code=1))
    good, bad = swept["runs"]
    assert "time_ns" in good and "failed" not in good and "collision" in bad["failed"]
    assert len(list((core.folder / "collide.sweep").glob("*.parquet"))) == 1
    assert bad["failed"] in (core.folder / f"collide.sweep/{bad['name']}.failed").read_text()


def test_a_key_of_one_memory_counts_where_that_of_all_is_varied(core: Cli) -> None:
    (core.folder / "two.toml").write_text('extends = "intel"\n[[memory]]\nkind = "pm"\n[[memory]]\nkind = "pm"\n')
    begin = 'machines = ["two.toml"]\nworkloads = ["fio"]\n'
    own = ["memory.0.pm.read_ns=50", "workload.operations=20", 'workload.rw="read"']
    (core.folder / "one.toml").write_text(begin + "\n".join(["[set]", *own, "[vary]", "memory.pm.read_ns = [100, 900]\n"]))
    swept = [run["time_ns"] for run in core.json("sweep", "one.toml")["runs"]]
    sets = [word for given in own for word in ("--set", given.replace('"', ""))]
    alone = [core.json("run", "two.toml", "fio", "--set", f"memory.pm.read_ns={ns}", *sets)["time_ns"] for ns in (100, 900)]
    assert swept == alone and alone[0] < alone[1]


def test_what_is_wrong_is_said_before_the_first_run(campaign: Cli) -> None:
    def says(change: tuple[str, str], *words: str) -> None:
        (campaign.folder / "depth.toml").write_text(CAMPAIGN.replace(*change))
        message = campaign.refuses("sweep", "depth.toml")
        assert all(word in message for word in words), message
        assert not (campaign.folder / "depth.sweep").exists()

    says(("persist_buffer", "persist_bufer"), "depth.toml:11:", "did you mean ordering.persist_buffer")
    says(("[4, 32]", "[4, 0]"), "depth.toml:11:", "a whole number from 1")
    says(("hops-rp", "hops"), "hops-rp")
    says(("mine.toml", "other.toml"), "other.toml", "No such file")
    says(('"queue"', '"trace:gone.cpt"'), "gone.cpt", "No such file")
    says((CAMPAIGN, 'machines = "asap-rp"\nworkloads = "spec-mix"'), "spec-mix", "page fidelity")
    (campaign.folder / "depth.toml").write_text(CAMPAIGN)
    assert "0/16" in campaign.refuses("sweep", "depth.toml", "--share", "3/3")
    assert "no such run" in campaign.refuses("sweep", "depth.toml", "--only", "x")
    assert "no Dask scheduler" in campaign.refuses("sweep", "depth.toml", "--on", "tcp://127.0.0.1:1")
    for url in ("tcp://", "tcp://here", "ftp://here:8786"):
        assert campaign.run("sweep", "depth.toml", "--on", url).stderr == f"coreplane: --on {url}: not a scheduler's address; give tcp://HOST:PORT (a scheduler's own is 8786)\n"
    Core(campaign.folder)("sweep", "depth.toml")
    (campaign.folder / "depth.toml").write_text(CAMPAIGN.replace("ordering.persist_buffer", "ordering.epoch_table"))
    assert "varies" in campaign.refuses("sweep", "depth.toml", "--resume")


SHORT = "[set]\nworkload.operations = 20\n"


def test_machines_whose_files_are_called_alike_are_told_apart(cli: Cli) -> None:
    for folder, extends in (("a", "intel"), ("b", "eadr")):
        (cli.folder / folder).mkdir()
        (cli.folder / folder / "m.toml").write_text(f'extends = "{extends}"\n')
    names = ["a/m.toml", "b/m.toml"]
    (cli.folder / "n.toml").write_text(f'machines = {names}\nworkloads = ["queue"]\n{SHORT}[vary]\nmemory.pm.read_ns = [100, 900]\n')
    times = {(run["machine"], run["settings"]["memory.pm.read_ns"]): run["time_ns"] for run in cli.json("sweep", "n.toml")["runs"]}
    table = pl.read_parquet(cli.folder / "n.sweep/*.parquet").filter(pl.col("name") == "time_ns")
    assert {(m, ns): t for m, ns, t in table.select("machine", "memory.pm.read_ns", "value").rows()} == times
    assert {json.loads(file.read_text())["machine"] for file in (cli.folder / "n.sweep").glob("*queue*.json")} == set(names)
    assert "a/m.toml does most at 100" in (cli.folder / "n.sweep/report.html").read_text()


def test_a_sweep_does_not_go_on_with_another_campaign(core: Cli) -> None:
    def written(machines: str = '["m.toml"]', extends: str = "intel", operations: int = 20, values: str = "[4, 8]") -> None:
        (core.folder / "m.toml").write_text(f'extends = "{extends}"\n')
        text = f'machines = {machines}\nworkloads = ["queue"]\n[set]\nworkload.operations = {operations}\n[vary]\ncpu.store_buffer = {values}\n'
        (core.folder / "c.toml").write_text(text)

    written()
    core("sweep", "c.toml", "--quiet")
    written(extends="eadr")
    assert "holds the results of m before it was changed" in core.refuses("sweep", "c.toml", "--resume")
    written(operations=21)
    assert 'that sets {"workload.operations":20}, not {"workload.operations":21}' in core.refuses("sweep", "c.toml", "--resume")
    written(values="[8, 16]", machines='["eadr"]')
    core("sweep", "c.toml", "--quiet", "--resume")
    written(extends="eadr")
    assert "before it was changed" in core.refuses("sweep", "c.toml", "--resume"), "although it was left out meanwhile"
    written(machines='["m.toml", "eadr"]', values="[4, 8, 16]")
    core("sweep", "c.toml", "--quiet", "--resume")
    assert len(list((core.folder / "c.sweep").glob("*.parquet"))) == 6


def test_an_axis_that_is_extended_stays_one_table(core: Cli) -> None:
    for values, files in (("[1, 2]", 2), ('["1.0", 2, 2.5]', 3)):
        (core.folder / "c.toml").write_text(f'machines = "intel"\nworkloads = "queue"\n{SHORT}[vary]\ncpu.ipc = {values}\n')
        core("sweep", "c.toml", "--quiet", "--resume")
        assert len(list((core.folder / "c.sweep").glob("*.parquet"))) == files
    table = pl.read_parquet(core.folder / "c.sweep/*.parquet").filter(pl.col("name") == "time_ns")
    assert sorted(table["cpu.ipc"].to_list()) == [1, 2, 2.5]


def test_a_table_that_was_cut_off_is_made_again(core: Cli) -> None:
    (core.folder / "c.toml").write_text(f'machines = "intel"\nworkloads = "queue"\n{SHORT}')
    core("sweep", "c.toml", "--quiet")
    (table,) = (core.folder / "c.sweep").glob("*.parquet")
    whole = table.read_bytes()
    table.write_bytes(whole[:100])
    core("sweep", "c.toml", "--quiet", "--resume")
    assert table.read_bytes() == whole


def test_the_command_of_a_report_makes_the_same_again(cli: Cli) -> None:
    (cli.folder / "k").mkdir()
    (cli.folder / "k/m.toml").write_text('extends = "intel"\n')
    (cli.folder / "k/c.toml").write_text(f'machines = "m.toml"\nworkloads = "queue"\n{SHORT}')
    cli("sweep", "k/c.toml", "--quiet")
    report = (cli.folder / "c.sweep/report.html").read_text()
    command = report.split("byte for byte:</p><pre>")[1].split("</pre>")[0]
    assert command == "coreplane sweep k/c.toml --out c.sweep.again"
    cli(*command.split()[1:], "--quiet")
    again = results(cli.folder / "c.sweep.again")
    assert again == results(cli.folder / "c.sweep") and len(again) == 3


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A real scheduler and two workers, each a process of its own."""
    place = folder / "scheduler.json"
    module = [str(COREPLANE.parent / "python"), "-m", "distributed.cli"]
    options = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    scheduler = [*module[:2], "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", place]
    worker = [*module[:2], "distributed.cli.dask_worker", "--scheduler-file", place, "--nworkers", "2", "--nthreads", "1", "--no-dashboard"]
    processes = [subprocess.Popen(scheduler, **options)]
    try:
        while not place.exists():
            assert processes[0].poll() is None
            time.sleep(0.05)
        processes.append(subprocess.Popen(worker, **options))
        yield json.loads(place.read_text())["address"]
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGTERM)
        for process in processes:
            process.wait(timeout=60)


def test_a_cluster_gives_the_same_files(campaign: Cli) -> None:
    with cluster(campaign.folder) as url:
        swept = json.loads(campaign("sweep", "depth.toml", "--on", url, "--out", "far", "--format", "json"))
        assert len(swept["runs"]) == 16 and all("time_ns" in run for run in swept["runs"])
        assert "give --resume" in campaign.refuses("sweep", "depth.toml", "--on", url, "--out", "far")
        far, file = campaign.folder / "far", campaign.folder / "depth.toml"
        with pytest.raises(cp.ConfigError, match="give resume"):
            cp.sweep(file, on=url, out=far)
        with pytest.raises(cp.ConfigError, match="^on tcp://here: not a scheduler's address"):
            cp.sweep(file, on="tcp://here", out=far, resume=True)
        for lost in sorted(far.glob("hops-rp.*.parquet"))[:2]:
            lost.unlink()
        again = cp.sweep(file, on=url, out=far, resume=True)
        assert again.ok and again.table["time_ns"].to_list() == [run["time_ns"] for run in swept["runs"]]
    campaign("sweep", "depth.toml", "--out", "near")
    assert results(campaign.folder / "far") == results(campaign.folder / "near")
    assert all((campaign.folder / name / "report.html").exists() for name in ("far", "near"))


def test_a_scheduler_without_workers_is_said_to_have_none(
    campaign: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cp.cluster, "WORKERS_WITHIN_S", 0.2)
    with LocalCluster(n_workers=0, processes=False, dashboard_address=None) as empty:
        code = cp.cluster.main(["sweep", str(campaign.folder / "depth.toml")], empty.scheduler_address)
    said = capsys.readouterr().err
    assert code == 2 and said.count("\n") == 1 and "has no workers" in said
    assert not (campaign.folder / "depth.sweep").exists()
