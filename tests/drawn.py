"""A page in a browser: a picture of it, and what is wrong with how it is laid out."""

import json
import shutil
import subprocess
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

#: What a reader would see at a glance, as the browser has laid it out: texts of a figure that lie on each other, a page that
#: is wider than the window, figures without a caption, heads of tables that nothing is sorted by.
LOOK = """
<script>addEventListener("load", () => {
  const wrong = [], box = e => e.getBoundingClientRect();
  if (document.documentElement.scrollWidth > innerWidth) wrong.push(`the page is ${document.documentElement.scrollWidth} wide in a window of ${innerWidth}`);
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")].filter(t => t.textContent.trim() && box(t).width > 0);
    // The boxes of slanted texts meet where these do not.
    const upright = texts.filter(t => Math.abs(t.getScreenCTM().b) < 0.01);
    upright.forEach((a, n) => upright.slice(n + 1).forEach(b => {
      const [p, q] = [box(a), box(b)];
      const across = Math.min(p.right, q.right) - Math.max(p.left, q.left), down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (across > 2 && down > 4) wrong.push(`"${a.textContent}" lies on "${b.textContent}"`);
    }));
    for (const t of texts) if (box(t).left < box(svg).left - 2 || box(t).right > box(svg).right + 2) wrong.push(`"${t.textContent}" is cut`);
  }
  for (const figure of document.querySelectorAll("figure")) if (!figure.querySelector("figcaption")) wrong.push("a figure without a caption");
  for (const table of document.querySelectorAll("table")) {
    const first = table.tHead.rows[0].cells[0];
    first.click();
    if (!first.getAttribute("aria-sort")) wrong.push(`a table that is not sorted by ${first.textContent}`);
  }
  const paper = getComputedStyle(document.body).backgroundColor;
  console.log("LOOKED" + JSON.stringify({wrong, paper, width: innerWidth, figures: document.querySelectorAll("figure").length, tables: document.querySelectorAll("table").length}) + "DEKOOL");
});</script>
"""


#: A browser without a screen has no narrower window; a frame in it has.
LEAST_WINDOW = 500


def look(page: Path, picture: Path, *, width: int, dark: bool) -> dict[str, object]:
    """Draws the page into ``picture`` and says what is there: ``wrong``, ``paper`` (its colour), ``width``, how many ``figures`` and ``tables``."""
    assert CHROMIUM
    copy = page.with_name(f"{page.stem}.looked-at.html")
    copy.write_text(page.read_text() + LOOK)
    shown = copy
    if width < LEAST_WINDOW:
        shown = page.with_name(f"{page.stem}.framed.html")
        shown.write_text(f"<!doctype html><body style='margin:0'><iframe src='{copy.name}' style='width:{width}px;height:2400px;border:0'></iframe>")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", f"--user-data-dir={picture.parent}/browser"]
    flags += [f"--window-size={width},2400", f"--screenshot={picture}", *(["--blink-settings=preferredColorScheme=0"] if dark else [])]
    done = subprocess.run([CHROMIUM, *flags, f"file://{shown}"], capture_output=True, text=True, timeout=120, check=True)
    copy.unlink()
    shown.unlink(missing_ok=True)
    assert "LOOKED" in done.stderr, done.stderr
    told = done.stderr.split("LOOKED")[1].split("DEKOOL")[0]
    seen: dict[str, object] = json.loads(told)
    return seen
