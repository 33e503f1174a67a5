"""Files that are written whole or not at all."""

import os
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Writes a file in one step. Its error names the file, which Python leaves away where there is no room for the content."""
    # Where a link leads. Of this process alone: several may write into one folder.
    target = path.resolve()
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        partial.unlink(missing_ok=True)
