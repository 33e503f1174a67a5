"""Policies of page placement, and memory whose cost is measured at line fidelity."""

from conftest import Cli

SMALL = ["--set", "fusion.dram_gib=1", "--set", "fusion.pm_gib=3", "--set", "fusion.device_gib=1", "--set", "os.cores=4"]
MIX = ["--set", "workload.instances=8", "--set", "workload.scale_percent=40", "--set", "workload.interval_ns=0"]


def test_interleaved_pages_are_on_both_media_from_the_first_on(cli: Cli) -> None:
    few = ["--set", "workload.instances=1", "--set", "workload.scale_percent=20"]
    rows = cli.json("compare", "spec-mix", "--on", "hotplug,interleave", *SMALL, *few)["machines"]
    hotplug, interleave = (r["stats"] for r in rows)
    assert hotplug["memory.bytes_written"] == 0, "DRAM has room for all of it"
    assert interleave["memory.bytes_written"] > 0 and interleave["os.interleave_misses"] == 0
    assert interleave["os.interleave_hits"] == interleave["os.minor_faults"]
    assert "os.interleave_hits" not in hotplug and "os.promoted_pages" not in hotplug


def test_every_policy_says_of_itself_what_it_is(cli: Cli) -> None:
    rows = cli.json("show", "interleave")
    text = str(rows)
    assert "weighted-interleave: pages go to DRAM and PM in turn, by weights" in text and "amf: hidden until wanted (A6)" in text
    assert "give one of unified, amf, dram-swap" in cli.refuses("run", "unified", "spec-mix", "--set", "fusion.design=none")


def test_a_measured_cost_grows_with_the_programs_that_visit(cli: Cli) -> None:
    sizes = ["--set", "fusion.dram_gib=1", "--set", "fusion.pm_gib=3", "--set", "fusion.device_gib=1"]

    def run(machine: str, cores: int) -> dict:
        return cli.json("run", machine, "spec-mix", *sizes, *MIX, "--set", "workload.passes=2", "--set", f"os.cores={cores}")

    def visit_ns(out: dict) -> float:
        return out["stats"]["os.user_time"] / out["stats"]["os.visits"]

    one, eight = run("amf@curve", 1), run("amf@curve", 8)
    assert one["stats"]["os.visits"] == eight["stats"]["os.visits"]
    assert visit_ns(eight) > visit_ns(one)
    again = run("amf@curve", 8)
    assert {**again, "host_seconds": 0} == {**eight, "host_seconds": 0}, "the same run, the same bytes"
    assert "fusion.cost" in cli.refuses("run", "dram-cache", "spec-mix", "--set", "fusion.cost=curve")
    assert "fusion.hidden" in cli.refuses("run", "pm-block", "spec-mix", "--set", "fusion.hidden=nvdimmc")
