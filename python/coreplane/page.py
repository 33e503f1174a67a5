"""A page of a report: one HTML file without anything from elsewhere, in light and dark, for wide and narrow windows."""

import html
import re
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert as vlc

from coreplane import files
from coreplane.drawing import DRAWING

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #5a5f66; --line: #d5d9de; --shade: #f4f6f8; --paper: #fff; --accent: #0b7285;
  --good: #1a7f37; --bad: #b35900; --error: #b00020 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --soft: #a0a6ad; --line: #3a3f45; --shade: #22262b; --paper: #16181b;
  --accent: #66d9e8; --good: #69db7c; --bad: #ffa94d; --error: #ff8787 } }
* { box-sizing: border-box }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 1080px; padding: 1.5rem 1rem 4rem; color: var(--ink); background: var(--paper);
  overflow-wrap: break-word }
h1 { margin: 0 0 .2rem; font-size: 1.7rem } h2 { margin: 2.6rem 0 .6rem; font-size: 1.25rem } p.about { color: var(--soft); margin: 0 }
a { color: var(--accent) } ul.summary { padding-left: 1.2rem } ul.summary li { margin: .35rem 0 }
.wide { margin: .8rem 0 } .wide, .picture { overflow-x: auto }
/* A shade at the edge behind which there is more: the paper that covers it moves with what is scrolled. */
.wide, .picture { background: linear-gradient(to right, var(--paper) 30%, transparent) left / 2rem 100% no-repeat local,
  linear-gradient(to left, var(--paper) 30%, transparent) right / 2rem 100% no-repeat local,
  linear-gradient(to right, var(--line), transparent) left / .7rem 100% no-repeat scroll,
  linear-gradient(to left, var(--line), transparent) right / .7rem 100% no-repeat scroll }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .93rem }
td, th { padding: .28rem .8rem; text-align: right; vertical-align: top; white-space: nowrap }
th { border-bottom: 2px solid var(--line); color: var(--soft); font-weight: 600; cursor: pointer; user-select: none }
th[aria-sort=ascending]::after { content: " \\2191" } th[aria-sort=descending]::after { content: " \\2193" }
th.t, td.t { text-align: left } td.long { white-space: normal; min-width: 16rem; max-width: 34rem }
td small { display: block; white-space: normal; color: var(--soft); min-width: 15rem; max-width: 24rem; font-size: .85rem; line-height: 1.35 }
tr:nth-child(even) td { background: var(--shade) }
.reproduced, .inside { color: var(--good) } .missed { color: var(--bad) } .error, .contradicts { color: var(--error) }
figure { margin: 1rem 0 } figure svg { max-width: 100%; height: auto; overflow: visible } figcaption { color: var(--soft); max-width: 46rem }
p.note { color: var(--soft) } .picture { padding-right: .5rem }
pre, code { font: .88rem/1.5 ui-monospace, monospace; background: var(--shade); border-radius: 4px } code { padding: .1rem .3rem }
mark { background: #f5c51855; color: inherit }
pre { padding: .7rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere } details summary { cursor: pointer; color: var(--soft) }
nav { color: var(--soft); font-size: .93rem; margin: .8rem 0 } nav a { margin-right: .9rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem } dt { color: var(--soft) } dd { margin: 0; overflow-wrap: anywhere }
@media (max-width: 520px) { body { font-size: 15px; padding: 1rem .7rem } td, th { padding: .25rem .5rem } dl { grid-template-columns: 1fr }
  .picture svg { max-width: none } .picture svg.fits { max-width: 100% } }
"""

#: Sorts a table by the column whose head is clicked: numbers as numbers, units and separators left out.
SCRIPT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const key = cell => { const text = cell.dataset.value ?? cell.textContent.replace(/,/g, ""); const n = parseFloat(text); return isNaN(n) ? text : n; };
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach(h => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const [x, y] = [key(a.cells[column]), key(b.cells[column])];
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return up ? order : -order;
    });
    table.tBodies[0].append(...rows);
  }));
}
"""

#: What a figure is drawn with; on the page they become the page's own colours.
INK, GRID = "#333333", "#dddddd"
UNITS = {"ns": ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")), "B": ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")),
         "B/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1, "B/s")), "1/s": ((1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1, "1/s"))}  # fmt: skip


def quantity(value: float, unit: str = "1", name: str = "") -> str:
    """A number as a person reads it: scaled, with its unit, digits in threes."""
    if unit == "1" and "share" in re.split(r"[._]", name):
        return f"{'under 0.01' if 0 < value < 1e-4 else plain(value * 100)} %"
    if unit in UNITS:
        size, word = next((s for s in UNITS[unit] if abs(value) >= s[0]), UNITS[unit][-1])
        return f"{plain(value / size)} {word}"
    return plain(value) if unit in ("1", "") else f"{plain(value)} {unit}"


def plain(value: float) -> str:
    """Whole numbers whole, others with four digits that matter."""
    if value == int(value):
        return f"{int(value):,}"
    digits = 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3 if abs(value) >= 1 else 4
    return f"{value:,.{digits}f}" if abs(value) >= 0.001 else f"{value:.3g}"


def table(head: list[str], rows: list[list[Any]], *, text: int = 1) -> str:
    """A table that is sorted by a click. The first ``text`` columns are text; a cell may be (what is shown, what is sorted by), and a third may stand below it, smaller."""
    if not rows:
        return ""

    longs = {c for row in rows for c, v in enumerate(row) if len(v[0] if isinstance(v, tuple) else str(v)) > 40}

    def cell(value: Any, column: int) -> str:
        shown, key, *below = value if isinstance(value, tuple) else (str(value), None)
        words = [w for w, on in (("t", column < text or column in longs), ("long", len(shown) > 40)) if on]
        words += [shown] if shown in ("reproduced", "inside", "missed", "contradicts", "error") else []
        data = f' data-value="{html.escape(str(key))}"' if key is not None else ""
        return f'<td class="{" ".join(words)}"{data}>{html.escape(shown)}{"".join(f"<small>{html.escape(note)}</small>" for note in below)}</td>'

    heads = "".join(f'<th class="t">{html.escape(h)}</th>' if c < text or c in longs else f"<th>{html.escape(h)}</th>" for c, h in enumerate(head))
    body = "".join("<tr>" + "".join(cell(v, c) for c, v in enumerate(row)) + "</tr>" for row in rows)
    return f'<div class="wide"><table class="sortable"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def configured(chart: Any, left: int = 5) -> Any:
    """A chart in the colours that every figure has."""
    # Fonts of one width wherever the page is read; some room for where they are not there.
    font = "Arial, Liberation Sans, Helvetica, sans-serif"
    axis: dict[str, Any] = {"titlePadding": 10, "labelColor": INK, "titleColor": INK, "domainColor": GRID, "tickColor": GRID, "gridColor": GRID, "labelFontSize": 12, "titleFontSize": 12, "labelLimit": 260, "labelFlush": False, "labelOverlap": True}
    legend: dict[str, Any] = {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "labelLimit": 320, "symbolLimit": 40}
    chart = chart.configure(font=font, padding={"left": left, "top": 5, "right": 24, "bottom": 5})
    chart = chart.configure_view(stroke=None).configure_axis(**axis).configure_legend(**legend)
    return chart.configure_title(color=INK, fontSize=14, anchor="start").configure_header(labelColor=INK, titleColor=INK, labelFontSize=13)


def ready() -> None:
    """Draws the smallest figure: the first takes longer than the rest of a report."""
    DRAWING.svg({"mark": "point", "data": {"values": [{}]}})


def figure(folder: Path, name: str, chart: Any, caption: str = "") -> str:
    """A figure on the page, and its SVG and PNG in the folder; where none can be drawn, why, and what its caption says."""
    # Many machines of many cores have more stretches than charts for the network may have.
    with alt.data_transformers.enable("default", max_rows=None):
        spec = configured(chart).to_json()
    svg = DRAWING.svg(spec)
    if svg is None:
        for kind in ("svg", "png"):
            # One of before would be taken for this one.
            (folder / f"{name}.{kind}").unlink(missing_ok=True)
        return f'<p class="note">{html.escape(f"{caption} The figure is left out: {DRAWING.left_out}.".strip())}</p>'
    files.write(folder / f"{name}.svg", svg.encode())
    files.write(folder / f"{name}.png", vlc.svg_to_png(svg, scale=2))
    return drawn(svg, caption)


def _with_room(svg: str) -> str:
    """More room to the left, in proportion to the labels of an axis there: a reader's fonts may be wider than those it was laid out with."""
    ends = re.findall(r'<text[^>]*text-anchor="end"[^>]*>([^<]*)</text>', svg)
    room = round(1.3 * max((len(text) for text in ends), default=0))
    shape = re.search(r'<svg[^>]* width="([\d.]+)"[^>]* viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    if not shape or not room:
        return svg
    whole = shape[0].replace(f'width="{shape[1]}"', f'width="{float(shape[1]) + room:g}"').replace(f'viewBox="0 0 {shape[2]} ', f'viewBox="{-room} 0 {float(shape[2]) + room:g} ')
    return svg.replace(shape[0], whole, 1)


def drawn(svg: str, caption: str = "") -> str:
    """An SVG on the page, in the page's colours."""
    svg = _with_room(svg)
    svg = re.sub(r'(fill|stroke)="(#333333|#333|black|#000|#000000)"', r'\1="currentColor"', svg)
    svg = re.sub(r'(fill|stroke)="(#dddddd|#ddd)"', r'\1="var(--line)"', svg)
    svg = re.sub(r'(<rect [^>]*)fill="white"', r'\1fill="none"', svg)
    text = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return f'<figure><div class="picture">{svg}</div>{text}</figure>'


def summary(sentences: list[str]) -> str:
    """What a reader should know first."""
    return '<ul class="summary">' + "".join(f"<li>{html.escape(s)}</li>" for s in sentences if s) + "</ul>" if sentences else ""


def section(title: str, *parts: str) -> str:
    """A part of the page, where there is anything in it."""
    if not any(parts):
        return ""
    anchor = re.sub(r"\W+", "-", title.lower())
    return f'<h2 id="{anchor}">{html.escape(title)}</h2>' + "".join(parts)


def provenance(data: dict[str, Any], *, live: bool = False) -> str:
    """Which version made this from what, and how to make it again; a live program is never the same."""
    told = data.get("provenance") or {}
    seed = data.get("seed", (data.get("machines") or [{}])[0].get("seed"))
    recordings = [(f"recording {n}" if n > 1 else "recording", f"{r['file']}, {r['bytes']:,} bytes, XXH3 {r['xxh3']}") for n, r in enumerate(told.get("recordings", []), 1)]
    rows = [("version", told.get("version")), ("seed", seed), *recordings]
    listed = "".join(f"<dt>{k}</dt><dd>{html.escape(str(v))}</dd>" for k, v in rows if v is not None)
    command = told.get("command")
    again = f"<p>{'The command' if live else 'The same again, byte for byte'}:</p><pre>{html.escape(command)}</pre>" if command else ""
    return section("Provenance", f"<dl>{listed}</dl>", again)


def configuration(runs: list[dict[str, Any]]) -> str:
    """What differs between the machines, and what they share."""
    keys = list(dict.fromkeys(key for r in runs for key in r["configuration"]))
    text = {True: "true", False: "false"}
    values = {k: [text.get(v, str(v)) if isinstance(v, bool) else str(v) for v in (r["configuration"].get(k, "-") for r in runs)] for k in keys}
    same = [[k, v[0]] for k, v in values.items() if len(set(v)) == 1]
    shared = f"<details><summary>what they share: {len(same)} parameters</summary>{table(['key', 'value'], same, text=2)}</details>"
    if len(runs) == 1:
        return section("Configuration", table(["key", "value"], same, text=2))
    differing = [[k, *v] for k, v in values.items() if len(set(v)) > 1]
    count = "1 parameter differs" if len(differing) == 1 else f"{len(differing)} parameters differ"
    said = f"<p>{count}; a dash is a parameter that does nothing on a machine.</p>"
    return section("Parameters that differ", said, table(["key", *(r["machine"] for r in runs)], differing), shared)


def write(folder: Path, title: str, about: str, body: list[str], name: str = "report.html") -> Path:
    """Writes the page."""
    content = "".join(body)
    found = re.findall(r'<h2 id="([^"]+)">([^<]+)</h2>', content)
    contents = "<nav>" + "".join(f'<a href="#{a}">{t}</a>' for a, t in found) + "</nav>" if len(found) > 2 else ""
    text = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style><h1>{html.escape(title)}</h1>"
        f'<p class="about">{html.escape(about)}</p>{contents}{content}<script>{SCRIPT}</script></html>\n'
    )
    page = folder / name
    files.write(page, text.encode())
    return page
