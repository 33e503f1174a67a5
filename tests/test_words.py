"""One word a thing: words that the project had of its own, and gave up for its field's, do not come back."""

import re
import subprocess

from conftest import ROOT

#: What was said once, as text that is looked for in code, keys and pages; beside it what is said now.
GONE = {
    r"(\b|_)horizon(\b|_)": "safe time",
    r"\bquiet_(time|pair|messages)|\*quiet\*|quiet (time|event)": "lookahead",
    r"\b(is_)?alert\b|owes_word": "pending replies",
    r"\bharts?\b": "core",
    r"\bhygiene\b": "persistence lint",
    r"\bdark_ns\b": "power_off_ns",
    r"\bhurries\b": "drains eagerly",
    r"\bbury\b|\bburied\b": "reap",
    r"\blines_a_page\b": "lines_per_page",
    r"at the door": "ingress queue",
    r"\bRemains\b": "post-crash state",
}
#: Where an old word is told with its new one, or is another's.
TOLD = ("CHANGELOG.md", "crates/face/cli/src/show.rs", "crates/parts/cpu/src/lib.rs", "crates/models/nearpm/src/plug.rs", "tests/", "python/tests/")


def lines() -> list[tuple[str, str]]:
    """Every line of code and prose, and where it is."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    looked = [f for f in files if f.endswith((".rs", ".py", ".md", ".toml", ".c", ".h")) and not f.startswith(TOLD)]
    return [(f"{file}:{number}", line) for file in looked for number, line in enumerate((ROOT / file).read_text().splitlines(), 1)]


def test_words_that_were_given_up_do_not_come_back() -> None:
    any_of_them = re.compile("|".join(GONE))
    found = [(place, line) for place, line in lines() if any_of_them.search(line)]
    told = [f"{place}: {line.strip()}: say {now}" for place, line in found for gone, now in GONE.items() if re.search(gone, line)]
    assert not told, "\n".join(told)


def test_no_merge_is_left_half_done() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    marks = re.compile(rb"^(<{7} |>{7} )", re.M)
    assert not [f for f in files if (ROOT / f).is_file() and marks.search((ROOT / f).read_bytes())]
