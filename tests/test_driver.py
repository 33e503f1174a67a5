"""What `coreplane cc` makes of programs: instructions in any form, libraries, and every way to call a compiler."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import polars as pl
import pytest

from conftest import ROOT, Cli

PROGRAMS = ROOT / "tests/programs"
FLAGS = set(Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split())


@pytest.mark.skipif(not {"clwb", "clflushopt"} <= FLAGS, reason="this processor has no clwb")
@pytest.mark.parametrize("flags", [["-O2"], ["-O0", "-masm=intel"]])
def test_persist_instructions_are_seen_in_every_form(cli: Cli, flags: list[str]) -> None:
    source = PROGRAMS / "encoded.c"
    if "-masm=intel" in flags:
        text = source.read_text().replace(".intel_syntax noprefix;", "").replace(".att_syntax prefix", "")
        text = text.replace('xsaveopt %0" : "+m"(LINE(0))', 'xsaveopt [rax]" : : "a"(&LINE(0)) : "memory"')
        source = cli.folder / "intel.c"
        source.write_text(text.replace("clwb (%%rsp)", "clwb [rsp]"))
    done = cli.run("cc", *flags, source, "-o", "encoded")
    assert (done.returncode, done.stderr) == (0, "")
    cli("record", "--quiet", "--out", "e.cpt", "--", "./encoded", "e.pm")
    kinds = cli.json("trace", "info", "e.cpt")["kinds"]
    seen = {name: kinds.get(name, 0) / 100 for name in ("clwb", "clflushopt", "clflush", "store-nt", "sfence", "mfence")}
    assert seen == {"clwb": 6, "clflushopt": 4, "clflush": 2, "store-nt": 2, "sfence": 3, "mfence": 1}
    flushed = {r["address"] for r in cli.json("trace", "head", "e.cpt", "-n", 3000) if r["kind"] in ("clwb", "clflush", "clflushopt")}
    lines = {int(a, 16) // 64 if isinstance(a, str) else a // 64 for a in flushed}
    assert len(lines) == 12, "eleven lines of the file, and one of the stack"


def test_what_a_locked_instruction_stores_is_recorded(cli: Cli) -> None:
    cli("cc", "-O1", PROGRAMS / "locked.c", "-o", "locked")
    cli("record", "--quiet", "--out", "l.cpt", "--", "./locked", "l.pm")
    records = pl.DataFrame(cli.json("trace", "head", "l.cpt", "-n", 1000))
    start = records.filter(pl.col("kind") == "map")["address"][-1]
    stores = records.filter((pl.col("kind") == "store") & pl.col("address").is_between(start, start + 95))
    seen = [((r["address"] - start) // 8, r["size"], r["value"]) for r in stores.iter_rows(named=True)]
    sizes = [(1, 8), (2, 4), (3, 1), (4, 2), (5, 1), (6, 4), (7, 8), (8, 8), (9, 8), (10, 8)]
    assert seen == [(n, size, 0 if n == 9 else n) for n, size in sizes]
    assert records.filter(pl.col("kind") == "mfence").height == 10, "each waits for flushes, the one on the stack too"
    info = cli.json("trace", "info", "l.cpt")
    assert (info["unseen"], info["files"][0]["observed_bytes"]) == ([], 0)


def test_what_is_not_understood_is_said_where_it_stands(cli: Cli) -> None:
    (cli.folder / "x.c").write_text(
        'int main(int n, char **v) {\n  __asm__ volatile(".byte 0x66,0x0f,0xae,0x35; .long 0f-.-4; 0:");\n'
        '  __asm__ volatile(".macro f a\\nclwb \\\\a\\n.endm\\n f (%%rsp)" :::);\n'
        '  __asm__ volatile(".byte 0xeb,0x01,0xc3; .byte 1f-0f; 0: nop; 1:" ::: "memory");\n  return n == 77;\n}\n'
    )
    done = cli.run("cc", "-O1", "-c", "x.c")
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "not recorded" in line]
    assert [line.split(": ")[0] for line in said] == ["x.c:2", "x.c:3"]
    section = subprocess.run(
        ["objcopy", "-O", "binary", "--only-section=coreplane_unseen", "x.o", "/dev/stdout"],
        cwd=cli.folder, capture_output=True, check=True,
    )
    assert section.stdout.split(b"\0")[:-1] == [
        b"x.c:2: bytes that are not understood", b"x.c:3: an operand of a macro",
    ]


@pytest.fixture
def library(cli: Cli) -> Cli:
    cli("cc", "-O2", "-fPIC", "-shared", PROGRAMS / "store_library.c", "-o", "libstore.so")
    return cli


LINKED = ["-Wl,--no-as-needed", "-L.", "-lstore", "-Wl,-rpath,."]


@pytest.mark.parametrize("hooks", [True, False], ids=["program with hooks", "program without"])
@pytest.mark.parametrize("loaded", [True, False], ids=["plug-in", "linked"])
def test_a_process_has_one_recorder(library: Cli, hooks: bool, loaded: bool) -> None:
    arguments = ["-O2", PROGRAMS / "uses_library.c", "-o", "uses", *([] if loaded else LINKED), "-ldl"]
    if hooks:
        library("cc", *arguments)
    else:
        subprocess.run(["cc", *arguments], cwd=library.folder, check=True)
    library("record", "--quiet", "--out", "u.cpt", "--", "./uses", "u.pm", *(["./libstore.so"] if loaded else []))
    kinds = library.json("trace", "info", "u.cpt")["kinds"]
    assert (kinds["clflush"], kinds["sfence"], kinds["map"]) == (100, 1, 1)
    records = library.json("trace", "head", "u.cpt", "-n", 1000)
    stores = [r for r in records if r["kind"] == "store"]
    of_library = [r for r in stores if r["location"] == "store_library.c:13 store_all"]
    assert len(of_library) == 100 and {r["value"] for r in of_library} == set(range(1000, 1100))
    assert ("uses_library.c:30 main" in {r["location"] for r in stores}) == hooks


def test_libraries_bound_to_themselves_and_several_of_them(cli: Cli) -> None:
    for name in ("store", "other"):
        source = (PROGRAMS / "store_library.c").read_text().replace("store_all", f"{name}_all")
        (cli.folder / f"{name}.c").write_text(source.replace("map_words", f"map_{name}") if name == "other" else source)
        cli("cc", "-fPIC", "-c", f"{name}.c", "-o", f"{name}.o")
        cli("cc", "-shared", "-Wl,-Bsymbolic", "-Wl,-z,defs", f"{name}.o", "-o", f"lib{name}.so")
    cli("cc", PROGRAMS / "uses_library.c", "-o", "uses", *LINKED, "-lother", "-ldl")
    cli("record", "--quiet", "--out", "u.cpt", "--", "./uses", "u.pm")
    assert cli.json("trace", "info", "u.cpt")["kinds"]["clflush"] == 100
    places = {r["location"] for r in cli.json("trace", "head", "u.cpt", "-n", 1000)}
    assert {"store.c:9 prepare", "other.c:9 prepare", "uses_library.c:30 main"} <= places


def test_every_way_to_call_a_compiler(cli: Cli) -> None:
    source = "#include <coreplane.h>\n#include <threads.h>\nint main(void) { static volatile int a; a = 1; coreplane_mark_here(5); return 0; }\n"
    (cli.folder / "a b.c").write_text(source)
    (cli.folder / "text").write_text(source)
    (cli.folder / "args").write_text('-O1 "a b.c"\n-o from_file')
    cli("cc", "@args")
    cli("cc", "-x", "c", "text", "-x", "none", "-lm", "-o", "from_text")
    done = cli.run("cc", "-x", "c", "-", "-o", "from_input", input=source)
    assert done.returncode == 0, done.stderr
    cli("c++", "-v", "-x", "c++", "text", "-o", "from_cxx")
    cli("cc", "-MD", "a b.c", "-o", "from_md")
    assert (cli.folder / "from_md-a b.d").read_text().startswith("from_md: a\\ b.c")
    cli("cc", "-c", "-MD", "-MF", "deps", "a b.c")
    assert (cli.folder / "deps").read_text().startswith("a\\ b.o: ") or (cli.folder / "deps").read_text().startswith("a b.o: ")
    cli("cc", "-r", "a b.o", "-o", "part.o")
    cli("cc", "part.o", "-o", "from_part")
    done = cli.run("cc", "-flto", "-O2", "a b.c", "-o", "from_lto")
    assert done.returncode == 0 and "-flto is left out" in done.stderr
    for program in ("file", "text", "input", "cxx", "md", "part", "lto"):
        cli("record", "--quiet", "--out", "t.cpt", "--", f"./from_{program}")
        kinds = cli.json("trace", "info", "t.cpt")["kinds"]
        assert (kinds["mark"], kinds["store"]) == (1, 1), program


def test_what_cannot_be_recorded_is_refused(cli: Cli) -> None:
    (cli.folder / "x.c").write_text("int main(void) { return 0; }\n")
    assert "C library itself" in cli.refuses("cc", "-static", "x.c")
    assert "takes the place" in cli.refuses("cc", "-fsanitize=undefined,address", "x.c")
    assert "x86-64" in cli.refuses("cc", "-m32", "x.c")
    assert "Rust" in cli.refuses("cc", "x.rs")
    text = cli("cc", "--help")
    for name in ("COREPLANE_CC", "COREPLANE_CXX", "COREPLANE_PM", "coreplane.h"):
        assert name in text


def test_names_of_cxx_are_readable_and_exceptions_arrive(cli: Cli) -> None:
    (cli.folder / "x.cpp").write_text(
        "#include <stdexcept>\n#include <map>\n"
        "namespace store { struct Table { std::map<int, int> m;\n"
        "  void insert(int k) { if (k == 77) throw std::runtime_error(\"77\"); m[k] = k; } }; }\n"
        "int main() { store::Table t; int caught = 0;\n"
        "  for (int i = 0; i < 100; i++) try { t.insert(i); } catch (const std::exception &e) { caught++; }\n"
        "  return caught == 1 && t.m.size() == 99 ? 0 : 1; }\n"
    )
    cli("c++", "-O1", "-fno-inline", "x.cpp", "-o", "x")
    cli("record", "--quiet", "--out", "x.cpt", "--", "./x")
    places = {r["location"] for r in cli.json("trace", "head", "x.cpt", "-n", 5000) if r["location"]}
    assert any(p.startswith("x.cpp:4 store::Table::insert") for p in places), places


def test_files_of_one_name_are_told_apart(cli: Cli) -> None:
    for folder in ("one", "two"):
        (cli.folder / folder).mkdir()
        (cli.folder / folder / "put.c").write_text(f"void {folder}(volatile long *at) {{\n    *at = 1;\n}}\n")
    main = "#include <fcntl.h>\n#include <sys/mman.h>\n#include <unistd.h>\nvoid one(volatile long *), two(volatile long *);\n"
    main += 'int main(void) {\n    int fd = open("f.pm", O_RDWR | O_CREAT, 0600);\n    if (ftruncate(fd, 4096)) return 3;\n'
    main += "    long *at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);\n    one(at), two(at + 8), *(volatile long *)at = 2;\n}\n"
    (cli.folder / "main.c").write_text(main)
    cli("cc", "-g", "main.c", "one/put.c", "two/put.c", "-o", "put")
    cli("record", "--quiet", "--out", "p.cpt", "--", "./put")
    places = {r["location"] for r in cli.json("trace", "head", "p.cpt", "-n", 1000) if r["kind"] == "store"}
    assert {"one/put.c:2 one", "two/put.c:2 two", "main.c:9 main"} <= places, places


def instructions(cli: Cli, *command: object) -> int:
    cli("record", "--quiet", "--out", "w.parquet", "--", *command)
    return int(pl.read_parquet(cli.folder / "w.parquet")["instructions"].sum())


@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-O2", "-fPIC"]])
def test_work_between_persists_is_counted(cli: Cli, flags: list[str]) -> None:
    cli("cc", *flags, PROGRAMS / "work.c", "-o", "work")
    none, some, more = (instructions(cli, "./work", "w.pm", rounds) for rounds in (0, 100, 200))
    assert (more - some) % (1000 * 100) == 0, "each round of the loop has as many instructions"
    assert 3 <= (more - some) / (1000 * 100) <= 12
    assert 1000 * 5 < none < 1000 * 40 < some


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_counts_are_those_of_the_native_program(cli: Cli) -> None:
    for flags, tolerance in ((["-O0"], 0.02), (["-O2"], 0.02)):
        cli("cc", *flags, PROGRAMS / "work.c", "-o", "work")
        subprocess.run(["cc", *flags, PROGRAMS / "work.c", "-o", "native"], cwd=cli.folder, check=True)
        counted = instructions(cli, "./work", "w.pm", 1000)
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=main", "./native", "w.pm", "1000"],
            cwd=cli.folder, capture_output=True, text=True, check=False,
        )
        native = int(re.search(r"Collected : (\d+)", done.stderr)[1])
        assert abs(counted - native) < tolerance * native


@pytest.mark.parametrize("compiler", ["cc", "clang"])
@pytest.mark.parametrize("flags", [["-O0"], ["-O1"], ["-O2"], ["-O3", "-fPIC"], ["-O2", "-fPIC", "-fcf-protection"]])
def test_counting_changes_neither_flags_nor_registers(cli: Cli, compiler: str, flags: list[str]) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    env = os.environ | {"COREPLANE_CC": compiler}
    done = cli.run("cc", *flags, PROGRAMS / "flags.c", "-o", "counted", env=env)
    assert done.returncode == 0, done.stderr
    subprocess.run([compiler, "-O2", PROGRAMS / "flags.c", "-o", "native"], cwd=cli.folder, check=True)
    said = [subprocess.run([f"./{p}"], cwd=cli.folder, capture_output=True, check=True).stdout for p in ("counted", "native")]
    assert said[0] == said[1] != b""


@pytest.mark.parametrize("compiler", ["cc", "clang"])
def test_a_fence_is_no_warning(cli: Cli, compiler: str) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    env = os.environ | {"COREPLANE_CC": compiler}
    (cli.folder / "fence.c").write_text("#include <stdatomic.h>\nint main(void) { atomic_thread_fence(memory_order_acquire); return 0; }\n")
    for flags in (["-c"], ["-o", "fence"], ["-Wtsan", "-c"] if compiler == "cc" else ["-O2", "-c"]):
        done = cli.run("cc", "-Wall", "-Wextra", "-Werror", *flags, "fence.c", env=env)
        assert (done.returncode, done.stderr) == (0, "")


def test_without_arguments_the_compiler_says_what_is_missing(cli: Cli) -> None:
    own, ours = subprocess.run("cc", capture_output=True, text=True), cli.run("cc")
    assert (ours.returncode, ours.stdout) == (own.returncode, own.stdout) == (1, "")
    assert own.stderr.strip() in ours.stderr


def test_a_folder_that_cannot_be_written_is_named_with_what_to_do(cli: Cli) -> None:
    (cli.folder / "a.c").write_text("int main(void) { return 0; }\n")
    cli("cc", "a.c", "-o", "a")
    why = r"No such file or directory \(os error 2\)"
    said = cli.run("cc", "a.c", "-o", "a", env=os.environ | {"XDG_CACHE_HOME": "/proc/none"})
    text = rf"coreplane: /proc/none/coreplane/\w{{16}}\.\d+: {why}; the recorder is built there: name a folder that can be written to in XDG_CACHE_HOME\n"
    assert said.returncode == 2 and re.fullmatch(text, said.stderr), said.stderr
    said = cli.run("cc", "a.c", "-o", "a", env=os.environ | {"TMPDIR": "/proc"})
    text = rf"coreplane: /proc/coreplane-cc-\d+: {why}; objects are made there: name a folder that can be written to in TMPDIR\n"
    assert said.returncode == 2 and re.fullmatch(text, said.stderr), said.stderr


def test_building_the_recorder_is_told_and_what_a_killed_build_left_goes(cli: Cli) -> None:
    # It says what it is, and which signals it ignores, and compiles nothing.
    compiler = cli.folder / "compiler"
    compiler.write_text("#!/bin/sh\ncase $1 in\n--version) echo 'cc (own) 12.1';;\n-print*) echo /usr/bin/as;;\n*) grep SigIgn /proc/$$/status >signals; exit 1;;\nesac\n")
    compiler.chmod(0o755)
    dead = subprocess.Popen(["true"])
    dead.wait()
    cache = cli.folder / "cache/coreplane"
    left = {what: cache / f"{'a1' * 8}.{process}" for what, process in {"dead": dead.pid, "living": os.getpid()}.items()}
    for folder in [*left.values(), cache / "measured"]:
        (folder / "below").mkdir(parents=True)
    done = cli.run("cc", "a.c", env=os.environ | {"XDG_CACHE_HOME": cli.folder / "cache", "COREPLANE_CC": str(compiler)})
    told, failed = done.stderr.splitlines()
    assert done.returncode == 2 and re.fullmatch(rf"coreplane: building the recorder, once, in {cache}/\w{{16}}", told), done.stderr
    assert failed.startswith(f"coreplane: {compiler} failed")
    assert sorted(cache.iterdir()) == sorted([left["living"], cache / "measured"]), "its own goes too"
    # A program that is started ends where a file may not grow, although the command does not.
    ignored = int((cli.folder / "signals").read_text().split()[1], 16)
    assert not ignored >> signal.SIGXFSZ - 1 & 1
