"""A system's name stands in its folder, in the registry, in presets, docs, validation, evaluations and tests, and nowhere else."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: Each system's words, and the folders that are its own.
SYSTEMS = {
    "asap": "crates/models/ordering/src/asap/",
    "hops": "crates/models/ordering/src/hops/",
    "bbb": "crates/models/ordering/src/bbb/",
    "eadr": "crates/models/ordering/src/eadr/",
    "dpo": "crates/models/ordering/src/dpo/",
    "pmem-spec": "crates/models/ordering/src/pmem_spec/",
    "strandweaver": "crates/models/ordering/src/strandweaver/",
    r"lb\+\+": "crates/models/ordering/src/lb/",
    "lrp": "crates/models/ordering/src/lrp/",
    "vorpal": "crates/models/ordering/src/vorpal/",
    "ppa": "crates/models/ordering/src/ppa/",
    "capri": "crates/models/ordering/src/capri/",
    "cwsp": "crates/models/ordering/src/cwsp/",
    '"intel"': "crates/models/ordering/src/intel/",
    "nvdimmc": "crates/models/nvdimmc/",
    "nvdimm": "crates/models/nvdimmc/",
    "nearpm": "crates/models/nearpm/",
    "neardata": "crates/models/nearpm/",
    "pberry": "crates/models/pberry/",
    r"remote\.": "crates/models/pberry/",
    "optane": "crates/models/optane/",
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
    "crates/face/cli/src/live.rs",
    "crates/lab/machine/src/presets.rs",
    "crates/models/ordering/src/models.rs",
    "crates/models/ordering/src/lib.rs",
    "crates/models/pagesim/src/policies/mod.rs",
    "crates/models/pagesim/src/stand_in.rs",
    "crates/lab/evaluate/",
)


def code(path: Path) -> list[tuple[int, str]]:
    """Lines of a Rust file without comments, up to its tests."""
    lines = []
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if line.startswith("#[cfg(test)]"):
            break
        # Claims and pages of docs are named after systems.
        lines.append((number, re.sub(r"//.*|fitted to [\w.-]+|docs/models/\S+", "", line)))
    return lines


def test_a_systems_name_stands_in_its_own_folder() -> None:
    tracked = subprocess.run(["git", "ls-files", "crates"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    sources = [t for t in tracked if t.endswith(".rs") and "/tests" not in t and not t.startswith(LISTS)]
    assert len(sources) > 200
    found = []
    for name in sources:
        for number, line in code(ROOT / name):
            for system, own in SYSTEMS.items():
                # Written otherwise (ASAP, NearPM, PBerry) it cites a paper.
                if not name.startswith(own) and re.search(rf"(?<![a-z]){system}(?![a-z])|{system.capitalize()}(?![a-z])", line):
                    found.append(f"{name}:{number}: {system}: {line.strip()}")
    assert not found, "\n".join(found)
