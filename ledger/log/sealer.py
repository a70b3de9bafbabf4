"""The signer at work: round after round over all fleets, asking witnesses and publishing what was signed.

A fleet that cannot be signed any more, because its log was rewound or rewritten, stops nobody else; it is
told once and left until it was recovered, or until a person has looked and starts anew. What is published
lies below a directory, as files that are never changed once written:

    <origin>/checkpoint              the newest, replaced as a whole
    <origin>/checkpoints/<size>      every one that was signed

Copied to where the database's administrators cannot write, they are what a later audit holds the
log against.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog

from ledger.errors import DamagedArchive, FleetStopped, LedgerStopped, SetupProblem
from ledger.log import fleets, sealing, stops, tree_proofs
from ledger.log.archive.reading import Archive
from ledger.log.database import Connection
from ledger.log.detached import archive_of
from ledger.log.fleets import Fleet
from ledger.log.notes import Signature
from ledger.log.sealing import Seal, Site
from ledger.log.signed import Memory
from ledger.log.witnesses import NotVouched, Witness, vouched

SIZE_DIGITS: Final = 19
"""Of the largest size there can be, so that files sort as their sizes do."""

log = structlog.get_logger()


@dataclass(slots=True)
class Sealer:
    """Who signs, what it remembers, whom it asks and where it publishes."""

    site: Site
    memory: Memory
    folder: Path | None = None
    witnesses: Sequence[Witness] = ()
    only: frozenset[str] | None = None
    detached: Path | None = None
    """Where the archives lie of what was detached: a memory or a witness may be behind it."""
    stopped: dict[str, LedgerStopped] = field(default_factory=dict)
    """Fleets that a person has to look at, and why."""

    async def round(self, connection: Connection) -> list[Seal]:
        """Sign whatever is news, fleet by fleet."""
        made: list[Seal] = []
        for fleet in await fleets.every(connection):
            if self.only and fleet.name not in self.only:
                continue
            if fleet.name in self.stopped and not await self._goes_on(connection, fleet):
                continue
            try:
                made += await self._fleet(connection, fleet)
            except LedgerStopped as stopped:
                self._leave(fleet, stopped)
        return made

    async def _goes_on(self, connection: Connection, fleet: Fleet) -> bool:
        """Whether a fleet that was stopped is in another life by now."""
        if not isinstance(self.stopped[fleet.name], FleetStopped):
            return False
        if await stops.standing(connection, fleet):
            return False
        del self.stopped[fleet.name]
        log.info("fleet_goes_on", fleet=fleet.name)
        return True

    def _leave(self, fleet: Fleet, stopped: LedgerStopped) -> None:
        """Sign nothing more for a fleet, and say why."""
        self.stopped[fleet.name] = stopped
        log.error("fleet_stopped", fleet=fleet.name, why=str(stopped))

    async def _fleet(self, connection: Connection, fleet: Fleet) -> list[Seal]:
        seals = await self._sealed(connection, fleet)
        shown = [await self._shown(connection, fleet, seal) for seal in seals]
        await sealing.record(connection, fleet, shown)
        if self.folder is not None:
            for seal in shown:
                publish(self.folder, seal)
        for seal in shown:
            log.info("sealed", fleet=fleet.name, origin=seal.origin, size=seal.head.size)
        return shown

    async def _sealed(self, connection: Connection, fleet: Fleet) -> Sequence[Seal]:
        """What is signed; where the memory ends in what was detached, with the archive of that."""
        try:
            return await sealing.seal(connection, fleet, self.site, self.memory)
        except SetupProblem as missing:
            try:
                archive = await self._archive(connection, fleet, missing)
                return await sealing.seal(connection, fleet, self.site, self.memory, archive)
            except (DamagedArchive, SetupProblem) as unusable:
                raise LedgerStopped(str(unusable)) from unusable

    async def _archive(
        self, connection: Connection, fleet: Fleet, missing: SetupProblem
    ) -> Archive:
        """Of what was detached; opened only where it is missing."""
        archive = await archive_of(connection, fleet, self.detached)
        if archive is None:
            raise missing
        return archive

    async def _shown(self, connection: Connection, fleet: Fleet, seal: Seal) -> Seal:
        """The seal with what witnesses said of it; the note that binds has no tree to vouch for."""
        if seal.tree == "both":
            return seal
        tree = seal.tree

        async def consistency(old: int) -> tuple[bytes, ...]:
            size = seal.head.size
            try:
                return await tree_proofs.consistency(connection, fleet, tree, old, new_size=size)
            except SetupProblem as missing:
                archive = await self._archive(connection, fleet, missing)
                return await tree_proofs.consistency(
                    connection, fleet, tree, old, new_size=size, archive=archive
                )

        signatures: list[Signature] = []
        for witness in self.witnesses:
            try:
                said = await vouched(witness, seal.origin, seal.head.size, seal.note, consistency)
            except (DamagedArchive, SetupProblem) as missing:
                said = NotVouched(str(missing))
            if isinstance(said, NotVouched):
                log.warning("not_witnessed", fleet=fleet.name, origin=seal.origin, why=said.why)
            else:
                signatures += said
        return sealing.with_signatures(seal, signatures)


def publish(folder: Path, seal: Seal) -> None:
    """Write a note below a directory: under its size, and as the newest."""
    below = folder / seal.origin
    try:
        (below / "checkpoints").mkdir(parents=True, exist_ok=True)
        _write(below / "checkpoints" / f"{seal.head.size:0{SIZE_DIGITS}}", seal.note.spelled)
        _write(below / "checkpoint", seal.note.spelled)
    except OSError as error:
        raise SetupProblem(f"{below}: {error.strerror}") from error


def _write(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{path.name}.new")
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
