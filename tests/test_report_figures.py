"""Figures of reports: each says below itself, in numbers, what is to be seen; runs begin with their first microseconds."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

from coreplane import figures, latencies, opening, page, sentences

FIGURE = re.compile(r"<figure>(.*?)</figure>", re.S)


def captions(path: Path) -> list[str]:
    found = []
    for drawn in FIGURE.findall(path.read_text()):
        assert "<svg" in drawn
        caption = re.search(r"<figcaption>(.*?)</figcaption>", drawn, re.S)
        assert caption, drawn[:200]
        found.append(caption[1])
    return found


def run(machine: str, *cores: list[list[Any]]) -> dict[str, Any]:
    return {"machine": machine, "time_ns": 100.0, "opening": list(cores), "stats": {}}


def test_the_picture_ends_where_the_first_core_was_seen_to() -> None:
    long = [["compute" if n % 2 else "fences", float(n), float(n + 1)] for n in range(100)]
    short = [["compute", 0.0, 100.0]]
    assert opening.until([run("a", long, short)]) == opening.STRETCHES + 1
    assert opening.until([run("a", short), run("b", long[:80])]) == 80.0
    rows = opening.rows([run("a", [["buffer_full", 0.0, 3.0], ["compute", 3.0, 9.0]])], 5.0)
    assert [(r["cause"], r["from"], r["to"]) for r in rows] == [("buffer full", 0.0, 3.0), ("compute", 3.0, 5.0)]


def test_a_report_is_drawn_where_one_thread_is_measured_and_the_others_only_load_memory(cli: Cli) -> None:
    cli("run", "optane", "bandwidth-latency", "--set", "workload.operations=40", "--out", "r")
    assert any(caption.startswith("The first ") for caption in captions(cli.folder / "r/report.html"))
    assert opening.drawn(cli.folder, [run("a", [["compute", 50.0, 60.0]], [["compute", 10.0, 20.0], ["fences", 20.0, 30.0]]) | {"time_ns": 0.0}]) == ""


def test_machines_that_work_for_a_given_time_are_told_apart_by_what_they_do_in_it(cli: Cli) -> None:
    said = cli("compare", "lattester", "--on", "optane,cascade-lake", "--explain", "--out", "c")
    (slow, fast) = json.loads((cli.folder / "c/compare.json").read_text())["machines"]
    rate = fast["stats"]["throughput.operations_per_second"] / slow["stats"]["throughput.operations_per_second"]
    assert rate > 2 and abs(fast["speedup"] / rate - 1) < 1e-9 and slow["speedup"] == 1
    assert f"cascade-lake is {rate:.2f} times as fast as optane" in " ".join(said.split()) and "an operation against" in said
    assert "No machine is faster" not in (cli.folder / "c/report.html").read_text()


def test_the_picture_begins_where_a_second_core_works() -> None:
    one = run("one", [["compute", 0.0, 60.0], ["locks", 60.0, 100.0]], [["locks", 0.0, 55.0], ["fences", 55.0, 100.0]])
    assert opening.since([one], 100.0) == 55.0
    assert [(r["cause"], r["from"], r["to"]) for r in opening.rows([one], 100.0, 55.0)] == [("compute", 55.0, 60.0), ("locks", 60.0, 100.0), ("fences", 55.0, 100.0)]
    assert opening.said([one], 100.0, 55.0).startswith("The first 45 ns of the cores, to scale, from 55 ns on: until then one works alone. Most of what is not computing is fences: 50 %")
    many = {**one, "stats": {"time.compute": 100.0, "time.locks": 400.0, "cpu.fences": 7.0}}
    several = {**many, "band": {"recordings": {}}}
    assert "first 2 of 5 cores, to scale, in the first recording." in opening.said([several], 100.0)
    assert opening.said([many], 100.0).startswith("The first 100 ns of the first 2 of 5 cores, to scale.")
    assert opening.since([run("x", [["compute", 0.0, 60.0]])], 60.0) == 0.0
    assert opening.since([run("x", [["compute", 0.0, 60.0]], [["compute", 5.0, 60.0]])], 60.0) == 0.0


def test_the_wait_that_tells_machines_apart_is_named() -> None:
    one = run("one", [["compute", 0.0, 40.0], ["fences", 40.0, 90.0], ["memory", 90.0, 100.0]])
    two = run("two", [["compute", 0.0, 80.0], ["memory", 80.0, 100.0]])
    text = opening.said([one, two], 100.0)
    assert text.endswith("Time on fences: one 50 % (the longest stretch 50 ns), two 0 %.")
    assert "waiting" not in text and opening.said([run("x", [["compute", 0.0, 5.0]])], 5.0).endswith("they wait for nothing.")


def test_sentences_are_of_the_numbers() -> None:
    data = {"baseline": "a", "machines": [{"machine": "a", "speedup": 1.0}, {"machine": "b", "speedup": 2.5}]}
    assert sentences.speeds(data) == "b is fastest, 2.50 times as fast as a, which is slowest of the 2."
    data["machines"][1]["speedup"] = 0.5
    assert sentences.speeds(data) == "None is faster than a; b is slowest, at 0.50 of its speed."
    split = sentences.split({"a": {"compute": 10.0, "fences": 90.0}, "b": {"compute": 10.0, "fences": 20.0, "idle": 0.1}})
    assert split == "A bar is all of a core's time. Bars differ most in fences: 20 ns on b, 90 ns on a. Compute and idle are within 1 % of the longest run on all."
    assert sentences.split({"a": {"compute": 25.0, "memory": 75.0}}) == "A core's 100 ns: 75.0% memory, 25.0% compute; together 100 %."
    rows = [{"workload": w, "machine": m, "value": v} for w, m, v in (("x", "a", 1.0), ("x", "b", 2.0), ("y", "a", 1.0), ("y", "b", 4.0))]
    assert sentences.of_bars({"kind": "grouped", "rows": rows}) == "Means of 2 here: a 1, b 3. They are widest apart, 4.00 times, at y."


def test_bars_that_are_alike_are_said_to_be() -> None:
    times = {"a": {"compute": 10.0, "idle": 90.0}, "b": {"compute": 10.2, "idle": 89.9}}
    assert sentences.split(times).endswith("Bars are alike: no cause differs by more than 1 % of the longest run.")


def test_memory_that_comes_back_at_the_end_is_explained() -> None:
    series = {"seconds": [0.0, 1.0, 2.0], "free_gib": [60.0, 20.0, 55.5], "low_gib": [1.0] * 3, "pm_integrated_gib": [0.0] * 3, "swap_gib": [0.0] * 3}
    told = "It rises at the end, when programs end and give back theirs: 35.50 GiB."
    assert sentences.over_time(series).endswith(told)
    assert sentences.most_of_each([{"machine": "amf", "series": series}], "free_gib", least=True).endswith(told)
    assert "rises" not in sentences.over_time({**series, "free_gib": [60.0, 20.0, 20.1]})


def test_a_campaigns_report_has_all_of_the_cores_time(cli: Cli) -> None:
    (cli.folder / "c.toml").write_text('machines = ["hops-rp", "intel"]\nworkloads = ["queue"]\nseeds = [1, 2]\n[set]\nworkload.operations = 40\n[vary]\nworkload.threads = [1, 4]\n')
    cli("sweep", "c.toml", "--out", "s")
    text = (cli.folder / "s/report.html").read_text().split(">Where the time went<")[2]
    rows = [[float(cell) for cell in re.findall(r">([\d.]+)%<", row)] for row in re.findall(r"<tr>(.*?)</tr>", text, re.S)]
    rows = [row for row in rows if row]
    assert len(rows) == 4 and all(row[-1] == 100.0 and abs(sum(row[:-1]) - 100) < 0.5 for row in rows), rows
    assert re.search(r"On hops-rp time on \w+ varies most: in queue from \d+% of a core&#x27;s time \(workload.threads \d\) to \d+%", text)


def test_runs_and_comparisons_begin_with_their_first_microseconds(cli: Cli) -> None:
    small = ("--set", "workload.operations=60")
    cli("compare", "queue", "--on", "intel,asap-rp,eadr", *small, "--out", "c")
    speed, time, operations, first = captions(cli.folder / "c/report.html")
    assert "times as fast as intel" in speed and "Bars differ most in" in time and "one in ten more than" in operations
    assert re.search(r"The first [\d.]+ us of the cores, to scale\. Time on \w+: intel \d+ %", first)
    assert "--timeline" in (cli.folder / "c/report.html").read_text()
    assert (cli.folder / "c/opening.png").stat().st_size > 5000
    cli("run", "asap-rp", "queue", *small, "--out", "r")
    assert len(captions(cli.folder / "r/report.html")) == 3
    # Nobody asked to see anything: nothing is kept.
    assert "opening" not in cli.json("run", "asap-rp", "queue", *small)


def test_a_tracked_process_gets_a_report_of_what_when_and_where(cli: Cli) -> None:
    code = "import time\nb = bytearray(1 << 20)\nfor n in range(1, 7):\n for i in range(0, 1 << 20, 4096): b[i:i + 65] = bytes([n]) * 65\n time.sleep(.3)"
    text = cli("track", "--interval", 0.3, "--out", "t.parquet", "--", sys.executable, "-c", code)
    assert "report: t.html" in text and "pages" in text
    shown = (cli.folder / "t.html").read_text()
    over_time, full, where = captions(cli.folder / "t.html")
    assert "Most changed from" in over_time and "dirty lines of 64" in full and "of all dirty lines" in where
    assert "Lines save" in shown and "coreplane track --interval 0.3" in shown.replace("&quot;", '"')


def test_what_is_kept_of_a_tracked_process_adds_up(cli: Cli) -> None:
    code = "import time\nb = bytearray(1 << 20)\nfor n in range(3):\n for i in range(0, 1 << 20, 4096): b[i] = n + 1\n time.sleep(.3)"
    text = cli("track", "--interval", 0.2, "--out", "t.parquet", "--", sys.executable, "-c", code)
    kept = json.loads((cli.folder / "t.json").read_text())
    for key in ("bytes", "lines", "pages", "pages_compared"):
        assert kept["total"][key] == sum(w[key] for w in kept["windows"])
    # Written is at least what has changed; the terminal has both.
    assert kept["total"]["pages_compared"] >= kept["total"]["pages"] > 256
    assert "looked at" in text and f"{kept['total']['pages']:,}" in text
    assert kept["provenance"]["command"].startswith("coreplane track ")


def test_numbers_are_read_at_a_glance() -> None:
    assert [page.plain(n) for n in (2606, 2606.4, 23.456, 0.5, 1e-7)] == ["2,606", "2,606.4", "23.46", "0.5000", "1e-07"]
    assert page.quantity(1.96164e11, "B") == "196.2 GB" and page.quantity(463856467968, "B") == "463.9 GB"
    assert page.quantity(2856893.5, "ns") == "2.857 ms" and page.quantity(0.25, "1", "os.user_share") == "25 %" and page.quantity(4.7e-6, "1", "os.user_share") == "under 0.01 %"
    assert not any("e+" in page.plain(10.0**n) for n in range(16))


def test_pictures_and_tables_scroll_in_boxes_of_their_own(cli: Cli) -> None:
    cli("compare", "queue", "--on", "intel,eadr", "--set", "workload.operations=40", "--out", "r")
    text = (cli.folder / "r/report.html").read_text()
    assert ".wide, .picture { overflow-x: auto }" in text
    assert text.count("<svg") == text.count('class="picture"><svg') and text.count("<table") == text.count('class="wide"><table')


def test_every_group_of_bars_says_which_workload_it_is(tmp_path: Path) -> None:
    names = [f"workload-{n}" for n in range(14)]
    rows = [{"workload": w, "machine": f"m{m}", "value": 1.0 + m} for w in names for m in range(16)]
    drawn = page.figure(tmp_path, "bars", figures.grouped(rows, "bars", "speedup", order=[f"m{m}" for m in range(16)]))
    labels = {name: how for how, name in re.findall(r"<text([^>]*)>(workload-[0-9]+)<", drawn)}
    assert [name for name in names if 'opacity="0"' in labels.get(name, 'opacity="0"')] == []


def test_a_speedup_stands_under_its_name_and_a_command_is_seen_whole(tmp_path: Path) -> None:
    data = {"workload": "w", "baseline": "a", "machines": [{"machine": "a", "speedup": 1.0}, {"machine": "b", "speedup": 2.0, "band": {"speedup": [1.5, 2.6]}}]}
    figure = figures.speedups(data)
    assert [layer["mark"]["type"] for layer in figure.to_dict()["layer"]] == ["bar", "rule"]
    drawn = page.figure(tmp_path, "speedup", figure)
    assert re.findall(r">(\w|\d\.\d\d)</t", drawn.replace("<tspan", "</tspan><tspan"))[:4] == ["a", "1.00", "b", "2.00"]
    assert re.search(r"pre \{[^}]*white-space: pre-wrap", page.STYLE)


def test_a_picture_of_many_machines_of_many_cores_is_drawn(tmp_path: Path) -> None:
    # More stretches than a chart takes that is not told otherwise.
    cores = [[["compute" if n % 2 else "fences", float(n), float(n + 1)] for n in range(60)] for _ in range(8)]
    assert "<svg" in opening.drawn(tmp_path, [run(f"m{m}", *cores) for m in range(20)])


def test_curves_and_stored_energy_have_sentences_of_their_numbers(cli: Cli) -> None:
    cli("curve", "optane", "--reads", 100, "--set", "workload.operations=100", "--out", "c")
    points = json.loads((cli.folder / "c/curve.json").read_text())["points"]
    assert f"by share of reads: 100 % {max(p['gb_per_s'] for p in points):.1f} GB/s." in captions(cli.folder / "c/report.html")[0]
    cli("holdup", "bbb", "queue", "--set", "workload.operations=40", "--out", "h")
    steps = json.loads((cli.folder / "h/holdup.json").read_text())["steps"]
    assert f"{steps[-1]['microjoules']:.1f} uJ the last one." in captions(cli.folder / "h/report.html")[0]


def test_processes_that_share_a_folder_leave_each_others_page_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename, renamed = Path.replace, []

    def after_another_process(self: Path, target: Path) -> Path:
        renamed.append(self.name)
        if len(renamed) == 1:
            monkeypatch.setattr(os, "getpid", lambda: 7)
            page.write(tmp_path, "of the other", "", [])
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", after_another_process)
    page.write(tmp_path, "of this one", "", [])
    assert len(renamed) == 2 and [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert "of this one" in (tmp_path / "report.html").read_text()


def of_operations(machine: str, count: int, **times: float) -> dict[str, Any]:
    return run(machine) | {"stats": {"cpu.operations": count} | {f"operation.time.{name}": time for name, time in times.items()}}


def test_slow_operations_are_told_where_there_are_enough_to_tell(tmp_path: Path) -> None:
    slow = of_operations("a", 5000, p10=100.0, p50=200.0, p90=300.0, p99=900.0, p999=5000.0)
    even = of_operations("b", 5000, p10=100.0, p50=150.0, p90=160.0, p99=180.0, p999=300.0)
    said = latencies.said([slow, even])
    assert said == "a: half take at most 200 ns, one in 1,000 more than 5 us, 25.0 times as long. b: half take at most 150 ns, one in 1,000 more than 300 ns, 2.0 times as long. Slow operations stand out most on a."
    assert [name for _, name, _ in latencies.told(slow | {"stats": slow["stats"] | {"cpu.operations": 99}})] == ["p10", "p50", "p90"]
    assert "How long operations take" in latencies.drawn(tmp_path, [slow, even]) and (tmp_path / "operations.svg").exists()
    assert latencies.drawn(tmp_path, [run("a")]) == "" and latencies.said([of_operations("a", 5, p10=1.0, p50=1.0)]) == ""


def test_a_comparison_shows_how_long_operations_take(cli: Cli) -> None:
    cli("compare", "cceh", "--on", "intel,eadr", "--set", "workload.operations=400", "--no-bands", "--out", "c")
    found = [caption for caption in captions(cli.folder / "c/report.html") if "half take at most" in caption]
    assert len(found) == 1 and "intel: half" in found[0] and "eadr: half" in found[0]
    stats = json.loads((cli.folder / "c/compare.json").read_text())["machines"][0]["stats"]
    assert stats["operation.time.p50"] <= stats["operation.time.p99"] <= stats["operation.time.p999"]
