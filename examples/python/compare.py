"""From machines to a figure: does a smaller persist buffer still pay?

``python examples/python/compare.py [FOLDER]`` writes the figure there.
"""

import sys
from pathlib import Path

import altair as alt
import polars as pl

import coreplane as cp


def sizes(workload: cp.Workload, entries: list[int]) -> pl.DataFrame:
    """Time and stalls of ASAP by entries of its persist buffer, with speedups over Intel's flushes."""
    machines = [cp.Machine("asap-rp", ordering={"persist_buffer": n}, label=f"asap-rp/{n}") for n in entries]
    found = cp.compare(workload, on=["intel", *machines])
    rows = [
        {"entries": n, "speedup": found.speedup[m.name], "stalled": found[m.name]["ordering.stall_share"]}
        for n, m in zip(entries, machines, strict=True)
    ]
    return pl.DataFrame(rows)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    table = sizes(cp.Workload("queue", operations=500), [2, 8, 32])
    print(table)
    chart = alt.Chart(table).mark_line(point=True).encode(x="entries:Q", y="speedup:Q")
    chart.save(folder / "persist_buffer.svg")


if __name__ == "__main__":
    main()
