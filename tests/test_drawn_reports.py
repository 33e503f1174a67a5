"""Every kind of report, drawn by a browser in a wide and in a narrow window, on light and on dark paper, and looked at."""

import sys
from pathlib import Path

import drawn
import pytest
from conftest import Cli, Core

SMALL = ("--set", "workload.operations=60")
#: Of pages, of which an operation takes one.
FEW = ("--set", "workload.operations=1000000")
CAMPAIGN = 'machines = ["hops-rp", "asap-rp"]\nworkloads = ["queue", "cceh"]\n[set]\nworkload.operations = 40\n[vary]\nordering.persist_buffer = [2, 32]\nordering.flush_trigger = [2, 16]\n'
DIRTY = "import time\nb = bytearray(4 << 20)\nfor n in range(4):\n for i in range(0, len(b) >> n, 4096): b[i] = n + 1\n time.sleep(.2)"
#: A program with a long name, which no line of a narrow window holds.
PYTHON = "python-" + "of-a-long-name-" * 6
#: By kind: the command, its exit code, the page, and how many figures and tables there have to be at least.
KINDS = {
    "run": (("run", "asap-rp", "cceh", *SMALL, "--timeline", "--out", "r"), 0, "r/report.html", 2, 3),
    "run of pages": (("run", "amf", "redis-mem", *FEW, "--out", "r"), 0, "r/report.html", 2, 3),
    "compare": (("compare", "cceh", "--on", "intel,hops-rp,asap-rp,eadr", *SMALL, "--out", "r"), 0, "r/report.html", 3, 3),
    "compare of pages": (("compare", "redis-mem", "--on", "unified,amf", *FEW, "--out", "r"), 0, "r/report.html", 3, 3),
    "sweep": (("sweep", "c.toml", "--out", "r"), 0, "r/report.html", 1, 2),
    "crash": (("crash", "intel", "hashmap", "--set", "workload.bug=token-before-data", "--points", 60, "--out", "r"), 1, "r/report.html", 1, 0),
    "crash of a battery": (("crash", "nvdimmc-poc", "fio", "--points", 20, "--set", "nvdimm.battery_uj=0", "--out", "r"), 1, "r/report.html", 0, 1),
    "diff": (("diff", "one", "other", "--out", "r"), 0, "r/report.html", 2, 3),
    "explore": (("explore", "asap", "--mutant", "skip-delay", "--out", "r"), 1, "r/report.html", 1, 0),
    "explore of many": (("explore", "pmem-spec", "--mutant", "releases-early", "--out", "r"), 1, "r/report.html", 1, 0),
    "track": (("track", "--interval", 0.2, "--windows", 5, "--out", "r.parquet", "--", f"./{PYTHON}", "-c", DIRTY), 0, "r.html", 3, 1),
}


@pytest.mark.skipif(drawn.CHROMIUM is None, reason="chromium is not installed")
def test_what_a_reader_would_not_like_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    text = '<text x="{}" y="20">{} words that are long</text>'
    page.write_text(f"<figure><svg width='300' height='40'>{text.format(5, 'One')}{text.format(40, 'Two')}{text.format(250, 'Three')}</svg></figure><p style='width: 900px'>wide</p>")
    wrong = " ".join(map(str, drawn.look(page, tmp_path / "p.png", width=500, dark=False)["wrong"]))
    for said in ("lies on", '"Three words that are long" is cut', "wide in a window of 500", "without a caption"):
        assert said in wrong, wrong


@pytest.mark.skipif(drawn.CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("kind", KINDS)
def test_a_report_is_drawn_as_a_reader_likes_it(cli: Cli, kind: str) -> None:
    (cli.folder / "c.toml").write_text(CAMPAIGN)
    (cli.folder / PYTHON).symlink_to(sys.executable)
    command, code, name, figures, tables = KINDS[kind]
    if kind == "diff":
        for machine, place in (("intel", "one"), ("asap-rp", "other")):
            Core(cli.folder)("run", machine, "queue", *SMALL, "--out", place)
    cli(*command, code=code)
    page = cli.folder / name
    paper = set()
    for width, dark in ((1200, False), (390, True)):
        picture = Path(cli.folder / f"{width}.png")
        seen = drawn.look(page, picture, width=width, dark=dark)
        assert not seen["wrong"], f"{width} wide: {seen['wrong']}"
        assert seen["width"] == width
        assert seen["figures"] >= figures and seen["tables"] >= tables, seen
        assert picture.stat().st_size > 15_000
        paper.add(seen["paper"])
    assert len(paper) == 2, "dark paper is another"
    text = page.read_text()
    assert ">Provenance<" in text and "<pre>coreplane " in text
