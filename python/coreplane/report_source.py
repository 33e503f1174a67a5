"""Lines of a program's source, as they stand where a report speaks of them."""

import html
import re
from pathlib import Path

#: Lines before and after the one that is spoken of.
AROUND = 4
#: A source that is larger is no program that somebody reads.
MOST_BYTES = 1 << 22
_SITE = re.compile(r"^(?P<file>.*?):(?P<line>\d+)\b")


def excerpts(sites: list[str], sources: list[str], recorded_at: float | None = None) -> str:
    """What stands at each site ("kv.c:90 put") and around it; nothing of one whose file is not known, not there, or one of several of that name. ``recorded_at`` is when the program was recorded: a file that is newer is said to be."""
    by_file: dict[Path, dict[int, str]] = {}
    for site in sites:
        path, line = _place(site, sources)
        if path is not None:
            by_file.setdefault(path, {})[line] = site
    return "".join(_of_file(path, own, is_newer=recorded_at is not None and path.stat().st_mtime > recorded_at) for path, own in by_file.items())


def _place(site: str, sources: list[str]) -> tuple[Path | None, int]:
    found = _SITE.match(site)
    known = [Path(path) for path in sources if found and f"/{path}".endswith(f"/{found['file']}")]
    if not found or len(known) != 1 or not known[0].is_file() or known[0].stat().st_size > MOST_BYTES:
        return None, 0
    return known[0], int(found["line"])


def _of_file(path: Path, sites: dict[int, str], *, is_newer: bool) -> str:
    """Lines that are near each other stand in one piece."""
    text = path.read_text(errors="replace").splitlines()
    pieces: list[list[int]] = []
    for line in sorted(line for line in sites if line <= len(text)):
        if pieces and line - pieces[-1][-1] <= 2 * AROUND:
            pieces[-1].append(line)
        else:
            pieces.append([line])
    warning = "<p class='note'>The file was changed after the program was recorded: its lines may be others now.</p>" if is_newer and pieces else ""
    return warning + "".join(_piece(path, text, lines, [sites[line] for line in lines]) for lines in pieces)


def _piece(path: Path, text: list[str], lines: list[int], sites: list[str]) -> str:
    shown = range(max(1, lines[0] - AROUND), min(len(text), lines[-1] + AROUND) + 1)
    rows = [_row(number, text[number - 1], is_it=number in lines) for number in shown]
    said = html.escape(" and ".join(sites))
    return f"<details open><summary><a href='{html.escape(path.as_uri())}'>{said}</a></summary><pre>{''.join(rows)}</pre></details>"


def _row(number: int, text: str, *, is_it: bool) -> str:
    shown = f"{number:>5}  {html.escape(text.expandtabs(4))}"
    return f"<mark>{shown}</mark>\n" if is_it else f"{shown}\n"
