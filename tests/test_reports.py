"""Reports: pages that stand by themselves, with a summary first, sentences computed from the numbers, and all of the cores' time."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, Cli

from coreplane import report_source

SMALL = ("--set", "workload.operations=100")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def page(path: Path) -> str:
    text = path.read_text()
    # Nothing is fetched; the one link that leads out is where a timeline is opened.
    plain = text.replace("http://www.w3.org", "").replace("https://ui.perfetto.dev", "")
    assert "http://" not in plain and "https://" not in plain and "src=" not in plain
    assert "prefers-color-scheme: dark" in text and 'name="viewport"' in text
    return text


def test_a_comparison_says_first_why_machines_differ(cli: Cli) -> None:
    cli("compare", "queue", "--on", "intel,asap-rp,eadr", *SMALL, "--out", "r")
    text = page(cli.folder / "r/report.html")
    kept = json.loads((cli.folder / "r/compare.json").read_text())
    for row in kept["machines"][1:]:
        assert row["explained"].replace("'", "&#x27;") in text
    order = [text.index(f">{title}<") for title in ("Side by side", "Where the time went", "Parameters that differ", "Provenance")]
    assert order == sorted(order)
    assert "coreplane compare queue --on intel,asap-rp,eadr" in text
    assert {"speedup.svg", "time.svg", "time.png"} <= {p.name for p in (cli.folder / "r").iterdir()}


@pytest.mark.parametrize("machine", ["asap-rp", "nearpm-md"])
def test_a_run_has_a_report_with_all_of_its_cores_time(cli: Cli, machine: str) -> None:
    workload = "btree" if machine == "nearpm-md" else "queue"
    cli("run", machine, workload, *SMALL, "--timeline", "--out", "r")
    text = page(cli.folder / "r/report.html")
    body = re.search(r"share of the cores&#x27; time.*?</table>", text, re.S)[0]
    shares = [float(n) for n in re.findall(r">([\d.]+)%<", body)]
    assert shares[-1] == 100.0 and sum(shares[:-1]) == pytest.approx(100, abs=0.4)
    assert "ui.perfetto.dev" in text and "timeline.pftrace" in text


def test_a_campaign_gets_figures_over_what_varies(cli: Cli) -> None:
    (cli.folder / "c.toml").write_text(
        'machines = ["hops-rp", "asap-rp"]\nworkloads = ["queue"]\n[set]\nworkload.operations = 60\n[vary]\nordering.persist_buffer = [2, 16]\n'
    )
    assert "report: c.sweep/report.html" in cli("sweep", "c.toml")
    text = page(cli.folder / "c.sweep/report.html")
    assert "ordering.persist_buffer: " in text and "<svg" in text
    assert (cli.folder / "c.sweep/by-ordering-persist_buffer.png").exists()


def test_a_failure_is_drawn_with_the_order_that_was_needed(cli: Cli) -> None:
    cli("crash", "intel", "hashmap", "--set", "workload.bug=token-before-data", "--points", 60, "--out", "r", code=1)
    text = page(cli.folder / "r/report.html")
    kept = json.loads((cli.folder / "r/crash.json").read_text())
    first = kept["model_images"]["failures"][0]
    assert first["missing"][0]["site"] in text and first["present"][0]["site"] in text
    assert "needed: durable before" in text and "To mend it" in text
    # What was left out is said here too.
    model = kept["model_images"]
    assert model["points"] == 60 < model["points_in_log"]
    assert f"60 of {model['points_in_log']:,} crash points" in text and f"recovery fails at {model['failing_points']:,} of the points." in text


def test_a_failure_of_a_recorded_program_shows_its_lines(cli: Cli) -> None:
    source = (ROOT / "examples/journal/journal.c").read_text()
    (cli.folder / "journal.c").write_text(source)
    cli("cc", "-DBUG", "-g", "-O1", "journal.c", "-o", "journal")
    cli("record", "--quiet", "--out", "j.cpt", "--", "./journal", "j.pm", 6)
    cli("crash", "intel", "trace:j.cpt", "--check", "./journal --check {image} {acknowledged}", "--points", 60, "--out", "r", code=1)
    text = (cli.folder / "r/report.html").read_text()
    failure = json.loads((cli.folder / "r/crash.json").read_text())["model_images"]["failures"][0]
    for store in [*failure["missing"][:1], *failure["present"][:1]]:
        line = int(store["site"].split(":")[1].split()[0])
        assert f"<mark>{line:>5}  {html.escape(source.splitlines()[line - 1].expandtabs(4))}</mark>" in text
    assert f"href='{(cli.folder / 'journal.c').as_uri()}'" in text


def test_lines_near_each_other_stand_in_one_piece_and_unknown_files_in_none(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("".join(f"line {n};\n" for n in range(1, 101)))
    sources = [str(tmp_path / "a.c"), str(tmp_path / "gone.c"), "/one/b.c", "/two/b.c"]
    near = report_source.excerpts(["a.c:10 f", "a.c:16 g"], sources)
    assert near.count("<details") == 1 and near.count("<mark>") == 2 and "   20  line 20;" in near and "line 21;" not in near
    changed = (tmp_path / "a.c").stat().st_mtime
    said = "changed after the program was recorded"
    assert said in report_source.excerpts(["a.c:10 f"], sources, changed - 1) and said not in report_source.excerpts(["a.c:10 f"], sources, changed)
    assert report_source.excerpts(["a.c:10 f", "a.c:90 g"], sources).count("<details") == 2
    for site in ("a.c:101 f", "gone.c:1 f", "b.c:1 f", "other.c:3 f", "code offset 0x10", ""):
        assert report_source.excerpts([site], sources) == ""
    (tmp_path / "one").mkdir()
    (tmp_path / "one/b.c").write_text("first\nsecond\n")
    sources += [str(tmp_path / "one/b.c")]
    assert "<mark>    2  second</mark>" in report_source.excerpts([f"{tmp_path.name}/one/b.c:2 f"], sources)


def test_tables_are_sorted_by_a_click(cli: Cli) -> None:
    cli("compare", "queue", "--on", "intel,eadr", *SMALL, "--out", "r")
    text = page(cli.folder / "r/report.html")
    assert 'class="sortable"' in text and 'data-value="' in text and "addEventListener" in text


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize(("size", "dark"), [("1200,1400", False), ("1200,1400", True), ("400,1400", False)])
def test_a_page_is_drawn_by_a_browser(cli: Cli, size: str, dark: bool) -> None:
    cli("compare", "queue", "--on", "intel,eadr", *SMALL, "--out", "r")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size}", "--screenshot=shot.png"]
    flags += ["--blink-settings=preferredColorScheme=0"] if dark else []
    subprocess.run([CHROMIUM, *flags, f"file://{cli.folder}/r/report.html"], cwd=cli.folder, capture_output=True, timeout=120, check=True)
    assert (cli.folder / "shot.png").stat().st_size > 20_000
