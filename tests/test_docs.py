"""The documentation says what is so: commands are run, links lead somewhere, the reference is what the code says."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import markdown_runner as runner
import pytest
from conftest import COREPLANE, ROOT, Cli

#: The manual's pages; how the project is worked on (decisions, ways to extend) stands beside it.
GENERATED = {f"reference/{name}.md" for name in ("machines", "workloads", "statistics", "commands", "claims")}
PAGES = [ROOT / "README.md", *(p for p in sorted((ROOT / "docs").rglob("*.md")) if str(p.relative_to(ROOT / "docs")) not in GENERATED)]
SLOW = bool(os.environ.get("COREPLANE_SLOW_DOCS"))


def with_blocks(wanted_slow: bool) -> list[Path]:
    return [p for p in PAGES if any(b.is_run and b.is_slow == wanted_slow for b in runner.blocks(p))]


@pytest.mark.parametrize("page", with_blocks(False), ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_print_what_pages_say(page: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    blocks = [b for b in runner.blocks(page) if b.is_run and (SLOW or not b.is_slow)]
    assert blocks
    for block in blocks:
        runner.run(block, tmp_path, COREPLANE)


@pytest.mark.skipif(not SLOW, reason="COREPLANE_SLOW_DOCS is not set")
@pytest.mark.parametrize("page", [p for p in with_blocks(True) if p not in with_blocks(False)], ids=lambda p: p.name)
def test_slow_commands_print_what_pages_say(page: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in runner.blocks(page):
        if block.is_run:
            runner.run(block, tmp_path, COREPLANE)


MACHINES = [(p, block) for p in PAGES for block in re.findall(r"^```toml\n(extends .*?)^```", p.read_text(), re.S | re.M)]


@pytest.mark.parametrize(("page", "machine"), MACHINES, ids=lambda v: v.stem if isinstance(v, Path) else "")
def test_machines_on_pages_run(page: Path, machine: str, cli: Cli, tmp_path: Path) -> None:
    assert len(MACHINES) >= 2
    (tmp_path / "machine.toml").write_text(machine)
    said = cli("run", str(tmp_path / "machine.toml"), "queue", "--set", "workload.operations=40", "--format", "json")
    assert '"time_ns"' in said


CAMPAIGNS = [(p, block) for p in PAGES for block in re.findall(r"^```toml\n(machines = .*?)^```", p.read_text(), re.S | re.M)]


@pytest.mark.parametrize(("page", "campaign"), CAMPAIGNS, ids=lambda v: v.stem if isinstance(v, Path) else "")
def test_campaigns_on_pages_are_accepted(page: Path, campaign: str, cli: Cli, tmp_path: Path) -> None:
    assert CAMPAIGNS
    (tmp_path / "campaign.toml").write_text(campaign)
    assert cli.json("sweep", str(tmp_path / "campaign.toml"), "--plan")["runs"]


def test_every_command_on_a_page_is_run_or_says_why_not() -> None:
    for page in PAGES:
        for fence in re.findall(r"^```(?:sh|bash|shell)\n(.*?)^```", page.read_text(), re.S | re.M):
            assert "coreplane " not in fence, f"{page.name}: a command outside a console block is never run:\n{fence}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as Markdown renderers make them."""
    headings = re.findall(r"^#+ +(.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.S), re.M)
    plain = [re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", h).lower() for h in headings]
    return {re.sub(r"[^\w\- ]", "", h).strip().replace(" ", "-") for h in plain}


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("*.md")], ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        file, _, anchor = target.partition("#")
        at = (page.parent / file).resolve() if file else page
        if at.is_relative_to(ROOT / "docs") and str(at.relative_to(ROOT / "docs")) in GENERATED and page.name != "README.md":
            continue
        assert at.exists(), f"{page.relative_to(ROOT)}: {target} is not there"
        if anchor and at.suffix == ".md":
            assert anchor in anchors(at), f"{page.relative_to(ROOT)}: {target}: no such heading; there are {sorted(anchors(at))}"


def test_every_page_of_the_sites_contents_is_there() -> None:
    listed = re.findall(r"[\w./-]+\.md", (ROOT / "mkdocs.yml").read_text())
    there = {str(p.relative_to(ROOT / "docs")) for p in PAGES if p.name != "README.md"} | GENERATED
    assert len(listed) > 30 and len(set(listed)) == len(listed)
    assert set(listed) - there == set(), "pages that mkdocs.yml lists and that are not there"


def test_the_reference_has_every_name_of_the_code(cli: Cli, tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "docs/reference/generate.py", "--coreplane", COREPLANE, "--out", tmp_path]
    subprocess.run(command, check=True, timeout=300)
    made = {f"reference/{p.name}": p.read_text() for p in tmp_path.glob("*.md")}
    assert set(made) == GENERATED
    assert all(f"`{m['name']}`" in made["reference/machines.md"] for m in cli.json("show", "machines"))
    assert all(f"`{p['key']}`" in made["reference/machines.md"] for p in cli.json("show", "nvdimmc-poc")["parameters"])
    assert all(f"`{s['name']}` | {s['unit']} |" in made["reference/statistics.md"] for s in cli.json("show", "stats"))
    for w in cli.json("show", "workloads"):
        assert f"\n## {w['name']}\n" in made["reference/workloads.md"]
    assert "## trace" in made["reference/commands.md"] and "--minimise-seconds" in made["reference/commands.md"]
    for page, text in made.items():
        rows = [line.count(" | ") for line in text.splitlines() if line.startswith("| ")]
        assert rows or page.endswith("commands.md"), page


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed: pip install '.[docs]'")
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tutorial.html").exists() and (tmp_path / "reference/machines.html").exists()
    # What pages link to outside of docs is on the site too, and leads back.
    assert 'href="validation/DEVIATIONS.html#' in (tmp_path / "bands.html").read_text()
    assert 'href="../models/nvdimm.html"' in (tmp_path / "validation/DEVIATIONS.html").read_text()
    assert "recording.ipynb" in (tmp_path / "examples/python/index.html").read_text() and (tmp_path / "examples/python/recording.ipynb").exists()


def test_what_is_not_the_same_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```console\n$ echo 12 apples; echo 3\n12 apples\n...\n```\n")
    runner.run(runner.blocks(page)[0], tmp_path, COREPLANE)
    page.write_text("```console\n$ echo 12 apples\n13 apples\n```\n")
    with pytest.raises(AssertionError, match="13 apples"):
        runner.run(runner.blocks(page)[0], tmp_path, COREPLANE)
    page.write_text("<!-- docs: numbers within 10 % -->\n```console\n$ echo 12 apples\n13 apples\n```\n")
    runner.run(runner.blocks(page)[0], tmp_path, COREPLANE)
    page.write_text("<!-- docs: exit 1 -->\n```console\n$ true\n```\n")
    with pytest.raises(AssertionError, match="exit code 0"):
        runner.run(runner.blocks(page)[0], tmp_path, COREPLANE)


def test_only_recordings_may_differ_much_from_a_page() -> None:
    for block in (b for page in PAGES for b in runner.blocks(page) if b.is_run):
        is_recorded = any("trace:" in command or "coreplane record" in command for command, _ in block.commands)
        assert block.tolerance <= 0.05 or is_recorded, f"{block.page}:{block.line}: the same each time, and its numbers may differ by {block.tolerance:.0%}"


def test_why_a_machine_is_faster_is_compared_as_far_as_by_how_much() -> None:
    page = "asap-rp is 1.18 times as fast as intel, 72.93 us less: each core spends 36.51 us less waiting at\nfences and flushes (cpu.flushes 0 against 1,750)."
    now = "asap-rp is 1.15 times as fast as intel, 63.1 us less: each core spends 60.5 us less taking locks."

    def same(said: str, tolerance: float = 0.05) -> bool:
        return runner.matches(runner.plain(page, tolerance), runner.plain(said, tolerance), tolerance)

    assert runner.plain(page, 0.05) == ["asap-rp is 1.18 times as fast as intel"]
    assert same(now) and not same(now, 0.0)
    several = page.replace("1.18 times", "1.18 (1.10 to 1.25) times")
    assert runner.plain(several, 0.05) == ["asap-rp is 1.18 (1.10 to 1.25) times as fast as intel"]
    assert not same(now.replace("1.15", "1.10"))
    assert not same(now.replace("intel", "eadr"), 0.6)
    assert not same("asap-rp takes 1.02 times as long as intel, 3.1 us more: each core spends 3.5 us more taking locks.", 0.6)
    assert not same("asap-rp takes as long as intel, within 1 %.", 0.6)
