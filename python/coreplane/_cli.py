"""The command line: figures and reports are drawn here, everything else is the compiled core's."""

import sys
from pathlib import Path

from coreplane import _core


def main() -> int:
    """Runs ``coreplane`` with the arguments of the process."""
    args = sys.argv[1:]
    url, rest = _taken(args, "--on")
    if args[:1] == ["sweep"] and url not in (None, "local"):
        from coreplane import cluster

        return cluster.main(rest, url)
    code = _core.cli_main(["coreplane", *args])
    out = _out(args)
    if out is None or code == 2 or not args or args[0] not in ("run", "compare", "reproduce"):
        return code
    from coreplane import report

    if args[0] == "run":
        page = report.run(out)
        pages = [page] if page else []
    elif args[0] == "compare":
        pages = [report.compare(out)]
    else:
        # Of one paper in the folder itself, of several in a folder each.
        found = [out] if (out / "reproduce.json").exists() else sorted(p.parent for p in out.glob("*/reproduce.json"))
        pages = [report.reproduce(folder) for folder in found]
    if "json" not in args and "--format=json" not in args:
        for page in pages:
            print(f"\nreport: {page}")
    return code


def _out(args: list[str]) -> Path | None:
    """The folder given with --out."""
    folder = _taken(args, "--out")[0] or _taken(args, "-o")[0]
    return Path(folder) if folder else None


def _taken(args: list[str], option: str) -> tuple[str | None, list[str]]:
    """The value of an option, and the arguments without it."""
    for index, arg in enumerate(args):
        if arg == option and index + 1 < len(args):
            return args[index + 1], args[:index] + args[index + 2 :]
        if arg.startswith(f"{option}="):
            return arg.removeprefix(f"{option}="), args[:index] + args[index + 1 :]
    return None, args


if __name__ == "__main__":
    sys.exit(main())
