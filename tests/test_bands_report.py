"""Figures and words that reports have of bands."""

import re
from pathlib import Path
from typing import Any

from coreplane import bands


def effect(parameter: str, low: float, high: float) -> dict[str, Any]:
    return {"parameter": parameter, "swing": abs(high - low), "low": "5", "high": "50", "at_low": [low], "at_high": [high]}


CLAIMS: list[dict[str, Any]] = [
    {"id": "a.one", "published": 2.0, "ours": 1.5, "ratio": 0.75, "band": [1.4, 2.2], "verdict": "inside", "moved_by": "x.ns",
     "tolerance": 0.1, "effects": [effect("x.ns", 2.1, 1.5), effect("y.ns", 1.5, 1.6)]},
    {"id": "a.two", "published": [1.0, 0.5], "ours": [1.0, 0.0], "ratio": [1.0, 0.0], "band": None, "verdict": "missed", "tolerance": 0.2},
    {"id": "a.order", "published": True, "ours": False, "ratio": None, "band": [False, True], "verdict": "inside", "tolerance": 0.0, "effects": []},
]  # fmt: skip
DATA = {"paper": "a", "claims": CLAIMS, "joint": {"claims": ["a.one"], "of": 3, "preset": 0, "setting": {"x.ns": "5"}, "seed": 2, "tried": 40}}


def test_every_number_stands_over_what_is_published_with_its_band() -> None:
    rows = bands.compared(CLAIMS)
    assert [r["claim"] for r in rows] == ["a.one (2)", "a.two 1 (1)", "a.two 2 (0.5)"]
    assert (rows[0]["ratio"], rows[0]["low"], rows[0]["high"]) == (0.75, 0.7, 1.1)
    assert rows[1]["low"] is None and rows[2]["ratio"] == 0.01, "a logarithm has no zero"


def test_a_tornado_goes_from_the_preset_to_either_end() -> None:
    rows = bands.moved(CLAIMS)
    assert [(r["parameter"], r["end"], r["at"], r["preset"]) for r in rows[:2]] == [
        ("x.ns (5 to 50)", "low end", 1.05, 0.75),
        ("x.ns (5 to 50)", "high end", 0.75, 0.75),
    ]
    assert {r["claim"] for r in rows} == {"a.one"}


def test_both_figures_are_drawn_and_the_joint_setting_is_named(tmp_path: Path) -> None:
    assert len(bands.reasons(DATA, tmp_path)) == 2
    for name in ("published", "tornado"):
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
    assert "one setting of 40 that were run 1: a.one" in bands.joint(DATA) and "x.ns" in bands.joint(DATA)
    assert bands.joint({"claims": []}) == ""


def test_bands_are_said_in_words() -> None:
    assert bands.ends([1.4, 2.2]) == "1.4 to 2.2" and bands.ends([[1, 2], [3, 4]]) == "1 to 2, 3 to 4"
    assert [bands.ends(b) for b in (None, [False, True], [False, False], [True, True])] == ["-", "in some runs", "never", "always"]
    machines = [
        {"machine": "intel", "speedup": 1.0, "band": {"speedup": [1, 1], "moved_by": None}},
        {"machine": "asap-rp", "speedup": 1.9, "band": {"speedup": [1.6, 2.3], "moved_by": "ordering.commit_ns"}},
    ]
    said = bands.said({"baseline": "intel", "machines": machines})
    assert said == ["asap-rp is 1.90 (1.60 to 2.30) times as fast as intel; ordering.commit_ns decides"]


def test_tolerances_are_fields_in_the_pages_own_grey(tmp_path: Path) -> None:
    # A colour that stays as it is would shine on dark paper, and hide the line at 1.
    drawn = bands.reasons(DATA, tmp_path)[0]
    fields = re.findall(r'<path aria-label="ours over published: [^"]*; to: [^"]*"[^>]* fill="([^"]*)"', drawn)
    assert fields and set(fields) == {"var(--line)"}


def test_figures_of_claims_have_sentences_of_their_numbers(tmp_path: Path) -> None:
    assert bands.within(bands.compared(CLAIMS)) == "1 of 3 lie within; a.two 2 (0.5) is farthest off, at 0.01 of it."
    assert bands.strongest(bands.moved(CLAIMS)) == "x.ns (5 to 50) moves most: a.one from 1.05 to 0.75."
    drawn = "".join(bands.reasons(DATA, tmp_path))
    assert "1 of 3 lie within" in drawn and "moves most" in drawn
