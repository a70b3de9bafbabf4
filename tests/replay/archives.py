"""A decided and signed history in a database, and its archive, for tests that read either."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ledger.log.archive.reading import Archive
from ledger.log.archive.writing import export
from ledger.log.database import connect
from ledger.log.notes import Key
from ledger.log.sealer import Sealer
from ledger.log.sealing import Site
from ledger.log.signed import memory
from ledger.log.signing_keys import origin, signing
from ledger.units import Incarnation, Position
from tests.postgres import Postgres
from tests.replay.cut_history import FLEET, Cut, cut_history

SITE = Site("ledger.example", (bytes(range(32)),))
POSITIONS = 128
"""Of a range, so that a short history has several."""

KEYS: list[Key] = [
    signing(SITE.seeds[0], origin(SITE.name, FLEET, Incarnation(1), tree)).key
    for tree in ("events", "decisions", "both")
]


@dataclass(frozen=True, slots=True)
class Kept:
    """A log, and the folder of its archive."""

    history: Cut
    folder: Path

    @property
    def archive(self) -> Archive:
        """As it lies there now."""
        return Archive.open(self.folder)


@asynccontextmanager
async def kept_history(postgres: Postgres, folder: Path, events: int) -> AsyncIterator[Kept]:
    """Decided in pieces with snapshots, signed in the middle and at the end, exported in two parts."""
    async with postgres.database() as url:
        connection = await connect(url, None)
        with memory(folder / "signed.json") as remembered:
            sealer = Sealer(SITE, remembered)
            history = await cut_history(url, connection, events, after_each=sealer.round)
            kept = Kept(history, folder / "archive" / FLEET)
            for through in (Position(events // 2), None):
                await export(
                    connection,
                    history.fleet,
                    kept.folder,
                    through=through,
                    positions=POSITIONS,
                    on_written=lambda _reached, _end: None,
                )
            yield kept
        await connection.close()
