"""Writes the reference from what the command line says of itself: ``python docs/reference/generate.py``."""

import argparse
import json
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
NOTE = "<!-- Written by docs/reference/generate.py from what the command line says; a test holds the two together. -->\n"


def cell(text: object) -> str:
    return re.sub(r"\s+", " ", str(text)).replace("|", "\\|").strip() or "-"


def table(head: list[str], rows: list[list[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(cell, row)) + " |" for row in rows]) + "\n"


class Coreplane:
    """The command line, asked in JSON."""

    def __init__(self, path: str) -> None:
        self.path = path

    def json(self, *args: str) -> object:
        return json.loads(self.text(*args, "--format", "json"))

    def text(self, *args: str) -> str:
        env = {"COLUMNS": "100", "PATH": "/usr/bin:/bin"}
        return subprocess.run([self.path, *args], check=True, capture_output=True, text=True, env=env).stdout


def machines(c: Coreplane) -> str:
    listed = c.json("show", "machines")
    plain = [m["name"] for m in listed if "@" not in m["name"] and not m["name"].startswith("compose-")]
    parts = ["# Machines and their parameters\n", NOTE]
    parts.append("Set a parameter with `--set KEY=VALUE`, in a [machine file](../howto/machine.md), or in a campaign. `coreplane show MACHINE` prints one machine's values and where each comes from.\n")
    parts.append(table(["machine", "what it is"], [[f"`{m['name']}`", m["about"]] for m in listed]))
    rows: dict[str, dict] = {}
    values: dict[str, dict[str, list[str]]] = {}
    for name in plain:
        for p in c.json("show", name)["parameters"]:
            rows.setdefault(p["key"], p)
            values.setdefault(p["key"], {}).setdefault(p["value"], []).append(name)
    groups: dict[str, list[str]] = {}
    for key in rows:
        groups.setdefault(key.split(".")[0], []).append(key)
    for group, keys in groups.items():
        parts.append(f"\n## {group}\n")
        body = []
        for key in keys:
            p = rows[key]
            # Values that few machines have are named with them.
            own = sorted(values[key].items(), key=lambda v: -len(v[1]))
            shown = [v if n == 0 and len(m) > 3 else f"{v} ({', '.join(m) if len(m) < 4 else f'{len(m)} machines'})" for n, (v, m) in enumerate(own)]
            body.append([f"`{key}`", "; ".join(shown), p["unit"], p["accepts"], p["meaning"]])
        parts.append(table(["key", "value", "unit", "accepts", "meaning"], body))
    return "\n".join(parts)


def workloads(c: Coreplane) -> str:
    listed = c.json("show", "workloads")
    parts = ["# Workloads and their parameters\n", NOTE]
    parts.append("`trace:FILE` replays [a recording](../howto/record.md); `trace:A,B` several of one program. `NAME@artifact` does as a paper's public artifact does.\n")
    parts.append(table(["workload", "what it does", "source"], [[f"`{w['name']}`", w["meaning"], w["source"]] for w in listed]))
    for w in listed:
        shown = c.json("show", w["name"])
        rows = [[f"`{p['key']}`", p["value"], p["unit"], p["accepts"], p["meaning"]] for p in shown["parameters"]]
        parts.append(f"\n## {w['name']}\n\n{w['meaning']}\n\n" + table(["key", "value", "unit", "accepts", "meaning"], rows))
    return "\n".join(parts)


def statistics(c: Coreplane) -> str:
    rows = c.json("show", "stats")
    parts = ["# Statistics\n", NOTE]
    parts.append("Counts and times of the region of interest. `.mean`, `.p99` and `.max` of a level are over time. The eight under `time.` add up to the time of all cores that run a program.\n")
    groups: dict[str, list[dict]] = {}
    for s in rows:
        groups.setdefault(s["name"].split(".")[0], []).append(s)
    for group, own in groups.items():
        parts.append(f"\n## {group}\n\n" + table(["statistic", "unit", "meaning"], [[f"`{s['name']}`", s["unit"], s["meaning"]] for s in own]))
    return "\n".join(parts)


def commands(c: Coreplane) -> str:
    top = c.text("--help")
    names = re.findall(r"^  ([a-z+]+) +\S", top.split("Commands:")[1].split("Options:")[0], re.M)
    parts = ["# Commands\n", NOTE, f"```text\n{top.strip()}\n```\n"]
    for name in names:
        if name == "help":
            continue
        parts.append(f"\n## {name}\n\n```text\n{c.text(name, '--help').strip()}\n```\n")
    return "\n".join(parts)


def claims(c: Coreplane) -> str:
    rows = c.json("show", "claims")
    parts = ["# Claims\n", NOTE]
    parts.append("What `coreplane reproduce` checks. A claim marked `predict` decides no parameter; one marked `calibrate` decided the parameters that name it.\n")
    parts.append(table(["claim", "where", "use", "says"], [[f"`{r['id']}`", r["where"], r["use"], r["says"]] for r in rows]))
    return "\n".join(parts)


def main() -> None:
    """Writes every page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coreplane", default="coreplane")
    parser.add_argument("--out", type=Path, default=HERE)
    args = parser.parse_args()
    c = Coreplane(args.coreplane)
    for page in (machines, workloads, statistics, commands, claims):
        text = re.sub(r"\n{3,}", "\n\n", page(c)).strip() + "\n"
        (args.out / f"{page.__name__}.md").write_text(text)


if __name__ == "__main__":
    main()
