"""Programs without hooks, recorded while Valgrind executes them: counts are exact, and files come out byte for byte."""

import json
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, Cli, Core
from test_recorder import PROGRAMS, Recording, number_of, same

TOOL = ROOT / "capture/valgrind"


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It is compiled in a second or two."""
    built = tmp_path_factory.mktemp("valgrind") / "tool"
    done = subprocess.run([TOOL / "build", built], capture_output=True, text=True, check=False)
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    return built


@pytest.fixture
def binary(cli: Cli, tool: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("COREPLANE_VALGRIND", str(tool))
    monkeypatch.setenv("PMEM_IS_PMEM_FORCE", "1")
    return cli


def compile_c(cli: Cli, name: str, *flags: object, source: Path | None = None) -> None:
    command = ["cc", "-O1", "-w", "-pthread", source or PROGRAMS / f"{name}.c", "-o", name, *flags]
    subprocess.run(list(map(str, command)), cwd=cli.folder, check=True)


def info(cli: Cli, *command: object, out: str = "t.cpt", memory: str = "pm") -> dict:
    """Records a command, and says what the recording holds; what it does not explain is an error."""
    cli("record", "--quiet", "--out", out, "--memory", memory, "--", *command)
    found = cli.json("trace", "info", out)
    assert found["differs"] == []
    return found


def file_of(found: dict, path: Path) -> dict:
    return next(f for f in found["files"] if f["path"] == str(path))


def test_code_that_is_written_through_another_mapping_is_executed_as_it_is(binary: Cli) -> None:
    compile_c(binary, "written_code")
    said = json.loads(binary("record", "--format", "json", "--out", "t.cpt", "--", "./written_code", "a.bin"))
    assert said["exit_code"] == 0
    same(binary, Recording(binary, "t.cpt"), "a.bin")


def test_counts_are_exact_and_the_file_is_the_one_that_was_left(binary: Cli) -> None:
    compile_c(binary, "counted")
    done = binary.run("record", "--quiet", "--out", "t.cpt", "--", "./counted", "c.pm")
    wanted = json.loads(done.stdout)
    found = binary.json("trace", "info", "t.cpt")
    assert {kind: found["kinds"][kind] for kind in wanted if kind != "stores"} == {k: n for k, n in wanted.items() if k != "stores"}
    assert file_of(found, binary.folder / "c.pm")["stores"] == wanted["stores"]
    assert found["kinds"]["create"] == found["kinds"]["join"] == 4 and len(found["threads"]) == 5
    same(binary, Recording(binary, "t.cpt"), "c.pm")
    left = (binary.folder / "c.pm").read_bytes()
    Core(binary.folder)("run", "eadr", "trace:t.cpt", "--no-bands", "--power-fails-at", "1 s", "--out", "o")
    assert (binary.folder / "o/image.pm").read_bytes().ljust(len(left), b"\0") == left


def test_every_way_to_change_a_file_is_seen(binary: Cli) -> None:
    (binary.folder / "old").write_bytes(bytes(range(256)) * 20)
    (binary.folder / "gone").write_bytes(b"soon")
    compile_c(binary, "changes")
    info(binary, "./changes", "old", "new")
    r = Recording(binary, "t.cpt")
    same(binary, r, "old", "new", "new.copy")
    assert r.images()[str(binary.folder / "new.tmp")] == (binary.folder / "new.last").read_bytes()
    calls = {number_of(x["value"]) & 0xFF for x in r.records if x["kind"] == "call"}
    assert calls >= {1, 2, 4, 5, 7, 8, 9, 16, 17, 18}
    assert not r.of("unseen")


def test_what_hooks_only_observe_is_seen_as_stores(binary: Cli) -> None:
    compile_c(binary, "unhooked")
    for memory in ("all", "pm"):
        found = info(binary, "./unhooked", "u.pm", out=f"{memory}.cpt", memory=memory)
        assert "observed" not in found["kinds"] and not found["unseen"]
        assert file_of(found, binary.folder / "u.pm")["stores"] > 0
    everything = binary.json("trace", "info", "all.cpt")
    assert everything["instructions"] == found["instructions"] and everything["records"] > 100 * found["records"]


def test_memory_that_is_not_asked_for_is_left_out(binary: Cli) -> None:
    compile_c(binary, "counted")
    everything = info(binary, "./counted", "a.pm", memory="all")
    files = info(binary, "./counted", "b.pm")
    counts = [file_of(f, binary.folder / name) for f, name in ((everything, "a.pm"), (files, "b.pm"))]
    assert counts[0]["stores"] == counts[1]["stores"] and counts[0]["flushes"] == counts[1]["flushes"]
    assert files["kinds"].get("load", 0) + files["kinds"]["store"] <= counts[1]["stores"] + counts[1]["loads"]
    assert "outside of mapped files" in files["lacks"] and not everything["lacks"]
    binary("record", "--quiet", "--out", "t.cpt", "--memory", "10-20", "--", "./counted", "n.pm")
    nothing = binary.json("trace", "info", "t.cpt")
    kinds = nothing["kinds"]
    assert kinds.get("store", 0) + kinds.get("clwb", 0) == 0 and kinds["sfence"] == everything["kinds"]["sfence"]
    assert nothing["differs"] and "10-20" in nothing["lacks"], "the file has what was not recorded"


def test_places_in_the_source_are_named(binary: Cli) -> None:
    named = []
    for flags in (["-g"], [], ["-s"]):
        compile_c(binary, "counted", *flags)
        info(binary, "./counted", "c.pm")
        named.append({r["location"] for r in binary.json("trace", "head", "t.cpt", "-n", 5000) if r["kind"] == "clwb"})
    assert len(named[0]) == 2 and all(place.startswith("counted.c:") and place.endswith(" work") for place in named[0])
    assert len(named[1]) == 2 and all(place.startswith("counted work+0x") for place in named[1]), "the function, where no line is known"
    assert len(named[2]) == 2 and all(place.startswith("counted+0x") for place in named[2]), "the address, where not even that is"


#: A library of which the end has no symbol once it is stripped; a store by the C library; a call as Go makes it.
CALLERS = r"""
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define ALONE __attribute__((noinline, noclone))
static long behind(int fd, const char *text);
static long (*volatile called)(int, const char *) = behind;
ALONE long enter(long number, long a, long b, long c) __asm__("syscall.Syscall6");
ALONE long enter(long number, long a, long b, long c) {
    long done;
    __asm__ volatile("syscall" : "=a"(done) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return done + 1;
}
ALONE long put_file(int fd, const char *text) __asm__("os.put");
ALONE long put_file(int fd, const char *text) { return enter(SYS_write, fd, (long)text, 8) + 1; }
ALONE long saves(int fd, const char *text) { return put_file(fd, text) + 1; }
ALONE void copies(char *page, const char *text, unsigned long bytes) {
    memcpy(page, text, bytes);
    page[0] = 'm';
}
long all(const char *name, unsigned long bytes) {
    char text[3000] = "contents";
    int fd = open(name, O_RDWR | O_CREAT, 0644);
    long done = called(fd, text) + saves(fd, text);
    if (ftruncate(fd, 4096)) return 0;
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memset(text, 'x', sizeof text);
    copies(page, text, bytes);
    copies(page + 1024, text, bytes - 8);
    return done + fsync(fd);
}
__attribute__((section(".text.behind"))) static ALONE long behind(int fd, const char *text) { return write(fd, text, 8) + 1; }
#ifndef LIBRARY
int main(int count, char **words) { return all(words[1], 999 + count) != 8 + 1 + 8 + 3; }
#endif
"""


def test_places_are_those_of_callers_where_a_library_does_as_it_is_told(binary: Cli) -> None:
    (binary.folder / "called.c").write_text(CALLERS)
    compile_c(binary, "called", "-g", "-fno-builtin", source=binary.folder / "called.c")
    info(binary, "./called", "c.pm")
    records = binary.json("trace", "head", "t.cpt", "-n", 9000)
    places = {kind: {r["location"].split()[-1] for r in records if r["kind"] == kind} for kind in ("written", "store")}
    assert places == {"written": {"behind", "saves"}, "store": {"copies"}}, places


def test_code_behind_the_last_function_of_a_stripped_library_has_no_function(binary: Cli) -> None:
    (binary.folder / "called.c").write_text(CALLERS)
    compile_c(binary, "libcalled.so", "-s", "-fPIC", "-shared", "-DLIBRARY", source=binary.folder / "called.c")
    (binary.folder / "main.c").write_text('long all(); int main() { return all("c.pm", 1000) != 20; }')
    compile_c(binary, "main", "-L.", "-lcalled", "-Wl,-rpath,.", source=binary.folder / "main.c")
    info(binary, "./main")
    written = {r["location"] for r in binary.json("trace", "head", "t.cpt", "-n", 9000) if r["kind"] == "written"}
    assert len(written) == 2 and "libcalled.so saves" in written, written
    assert any(place.startswith("libcalled.so+0x") for place in written), written


APART = """
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#define APART __attribute__((section("text_apart"), noinline))
#ifdef LIBRARY
APART void writes(int fd) { if (pwrite(fd, "0123456789", 10, 0) != 10) _exit(1); __asm__ volatile(""); }
APART void stores(volatile char *p) { *p = 'x'; __asm__ volatile(""); }
#else
void writes(int fd);
void stores(volatile char *p);
int main() {
    int fd = open("a.pm", O_RDWR | O_CREAT, 0644);
    if (ftruncate(fd, 4096)) return 1;
    writes(fd);
    stores(mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    return 0;
}
#endif
"""


def test_code_of_a_section_of_its_own_has_its_name(binary: Cli) -> None:
    (binary.folder / "apart.c").write_text(APART)
    compile_c(binary, "libapart.so", "-fPIC", "-shared", "-DLIBRARY", source=binary.folder / "apart.c")
    compile_c(binary, "main", "-L.", "-lapart", "-Wl,-rpath,.", source=binary.folder / "apart.c")
    info(binary, "./main")
    records = binary.json("trace", "head", "t.cpt", "-n", 9000)
    places = {kind: {r["location"] for r in records if r["kind"] == kind} for kind in ("written", "store")}
    assert places == {"written": {"libapart.so writes"}, "store": {"libapart.so stores"}}, places


@pytest.mark.skipif(not Path("/usr/include/libpmemobj.h").exists(), reason="libpmemobj is not installed")
def test_who_has_libpmem_sync_pages_hears_what_does_not_show(binary: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_c(binary, "pmemobj", "-lpmemobj")
    assert "PMEM_IS_PMEM_FORCE" not in str(info(binary, "./pmemobj", "o.pm")["notes"])
    monkeypatch.delenv("PMEM_IS_PMEM_FORCE")
    notes = info(binary, "./pmemobj", "p.pm")["notes"]
    assert [note for note in notes if "a flush or drain that is missing does not show" in note], notes


@pytest.mark.skipif(not Path("/usr/include/libpmemobj.h").exists(), reason="libpmemobj is not installed")
def test_stores_of_the_distributions_libpmemobj_are_seen(binary: Cli) -> None:
    compile_c(binary, "pmemobj", "-lpmemobj")
    found = info(binary, "./pmemobj", "o.pm")
    assert found["kinds"]["clwb"] > 1000 and found["kinds"]["sfence"] > 20 and not found["unseen"]
    assert found["kinds"]["store-nt"] > 0 and "observed" not in found["kinds"]


@pytest.mark.parametrize("bug", [False, True], ids=["as shipped", "a fence less"])
def test_a_crash_is_judged_with_the_marks_of_a_program_without_hooks(binary: Cli, bug: bool) -> None:
    flags = ["-g", "-I", ROOT / "capture", *(["-DBUG"] if bug else [])]
    compile_c(binary, "kv", *flags, source=ROOT / "examples/kv/kv.c")
    found = info(binary, "./kv", "kv.pm", 1, 40, ROOT / "LICENSE-APACHE")
    assert found["kinds"]["mark"] > 20 and found["kinds"]["order"] > 20
    check = f"{binary.folder}/kv --check {{image}} {{acknowledged}}"
    done = binary.run("crash", "intel", "trace:t.cpt", "--points", 30, "--images", 8, "--check", check)
    assert done.returncode == int(bug), done.stdout
    assert not bug or "kv.c:" in done.stdout


DECLARED = """
#include <coreplane.h>
#include <stdlib.h>
int main() {
    volatile long *words = aligned_alloc(4096, 4096);
    coreplane_is_persistent((void *)words, 4096);
    for (int i = 0; i < 100; i++) words[i] = i;
    coreplane_mark_here(7);
    return 0;
}
"""


def test_declared_memory_is_kept_without_a_file(binary: Cli) -> None:
    (binary.folder / "declared.c").write_text(DECLARED)
    compile_c(binary, "declared", "-I", ROOT / "capture", source=binary.folder / "declared.c")
    found = info(binary, "./declared")
    assert found["pm_stores"] == 100 and found["kinds"]["store"] == 100 and found["kinds"]["mark"] == 1


def test_exec_is_followed_and_children_are_named(binary: Cli) -> None:
    compile_c(binary, "counted")
    found = info(binary, "sh", "-c", "/bin/true; exec ./counted c.pm")
    assert found["kinds"]["clwb"] == 400 and found["notes"] == [], "what sh did before is not a part of it"
    (binary.folder / "script").write_text("#!/bin/sh\nexec ./counted s.pm\n")
    (binary.folder / "script").chmod(0o755)
    assert info(binary, "./script")["kinds"]["clwb"] == 400
    found = info(binary, "sh", "-c", "./counted d.pm; echo")
    assert "clwb" not in found["kinds"]
    assert found["notes"] == ["it starts other processes, of which nothing is recorded (--trace-per-process records each)"]


AVX512 = """
#include <immintrin.h>
int main(int n, char **v) { _mm512_storeu_si512((void *)v[0], _mm512_set1_epi8((char)n)); return 0; }
"""


def test_what_cannot_be_recorded_is_said(binary: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (binary.folder / "wide.c").write_text(AVX512)
    compile_c(binary, "wide", "-mavx512f", source=binary.folder / "wide.c")
    said = binary.refuses("record", "--out", "t.cpt", "--", "./wide")
    assert "AVX-512" in said and "x86-64-v3" in said
    assert "FROM-TO" in binary.refuses("record", "--memory", "some", "--", "./wide")
    (binary.folder / "empty.c").write_text("int main() { return 0; }")
    binary("cc", "empty.c", "-o", "hooked")
    done = json.loads(binary("record", "--quiet", "--format", "json", "--out", "t.cpt", "--", "env", "A=1", "./hooked"))
    assert done["route"] == "hooks"
    assert "COREPLANE_PM" in binary.refuses("record", "--memory", "pm", "--", "./hooked")
    monkeypatch.setenv("COREPLANE_VALGRIND", "absent")
    assert "absent: there is no" in binary.refuses("record", "--", "true")
    monkeypatch.delenv("COREPLANE_VALGRIND")
    monkeypatch.setenv("XDG_CACHE_HOME", str(binary.folder))
    assert "capture/valgrind/build" in binary.refuses("record", "--", "true")


def test_nothing_of_it_is_linked_into_the_rest() -> None:
    """Its licence is another one."""
    assert "GNU General Public License" in (TOOL / "main.c").read_text()
    embedded = (ROOT / "crates/face/cli/src/cc_cache.rs").read_text()
    assert "valgrind" not in embedded
    for source in (ROOT / "capture/runtime").glob("*.h"):
        assert "pub_tool" not in source.read_text()


@pytest.fixture(scope="module")
def robust(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cli = Cli(tmp_path_factory.mktemp("robust"))
    compile_c(cli, "robust")
    return cli.folder / "robust"


@pytest.mark.parametrize(
    ("case", "code", "text", "threads"),
    [("moved", 0, "1\n", 1), ("destructors", 0, "18\n", 4), ("quick", 8, "quick\n", 1), ("last", 0, "", 2)],
)  # fmt: skip
def test_right_programs_end_as_they_would_alone(binary: Cli, robust: Path, case: str, code: int, text: str, threads: int) -> None:
    printed = binary("record", "--quiet", "--format", "json", "--memory", "pm", "--out", "r.cpt", "--", robust, case, "r.pm")
    assert json.loads(printed.removeprefix(text))["exit_code"] == code
    found = binary.json("trace", "info", "r.cpt")
    assert found["differs"] == [] and found["kinds"]["start"] == found["kinds"]["end"] == threads
