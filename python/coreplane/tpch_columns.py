"""Records which pages of a DuckDB database TPC-H's queries read: ``python -m coreplane.tpch_columns --scale 0.1 --out FILE``.

DuckDB keeps columns, compressed; its blocks of 256 KiB are read as a query needs them. Every query has a database that was
opened for it, and keeps nothing of the one before: a store whose columns lie in the memory that is asked about has no buffer
of its own. Needs ``duckdb`` up to 1.2.2 and ``fsspec``. The file is that of ``coreplane.tpch``.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .tpch import MAGIC, PAGE, _encode

#: Memory of DuckDB itself, for each part of a scale factor of one: enough for every query's tables.
MEMORY_MB = 640


def main() -> int:
    """Makes the data, runs the queries, writes the file."""
    parser = argparse.ArgumentParser(prog="python -m coreplane.tpch_columns", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H's scale factor (0.1 is about 27 MB)")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    args = parser.parse_args()
    if not 0.05 <= args.scale <= 100:
        parser.error("--scale: give a number from 0.05 to 100")
    try:
        import duckdb
        import fsspec  # noqa: F401
    except ImportError as e:
        print(f"coreplane.tpch_columns: {e}; pip install fsspec 'duckdb<=1.2.2'", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tpch.db"
        data = duckdb.connect(str(path))
        data.execute("LOAD tpch")
        data.execute(f"CALL dbgen(sf={args.scale})")
        texts = data.execute("SELECT query FROM tpch_queries() ORDER BY query_nr").fetchall()
        data.execute("CHECKPOINT")
        data.close()
        args.out.write_bytes(_record(path, [text for (text,) in texts], args.scale))
    return 0


def _record(path: Path, queries: list[str], scale: float) -> bytes:
    reads: list[tuple[int, int]] = []
    files = _files(path, reads)
    head = [str(path.stat().st_size // PAGE)]
    body = bytearray()
    for number, query in enumerate(queries, 1):
        import duckdb

        db = duckdb.connect(config={"threads": 1})
        db.register_filesystem(files)
        db.execute(f"SET memory_limit='{max(64, round(MEMORY_MB * scale))}MB'")
        db.execute("ATTACH 'recorded://tpch.db' AS t (READ_ONLY)")
        db.execute("USE t")
        reads.clear()
        began = time.process_time()
        db.execute(query).fetchall()
        work = time.process_time() - began
        db.close()
        pages = [page for at, count in reads for page in range(at // PAGE, (at + count - 1) // PAGE + 1)]
        head.append(f"Q{number} {len(pages)} {round(work * 1e9 / max(len(pages), 1))}")
        body += _encode(pages)
        print(f"Q{number}: {len(pages)} pages", file=sys.stderr)
    return MAGIC + "\n".join([*head, "", ""]).encode() + bytes(body)


def _files(path: Path, reads: list[tuple[int, int]]) -> Any:
    """A file system with that one file, which keeps where it is read."""
    import datetime

    from fsspec import AbstractFileSystem

    class File:
        def __init__(self) -> None:
            self._file = path.open("rb")

        def seek(self, offset: int, whence: int = 0) -> int:
            return self._file.seek(offset, whence)

        def tell(self) -> int:
            return self._file.tell()

        def read(self, count: int = -1) -> bytes:
            reads.append((self._file.tell(), count))
            return self._file.read(count)

        def seekable(self) -> bool:
            return True

        def close(self) -> None:
            self._file.close()

    class Files(AbstractFileSystem):
        protocol = "recorded"

        def open(self, _path: str, _mode: str = "rb", **_more: Any) -> File:
            return File()

        def exists(self, name: str, **_more: Any) -> bool:
            return name.endswith("tpch.db")

        def isfile(self, name: str) -> bool:
            return name.endswith("tpch.db")

        def info(self, name: str, **_more: Any) -> dict[str, Any]:
            return {"name": name, "size": path.stat().st_size, "type": "file"}

        def size(self, _name: str) -> int:
            return path.stat().st_size

        def modified(self, _name: str) -> datetime.datetime:
            return datetime.datetime.fromtimestamp(path.stat().st_mtime)

        def glob(self, name: str, **_more: Any) -> list[str]:
            return [name] if self.exists(name) else []

    return Files()


if __name__ == "__main__":
    sys.exit(main())
