"""The site's build: the reference is written from the code first."""

import shutil
import subprocess
import sys
from pathlib import Path


def on_pre_build(config) -> None:
    """Writes the pages that ``docs/reference/generate.py`` makes."""
    beside = Path(sys.executable).parent / "coreplane"
    coreplane = str(beside) if beside.exists() else shutil.which("coreplane")
    if coreplane is None:
        raise SystemExit("the site is built where coreplane is installed: pip install '.[docs]'")
    here = Path(config["docs_dir"])
    subprocess.run([sys.executable, here / "reference/generate.py", "--coreplane", coreplane], check=True)


#: Where a page goes that the contents do not list, by its folder.
SECTIONS = {"howto": "How to", "reference": "Reference", "models": "Models", "spec": "Models", "extend": "Extend", "adr": "Decisions"}


def listed(nav) -> list[str]:
    """The pages of a list of contents."""
    pages = []
    for entry in nav:
        inside = list(entry.values())[0] if isinstance(entry, dict) else entry
        pages += listed(inside) if isinstance(inside, list) else [inside]
    return pages


def on_config(config):
    """Adds the pages that the contents do not list."""
    there = set(listed(config["nav"]))
    docs = Path(config["docs_dir"])
    for page in sorted(str(p.relative_to(docs)) for p in docs.rglob("*.md")):
        if page in there:
            continue
        title = SECTIONS.get(page.split("/")[0], "More")
        section = next((e for e in config["nav"] if isinstance(e, dict) and title in e), None)
        if section is None:
            section = {title: []}
            config["nav"].append(section)
        section[title].append(page)
    return config
