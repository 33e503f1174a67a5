"""``coreplane sweep --on tcp://HOST:8786``: the runs of a campaign on the workers of a Dask scheduler.

Each worker needs coreplane and nothing else: the campaign and the files that it names travel with the runs, and what a
run writes comes back. A run is made by the command line that makes it at home, so that results are the same bytes.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coreplane import _core
from coreplane.files import write

#: Tasks for each thread of the workers.
TASKS_A_THREAD = 8
#: The compiled core's command line: a report of some runs, of which nothing comes back, takes longer than short runs do.
CORE = [sys.executable, "-c", "import sys; from coreplane import _core; sys.exit(_core.cli_main(['coreplane', *sys.argv[1:]]))"]
#: Seconds for which a scheduler without workers is given time to get one.
WORKERS_WITHIN_S = 60


def main(args: list[str], url: str) -> int:
    """Runs ``coreplane sweep`` with ``args``, without their ``--on``, on the scheduler at ``url``; gives the exit code."""
    try:
        _dask()
        planned = subprocess.run(_planning(_quietly(args)), stdout=subprocess.PIPE, text=True)
        if planned.returncode:
            return planned.returncode
        code = _spread(json.loads(planned.stdout), url, sys.stderr.write)
    except _core.ConfigError as error:
        print(f"coreplane: {error}", file=sys.stderr)
        return 2
    # Everything is there now, or has failed once: the rest, the campaign's own files and the table are made at home.
    return code or _core.cli_main(["coreplane", *args, *(() if "--resume" in args else ("--resume",))])


def sweep(campaign: str, url: str, out: str | None, resume: bool) -> None:
    """Makes a campaign's runs on the scheduler at ``url``: what is missing then has failed there. Raises ConfigError when it cannot be done."""
    try:
        _dask()
        options = [*(["--out", out] if out is not None else []), *(["--resume"] if resume else [])]
        planned = subprocess.run(_planning(["sweep", campaign, *options]), capture_output=True, text=True)
        said = [planned.stderr] if planned.returncode else []
        code = planned.returncode or _spread(json.loads(planned.stdout), url, said.append)
        # A run that broke a promise is told with the others.
        if code not in (0, 1):
            raise _core.ConfigError("".join(said).strip().removeprefix("coreplane: "))
    except _core.ConfigError as error:
        raise _core.ConfigError(_core.without_options(str(error))) from None


def _planning(args: list[str]) -> list[str]:
    """The command that says which runs ``coreplane`` with ``args`` would make."""
    return [sys.executable, "-m", "coreplane._cli", *args, "--plan"]


def _dask() -> Any:
    """Dask's client. Raises ConfigError where it is not installed."""
    try:
        from distributed import Client
    except ImportError:
        raise _core.ConfigError("--on: Dask is not installed: pip install 'coreplane[cluster]'") from None
    return Client


def _spread(plan: dict[str, Any], url: str, tell: Callable[[str], object]) -> int:
    """Makes the runs of a plan that are missing, on the scheduler at ``url``, and tells what they say; gives the worst exit code. Raises ConfigError when none can be made."""
    folder, campaign = Path(plan["folder"]), Path(plan["campaign"])
    outside = [name for name in plan["files"] if Path(name).is_absolute() or ".." in Path(name).parts]
    if outside:
        raise _core.ConfigError(f"{campaign}: {outside[0]}: on a cluster, a campaign's files have to lie in its folder")
    files = {name: (campaign.parent / name).read_bytes() for name in plan["files"]}
    files[campaign.name] = campaign.read_bytes()
    missing = [run["name"] for run in plan["runs"] if not run["done"]]
    if not re.fullmatch(r"inproc://.+|(tcp|tls|ws|wss|ucx)://.+:\d+/?", url):
        # A client that was never connected would report its own end in ten lines.
        raise _core.ConfigError(f"--on {url}: not a scheduler's address; give tcp://HOST:PORT (a scheduler's own is 8786)")
    try:
        client = _dask()(url, timeout="5s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise _core.ConfigError(f"--on {url}: no Dask scheduler answers there: {error}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKERS_WITHIN_S)
        except TimeoutError:
            raise _core.ConfigError(f"--on {url}: the scheduler has no workers; start some: dask worker {url}") from None
        folder.mkdir(parents=True, exist_ok=True)
        # Results without it would be nobody's, and any campaign could go on there.
        write(folder / "campaign.json", json.dumps(plan["about"], indent=2).encode())
        return _all(client, campaign.name, files, missing, folder, tell)


def _all(client: Any, campaign: str, files: dict[str, bytes], names: list[str], folder: Path, tell: Callable[[str], object]) -> int:
    """Makes the runs and keeps what comes back as it comes; 1 or 2 when one did not end well, of which is told what it says.

    A task makes several short runs, which share the reading of the campaign; there are enough tasks for all to end together.
    """
    from distributed import as_completed

    (shared,) = client.scatter([files], broadcast=True, hash=False, timeout=WORKERS_WITHIN_S)
    tasks = TASKS_A_THREAD * max(1, sum(client.nthreads().values()))
    shares = [share for n in range(tasks) if (share := names[n::tasks])]
    work = [client.submit(_work, campaign, shared, share, key=f"coreplane-{share[0]}", pure=False) for share in shares]
    worst = 0
    for future in as_completed(work, loop=client.loop):
        try:
            code, messages, results = future.result()
        except Exception as error:  # a worker that died, or cannot import coreplane
            code, messages, results = 2, f"coreplane: --on: a worker could not do it: {error}\n", {}
        for name, content in sorted(results.items()):
            write(folder / name, content)
        if code:
            tell(messages)
        worst = max(worst, code)
    return worst


def _work(campaign: str, files: dict[str, bytes], names: list[str]) -> tuple[int, str, dict[str, bytes]]:
    """On a worker: makes some runs one after the other; gives the exit code, the messages, and the files that were written."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "campaign"
        for path, content in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        command = [*CORE, "sweep", campaign, "--out", "../out", "--jobs", "1", "--quiet"]
        only = [word for name in names for word in ("--only", name)]
        done = subprocess.run([*command, *only], cwd=root, capture_output=True, text=True)
        found = [path for name in names for path in Path(place).glob(f"out/{name}.*")]
        return done.returncode, done.stderr, {path.name: path.read_bytes() for path in found}


def _quietly(args: list[str]) -> list[str]:
    """The arguments without those that say how to print."""
    kept, rest = [], iter(args)
    for arg in rest:
        if arg == "--format":
            next(rest, None)
        elif arg not in ("--quiet", "-q") and not arg.startswith("--format="):
            kept.append(arg)
    return kept
