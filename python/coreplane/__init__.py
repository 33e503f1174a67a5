"""Run real programs on memory that cannot be bought.

>>> import coreplane as cp
>>> run = cp.run(cp.Machine("asap-rp"), cp.Workload("queue", operations=200), seed=1)
>>> run.time > 0
True
"""

from coreplane import _begin as _begin  # isort: skip - before what takes long to load
from coreplane._core import ConfigError, RunError, __version__

# Checkers of types take it for true. The library that has it takes longer to import than all else here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from coreplane.api import claims, compare, crash, curve, deviations, diff, explore, holdup, litmus, machines, parameters, protocols, record, replay, reproduce, run, schema, shared, show, statistics, sweep, track, workloads
    from coreplane.findings import Crash, Exploration, Finding, Litmus, Replay, Scoreboard, Shared, SharedFinding, Side, Store, Test, Tracking, Violation
    from coreplane.inputs import Machine, Trace, Workload
    from coreplane.program import Program
    from coreplane.program_thread import Thread
    from coreplane.results import Comparison, Curve, Difference, Run, Sweep

del TYPE_CHECKING

_HOMES = {
    "api": "claims compare crash curve deviations diff explore holdup litmus machines parameters protocols record replay reproduce run schema shared show statistics sweep track workloads",
    "findings": "Crash Exploration Finding Litmus Replay Scoreboard Shared SharedFinding Side Store Test Tracking Violation",
    "inputs": "Machine Trace Workload",
    "program": "Program",
    "program_thread": "Thread",
    "results": "Comparison Curve Difference Run Sweep",
}

__all__ = [  # noqa: RUF022
    "Machine", "Workload", "Trace", "Program", "Thread",
    "run", "compare", "diff", "curve", "sweep", "crash", "holdup", "shared", "litmus", "explore", "replay", "record", "track", "reproduce",
    "show", "machines", "workloads", "statistics", "claims", "deviations", "protocols", "parameters", "schema",
    "Run", "Comparison", "Difference", "Curve", "Sweep", "Crash", "Finding", "Store", "Shared", "SharedFinding", "Side", "Litmus", "Test", "Exploration", "Violation", "Replay", "Scoreboard", "Tracking",
    "ConfigError", "RunError", "__version__",
]  # fmt: skip


def __getattr__(name: str) -> object:
    # The libraries for tables and plots take twice as long to import as the command line takes for a short answer.
    from importlib import import_module

    home = next((home for home, names in _HOMES.items() if name in names.split()), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"coreplane.{home}"), name)
    # A module of the package may have the function's name; from now on it is the function.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
