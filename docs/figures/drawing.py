"""Diagrams of boxes and arrows as SVG, for light and dark pages."""

import html
import re
from dataclasses import dataclass, field

#: Grid: distance of columns and rows, size of a box.
COLUMN, ROW, WIDTH, HEIGHT, MARGIN = 252, 92, 148, 52, 14

#: Colours follow what the reader's system asks for; words beside boxes are read on either.
STYLE = """
text { font: 13px Arial, Liberation Sans, Helvetica, sans-serif; fill: #1a1a1a; text-anchor: middle }
text.small { font-size: 11px; fill: #495057 } text.note { font-size: 11.5px; fill: #7a838c }
rect { fill: #e9eef2; stroke: #7a838c } rect.durable { fill: #d3f9d8; stroke: #2f9e44 } rect.host { fill: none; stroke: #7a838c; stroke-dasharray: 6 4 }
path { fill: none; stroke: #7a838c; stroke-width: 1.5 } marker path { fill: #7a838c; stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e6e6 } text.small { fill: #b8c0c7 } text.note { fill: #a0a6ad }
  rect { fill: #2b3137 } rect.durable { fill: #1c3a25 } rect.host { fill: none }
}
"""


@dataclass
class Box:
    """A part: its place on the grid (halves are places too), a name, a line below it."""

    column: float
    row: float
    name: str
    small: str = ""
    #: What is saved when the power fails.
    durable: bool = False
    width: float = 1.0

    def sides(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom."""
        left, top = MARGIN + self.column * COLUMN, MARGIN + self.row * ROW
        return left, top, left + WIDTH + (self.width - 1) * COLUMN, top + HEIGHT

    def draw(self) -> str:
        left, top, right, _ = self.sides()
        middle = (left + right) / 2
        kind = ' class="durable"' if self.durable else ""
        text = f'<rect{kind} x="{left:g}" y="{top:g}" width="{right - left:g}" height="{HEIGHT}" rx="6"/>'
        text += f'<text x="{middle:g}" y="{top + (22 if self.small else 31):g}">{html.escape(self.name)}</text>'
        return text + (f'<text class="small" x="{middle:g}" y="{top + 40:g}">{html.escape(self.small)}</text>' if self.small else "")


@dataclass
class Diagram:
    """Boxes by a short word, arrows between two of them with what goes there."""

    boxes: dict[str, Box]
    arrows: list[tuple[str, str, str]] = field(default_factory=list)
    #: Frames around boxes: a name, and the words of the boxes.
    frames: list[tuple[str, list[str]]] = field(default_factory=list)
    about: str = ""

    def svg(self) -> str:
        sides = [b.sides() for b in self.boxes.values()]
        wide = max(s[2] for s in sides) + MARGIN + (10 if self.frames else 0)
        high = max(s[3] for s in sides) + MARGIN + (10 if self.frames else 0)
        low_x, low_y = (-12, -16) if self.frames else (0, 0)
        body = "".join([*map(self._frame, self.frames), *(b.draw() for b in self.boxes.values()), *(self._arrow(*a) for a in self.arrows)])
        tip = '<marker id="tip" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto-start-reverse"><path d="M0 0 L9 4 L0 8 Z"/></marker>'
        size = f'width="{wide - low_x:g}" height="{high - low_y:g}" viewBox="{low_x} {low_y} {wide - low_x:g} {high - low_y:g}"'
        title = f"<title>{html.escape(self.about)}</title>" if self.about else ""
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{title}<style>{STYLE}</style><defs>{tip}</defs>{body}</svg>\n'

    def _frame(self, frame: tuple[str, list[str]]) -> str:
        name, words = frame
        sides = [self.boxes[w].sides() for w in words]
        left, top, right, bottom = min(s[0] for s in sides) - 9, min(s[1] for s in sides) - 9, max(s[2] for s in sides) + 9, max(s[3] for s in sides) + 9
        return f'<rect class="host" x="{left:g}" y="{top:g}" width="{right - left:g}" height="{bottom - top:g}" rx="9"/><text class="note" x="{(left + right) / 2:g}" y="{top - 4:g}">{html.escape(name)}</text>'

    def _arrow(self, start: str, end: str, note: str) -> str:
        """From the side of one box to the facing side of the other; a note begins with ``<`` where both ways are used."""
        both, words = note.startswith("<"), note.lstrip("<")
        a, b = self.boxes[start].sides(), self.boxes[end].sides()
        shared_x, shared_y = (max(a[0], b[0]), min(a[2], b[2])), (max(a[1], b[1]), min(a[3], b[3]))
        if shared_y[0] < shared_y[1]:
            y = sum(shared_y) / 2
            x1, x2 = (a[2], b[0]) if a[0] < b[0] else (a[0], b[2])
            points, at = f"M{x1:g} {y:g} H{x2:g}", ((x1 + x2) / 2, y - 6)
        elif shared_x[0] < shared_x[1]:
            x = sum(shared_x) / 2
            y1, y2 = (a[3], b[1]) if a[1] < b[1] else (a[1], b[3])
            points, at = f"M{x:g} {y1:g} V{y2:g}", (x + 6, (y1 + y2) / 2 + 4)
        else:
            across, down = self._bends(a, b)
            points, at = across if self._free(across[0], start, end) else down
        beside = ' style="text-anchor: start"' if "V" in points else ""
        start_tip = ' marker-start="url(#tip)"' if both else ""
        text = f'<text class="note" x="{at[0]:g}" y="{at[1]:g}"{beside}>{html.escape(words)}</text>' if words else ""
        return f'<path d="{points}" marker-end="url(#tip)"{start_tip}/>{text}'

    def _bends(self, a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> list[tuple[str, tuple[float, float]]]:
        """Two ways around a corner, across first and down first, and where a note stands beside each."""
        y, x = (a[1] + a[3]) / 2, (b[0] + b[2]) / 2
        x1, y2 = (a[2] if a[2] < x else a[0]), (b[1] if a[1] < b[1] else b[3])
        across = (f"M{x1:g} {y:g} H{x:g} V{y2:g}", (x + 6, (y + y2) / 2 + 4))
        x, y = (a[0] + a[2]) / 2, (b[1] + b[3]) / 2
        y1, x2 = (a[3] if a[1] < b[1] else a[1]), (b[0] if a[0] < b[0] else b[2])
        return [across, (f"M{x:g} {y1:g} V{y:g} H{x2:g}", (x + 6, (y1 + y) / 2 + 4))]

    def _free(self, across: str, start: str, end: str) -> bool:
        """Whether a way across and then down meets no other box."""
        x1, y, x, y2 = (float(n) for n in re.findall(r"-?[\d.]+", across))
        for name, box in self.boxes.items():
            left, top, right, bottom = box.sides()
            if name in (start, end):
                continue
            if top < y < bottom and min(x1, x) < right and max(x1, x) > left or left < x < right and min(y, y2) < bottom and max(y, y2) > top:
                return False
        return True
