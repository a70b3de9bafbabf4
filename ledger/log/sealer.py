"""The signer at work: round after round over all fleets, asking witnesses and publishing what was signed.

A fleet that cannot be signed any more, because its log was rewound or rewritten, stops nobody else; it is
told once and left until it was recovered, or until a person has looked and starts anew. A signer that is
not who signed before does not begin at all (``ledger.log.recognition``). A fleet that somebody else signed
for, beside those that it signs for or turning up later, is left like one that was rewritten.

A witness that was away is asked again about the newest end of each tree until it has vouched for that, and
the note is then recorded once more with what it said: the last end of a fleet that fell silent would
otherwise stay without. A place that could not be published to is brought up to date as soon as it can
(``ledger.log.publishing``). Neither keeps anybody from signing.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog

from ledger.errors import (
    DamagedArchive,
    FleetStopped,
    LedgerError,
    LedgerStopped,
    LogUnavailable,
    NotWitnessed,
    SetupProblem,
)
from ledger.log import fleets, publishing, sealing, stops, tree_proofs
from ledger.log.archive.reading import Archive
from ledger.log.database import Connection
from ledger.log.detached import archive_of
from ledger.log.fleets import Fleet
from ledger.log.notes import Note, Signature
from ledger.log.publishing import Place, Published, directories
from ledger.log.recognition import NOTHING_NEW, New, begun, recognised
from ledger.log.sealing import Seal, Site
from ledger.log.signed import Memory
from ledger.log.trees import TREES, Tree
from ledger.log.witnesses import NotVouched, Witness, vouched

REST_SECONDS: Final = 10.0
"""How long a witness or a place is left alone that failed, unless there is news for it."""

log = structlog.get_logger()


@dataclass(slots=True)
class Sealer:
    """Who signs, what it remembers, whom it asks and where it publishes."""

    site: Site
    memory: Memory
    places: Sequence[Place] = ()
    witnesses: Sequence[Witness] = ()
    only: frozenset[str] | None = None
    detached: Path | None = None
    """Where the archives lie of what was detached: a memory or a witness may be behind it."""
    new: New = NOTHING_NEW
    """What of it is new on purpose as it begins; a fleet that turns up later is not meant by that."""
    clock: Callable[[], float] = time.monotonic
    stopped: dict[str, LedgerStopped] = field(default_factory=dict)
    """Fleets that a person has to look at, and why."""
    missed: dict[tuple[str, str], str] = field(default_factory=dict)
    """By origin and witness: why the newest end is not vouched for."""
    unpublished: dict[tuple[str, str], LedgerError] = field(default_factory=dict)
    """By fleet and place: why it does not have every note."""
    _recognised: set[str] | None = None
    """Fleets that were looked at: this site signed for them before, or nobody did, or they are stopped.

    None until it has begun.
    """
    _unvouched: set[str] = field(default_factory=set)
    """Fleets that may go on from what nothing that was signed tells of: it was said as this began."""
    _complete: set[tuple[str, str]] = field(default_factory=set)
    """By fleet and place: those that have everything that is recorded."""
    _tried: dict[tuple[str, str], float] = field(default_factory=dict)
    """When what failed was tried last."""

    async def round(self, connection: Connection) -> list[Seal]:
        """Sign whatever is news, fleet by fleet."""
        made: list[Seal] = []
        found = await self._fleets(connection)
        await self._recognise(connection, found)
        for fleet in found:
            if fleet.name in self.stopped and not await self._goes_on(connection, fleet):
                continue
            try:
                made += await self._fleet(connection, fleet)
            except LedgerStopped as stopped:
                self._leave(fleet, stopped)
        return made

    def trouble(self) -> LedgerError | None:
        """What a person or the next round has to see to; None where every note is where it should be."""
        if self.stopped:
            return self.stopped[min(self.stopped)]
        if self.unpublished:
            return self.unpublished[min(self.unpublished)]
        if self.missed:
            origin, witness = min(self.missed)
            return NotWitnessed(
                f"{origin}: {witness} did not vouch: {self.missed[origin, witness]}"
            )
        return None

    async def _fleets(self, connection: Connection) -> Sequence[Fleet]:
        found = await fleets.every(connection)
        if self.only is None:
            return found
        unknown = sorted(self.only - {fleet.name for fleet in found})
        if unknown:
            raise SetupProblem(
                f"fleet {', '.join(unknown)}: there is none of this name to sign for"
            )
        return [fleet for fleet in found if fleet.name in self.only]

    async def _recognise(self, connection: Connection, found: Sequence[Fleet]) -> None:
        """Sign only as who signed before; SetupProblem before anything is signed at all."""
        site, memory, places = self.site, self.memory, self.places
        if self._recognised is None:
            refused = await begun(connection, found, site, memory, places, self.new, self.detached)
            memory.sign_as(site.signs_as)
            self._recognised = set()
            if self.new.unvouched:
                self._unvouched = {fleet.name for fleet in found}
        else:
            strangers = [fleet for fleet in found if fleet.name not in self._recognised]
            if not strangers:
                return
            refused = (
                await recognised(
                    connection, strangers, site, memory, places, NOTHING_NEW, self.detached
                )
            ).refused
        for fleet in found:
            if fleet.name in refused:
                self._leave(fleet, LedgerStopped(str(refused[fleet.name])))
        self._recognised.update(fleet.name for fleet in found)

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
        if seals:
            # Said once, of the life that it is in: not of one that begins later.
            self._unvouched.discard(fleet.name)
        shown = [await self._shown(connection, fleet, seal) for seal in seals]
        await sealing.record(connection, fleet, shown)
        for seal in shown:
            log.info("sealed", fleet=fleet.name, origin=seal.origin, size=seal.head.size)
        later = await self._shown_later(connection, fleet)
        for place in self.places:
            await self._publish(connection, fleet, place, [*shown, *later])
        return shown

    async def _sealed(self, connection: Connection, fleet: Fleet) -> Sequence[Seal]:
        """What is signed; where the memory ends in what was detached, with the archive of that."""
        published, unvouched = directories(self.places), fleet.name in self._unvouched
        try:
            return await sealing.seal(
                connection,
                fleet,
                self.site,
                self.memory,
                published=published,
                unvouched=unvouched,
            )
        except SetupProblem as missing:
            try:
                archive = await self._archive(connection, fleet, missing)
                return await sealing.seal(
                    connection,
                    fleet,
                    self.site,
                    self.memory,
                    archive,
                    published=published,
                    unvouched=unvouched,
                )
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
        signatures: list[Signature] = []
        for witness in self.witnesses:
            signatures += await self._asked(connection, fleet, seal.tree, seal, witness)
        return sealing.with_signatures(seal, signatures)

    async def _shown_later(self, connection: Connection, fleet: Fleet) -> list[Seal]:
        """The newest ends that witnesses vouched for only now, recorded with what they said."""
        found: list[Seal] = []
        if not self.witnesses:
            return found
        for tree in TREES:
            newest = await sealing.newest_seal(connection, fleet, self.site, tree)
            if newest is None:
                continue
            signatures: list[Signature] = []
            for witness in self.witnesses:
                if not _vouches(witness, newest.note) and self._rested(newest.origin, witness.url):
                    signatures += await self._asked(connection, fleet, tree, newest, witness)
            if signatures:
                more = sealing.with_signatures(newest, signatures)
                await sealing.record(connection, fleet, [more])
                log.info("witnessed", fleet=fleet.name, origin=more.origin, size=more.head.size)
                found.append(more)
        return found

    async def _asked(
        self, connection: Connection, fleet: Fleet, tree: Tree, seal: Seal, witness: Witness
    ) -> Sequence[Signature]:
        """What a witness says of an end; nothing where it does not vouch, and why is told."""
        consistency = self._consistency(connection, fleet, tree, seal.head.size)
        try:
            said = await vouched(witness, seal.origin, seal.head.size, seal.note, consistency)
        except (DamagedArchive, SetupProblem) as missing:
            said = NotVouched(str(missing))
        about = seal.origin, witness.url
        who = seal.origin, witness.key.name
        if isinstance(said, NotVouched):
            self._tried[about] = self.clock()
            self.missed[who] = said.why
            log.warning("not_witnessed", fleet=fleet.name, origin=seal.origin, why=said.why)
            return ()
        self._tried.pop(about, None)
        self.missed.pop(who, None)
        return said

    def _consistency(
        self, connection: Connection, fleet: Fleet, tree: Tree, size: int
    ) -> Callable[[int], Awaitable[tuple[bytes, ...]]]:
        async def consistency(old: int) -> tuple[bytes, ...]:
            try:
                return await tree_proofs.consistency(connection, fleet, tree, old, new_size=size)
            except SetupProblem as missing:
                archive = await self._archive(connection, fleet, missing)
                return await tree_proofs.consistency(
                    connection, fleet, tree, old, new_size=size, archive=archive
                )

        return consistency

    async def _publish(
        self, connection: Connection, fleet: Fleet, place: Place, seals: Sequence[Seal]
    ) -> None:
        """Publish what is news; all that is recorded and not there, where that may be more."""
        about = fleet.name, place.name
        try:
            if about in self._complete:
                await place.publish(
                    [Published(seal.origin, seal.head.size, seal.note.spelled) for seal in seals]
                )
            elif seals or self._rested(*about):
                await publishing.catch_up(connection, fleet, self.site.name, place)
            else:
                return
        except (LogUnavailable, LedgerStopped):
            raise
        except LedgerError as error:
            self._postpone(fleet, place, error)
            return
        self._complete.add(about)
        self.unpublished.pop(about, None)

    def _postpone(self, fleet: Fleet, place: Place, error: LedgerError) -> None:
        """Bring a place up to date later, and say why."""
        about = fleet.name, place.name
        self._complete.discard(about)
        self._tried[about] = self.clock()
        self.unpublished[about] = error
        log.error("not_published", fleet=fleet.name, place=place.name, why=str(error))

    def _rested(self, *about: str) -> bool:
        """Whether what failed was left alone for long enough, or did not fail."""
        name, where = about
        tried = self._tried.get((name, where))
        return tried is None or self.clock() - tried >= REST_SECONDS


def _vouches(witness: Witness, note: Note) -> bool:
    return any(
        (made.name, made.key_id) == (witness.key.name, witness.key.id) for made in note.signatures
    )
