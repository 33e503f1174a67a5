"""Run real programs on memory that cannot be bought.

>>> import coreplane as cp
>>> run = cp.run(cp.Machine("asap-rp"), cp.Workload("queue", operations=200), seed=1)
>>> run.time > 0
True
"""

from coreplane._core import ConfigError, __version__
from coreplane.api import Comparison, Machine, Run, Workload, compare, run, sweep

__all__ = ["Comparison", "ConfigError", "Machine", "Run", "Workload", "__version__", "compare", "run", "sweep"]
