"""Memory of the other socket: what the links between sockets cost, what is refused, and what survives behind them."""

from typing import Any

import pytest

from conftest import Cli

CHAIN = ("bandwidth-latency", "--set", "workload.threads=1", "--set", "workload.operations=50", "--set", "workload.warm=1")
SOCKET = ("--set", "memory.link=socket")
#: Twelve transfers at 10.4 GT/s, and at 9.6.
FLIT_NS = 1.154
#: Two ports of 8.4 ns.
WAY_NS = 16.8
HOME_NS = 6
LINES = ("--set", "workload.access_size=64", "--set", "workload.stride=64", "--set", "workload.operations=4000", "--set", "workload.time_ns=10000000")


@pytest.mark.parametrize(("rate", "flit_ns"), [("10.4", FLIT_NS), ("9.6", 1.25)])
def test_a_load_takes_its_flits_ports_and_wires_more_to_the_picosecond(cli: Cli, rate: str, flit_ns: float) -> None:
    own, other = cli.json("run", "intel", *CHAIN), cli.json("run", "intel", *CHAIN, *SOCKET, "--set", f"memory.socket.rate_gt={rate}")
    # A flit for the request and three for the line.
    assert (other["time_ns"] - own["time_ns"]) / 50 == pytest.approx(4 * flit_ns + 2 * WAY_NS + 2 * HOME_NS, abs=1e-6)
    stats, reads = other["stats"], other["stats"]["socket.reads"]
    assert stats["socket.port_time"] / reads == pytest.approx(2 * WAY_NS)
    assert stats["socket.busy_time_back"] >= 3 * flit_ns * reads - 1e-6
    assert stats.get("socket.credit_time", 0) == 0 == stats.get("socket.claims", 0)


def fenced(cli: Cli, machine: str, operation: str) -> dict[str, Any]:
    return cli.json("run", machine, "lattester", *LINES, "--set", f"workload.operation={operation}", "--set", "workload.fence_size=64")


def test_a_store_past_the_caches_goes_to_the_other_socket_twice_and_a_flushed_one_once(cli: Cli) -> None:
    apart = {}
    for operation in ("ntstore", "store+clwb"):
        own, other = fenced(cli, "optane", operation), fenced(cli, "optane@remote", operation)
        assert "socket.writes" not in own["stats"]
        apart[operation] = (other["time_ns"] - own["time_ns"]) / 4000
        share = other["stats"].get("socket.claims", 0) / other["stats"]["socket.writes"]
        assert share == (1 if operation == "ntstore" else 0)
    # Claim and word, a flit each, before the write, and its acknowledgement.
    assert apart["ntstore"] > 4 * WAY_NS


def test_a_mix_reads_and_writes_as_it_is_asked_and_both_engines_agree(cli: Cli) -> None:
    args = ("run", "optane@remote", "lattester", *LINES, "--set", "workload.operation=mix", "--set", "workload.reads_per_store=3", "--set", "workload.threads=4")
    runs = [cli.json(*args, "--engine", engine) for engine in ("fast", "reference")]
    for run in runs:
        run.pop("host_seconds")
    assert runs[0] == runs[1]
    stats = runs[0]["stats"]
    assert stats["socket.reads"] / stats["socket.claims"] == pytest.approx(3, rel=0.05)


def test_memory_is_written_when_lines_are_given_away_and_not_when_they_are_read_again(cli: Cli) -> None:
    reads = ("--set", "workload.operation=load", "--set", "workload.footprint=8388352")
    found = {}
    for warm in (1, 131068):
        stats = cli.json("run", "optane@remote", "lattester", *LINES, *reads, "--set", f"workload.warm={warm}")["stats"]
        found[warm] = stats["socket.directory_writes"] / stats["socket.reads"]
    # Those that were on their way when the pass before had ended.
    assert found[1] > 0.95 and found[131068] < 0.01
    told = ("--set", "memory.socket.directory=none", "--set", "workload.warm=1")
    assert cli.json("run", "optane@remote", "lattester", *LINES, *reads, *told)["stats"]["socket.directory_writes"] == 0


def test_throughput_is_what_the_program_writes_and_not_what_the_other_socket_keeps_with_its_lines(cli: Cli) -> None:
    args = ("run", "intel", "hashmap", *SOCKET, "--set", "workload.operations=300")
    kept, asked = (cli.json(*args, "--set", f"memory.socket.directory={where}")["stats"] for where in ("memory", "none"))
    assert kept["memory.directory_bytes_written"] > 0.8 * asked["memory.bytes_written"]
    assert "memory.directory_bytes_written" not in asked
    own = kept["memory.bytes_written"] - kept["memory.directory_bytes_written"]
    assert own == pytest.approx(asked["memory.bytes_written"], rel=0.01)
    assert kept["throughput.bytes_per_second"] == pytest.approx(asked["throughput.bytes_per_second"], rel=0.02)


@pytest.mark.parametrize("links", [1, 2])
def test_links_carry_no_more_than_their_lanes_do(cli: Cli, links: int) -> None:
    sets = (*SOCKET, "--set", "memory.controllers=3", "--set", f"memory.socket.links={links}", "--set", "memory.socket.requests=128", "--set", "memory.socket.directory=none")
    points = cli.json("curve", "cascade-lake", "--reads", "100", "--set", "workload.operations=200", *sets)
    highest = max(p["gb_per_s"] for p in points)
    # 64 bytes in three flits; of two links one has two of the three controllers, which take turns.
    most = 64 / (3 * FLIT_NS) * (1 if links == 1 else 1.5)
    assert 0.8 < highest / most <= 1.03


@pytest.mark.parametrize(("machine", "workload"), [("nvdimmc-poc", "hashmap"), ("nearpm-md@cxl", "tpcc"), ("pberry@cxl", "redis-random"), ("intel@optane", "hashmap")])
def test_other_kinds_of_memory_are_there_too(cli: Cli, machine: str, workload: str) -> None:
    args = ("run", machine, workload, *SOCKET, "--set", "workload.operations=60")
    runs = [cli.json(*args, "--engine", engine) for engine in ("fast", "reference")]
    for run in runs:
        run.pop("host_seconds")
    assert runs[0] == runs[1] and runs[0]["stats"]["socket.reads"] > 50


@pytest.mark.parametrize("machine", ["intel", "intel@optane", "eadr@optane"])
def test_what_was_durable_on_the_other_socket_recovers(cli: Cli, machine: str) -> None:
    found = cli.json("crash", machine, "hashmap", *SOCKET, "--set", "workload.operations=40", "--points", 40)
    assert found["clean"] is True and found["timed"]["points"] > 1


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("optane", "queue", "--set", "memory.link=upi"), "direct, cxl, socket"),
        (("optane@remote", "queue", "--set", "memory.socket.links=1"), "give 1 to 3"),
        (("optane@remote", "queue", "--set", "memory.socket.rate_gt=16"), "9.6, 10.4, 11.2"),
        (("optane", "queue", "--set", "memory.socket.links=3"), "memory.socket.links: does nothing on optane"),
        (("optane@remote", "queue", "--set", "memory.cxl.lanes=4"), "memory.cxl.lanes: does nothing on optane@remote"),
        (("asap-rp@optane", "queue", *SOCKET), "persist path"),
        (("remote-pages", "queue", *SOCKET), "no agent is there"),
        (("optane", "lattester", "--set", "workload.footprint=128"), "give at least workload.access_size = 256"),
        (("optane", "lattester", "--set", "workload.reads_per_store=1001", "--set", "workload.operation=mix"), "0 to 1000"),
    ],
)
def test_what_cannot_be_is_refused_with_what_is_accepted(cli: Cli, args: tuple[str, ...], says: str) -> None:
    assert says in cli.refuses("run", *args)
