"""Records which pages of a SQLite database TPC-H's queries read: ``python -m coreplane.tpch --scale 0.1 --out FILE``.

Needs ``apsw`` (SQLite with its own file layer) and ``duckdb`` up to 1.2.2, whose wheel makes TPC-H's data and names its
queries. ``coreplane run nvdimmc-poc tpch:FILE`` replays the result.

The file: the line ``COREPLANE-PAGES 1``, a line with the number of pages, a line for each query with its name, its
references and the processor's time for each in ns, an empty line, then for each query its page numbers, each as the
zigzag difference from the one before in LEB128.
"""

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MAGIC = b"COREPLANE-PAGES 1\n"
PAGE = 4096
#: Pages that SQLite keeps itself: few, since the memory below is what is asked about.
CACHE_PAGES = 10
KEYS = {
    "region": "r_regionkey",
    "nation": "n_nationkey",
    "supplier": "s_suppkey",
    "customer": "c_custkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey, l_linenumber",
}


def main() -> int:
    """Makes the data, runs the queries, writes the file."""
    parser = argparse.ArgumentParser(prog="python -m coreplane.tpch", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=0.01, help="TPC-H's scale factor (0.01 is about 12 MB)")
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--seconds", type=float, default=120.0, help="the longest that a query may run")
    args = parser.parse_args()
    if not 0 < args.scale <= 100:
        parser.error("--scale: give a number above 0, up to 100")
    try:
        import apsw  # noqa: F401
        import duckdb  # noqa: F401
    except ImportError as e:
        print(f"coreplane.tpch: {e}; pip install apsw 'duckdb<=1.2.2'", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tpch.db"
        queries = _load(path, args.scale)
        args.out.write_bytes(_record(path, queries, args.seconds))
    return 0


def _load(path: Path, scale: float) -> list[str]:
    """Puts TPC-H's tables into a SQLite database; gives the queries."""
    import apsw
    import duckdb

    data = duckdb.connect()
    data.execute("LOAD tpch")
    data.execute(f"CALL dbgen(sf={scale})")
    db = apsw.Connection(str(path))
    db.execute(f"PRAGMA page_size={PAGE}; PRAGMA journal_mode=off; PRAGMA synchronous=off")
    for table, key in KEYS.items():
        columns = [(name, kind) for name, kind, *_ in data.execute(f"DESCRIBE {table}").fetchall()]
        shape = ", ".join(f"{name} {_kind(kind)}" for name, kind in columns)
        db.execute(f"CREATE TABLE {table} ({shape}, PRIMARY KEY ({key}))")
        select = ", ".join(f"CAST({n} AS DOUBLE)" if k.startswith("DECIMAL") else f"CAST({n} AS VARCHAR)" if k == "DATE" else n for n, k in columns)
        rows = data.execute(f"SELECT {select} FROM {table}").fetchall()
        with db:
            db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)
    db.execute("CREATE INDEX l_part ON lineitem (l_partkey, l_suppkey); CREATE INDEX o_cust ON orders (o_custkey)")
    db.execute("CREATE INDEX ps_supp ON partsupp (ps_suppkey); ANALYZE")
    db.close()
    texts = data.execute("SELECT query FROM tpch_queries() ORDER BY query_nr").fetchall()
    return [_for_sqlite(number, text) for number, (text,) in enumerate(texts, 1)]


def _kind(kind: str) -> str:
    if "INT" in kind:
        return "INTEGER"
    return "REAL" if kind.startswith("DECIMAL") else "TEXT"


def _for_sqlite(number: int, text: str) -> str:
    """The same query in SQLite's words."""
    text = re.sub(r"CAST\('([0-9-]+)' AS date\)", r"'\1'", text, flags=re.I)
    text = re.sub(r"\bdate '", "'", text, flags=re.I)
    text = re.sub(r"extract\(year FROM ([a-z_.]+)\)", r"CAST(strftime('%Y', \1) AS INTEGER)", text, flags=re.I)
    text = re.sub(r"substring\(([a-z_]+) FROM 1 FOR 2\)", r"substr(\1, 1, 2)", text, flags=re.I)
    if number == 13:
        # SQLite does not name the columns of a subquery from outside.
        text = re.sub(r"count\(o_orderkey\)", "count(o_orderkey) AS c_count", text)
        text = re.sub(r"AS c_orders\s*\(c_custkey,\s*c_count\)", "AS c_orders", text)
    return text


def _record(path: Path, queries: list[str], seconds: float) -> bytes:
    import apsw

    pages: list[int] = []

    class File(apsw.VFSFile):
        def __init__(self, name: Any, flags: list[int]) -> None:
            super().__init__("", name, flags)

        def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
            if amount == PAGE:
                pages.append(offset // PAGE)
            return super().xRead(amount, offset)

    class Vfs(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("pages", "")

        def xOpen(self, name: Any, flags: list[int]) -> File:  # noqa: N802
            return File(name, flags)

    vfs = Vfs()  # registered as long as it lives
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs="pages")
    plain = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    for connection in (db, plain):
        connection.execute(f"PRAGMA cache_size={CACHE_PAGES}; PRAGMA mmap_size=0; PRAGMA temp_store=memory")
    head = [str(path.stat().st_size // PAGE)]
    body = bytearray()
    for number, query in enumerate(queries, 1):
        # The time of a run that reads from the page cache of the system, without our file layer.
        began = time.process_time()
        _until(plain, query, seconds)
        work = time.process_time() - began
        pages.clear()
        complete = _until(db, query, seconds)
        work_ns = round(work * 1e9 / max(len(pages), 1))
        head.append(f"Q{number} {len(pages)} {work_ns}")
        body += _encode(pages)
        print(f"Q{number}: {len(pages)} pages, {work_ns} ns each{'' if complete else ' (cut short)'}", file=sys.stderr)
    return MAGIC + "\n".join([*head, "", ""]).encode() + bytes(body)


def _until(connection: Any, query: str, seconds: float) -> bool:
    """Runs a query to its end, or so long."""
    import apsw

    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > end, 10_000)
    try:
        for _ in connection.execute(query):
            pass
    except apsw.InterruptError:
        return False
    finally:
        connection.set_progress_handler(None)
    return True


def _encode(pages: list[int]) -> bytes:
    out, last = bytearray(), 0
    for page in pages:
        difference, last = page - last, page
        value = difference << 1 ^ difference >> 63
        while value >= 128:
            out.append(value & 127 | 128)
            value >>= 7
        out.append(value)
    return bytes(out)


if __name__ == "__main__":
    sys.exit(main())
