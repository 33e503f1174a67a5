"""Programs as a distribution ships them, and as compilers of other languages make them, recorded as they are and run on every kind of machine."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import COREPLANE, ROOT, Cli, crate
from test_binaries import binary, compile_c, file_of, info, tool  # noqa: F401
from test_real_programs import DRIVERS, EXAMPLES, TABLES
from test_recorder import Recording, same
from test_regions import _ask, _connect

#: Caches that flush, persist buffers, caches that persist, DRAM before NAND, hidden persistent memory, memory behind a link.
MACHINES = ("intel", "asap-rp", "eadr", "nvdimmc-poc", "pberry", "amf")


def runs_everywhere(cli: Cli, stores: int) -> None:
    """At least so many stores to persistent memory are made on each machine."""
    for machine in MACHINES:
        told = cli.json("run", machine, "trace:t.cpt", "--no-bands", "--quiet")
        # A memory device that is asked for pages counts these.
        assert told["time_ns"] > 0 and told["references"] >= (1 if machine == "amf" else stores), machine


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="sqlite3 is not installed")
def test_sqlite3(binary: Cli) -> None:  # noqa: F811
    script = "pragma journal_mode=wal; create table t(a, b); insert into t values (1, 2), (3, 4); select a + b from t"
    found = info(binary, "sqlite3", "f.db", script)
    assert found["calls"]["fdatasync"] >= 2
    assert file_of(found, binary.folder / "f.db")["written_bytes"] >= 4096
    same(binary, Recording(binary, "t.cpt"), "f.db")
    runs_everywhere(binary, file_of(found, binary.folder / "f.db-shm")["stores"])
    recovers(binary, "f.db", 'sqlite3 {image} "pragma integrity_check" | grep -qx ok')


def recovers(cli: Cli, file: str, check: str) -> None:
    """The program's own recovery copes with what power failures leave."""
    found = cli.json("crash", "intel", "trace:t.cpt", "--file", file, "--points", 40, "--images", 8, "--check", check)
    assert found["clean"] and found["model_images"]["points"] > 3, found


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
def test_redis_with_a_log_that_is_synced(binary: Cli) -> None:  # noqa: F811
    server = ["redis-server", "--port", "0", "--unixsocket", "s", "--save", "", "--appendonly", "yes", "--appendfsync", "always"]
    command = [COREPLANE, "record", "--quiet", "--memory", "pm", "--out", "t.cpt", "--", *server]
    with subprocess.Popen(command, cwd=binary.folder, stdout=subprocess.DEVNULL) as running, socket.socket(socket.AF_UNIX) as client:
        _connect(client, binary.folder / "s", running)
        for key in range(5):
            client.sendall(b"set key:%d value\r\n" % key)
            assert client.recv(100) == b"+OK\r\n"
        client.sendall(b"shutdown\r\n")
    assert running.returncode == 0
    found = binary.json("trace", "info", "t.cpt")
    assert found["differs"] == [] and found["calls"]["fdatasync"] >= 5, "each answer is durable"
    log = next((binary.folder / "appendonlydir").glob("*.incr.aof"))
    assert file_of(found, log)["written_bytes"] == log.stat().st_size
    runs_everywhere(binary, 5)
    recovers(binary, log.name, "[ ! -e {image} ] || yes | redis-check-aof --fix {image}")


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
def test_times_of_requests_of_a_redis_with_all_of_its_memory_on_a_device(binary: Cli) -> None:  # noqa: F811
    ycsb = ROOT / "examples/ycsb"
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{ROOT / 'capture'}", ycsb / "requests.c", "-o", "requests.so"], cwd=binary.folder, check=True)
    told = {"REGION": "101,106,126", "LD_PRELOAD": str(binary.folder / "requests.so")}
    server = ["redis-server", "--port", "0", "--unixsocket", "s", "--save", ""]
    command = [COREPLANE, "record", "--quiet", "--region", "--out", "t.cpt", "--", *server]
    with subprocess.Popen(command, cwd=binary.folder, env=os.environ | told, stdout=subprocess.DEVNULL) as running:
        subprocess.run([sys.executable, ycsb / "ycsb.py", binary.folder / "s", "50", "30"], check=True)
    assert running.returncode == 0
    found = binary.json("run", "cmmh", "trace:t.cpt", "--set", "workload.pm=all", "--no-bands", "--quiet")["stats"]
    assert found["cpu.operations"] == 20 and found["memory.reads"] > 20
    # Thousands of instructions, and some lines of the device.
    assert 2_000 < found["operation.time.p50"] < 200_000


@pytest.mark.skipif(not shutil.which("memcached"), reason="memcached is not installed (Debian: apt install memcached)")
def test_memcached_with_its_items_in_a_mapped_file(binary: Cli) -> None:  # noqa: F811
    # Valgrind keeps twelve descriptors, and the server wants to set as many as there may be.
    server = ["memcached", "-s", "s", "-t", "1", "-c", "1024", "-m", "2", "-f", "1000", "-n", "400", "-e", "items.pm", *(["-u", "root"] if os.getuid() == 0 else [])]
    command = ["prlimit", "--nofile=1036:1036", COREPLANE, "record", "--quiet", "--memory", "pm", "--out", "t.cpt", "--", *server]
    with subprocess.Popen(command, cwd=binary.folder) as running, socket.socket(socket.AF_UNIX) as client:
        _connect(client, binary.folder / "s", running)
        for key in range(20):
            assert _ask(client, b"set k%d 0 0 5\r\nvalue\r\n" % key) == b"STORED\r\n"
        client.close()
        # It keeps what it has for the next one that is started.
        os.kill(_server_of(running), signal.SIGUSR1)
    assert running.returncode == 0
    found = binary.json("trace", "info", "t.cpt")
    items = file_of(found, binary.folder / "items.pm")
    assert found["differs"] == [] and items["stores"] > 100
    assert b"k19" in (binary.folder / "items.pm").read_bytes()
    runs_everywhere(binary, items["stores"])


def _server_of(recording: subprocess.Popen) -> int:
    children = Path(f"/proc/{recording.pid}/task/{recording.pid}/children").read_text().split()
    return int(children[0])


@pytest.mark.skipif(not Path("/usr/lib/x86_64-linux-gnu/liblmdb.so.0").exists(), reason="liblmdb0 is not installed")
def test_a_program_with_the_shared_lmdb(binary: Cli) -> None:  # noqa: F811
    # The package with the header may be missing: the same interface is in the source that other tests compile.
    header = crate("lmdb", "lmdb-master-sys") / "lmdb/libraries/liblmdb"
    compile_c(binary, "lmdb", "-I", header, "-l:liblmdb.so.0")
    found = info(binary, "./lmdb", "d.mdb")
    assert found["calls"]["fdatasync"] >= 3 and found["calls"]["write"] >= 3
    same(binary, Recording(binary, "t.cpt"), "d.mdb")
    runs_everywhere(binary, 3)


@pytest.mark.skipif(not EXAMPLES.exists(), reason="libpmemobj-dev is not installed")
@pytest.mark.parametrize("name", TABLES)
def test_the_maps_that_come_with_libpmemobj(binary: Cli, name: str) -> None:  # noqa: F811
    source, _, _, define = TABLES[name]
    flags = [define, "-I", ROOT / "capture", "-I", source.parent, "-I", EXAMPLES, source, "-lpmemobj"]
    compile_c(binary, "program", *flags, source=DRIVERS / "tables.c")
    found = info(binary, "./program", "m.pm")
    pool = file_of(found, binary.folder / "m.pm")
    assert found["kinds"]["clwb"] > 1000 and pool["stores"] > 1000 and not found["unseen"]
    same(binary, Recording(binary, "t.cpt"), "m.pm")
    runs_everywhere(binary, pool["stores"])


@pytest.mark.skipif(not EXAMPLES.exists(), reason="libpmemobj-dev is not installed")
def test_the_map_example_of_libpmemobj(binary: Cli) -> None:  # noqa: F811
    parts = [EXAMPLES / part for part in ("map", "tree_map", "hashmap", "list_map")]
    sources = [source for part in parts for source in part.glob("*.c") if source.name not in ("kv_server.c", "data_store.c", "mapcli.c")]
    folders = [flag for folder in (DRIVERS, EXAMPLES, *parts) for flag in ("-I", folder)]
    compile_c(binary, "mapcli", *folders, *sources, "-lpmemobj", source=EXAMPLES / "map/mapcli.c")
    (binary.folder / "words").write_text("i 1\ni 2\ni 3\nr 2\nq\n")
    found = info(binary, "sh", "-c", "exec ./mapcli rbtree m.pm <words")
    pool = file_of(found, binary.folder / "m.pm")
    assert found["kinds"]["clwb"] > 40_000 and pool["stores"] > 40_000 and not found["unseen"]
    same(binary, Recording(binary, "t.cpt"), "m.pm")
    runs_everywhere(binary, pool["stores"])


RUST = """
use std::{fs::File, io::Write, sync::Mutex, thread};
fn main() {
    let all = Mutex::new(Vec::new());
    thread::scope(|s| (0..3).for_each(|t| _ = s.spawn({ let all = &all; move || (0..50).for_each(|i| all.lock().unwrap().push(i * t)) })));
    let mut file = File::create("r.txt").unwrap();
    all.lock().unwrap().iter().for_each(|n: &u32| writeln!(file, "{n}").unwrap());
    file.sync_all().unwrap();
}
"""


def test_a_rust_program(binary: Cli) -> None:  # noqa: F811
    (binary.folder / "r.rs").write_text(RUST)
    subprocess.run(["rustc", "--edition", "2021", "-O", "r.rs", "-o", "rust"], cwd=binary.folder, check=True)
    found = info(binary, "./rust")
    assert found["kinds"]["create"] == 3 and found["calls"]["fsync"] == 1
    same(binary, Recording(binary, "t.cpt"), "r.txt")
    runs_everywhere(binary, 1)


GO = """
package main
import ("os"; "sync"; "syscall"; "unsafe")
func main() {
    file, _ := os.OpenFile("g.pm", os.O_RDWR | os.O_CREATE, 0644)
    file.Truncate(32768)
    memory, _ := syscall.Mmap(int(file.Fd()), 0, 32768, 3, 1)
    var all sync.WaitGroup
    for t := 0; t < 4; t++ {
        all.Add(1)
        go func(t int) {
            defer all.Done()
            for i := 0; i < 1000; i++ { *(*uint64)(unsafe.Pointer(&memory[8*(t*1000+i)])) = uint64(t + i) }
        }(t)
    }
    all.Wait()
    syscall.Syscall(syscall.SYS_MSYNC, uintptr(unsafe.Pointer(&memory[0])), 32768, 4)
}
"""


@pytest.mark.skipif(not shutil.which("go"), reason="Go is not installed")
def test_a_go_program(binary: Cli) -> None:  # noqa: F811
    (binary.folder / "g.go").write_text(GO)
    env = os.environ | {"GO111MODULE": "off", "GOFLAGS": "", "GOTOOLCHAIN": "local"}
    subprocess.run(["go", "build", "-o", "gone", "g.go"], cwd=binary.folder, env=env, check=True, timeout=300)
    found = info(binary, "./gone")
    assert file_of(found, binary.folder / "g.pm")["stores"] == 4000 and found["calls"]["msync"] == 1
    same(binary, Recording(binary, "t.cpt"), "g.pm")
    runs_everywhere(binary, 4000)


#: What is done in line, by way of the standard library, in a thread, and through the program's own writer.
RUST_OF_FILES = """
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
#[inline(never)]
fn publish(f: &File) {
    f.write_all_at(&[7; 8], 0).unwrap();
    f.sync_data().unwrap();
}
struct Log(BufWriter<File>);
impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}
fn main() {
    let f = File::create("r.db").unwrap();
    publish(&f);
    std::thread::spawn(move || {
        f.write_all_at(&[9; 8], 4096).unwrap();
        f.sync_all().unwrap();
        let mut log = Log(BufWriter::new(f));
        writeln!(log, "{} {}", 1, 2).unwrap();
        log.flush().unwrap();
    })
    .join()
    .unwrap();
    fs::write("r.tmp", b"abc").unwrap();
    fs::rename("r.tmp", "r.txt").unwrap();
}
"""


@pytest.mark.skipif(not shutil.which("rustc"), reason="Rust is not installed")
@pytest.mark.parametrize("options", [["-O"], [], ["-O", "-C", "symbol-mangling-version=v0"]])
def test_calls_of_a_rust_program_are_those_of_its_own_lines(binary: Cli, options: list[str]) -> None:  # noqa: F811
    (binary.folder / "r.rs").write_text(RUST_OF_FILES)
    subprocess.run(["rustc", "-g", *options, "r.rs"], cwd=binary.folder, check=True, timeout=300)
    info(binary, "./r")
    records = binary.json("trace", "head", "--records", 9999, "t.cpt")
    places = {r["location"] for r in records if r["kind"] in ("call", "written")}
    assert places and all(place.startswith("r.rs:") for place in places), places
    lines = {int(place.split(":")[1].split()[0]) for place in places}
    assert lines >= {7, 8, 23, 24, 31, 32}, places


#: Four workers take jobs from a queue; each third job throws, which the worker catches; what is done is stored, flushed and fenced.
POOL = """
#include <condition_variable>
#include <deque>
#include <fcntl.h>
#include <functional>
#include <immintrin.h>
#include <mutex>
#include <stdexcept>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>
int main() {
    int fd = open("pool.pm", O_RDWR | O_CREAT, 0600);
    if (ftruncate(fd, 65536)) return 1;
    auto *words = static_cast<volatile long *>(mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    std::deque<std::function<void()>> jobs;
    std::mutex lock;
    std::condition_variable any;
    bool over = false;
    std::vector<std::thread> workers;
    for (int i = 0; i < 4; i++) workers.emplace_back([&] {
        for (;;) {
            std::unique_lock held(lock);
            any.wait(held, [&] { return over || !jobs.empty(); });
            if (jobs.empty()) return;
            auto job = std::move(jobs.front());
            jobs.pop_front();
            held.unlock();
            try { job(); } catch (const std::runtime_error &) {}
        }
    });
    for (int n = 0; n < 300; n++) {
        std::lock_guard held(lock);
        jobs.emplace_back([=] {
            if (n % 3 == 0) throw std::runtime_error("no");
            words[n * 8] = n;
            _mm_clwb(const_cast<long *>(&words[n * 8]));
            _mm_sfence();
        });
        any.notify_one();
    }
    { std::lock_guard held(lock); over = true; any.notify_all(); }
    for (auto &worker : workers) worker.join();
}
"""


def test_a_cpp_program_with_exceptions_and_a_pool_of_threads(binary: Cli) -> None:  # noqa: F811
    (binary.folder / "pool.cpp").write_text(POOL)
    subprocess.run(["c++", "-std=c++17", "-O2", "-mclwb", "-pthread", "pool.cpp", "-o", "pool"], cwd=binary.folder, check=True)
    found = info(binary, "./pool")
    pool = file_of(found, binary.folder / "pool.pm")
    assert pool["stores"] == found["kinds"]["clwb"] == 200 and found["kinds"]["sfence"] >= 200
    assert len(found["threads"]) == 5 and found["kinds"]["create"] == found["kinds"]["join"] == 4
    same(binary, Recording(binary, "t.cpt"), "pool.pm")
    runs_everywhere(binary, 200)
