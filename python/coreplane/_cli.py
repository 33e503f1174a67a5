"""The command line: figures and reports are drawn here, everything else is the compiled core's."""

import signal
import sys
from pathlib import Path

from coreplane import _core


def main() -> int:
    """Runs ``coreplane`` with the arguments of the process."""
    try:
        return _main()
    except KeyboardInterrupt:
        print("coreplane: interrupted", file=sys.stderr)
        return 130


def _core_main(args: list[str]) -> int:
    """The compiled core's command line, which sees to Ctrl-C itself; Python's own handler would only wait for its end."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = _core.cli_main(["coreplane", *args])
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    return code


def _main() -> int:
    args = sys.argv[1:]
    url, rest = _taken(args, "--on")
    if args[:1] == ["sweep"] and url not in (None, "local"):
        from coreplane import cluster

        return cluster.main(rest, url)
    code = _core_main(args)
    out = _out(args)
    if out is None or code not in (0, 1) or not args or args[0] not in ("run", "compare", "reproduce"):
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
