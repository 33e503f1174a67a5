"""What notebooks show: HTML that needs no network."""

import html
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import polars as pl

from coreplane.drawing import DRAWING

#: Rows that a notebook shows of a table.
ROWS = 60

STYLE = "font-variant-numeric: tabular-nums; border-collapse: collapse"

Chart = TypeVar("Chart")


def title(text: str, about: str = "") -> str:
    """A heading, and a line below it."""
    small = f'<div style="opacity: .7">{html.escape(about)}</div>' if about else ""
    return f"<div><strong>{html.escape(text)}</strong>{small}</div>"


def table(frame: pl.DataFrame) -> str:
    """A frame as a table; it says when rows are left out."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in frame.columns)
    rows = "".join(_row(row) for row in frame.head(ROWS).iter_rows())
    left = f"<div>and {len(frame) - ROWS} more rows</div>" if len(frame) > ROWS else ""
    return f'<table style="{STYLE}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{left}'


def _row(row: Iterable[object]) -> str:
    cells = []
    for value in row:
        side = "right" if isinstance(value, (int, float)) and not isinstance(value, bool) else "left"
        cells.append(f'<td style="text-align: {side}">{html.escape(text(value))}</td>')
    return f"<tr>{''.join(cells)}</tr>"


def text(value: object) -> str:
    """A value as a person reads it."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.1f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return ", ".join(map(text, value)) if isinstance(value, (list, pl.Series)) else str(value)


def lines(items: Sequence[str]) -> str:
    """A list of sentences."""
    return f"<ul>{''.join(f'<li>{html.escape(item)}</li>' for item in items)}</ul>" if items else ""


def svg(chart: Any) -> str:
    """A chart as SVG, or why there is none."""
    drawn = DRAWING.svg(chart.to_json())
    return f"<p>No figure: {html.escape(DRAWING.left_out)}.</p>" if drawn is None else drawn


def offline(chart: Chart) -> Chart:
    """The same chart; a notebook shows it as SVG, where Altair would load scripts from the network."""
    # Altair takes every attribute for a part of the chart.
    object.__setattr__(chart, "_repr_html_", partial(svg, chart))
    object.__setattr__(chart, "_repr_mimebundle_", partial(_bundle, chart))
    return chart


def _bundle(chart: Any, include: object = None, exclude: object = None) -> dict[str, str]:
    return {"text/html": svg(chart)}
