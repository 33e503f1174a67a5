"""The scoreboard: every published claim beside the tool's own number. One paper's always; all of them where a night is to spare."""

import os
from pathlib import Path

import drawn
import pytest
from conftest import ROOT, Cli

NIGHT = bool(os.environ.get("COREPLANE_NIGHTLY"))
at_night = pytest.mark.skipif(not NIGHT, reason="COREPLANE_NIGHTLY is not set")
#: Figures that a paper's folder has besides its report.
FIGURES = {
    "nearpm": set(),
    "asap": set(),
    "nvdimmc": set(),
    "pberry": {"table-1", "table-2", "table-3", "network"},
    "amf": {f"figure-{n}" for n in range(10, 19)},
    "orderings": {"threads", "speedups", "stalls", "writes"},
}


@pytest.mark.parametrize("paper", [pytest.param(p, marks=[] if p == "nearpm" else at_night) for p in FIGURES])
def test_every_claim_of_a_paper_has_a_verdict_and_its_figures_are_drawn(cli: Cli, tmp_path: Path, paper: str) -> None:
    lines = {line["id"]: line for line in cli.json("reproduce", paper, "--out", tmp_path / "r")}
    assert {line["verdict"] for line in lines.values()} <= {"reproduced", "missed", "contradicts"}
    assert all(name.startswith(f"{paper}.") for name in lines) and len(lines) > 5
    pictures = {picture.stem for picture in (tmp_path / "r").glob("*.png")}
    assert "published" in pictures and FIGURES[paper] <= pictures
    if drawn.CHROMIUM:
        for width, dark in ((1200, False), (400, True)):
            seen = drawn.look(tmp_path / "r/report.html", tmp_path / f"{width}.png", width=width, dark=dark)
            assert not seen["wrong"] and seen["figures"] >= len(pictures), seen
    if paper == "pberry":
        remote_memory_is_as_its_paper_has_it(lines)
    if paper == "amf":
        assert lines["amf.descriptors"]["ours"] == 14 and lines["amf.energy"]["verdict"] == "reproduced"


def remote_memory_is_as_its_paper_has_it(lines: dict) -> None:
    for claim in ["pberry.wp-pause", "pberry.no-write-faults"]:
        assert lines[claim]["verdict"] == "reproduced"
    for claim in ["redis-random", "redis-seq", "linreg", "histogram"]:
        pages, huge, by_line = lines[f"pberry.amplification.{claim}"]["ours"]
        assert by_line < pages < huge


def test_claims_of_ones_own_are_read_or_refused_before_the_work(cli: Cli, tmp_path: Path) -> None:
    all_of_them = (ROOT / "validation/claims.toml").read_text()
    one = all_of_them[all_of_them.index("[[claim]]") :].replace('"asap.speedup.rp"', '"asap.speedup.rp"\ntolerence = 1', 1)
    (tmp_path / "c.toml").write_text(one)
    line = next(n for n, text in enumerate(one.splitlines(), 1) if text.startswith("tolerence"))
    said = cli.refuses("reproduce", "asap", "--claims", "c.toml")
    assert f"c.toml:{line}: claim asap.speedup.rp: tolerence: is not known; a claim has id, paper, " in said
    head, *claims = all_of_them.split("[[claim]]\n")
    (tmp_path / "n.toml").write_text("[[claim]]\n".join([head, *(c for c in claims if 'paper = "nearpm"' in c)]))
    said = cli.refuses("reproduce", "asap", "--claims", "n.toml")
    assert said == "coreplane: n.toml: has no claim of asap that is not an input; it has those of nearpm"
    (first,) = [c for c in claims if 'id = "asap.speedup.rp"\n' in c]
    (tmp_path / "u.toml").write_text("[[claim]]\n" + first.replace('"asap.speedup.rp"', '"asap.speedup.rq"'))
    said = cli.refuses("reproduce", "asap", "--claims", "u.toml")
    assert "u.toml: claim asap.speedup.rq: no measurement of asap is called so; did you mean asap.speedup.rp" in said
    assert "no.toml: No such file" in cli.refuses("reproduce", "asap", "--claims", "no.toml")
