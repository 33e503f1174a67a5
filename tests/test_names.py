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
    "pagesim": "crates/models/pagesim/",
    # Alone, a word of every day: its crate, and its keys.
    r"(?<!crate::)(?<!self::)shared::[\w{]+": "crates/models/shared/",
    r'"shared\.': "crates/models/shared/",
    "amf": "crates/models/pagesim/src/policies/amf",
    '"hotplug"': "crates/models/pagesim/src/policies/hotplug",
    "memory-mode": "crates/models/pagesim/src/policies/memory_mode",
    "weighted-interleave": "crates/models/pagesim/src/policies/weighted_interleave",
    "unified": "crates/models/pagesim/src/policies/unified",
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
    # What calls the interface of hosts that share memory: its searches, its power failures and its litmus tests.
    "crates/face/cli/src/shared_command.rs",
    "crates/face/cli/src/crash_hosts.rs",
    "crates/lab/check/src/litmus/",
)


#: What is compiled for tests alone: a module in a file of its own, or an item up to its closing brace.
FOR_TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*(?:[^\n{]*;\n|[^\n]*\{\n(?:(?!\}).*\n)*\}\n?)", re.M)


def code(text: str) -> list[tuple[int, str]]:
    """Lines of a Rust file without comments, and without what is for tests."""
    text = FOR_TESTS.sub(lambda found: "\n" * found.group().count("\n"), text)
    # Claims and pages of docs are named after systems.
    lines = enumerate(text.replace('\\"', '"').split("\n"), 1)
    return [(number, re.sub(r"//.*|fitted to [\w.-]+|docs/models/\S+", "", line)) for number, line in lines]


#: A struct whose fields' doc comments are what people read of parameters and statistics.
READ = re.compile(r"#\[derive\([^)]*\b(?:Parameters|Statistics)\b[^)]*\)\](?:\n#\[[^\n]*)*\n[^\n]*\bstruct \w+ \{\n((?:(?!\}).*\n)*)\}")


def texts(text: str) -> list[tuple[int, str]]:
    """Meanings of parameters and statistics, line by line."""
    found = []
    for table in READ.finditer(text):
        first = text.count("\n", 0, table.start(1)) + 1
        lines = enumerate(table.group(1).split("\n"), first)
        found += [(number, line.strip().removeprefix("/// ")) for number, line in lines if line.strip().startswith("///")]
    return found


def test_meanings_are_looked_at() -> None:
    table = "#[derive(Clone, Statistics)]\n#[statistics(prefix = \"a\")]\npub struct A {\n    /// what asap does\n    pub a: u64,\n}\n"
    assert texts("/// asap\nfn b() {}\n" + table + "/// asap\n") == [(6, "what asap does")]


def test_quotes_in_texts_are_quotes() -> None:
    assert code(r'let a = "extends = \"intel\"";') == [(1, 'let a = "extends = "intel"";')]


def test_code_after_tests_is_looked_at_and_tests_are_not() -> None:
    text = "#[cfg(test)]\nmod tests;\nfn a() {} // asap\n#[cfg(test)]\n#[path = \"x\"]\nmod more {\n    asap\n\n}\nfn b() {}\n"
    assert code(text) == [(1, ""), (2, ""), (3, "fn a() {} "), (4, ""), (5, ""), (6, ""), (7, ""), (8, ""), (9, ""), (10, "fn b() {}"), (11, "")]


def test_crates_of_simulators_are_found() -> None:
    found = [line for line in ("use ::shared::{A}", "shared::run()", "crate::shared::A", "pagesim::run()", "a.shared.b") if ANY.search(line)]
    assert found == ["use ::shared::{A}", "shared::run()", "pagesim::run()"]


def word(system: str) -> str:
    """Written otherwise (ASAP, NearPM, PBerry) it cites a paper."""
    return rf"(?<![a-z]){system}(?![a-z])|{system.capitalize()}(?![a-z])"


ANY = re.compile("|".join(map(word, SYSTEMS)))


def word_of_a_text(system: str) -> str:
    """However it is written: a text about every machine cites no paper."""
    return rf"(?i)(?<![a-z]){system}(?![a-z])" if system != "nvdimmc" else r"(?i)(?<![a-z])nvdimm-?c(?![a-z])"


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
        for number, line in texts((ROOT / name).read_text()):
            for system, own in SYSTEMS.items():
                if not name.startswith(own) and re.search(word_of_a_text(system), line):
                    found.append(f"{name}:{number}: {system}: {line}")
    assert not found, "\n".join(found)
