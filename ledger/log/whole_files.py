"""Files that are there as a whole or not at all, whenever somebody looks and whatever was interrupted."""

import os
from pathlib import Path


def write(path: Path, data: bytes) -> None:
    """Write a file, or replace it, with its folder; it is on disk before it has its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
