"""Run real programs on memory that cannot be bought.

>>> import coreplane as cp
>>> run = cp.run(cp.Machine("asap-rp"), cp.Workload("queue", operations=200), seed=1)
>>> run.time > 0
True
"""

from typing import TYPE_CHECKING, Any

from coreplane._core import ConfigError, __version__

if TYPE_CHECKING:
    from coreplane.api import Comparison, Machine, Run, Workload, compare, run, sweep

__all__ = ["Comparison", "ConfigError", "Machine", "Run", "Workload", "__version__", "compare", "run", "sweep"]


def __getattr__(name: str) -> Any:
    # The libraries for tables and plots take twice as long to import as the command line takes for a short answer.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from coreplane import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
