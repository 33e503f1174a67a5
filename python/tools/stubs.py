"""Writes the stubs: of the compiled core, and of every key of machines and workloads.

``python python/tools/stubs.py [FOLDER]`` asks the installed package; a test holds that what is checked in is what it gives.
"""

import inspect
import json
import keyword
import sys
from pathlib import Path
from typing import Any

from coreplane import _core

HERE = Path(__file__).parents[1] / "coreplane"
HEAD = "# Made by python/tools/stubs.py; do not edit."
CONSTRUCTORS = {
    "Machine": "source: str, settings: list[tuple[str, str]], memories: list[list[tuple[str, str]]], label: str | None = None, texts: dict[str, str] = ...",
    "Workload": "name: str, settings: list[tuple[str, str]]",
}


def core() -> str:
    """The stub of the compiled core, from the last line of its doc comments."""
    lines = [HEAD, '"""The compiled core."""', "", "from typing import Any", "", "__version__: str", ""]
    for name, thing in sorted(vars(_core).items()):
        if isinstance(thing, type) and issubclass(thing, Exception):
            lines += [f"class {name}({thing.__bases__[0].__name__}):", f'    """{thing.__doc__}"""', ""]
        elif isinstance(thing, type):
            lines += [f"class {name}:", f'    """{thing.__doc__}"""', ""]
            lines += [f"    def __init__(self, {CONSTRUCTORS[name]}) -> None: ..."]
            lines += ["    " + _function(method, part, "self, ") for method, part in sorted(vars(thing).items()) if not method.startswith("_")]
            lines += [""]
        elif callable(thing):
            lines += [_function(name, thing), ""]
    return "\n".join(lines).rstrip() + "\n"


def _function(name: str, thing: Any, first: str = "") -> str:
    *_, types = inspect.getdoc(thing).splitlines()
    takes, gives = types.removeprefix("(").split(") -> ")
    declared = [part.split(":")[0].strip() for part in _parts(takes) if part.strip() != "*"]
    real = [p for p in inspect.signature(thing).parameters if p != "self"]
    if declared != real:
        raise SystemExit(f"{name}: its comment speaks of {declared}, it takes {real}")
    return f"def {name}({(first + takes).removesuffix(', ')}) -> {gives}: ..."


def _parts(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "[") - (c == "]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part for part in parts if part.strip()]


def keys() -> str:
    """The stub of all keys, from the schema of machine files and that of workloads."""
    classes: list[str] = []
    sections = {name: one for name, one in _core.listing("schema")["properties"].items() if name not in ("about", "extends", "sources")}
    entry = {"size": {"type": ["integer", "string"]}, "share": {"type": "integer"}} | sections["memory"]["properties"]
    fields = {name: _type(name, one, classes, "") for name, one in sections.items()}
    _class("MemoryEntry", {name: _type(name, one, classes, "Memory") for name, one in entry.items()}, classes)
    fields["memory"] += " | Sequence[MemoryEntry]"
    _class("MachineKeys", fields, classes)
    given = _core.listing("workload schema")["properties"]
    _class("WorkloadKeys", {name: _type(name, one, classes, "") for name, one in given.items()}, classes)
    head = [HEAD, '"""Every key of machines and workloads, with what it takes."""', "", "from collections.abc import Sequence", "from typing import Literal, TypedDict", ""]
    return "\n".join([*head, *classes]).rstrip() + "\n"


def _class(name: str, fields: dict[str, str], classes: list[str]) -> None:
    strange = [field for field in fields if not field.isidentifier() or keyword.iskeyword(field)]
    if strange:
        raise SystemExit(f"{name}: {strange[0]} is no name in Python")
    lines = [f"class {name}(TypedDict, total=False):", *(f"    {field}: {kind}" for field, kind in sorted(fields.items())), ""]
    # A memory's sections are the machine's.
    if "\n".join(lines) not in classes:
        classes.append("\n".join(lines))


def _type(name: str, one: dict[str, Any], classes: list[str], inside: str) -> str:
    if "properties" in one:
        own = inside + name.title().replace("_", "")
        _class(own, {key: _type(key, part, classes, own) for key, part in one["properties"].items()}, classes)
        return own
    if "anyOf" in one:
        kinds = [kind for part in one["anyOf"] for kind in _type(name, part, classes, inside).split(" | ")]
        words = sorted({word for kind in kinds if kind.startswith("Literal") for word in kind[8:-1].split(", ")})
        plain = sorted({kind for kind in kinds if not kind.startswith("Literal")})
        return " | ".join(plain + ([f"Literal[{', '.join(words)}]"] if words else []))
    if "enum" in one:
        return f"Literal[{', '.join(json.dumps(word) for word in one['enum'])}]"
    types = one["type"] if isinstance(one["type"], list) else [one["type"]]
    return " | ".join({"integer": "int", "number": "float", "string": "str", "boolean": "bool"}[kind] for kind in types)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    (folder / "_core.pyi").write_text(core())
    (folder / "_keys.pyi").write_text(keys())


if __name__ == "__main__":
    main()
