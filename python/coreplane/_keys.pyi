# Made by python/tools/stubs.py; do not edit.
"""Every key of machines and workloads, with what it takes."""

from collections.abc import Sequence
from typing import Literal, TypedDict

class Cmmh(TypedDict, total=False):
    battery_uj: int
    cache_mib: int
    capacity_mib: int
    channels: int
    dump_page_uj: int
    fills: int
    firmware_ns: float | str
    replacement: Literal["lrc", "lru", "clock"]
    tag_ns: float | str
    tag_pages: int
    ways: int
    write_back: Literal["buffered", "first"]
    write_buffer_pages: int

class Cpu(TypedDict, total=False):
    clock_mhz: int
    cores: int
    instructions_per_reference: int
    ipc: float
    locked_ns: float | str
    nontemporal_interval_ns: float | str
    outstanding_misses: int
    outstanding_store_misses: int
    outstanding_writes: int
    store_buffer: int
    store_interval_ns: float | str
    store_prefetch: bool
    width: int
    window: int
    write_combining: int

class Fusion(TypedDict, total=False):
    active_mw: int
    cost: Literal["constant", "curve"]
    design: Literal["unified", "amf", "dram-swap", "pm-block", "dram-cache", "hotplug", "tiering", "weighted-interleave"]
    device_gib: int
    dram_gib: int
    dram_mbps: int
    dram_ns: float | str
    hidden: Literal["pm", "nvdimmc", "remote"]
    idle_mw: int
    node_gib: int
    overlap: int
    page_min: int
    period_ns: float | str
    pm_gib: int
    pm_mbps: int
    pm_read_ns: float | str
    pm_write_ns: float | str
    reclaim_per_mille: int
    section_ns: float | str
    transition_mw: int
    transition_ns: float | str

class L1(TypedDict, total=False):
    latency_ns: float | str
    size_bytes: int | str
    ways: int

class L2(TypedDict, total=False):
    latency_ns: float | str
    size_bytes: int | str
    ways: int

class Llc(TypedDict, total=False):
    index: Literal["modulo", "hash"]
    keeps_data: bool
    latency_ns: float | str
    replacement: Literal["lru", "random"]
    size_bytes: int | str
    ways: int

class Machine(TypedDict, total=False):
    fidelity: Literal["line", "page", "hosts"]

class MemoryCxl(TypedDict, total=False):
    device_ns: float | str
    lanes: Literal["1", "2", "4", "8", "16"]
    port_ns: float | str
    rate_gt: Literal["8", "16", "32"]
    requests: int
    switch_ns: float | str
    switches: int

class MemoryDdr(TypedDict, total=False):
    acknowledge_ns: float | str
    controller_ns: float | str
    density_gbit: Literal["4", "8", "16"]
    mapping: Literal["groups-below", "groups-above", "skylake-sp", "skylake-sp-fine"]
    queue: int
    ranks: int
    speed: Literal["1600", "1866", "2133", "2400", "2666", "2933", "3200"]

class MemoryDdr5(TypedDict, total=False):
    density_gbit: Literal["16", "32"]
    mapping: Literal["groups-by-line", "hashed-by-line", "groups-by-row"]
    postponed: int
    refresh: Literal["all-banks", "same-bank"]
    trefi_ns: float | str

class MemoryDram(TypedDict, total=False):
    controllers: int
    media: Literal["fixed", "ddr4", "ddr5"]
    read_ns: float | str
    service_ns: float | str

class MemoryOptane(TypedDict, total=False):
    acknowledge_ns: float | str
    ahead_ns: float | str
    array_ns: float | str
    buffer_blocks: int
    bus_ns: float | str
    cache_bytes: int | str
    drain_threshold: int
    hit_ns: float | str
    line_ns: float | str
    linger_ns: float | str
    mode: Literal["app-direct", "memory"]
    read_pending_queue: int
    read_service_ns: float | str
    settle_ns: float | str
    translation_bytes: int | str
    translation_ns: float | str
    wear_stall_ns: float | str
    wear_writes: int
    write_pending_queue: int
    write_service_ns: float | str
    writes_ahead_ns: float | str

class MemoryPm(TypedDict, total=False):
    acknowledge_ns: float | str
    buffer_blocks: int
    buffer_read_ns: float | str
    buffer_service_ns: float | str
    drain_threshold: int
    media: Literal["fixed", "ddr4", "ddr5"]
    read_ns: float | str
    read_service_ns: float | str
    write_service_ns: float | str

class MemoryRefresh(TypedDict, total=False):
    postponed: int
    trefi_ns: float | str
    trfc_ns: float | str

class MemorySocket(TypedDict, total=False):
    directory: Literal["memory", "none"]
    home_ns: float | str
    links: int
    port_ns: float | str
    rate_gt: Literal["9.6", "10.4", "11.2"]
    requests: int

class Memory(TypedDict, total=False):
    controllers: int
    cxl: MemoryCxl
    ddr: MemoryDdr
    ddr5: MemoryDdr5
    dimms: int
    drain_line_nj: int
    dram: MemoryDram
    interleave_bytes: int
    kind: Literal["pm", "ddr4", "ddr5", "nearpm", "nvdimmc", "optane", "cmmh", "remote"]
    link: Literal["direct", "cxl", "socket"]
    optane: MemoryOptane
    pm: MemoryPm
    refresh: MemoryRefresh
    socket: MemorySocket

class Nand(TypedDict, total=False):
    bad_blocks: int
    bit_errors: int
    channels: int
    collection: Literal["greedy", "fifo"]
    corrected_bits: int
    dies: int
    erase_errors: int
    erase_ns: float | str
    error_seed: int
    level_above: int
    media: Literal["z-nand", "fixed"]
    pages_per_block: int
    program_errors: int
    program_ns: float | str
    read_ns: float | str
    retries: int
    spare_permille: int
    suspends: bool
    transfer_ns: float | str

class NeardataFault(TypedDict, total=False):
    device: int
    power_off_ns: float | str
    stops_after: int

class Neardata(TypedDict, total=False):
    address_table: int
    bus_ns: float | str
    command_words: int
    conflicts: Literal["ranges", "sources"]
    devices: int
    fault: NeardataFault
    fifo: int
    fine_start_ns: float | str
    gates_reads: bool
    host_queue: int
    host_writes: Literal["range", "any"]
    line_ns: float | str
    link_ns: float | str
    media: Literal["fixed", "dimm"]
    offload: bool
    ordering: Literal["ppo", "none"]
    peer_ns: float | str
    piece_bytes: int
    start_ns: float | str
    store_ns: float | str
    sync: Literal["delayed", "polling", "none"]
    timeout_ns: float | str
    units: int

class NvdimmDevice(TypedDict, total=False):
    detector_late_ns: float | str
    ignore_window: bool
    misses_one_in: int
    overrun_lines: int

class NvdimmDriver(TypedDict, total=False):
    fault_ns: float | str
    flush: bool
    handoff_ns: float | str
    invalidate: bool
    map_ns: float | str
    poll_ns: float | str
    replace_ns: float | str
    translations: int
    walk_ns: float | str

class NvdimmHypothetical(TypedDict, total=False):
    td_ns: float | str
    waits_permille: int

class Nvdimm(TypedDict, total=False):
    battery_uj: int
    capacity_mib: int
    decode_ns: float | str
    device: NvdimmDevice
    dram_mib: int
    driver: NvdimmDriver
    dump_page_uj: int
    finish_ns: float | str
    hypothetical: NvdimmHypothetical
    kind: Literal["dram", "cached", "hypothetical"]
    merged_commands: bool
    queue_depth: int
    replacement: Literal["lrc", "lru", "clock"]
    slots_mib: int
    window_bytes: int
    write_buffer_pages: int
    write_queue_survives: bool

class Ordering(TypedDict, total=False):
    clock_bytes: int
    clock_interval_ns: float | str
    commit_ns: float | str
    commit_pipelined: bool
    delay_writes: bool
    dependences: Literal["accesses", "stores"]
    eager: bool
    epoch_table: int
    flush_instruction_ns: float | str
    flush_invalidates: bool
    flush_issue_ns: float | str
    flush_overlap: bool
    flush_timer_ns: float | str
    flush_trigger: int
    held_writes: int
    misspeculation_ns: float | str
    model: Literal["intel", "hops", "asap", "bbb", "eadr", "dpo", "lb++", "lrp", "strandweaver", "pmem-spec", "ppa", "capri", "cwsp", "vorpal"]
    nack_following: bool
    outstanding_flushes: int
    persist_buffer: int
    persist_path_entries: int
    persist_path_issue_ns: float | str
    persist_path_ns: float | str
    persist_queue: int
    persistency: Literal["epoch", "release"]
    poll_access_ns: float | str
    poll_ns: float | str
    proactive_flush: bool
    recovery_table: int
    region_operations: int
    region_stores: int
    saved_registers_bytes: int
    sfence: Literal["dfence", "ofence"]
    sfence_blocks: Literal["core", "stores"]
    speculation_window_ns: float | str
    strand_buffers: int
    strand_entries: int
    strand_issue_ns: float | str
    track_dependences: bool
    undo_log: int
    undo_reads: bool
    unfinished_lines: int
    write_back_buffer: int
    write_pending_queue: int

class Os(TypedDict, total=False):
    cores: int
    describe_ns: float | str
    descriptor_bytes: int
    descriptors: Literal["dram", "added"]
    fault_ns: float | str
    free_ns: float | str
    interleave_dram: int
    interleave_pm: int
    major_ns: float | str
    map_ns: float | str
    min_free_kib: int
    promote_mib: int
    quantum_ns: float | str
    readahead: int
    reserved_mib: int
    sample_ns: float | str
    scan_mib: int
    scan_ns: float | str
    scan_period_ns: float | str
    swap: Literal["none", "hdd", "ssd", "nvme"]
    swap_gib: int
    switch_ns: float | str
    unmap_ns: float | str
    watermark_scale: int
    watermarks: Literal["before-4.6", "today"]

class RemoteFault(TypedDict, total=False):
    away_from_ns: float | str
    away_to_ns: float | str
    duplicate_one_in: int
    late_ns: float | str
    late_one_in: int
    lose_one_in: int

class Remote(TypedDict, total=False):
    attempts: int
    capacity_mib: int
    copy_line_ns: float | str
    cpu_after: int
    cpu_kib: int
    critical_line_first: bool
    deadline_ns: float | str
    fault: RemoteFault
    fault_ns: float | str
    filter_hashes: int
    give_up_ns: float | str
    invalidate_ns: float | str
    kind: Literal["pages", "lines"]
    line_filter_bits: int
    link_ns: float | str
    local_kib: int
    network_byte_ns: float | str
    network_ns: float | str
    page_filter_counters: int
    page_kib: int
    page_table: Literal["whole-page", "first-line", "untracked"]
    poll_ns: float | str
    prefetch: Literal["none", "next", "stride"]
    prefetch_pages: int
    protect_ns: float | str
    protect_page_ns: float | str
    reclaim_batch: int
    report_buffer: int
    retry_ns: float | str
    shootdown_core_ns: float | str
    shootdown_ns: float | str
    threshold: int
    translations: int
    use: Literal["none", "pre-copy", "post-copy", "copy-on-write", "checkpoint", "replicate", "encrypt", "log"]
    window_ns: float | str
    write_fault_ns: float | str

class Shared(TypedDict, total=False):
    buffer_lines: int
    cache_lines: int
    coherent_ranges: str
    cores: int
    detect_ns: float | str
    device_ns: float | str
    drain_energy_uj: int
    drain_line_nj: int
    drain_ns: float | str
    drain_timeout_ns: float | str
    flush_ns: float | str
    hit_ns: float | str
    host_flush_timeout_ns: float | str
    hosts: int
    line_ns: float | str
    link_ns: float | str
    link_timeout_ns: float | str
    memory_bytes: int | str
    persistent_flush: Literal["none", "device", "global"]

class Wires(TypedDict, total=False):
    core_controller_ns: float | str
    core_core_ns: float | str
    core_directory_ns: float | str
    directory_controller_ns: float | str

class MemoryEntry(TypedDict, total=False):
    controllers: int
    cxl: MemoryCxl
    ddr: MemoryDdr
    ddr5: MemoryDdr5
    dimms: int
    drain_line_nj: int
    dram: MemoryDram
    interleave_bytes: int
    kind: Literal["pm", "ddr4", "ddr5", "nearpm", "nvdimmc", "optane", "cmmh", "remote"]
    link: Literal["direct", "cxl", "socket"]
    optane: MemoryOptane
    pm: MemoryPm
    refresh: MemoryRefresh
    share: int
    size: int | str
    socket: MemorySocket

class MachineKeys(TypedDict, total=False):
    cmmh: Cmmh
    cpu: Cpu
    fusion: Fusion
    l1: L1
    l2: L2
    llc: Llc
    machine: Machine
    memory: Memory | Sequence[MemoryEntry]
    nand: Nand
    neardata: Neardata
    nvdimm: Nvdimm
    ordering: Ordering
    os: Os
    remote: Remote
    shared: Shared
    wires: Wires

class WorkloadKeys(TypedDict, total=False):
    access_size: int | str
    array_bytes: int | str
    batch: int
    block_size: int | str
    bug: Literal["ack-not-flushed", "acks-share-line", "active-first", "active-kept", "active-not-flushed", "allocator-unflushed", "block-kept", "block-not-fenced", "block-not-flushed", "change-not-added", "constructor-unflushed", "consumer-keeps-message", "consumer-keeps-tail", "copy-kept", "copy-not-flushed", "data-kept", "data-not-fenced", "data-not-flushed", "double-flush", "ends-share-line", "flush-address", "flush-predicate", "frame-kept", "head-first", "head-not-flushed", "in-place", "lease-by-time", "lease-never-ends", "log-not-flushed", "message-not-fenced", "message-not-flushed", "missing-log", "no-takeover", "none", "nontemporal-unfenced", "not-mended", "page-kept", "page-not-fenced", "page-not-flushed", "pin-not-flushed", "pins-kept", "pins-share-line", "producer-keeps-head", "reader-keeps-record", "reader-keeps-tail", "ready-first", "record-not-fenced", "record-not-flushed", "recovery-trusts-device", "release-first", "release-not-flushed", "relies-on-persistent-flush", "reply-kept", "reply-not-flushed", "request-not-flushed", "requests-kept", "requests-share-line", "return-first", "state-kept", "tail-first", "tail-not-flushed", "ticket-not-flushed", "tickets-kept", "tickets-share-line", "token-before-data", "token-first", "token-kept", "token-not-flushed", "two-word-commit", "unfenced-flush", "unpin-not-flushed", "waits-for-the-gone", "writer-keeps-acks"]
    clients: int
    clwb_size: int | str
    cores: int
    depth: int
    durable: bool
    epoch_faults: int
    fault_ns: float | str
    fence_size: int | str
    fields: int
    file_bytes: int | str
    fill_ns: float | str
    footprint: int | str
    gap_ns: float | str
    hosts: int
    initial_depth: int
    input_bytes: int | str
    insert_percent: int
    instances: int
    interval_ns: float | str
    items: int
    kernel_instructions: int
    key_size: int
    keys: int
    library_ns: float | str
    lines: int
    log_instructions: int
    mechanism: Literal["auto", "checkpoint", "logging", "own", "redo", "shadow", "undo-redo"]
    memory: Literal["dram", "pm"]
    operation: Literal["load", "mix", "ntstore", "store", "store+clwb"]
    operations: int
    page_write_back_ns: float | str
    pages: int | Literal["all", "first", "fixed"]
    passes: int
    passthrough: bool
    patience_ns: float | str
    pattern: Literal["halves", "random", "sequential", "stride", "zipfian"]
    pause_ns: float | str
    pm: Literal["all", "auto", "ranges"]
    pointer_reach: int
    preload: int
    program: Literal["all", "bwaves", "bzip2", "cactusadm", "gcc", "gemsfdtd", "mcf", "milc", "wrf", "zeusmp"]
    put_percent: int
    queries: int
    query: str
    racy: bool
    range_percent: int
    read_percent: int
    reads_per_store: int
    region: Literal["channels", "controller", "dimm", "own", "shared"]
    relations: int
    resident: bool | Literal["false", "true", "unset"]
    rw: Literal["read", "write"]
    scale_percent: int
    schedule: Literal["auto", "recorded", "simulated"]
    search_percent: int
    searches: int
    set_percent: int
    shared_percent: int
    software_ns: float | str
    source_mb_per_second: int
    split_bytes: int | str
    store: Literal["columns", "rows"]
    stores: int
    strands: bool
    stride: int | str
    subscribers: int
    sync: Literal["dax", "page-cache"]
    syscall_ns: float | str
    think_cycles: int
    thread_mib: int
    threads: int
    time_ns: float | str
    transaction_instructions: int
    untimed_fault_ns: float | str
    update_percent: int
    user_percent: int
    value_size: int
    warm: int
    work_percent: int
