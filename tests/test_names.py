"""A system's name stands in its folder, in the registry, in presets, docs, validation, evaluations and tests, and nowhere else."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: Each system's words, and the folders that are its own.
ORDERINGS = ROOT / "crates/models/ordering/src"
SYSTEMS = {
    # Alone, a maker of processors.
    '"intel"' if word == "intel" else re.escape(word): f"{folder.relative_to(ROOT)}/"
    for folder in sorted(ORDERINGS.iterdir())
    for word in re.findall(r'^pub const MODEL: Registered = Registered \{\n    name: "([^"]+)"', "".join(p.read_text() for p in folder.glob("*.rs")), re.M)
} | {
    "nvdimmc": "crates/models/nvdimmc/",
    "nvdimm": "crates/models/nvdimmc/",
    "nearpm": "crates/models/nearpm/",
    "neardata": "crates/models/nearpm/",
    "pberry": "crates/models/pberry/",
    r"remote\.": "crates/models/pberry/",
    "optane": "crates/models/optane/",
    "cmmh": "crates/models/cmmh/",
    "fusion": "crates/models/pagesim/",
    "amf": "crates/models/pagesim/src/policies/amf",
    '"hotplug"': "crates/models/pagesim/src/policies/hotplug",
    "memory-mode": "crates/models/pagesim/src/policies/memory_mode",
    "weighted-interleave": "crates/models/pagesim/src/policies/weighted_interleave",
    "dram-swap": "crates/models/pagesim/src/policies/dram_swap",
    "pm-block": "crates/models/pagesim/src/policies/pm_block",
}
#: Where systems are listed, a line each, and where a paper's own evaluation is.
LISTS = (
    "crates/lab/machine/src/registry.rs",
    "crates/face/cli/src/bench",
    "crates/lab/machine/src/presets.rs",
    "crates/models/ordering/src/models.rs",
    "crates/models/ordering/src/lib.rs",
    "crates/models/pagesim/src/policies/mod.rs",
    "crates/models/pagesim/src/stand_in.rs",
    "crates/lab/evaluate/",
)


#: What is compiled for tests alone: a module in a file of its own, or an item up to its closing brace.
FOR_TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*(?:[^\n{]*;\n|[^\n]*\{\n(?:(?!\}).*\n)*\}\n?)", re.M)


def code(text: str) -> list[tuple[int, str]]:
    """Lines of a Rust file without comments, and without what is for tests."""
    text = FOR_TESTS.sub(lambda found: "\n" * found.group().count("\n"), text)
    # Claims and pages of docs are named after systems.
    return [(number, re.sub(r"//.*|fitted to [\w.-]+|docs/models/\S+", "", line)) for number, line in enumerate(text.split("\n"), 1)]


def test_code_after_tests_is_looked_at_and_tests_are_not() -> None:
    text = "#[cfg(test)]\nmod tests;\nfn a() {} // asap\n#[cfg(test)]\n#[path = \"x\"]\nmod more {\n    asap\n\n}\nfn b() {}\n"
    assert code(text) == [(1, ""), (2, ""), (3, "fn a() {} "), (4, ""), (5, ""), (6, ""), (7, ""), (8, ""), (9, ""), (10, "fn b() {}"), (11, "")]


def word(system: str) -> str:
    """Written otherwise (ASAP, NearPM, PBerry) it cites a paper."""
    return rf"(?<![a-z]){system}(?![a-z])|{system.capitalize()}(?![a-z])"


ANY = re.compile("|".join(map(word, SYSTEMS)))


def test_a_systems_name_stands_in_its_own_folder() -> None:
    tracked = subprocess.run(["git", "ls-files", "crates"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    sources = [t for t in tracked if t.endswith(".rs") and "/tests" not in t and not t.startswith(LISTS)]
    assert len(sources) > 200
    found = []
    for name in sources:
        for number, line in code((ROOT / name).read_text()):
            for system, own in SYSTEMS.items() if ANY.search(line) else ():
                if not name.startswith(own) and re.search(word(system), line):
                    found.append(f"{name}:{number}: {system}: {line.strip()}")
    assert not found, "\n".join(found)
