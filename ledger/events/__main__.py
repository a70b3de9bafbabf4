"""``python -m ledger.events --write``: write what is generated from the contracts.

``--check`` compares instead, and ends with 1 when something is stale.
"""

import sys
from pathlib import Path
from typing import Final

from ledger.events import asyncapi, schema

ROOT: Final = Path(__file__).parents[2]
SCHEMAS: Final = Path(__file__).with_name("schemas")


def generated() -> dict[Path, bytes]:
    """Everything that is generated, by where it belongs."""
    return {
        **{SCHEMAS / name: document for name, document in schema.generate().items()},
        ROOT / "docs" / "asyncapi.json": asyncapi.generate(),
    }


def stale() -> list[Path]:
    """What is not as it would be generated now, and what would not be generated at all."""
    wanted = generated()
    changed = [
        path
        for path, document in wanted.items()
        if not path.exists() or path.read_bytes() != document
    ]
    return changed + [path for path in sorted(SCHEMAS.glob("*.json")) if path not in wanted]


def write() -> None:
    """Bring everything up to date."""
    wanted = generated()
    SCHEMAS.mkdir(exist_ok=True)
    for path in stale():
        if path in wanted:
            path.write_bytes(wanted[path])
        else:
            path.unlink()


def main(arguments: list[str]) -> int:
    """Write or compare, and say which files were concerned."""
    if arguments not in (["--write"], ["--check"]):
        sys.stderr.write(__doc__ or "")
        return 2
    concerned = stale()
    for path in concerned:
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    if arguments == ["--write"]:
        write()
        return 0
    return 1 if concerned else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
