"""Reports: one self-contained HTML page, and PNG and SVG of each figure."""

import html
import json
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert as vlc

from coreplane import figures

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1100px; padding: 0 1rem; color: #1a1a1a }
h1 { margin-bottom: 0 } h2 { margin-top: 2.5rem } p.about { color: #555; margin-top: .2rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums } td, th { padding: .25rem .8rem; text-align: right }
th { border-bottom: 2px solid #999 } td:first-child, th:first-child { text-align: left } tr:nth-child(even) { background: #f5f5f5 }
.reproduced { color: #1a7f37 } .missed { color: #b35900 } .error { color: #b00020 }
figure { margin: 1.5rem 0; overflow-x: auto } figcaption { color: #555 } td.text { text-align: left; max-width: 34rem }
"""


def run(folder: Path) -> Path | None:
    """Writes the report of a run from the run.json in ``folder``, where there is something to see over time."""
    data = json.loads((folder / "run.json").read_text())
    if "series" not in data:
        return None
    title = f"{data['workload']} on {data['machine']}"
    rows = [[name, f"{value:,.6g}"] for name, value in data["stats"].items() if value]
    phases = [[p["name"], f"{p['operations']:,}", f"{p['operations_per_second']:,.0f}"] for p in data.get("phases", [])]
    body = [
        _figure(folder, "timeline", figures.memory_over_time(data["series"], title)),
        _table(["operations", "count", "a simulated second"], phases),
        _table(["statistic", "value"], rows),
    ]
    return _page(folder, title, f"seed {data['seed']}; {data['time_ns'] * 1e-9:,.1f} s simulated", body)


def compare(folder: Path) -> Path:
    """Writes the report of a comparison from the compare.json in ``folder``."""
    data = json.loads((folder / "compare.json").read_text())
    if "series" in data["machines"][0]:
        return _compare_pages(folder, data)
    charts = {"speedup": figures.speedups(data), "stalls": figures.stalls(data)}
    head = ["machine", "time (us)", "speedup", "PM writes", "PM reads", "epochs", "cross dependences", "stalled"]
    rows = []
    for r in data["machines"]:
        s = r["stats"]
        count = [f"{s.get(k, 0):,}" for k in ("memory.writes", "memory.reads", "ordering.epochs", "ordering.cross_dependences")]
        stalled = f"{s.get('ordering.stall_share', 0):.1%}"
        rows.append([r["machine"], f"{r['time_ns'] / 1e3:,.1f}", f"{r['speedup']:.2f}", *count, stalled])
    about = f"seed {data['machines'][0]['seed']}; speedups over {data['baseline']}"
    body = [_table(head, rows), *(_figure(folder, name, chart) for name, chart in charts.items())]
    return _page(folder, data["workload"], about, body + [_configuration(data)])


def _compare_pages(folder: Path, data: dict[str, Any]) -> Path:
    """Of machines at page fidelity: what they did, and free memory, swap and integrated memory over time."""
    shown = {"minor faults": "os.minor_faults", "major faults": "os.major_faults", "energy (J)": "energy_j", "user share": "os.user_share"}
    head = ["machine", "time (s)", "speedup", *shown]
    rows = []
    for r in data["machines"]:
        rows.append([r["machine"], f"{r['time_ns'] * 1e-9:,.2f}", f"{r['speedup']:.2f}", *(f"{r['stats'].get(k, 0):,.4g}" for k in shown.values())])
    body = [_table(head, rows), _figure(folder, "speedup", figures.speedups(data))]
    for name, title in (("free_gib", "Free memory"), ("pm_integrated_gib", "Persistent memory known to the allocator"), ("swap_gib", "Swap device in use")):
        lines = [{"x": x, "machine": r["machine"], "value": y} for r in data["machines"] for x, y in zip(r["series"]["seconds"], r["series"][name], strict=True)]
        body.append(_figure(folder, name.removesuffix("_gib"), figures.over_time(lines, title, "seconds", "GiB")))
    about = f"seed {data['machines'][0]['seed']}; speedups over {data['baseline']}"
    return _page(folder, data["workload"], about, [*body, _configuration(data)])


def reproduce(folder: Path) -> Path:
    """Writes the report of a paper's evaluation from the reproduce.json in ``folder``."""
    data = json.loads((folder / "reproduce.json").read_text())
    head = ["claim", "published", "ours", "ratio", "verdict", "says"]
    rows = [[c["id"], _numbers(c["published"]), _numbers(c["ours"]), _numbers(c["ratio"]), c["verdict"], c["says"]] for c in data["claims"]]
    body = [_table(head, rows)]
    for f in data["figures"]:
        body.append(_figure(folder, f["name"], _draw(f), f["caption"]))
    return _page(folder, f"{data['paper']}: published beside ours", data["about"], body)


def _draw(f: dict[str, Any]) -> alt.Chart | alt.LayerChart | alt.FacetChart:
    match f["kind"]:
        case "grouped":
            return figures.grouped(f["rows"], f["title"], f["axis"], order=f["order"])
        case "time":
            return figures.over_time(f["rows"], f["title"], f["x"], f["axis"])
        case "capped":
            return figures.capped(f["rows"], f["title"], f["axis"], order=f["order"])
        case _:
            return figures.lines(f["rows"], f["title"], f["x"], f["axis"])


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_numbers(v) for v in value)
    if isinstance(value, bool) or value is None:
        return "-" if value is None else str(value).lower()
    return f"{value:.3g}" if isinstance(value, (int, float)) else str(value)


def _table(head: list[str], rows: list[list[str]]) -> str:
    def cell(text: str, index: int) -> str:
        kind = text if text in ("reproduced", "missed", "error") else "text" if len(text) > 40 else ""
        return f'<td class="{kind}">{html.escape(text)}</td>'

    lines = ["<tr>" + "".join(cell(c, i) for i, c in enumerate(row)) + "</tr>" for row in rows]
    return f"<table><tr>{''.join(f'<th>{html.escape(h)}</th>' for h in head)}</tr>{''.join(lines)}</table>"


def _figure(folder: Path, name: str, chart: Any, caption: str = "") -> str:
    spec = chart.configure_view(stroke=None).to_json()
    svg = vlc.vegalite_to_svg(spec)
    (folder / f"{name}.svg").write_text(svg)
    (folder / f"{name}.png").write_bytes(vlc.vegalite_to_png(spec, scale=2))
    text = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{svg}{text}</figure>"


def _configuration(data: dict[str, Any]) -> str:
    """What differs between the machines, and what they share."""
    machines = data["machines"]
    keys = list(dict.fromkeys(key for r in machines for key in r["configuration"]))
    values = {k: [r["configuration"].get(k, "-") for r in machines] for k in keys}
    differing = [[k, *map(str, v)] for k, v in values.items() if len(set(map(str, v))) > 1]
    same = [[k, str(v[0])] for k, v in values.items() if len(set(map(str, v))) == 1]
    table = _table(["key", *(r["machine"] for r in machines)], differing)
    shared = f"<details><summary>what they share</summary>{_table(['key', 'value'], same)}</details>"
    return f"<h2>Configuration</h2>{table}{shared}"


def _page(folder: Path, title: str, about: str, body: list[str]) -> Path:
    page = folder / "report.html"
    text = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>'
        f'<h1>{html.escape(title)}</h1><p class="about">{html.escape(about)}</p>{"".join(body)}</html>\n'
    )
    partial = folder / ".report.html.partial"
    partial.write_text(text)
    partial.rename(page)
    return page
