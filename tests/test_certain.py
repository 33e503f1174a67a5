"""Sentences say only what everything that was run says: several recordings, the ends of what is open."""

import re

from conftest import ROOT, Cli

from coreplane import sentences


def machine(name: str, *times: float, base: float = 100.0) -> dict[str, object]:
    """As ``compare`` says it of recordings that took so long."""
    mean = sum(times) / len(times)
    speedups = [base / t for t in times]
    return {"machine": name, "speedup": base / mean, "band": {"recordings": {"time_ns": list(times)}, "speedup": [min(speedups), max(speedups)]}}


def test_what_lies_within_the_recordings_is_not_said() -> None:
    intel, near, like = machine("intel", 100, 100), machine("near", 50, 40), machine("like", 45, 46)
    said = sentences.speeds({"baseline": "intel", "machines": [intel, near, like]})
    assert said == "near and like are fastest, up to 2.22 times as fast as intel, and none of them surely faster than the others; intel is slowest of the 3.", said
    assert sentences.speeds({"baseline": "intel", "machines": [intel, machine("near", 90, 110)]}) == "No machine is surely faster than another."
    sure = sentences.speeds({"baseline": "intel", "machines": [intel, machine("near", 50, 40)]})
    assert sure == "near is fastest, 2.22 (2.00 to 2.50) times as fast as intel, which is slowest of the 2."


def test_one_schedule_is_said_to_be_one() -> None:
    data = {"baseline": "a", "machines": [{"machine": "a", "speedup": 1.0}, {"machine": "b", "speedup": 2.0}]}
    assert "schedule" not in sentences.speeds(data)
    one = {**data, "remarks": ["one schedule of 5 threads was recorded; another run of the program has another one"]}
    assert sentences.speeds(one) == sentences.speeds(data) + " That is of the one schedule that was recorded; another may have it otherwise."


def test_a_cause_that_some_recordings_have_otherwise_is_not_said_to_differ() -> None:
    means = {"a": {"fences": 50.0, "locks": 50.0}, "b": {"fences": 30.0, "locks": 50.0}}
    apart = [{"a": {"fences": 40.0}, "b": {"fences": 20.0}}, {"a": {"fences": 60.0}, "b": {"fences": 40.0}}]
    assert "the mean of 2 recordings. Bars differ most in fences: 30 ns on b, 50 ns on a." in sentences.split(means, apart)
    crossed = [{"a": {"fences": 80.0}, "b": {"fences": 20.0}}, {"a": {"fences": 20.0}, "b": {"fences": 40.0}}]
    assert sentences.split(means, crossed).endswith("No cause differs between machines in all of them.")


def test_several_recordings_give_means_and_a_band_in_every_sentence(cli: Cli) -> None:
    cli("cc", "-O2", "-pthread", ROOT / "examples/kv/kv.c", "-o", "kv")
    cli("record", "--quiet", "--times", 3, "--out", "kv.cpt", "--", "./kv", "kv.pm", 4, 800)
    several = "trace:" + ",".join(f"kv.{n}.cpt" for n in (1, 2, 3))
    each = [cli.json("run", "intel", f"trace:kv.{n}.cpt", "--no-bands") for n in (1, 2, 3)]
    told = cli.json("compare", several, "--on", "intel,eadr,bbb", "--no-bands", "--explain")
    intel, eadr, bbb = told["machines"]
    assert intel["time_ns"] == sum(r["time_ns"] for r in each) / 3 or abs(intel["time_ns"] - sum(r["time_ns"] for r in each) / 3) < 0.01
    assert abs(intel["stats"]["time.fences"] - sum(r["stats"]["time.fences"] for r in each) / 3) < 0.01
    assert intel["band"]["recordings"]["causes"]["time.fences"] == [r["stats"]["time.fences"] for r in each]
    cli("run", "intel", several, "--out", "r")
    page = (cli.folder / "r/report.html").read_text()
    assert "<h1>kv.1.cpt and 2 more recordings on intel</h1>" in page
    assert re.search(r"It takes [\d.]+ [um]s to [\d.]+ [um]s over cpu.ipc from 0.5 to 3 and 3 recordings, of which the numbers here are the means\.", page), page[:9000]
    text = " ".join(cli("compare", several, "--on", "intel,eadr,bbb", "--no-bands", "--explain").split())
    low, high = eadr["band"]["speedup"]
    assert f"eadr is {eadr['speedup']:.2f} ({low:.2f} to {high:.2f}) times as fast as intel" in text
    assert "band: the speedups over 3 recordings" in text
    # Machines that both wait for nothing: whatever is said of the two, it is not that one is faster.
    times = [m["band"]["recordings"]["time_ns"] for m in (eadr, bbb)]
    alike = all(abs(theirs / own - 1) < 0.01 for theirs, own in zip(*times, strict=True))
    assert ("it takes as long as eadr, within 1 %." in text) == alike, text


def test_a_machine_is_compared_once(cli: Cli) -> None:
    said = cli.refuses("compare", "queue", "--on", "intel,asap-rp,intel")
    assert "--on intel,asap-rp,intel: intel is there twice" in said


def test_machines_of_the_same_time_are_told_apart_by_what_differs(cli: Cli) -> None:
    text = cli("compare", "redis-mem", "--on", "unified,amf", "--set", "workload.operations=20000", "--explain")
    assert re.search(r"amf takes as long as unified, within 1 %; they differ in (PM online max|energy)", text), text
