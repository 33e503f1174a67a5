"""The site's build: the reference is written from the code first, and what pages link to outside of docs comes along."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from mkdocs.structure.files import File


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


def join(nav, page: str) -> None:
    """Adds a page to the section of its folder."""
    title = SECTIONS.get(page.split("/")[0], "More")
    section = next((e for e in nav if isinstance(e, dict) and title in e), None)
    if section is None:
        section = {title: []}
        nav.append(section)
    section[title].append(page)


def on_config(config):
    """Adds the pages that the contents do not list."""
    there = set(listed(config["nav"]))
    docs = Path(config["docs_dir"])
    for page in sorted(str(p.relative_to(docs)) for p in docs.rglob("*.md")):
        if page not in there:
            join(config["nav"], page)
    return config


#: A link's end: the target, and the place on its page.
LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def outside(text: str, page: Path, docs: Path) -> set[Path]:
    """Files and folders of the project that a page links to and that are not in docs."""
    project = docs.parent
    targets = {Path(os.path.normpath(page.parent / target)) for target, _ in LINK.findall(text)}
    return {t for t in targets if t.is_relative_to(project) and not t.is_relative_to(docs) and t.exists()}


def listing(folder: Path) -> tuple[str, list[Path]]:
    """A page that stands for a folder, and the files that it lists."""
    inside = sorted(p for p in folder.iterdir() if p.is_file())
    return f"# {folder.name}\n\n" + "".join(f"* [{p.name}]({p.name})\n" for p in inside), inside


def on_files(files, config):
    """Brings along what pages link to outside of docs, at its place in the project; a folder becomes a page that lists it."""
    docs = Path(config["docs_dir"])
    left = [path for f in files.documentation_pages() for path in outside(f.content_string, Path(f.abs_src_path), docs)]
    brought = set()
    while left:
        path = left.pop()
        if path in brought:
            continue
        brought.add(path)
        uri = path.relative_to(docs.parent).as_posix()
        if path.is_dir():
            text, inside = listing(path)
            files.append(File.generated(config, f"{uri}/index.md", content=text))
            join(config["nav"], f"{uri}/index.md")
            left += inside
            continue
        files.append(File.generated(config, uri, abs_src_path=str(path)))
        if path.suffix == ".md":
            join(config["nav"], uri)
            left += outside(path.read_text(), path, docs)
    return files


def on_page_markdown(markdown, page, config, files):
    """Turns links that leave docs, or come back to it, into links within the site."""
    docs = Path(config["docs_dir"])
    uri = Path(page.file.src_uri)
    # Where the page's source is: links in it are relative to that.
    home = (docs.parent / uri).parent if page.file.generated_by else (docs / uri).parent

    def within(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(home / match[1]))
        if not (target.is_relative_to(docs.parent) and target.exists()):
            return match[0]
        at = target.relative_to(docs if target.is_relative_to(docs) else docs.parent)
        if target.is_dir() and not target.is_relative_to(docs):
            at /= "index.md"
        return f"]({os.path.relpath(at, uri.parent)}{match[2] or ''})"

    return LINK.sub(within, markdown)
