"""The diagrams of the pages under models: ``python docs/figures/diagrams.py`` writes them beside itself."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from drawing import Box, Diagram  # noqa: E402

DIAGRAMS = {
    "core": Diagram(
        {
            "program": Box(0, 0, "program", "loads, stores, fences"),
            "buffer": Box(1, 0, "store buffer", "TSO, forwarding"),
            "private": Box(2, 0, "L1 and L2", "bytes, MESI"),
            "combining": Box(1, 1, "write combining", "non-temporal"),
            "path": Box(2, 1, "core side", "of an ordering model"),
            "directory": Box(3, 0, "shared cache", "directory"),
            "controller": Box(3, 1, "controller", "queue, media", durable=True),
        },
        [
            ("program", "buffer", "stores"), ("buffer", "private", "owned"), ("private", "directory", "<misses"), ("program", "combining", ""),
            ("private", "path", "stores"), ("combining", "path", ""), ("path", "controller", "flushes"), ("directory", "controller", "<lines"),
        ],
        about="A core and what stands between its program and memory",
    ),
    "memory": Diagram(
        {
            "cores": Box(0, 0, "caches", "reads, write-backs"),
            "path": Box(0, 1, "persist path", "flushes"),
            "ingress": Box(1, 0.5, "arrivals", "in order"),
            "side": Box(2, 0, "controller side", "of an ordering model", durable=True),
            "queue": Box(2, 1, "write pending queue", "coalesces", durable=True),
            "media": Box(3, 0.5, "media", "busy for a time", durable=True),
        },
        [("cores", "ingress", ""), ("path", "ingress", ""), ("ingress", "side", ""), ("ingress", "queue", ""), ("side", "media", "records"), ("queue", "media", "drains")],
        [("persistence domain", ["side", "queue", "media"])],
        about="A controller of persistent memory",
    ),
    "optane": Diagram(
        {
            "queues": Box(0, 0.5, "controller", "reads, WPQ", durable=True),
            "buffer": Box(1, 0.5, "buffer", "64 blocks of 256 B", durable=True),
            "translation": Box(2, 0, "translation", "16 MiB at hand"),
            "media": Box(3, 0.5, "media", "reads and writes of blocks", durable=True),
            "wear": Box(2, 1, "wear levelling", "stalls of 52 us"),
        },
        [("queues", "buffer", "lines"), ("buffer", "translation", "misses"), ("translation", "media", ""), ("buffer", "wear", "writes"), ("wear", "media", "moves")],
        [("one DIMM", ["buffer", "translation", "wear", "media"])],
        about="An Optane DIMM behind its controller",
    ),
    "curve": Diagram(
        {
            "chain": Box(0, 0, "one core", "a chain of loads"),
            "traffic": Box(0, 1, "all other cores", "loads and stores, pauses"),
            "caches": Box(1, 0.5, "caches", "cut, always full"),
            "controllers": Box(2, 0.5, "controllers", "queues"),
            "media": Box(3, 0.5, "media", "what is measured"),
        },
        [("chain", "caches", "latency"), ("traffic", "caches", "bandwidth"), ("caches", "controllers", "<reads"), ("controllers", "media", "")],
        about="What a point of a bandwidth-latency curve is",
    ),
    "cxl": Diagram(
        {
            "host": Box(0, 0.5, "directory", "reads, write-backs"),
            "credits": Box(1, 0, "credits", "48 reads at once"),
            "down": Box(2, 0, "flits down", "requests, lines written"),
            "up": Box(2, 1, "flits up", "lines read"),
            "ports": Box(3, 0.5, "ports", "and switches"),
            "device": Box(4, 0.5, "controllers", "of the device"),
        },
        [("host", "credits", ""), ("credits", "down", ""), ("down", "ports", ""), ("ports", "device", ""), ("ports", "up", ""), ("up", "host", "data")],
        [("the link", ["credits", "down", "up", "ports"])],
        about="A memory behind a CXL link",
    ),
    "cmmh": Diagram(
        {
            "link": Box(0, 0.5, "CXL link", "lines, both ways"),
            "tags": Box(1, 0.5, "tags", "at hand, or fetched"),
            "dram": Box(2, 0, "DRAM", "48 GB of pages", durable=True),
            "fills": Box(2, 1, "fills", "misses join"),
            "buffer": Box(3, 0, "write buffer", "changed pages", durable=True),
            "nand": Box(4, 0.5, "NAND", "translation layer", durable=True),
        },
        [("link", "tags", ""), ("tags", "dram", "hit"), ("tags", "fills", "miss"), ("nand", "fills", "page"), ("fills", "dram", ""), ("dram", "buffer", ""), ("buffer", "nand", "")],
        [("the device", ["tags", "dram", "fills", "buffer", "nand"])],
        about="DRAM before NAND behind a CXL link",
    ),
    "holdup": Diagram(
        {
            "cores": Box(0, 0, "cores", "persist buffers, caches", durable=True),
            "shared": Box(1, 0, "shared cache", "where it is saved", durable=True),
            "queues": Box(1, 1, "queues, records", "of controllers", durable=True),
            "energy": Box(2, 0.5, "stored energy", "so many lines"),
            "media": Box(3, 0, "media", "", durable=True),
            "lost": Box(3, 1, "lost", "what it does not reach"),
        },
        [("cores", "shared", ""), ("shared", "energy", ""), ("queues", "energy", ""), ("energy", "media", "drained"), ("energy", "lost", "")],
        about="What stored energy drains when the power fails",
    ),
    "ddr4": Diagram(
        {
            "reads": Box(0, 0, "read queue", "32"),
            "writes": Box(0, 1, "write queue", "32, from 80 to 20 %"),
            "scheduler": Box(1, 0.5, "scheduler", "FR-FCFS"),
            "banks": Box(2, 0, "banks", "4 groups of 4 a rank"),
            "refresh": Box(1, 1.5, "refresh", "tREFI, postponed to 8"),
            "pins": Box(3, 0.5, "64 data pins", ""),
            "checker": Box(2, 1, "second reading", "of JESD79-4"),
        },
        [("reads", "scheduler", ""), ("writes", "scheduler", ""), ("scheduler", "banks", "row, column"), ("banks", "pins", "bursts"), ("scheduler", "checker", "log"), ("refresh", "scheduler", "")],
        about="One channel of DDR4",
    ),
    "ddr5": Diagram(
        {
            "lines": Box(0, 0.5, "lines of a channel", "in turn"),
            "even": Box(1, 0, "sub-channel", "queues, FR-FCFS"),
            "odd": Box(1, 1, "sub-channel", "queues, FR-FCFS"),
            "banks": Box(2, 0, "banks", "8 groups of 4 a rank"),
            "others": Box(2, 1, "banks", "8 groups of 4 a rank"),
            "pins": Box(3, 0, "32 data pins", ""),
            "more": Box(3, 1, "32 data pins", ""),
            "refresh": Box(1, 2, "refresh", "all banks, or one of each group"),
            "checker": Box(2, 2, "second reading", "of JESD79-5"),
        },
        [("lines", "even", ""), ("lines", "odd", ""), ("even", "banks", "row, column"), ("odd", "others", "row, column"), ("banks", "pins", "bursts"), ("others", "more", "bursts"), ("refresh", "odd", ""), ("odd", "checker", "log")],
        about="One channel of DDR5",
    ),
    "nand": Diagram(
        {
            "host": Box(0, 0, "host pages", "writes"),
            "map": Box(1, 0, "map", "page by page"),
            "log": Box(2, 0, "open block", "one log for all"),
            "blocks": Box(3, 0, "blocks", "on channels, dies", durable=True),
            "collect": Box(3, 1, "collection", "valid pages to the log"),
            "erased": Box(2, 1, "erased blocks", "least worn first"),
        },
        [("host", "map", ""), ("map", "log", ""), ("log", "blocks", "programs"), ("blocks", "collect", "fewest valid"), ("collect", "erased", "erases"), ("erased", "log", "opened next")],
        about="A translation layer over flash",
    ),
    "asap": Diagram(
        {
            "store": Box(0, 0, "store", "of an open epoch"),
            "buffer": Box(1, 0, "persist buffer", "by epoch and line"),
            "epochs": Box(1, 1, "epoch table", "dependences"),
            "other": Box(0, 1, "other cores", "release, acquire"),
            "controller": Box(2, 0, "recovery table", "undo, delay records", durable=True),
            "memory": Box(3, 0, "queue and media", "", durable=True),
        },
        [("store", "buffer", ""), ("buffer", "controller", "early flush"), ("epochs", "buffer", "safe?"), ("other", "epochs", "<"), ("epochs", "controller", "<commits"), ("controller", "memory", "old value kept")],
        [("each controller", ["controller", "memory"])],
        about="ASAP: flushes leave early, controllers can undo them",
    ),
    "strandweaver": Diagram(
        {
            "queue": Box(0, 0.5, "persist queue", "flushes, barriers"),
            "one": Box(1, 0, "strand buffer", "one strand"),
            "two": Box(1, 1, "strand buffer", "another"),
            "cache": Box(2, 0.5, "caches", "write back a line"),
            "memory": Box(3, 0.5, "controller", "", durable=True),
        },
        [("queue", "one", ""), ("queue", "two", "new strand"), ("one", "cache", ""), ("two", "cache", ""), ("cache", "memory", "<arrived")],
        about="StrandWeaver: barriers order one strand alone",
    ),
    "dpo": Diagram(
        {
            "store": Box(0, 0, "visible store", ""),
            "buffer": Box(1, 0, "persist buffer", "first in, first out"),
            "controller": Box(2, 0, "controller", "keeps the order", durable=True),
            "media": Box(3, 0, "media", "", durable=True),
            "other": Box(1, 1, "earlier core", "durable: a message"),
        },
        [("store", "buffer", ""), ("buffer", "controller", "one by one"), ("controller", "media", ""), ("other", "buffer", "dependence")],
        about="Delegated persist ordering: the order is given away",
    ),
    "lazy-barriers": Diagram(
        {
            "store": Box(0, 0, "store", "of an open epoch"),
            "lines": Box(1, 0, "lines in caches", "one epoch each"),
            "epochs": Box(1, 1, "epoch table", "dependences"),
            "other": Box(0, 1, "other cores", "ask for a line"),
            "controller": Box(2, 0, "controller", "", durable=True),
            "media": Box(3, 0, "media", "", durable=True),
        },
        [("store", "lines", ""), ("lines", "controller", "oldest epoch"), ("epochs", "lines", "complete?"), ("other", "epochs", "<"), ("controller", "media", "")],
        about="Lazy barriers: epochs wait in the caches",
    ),
    "regions": Diagram(
        {
            "store": Box(0, 0, "store", "of the open region"),
            "kept": Box(1, 0, "buffer", "saved, or replayed"),
            "end": Box(1, 1, "region ends", "every so many stores"),
            "controller": Box(2, 0, "controller", "with or without a log", durable=True),
            "media": Box(3, 0, "media", "", durable=True),
        },
        [("store", "kept", ""), ("end", "kept", "may go"), ("kept", "controller", ""), ("controller", "media", "")],
        about="Regions: persistence that programs do not ask for",
    ),
    "vorpal": Diagram(
        {
            "store": Box(0, 0, "visible store", ""),
            "buffer": Box(1, 0, "persist buffer", "sends at once"),
            "held": Box(2, 0, "held writes", "volatile"),
            "media": Box(3, 0, "queue and media", "", durable=True),
            "clock": Box(2, 1, "vector clocks", "what is durable where"),
            "others": Box(1, 1, "other controllers", "tell theirs"),
        },
        [("store", "buffer", ""), ("buffer", "held", "with its clock"), ("others", "clock", ""), ("clock", "held", "allow"), ("held", "media", "in order")],
        [("each controller", ["held", "media", "clock"])],
        about="Vorpal: controllers keep what comes too early",
    ),
    "pmem-spec": Diagram(
        {
            "store": Box(0, 0, "visible store", ""),
            "path": Box(1, 0, "persist path", "in order"),
            "caches": Box(1, 1, "caches", "evict, read again"),
            "controller": Box(2, 0, "controller", "evicted, read, stored to?", durable=True),
            "media": Box(3, 0, "media", "", durable=True),
            "core": Box(2, 1, "core goes back", "to its checkpoint"),
        },
        [
            ("store", "path", ""), ("path", "controller", "one by one"), ("controller", "media", ""), ("store", "caches", ""),
            ("caches", "controller", "<lines"), ("controller", "core", "read too early"),
        ],
        about="Speculation: what was read too early is found, and a core goes back",
    ),
    "nvdimm": Diagram(
        {
            "program": Box(0, 0, "program", "a mapped file"),
            "driver": Box(0, 1, "driver", "on the core"),
            "controller": Box(1, 0, "host controller", "first master"),
            "bus": Box(2, 0, "one bus", "checked"),
            "dram": Box(3, 0, "DRAM", "slots", durable=True),
            "device": Box(2, 1, "device", "second master"),
            "nand": Box(3, 1, "NAND", "translation layer", durable=True),
        },
        [("program", "controller", "lines"), ("program", "driver", "<faults"), ("controller", "bus", ""), ("bus", "dram", ""), ("driver", "device", "CP area, through the bus"), ("device", "bus", "in refreshes"), ("device", "nand", "<pages")],
        [("the DIMM", ["dram", "nand", "device", "bus"])],
        about="NVDIMM-C: two masters on one bus",
    ),
    "nearpm": Diagram(
        {
            "core": Box(0, 0.5, "core", "commands are stores"),
            "port": Box(1, 0.5, "command port", "splits by device"),
            "fifo": Box(2, 0, "request FIFO", "durable when in it", durable=True),
            "held": Box(2, 1, "host queue", "conflicting accesses", durable=True),
            "units": Box(3, 0, "units", "copy, log, delete", durable=True),
            "memory": Box(3, 1, "controller", "queue and media", durable=True),
        },
        [("core", "port", "<"), ("port", "fifo", ""), ("port", "held", ""), ("fifo", "units", "in order"), ("units", "memory", ""), ("held", "memory", "after")],
        [("a device, one of two", ["fifo", "held", "units", "memory"])],
        about="NearPM: crash consistency is executed beside the data",
    ),
    "remote": Diagram(
        {
            "program": Box(0, 0, "program", "translations"),
            "caches": Box(1, 0, "caches", ""),
            "agent": Box(2, 0, "agent", "sees each line"),
            "local": Box(2, 1, "local frames", "a part of it all"),
            "host": Box(3, 0, "remote host", "all of memory"),
            "daemon": Box(1, 1, "daemon", "on the core"),
        },
        [("program", "caches", ""), ("caches", "agent", "<lines"), ("agent", "local", "<"), ("agent", "host", "<network"), ("daemon", "local", "frees frames")],
        about="Remote memory behind an agent",
    ),
    "pagesim": Diagram(
        {
            "programs": Box(0, 0, "programs", "visits of pages"),
            "tables": Box(1, 0, "page tables", "there?"),
            "allocator": Box(2, 0, "buddy allocator", "zones, watermarks"),
            "policy": Box(2, 1, "policy", "a file a design"),
            "hidden": Box(3, 0, "sections", "hidden, online"),
            "reclaim": Box(1, 1, "kswapd, reclaim", "two lists"),
            "swap": Box(0, 1, "swap device", ""),
        },
        [("programs", "tables", ""), ("tables", "allocator", "faults"), ("allocator", "hidden", "<"), ("policy", "allocator", "decides"), ("policy", "reclaim", ""), ("reclaim", "swap", "<pages")],
        about="The page simulator: what differs between designs is a policy",
    ),
    "composition": Diagram(
        {
            "program": Box(0, 0.5, "program", "one range"),
            "directory": Box(1, 0.5, "caches, directory", "one set"),
            "map": Box(2, 0.5, "address map", "ranges, then shares"),
            "first": Box(3, 0, "memory 0", "its own controllers", durable=True),
            "second": Box(3, 1, "memory 1", "of another kind", durable=True),
        },
        [("program", "directory", ""), ("directory", "map", ""), ("map", "first", ""), ("map", "second", "")],
        about="Several memories on one machine",
    ),
    "workloads": Diagram(
        {
            "built": Box(0, 0, "structures", "from their papers"),
            "library": Box(0, 1, "library", "logs, shadows, ..."),
            "recorded": Box(0, 2, "recording", "of a real program"),
            "cpu": Box(1, 1, "cpu.store(..).await", "bytes, addresses"),
            "machine": Box(2, 1, "machine", "time, order"),
            "checks": Box(3, 1, "contents, recovery", "are they right?"),
        },
        [("built", "cpu", ""), ("library", "cpu", ""), ("recorded", "cpu", ""), ("cpu", "machine", "<values"), ("machine", "checks", "image")],
        about="Programs and what they are checked by",
    ),
    "recorder": Diagram(
        {
            "source": Box(0, 0, "your C or C++", "coreplane cc, as"),
            "hooked": Box(1, 0, "program", "with hooks"),
            "libraries": Box(1, 1, "libraries", "without hooks"),
            "runtime": Box(2, 0, "runtime", "records, contents"),
            "files": Box(2, 1, "copies of files", "what changed unseen"),
            "trace": Box(3, 0, "recording", "events, remarks"),
        },
        [("source", "hooked", "hooks"), ("hooked", "runtime", "events"), ("libraries", "files", "stores"), ("files", "runtime", "observed"), ("runtime", "trace", "")],
        about="How a program is recorded",
    ),
    "crash": Diagram(
        {
            "run": Box(0, 0, "run", "events, instants"),
            "cut": Box(1, 0, "machine", "the power is cut"),
            "model": Box(1, 1, "persistency model", "allowed images"),
            "log": Box(0, 1, "order of stores", "flushes, fences"),
            "recovery": Box(2, 0.5, "recovery", "yours, or built in"),
            "why": Box(3, 0.5, "two stores", "that nothing ordered"),
        },
        [("run", "cut", ""), ("run", "log", ""), ("log", "model", ""), ("cut", "recovery", "one image"), ("model", "recovery", "every image"), ("recovery", "why", "fails")],
        about="The crash lab: two ways to an image, one recovery",
    ),
    "litmus": Diagram(
        {
            "test": Box(0, 0.5, "a litmus test", "threads, condition"),
            "views": Box(1, 0, "views", "of one message list"),
            "buffers": Box(1, 1, "buffers", "store, persistence"),
            "images": Box(2, 0.5, "every image", "after a failure"),
            "answer": Box(3, 0.5, "allowed?", "as specified"),
        },
        [("test", "views", ""), ("test", "buffers", ""), ("views", "images", ""), ("buffers", "images", "the same set"), ("images", "answer", "")],
        about="A litmus test, decided in two ways",
    ),
    "explore": Diagram(
        {
            "machines": Box(0, 0, "state machines", "those of a run"),
            "search": Box(1, 0, "search", "breadth first"),
            "states": Box(2, 0, "states", "each once"),
            "failure": Box(2, 1, "power failure", "in each of them"),
            "mutant": Box(0, 1, "a mistake", "--mutant"),
            "trace": Box(3, 0.5, "shortest trace", "replayed"),
        },
        [("machines", "search", ""), ("search", "states", "every order"), ("states", "failure", ""), ("mutant", "machines", ""), ("states", "trace", "violation"), ("failure", "trace", "")],
        about="Exploration of a protocol",
    ),
    "shared": Diagram(
        {
            "first": Box(0, 0, "host 0", "a program"),
            "second": Box(0, 1, "host 1", "a program"),
            "caches0": Box(1, 0, "caches", "bytes of lines"),
            "caches1": Box(1, 1, "caches", "bytes of lines"),
            "device": Box(2, 0.5, "device", "stays", durable=True),
            "shadow": Box(3, 0.5, "who knows what", "vector clocks"),
        },
        [("first", "caches0", "loads, stores"), ("second", "caches1", "loads, stores"), ("caches0", "device", "flushes"), ("caches1", "device", "flushes"), ("device", "shadow", "versions")],
        about="Hosts, their caches, and the device that they share",
    ),
    "track": Diagram(
        {
            "program": Box(0, 0, "a live process", "unmodified"),
            "kernel": Box(1, 0, "kernel", "notes writes"),
            "copy": Box(1, 1, "copy of before", ""),
            "compare": Box(2, 0.5, "comparison", "line by line"),
            "window": Box(3, 0.5, "window", "bytes, lines, pages"),
        },
        [("program", "kernel", ""), ("kernel", "compare", "pages written"), ("copy", "compare", ""), ("compare", "window", "")],
        about="Dirty data of a live process",
    ),
}  # fmt: skip


def main(folder: Path = Path(__file__).parent) -> None:
    """Writes every diagram."""
    for name, diagram in DIAGRAMS.items():
        (folder / f"{name}.svg").write_text(diagram.svg())


if __name__ == "__main__":
    main()
