"""The command line: figures and reports are drawn here, everything else is the compiled core's."""

import sys
from pathlib import Path

from coreplane import _core


def main() -> int:
    """Runs ``coreplane`` with the arguments of the process."""
    args = sys.argv[1:]
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
    for index, arg in enumerate(args):
        if arg in ("--out", "-o") and index + 1 < len(args):
            return Path(args[index + 1])
        if arg.startswith("--out="):
            return Path(arg.removeprefix("--out="))
    return None


if __name__ == "__main__":
    sys.exit(main())
