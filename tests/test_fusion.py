"""Machines at page fidelity: AMF and what it is compared with."""

import json
from pathlib import Path

import pytest
from conftest import Cli

SMALL = ["--set", "fusion.dram_gib=1", "--set", "fusion.pm_gib=3", "--set", "fusion.device_gib=1", "--set", "os.cores=4"]
MIX = ["--set", "workload.instances=8", "--set", "workload.scale_percent=40", "--set", "workload.interval_ns=0"]


def test_amf_hides_memory_until_it_is_wanted_and_saves_energy(cli: Cli) -> None:
    unified, amf = cli.json("compare", "spec-mix", "--on", "unified,amf", *SMALL, *MIX)["machines"]
    # Pages that swap in beside one that is wanted fault once more, at their first visit.
    assert unified["stats"]["os.minor_faults"] == pytest.approx(amf["stats"]["os.minor_faults"], rel=1e-3)
    assert amf["stats"]["os.minor_faults"] > 500_000
    for machine in (unified, amf):
        assert machine["stats"]["os.programs_ended"] == 8
        assert machine["series"]["pm_integrated_gib"][-1] <= 2.0
    assert unified["series"]["pm_integrated_gib"][0] == 2.0
    assert amf["series"]["pm_integrated_gib"][0] == 0.0
    assert amf["stats"]["fusion.sections_integrated"] > 0
    assert amf["stats"]["energy_j"] < unified["stats"]["energy_j"]


def test_a_comparison_has_its_figures(cli: Cli, tmp_path: Path) -> None:
    cli("compare", "spec-mix", "--on", "unified,amf", *SMALL, *MIX, "--out", "c")
    assert {"speedup", "time", "free", "pm_integrated"} <= {p.stem for p in (tmp_path / "c").glob("*.png")}


@pytest.mark.parametrize("period", [1_000, 1_000_000, 1_000_000_000])
def test_scans_are_the_time_of_programs_and_let_them_go_on(cli: Cli, period: int) -> None:
    keys = ["fusion.dram_gib=1", "os.reserved_mib=100", "os.cores=1", "workload.array_bytes=536870912", f"os.scan_period_ns={period}"]
    run = cli.json("run", "tiering", "stream", "--no-bands", *(word for key in keys for word in ("--set", key)))
    user, system, threads = (run["stats"][f"os.{name}_time"] for name in ("user", "system", "kernel_threads"))
    # One core has no more time than there is; one program without I/O has all of it.
    assert user + system - threads == pytest.approx(run["time_ns"], rel=1e-3)
    assert run["time_ns"] < 8e9


def test_every_design_runs_the_same_programs_to_their_end(cli: Cli) -> None:
    designs = "unified@pm,amf@pm,hotplug,tiering,dram-cache,pm-block,dram-swap"
    rows = cli.json("compare", "spec-mix", "--on", designs, *SMALL, *MIX, "--set", "workload.passes=2")["machines"]
    stats = {r["machine"]: r["stats"] for r in rows}
    assert all(s["os.programs_ended"] == 8 and s["os.oom_kills"] == 0 for s in stats.values())
    assert len({s["os.visits"] for s in stats.values()}) == 1
    assert stats["dram-swap"]["os.major_faults"] > stats["unified@pm"]["os.major_faults"]
    assert stats["tiering"]["os.promoted_pages"] > 0 and stats["tiering"]["os.demoted_pages"] > 0
    assert stats["dram-cache"]["fusion.cache_misses"] > 0
    assert stats["dram-swap"]["memory.bytes_written"] == 0


@pytest.mark.parametrize("workload", ["sqlite-mem", "redis-mem"])
def test_recorded_programs_do_all_their_operations(cli: Cli, workload: str, tmp_path: Path) -> None:
    out = cli.json("run", "amf", workload, *SMALL, "--set", "workload.operations=300000", "--out", "r")
    assert len(out["phases"]) == 4 and all(p["operations_per_second"] > 0 for p in out["phases"])
    assert out["phases"][0]["operations"] >= 300_000
    assert out["stats"]["os.pm_integrated_bytes_max"] > 0
    assert (tmp_path / "r/timeline.png").stat().st_size > 20_000
    assert "kpmemd integrates below" in (tmp_path / "r/report.html").read_text()


def test_arrays_in_device_files_are_as_fast_as_arrays(cli: Cli) -> None:
    def stream(flag: str) -> list[float]:
        out = cli.json("run", "amf", "stream", *SMALL, "--set", f"workload.passthrough={flag}")
        return [p["operations_per_second"] for p in out["phases"]]

    device, native = stream("true"), stream("false")
    assert all(d == pytest.approx(n, rel=0.05) for d, n in zip(device, native, strict=True))


def test_hidden_memory_can_be_another_system(cli: Cli) -> None:
    def time(hidden: str) -> float:
        slots = ["--set", "nvdimm.slots_mib=64"] if hidden == "nvdimmc" else []
        sets = ["--set", f"fusion.hidden={hidden}", *slots, "--set", "workload.passes=1"]
        return cli.json("run", "amf@pm", "spec-mix", *SMALL, *MIX, *sets)["time_ns"]

    assert time("nvdimmc") > 1.5 * time("pm")


def test_recorded_visits_of_ones_own_run(cli: Cli, tmp_path: Path) -> None:
    from coreplane import visits

    folder = visits.Folder()
    lines = " L 1000,8\nPHASE put 10\n" + "".join(f"I  {n:x},4\n S {0x10000 + n * 4096:x},8\n L 1008,8\n" for n in range(200)) + "PHASE end\n"
    with (tmp_path / "lackey").open("wb+") as stream:
        stream.write(lines.encode())
        stream.seek(0)
        visits.fold(stream, folder)
    assert (len(folder.fixed), len(folder.grown), folder.phases[0].instructions) == (1, 200, 200)
    (tmp_path / "v").write_bytes(folder.bytes())
    out = cli.json("run", "amf", f"visits:{tmp_path / 'v'}", *SMALL, "--set", "workload.operations=1000")
    assert [(p["name"], p["operations"]) for p in out["phases"]] == [("put", 1000)]
    assert out["stats"]["os.minor_faults"] == 200 * 100 + 1
    (tmp_path / "v").write_bytes(folder.bytes()[:-1])
    assert "ends too early" in cli.refuses("run", "amf", f"visits:{tmp_path / 'v'}")


def test_python_sees_runs_over_time() -> None:
    import coreplane as cp

    machine = cp.Machine("amf", fusion={"dram_gib": 1, "pm_gib": 3, "device_gib": 1}, os={"cores": 2})
    run = cp.run(machine, cp.Workload("spec-mix", instances=2, scale_percent=20))
    assert {"seconds", "free_gib", "pm_integrated_gib"} <= set(run.series.columns) and len(run.series) > 2
    assert "vconcat" in run.plot().to_dict()


@pytest.mark.parametrize(("machine", "workload"), [("intel", "queue"), ("shared", "shared-lock")])
def test_a_run_shows_where_its_time_went(machine: str, workload: str) -> None:
    import coreplane as cp

    run = cp.run(machine, cp.Workload(workload, operations=100))
    drawn = run.plot().to_dict()
    assert drawn["mark"]["type"] == "bar" and workload in drawn["title"]
    causes = {row["cause"] for rows in drawn["datasets"].values() for row in rows}
    assert causes == set(run.spent["cause"])
    found = cp.compare(cp.Workload(workload, operations=100), on=[machine])
    assert found.plot_spent().to_dict()["mark"]["type"] == "bar"


def test_a_recorded_program_runs_at_page_fidelity(cli: Cli, tmp_path: Path) -> None:
    program = tmp_path / "p.c"
    program.write_text("int a[100000]; int main(void) { for (int i = 0; i < 100000; i++) a[i] = i; return a[5] != 5; }\n")
    cli("cc", str(program), "-o", str(tmp_path / "p"))
    cli("record", "--out", str(tmp_path / "t.cpt"), "--", str(tmp_path / "p"))
    out = cli.json("run", "amf", f"trace:{tmp_path / 't.cpt'}", *SMALL)
    assert 98 <= out["stats"]["os.minor_faults"] <= 200


def test_full_memory_and_bad_input_end_with_one_message(cli: Cli) -> None:
    full = cli.run("run", "dram-swap", "spec-mix", *SMALL, *MIX, "--set", "os.swap=none")
    out = json.loads(cli.run("run", "dram-swap", "spec-mix", *SMALL, *MIX, "--set", "os.swap=none", "--format=json").stdout)
    assert full.returncode == 0 and out["stats"]["os.oom_kills"] > 0
    alone = cli.run("run", "dram-swap", "spec-mix", *SMALL, "--set", "workload.instances=1", "--set", "os.swap=none")
    assert alone.returncode == 1 and "out of memory" in alone.stderr
    assert "there is no swap device (give more fusion.dram_gib, or a smaller workload)" in alone.stderr
    one = ("spec-mix", *SMALL, "--set", "workload.instances=1", "--set", "workload.scale_percent=500", "--set", "os.swap_gib=1")
    for machine, keys in (("dram-swap", "fusion.dram_gib or os.swap_gib"), ("unified", "fusion.dram_gib or fusion.pm_gib or os.swap_gib")):
        done = cli.run("run", machine, *one)
        assert done.returncode == 1 and f"the swap device is full (give more {keys}, or a smaller workload)" in done.stderr
    refused = {
        ("run", "amf", "spec-mix", "--set", "fusion.pm_gib=0"): "fusion.pm_gib",
        ("run", "amf", "spec-mix", "--set", "fusion.device_gib=448"): "fusion.device_gib",
        ("run", "amf", "spec-mix", "--set", "os.reserved_mib=65536"): "os.reserved_mib",
        ("run", "amf", "spec-mix", "--set", "os.min_free_kib=33554432"): "os.min_free_kib",
        ("run", "unified", "spec-mix", "--set", "fusion.dram_gib=1"): "page descriptors",
        ("run", "unified", "cceh"): "line fidelity",
        ("run", "intel", "spec-mix"): "page fidelity",
        ("run", "intel", "stream", "--set", "workload.passthrough=true"): "page fidelity",
        ("run", "amf", "stream", "--set", "workload.passthrough=true", "--set", "fusion.device_gib=0"): "fusion.device_gib",
        ("crash", "amf", "cceh", "--all"): "page fidelity",
        ("run", "amf", "spec-mix", "--power-fails-at", "1us", "--out", "o"): "page fidelity",
    }
    for args, word in refused.items():
        assert word in cli.refuses(*args), args


def test_device_files_cost_the_same_under_every_design_with_the_same_persistent_memory(cli: Cli) -> None:
    arrays = ["--set", "workload.passthrough=true", "--set", "workload.array_bytes=4 MiB", "--no-bands"]
    rows = cli.json("compare", "stream", "--on", "dram-swap,pm-block,hotplug,amf@pm", *SMALL, *arrays)["machines"]
    assert len({row["time_ns"] for row in rows}) == 1
    fast = [f"--set=fusion.{key}" for key in ("pm_read_ns=80", "pm_write_ns=80", "pm_mbps=68000")]
    dram = cli.json("run", "dram-swap", "stream", *SMALL, *arrays, *fast)
    assert dram["time_ns"] < rows[0]["time_ns"] / 2


@pytest.mark.parametrize(("machine", "advice"), [("amf", "less os.reserved_mib\n"), ("unified", "less os.reserved_mib or fusion.pm_gib\n")])
def test_a_kernel_that_takes_all_dram_is_told_by_the_keys_that_act(cli: Cli, machine: str, advice: str) -> None:
    sets = ["--set", "fusion.dram_gib=1", "--set", "os.reserved_mib=1010"]
    done = cli.run("run", machine, "sqlite-mem", *sets)
    assert done.returncode == 2 and done.stderr.endswith(advice), done.stderr
