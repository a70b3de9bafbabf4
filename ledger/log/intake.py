"""Take a batch of messages into the log: all of it, in one transaction, or nothing.

Whatever stands at the door (Kafka, a file, HTTP) hands over messages with the contract's
verdict and gets back what became of each: appended, duplicate, quarantined. In the same
transaction go the events of every fleet, the quarantined rest, the receipt of the Kafka
partition, and one notification. Locks are taken in one order everywhere: the partition, then the
fleets by number, the ledger's own fleet last.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import asyncpg

from ledger.errors import SetupProblem, WrongPosition
from ledger.events.codec import Accepted
from ledger.events.envelope import is_fleet_name
from ledger.log import fleets, quarantine, receipts
from ledger.log.append import Appended, append
from ledger.log.database import refusals_named
from ledger.log.fleets import Clock, Fleet
from ledger.log.messages import Claim, Message, record_digest
from ledger.units import LEDGER_FLEET, FleetName, Offset


@dataclass(slots=True)
class Taken:
    """What became of a batch."""

    appended: int = 0
    duplicates: int = 0
    conflicts: int = 0
    quarantined: int = 0
    """Set aside for any reason, conflicts included."""
    redelivered: int = 0
    """Below the newest receipt: taken by an earlier transaction, ignored by this one."""
    sizes: dict[FleetName, int] = field(default_factory=dict)
    """How long the log of each fleet in the batch is now."""
    shares: dict[FleetName, Appended] = field(default_factory=dict)
    refused: list[quarantine.Refused] = field(default_factory=list)
    """What became of which message: of this batch alone, and not added up."""

    def add(self, other: "Taken") -> None:
        """Count another batch too."""
        self.appended += other.appended
        self.duplicates += other.duplicates
        self.conflicts += other.conflicts
        self.quarantined += other.quarantined
        self.redelivered += other.redelivered
        self.sizes.update(other.sizes)


class Intake:
    """Takes batches over one connection, one after the other."""

    def __init__(
        self, connection: asyncpg.Connection, *, create_fleets: bool, clock: Clock | None = None
    ) -> None:
        self._connection = connection
        self._create_fleets = create_fleets
        self._clock: Clock | None = clock
        self._open: dict[FleetName, Fleet] = {}
        self._ask_first = False

    async def take(
        self,
        messages: Sequence[Message],
        claim: Claim | None = None,
        *,
        timestamp: int = 0,
        after: Offset | None = None,
    ) -> Taken:
        """Take one batch; with ``claim`` it is a batch of that partition.

        ``timestamp`` is the Kafka timestamp of its last record. ``after`` is where the newest
        receipt ends as far as the caller knows. Offsets may jump, so the receipts alone would not
        tell that the batch before this one was never committed. Raises WrongPosition, with nothing
        written, where they end before it.
        """
        with refusals_named():
            try:
                return await self._attempt(
                    messages, claim, timestamp, after, ask_first=self._ask_first
                )
            except asyncpg.UniqueViolationError:
                # Somebody repeats himself. Ask about each identity, and go on asking until a
                # whole batch was new.
                self._ask_first = True
                return await self._attempt(messages, claim, timestamp, after, ask_first=True)

    async def _attempt(
        self,
        messages: Sequence[Message],
        claim: Claim | None,
        timestamp: int,
        after: Offset | None,
        *,
        ask_first: bool,
    ) -> Taken:
        taken = Taken()
        connection = self._connection
        opened: dict[FleetName, Fleet] = {}
        async with connection.transaction():
            number, next_ = -1, None
            if claim is not None:
                number, next_ = await receipts.claim(connection, claim)
                if after is not None and (next_ is None or next_ < after):
                    raise WrongPosition(
                        f"{claim.topic}/{claim.partition}: taken up to {next_}, not {after}"
                    )
                if not messages:
                    return taken
                if next_ is not None and (messages[0].at.coordinate or 0) < next_:
                    fresh = [m for m in messages if (m.at.coordinate or 0) >= next_]
                    taken.redelivered = len(messages) - len(fresh)
                    messages = fresh
                    if not messages:
                        return taken
            shares, refused = await self._shares(messages, opened)
            if claim is not None:
                await receipts.check_pins(connection, claim, shares.keys())
            known = self._open | opened
            for fleet in sorted((known[name] for name in shares), key=lambda f: f.number):
                done = await append(connection, fleet, shares[fleet.name], ask_first=ask_first)
                taken.appended += done.count
                taken.duplicates += done.duplicates
                taken.conflicts += sum(why == "identity_conflict" for _, why, _ in done.refused)
                taken.sizes[fleet.name] = done.size
                taken.shares[fleet.name] = done
                refused += done.refused
            if refused:
                await quarantine.put(connection, refused)
                taken.quarantined = len(refused)
                taken.refused = refused
            if claim is not None:
                first, last = messages[0], messages[-1]
                assert first.at.coordinate is not None
                assert last.at.coordinate is not None
                await receipts.write(
                    connection,
                    claim,
                    number=number + 1,
                    first=first.at.coordinate,
                    next_=last.at.coordinate + 1,
                    appended=taken.appended,
                    duplicates=taken.duplicates,
                    quarantined=taken.quarantined,
                    last_timestamp=timestamp,
                    last_digest=record_digest(last),
                )
        self._open |= opened
        self._ask_first = ask_first and taken.duplicates + taken.conflicts > 0
        return taken

    async def _shares(
        self, messages: Sequence[Message], opened: dict[FleetName, Fleet]
    ) -> tuple[dict[FleetName, list[tuple[Message, Accepted]]], list[quarantine.Refused]]:
        """Sort a batch: which messages go to which fleet, and which may not stand."""
        shares: dict[FleetName, list[tuple[Message, Accepted]]] = defaultdict(list)
        refused: list[quarantine.Refused] = []
        for message in messages:
            verdict = message.verdict
            if isinstance(verdict, Accepted):
                shares[verdict.fleet].append((message, verdict))
            else:
                refused.append((message, verdict.reason, verdict.detail))
        unbound = await self._bound_elsewhere(shares)
        if unbound:
            for name in list(shares):
                kept = [(m, v) for m, v in shares[name] if (v.source, name) not in unbound]
                refused += [
                    (m, "source_not_bound", f"{v.source} is not bound to fleet {name}")
                    for m, v in shares[name]
                    if (v.source, name) in unbound
                ]
                shares[name] = kept
                if not kept:
                    del shares[name]
        for name in sorted(shares):
            if name in self._open:
                continue
            fleet = await self._find(name)
            if fleet is None:
                refused += [
                    (m, "unknown_fleet", f"fleet {name} is not open here") for m, _ in shares[name]
                ]
                del shares[name]
            else:
                opened[name] = fleet
        return dict(shares), refused

    async def _find(self, name: FleetName) -> Fleet | None:
        fleet = await fleets.find(self._connection, name)
        if fleet is None and self._create_fleets:
            fleet = await fleets.open_(self._connection, name, clock=self._clock or "wall")
        if fleet is not None and self._clock is not None and fleet.clock != self._clock:
            raise _on_another_clock(fleet)
        return fleet

    async def _bound_elsewhere(
        self, shares: dict[FleetName, list[tuple[Message, Accepted]]]
    ) -> set[tuple[str, str]]:
        """Pairs of a source and a fleet it may not speak for."""
        said = {(v.source, name) for name, share in shares.items() for _, v in share}
        rows = await self._connection.fetch(
            "SELECT source, fleet FROM ledger.source_bindings WHERE source = ANY($1::text[])",
            sorted({source for source, _ in said}),
        )
        bound = {(row["source"], row["fleet"]) for row in rows}
        sources = {source for source, _ in bound}
        return {pair for pair in said if pair[0] in sources and pair not in bound}


async def open_fleet(connection: asyncpg.Connection, name: FleetName, *, clock: Clock) -> Fleet:
    """Open a fleet before anybody sends an event, for logs where fleets are not made on sight."""
    _require_usable(name)
    async with connection.transaction():
        fleet = await fleets.open_(connection, name, clock=clock)
    if fleet.clock != clock:
        raise _on_another_clock(fleet)
    return fleet


async def bind_source(
    connection: asyncpg.Connection, source: str, name: FleetName, *, ahead: bool
) -> bool:
    """Bind a source to a fleet; whether that is open. SetupProblem where it is not, unless ``ahead``."""
    _require_usable(name)
    is_open = await fleets.find(connection, name) is not None
    if not (is_open or ahead):
        raise SetupProblem(
            f"fleet {name}: there is none of this name; see `ledger status`. To bind a source before the"
            " fleet is opened, say --ahead"
        )
    await fleets.bind(connection, source, name)
    return is_open


def _require_usable(name: FleetName) -> None:
    if name == LEDGER_FLEET:
        raise SetupProblem(f"fleet {name}: it is the ledger's own")
    if not is_fleet_name(name):
        raise SetupProblem(f"fleet {name[:63]!a}: it is no DNS label (a-z, 0-9 and - inside)")


def _on_another_clock(fleet: Fleet) -> SetupProblem:
    return SetupProblem(
        f"fleet {fleet.name}: it runs on the {fleet.clock} clock since it was opened;"
        " that cannot be changed"
    )
