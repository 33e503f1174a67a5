"""No more than two files of a crate import each other in a circle. That a module names the modules inside it does not count."""

import re
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: A name that is brought in, or given on: its path, with the groups in braces still closed.
USE = re.compile(r"\b(pub(?:\([^)]*\))? )?use ((?:crate|super|self)::[^;]+);")
#: A path in the middle of code.
PATH = re.compile(r"\b((?:crate|super)(?:::\w+)+)")


def crates() -> list[Path]:
    return sorted(manifest.parent / "src" for manifest in (ROOT / "crates").glob("*/*/Cargo.toml"))


def module_of(source: Path, file: Path) -> tuple[str, ...]:
    parts = file.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


@cache
def text_of(file: Path) -> str:
    """The code up to its tests, without comments."""
    code = re.split(r"#\[cfg\(test\)\]\s*mod tests \{", file.read_text())[0]
    return re.sub(r"//.*", "", code)


def opened(path: str) -> list[str]:
    """The paths of `a::{b, c::{d, e}}`, each whole; what a name is called here is left away."""
    head, brace, rest = path.partition("{")
    if not brace:
        return [re.sub(r"\s+as\s+\w+", "", path).strip()]
    depth, inside, pieces = 0, "", []
    for letter in rest[: rest.rindex("}")]:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            pieces.append(inside)
            inside = ""
        else:
            inside += letter
    return [whole for piece in [*pieces, inside] if piece.strip() for whole in opened(head + piece.strip())]


class Crate:
    def __init__(self, source: Path) -> None:
        self.files = {module_of(source, file): file for file in source.rglob("*.rs") if "tests" not in file.parts}
        self.files = {module: file for module, file in self.files.items() if file.stem not in ("tests", "contract")}

    def absolute(self, module: tuple[str, ...], path: str) -> tuple[str, ...]:
        words = tuple(word.strip() for word in path.split("::"))
        if words[0] == "crate":
            return words[1:]
        here = module
        while words and words[0] in ("super", "self"):
            here = here[:-1] if words[0] == "super" else here
            words = words[1:]
        return here + words

    def given_on(self, module: tuple[str, ...], name: str) -> tuple[str, ...] | None:
        """Where a module has a name from that it does not define."""
        for _, path in USE.findall(text_of(self.files[module])):
            for whole in opened(path):
                absolute = self.absolute(module, whole)
                if absolute[-1] == name:
                    return absolute
        for path in re.findall(r"pub(?:\([^)]*\))? use (\w+::[^;]+);", text_of(self.files[module])):
            for whole in opened(path):
                words = tuple(whole.split("::"))
                if words[-1] == name and (*module, words[0]) in self.files:
                    return module + words
        return None

    def place(self, absolute: tuple[str, ...], depth: int = 0) -> tuple[str, ...] | None:
        """The module that defines what a path names."""
        module = absolute
        while module and module not in self.files:
            module = module[:-1]
        rest = absolute[len(module) :]
        if module not in self.files or (not rest and not module):
            return None
        if rest and depth < 8:
            further = self.given_on(module, rest[0])
            if further is not None and further != absolute:
                return self.place(further + rest[1:], depth + 1)
        return module

    def imports(self) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
        arrows = defaultdict(set)
        for module, file in self.files.items():
            text = text_of(file)
            paths = [whole for given, path in USE.findall(text) if not given for whole in opened(path)]
            paths += PATH.findall(re.sub(r"\buse [^;]+;", "", text))
            for path in paths:
                to = self.place(self.absolute(module, path))
                if to is not None and to != module:
                    arrows[module].add(to)
        return arrows


def circles(arrows: dict[tuple[str, ...], set[tuple[str, ...]]]) -> list[list[tuple[str, ...]]]:
    """The files that reach each other, where there are more than two."""

    def reach(start: tuple[str, ...]) -> set[tuple[str, ...]]:
        seen: set[tuple[str, ...]] = set()
        todo = [start]
        while todo:
            for to in arrows.get(todo.pop(), ()):
                if to not in seen:
                    seen.add(to)
                    todo.append(to)
        return seen

    reached = {module: reach(module) for module in arrows}
    groups = {tuple(sorted(b for b in reached[a] if a in reached.get(b, ()))) for a in arrows if a in reached[a]}
    return [list(group) for group in sorted(groups) if len(group) > 2]


def test_at_most_two_files_import_each_other_in_a_circle() -> None:
    tracked = subprocess.run(["git", "ls-files", "crates"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert tracked.count(".rs\n") > 300
    found = []
    for source in crates():
        crate = Crate(source)
        arrows = crate.imports()
        for group in circles(arrows):
            ties = [f"  {'/'.join(a)} -> {', '.join('/'.join(b) for b in sorted(arrows[a] & set(group)))}" for a in group]
            found.append("\n".join([f"{source.relative_to(ROOT)}: {len(group)} files", *ties]))
    assert not found, "\n".join(found)
