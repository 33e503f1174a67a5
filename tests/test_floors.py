"""A crate uses only floors below its own."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
FLOORS = ["base", "programs", "parts", "models", "lab", "face"]
#: Within a floor only these use each other.
INSIDE = {"engine": {"units"}, "params": {"units", "params-derive"}, "plug": {"units", "engine", "explore", "params", "protocol"}, "protocol": {"units", "engine", "params"}, "explore": {"units"}, "check": {"machine"}, "evaluate": {"machine", "check"}, "cli": {"image", "track"}, "coreplane-py": {"cli"}}


def test_imports_only_point_down() -> None:
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)["packages"]
    floor = {p["name"]: FLOORS.index(Path(p["manifest_path"]).parts[-3]) for p in packages}
    assert len(floor) >= 11
    for package in packages:
        name = package["name"]
        for dependency in (d["name"] for d in package["dependencies"] if d["name"] in floor):
            allowed = floor[dependency] < floor[name] or dependency in INSIDE.get(name, set())
            assert allowed, f"{name} may not use {dependency}"


def test_files_are_short_and_say_nothing_of_machines() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for name in (t for t in tracked if t.endswith((".rs", ".py", ".c", ".h", ".md", ".toml"))):
        text = (ROOT / name).read_text()
        assert name == "tests/test_floors.py" or "/home/" not in text, name
        if name.endswith((".rs", ".py", ".c", ".h")) and "catalogue" not in name:
            assert text.count("\n") <= 700, f"{name} is long"
