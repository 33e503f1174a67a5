"""Programs whose truth is known: the verdict of the crash lab on each, under three models (tests/truth/TRUTH.toml)."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from conftest import ROOT, Cli

FOLDER = ROOT / "tests/truth"
PROGRAMS = tomllib.loads((FOLDER / "TRUTH.toml").read_text())
MODELS = {
    "px86": ["intel", "--model", "px86"],
    "epoch": ["hops-ep", "--model", "epoch"],
    "asap-rp": ["asap-rp"],
}
# Fewer images than the defaults serve, and fewer points where a check opens a pool, which takes long.
FEW = ["--images", 16]
FEWER = {"pmemobj": ["--points", 16, "--images", 6]}
BY_CODE = {0: "clean", 1: "loses", 2: "refused"}
# What libpmem and libpmem2 take for persistent memory decides whether they flush or call msync; here they flush.
ENVIRONMENT = os.environ | {"PMEM_IS_PMEM_FORCE": "1", "PMEM2_FORCE_GRANULARITY": "cache_line"}


def source(name: str) -> Path:
    return next(f for f in (FOLDER / f"{name}.c", FOLDER / f"{name}.cpp") if f.exists())


def accepted(truth: dict, model: str) -> list[str]:
    verdict = truth["verdict"]
    if isinstance(verdict, dict):
        verdict = verdict[model]
    return [verdict] if isinstance(verdict, str) else verdict


def build(cli: Cli, name: str, truth: dict) -> None:
    library = truth.get("library")
    if library and not Path(f"/usr/include/lib{library}.h").exists():
        pytest.skip(f"lib{library} is not installed")
    if "clwb" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no clwb")
    file = source(name)
    compiler = "cc" if file.suffix == ".c" else "c++"
    cli(compiler, "-O1", "-pthread", file, "-o", name, *([f"-l{library}"] if library else []))


def record(cli: Cli, name: str, truth: dict) -> subprocess.CompletedProcess[str]:
    if truth.get("prepare"):
        subprocess.run([f"./{name}", "--format", "f.pm"], cwd=cli.folder, check=True, timeout=60)
    return cli.run("record", "--quiet", "--out", "t.cpt", "--", f"./{name}", "f.pm", env=ENVIRONMENT)


def lost_line(name: str) -> str | None:
    """The place of the store that a loss has to name."""
    file = source(name)
    lines = file.read_text().splitlines()
    numbers = [n for n, line in enumerate(lines, 1) if "/* LOST */" in line]
    return f"{file.name}:{numbers[0]}" if numbers else None


def names_the_store(found: dict, place: str) -> bool:
    """Whether a failure's sentence or its list of lost stores has that line, and not one that only begins so."""
    failures = (found.get("model_images") or {}).get("failures", [])
    texts = [f["why"] for f in failures] + [n["site"] for f in failures for n in f["missing"]]
    return any(place in text.replace(",", " ").split() for text in texts)


@pytest.mark.parametrize("name", PROGRAMS)
def test_verdicts_are_the_truth(cli: Cli, name: str) -> None:
    truth = PROGRAMS[name]
    build(cli, name, truth)
    recorded = record(cli, name, truth)
    if recorded.returncode == 2:
        assert all("refused" in accepted(truth, model) for model in MODELS), recorded.stderr
        assert truth.get("says", "") in recorded.stderr
        return
    assert recorded.returncode == 0, recorded.stderr
    image = truth.get("check", "{image}")
    check = f"PMEM_IS_PMEM_FORCE=1 {cli.folder}/{name} --check {image} {{acknowledged}}"
    wrong = []
    for model, machine in MODELS.items():
        options = [*FEWER.get(truth.get("library"), FEW), *truth.get("options", [])]
        done = cli.run("crash", machine[0], "trace:t.cpt", *machine[1:], "--check", check, *options, "--format", "json")
        verdict = BY_CODE.get(done.returncode, f"exit code {done.returncode}")
        if verdict not in accepted(truth, model):
            wrong.append(f"{model}: {verdict}, not {accepted(truth, model)}\n{done.stdout[:3000]}\n{done.stderr}")
        elif verdict == "loses" and (place := lost_line(name)):
            if not names_the_store(json.loads(done.stdout), place):
                wrong.append(f"{model}: the store at {place} is not named\n{done.stdout[:3000]}")
        elif verdict == "refused":
            assert done.stdout == "" and truth.get("says", "") in done.stderr
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("name", "verdict"), [("nontemporal", "clean"), ("nontemporal_no_fence", "loses"), ("log_no_flush", "clean")])
@pytest.mark.parametrize("machine", ["eadr", "bbb"])
def test_a_store_past_the_caches_needs_its_fence_where_caches_survive(cli: Cli, name: str, verdict: str, machine: str) -> None:
    build(cli, name, PROGRAMS[name])
    assert record(cli, name, PROGRAMS[name]).returncode == 0
    done = cli.run("crash", machine, "trace:t.cpt", "--check", f"{cli.folder}/{name} --check {{image}} {{acknowledged}}", "--format", "json")
    assert BY_CODE[done.returncode] == verdict
    if verdict == "loses":
        assert names_the_store(json.loads(done.stdout), str(lost_line(name))) and "no fence after the non-temporal store" in done.stdout


def test_every_program_has_a_truth() -> None:
    files = {f.stem for f in FOLDER.iterdir() if f.suffix in (".c", ".cpp")}
    assert files == set(PROGRAMS) and len(files) >= 40
    for name in files:
        verdicts = {word for model in MODELS for word in accepted(PROGRAMS[name], model)}
        assert verdicts <= set(BY_CODE.values())
        assert "loses" in verdicts or not lost_line(name), f"{name}: a lost store in a program that loses nothing"
