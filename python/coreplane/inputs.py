"""What is simulated: machines, and workloads to run on them. Names, keys and values are checked when they are made."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from coreplane import _core, notebook

if TYPE_CHECKING:
    from typing import Unpack

    from coreplane._keys import MachineKeys, MemoryEntry, WorkloadKeys

#: A value of a key: as text with its unit, too ("60 ns", "64 KiB").
Value: TypeAlias = str | int | float | bool

PARAMETERS = ["key", "value", "unit", "default", "accepts", "source", "source_kind", "meaning"]


@contextmanager
def in_utf_8() -> Iterator[None]:
    """Raises ConfigError where the compiled core is given text that is not UTF-8, as names of files may be."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise _core.ConfigError(f"{error.object!r}: is not UTF-8") from None


class Machine:
    """A machine by name or TOML file, with changes by section or dotted key.

    >>> Machine("asap-rp", ordering={"persist_buffer": 16})
    Machine('asap-rp', {'ordering.persist_buffer': '16'})
    >>> Machine("asap-rp", {"memory.pm.read_ns": 300.5}, label="slow").name
    'slow'
    >>> Machine("bbb", memory=[{"kind": "pm", "share": 3}, {"kind": "pm", "pm": {"read_ns": 60}}]).name
    'bbb'

    Raises ConfigError when the machine is not known, or does not accept a key or value.
    """

    @in_utf_8()
    def __init__(
        self,
        source: str | os.PathLike[str],
        settings: Mapping[str, Value] | None = None,
        /,
        *,
        label: str | None = None,
        **sections: "Unpack[MachineKeys]",
    ) -> None:
        accept(is_path(source), f"a machine is a name or the path of its file, not {source!r}")
        accept(settings is None or isinstance(settings, Mapping), f"settings are a mapping of keys and values, not {settings!r}")
        texts(**present(label=label))
        given: dict[str, Any] = dict(sections)
        listed = _is_list(given.get("memory"))
        memories: Sequence[MemoryEntry] = given.pop("memory") if listed else []
        if listed and not memories:
            raise _core.ConfigError("memory: the list is empty; give its memories, or leave it away")
        for memory in memories:
            accept(isinstance(memory, Mapping), f"a memory of the list is a mapping such as {{'kind': 'pm'}}, not {memory!r}")
        #: Its name, or the path of its file.
        self.source = os.fspath(source)
        #: What differs from it, by dotted key, as text.
        self.settings = _flat(settings or {}) | _flat(given)
        #: The memories that it has instead of its own, where a list was given.
        self.memories = [_flat(memory, within=("memory.", "")) for memory in memories]
        self._label = label
        self._make({})

    def _make(self, texts: dict[str, str]) -> None:
        """Checked, from its files, or from what they said before."""
        self._core = _core.Machine(self.source, list(self.settings.items()), [list(m.items()) for m in self.memories], self._label, texts)

    def _called(self, label: str) -> "Machine":
        """The same by another name."""
        return _machine_again(self.source, self.settings, self.memories, label, self._core.texts())

    @property
    def name(self) -> str:
        """What results call it: its label, or its name."""
        return self._core.name()

    def named_by_changes(self) -> "Machine":
        """The same, with its changes in its name."""
        return self._called(f"{self.name} {self.changes}")

    def named_by_path(self) -> "Machine":
        """The same, called as it was given, which of a file is its path; what has a label keeps it."""
        return self if self._label is not None else self._called(self.source)

    @property
    def changes(self) -> str:
        """What differs from its source, in words."""
        memories = {f"memory.{n}.{key}": value for n, memory in enumerate(self.memories) for key, value in memory.items()}
        return _changes(self.settings | memories)

    @property
    def parameters(self) -> pl.DataFrame:
        """The parameters that act on it: key, value, unit, default, accepts, source, source_kind, meaning."""
        return frame(self._core.parameters(), PARAMETERS)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Machine) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash((self.source, self._label, frozenset(self.settings.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return _machine_again, self._state()

    def _state(self) -> tuple[str, dict[str, str], list[dict[str, str]], str | None, dict[str, str]]:
        return self.source, self.settings, self.memories, self._label, self._core.texts()

    def __repr__(self) -> str:
        settings = [repr(self.settings)] if self.settings else []
        memories = [f"memory={self.memories!r}"] if self.memories else []
        return f"Machine({', '.join([repr(self.source), *settings, *memories])})"

    def _repr_html_(self) -> str:
        return notebook.title(self.name, self.changes) + notebook.table(self.parameters.select("key", "value", "unit", "meaning"))


class Workload:
    """A workload by name, or recordings (``trace:FILE``), with its parameters.

    >>> Workload("cceh", threads=8)
    Workload('cceh', {'threads': '8'})

    Raises ConfigError when it is not known, cannot be read, or does not accept a parameter.
    """

    @in_utf_8()
    def __init__(self, name: str, /, **parameters: "Unpack[WorkloadKeys]") -> None:
        accept(isinstance(name, str), f"a workload is its name, not {name!r}")
        #: Its name, or ``trace:`` and the files.
        self.name = name
        #: Its parameters that were given, as text.
        self.settings = _flat(parameters, within=("workload.",))
        # From where the files of a recording are found.
        self._folder = os.getcwd() if ":" in name else None
        self._core = _core.Workload(name, [(f"workload.{key}", value) for key, value in self.settings.items()])

    @property
    def parameters(self) -> pl.DataFrame:
        """Its parameters: key, value, unit, default, accepts, source, source_kind, meaning."""
        return frame(self._core.parameters(), PARAMETERS)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and (self.name, self.settings) == (other.name, other.settings)

    def __hash__(self) -> int:
        return hash((self.name, frozenset(self.settings.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return _workload_again, (self.name, self.settings, self._folder)

    def __repr__(self) -> str:
        return f"Workload({self.name!r}, {self.settings!r})" if self.settings else f"Workload({self.name!r})"

    def _repr_html_(self) -> str:
        return notebook.title(self.name, _changes(self.settings)) + notebook.table(self.parameters.select("key", "value", "unit", "meaning"))


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


class Trace:
    """Recordings of one program: a workload wherever one is taken."""

    def __init__(self, *paths: str | os.PathLike[str]) -> None:
        if not paths:
            raise _core.ConfigError("Trace: give at least one file")
        for path in paths:
            accept(is_path(path), f"a trace is the path of its file, not {path!r}")
        #: Its files.
        self.paths = [Path(path) for path in paths]
        #: What the first one holds: records, threads, kinds, files, remarks.
        self.summary: dict[str, Any] = _core.trace_summary(str(self.paths[0]))
        #: What the recorder said of it, where it was just recorded.
        self.remarks: list[str] = []

    @property
    def records(self) -> pl.LazyFrame:
        """Its records, read as they are needed; of Parquet files.

        Raises ConfigError where it is another kind of file.
        """
        if others := [path for path in self.paths if not _is_parquet(path)]:
            raise _core.ConfigError(f"{others[0]}: records are read of Parquet files; coreplane trace convert {others[0]} {others[0].stem}.parquet makes one")
        return pl.scan_parquet(self.paths)

    @property
    def kinds(self) -> pl.DataFrame:
        """How many records there are of each kind."""
        return frame([{"kind": kind, "records": n} for kind, n in self.summary["kinds"].items()], ["kind", "records"])

    def workload(self, **parameters: "Unpack[WorkloadKeys]") -> Workload:
        """It as a workload, with parameters of a replay."""
        return Workload(f"trace:{','.join(map(str, self.paths))}", **parameters)

    def __repr__(self) -> str:
        return f"Trace({', '.join(repr(str(path)) for path in self.paths)})"

    def _repr_html_(self) -> str:
        about = f"{self.summary['records']:,} records; {self.summary['source']}"
        return notebook.title(repr(self), about) + notebook.table(self.kinds)


class WrongType(_core.ConfigError, TypeError):
    """An argument's type does not fit: bad input as any other, and what Python calls that."""


def accept(fits: bool, otherwise: str) -> None:
    """Raises WrongType with what is accepted where an argument's type does not fit."""
    if not fits:
        raise WrongType(otherwise)


def flags(**given: object) -> None:
    """Raises WrongType where an argument is neither True nor False."""
    for name, value in given.items():
        accept(isinstance(value, bool), f"{name} is True or False, not {value!r}")


MOST = 2**63 - 1
"""The largest whole number that is taken."""


def present(**given: Any) -> dict[str, Any]:
    """The arguments that were not left away, of those that may be."""
    return {name: value for name, value in given.items() if value is not None}


def counts(least: int = 1, most: int = MOST, /, **given: object) -> None:
    """Raises WrongType where an argument is no whole number, ConfigError where it is less than ``least`` or more than ``most``."""
    for name, value in given.items():
        accept(isinstance(value, Integral) and not isinstance(value, bool), f"{name} is a whole number, not {value!r}")
        if isinstance(value, Integral) and not least <= int(value) <= most:
            raise _core.ConfigError(f"{name} {value}: give {f'at least {least}' if int(value) < least else f'at most {most}'}")


def numbers(**given: object) -> None:
    """Raises WrongType where an argument is no number."""
    for name, value in given.items():
        accept(isinstance(value, Real) and not isinstance(value, bool), f"{name} is a number, not {value!r}")


def seconds(**given: float) -> None:
    """Raises WrongType where an argument is no number, ConfigError where it is no length of time: below zero, or without end."""
    numbers(**given)
    for name, value in given.items():
        if not 0 <= value < math.inf:
            raise _core.ConfigError(f"{name} {value}: give a number of seconds, zero or more")


def texts(**given: object) -> None:
    """Raises WrongType where an argument is no text."""
    for name, value in given.items():
        accept(isinstance(value, str), f"{name} is text, not {value!r}")


def is_path(value: object) -> bool:
    """Whether it names a file or folder, as text."""
    return isinstance(value, str) or (isinstance(value, os.PathLike) and isinstance(os.fspath(value), str))


def paths(**given: object) -> None:
    """Raises WrongType where an argument is no path of a file or folder."""
    for name, value in given.items():
        accept(is_path(value), f"{name} is the path of a file or folder, not {value!r}")


def path_of(path: str | os.PathLike[str] | None) -> str | None:
    """A path as the compiled core takes it, where one was given."""
    return None if path is None else os.fspath(path)


def machine_of(machine: Machine | str | os.PathLike[str]) -> Machine:
    """A machine, given or by name."""
    accept(isinstance(machine, Machine) or is_path(machine), f"a machine is a name, a path or a Machine, not {machine!r}")
    return machine if isinstance(machine, Machine) else Machine(machine)


def workload_of(workload: Workload | Trace | str) -> Workload:
    """A workload, given or by name."""
    if isinstance(workload, Trace):
        return workload.workload()
    program = hasattr(workload, "save") and hasattr(workload, "main")
    accept(not program, "a Program is a workload once it is kept: give the Trace that its save(\"FILE.parquet\") returns")
    accept(isinstance(workload, Workload | str), f"a workload is a name, a Workload or a Trace, not {workload!r}")
    return workload if isinstance(workload, Workload) else Workload(workload)


def core_of(thing: Machine | Workload) -> Any:
    """The checked thing inside."""
    return thing._core


def frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pl.DataFrame:
    """Rows as a table with these columns, also where there is none; what a row lacks is null."""
    return pl.DataFrame({name: pl.Series(name, [row.get(name) for row in rows], strict=False) for name in columns})


def pairs(changes: Mapping[str, object]) -> list[tuple[str, str]]:
    """Keys and values as text, nested keys with dots."""
    return list(_flat(changes).items())


def _flat(changes: Mapping[str, Any], prefix: str = "", within: tuple[str, ...] = ("",)) -> dict[str, str]:
    """Keys by name and values as text; ``within`` is what the names leave away."""
    flat: dict[str, str] = {}
    for key, value in changes.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and not value and not _begins_keys(name, within):
            # No key: whoever takes it says what could be meant.
            flat[name] = ""
        elif isinstance(value, Mapping):
            flat |= _flat(value, f"{name}.", within)
        else:
            flat[name] = _text(name, value)
    return flat


def _begins_keys(name: str, within: tuple[str, ...]) -> bool:
    """Whether keys stand in a section of this name: an empty one of another name is a typing error."""
    for whole in (f"{start}{name}" for start in within):
        try:
            keys = [str(row.get("key", "")) for row in _core.named(whole.split(".")[0])[1]]
        except _core.ConfigError:
            continue
        if any(key.startswith(f"{whole}.") for key in keys):
            return True
        accept(whole not in keys, f"{name}: give a value, not an empty mapping")
    return False


def _text(key: str, value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return value
        case Integral():
            return str(int(value))
        case Real():
            number = float(value)
            return str(int(number)) if number.is_integer() else str(number)
    raise _core.ConfigError(f"{key}: give text, a number or a truth value, not {type(value).__name__}")


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _changes(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in settings.items())


def _machine_again(source: str, settings: dict[str, str], memories: list[dict[str, str]], label: str | None, texts: dict[str, str]) -> Machine:
    """A machine as it was, whatever has become of its files."""
    again = Machine.__new__(Machine)
    again.source, again.settings, again.memories, again._label = source, dict(settings), [dict(m) for m in memories], label
    again._make(texts)
    return again


def _workload_again(name: str, settings: dict[str, str], folder: str | None) -> Workload:
    """A workload as it was; the files of a recording are found from ``folder``."""
    again: Any = settings
    if folder is not None and folder != os.getcwd():
        kind, _, files = name.partition(":")
        name = f"{kind}:{','.join(os.path.join(folder, file) for file in files.split(','))}"
    return Workload(name, **again)
