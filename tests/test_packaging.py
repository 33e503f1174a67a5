"""Recipes of packages say what pyproject.toml says; files of the repository's host are well formed."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import COREPLANE, ROOT

RECIPE = ROOT / "packaging/conda/recipe.yaml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SPACK_STYLE = """
line-length = 99
[format]
skip-magic-trailing-comma = false
[lint]
extend-select = ["E", "I", "W"]
ignore = ["E731", "F403", "F405", "F811"]
[lint.isort]
split-on-trailing-comma = false
section-order = ["future", "standard-library", "third-party", "spack", "first-party", "local-folder"]
[lint.isort.sections]
spack = ["spack"]
"""
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def test_the_conda_recipe_has_our_version_licence_and_dependencies() -> None:
    recipe = RECIPE.read_text()
    assert f'version: "{VERSION}"' in recipe
    assert f"license: {PROJECT['license']}" in recipe
    for needed in PROJECT["dependencies"]:
        name, bounds = re.fullmatch(r"([\w-]+)(.*)", needed).groups()
        assert f"- {name} {bounds}\n" in recipe, needed


def test_the_conda_recipe_is_one_that_conda_forges_builder_renders() -> None:
    rb = pytest.importorskip("rattler_build", reason="py-rattler-build is not installed")
    variants = rb.VariantConfig({"c_compiler": ["gcc"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"], "rust_compiler": ["rust"], "python": ["3.11.*"]})
    for_linux = rb.RenderConfig(platform=rb.PlatformConfig(target_platform="linux-64"))
    (rendered,) = rb.Stage0Recipe.from_file(str(RECIPE)).render(variants, for_linux)
    recipe = rendered.recipe.to_dict()
    assert recipe["package"] == {"name": "coreplane", "version": VERSION}
    needed = {f"{name} {bounds}" for name, bounds in (re.fullmatch(r"([\w-]+)(.*)", n).groups() for n in PROJECT["dependencies"])}
    # Of Python only which ones a package is built for is said: conda-forge's linter wants no bounds beside.
    assert needed | {"python"} == set(recipe["requirements"]["run"])
    assert f'match(python, "<{PROJECT["requires-python"].removeprefix(">=")}")' in RECIPE.read_text()
    assert any(n.startswith("rust") for n in recipe["requirements"]["build"])


def test_the_spack_package_has_our_version_licence_and_dependencies() -> None:
    text = (ROOT / "packaging/spack/coreplane/package.py").read_text()
    tree = ast.parse(text)
    # As `spack style` asks.
    assert max(map(len, text.splitlines())) < 100
    assert [c.name for c in tree.body if isinstance(c, ast.ClassDef)] == ["Coreplane"]
    assert f'version("{VERSION}")' in text and f'license("{PROJECT["license"]}")' in text
    for needed in PROJECT["dependencies"]:
        name, least = re.match(r"([\w-]+)>=([\d.]+)", needed).groups()
        assert f'depends_on("py-{name}@{least}:' in text, needed


def test_the_spack_package_is_made_of_directives_that_spack_knows() -> None:
    tree = ast.parse((ROOT / "packaging/spack/coreplane/package.py").read_text())
    (package,) = [c for c in tree.body if isinstance(c, ast.ClassDef)]
    assert [ast.unparse(b) for b in package.bases] == ["PythonPackage"] and ast.get_docstring(package)
    calls = [statement.value for statement in package.body[1:] if isinstance(statement, ast.Expr)]
    assert len(calls) == len(package.body) - 1 and all(isinstance(c, ast.Call) for c in calls)
    known = {
        "license": set(), "version": {"sha256", "url", "tag", "commit", "branch"}, "conflicts": {"when", "msg"},
        "depends_on": {"type", "when"},
    }  # fmt: skip
    for call in calls:
        assert {k.arg for k in call.keywords} <= known[ast.unparse(call.func)], ast.unparse(call)
        for keyword in call.keywords:
            if keyword.arg == "type":
                kinds = ast.literal_eval(keyword.value)
                assert {kinds} <= {"build"} if isinstance(kinds, str) else set(kinds) <= {"build", "link", "run", "test"}
    needed = {ast.literal_eval(c.args[0]).split("@")[0] for c in calls if ast.unparse(c.func) == "depends_on"}
    assert {"c", "rust", "python", "py-maturin"} <= needed


def test_the_spack_package_is_in_the_style_of_spacks_repository(tmp_path: Path) -> None:
    pytest.importorskip("ruff", reason="ruff is not installed")
    # The rules of spack-packages, as its pyproject.toml has them.
    (tmp_path / "ruff.toml").write_text(SPACK_STYLE)
    file = ROOT / "packaging/spack/coreplane/package.py"
    for command in (["check", "--no-fix"], ["format", "--diff"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *command, "--no-cache", "--config", tmp_path / "ruff.toml", file], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_citation_has_our_version_and_licence() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert f"version: {VERSION}" in text and "cff-version: 1.2.0" in text
    assert all(f"- {licence}" in text for licence in PROJECT["license"].split(" OR "))


@pytest.mark.parametrize("script", ["demo", "test", ".ci/run", ".ci/lib.sh", "packaging/wheel", "packaging/train"])
def test_scripts_are_shell(script: str) -> None:
    subprocess.run(["bash", "-n", ROOT / script], check=True)


@pytest.mark.parametrize("file", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_issue_templates_are_yaml(file) -> None:
    yaml = pytest.importorskip("yaml")
    form = yaml.safe_load(file.read_text())
    if "body" in form:
        assert form["name"] and form["description"]
        assert all(part["type"] in ("textarea", "input", "checkboxes", "markdown", "dropdown") for part in form["body"])


def test_what_a_profiled_wheel_is_trained_with_runs(tmp_path: Path) -> None:
    script, shortened = re.subn(r"(operations|references)=\d+", r"\1=20", (ROOT / "packaging/train").read_text())
    assert shortened > 5
    done = subprocess.run(["bash", "-c", script, "train", str(COREPLANE)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'packaging/train' in (ROOT / "packaging/wheel").read_text()


def test_a_wheel_is_small_for_manylinux_and_run_where_nothing_else_is() -> None:
    script = (ROOT / "packaging/wheel").read_text()
    assert "--compatibility manylinux_2_28" in script and "-lt 15000000" in script
    steps = [script.index(step) for step in ("git -C", "maturin build --release", 'venv "$clean/empty"', "install --quiet \"$wheel\"", "empty/bin/coreplane", "demo | bash", "tool install --quiet \"$wheel\"")]
    assert steps == sorted(steps), "built from what is committed, installed alone, then run"
    assert "packaging/wheel" in (ROOT / ".ci/run").read_text()


def test_the_wheel_of_the_tool_has_its_source_and_says_where_valgrinds_is() -> None:
    script = (ROOT / "packaging/wheel-valgrind").read_text()
    subprocess.run(["bash", "-n", ROOT / "packaging/wheel-valgrind"], check=True)
    for word in ("COPYING", "source/LICENSE-MIT", "source/SOURCE.md", "valgrind.org/downloads", "VALGRIND_SOURCE", "source/valgrind/build", "cmp "):
        assert word in script, word
    assert "packaging/wheel-valgrind" in (ROOT / ".ci/run").read_text()


def test_documentation_that_comes_along_is_found_and_where_it_does_not_that_is_said(tmp_path: Path) -> None:
    def docs(site: Path) -> subprocess.CompletedProcess[str]:
        code = f"import sys, pathlib; from coreplane import _cli; _cli.SITE = pathlib.Path({str(site)!r}); sys.argv = ['coreplane', 'docs']; sys.exit(_cli.main())"
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    (tmp_path / "index.html").write_text("<p>Coreplane")
    with_it, without = docs(tmp_path / "index.html"), docs(tmp_path / "none.html")
    assert (with_it.returncode, with_it.stdout) == (0, f"{tmp_path}/index.html\n")
    assert without.returncode == 2 and "docs/ of the source" in without.stderr


def test_the_command_finds_the_tool_that_a_package_of_its_own_brings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from coreplane import _cli

    (tmp_path / "coreplane_valgrind").mkdir()
    (tmp_path / "coreplane_valgrind/__init__.py").touch()
    monkeypatch.setenv("COREPLANE_VALGRIND", "named")
    monkeypatch.syspath_prepend(tmp_path)
    _cli._find_tool()
    assert os.environ["COREPLANE_VALGRIND"] == "named"
    monkeypatch.delenv("COREPLANE_VALGRIND")
    _cli._find_tool()
    assert os.environ["COREPLANE_VALGRIND"] == str(tmp_path / "coreplane_valgrind/tool")
