"""A function for each command. What is checked and simulated is the compiled core's; Ctrl-C stops it within a second."""

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, overload

import polars as pl

from coreplane import _core
from coreplane.campaign_text import text_of
from coreplane.findings import Crash, Exploration, Litmus, Replay, Scoreboard, Shared, Tracking
from coreplane.inputs import PARAMETERS, Machine, Trace, Value, Workload, accept, core_of, counts, flags, frame, in_utf_8, is_path, machine_of, numbers, pairs, path_of, paths, present, seconds, texts, workload_of
from coreplane.results import Comparison, Curve, Difference, Run, Sweep

AMachine: TypeAlias = Machine | str | os.PathLike[str]
AResult: TypeAlias = Run | Comparison | str | os.PathLike[str]
AWorkload: TypeAlias = Workload | Trace | str
Engine: TypeAlias = Literal["fast", "reference"]


def run(
    machine: AMachine,
    workload: AWorkload,
    *,
    seed: int = 1,
    engine: Engine = "fast",
    bands: bool = False,
    runs: int | None = None,
    no_bands: bool = False,
    timeline: bool = False,
    power_fails_at: str | None = None,
    image: str | os.PathLike[str] | None = None,
) -> Run:
    """Simulates ``workload`` on ``machine``.

    Of recordings it also finds out what is not known of their time, unless ``no_bands`` is set. With ``bands``, every parameter
    that nobody has published and you have not set is varied, in at most ``runs`` runs: ``band`` has how far the time goes, and
    ``moved_by`` what moves it most. With ``timeline`` the result has one for ui.perfetto.dev. With ``power_fails_at`` (``"25us"``, from
    power-on) the run ends there, and the persistent memory as it is left is written to the file ``image``, as DAX would hold it; ``crash``
    tries many such points and checks them. Raises ConfigError when the two do not fit together, RunError when the run breaks a promise.
    """
    flags(bands=bands, timeline=timeline)
    power = _power(power_fails_at, image)
    if bands and (timeline or power):
        raise _core.ConfigError("bands: a run that is watched or cut short has none; leave timeline and power_fails_at away")
    of, reference = workload_of(workload), _reference(engine)
    return Run(*_core.run(core_of(machine_of(machine)), core_of(of), _seed(seed), reference, _bands(bands, runs, no_bands), timeline, power))


def _power(at: str | None, image: str | os.PathLike[str] | None) -> tuple[str, str | None] | None:
    """When the power fails, and where to write what is left."""
    paths(**present(image=image))
    accept(at is None or isinstance(at, str), f"power_fails_at is a time with its unit, as 25us, not {at!r}")
    if at is None and image is not None:
        raise _core.ConfigError("image: is what a power failure leaves; give power_fails_at")
    return None if at is None else (at, path_of(image))


def compare(
    workload: AWorkload,
    *,
    on: AMachine | Sequence[AMachine],
    baseline: AMachine | None = None,
    seed: int = 1,
    engine: Engine = "fast",
    bands: bool = False,
    runs: int | None = None,
    no_bands: bool = False,
) -> Comparison:
    """Simulates ``workload`` on each machine of ``on``; speedups are against ``baseline``, the first unless said.

    Machines that would have one name get their changes in it, files their path; ``baseline`` is one of ``on``, or its name.
    ``bands`` and ``runs`` are as in ``run``; a parameter is varied on all machines alike. Raises ConfigError as ``run`` does, and
    when the machines simulate different things, so that their times cannot be compared.
    """
    given = [machine_of(machine) for machine in _several(on)]
    if not given:
        raise _core.ConfigError("on: give at least one machine")
    machines = _distinct(given)
    base = _index(given, machines, baseline)
    of, reference = workload_of(workload), _reference(engine)
    return Comparison(_core.compare([core_of(machine) for machine in machines], core_of(of), base, _seed(seed), reference, _bands(bands, runs, no_bands)))


def sweep(
    campaign: str | os.PathLike[str] | Mapping[str, Any], *, on: str = "local", out: str | os.PathLike[str] | None = None, resume: bool = False, jobs: int | None = None
) -> Sweep:
    """Makes the runs of a campaign on this machine's cores, or ``on`` the workers of a Dask scheduler (``tcp://HOST:8786``).

    A campaign is the path of its TOML file, or a mapping of what that has: ``machines``, ``workloads``, ``seeds``, ``set`` and ``vary``, which needs
    ``out``, runs on this machine and names files from where Python is. With ``resume``, runs whose results are in ``out`` are not made again.
    Raises ConfigError when the campaign is not accepted, or no such scheduler answers.
    """
    flags(resume=resume)
    counts(**present(jobs=jobs))
    paths(**present(out=out))
    accept(isinstance(on, str), f"on is local or a scheduler's address, not {on!r}")
    folder = path_of(out)
    if isinstance(campaign, Mapping):
        return _sweep_of(campaign, on, folder, resume, jobs)
    accept(is_path(campaign), f"a campaign is the path of its TOML file or a mapping of what it has, not {campaign!r}")
    file = os.fspath(campaign)
    if on != "local":
        from coreplane import cluster

        cluster.sweep(file, on, folder, resume)
    # What was made elsewhere is there.
    return Sweep(_core.sweep(file, None, folder, resume or on != "local", jobs))


def _sweep_of(campaign: Mapping[str, Any], on: str, folder: str | None, resume: bool, jobs: int | None) -> Sweep:
    text = text_of(campaign)
    if folder is None:
        raise _core.ConfigError("out: give a folder of results for a campaign that is in no file")
    if on != "local":
        raise _core.ConfigError(f"on {on}: a cluster runs campaigns that are files")
    kept = os.path.join(folder, "campaign.toml")
    try:
        return Sweep(_core.sweep(kept, text, folder, resume, jobs))
    except _core.ConfigError as error:
        # No line of a file that is not there.
        raise _core.ConfigError(re.sub(rf"^{re.escape(kept)}(:\d+)?: ", "campaign: ", str(error))) from None


@in_utf_8()
def curve(machine: AMachine, *, reads: Sequence[int] = (100, 75, 50), memory: Literal["pm", "dram"] = "pm", seed: int = 1) -> Curve:
    """Bandwidth-latency curves of a machine's memory, one for each share of ``reads`` in per cent (50 to 100).

    ``memory`` is the one of ``memory.kind``, or the machine's DRAM. Raises ConfigError when a share is not accepted, or the machine
    is one at page fidelity.
    """
    accept(isinstance(reads, Iterable) and not isinstance(reads, str | bytes), f"reads are shares in per cent, a list, not {reads!r}")
    shares = list(reads)
    for share in shares:
        counts(0, reads=share)
    of = machine_of(machine)
    return Curve(of.name, _core.curve(core_of(of), shares, pairs({"workload.memory": memory}), _seed(seed)))


def diff(before: AResult, after: AResult) -> Difference:
    """What differs between two results of ``run`` or ``compare``; a result that is kept is a folder or a file of its JSON.

    Raises ConfigError when one is no such result, or they have no machine in common.
    """
    return Difference(_core.diff(_side("before", before), _side("after", after)))


def _side(name: str, result: AResult) -> tuple[str, str | None]:
    if isinstance(result, Run | Comparison):
        return name, json.dumps(result.data)
    accept(is_path(result), f"{name}: give a Run, a Comparison or the path of a file or folder, not {result!r}")
    return os.fspath(result), None


def holdup(machine: AMachine, workload: AWorkload | None = None, *, seed: int = 1) -> pl.DataFrame:
    """Lines that a power failure loses, by the energy that is stored for it: microjoules, lines_lost, lines_lost_mean.

    The power fails at instants spread over a run of ``workload`` (``hashmap`` unless said, on several hosts ``shared-log``); what is lost is at the worst of them, and
    a mean. Raises ConfigError when a power failure leaves nothing of the machine's memory anyhow.
    """
    of = None if workload is None else core_of(workload_of(workload))
    return frame(_core.holdup(core_of(machine_of(machine)), of, _seed(seed)), ["microjoules", "lines_lost", "lines_lost_mean"])


@in_utf_8()
def crash(
    machine: AMachine,
    workload: AWorkload,
    *,
    at: str | None = None,
    every: int | None = None,
    all: bool = False,
    check: str | None = None,
    file: str | None = None,
    after: int | None = None,
    from_start: bool = False,
    beside: str | os.PathLike[str] | None = None,
    accept_unseen: bool = False,
    model: str | None = None,
    points: int = 1000,
    images: int = 64,
    time_limit: float = 10.0,
    minimise_seconds: float = 20.0,
    replay: str | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 1,
) -> Crash:
    """Cuts the power, recovers, and says which store was not ordered.

    The power fails ``at`` a time ("12.5 us"), after ``every`` so many writes that reach the controllers (100 unless said), or at
    ``all`` events; and at up to ``points`` points of the persistency ``model``, with up to ``images`` images each. A recording
    needs a ``check``: a command that decides by its exit status, with ``{image}`` or ``{folder}`` where it finds the files,
    and with those of the folder ``beside`` that the program only read. The power fails once the file is there to stay, once the program makes
    a mark where the check is told of these, or ``after`` one; ``from_start`` has it fail while the program makes the file, too.
    Built-in workloads do fewer operations than usual; ``notes`` says so. The folder ``out`` gets the result (not of a ``replay``), and while the search
    goes on what was found so far: with ``resume`` the same search goes on from there. Raises ConfigError when there is nothing to judge.
    """
    flags(all=all, from_start=from_start, accept_unseen=accept_unseen, resume=resume)
    counts(points=points, images=images, **present(every=every))
    counts(0, **present(after=after))
    seconds(time_limit=time_limit, minimise_seconds=minimise_seconds)
    texts(**present(check=check, file=file, model=model, replay=replay))
    paths(**present(beside=beside, out=out))
    of = workload_of(workload)
    accept(at is None or isinstance(at, str), f"at is one instant as text, such as \"12.5 us\", not {at!r}")
    how: dict[str, Any] = {"at": at, "every": every, "all": all, "check": check, "file": file, "after": after, "model": model}
    how |= {"from_start": from_start, "accept_unseen": accept_unseen, "points": points, "images": images, "time_limit": time_limit, "minimise_seconds": minimise_seconds, "replay": replay}
    if resume and out is None:
        raise _core.ConfigError("resume: give out, the folder of the search that was interrupted")
    how |= {"out": path_of(out), "resume": resume, "beside": path_of(beside)}
    return Crash(_core.crash(core_of(machine_of(machine)), core_of(of), _seed(seed), **how))


def shared(machine: AMachine, workload: AWorkload, *, schedules: int | None = None, seed: int = 1) -> Shared:
    """Looks for what is wrong in a program of several hosts that share memory without coherence.

    The program is run ``schedules`` times (500), each time with other pauses, evictions, slow flushes and stops of a host. A trace
    of `record` with ``host_per_process`` has one schedule, its own, and takes no number. Raises ConfigError when the machine is one host, or the workload is none of
    several.
    """
    counts(**present(schedules=schedules))
    return Shared(_core.shared(core_of(machine_of(machine)), core_of(workload_of(workload)), _seed(seed), schedules))


@in_utf_8()
def litmus(*files: str | os.PathLike[str], text: str | None = None, model: str | None = None, method: Literal["view", "operational"] = "view", failed_rmw_fences: bool = False) -> Litmus:
    """Runs persistency litmus tests: those of ``files``, of ``text``, or the project's own specifications."""
    if method not in ("view", "operational"):
        raise _core.ConfigError(f"method {method}: give view or operational")
    flags(failed_rmw_fences=failed_rmw_fences)
    texts(**present(text=text, model=model))
    _are_paths(*files)
    return Litmus(_core.litmus([os.fspath(file) for file in files], text, model, method == "operational", failed_rmw_fences))


@in_utf_8()
def explore(protocol: str, *, mutant: str | None = None, states: int = 5_000_000, **bounds: Value) -> Exploration:
    """Visits every interleaving of a protocol's messages, with a power failure at every step.

    ``bounds`` are the protocol's (``protocols()`` lists them), with ``_`` for ``-``. Raises ConfigError when one is not known.
    """
    accept(isinstance(protocol, str), f"a protocol is its name, not {protocol!r}")
    counts(states=states)
    texts(**present(mutant=mutant))
    return Exploration(_core.explore(protocol, _bounds(bounds), mutant, states, None))


@in_utf_8()
def replay(protocol: str, choices: Sequence[int], *, mutant: str | None = None, **bounds: Value) -> Replay:
    """Takes the steps of a violation again: its ``choices``."""
    texts(protocol=protocol, **present(mutant=mutant))
    accept(isinstance(choices, Iterable) and not isinstance(choices, str | bytes), f"choices are the steps of a violation, a list, not {choices!r}")
    steps = list(choices)
    for step in steps:
        counts(0, _MOST_CHOICES - 1, choices=step)
    data = _core.explore(protocol, _bounds(bounds), mutant, 1, steps)
    return Replay(tuple(data["trace"]), data["message"])


@in_utf_8()
def record(
    command: str | Sequence[str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str] = "trace.parquet",
    times: int = 1,
    route: Literal["auto", "hooks", "valgrind"] = "auto",
    memory: str | None = None,
    host_per_process: bool = False,
    skip: int | str | None = None,
    count: int | str | None = None,
    warm_up: int | str | None = None,
    every: int | str | None = None,
    window: int | str | None = None,
    region: bool = False,
    region_signal: bool = False,
) -> Trace:
    """Runs a program and records its memory behaviour; the trace is a workload.

    By the hooks of ``coreplane cc``, or, where it has none, while Valgrind executes it; ``memory`` says of the latter which loads
    and stores are recorded: ``all``, ``pm``, or addresses as ``FROM-TO``. With ``host_per_process`` each process that maps a file
    which another one maps too is a host, and the trace is one for `shared`.

    Loads and stores of ordinary memory may be recorded of a part alone: after ``skip`` instructions, of ``count`` of them, of a
    ``window`` in ``every`` so many (numbers, or "100M"), with ``warm_up`` before that; of the program's own ``region``
    (``coreplane_roi_begin``), or between two signals SIGUSR2 (``region_signal``).

    A text is taken apart as a shell does. Recorded several times, a program with threads shows several of its schedules; the
    files are then NAME.1.parquet and so on. Raises ConfigError when nothing was recorded.
    """
    flags(host_per_process=host_per_process, region=region, region_signal=region_signal)
    counts(times=times)
    part = _part(skip=skip, count=count, warm_up=warm_up, every=every, window=window)
    part += [(name, "") for name, asked in (("region", region), ("region_signal", region_signal)) if asked]
    texts(route=route, **present(memory=memory))
    paths(out=out)
    path = Path(out)
    files = [path] if times == 1 else [path.with_suffix(f".{n}{path.suffix}") for n in range(1, times + 1)]
    found = [_core.record(_command(command), str(file), route, memory, host_per_process, part) for file in files]
    trace = Trace(*files)
    trace.remarks.extend(dict.fromkeys(remark for one in found for remark in one["remarks"]))
    return trace


def _part(**given: int | str | None) -> list[tuple[str, str]]:
    """Instructions, as the command line has them."""
    said = present(**given)
    for name, value in said.items():
        if not isinstance(value, str):
            counts(0, **{name: value})
    return [(name, str(value)) for name, value in said.items()]


@in_utf_8()
def track(
    target: int | str | Sequence[int] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    name: str | Sequence[str] | None = None,
    cgroup: str | os.PathLike[str] | None = None,
    children: bool = False,
    accessed: bool = False,
    interval: float = 1.0,
    windows: int | None = None,
    mode: Literal["lines", "write-protect", "nothing"] = "lines",
    mechanism: Literal["scan", "read"] | None = None,
) -> Tracking:
    """Dirty data of a live program at 64 B, 4 KiB and 2 MiB: of processes with numbers, a ``name`` or a ``cgroup``, or of a command that is started.

    With ``children``, of the children too that there are and that come. Numbers are sums over the processes. With ``accessed``
    pages that were read or written are counted too, by mapping.
    Ends with the program, after ``windows`` windows of ``interval`` seconds, or with Ctrl-C: what was seen until then is given.
    """
    flags(children=children, accessed=accessed)
    counts(**present(windows=windows))
    numbers(interval=interval)
    texts(mode=mode, **present(mechanism=mechanism))
    paths(**present(cgroup=cgroup))
    if [target, name, cgroup].count(None) != 2:
        raise _core.ConfigError("track: give one of a process's number, a command, the name of a process and a cgroup")
    processes, command = _processes(target, name)
    try:
        return Tracking(_core.track(processes, path_of(cgroup), children, accessed, command, interval, windows, mode, mechanism))
    except _core.ConfigError as error:
        if command and str(error).startswith(f"{command[0]}: No such file"):
            raise _core.ConfigError(f"{command[0]}: no command is called that; a process is given by its number, or with name=") from None
        raise


@in_utf_8()
def reproduce(
    paper: str, *, claims: str | os.PathLike[str] | None = None, seed: int = 1, bands: bool = False, runs: int | None = None, out: str | os.PathLike[str] | None = None
) -> Scoreboard:
    """Makes a paper's evaluation (``all`` for every one): claims, published beside ours, and the figures.

    With ``bands``, every parameter that nobody has published is varied, in at most ``runs`` runs. The folder ``out`` keeps each
    of these, so that an interrupted evaluation goes on where it stopped.
    """
    texts(paper=paper)
    paths(**present(claims=claims, out=out))
    _bands(bands, runs, no_bands=False)
    return Scoreboard(_core.reproduce(paper, path_of(claims), _seed(seed), bands, runs, path_of(out)))


@overload
def show(what: Literal["schema"]) -> dict[str, Any]: ...  # type: ignore[overload-overlap]
@overload
def show(what: Literal["deviations"]) -> str: ...  # type: ignore[overload-overlap]
@overload
def show(what: AMachine | Workload | str | None = None) -> pl.DataFrame: ...
@in_utf_8()
def show(what: AMachine | Workload | str | None = None) -> pl.DataFrame | dict[str, Any] | str:
    """What there is: ``machines``, ``workloads``, ``statistics`` (or ``stats``), ``parameters``, ``claims``, ``protocols``; or what a name means.

    Without a name, what there is to show. ``deviations`` is text, and ``schema`` a JSON Schema.

    Of a machine or workload its parameters, of a statistic or of a column of a comparison its unit and meaning, of a key (whole
    or its last word) or of a system what ``parameters()`` says. Raises ConfigError when nothing is called so.
    """
    if what is None:
        return frame(_core.listing("overview"), ["show", "what"])
    accept(isinstance(what, Machine | Workload) or is_path(what), f"what is a name, a Machine or a Workload, not {what!r}")
    if not isinstance(what, str):
        return parameters(what)
    if what == "schema":
        return schema()
    if what == "deviations":
        return deviations()
    what = "statistics" if what == "stats" else what
    if what in _LISTS:
        return _list(what)
    kind, rows = _core.named(what)
    return frame(rows, _LISTS.get(kind, PARAMETERS))


def machines() -> pl.DataFrame:
    """The machines that come with the project: name, about."""
    return _list("machines")


def workloads() -> pl.DataFrame:
    """The workloads that come with the project: name, meaning, source, fidelity."""
    return _list("workloads")


def statistics() -> pl.DataFrame:
    """Every statistic that a machine may report: name, unit, meaning."""
    return _list("statistics")


def claims() -> pl.DataFrame:
    """Every claim that is checked: id, where, says, use."""
    return _list("claims")


def deviations() -> str:
    """Why claims are missed, and where numbers in print contradict each other: Markdown."""
    found: str = _core.listing("deviations")
    return found


def protocols() -> pl.DataFrame:
    """What ``explore`` takes: name, meaning, bounds, mutants."""
    return _list("protocols")


def parameters(of: AMachine | Workload | str | None = None) -> pl.DataFrame:
    """The parameters of a machine or workload: key, value, unit, default, accepts, source, source_kind, meaning.

    Without one, every definition of a parameter, with the machines that it acts on, or the workloads and recordings that have it.
    """
    if of is None:
        return _list("parameters")
    if isinstance(of, (Machine, Workload)):
        return of.parameters
    if isinstance(of, str) and of in workloads()["name"]:
        return Workload(of).parameters
    return Machine(of).parameters


def schema() -> dict[str, Any]:
    """The JSON Schema of machine files and campaigns."""
    found: dict[str, Any] = _core.listing("schema")
    return found


_LISTS = {
    "machines": ["name", "about"],
    "workloads": ["name", "meaning", "source", "fidelity"],
    "statistics": ["name", "unit", "meaning"],
    "parameters": ["key", "unit", "default", "accepts", "source", "meaning", "machines", "workloads"],
    "claims": ["id", "where", "says", "use"],
    "protocols": ["name", "meaning", "bounds", "mutants"],
}


#: Ways to go on that a state has at most.
_MOST_CHOICES = 2**16


#: What ``show`` gives besides what has a name of its own, as the command does.
TOPICS = (*_LISTS, "deviations", "schema")


def _list(what: str) -> pl.DataFrame:
    rows = _core.listing(what)
    for row in rows:
        if what == "workloads":
            row.setdefault("fidelity", "line")
        if what == "protocols":
            row.update({key: [f"{one['name']}: {one['meaning']}" for one in row[key]] for key in ("bounds", "mutants")})
    return frame(rows, _LISTS[what])


def _several(on: AMachine | Sequence[AMachine]) -> list[AMachine]:
    if isinstance(on, str) and "," in on and not Path(on).exists():
        raise _core.ConfigError(f"on {on}: give a list of machines: on={[name.strip() for name in on.split(',')]}")
    # A name is a sequence too, of letters.
    accept(isinstance(on, Machine | str | os.PathLike | Iterable) and not isinstance(on, bytes), f"on is a machine or a list of machines, not {on!r}")
    listed = [on] if isinstance(on, Machine | str | os.PathLike) else list(on)
    if "family" not in listed:
        return listed
    # What is no machine of the project as it comes stands there by its number, which is no name of a machine.
    named = [_unchanged(machine) or f"#{number}" for number, machine in enumerate(listed)]
    given = dict(zip(named, listed, strict=True))
    return [given.get(name, name) for name in _core.compared(named)]


def _unchanged(machine: object) -> str | None:
    """The name of a machine that is as it comes; none of one that was changed or renamed."""
    if isinstance(machine, Machine):
        return machine.source if machine.name == machine.source and not machine.changes else None
    return os.fspath(machine) if isinstance(machine, str | os.PathLike) else None


def _index(given: list[Machine], machines: list[Machine], baseline: AMachine | None) -> int:
    """The number of the baseline: by name, as it was given, or the machine itself; the first unless said."""
    names = [machine.name for machine in machines]
    if baseline is None:
        return 0
    if isinstance(baseline, Machine) and baseline in given:
        return given.index(baseline)
    accept(isinstance(baseline, Machine) or is_path(baseline), f"baseline is a machine of on, not {baseline!r}")
    name = baseline.name if isinstance(baseline, Machine) else os.fspath(baseline)
    if name in names:
        return names.index(name)
    # A file by its path, as machines are given.
    as_given = [index for index, machine in enumerate(given) if machine.source == name and not machine.changes]
    if not as_given:
        raise _core.ConfigError(f"baseline {name}: is not among {', '.join(names)}")
    return as_given[0]


def _distinct(machines: list[Machine]) -> list[Machine]:
    """The machines, each with a name of its own: the path of its file where another source has that name, and its changes where the same one has."""
    sources = {(machine.name, machine.source) for machine in machines}
    shared = Counter(name for name, _ in sources)
    by_path = [machine.named_by_path() if shared[machine.name] > 1 else machine for machine in machines]
    names = Counter(machine.name for machine in by_path)
    changed = [machine.named_by_changes() if names[machine.name] > 1 and machine.changes else machine for machine in by_path]
    again = Counter(machine.name for machine in changed)
    twice = [name for name, times in again.items() if times > 1]
    if twice:
        raise _core.ConfigError(f"on: {twice[0]} is there {again[twice[0]]} times; give label= to tell them apart")
    return changed


def _bounds(bounds: dict[str, Value]) -> list[tuple[str, str]]:
    # A flag is given by its name alone.
    given = {key.replace("_", "-"): value for key, value in bounds.items() if value is not False}
    return [(key, "" if value == "true" else value) for key, value in pairs(given)]


def _processes(target: int | str | Sequence[int] | Sequence[str | os.PathLike[str]] | None, name: str | Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Processes by number or name, and the words of a command."""
    if isinstance(target, int):
        return [str(target)], []
    if target is None:
        accept(name is None or isinstance(name, Iterable), f"name is the name of a process or a list of names, not {name!r}")
        return [name] if isinstance(name, str) else list(name or []), []
    accept(isinstance(target, Iterable), f"target is a process's number, several of them, or a command, not {target!r}")
    numbers = [] if isinstance(target, str) else [str(word) for word in target if isinstance(word, int)]
    if numbers and len(numbers) == len(target):
        return numbers, []
    return [], _command(cast("str | Sequence[str | os.PathLike[str]]", target))


def _are_paths(*given: object) -> None:
    for path in given:
        accept(is_path(path), f"give the path of a file or folder, not {path!r}")


def _command(command: str | Sequence[str | os.PathLike[str]]) -> list[str]:
    accept(isinstance(command, Iterable), f"a command is text or a list of words, not {command!r}")
    words = _words(command) if isinstance(command, str) else list(command)
    if not words:
        raise _core.ConfigError("command: give the program and its arguments")
    for word in words:
        accept(is_path(word), f"a word of a command is text or a path, not {word!r}")
    return [os.fspath(word) for word in words]


def _words(command: str) -> list[str]:
    """The words of a command as a shell takes it apart."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise _core.ConfigError(f"command {command!r}: {str(error)[:1].lower()}{str(error)[1:]}; close it, or give a list of words") from None


def _seed(seed: int) -> int:
    if not isinstance(seed, Integral) or isinstance(seed, bool) or not 0 <= seed < 2**64:
        raise _core.ConfigError(f"seed {seed!r}: give a whole number from 0 to {2**64 - 1}")
    return int(seed)


def _bands(bands: bool, runs: int | None, no_bands: bool) -> tuple[str, int | None]:
    """What is told beside the one time, as the core names it, and in how many runs at most."""
    flags(bands=bands, no_bands=no_bands)
    counts(**present(runs=runs))
    if bands and no_bands:
        raise _core.ConfigError("no_bands: one time alone; give bands=True or no_bands=True")
    if runs is not None and not bands:
        raise _core.ConfigError("runs: how many runs bands takes; give bands=True too")
    if bands:
        return "open", runs
    return ("none" if no_bands else "recordings"), None


def _reference(engine: str) -> bool:
    if engine not in ("fast", "reference"):
        raise _core.ConfigError(f"engine {engine}: give fast or reference")
    return engine == "reference"

