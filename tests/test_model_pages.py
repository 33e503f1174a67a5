"""Every page of a model has the same parts: prose, a diagram that code draws, what is not modelled, sources, and a figure of measurements."""

import importlib.util
import inspect
import json
import re
import sys
from types import ModuleType

import pytest
from conftest import ROOT

MODELS = ROOT / "docs/models"
FIGURES = ROOT / "docs/figures"
PAGES = sorted(p.stem for p in MODELS.glob("*.md"))


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", FIGURES / f"{name}.py")
    assert spec and spec.loader
    sys.path.insert(0, str(FIGURES))
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    sys.path.remove(str(FIGURES))
    return found


diagrams, validation = module("diagrams"), module("validation")
NUMBERS = json.loads((FIGURES / "validation.json").read_text())


def test_every_page_has_a_diagram_and_a_measurement() -> None:
    assert set(diagrams.DIAGRAMS) == set(PAGES) == set(NUMBERS) == {*validation.MEASURED, *validation.PAPERS}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_begins_with_prose_and_its_diagram(page: str) -> None:
    title, prose, *rest = (MODELS / f"{page}.md").read_text().split("\n\n")
    assert title.startswith("# ") and "\n" not in title
    assert len(prose.split()) >= 25 and not prose.startswith(("|", "**", "*", "!")), prose
    assert f"](../figures/{page}.svg)" in rest[0], rest[0]
    assert (FIGURES / f"{page}.svg").read_text() == diagrams.DIAGRAMS[page].svg()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_is_not_there_and_what_it_rests_on(page: str) -> None:
    text = (MODELS / f"{page}.md").read_text()
    assert re.search(r"\*\*Not modelled|\*\*Not seen|## (What is not|Not seen)|Not modelled:|Not explored:|Not (loaded|among)", text), page
    assert "ources" in text or page == "explore", page


@pytest.mark.parametrize("page", PAGES)
def test_a_page_ends_with_a_figure_and_what_its_numbers_say(page: str) -> None:
    text = (MODELS / f"{page}.md").read_text()
    said = validation.said(page, NUMBERS[page])
    what, figure, sentence = text.split("\n## Validation\n\n")[1].split("\n\n")
    assert len(what.split()) >= 8 and figure.endswith(f"](../figures/{page}-validation.svg)")
    assert sentence == f"*{said}*\n"
    drawn = (FIGURES / f"{page}-validation.svg").read_text()
    # Values inside tall bars are white; a background is not.
    assert "prefers-color-scheme: dark" in drawn and not re.search(r'<rect[^>]*fill="white"', drawn)


@pytest.mark.parametrize("page", sorted(diagrams.DIAGRAMS))
def test_boxes_of_a_diagram_do_not_meet_and_arrows_join_boxes(page: str) -> None:
    drawn = diagrams.DIAGRAMS[page]
    sides = [b.sides() for b in drawn.boxes.values()]
    assert not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for n, a in enumerate(sides) for b in sides[:n])
    assert {w for a, b, _ in drawn.arrows for w in (a, b)} == set(drawn.boxes)


def test_what_is_measured_again_is_what_stands_on_the_page() -> None:
    # The one that takes no time: what each model says of the specifications.
    assert validation.litmus()[1] == NUMBERS["litmus"]


#: Pages whose figure puts an ordering beside others.
ORDERINGS = [name for name, measure in validation.MEASURED.items() if "return family(" in inspect.getsource(measure)]


def test_pages_of_orderings_are_looked_at() -> None:
    assert len(ORDERINGS) >= 6


@pytest.mark.parametrize("page", ORDERINGS)
def test_an_ordering_is_as_fast_today_as_its_page_says(page: str) -> None:
    measured, drawn = ({(r["workload"], r["machine"]): r["value"] for r in rows} for rows in (validation.MEASURED[page]()[1], NUMBERS[page]))
    assert measured == pytest.approx(drawn, rel=0.02)


def test_the_page_on_new_orderings_counts_the_files_of_each_folder() -> None:
    source = ROOT / "crates/models/ordering/src"
    table = (ROOT / "docs/extend/ordering-model.md").read_text().split("How many files each model took:")[1].split("\n\n")[1]
    registered = [line.split("::")[0].strip() for line in (source / "lib.rs").read_text().splitlines() if line.endswith("::MODEL,")]
    told: dict[str, int] = {}
    for row in table.splitlines()[2:]:
        names, counts, shared, *_ = [cell.strip() for cell in row.strip("|").split("|")]
        words, numbers = re.findall(r"`([^`]+)`", names), [int(n) for n in re.findall(r"\d+", counts)]
        folders = [word.replace("-", "_").rstrip("+") for word in words]
        told |= dict(zip(folders, numbers * (len(words) // len(numbers)), strict=True))
        told |= {folder: int(n) for folder, n in re.findall(r"`(\w+)/`, (\d+)", shared)}
    assert {*registered, "path", "early", "in_caches"} == set(told)
    found = {name: len([*(source / name).rglob("*.rs")]) for name in told}
    assert found == told


def test_the_page_on_statistics_shows_code_that_is_there() -> None:
    page = (ROOT / "docs/extend/statistic.md").read_text()
    [file] = set(re.findall(r"`(crates/\S+/policies/\S+\.rs)`", page))
    code = (ROOT / file).read_text()
    blocks = re.findall(r"```rust\n(.*?)```", page, re.S)
    assert len(blocks) == 2
    for block in blocks:
        assert block in code, f"not in {file}:\n{block}"
