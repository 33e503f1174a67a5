"""What open parameters make of results: ours over published with bands, what moves a claim, and both in words."""

import math
from typing import Any

import altair as alt
import polars as pl

from coreplane import page

#: One colour a verdict.
VERDICTS = {"reproduced": "#1a7f37", "inside": "#1f6feb", "contradicts": "#6e7781", "missed": "#d4700c", "error": "#b00020"}


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def compared(claims: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every number that stands beside a published one, as a share of that; with its band where there is one."""
    rows = []
    for c in claims:
        if c["ratio"] is None:
            continue
        ratios, published = _each(c["ratio"]), _each(c["published"])
        bands = [] if c["band"] is None else c["band"] if isinstance(c["band"][0], list) else [c["band"]]
        for n, (ratio, value) in enumerate(zip(ratios, published, strict=True)):
            name = c["id"] if len(ratios) == 1 else f"{c['id']} {n + 1}"
            # A logarithm shows no less than a hundredth.
            row = {"claim": f"{name} ({value:g})", "ratio": max(ratio, 0.01), "verdict": c["verdict"], "tolerance": c["tolerance"]}
            ends = [max(end / value, 0.01) for end in bands[n]] if bands else [None, None]
            rows.append(row | {"low": ends[0], "high": ends[1]})
    return rows


def published(data: dict[str, Any]) -> alt.LayerChart:
    """Ours over published, a line a number, on a logarithmic scale; bands as bars, tolerances as fields."""
    rows = compared(data["claims"])
    names = [r["claim"] for r in rows]
    fields = [{"claim": r["claim"], "from": 1 - r["tolerance"], "to": 1 + r["tolerance"]} for r in rows]
    y = alt.Y("claim:N", sort=names, title=None, axis=alt.Axis(labelLimit=320, grid=True, ticks=False))
    # Ticks as people say them; the axis ends beyond the last number.
    ends = [v for r in rows for v in (r["ratio"], r["low"], r["high"]) if v is not None]
    least, most = min(0.6, *ends) / 1.15, max(1.6, *ends) * 1.15
    near = (0.8, 1.25) if most / least < 10 else ()
    ticks = [t for t in sorted((0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, *near)) if least <= t <= most]
    scale = alt.Scale(type="log", domain=[least, most])
    axis = alt.Axis(values=ticks, format="~g", grid=True)
    verdicts = alt.Color("verdict:N", scale=alt.Scale(domain=list(VERDICTS), range=list(VERDICTS.values())), sort=list(VERDICTS))
    tolerance = alt.Chart(pl.DataFrame(fields)).mark_bar(color=page.GRID, height=16).encode(y=y, x=alt.X("from:Q", scale=scale, axis=axis, title="ours over published"), x2="to:Q")
    drawn = tolerance
    banded = [r for r in rows if r["low"] is not None]
    if banded:
        drawn += alt.Chart(pl.DataFrame(banded)).mark_bar(height=6, opacity=0.55).encode(y=y, x=alt.X("low:Q", scale=scale), x2="high:Q", color=verdicts)
    drawn += alt.Chart(pl.DataFrame([{"x": 1}])).mark_rule(color="black").encode(x=alt.X("x:Q", scale=scale))
    frame = pl.DataFrame([{k: r[k] for k in ("claim", "ratio", "verdict")} for r in rows])
    drawn += alt.Chart(frame).mark_point(filled=True, size=70, opacity=1).encode(y=y, x=alt.X("ratio:Q", scale=scale), color=verdicts, tooltip=["claim", "ratio"])
    titled: alt.LayerChart = drawn.properties(title=f"{data['paper']}: ours over published", width=560, height=alt.Step(20))
    return titled


def moved(claims: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the strongest open parameters alone do to each claim: ours over published at their ends, of the value that they move most."""
    rows = []
    for c in claims:
        if c["ratio"] is None or not c.get("effects"):
            continue
        ratios, values = _each(c["ratio"]), _each(c["published"])
        for rank, e in enumerate(c["effects"][:5]):
            n = max(range(len(values)), key=lambda n: abs(e["at_high"][n] - e["at_low"][n]) / abs(values[n]))
            low, high = e["at_low"][n] / values[n], e["at_high"][n] / values[n]
            label = f"{e['parameter']} ({e['low']} to {e['high']})"
            both = {"claim": c["id"], "parameter": label, "rank": rank, "preset": ratios[n]}
            rows += [both | {"end": "low end", "at": low}, both | {"end": "high end", "at": high}]
    return rows


def strongest(rows: list[dict[str, Any]]) -> str:
    """Which parameter moves a claim most."""
    ends = {(r["claim"], r["parameter"]): [s["at"] for s in rows if (s["claim"], s["parameter"]) == (r["claim"], r["parameter"])] for r in rows}
    (claim, parameter), (low, high) = max(ends.items(), key=lambda e: abs(e[1][1] - e[1][0]))
    return f"{parameter} moves most: {claim} from {low:.2f} to {high:.2f}."


def tornado(data: dict[str, Any]) -> alt.VConcatChart:
    """For each claim its strongest open parameters: from the preset to either end."""
    charts = []
    rows = moved(data["claims"])
    for claim in dict.fromkeys(r["claim"] for r in rows):
        own = [r for r in rows if r["claim"] == claim]
        order = list(dict.fromkeys(r["parameter"] for r in own))
        colours = alt.Scale(domain=["low end", "high end"], range=["#3182bd", "#e6550d"])
        bars = (
            alt.Chart(pl.DataFrame(own))
            .mark_bar(height=10)
            .encode(
                y=alt.Y("parameter:N", sort=order, title=None, axis=alt.Axis(labelLimit=360, minExtent=360)),
                x=alt.X("preset:Q", title="ours over published", scale=alt.Scale(zero=False)),
                x2="at:Q",
                color=alt.Color("end:N", scale=colours, title=None, sort=["low end", "high end"]),
            )
        )
        charts.append(bars.properties(title=claim, width=420, height=alt.Step(18)))
    drawn: alt.VConcatChart = alt.vconcat(*charts).resolve_scale(color="shared")
    return drawn


def within(rows: list[dict[str, Any]]) -> str:
    """How many numbers lie within their tolerances, and which lies farthest from what is published."""
    near = sum(abs(r["ratio"] - 1) <= r["tolerance"] for r in rows)
    far = max(rows, key=lambda r: abs(math.log(r["ratio"])))
    return f"{near} of {len(rows)} lie within; {far['claim']} is farthest off, at {far['ratio']:.2f} of it."


def reasons(data: dict[str, Any], folder: Any) -> list[str]:
    """The figures of an evaluation's claims."""
    drawn = []
    if compared(data["claims"]):
        caption = "Each number over what is published (the line at 1), on a logarithmic scale; the grey field is the claim's tolerance"
        caption += ", bars are what the open parameters span. " if data.get("joint") else ". "
        caption += within(compared(data["claims"]))
        drawn.append(page.figure(folder, "published", published(data), caption))
    if moved(data["claims"]):
        caption = "Each open parameter alone at the ends of its interval, the others as in the preset: ours over published. " + strongest(moved(data["claims"]))
        drawn.append(page.figure(folder, "tornado", tornado(data), caption))
    return drawn


def joint(data: dict[str, Any]) -> str:
    """The setting that meets most claims at once."""
    best = data.get("joint")
    if best is None:
        return ""
    text = f"Of {best['of']} claims the preset meets {best['preset']} with the design's shorter programs, and one setting of {best['tried']} that were run {len(best['claims'])}: "
    text += ", ".join(best["claims"]) + "."
    rows = [[key, value] for key, value in best["setting"].items()]
    return page.summary([text]) + page.table(["that setting", f"seed {best['seed']}"], rows)


def ends(band: Any) -> str:
    """The ends of a band, of each value of a claim, or in which runs a statement held."""
    if band is None:
        return "-"
    if isinstance(band[0], bool):
        return "always" if band[0] else "in some runs" if band[1] else "never"
    pairs = band if isinstance(band[0], list) else [band]
    return ", ".join(f"{low:.3g} to {high:.3g}" for low, high in pairs)


def said(data: dict[str, Any]) -> list[str]:
    """How much faster each machine of a comparison is, how sure that is, and what decides it."""
    lines = []
    for r in data["machines"]:
        if r["machine"] == data["baseline"] or not {"moved_by", "speedup"} <= r.get("band", {}).keys():
            continue
        low, high = r["band"]["speedup"]
        decides = r["band"]["moved_by"] or "no open parameter"
        lines.append(f"{r['machine']} is {r['speedup']:.2f} ({low:.2f} to {high:.2f}) times as fast as {data['baseline']}; {decides} decides")
    return lines
