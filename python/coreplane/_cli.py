"""The command line: figures and reports are drawn here, everything else is the compiled core's.

What a short answer does not need is imported where it is needed: importing it takes as long as the answer.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import sys
from contextlib import contextmanager

from coreplane import _begin, _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: The documentation's first page, in packages that are given away (``packaging/wheel`` puts it there).
SITE = os.path.join(os.path.dirname(__file__), "site", "index.html")  # noqa: PTH118, PTH120 - without pathlib

#: Options whose value may be the next word, and their short forms: those of ``sweep``, among them what all commands with a report have.
VALUED = ("--format", "--jobs", "--on", "--only", "--out", "--share")
SHORT = {"j": "--jobs", "o": "--out"}
#: Commands whose result is a file with the command's name.
OF_ONE_FILE = ("run", "compare", "crash", "curve", "holdup", "diff", "explore", "shared")


def main() -> int:
    """Runs ``coreplane`` with the arguments of the process."""
    try:
        _begin.loaded()
        _open_closed()
        code = _main()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as ended:
        # Where the result is, if it is there, and which signal it was.
        where, number = ended.args or ("", 2)
        print(f"coreplane: interrupted{where}", file=sys.stderr)
        return 128 + int(number)
    except BrokenPipeError:
        # Whoever reads has read enough, as the compiled core ends then.
        _drop_output()
        return 141
    except OSError as error:
        _drop_output()
        print(f"coreplane: {_told(error)}", file=sys.stderr)
        return 2


def _drop_output() -> None:
    """Lets what is not written yet lead nowhere, or Python would try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _told(error: OSError) -> str:
    """What could not be read or written, and why, as the compiled core says it. What is printed has no name of a file."""
    written = error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EBADF)
    if error.errno is None or not (error.filename or written):
        return str(error)
    where = error.filename or "standard output cannot be written"
    return f"{where}: {error.strerror} (os error {error.errno})"


def _open_closed() -> None:
    """Lets standard streams that are closed lead nowhere, as those of a compiled program do: the next file would get their number, and what is printed."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        # Programs that are started have it, too.
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdout = sys.stdout or open(1, "w")  # noqa: PTH123, SIM115 - as long as the process
    sys.stderr = sys.stderr or open(2, "w")  # noqa: PTH123, SIM115


def _core_main(args: list[str]) -> int:
    """The compiled core's command line, which sees to Ctrl-C itself; Python's own handler would only wait for its end."""
    import signal

    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = _core.cli_main(["coreplane", *args])
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    return code


def _result(args: list[str]) -> tuple[int, int] | None:
    """What the file of a command's result is known by, if it is there: a new one is another file."""
    out = _out(args)
    try:
        about = os.stat(out / f"{args[0]}.json") if out else None  # noqa: PTH116 - without pathlib
    except OSError:
        return None
    return (about.st_ino, about.st_mtime_ns) if about else None


@contextmanager
def _told_where(out: Path | None) -> Iterator[None]:
    """Whoever interrupts the drawing of a page is told that the result is there without."""
    import signal

    def interrupted(number: int, frame: object) -> None:
        raise KeyboardInterrupt(f"; the result is whole in {out}, without its page", number)

    # Those that are ignored (`nohup`) stay so.
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupted) for number in numbers if out}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _find_tool() -> None:
    """Names the tool for Valgrind that a package of its own brings (``packaging/wheel-valgrind``), unless another one is named."""
    if "COREPLANE_VALGRIND" in os.environ or (found := importlib.util.find_spec("coreplane_valgrind")) is None or not found.origin:
        return
    os.environ["COREPLANE_VALGRIND"] = os.path.join(os.path.dirname(found.origin), "tool")  # noqa: PTH118, PTH120 - without pathlib


def _is_text(arg: str) -> bool:
    try:
        arg.encode()
    except UnicodeEncodeError:
        return False
    return True


def _main() -> int:
    args = sys.argv[1:]
    if others := [arg for arg in args if not _is_text(arg)]:
        print(f"coreplane: {os.fsencode(others[0]).decode(errors='backslashreplace')}: is not UTF-8, in which arguments are given", file=sys.stderr)
        return 2
    if args[:1] == ["record"]:
        _find_tool()
    url, rest = _taken(args, "--on")
    if args[:1] == ["docs"] and _is_about_docs(args) and os.path.exists(SITE):  # noqa: PTH110
        given = _options(args)[0]
        return _docs("--open" in given, is_json=given.get("--format") == "json")
    if args[:1] == ["sweep"] and url not in (None, "local"):
        from coreplane import cluster

        args, code = rest, cluster.main(rest, url)
    else:
        before = _result(args)
        code = _tracked(args) if args[:1] == ["track"] and _is_drawn(args) else _core_main(args)
        # A machine that broke a promise leaves no result, or an earlier one.
        if code == 1 and args[0] in OF_ONE_FILE and _result(args) == before:
            return code
    is_read = _options(args)[0].get("--format") != "json"
    pages: list[Path] = []
    if code in (0, 1):
        with _told_where(_out(args)):
            pages = _pages(args, is_read)
    if is_read:
        for page in pages:
            print(f"\nreport: {page}")
    return code


def _is_about_docs(args: list[str]) -> bool:
    """Whether nothing else is asked of them than where they are; what else there is the compiled core answers."""
    given, words = _options(args)
    return words == ["docs"] and given.keys() <= {"--open", "--format", "--quiet", "-q"} and given.get("--format") in (None, "json", "table")


def _docs(is_opened: bool, is_json: bool) -> int:
    """Says where the documentation is, and shows it."""
    if is_json:
        import json

        print(json.dumps({"page": SITE}))
    else:
        print(SITE)
    if is_opened:
        import webbrowser
        from pathlib import Path

        if not webbrowser.open(Path(SITE).as_uri()):
            print("coreplane: no browser was found", file=sys.stderr)
            return 2
    return 0


def _tracked(args: list[str]) -> int:
    """Tracks a process. It mostly ends with Ctrl-C: what takes longest to load of what draws its report is there by then."""
    import threading

    loading = threading.Timer(1, _ready_to_draw)
    loading.start()
    try:
        return _core_main(args)
    finally:
        loading.cancel()
        loading.join()


def _ready_to_draw() -> None:
    if sys.flags.optimize > 1:
        return
    from coreplane import page, report_track  # noqa: F401

    page.ready()


def _is_drawn(args: list[str]) -> bool:
    """Whether a tracked process has a report."""
    out = _out(args)
    return out is not None and out.suffix == ".parquet"


def _say(sentence: str) -> None:
    """Prints a sentence of a report's summary, as wide as the terminal is."""
    import shutil
    import textwrap

    print("\n" + "\n".join(textwrap.wrap(sentence, shutil.get_terminal_size().columns - 1)))


def _pages(args: list[str], is_read: bool) -> list[Path]:
    """Draws the reports of a command that has left its results in a folder; a reader is told what a campaign's says first."""
    command, out, given = args[0] if args else "", _out(args), _options(args)[0]
    is_asked = given.keys() & {"--plan", "--help", "-h"}
    if out is None or not out.exists() or is_asked or command not in ("run", "compare", "reproduce", "sweep", "crash", "track", "curve", "holdup", "diff", "explore", "shared"):
        return []
    if command == "track" and not _is_drawn(args):
        return []
    if sys.flags.optimize > 1:
        raise OSError(f"the result is whole in {out}, without its page: what draws it needs docstrings, which python -OO (PYTHONOPTIMIZE=2) leaves out")
    from coreplane import report, report_diff, report_explore, report_more, report_shared, report_track
    from coreplane.drawing import DRAWING

    made: list[Path | None]
    match command:
        case "run":
            made = [report.run(out)]
        case "compare":
            made = [report.compare(out)]
        case "sweep":
            told = _say if is_read and not given.keys() & {"-q", "--quiet"} else lambda _: None
            made = [report_more.sweep(out, told)]
        case "crash":
            made = [report_more.crash(out)]
        case "curve":
            made = [report_more.curve(out)]
        case "explore":
            made = [report_explore.explore(out)]
        case "shared":
            made = [report_shared.shared(out)]
        case "diff":
            made = [report_diff.diff(out)]
        case "holdup":
            made = [report_more.holdup(out)]
        case "track":
            made = [report_track.track(out)]
        case _:
            # Of one paper in the folder itself, of several in a folder each.
            found = [out] if (out / "reproduce.json").exists() else sorted(p.parent for p in out.glob("*/reproduce.json"))
            made = [report.reproduce(folder) for folder in found]
    if DRAWING.left_out:
        print(f"coreplane: figures are left out: {DRAWING.left_out}", file=sys.stderr)
    return [page for page in made if page]


def _out(args: list[str]) -> Path | None:
    """The folder of the results."""
    given, words = _options(args)
    folder = given.get("--out")
    is_campaign = words[:1] == ["sweep"] and len(words) > 1
    if not folder and not is_campaign:
        return None
    from pathlib import Path

    # Where the compiled core puts a campaign's results unless it is told.
    return Path(folder or f"{Path(words[1]).stem}.sweep")


def _options(args: list[str]) -> tuple[dict[str, str], list[str]]:
    """The options that were given, with their values, and the other words, as the compiled core tells them apart."""
    given: dict[str, str] = {}
    words: list[str] = []
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            words += rest
        elif arg.startswith("--"):
            name, is_attached, value = arg.partition("=")
            given[name] = next(rest, "") if name in VALUED and not is_attached else value
        elif arg.startswith("-"):
            given |= _short(arg[1:], rest)
        else:
            words.append(arg)
    return given, words


def _short(letters: str, rest: Iterator[str]) -> dict[str, str]:
    """Short options that stand together. The value of the last one stands there too (``-qoDIR``), or is the next word."""
    given: dict[str, str] = {}
    for at, letter in enumerate(letters, 1):
        if name := SHORT.get(letter):
            return given | {name: letters[at:].removeprefix("=") or next(rest, "")}
        given[f"-{letter}"] = ""
    return given


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
