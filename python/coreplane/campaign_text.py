"""The text of a campaign that was given as a mapping: what its TOML file would be."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

from coreplane import _core
from coreplane.inputs import Machine, Workload, accept, is_path, pairs


def text_of(campaign: Mapping[str, Any]) -> str:
    """TOML with the keys of ``campaign``; the compiled core says whether they are those of one. Raises ConfigError where a value is none that a file could have."""
    lines = [f"{_key(key)} = {_plain(key, value)}" for key, value in campaign.items() if not isinstance(value, Mapping)]
    for key, value in campaign.items():
        if isinstance(value, Mapping):
            lines += [f"[{_key(key)}]", *(f"{_key(name)} = {_settings(name, given)}" for name, given in _leaves(value))]
    return "\n".join(lines) + "\n"


def _key(key: object) -> str:
    accept(isinstance(key, str), f"a campaign's keys are text, not {key!r}")
    return key if isinstance(key, str) and re.fullmatch(r"[\w-]+(\.[\w-]+)*", key, re.ASCII) else json.dumps(key, ensure_ascii=False)


def _leaves(given: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Keys with dots and their values, of sections in sections too."""
    for key, value in given.items():
        accept(isinstance(key, str), f"a campaign's keys are text, not {key!r}")
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _settings(key: str, value: object) -> str:
    """A value of a machine's or workload's key, or several, written as everywhere else."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return f"[{', '.join(_settings(key, each) for each in value)}]"
    return json.dumps(pairs({key: value})[0][1], ensure_ascii=False)


def _plain(key: str, value: object) -> str:
    """What a campaign has besides: names, files and seeds."""
    match value:
        case Machine() | Workload() if _has_changes(value):
            raise _core.ConfigError(f"{key}: {value!r}: a campaign's machines and workloads are names and files; give its changes under set or vary, or keep it in a file")
        case Machine():
            return json.dumps(value.source, ensure_ascii=False)
        case Workload():
            return json.dumps(value.name, ensure_ascii=False)
        case Integral() if not isinstance(value, bool):
            return str(int(value))
        case Sequence() if not isinstance(value, str | bytes):
            return f"[{', '.join(_plain(key, each) for each in value)}]"
    accept(is_path(value), f"{key}: give text, whole numbers or a list of them, not {value!r}")
    return json.dumps(str(value), ensure_ascii=False)


def _has_changes(given: Machine | Workload) -> bool:
    return bool(given.settings) or (isinstance(given, Machine) and (bool(given.memories) or given.name != Machine(given.source).name))
