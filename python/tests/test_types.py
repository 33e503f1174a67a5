"""Types: what is checked in is what is generated, and examples and package pass mypy at its strictest."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import coreplane

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples/python").glob("*.py"))
#: Those that need more than the package to run are read by mypy too.
ALL_EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


def test_the_stubs_are_what_the_package_gives(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "python/tools/stubs.py"), str(tmp_path)], check=True)
    for name in ("_core.pyi", "_keys.pyi"):
        assert (tmp_path / name).read_text() == (ROOT / "python/coreplane" / name).read_text(), f"run python/tools/stubs.py: {name}"


def test_the_package_says_that_it_has_types() -> None:
    folder = Path(coreplane.__file__).parent
    assert all((folder / name).exists() for name in ("py.typed", "_core.pyi", "_keys.pyi"))


def mypy(*args: object) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, args)]
    env = {**os.environ, "MYPYPATH": str(ROOT / "python"), "MYPY_CACHE_DIR": str(ROOT / ".mypy_cache")}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=env)


def test_package_and_examples_pass_mypy() -> None:
    assert set(EXAMPLES) < set(ALL_EXAMPLES)
    done = mypy(ROOT / "python/coreplane", *ALL_EXAMPLES)
    assert done.returncode == 0, done.stdout


def test_mypy_finds_keys_that_do_not_exist(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import coreplane as cp\n"
        "cp.Machine('asap-rp', ordering={'persist_bufer': 16})\n"
        "cp.Workload('cceh', thread=8)\n"
        "cp.Machine('asap-rp', ordering={'persist_buffer': 16})\n"
        "x: str = cp.run('intel', 'queue').time\n"
    )
    said = mypy(wrong).stdout
    for line in (2, 3, 5):
        assert f"wrong.py:{line}: error" in said, said
    assert "wrong.py:4:" not in said


def test_the_notebook_goes_from_a_recording_to_a_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "examples/python/recording.ipynb").read_text())
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "no outputs are kept: they would be old"
            exec("".join(cell["source"]), names)
    assert "<svg" in (tmp_path / "out/notebook/spent.svg").read_text()
    assert len(names["compared"]) == 5
    assert names["found"].ok
    assert not names["bug"].ok and "kv.c:" in str(names["bug"].findings)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(example), str(tmp_path)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout
