"""Reports: pages that stand by themselves, with a summary first, sentences computed from the numbers, and all of the cores' time."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Cli

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
