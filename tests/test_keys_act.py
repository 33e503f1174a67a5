"""Every key that a machine shows moves something in one of a few small programs: the time, a statistic, what a power failure leaves, or whether the program can run.

A key is moved on the first machine with its ordering model, or its kind of memory (``PARTS``), and with ``COREPLANE_NIGHTLY`` on every machine.
What a machine at page fidelity has measured for it at line fidelity is moved there, and NVDIMM-C's keys where it stands alone.
"""

import functools
import json
import os
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any, NamedTuple

import pytest

import coreplane as cp
from conftest import Cli
from coreplane.inputs import Value

NIGHT = bool(os.environ.get("COREPLANE_NIGHTLY"))

#: Machines that take half of the time: devices whose every key was moved on another machine by day.
SLOW = ("amf@nvdimmc", "compose-nearpm-remote", "nvdimmc-poc@pram", "nvdimmc-poc@stt-mram")

#: What a key of such a beginning hangs on, besides its own machine: cores on the ordering model, memory on its kind.
PARTS = {
    ("l1.", "l2.", "llc.", "memory.dram."): [],
    ("cpu.", "wires.", "ordering."): ["ordering.model"],
    ("fusion.", "os."): ["fusion.design", "fusion.cost", "fusion.hidden"],
    ("",): ["memory.kind", "memory.*.kind", "memory.link", "memory.pm.media", "memory.optane.mode", "nvdimm.kind", "nand.media", "neardata.offload", "neardata.sync", "remote.kind"],
}


class Program(NamedTuple):
    """What runs, with the keys of the machine that make it small or bring about what a key is about; those that a machine does not show are left away."""

    workload: str
    parameters: dict[str, Value] = {}
    machine: dict[str, Value] = {}
    how: str = "run"


SMALL = {"l1.size_bytes": 1024, "l1.ways": 2, "l2.size_bytes": 4096, "l2.ways": 2, "llc.size_bytes": 16384, "llc.ways": 4}
TINY = SMALL | {"l2.size_bytes": 1024, "llc.size_bytes": 4096, "llc.ways": 8}
#: NAND of so few pages that blocks are erased.
FLASH = {"nvdimm.capacity_mib": 4, "nvdimm.dram_mib": 2, "nvdimm.slots_mib": 1, "nvdimm.write_buffer_pages": 1, "nand.pages_per_block": 16, "nand.dies": 2, "nand.channels": 2}
AWAY = {"remote.fault.away_to_ns": 100000, "remote.attempts": 1}
GIB = {"fusion.dram_gib": 1, "fusion.pm_gib": 3, "fusion.device_gib": 1, "fusion.node_gib": 1, "os.cores": 2, "fusion.cost": "constant"}
OFTEN = {"os.sample_ns": 1_000_000, "os.quantum_ns": 100_000, "fusion.period_ns": 1_000_000, "fusion.scan_period_ns": 1_000_000}
#: Little memory, of which much is to be free: programs are swapped out.
FULL = GIB | OFTEN | {"fusion.pm_gib": 2, "os.reserved_mib": 400, "os.min_free_kib": 400_000}
#: The same where memory is hidden: all of it is integrated, and its descriptors take no DRAM.
HIDDEN = GIB | OFTEN | {"os.descriptors": "added", "fusion.page_min": 2000, "os.min_free_kib": 520_000, "os.reserved_mib": 700}


def spec(scale: int, machine: dict[str, Value], instances: int = 6, passes: int = 2) -> Program:
    return Program("spec-mix", {"instances": instances, "batch": 3, "scale_percent": scale, "interval_ns": 1_000_000, "passes": passes}, machine)


QUEUE = Program("queue", {"operations": 40})
MIX = Program("mix", {"operations": 2000})
MIX_SMALL = Program("mix", {"operations": 4000, "lines": 400}, SMALL)
REDIS = Program("redis-random", {"operations": 100, "keys": 300, "think_cycles": 10})
REDIS_SMALL = Program("redis-random", {"operations": 300, "keys": 300, "think_cycles": 10}, SMALL)
STREAM_SMALL = Program("stream", {"operations": 1, "array_bytes": 65536}, SMALL)
TATP = Program("tatp", {"operations": 40, "subscribers": 400, "threads": 2})
BANDWIDTH = Program("bandwidth", {"operations": 200})
READ_FAR = Program("fio", {"operations": 20, "file_bytes": 32 << 20})
WRITE_FAR = Program("fio", {"operations": 60, "rw": "write", "threads": 4, "file_bytes": 32 << 20})
PAGES = Program("loaded-latency", {"operations": 2000, "threads": 4, "pages": 2048})
CHAIN = Program("bandwidth-latency", {"operations": 300, "warm": 2000, "stores": 500, "memory": "dram"})
CURVE = Program("bandwidth-latency", {"operations": 100}, SMALL, "curve")
CRASH = Program("hashmap", {"operations": 30}, how="crash")
HOLDUP = Program("hashmap", {"operations": 400}, how="holdup")
#: The same behind a link: a cache of a MiB before 4 MiB of NAND.
FLASH |= {"cmmh.capacity_mib": 4, "cmmh.cache_mib": 1, "cmmh.write_buffer_pages": 1, "cmmh.ways": 1}
ERASES = Program("loaded-latency", {"operations": 1500, "pages": 600, "threads": 4, "rw": "write", "warm": 1}, FLASH)
WEARS = ERASES._replace(parameters=ERASES.parameters | {"operations": 4000}, machine=FLASH | TINY)
#: Pages leave the local memory.
AWAY_AND_BACK = Program("redis-random", {"operations": 300, "keys": 3000, "think_cycles": 10}, {"remote.local_kib": 256})
#: Where the first 320 MiB are another memory's.
FURTHER = Program("loaded-latency", {"operations": 1500, "pages": 90000, "lines": 12, "threads": 4, "rw": "write", "warm": 1}, {"remote.local_kib": 128})
SHADOW = Program("hashmap", {"operations": 60, "mechanism": "shadow"}, {"neardata.units": 1})
DELAYED = Program("btree", {"operations": 60}, {"neardata.units": 1})
FEW_VISITS = spec(1, GIB, instances=3)
SWAPPED, REFILLED, INTEGRATED, ZONES = spec(6, FULL), spec(25, FULL), spec(15, GIB | OFTEN | {"fusion.pm_gib": 4}), spec(35, HIDDEN, passes=1)
#: The least that is free stands at the kernel's own.
TIGHT = spec(15, GIB | OFTEN | {"os.reserved_mib": 400, "fusion.pm_gib": 2})
CONFLICTS = spec(35, GIB | {"fusion.pm_gib": 4}, passes=1)
DEVICE_FILE = Program("stream", {"operations": 1, "array_bytes": 262144, "passthrough": "true"}, GIB)
SWAP_FULL = spec(60, GIB | {"os.swap_gib": 1, "os.reserved_mib": 700, "fusion.pm_gib": 1, "fusion.device_gib": 0})
LOADS, STORES = Program("lattester", {"operations": 4000, "threads": 4}), Program("lattester", {"operations": 4000, "threads": 4, "operation": "store"})
SHARED = [f"shared-{name}" for name in ("log", "ring", "allocator", "pages", "superblock", "lock")]

GENERAL = {
    "line": [
        QUEUE, MIX, TATP, BANDWIDTH, MIX_SMALL, REDIS, REDIS_SMALL, STREAM_SMALL, HOLDUP, CRASH, Program("cceh", {"operations": 200}), READ_FAR, WRITE_FAR,
        LOADS, STORES, PAGES, CHAIN,
        Program("copy", {"operations": 20, "threads": 2}), Program("hashmap", {"operations": 200}), Program("pm-memcached", {"operations": 60}), Program("btree", {"operations": 60}),
        Program("tatp", {"operations": 40, "subscribers": 400, "threads": 2, "mechanism": "checkpoint"}),
    ],
    "page": [FEW_VISITS, DEVICE_FILE, SWAPPED, INTEGRATED, REFILLED, CONFLICTS, ZONES],
    "hosts": [*(Program(name, {"hosts": 2}) for name in SHARED), *(Program(name, how="crash") for name in SHARED), *(Program(name, how="shared") for name in SHARED)],
}  # fmt: skip


class Shown(NamedTuple):
    """A program and values with which a key shows; a program that a value keeps from running is a result here."""

    program: Program
    values: list[Value]


RECORDED = Program("recording", {}, GIB)
FAR = Program("far recording")

#: Keys that show in a program, or with a value, of their own; on machines where that does not, the general ones are tried.
SHOWN: dict[str, list[Shown]] = {
    # What a machine takes: a program that is larger, or asks for more, is refused.
    "shared.hosts": [Shown(Program("shared-log", {"hosts": 2}), [1])],
    "shared.cores": [Shown(Program("shared-log", {"cores": 2}), [1])],
    "shared.memory_bytes": [Shown(Program("shared-log", {}, {"shared.coherent_ranges": "0-127"}), [4096])],
    "memory.ddr.density_gbit": [Shown(Program("queue", {"operations": 40}, {"memory.refresh.trfc_ns": 400}), [16]), Shown(Program("queue", {"operations": 40}, {"memory.refresh.trfc_ns": 900}), [16])],
    # Values that are no halves and doubles.
    "shared.cache_lines": [Shown(Program("shared-log"), [4])],
    "shared.drain_timeout_ns": [Shown(Program("shared-log", how="crash"), [600])],
    "shared.coherent_ranges": [Shown(Program("shared-lock", {"hosts": 2}), ["0-7"])],
    "shared.drain_energy_uj": [Shown(Program("shared-log", how="crash"), [1, 0])],
    "remote.fault.away_to_ns": [Shown(REDIS, [1_000_000])],
    "remote.fault_ns": [Shown(REDIS._replace(machine=AWAY), [32000])],
    "remote.give_up_ns": [Shown(REDIS._replace(machine=AWAY), [1000])],
    # Remote memory whose pages leave.
    "remote.line_filter_bits": [Shown(AWAY_AND_BACK, [64]), Shown(FURTHER, [64])],
    "remote.page_filter_counters": [Shown(AWAY_AND_BACK, [8]), Shown(FURTHER, [8])],
    "remote.report_buffer": [Shown(AWAY_AND_BACK, [1]), Shown(FURTHER, [1])],
    "remote.invalidate_ns": [Shown(AWAY_AND_BACK, [1000]), Shown(FURTHER._replace(parameters=FURTHER.parameters | {"lines": 3}), [1000])],
    "remote.translations": [Shown(AWAY_AND_BACK, [4]), Shown(FAR, [4])],
    "remote.filter_hashes": [Shown(AWAY_AND_BACK._replace(machine=AWAY_AND_BACK.machine | {"remote.line_filter_bits": 4096}), [1]), Shown(FURTHER._replace(machine=FURTHER.machine | {"remote.line_filter_bits": 4096}), [1, 2])],
    "remote.threshold": [Shown(AWAY_AND_BACK, [1]), Shown(FURTHER, [1])],
    "remote.shootdown*_ns": [Shown(AWAY_AND_BACK._replace(parameters=AWAY_AND_BACK.parameters | {"threads": 2}), [10_000]), Shown(FURTHER, [10_000])],
    "remote.fault.lose_one_in": [Shown(AWAY_AND_BACK, [5]), Shown(FURTHER, [5])],
    "remote.poll_ns": [Shown(AWAY_AND_BACK, [1000]), Shown(FURTHER, [1000])],
    "remote.reclaim_batch": [Shown(AWAY_AND_BACK, [4]), Shown(FURTHER, [4])],
    # Near-data devices that are given much at once.
    "neardata.address_table": [Shown(TATP._replace(parameters=TATP.parameters | {"threads": 4}), [1])],
    "neardata.gates_reads": [Shown(SHADOW, ["false"])],
    "neardata.conflicts": [Shown(Program("tatp", {"operations": 40, "subscribers": 400, "threads": 4}, {"neardata.host_writes": "range"}), ["sources"])],
    "neardata.peer_ns": [Shown(DELAYED, [1000])],
    "neardata.piece_bytes": [Shown(SHADOW, [64])],
    "neardata.timeout_ns": [Shown(SHADOW, [1000])],
    "cpu.outstanding_writes": [Shown(SHADOW, [1])],
    "cpu.outstanding_store_misses": [Shown(SHADOW, [1])],
    "ordering.outstanding_flushes": [Shown(SHADOW, [1])],
    "ordering.flush_*": [Shown(SHADOW, ["false"]), Shown(SHADOW, [1000])],
    # Caches of NAND.
    "nvdimm.dram_mib": [Shown(QUEUE, [8])],
    "nvdimm.window_bytes": [Shown(ERASES._replace(machine=FLASH | {"nvdimm.merged_commands": "true"}), [8192])],
    "nand.transfer_ns": [Shown(READ_FAR, [40_000]), Shown(WRITE_FAR, [6800])],
    "nand.suspends": [Shown(WRITE_FAR, ["false"])],
    "nvdimm.queue_depth": [Shown(WRITE_FAR, [4])],
    "nvdimm.merged_commands": [Shown(READ_FAR, ["true", "false"])],
    "nvdimm.driver.poll_ns": [Shown(READ_FAR, [4000])],
    "nvdimm.driver.flush": [Shown(READ_FAR, ["false"])],
    "nvdimm.driver.invalidate": [Shown(READ_FAR, ["false"])],
    "nvdimm.replacement": [Shown(ERASES._replace(machine=FLASH | {"nvdimm.hypothetical.td_ns": 1000}), ["clock"])],
    "nvdimm.hypothetical.waits_permille": [Shown(READ_FAR._replace(machine={"nvdimm.hypothetical.td_ns": 1000}), [2000])],
    "*.battery_uj": [Shown(CRASH, [0])],
    "*.dump_page_uj": [Shown(CRASH._replace(machine={"nvdimm.battery_uj": 1000, "cmmh.battery_uj": 1000}), [1000])],
    "*.decode_ns": [Shown(ERASES, [8000])],
    "*.finish_ns": [Shown(ERASES, [8000])],
    "*.write_buffer_pages": [Shown(ERASES._replace(machine=FLASH | {"nand.read_ns": 100_000, "nvdimm.write_buffer_pages": 4, "cmmh.write_buffer_pages": 4}), [1])],
    "nvdimm.capacity_mib": [Shown(ERASES, [8]), Shown(Program("lattester", {"operations": 4000, "threads": 3}), [4096])],
    "cmmh.capacity_mib": [Shown(WEARS, [8])],
    "nand.dies": [Shown(ERASES, [4])],
    "nand.program_ns": [Shown(ERASES, [300_000])],
    "nand.program_errors": [Shown(ERASES, [500_000_000])],
    "nand.read_ns": [Shown(ERASES, [100_000])],
    "memory.cxl.requests": [Shown(PAGES, [1])],
    "memory.socket.requests": [Shown(PAGES, [1])],
    "nand.channels": [Shown(ERASES._replace(machine=FLASH | {"nand.dies": 16, "nand.transfer_ns": 20_000, "nvdimm.write_buffer_pages": 16, "cmmh.write_buffer_pages": 16}), [1])],
    "nand.level_above": [Shown(WEARS._replace(machine=FLASH | TINY | {"nand.pages_per_block": 4, "nand.level_above": 1}), [0])],
    "nand.bit_errors": [Shown(ERASES, [100_000])],
    "nand.bad_blocks": [Shown(ERASES._replace(machine=FLASH | TINY | {"nand.spare_permille": 1000}), [60])],
    # Main memory under a kernel.
    "fusion.cost": [Shown(INTEGRATED._replace(machine={k: v for k, v in INTEGRATED.machine.items() if k != "fusion.cost"}), ["constant"])],
    "os.watermarks": [Shown(TIGHT, ["today"])],
    "os.promote_mib": [Shown(REFILLED, [1])],
    # What takes a while, or has to be brought about.
    "cpu.cores": [Shown(CURVE, [3])],
    "cpu.window": [Shown(STREAM_SMALL._replace(machine=SMALL | {"cpu.outstanding_misses": 32}), [8])],
    "cpu.ipc": [Shown(RECORDED, [3])],
    "cpu.clock_mhz": [Shown(RECORDED, [4000])],
    "memory.drain_line_nj": [Shown(HOLDUP, [1514])],
    "memory.optane.wear_*": [Shown(Program("bandwidth", {"operations": 1000}, {"memory.optane.wear_writes": 64}), [1_000_000]), Shown(Program("heap", {"operations": 200}, {"memory.optane.wear_writes": 64}), [1_000_000])],
    "nand.erase_ns": [Shown(ERASES, [2_000_000]), Shown(WEARS, [20_000_000])],
    "nand.collection": [Shown(ERASES, ["fifo"]), Shown(WEARS, ["fifo"])],
    "nand.spare_permille": [Shown(ERASES, [200]), Shown(WEARS, [200])],
    "nand.pages_per_block": [Shown(ERASES, [32]), Shown(WEARS, [32])],
    "nand.erase_errors": [Shown(ERASES, [500_000_000]), Shown(WEARS, [500_000_000])],
    "nand.media": [Shown(ERASES._replace(machine={k: v for k, v in FLASH.items() if not k.startswith("nand")}), ["fixed", "z-nand"])],
    "ordering.nack_following": [Shown(MIX._replace(machine={"ordering.recovery_table": 1}), ["true"])],
    "ordering.strand_buffers": [Shown(Program("mix", {"operations": 2000, "strands": "true"}), [1])],
    "ordering.misspeculation_ns": [Shown(Program("queue", {"operations": 100, "log_instructions": 600, "transaction_instructions": 0}, TINY | {"ordering.speculation_window_ns": 5005, "ordering.persist_path_ns": 5000}), [20000])],
    "ordering.write_back_buffer": [Shown(MIX_SMALL._replace(machine=TINY | {"ordering.flush_issue_ns": 1000, "ordering.persist_path_issue_ns": 1000}), [1])],
    # Told of the hardware.
    "ordering.clock_bytes": [Shown(Program("queue", {"operations": 40}, how="family"), [1])],
    "ordering.saved_registers_bytes": [Shown(Program("queue", {"operations": 40}, how="family"), [128])],
    "os.swap_gib": [Shown(SWAP_FULL, [2])],
    "fusion.pm_gib": [Shown(FEW_VISITS, [0]), Shown(FEW_VISITS, [4]), Shown(ZONES, [4])],
    "fusion.*_mbps": [Shown(REFILLED, [1000]), Shown(CONFLICTS, [100]), Shown(DEVICE_FILE, [100])],
    "fusion.node_gib": [Shown(ZONES, [2]), Shown(CONFLICTS, [2])],
    "fusion.device_gib": [Shown(FEW_VISITS, [0]), Shown(DEVICE_FILE, [0]), Shown(ZONES, [0])],
    "fusion.dram_gib": [Shown(CONFLICTS, [2])],
    "fusion.period_ns": [Shown(INTEGRATED, [100_000_000])],
    "fusion.section_ns": [Shown(INTEGRATED, [100])],
    "fusion.reclaim_per_mille": [Shown(INTEGRATED, [1])],
    "os.descriptors": [Shown(CONFLICTS, ["added"])],
}  # fmt: skip


def number(text: str) -> float:
    """A bound as ``accepts`` spells it."""
    value, unit = re.fullmatch(r"([\d.,]+) ?(\w*)", text).groups()  # type: ignore[union-attr]
    return float(value.replace(",", "")) * {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit]


def others(row: dict[str, Any]) -> list[Value]:
    """Other values of a key: the other words, twice and half as much, the ends of an open interval, one more."""
    accepts, value = row["accepts"], row["value"]
    if accepts == "true or false":
        return ["false" if value == "true" else "true"]
    if accepts.startswith("one of "):
        return [word for word in accepts.removeprefix("one of ").split(", ") if word != value]
    bounds = re.search(r"from ([\d.,]+ ?(?:[KMGT]iB|B)?) to ([\d.,]+ ?(?:[KMGT]iB|B)?)", accepts)
    step = re.match(r"a multiple of (\d+) bytes up to ([\d.,]+ ?(?:[KMGT]iB|B)?)", accepts)
    if (found_bounds := bounds or step) is None:
        return []
    (low, high), now = map(number, found_bounds.groups()), number(value)
    found = [now * 2, now / 2, now * 8, now / 8, now + 1] if now else [1, 3, 100, 1000, high]
    fitted: list[Value] = []
    for wanted in found:
        near = min(max(wanted, low), high)
        if "nanoseconds" not in accepts and "a number" not in accepts:
            near = int(near)
        if "power of two" in accepts:
            near = 2 ** max(0, int(near).bit_length() - 1)
        if step:
            near = max(low, int(near) // int(step[1]) * int(step[1]))
        if near != now and near not in fitted:
            fitted.append(near)
    return fitted


#: What differs between runs that are the same, or echoes what was set.
ECHOES = {"configuration", "host_seconds", "machine", "seconds", "workload"}

#: How a run went (done, stopped, refused), and what came of it.
Result = tuple[str, str]


def without_echoes(data: object) -> object:
    if isinstance(data, dict):
        return {key: without_echoes(value) for key, value in data.items() if key not in ECHOES}
    return [without_echoes(value) for value in data] if isinstance(data, list) else data


@functools.cache
def rows(name: str) -> dict[str, dict[str, Any]]:
    """What a machine shows, by key."""
    return {row["key"]: row for row in cp.Machine(name).parameters.iter_rows(named=True)}


#: Where the general programs show a key after dozens of runs: the one that does, tried before them and held to the same.
SOONER: dict[str, Shown] = {
    "l2.size_bytes": Shown(MIX_SMALL, [262144]),
    "llc.size_bytes": Shown(MIX_SMALL, [33554432]),
    "cmmh.fills": Shown(READ_FAR, [32]),
    "cmmh.replacement": Shown(PAGES, ["lrc"]),
    "fusion.pm_write_ns": Shown(CONFLICTS, [600]),
    "memory.drain_line_nj": Shown(HOLDUP, [6056]),
    "memory.optane.read_pending_queue": Shown(STORES, [8]),
    "memory.optane.translation_bytes": Shown(STORES, [2097152]),
    "memory.optane.write_pending_queue": Shown(WRITE_FAR, [48]),
    "neardata.fifo": Shown(HOLDUP, [4]),
    "neardata.host_queue": Shown(HOLDUP, [6]),
    "nvdimm.slots_mib": Shown(READ_FAR, [7]),
    "os.describe_ns": Shown(INTEGRATED, [40]),
    "os.major_ns": Shown(REFILLED, [6000]),
    "os.readahead": Shown(REFILLED, [16]),
    "os.scan_ns": Shown(REFILLED, [200]),
    "os.unmap_ns": Shown(REFILLED, [2000]),
    "remote.capacity_mib": Shown(LOADS, [4096]),
    "remote.local_kib": Shown(STORES, [4096]),
}


class Lab:
    """Runs programs on machines; without a change, each once."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.recordings = {name: cli.folder / f"{name}.parquet" for name in ("recording", "far recording")}
        self.plain: dict[tuple[str, str], Result] = {}
        program = cp.Program()
        at = program.map("file", 65536)
        for n in range(2000):
            program.main.store(at + 8 * (37 * n % 8000), n)
        program.save(self.recordings["recording"])
        program = cp.Program()
        at = program.map("file", 400 << 20)
        for n in range(200):
            program.main.store(at + (350 << 20) + 4096 * (n % 8) + 64 * (n // 8), n)
        program.save(self.recordings["far recording"])

    def unchanged(self, name: str, program: Program) -> Result:
        key = (name, repr(program))
        if key not in self.plain:
            self.plain[key] = self.result(name, program, {})
        return self.plain[key]

    def result(self, name: str, program: Program, changes: dict[str, Value]) -> Result:
        keys = {key: value for key, value in program.machine.items() if key in rows(name)} | changes
        try:
            return "done", json.dumps(without_echoes(self.ran(name, keys, program)), sort_keys=True, default=str)
        except cp.ConfigError as refused:
            return "refused", str(refused)
        except cp.RunError as stopped:
            return "stopped", str(stopped)

    def ran(self, name: str, keys: dict[str, Value], program: Program) -> object:
        machine = cp.Machine(name, keys)
        sets = [f"--set={key}={value}" for key, value in keys.items()] + [f"--set=workload.{key}={value}" for key, value in program.parameters.items()]
        if program.how == "curve":
            return self.cli.json("curve", name, "--reads", 100, *sets)
        if program.how == "family":
            return self.cli.json("compare", program.workload, "--on", "family", *sets)["tables"]  # type: ignore[index]
        parameters: dict[str, Any] = program.parameters
        recording = self.recordings.get(program.workload)
        workload = cp.Workload(f"trace:{recording}" if recording else program.workload, **parameters)
        match program.how:
            case "holdup":
                return cp.holdup(machine, workload).to_dicts()
            case "crash":
                return cp.crash(machine, workload, every=50, points=5, images=4, time_limit=1.0, minimise_seconds=0.0).data
            case "shared":
                return cp.shared(machine, workload).data
        return cp.run(machine, workload, no_bands=True).data

    def moves(self, name: str, key: str, program: Program, values: list[Value], *, refusals: bool) -> tuple[bool, bool]:
        """Whether a value of the key moves something, and whether the machine took one at all. With ``refusals``, a program that no longer runs counts."""
        taken = False
        before = self.unchanged(name, program)
        if before[0] == "refused" or before[0] == "stopped" and not refusals:
            return False, False
        for value in values:
            after = self.result(name, program, {key: value})
            if after[0] != "refused":
                taken = True
            if after != before and (refusals or after[0] != "refused"):
                return True, taken
        return False, taken

    def acts(self, name: str, key: str) -> bool:
        """Whether something shows that a key acts, or it has no other value that the machine takes: then nobody can give it in vain."""
        own = next((shown for pattern, shown in SHOWN.items() if fnmatch(key, pattern)), [])
        for shown in own:
            if self.moves(name, key, shown.program, shown.values, refusals=True)[0]:
                return True
        if key in SOONER and self.moves(name, key, *SOONER[key], refusals=False)[0]:
            return True
        wanted = others(rows(name)[key])[:5]
        for program in GENERAL[rows(name)["machine.fidelity"]["value"]]:
            if self.unchanged(name, program)[0] != "done":
                continue
            moves, took = self.moves(name, key, program, wanted, refusals=False)
            if moves:
                return True
            if not took:
                return bool(wanted)
        return False


def hangs_on(name: str, key: str) -> tuple[str, ...]:
    """What a key is, on a machine: machines that have the same differ in numbers alone, as far as it goes."""
    shown = rows(name)
    patterns = next(models for begins, models in PARTS.items() if key.startswith(begins))
    found = tuple(shown[k]["value"] for k in shown if any(fnmatch(k, p) for p in patterns))
    return (key, shown["machine.fidelity"]["value"], *found)


def is_elsewhere(name: str, key: str) -> bool:
    """Whether a key is moved on another machine: the one that is measured for this one, or the one with such a device alone, whose NAND fills up sooner."""
    begins = key.split(".")[0]
    is_page = rows(name)["machine.fidelity"]["value"] == "page"
    return is_page and begins in ("memory", "nand", "nvdimm", "remote") or "memory.1.kind" in rows(name) and begins in ("nand", "nvdimm")


def moved() -> Iterator[tuple[str, list[str]]]:
    """Machines, with the keys that are moved on each."""
    done: set[tuple[str, ...]] = set()
    for name in cp.machines()["name"]:
        if name in SLOW and not NIGHT:
            continue
        # Which simulator takes a machine makes it another.
        keys = [key for key, row in rows(name).items() if key != "machine.fidelity" and row["accepts"] and not is_elsewhere(name, key)]
        yield name, [key for key in keys if NIGHT or hangs_on(name, key) not in done]
        done.update(hangs_on(name, key) for key in keys)


MOVED = [(name, keys) for name, keys in moved() if keys]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(Cli(tmp_path_factory.mktemp("keys")))


@pytest.mark.parametrize(("name", "keys"), MOVED, ids=[name for name, _ in MOVED])
def test_every_key_that_a_machine_shows_moves_something(lab: Lab, name: str, keys: list[str]) -> None:
    assert [key for key in keys if not lab.acts(name, key)] == []
