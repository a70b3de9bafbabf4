"""Admissions in the log: asked in batches, answered once, found again by whoever asks.

The decider writes an answer in the transaction of the decision it follows from; whoever is at the door
writes one, with the event that says so, where the decision did not come in time. The first of the two
stands (``admission_answers``), whatever the other says, and is read back by its uid. Both insert in the
order of uids, so that neither waits for the other in a circle. Where a decision's answer stands and was
not given, the event says so all the same.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, Self

import asyncpg

from ledger.errors import LogUnavailable, SetupProblem
from ledger.events.codec import Accepted, decode
from ledger.facts.control import PolicyChanged
from ledger.facts.policy import Policy, SpotPolicy, merge
from ledger.log import fleets, trees
from ledger.log.append import append
from ledger.log.database import connect, refusals_named
from ledger.log.fleets import Fleet
from ledger.log.messages import Coordinates, Message
from ledger.units import LEDGER_FLEET, FleetName, Position

COMMIT_SECONDS: Final = 5
"""How long a batch of admissions may take: nobody waits for its answers longer."""

Build = Callable[[SpotPolicy], Sequence[Accepted]]
"""Makes the events of questions, by what the policy says of on-demand and spot nodes."""

_OWN: Final = Coordinates("ledger", None, None, None)

_POLICY: Final = "ledger.policy.policy.changed.v1"
_WORKLOAD: Final = "ledger.workload.workload.upserted.v1"
_WORKLOAD_GONE: Final = "ledger.workload.workload.removed.v1"


class Answer(NamedTuple):
    """What is said to whoever asked under this uid."""

    uid: str
    position: Position
    """Of the event that was decided, or that says that nothing was."""
    answer: bytes
    bypassed: bool = False


class Bypass(NamedTuple):
    """An answer without a decision."""

    uid: str
    event: Accepted
    """Which says so."""
    answer: bytes
    sent: bool
    """Whether it was given, or will be, whatever stands."""


class _OvertakenError(Exception):
    """Somebody else answered between two of our commands."""


class Asked(NamedTuple):
    """What became of a batch of events."""

    positions: Mapping[str, Position]
    """By the id of the event: where it stands, from this time or an earlier one."""
    policies: "Policies"
    """What was found of the policy, to be known from now on."""
    first: Position
    """Where this time's begin: whatever stands before was there already."""
    lock_seconds: float
    append_seconds: float
    """From the lock to the commit."""
    sent: float
    """When the commit was asked for, by the clock that was given: nobody decided before."""


async def give(connection: asyncpg.Connection, fleet: int, answers: Sequence[Answer]) -> int:
    """Write answers, and say how many are new; of a uid that has one already it stands."""
    ordered = sorted(answers)
    done = await connection.execute(
        "INSERT INTO ledger.admission_answers (fleet, uid, position, bypassed, answer)"
        " SELECT $1, uid, position, bypassed, answer"
        "   FROM unnest($2::text[], $3::bigint[], $4::boolean[], $5::bytea[])"
        "        AS given (uid, position, bypassed, answer) ORDER BY uid"
        " ON CONFLICT DO NOTHING",
        fleet,
        [one.uid for one in ordered],
        [one.position for one in ordered],
        [one.bypassed for one in ordered],
        [one.answer for one in ordered],
    )
    return int(done.rpartition(" ")[2])


class AdmissionDesk:
    """One connection over which admissions are asked and answers are read."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, url: str) -> Self:
        """Connect as a writer."""
        return cls(await connect(url, "ledger_writer"))

    @property
    def closed(self) -> bool:
        """Whether it can be used no more."""
        return self._connection.is_closed()

    async def close(self) -> None:
        """End the connection; whatever it was in the middle of did not happen."""
        with suppress(LogUnavailable, SetupProblem), refusals_named():
            await self._connection.close(timeout=5)

    async def find(self, name: FleetName) -> Fleet | None:
        """The fleet of this name, if it has been opened; the ledger's own has no pods."""
        if name == LEDGER_FLEET:
            return None
        return await fleets.find(self._connection, name)

    async def ask(
        self, fleet: Fleet, known: "Policies", build: Build, clock: Callable[[], float]
    ) -> Asked:
        """Append events in one transaction; those that are there already stay where they are.

        ``build`` makes them by the policy. It is called again, under the lock, where the log went on
        since the policy was read and the policy with it.
        """
        try:
            async with asyncio.timeout(COMMIT_SECONDS):
                with refusals_named():
                    return await self._ask(fleet, known, build, clock)
        except TimeoutError:
            self._connection.terminate()
            raise LogUnavailable(f"the log: no commit within {COMMIT_SECONDS} s") from None

    async def _ask(
        self, fleet: Fleet, known: "Policies", build: Build, clock: Callable[[], float]
    ) -> Asked:
        connection = self._connection
        events = build(known.spot)
        began = clock()
        async with connection.transaction():
            head = await trees.lock(connection, fleet.number, "events")
            locked = clock()
            policies = await self._policies(fleet, known, size=head.frontier.size)
            if policies.spot != known.spot:
                events = build(policies.spot)
            messages = [(Message(_OWN, one, None, None), one) for one in events]
            done = await append(connection, fleet, messages, ask_first=True, head=head)
            sent = clock()
        committed = clock()
        positions = {
            one.id: Position(done.known[one.identity][1])
            for one in events
            if one.identity in done.known
        }
        policies = policies._replace(through=done.size - 1)
        return Asked(positions, policies, done.first, locked - began, committed - locked, sent)

    async def given(self, fleet: Fleet, uids: Collection[str]) -> dict[str, bytes]:
        """The answers there are to these."""
        with refusals_named():
            rows = await self._connection.fetch(
                "SELECT uid, answer FROM ledger.admission_answers"
                " WHERE fleet = $1 AND uid = ANY($2::text[])",
                fleet.number,
                list(uids),
            )
        return {row["uid"]: row["answer"] for row in rows}

    async def decided(self, fleet: Fleet, positions: Collection[Position]) -> set[Position]:
        """At which of these positions there is a decision about an admission."""
        with refusals_named():
            rows = await self._connection.fetch(
                "SELECT position FROM ledger.decisions"
                " WHERE fleet = $1 AND position = ANY($2::bigint[]) AND kind = 'capacity_class'",
                fleet.number,
                list(positions),
            )
        return {Position(row["position"]) for row in rows}

    async def bypass(self, fleet: Fleet, those: Sequence[Bypass]) -> dict[str, bytes]:
        """Write answers without decisions, and the events that say so; by its uid what stands.

        Where another answer came first that one stays. If it is a decision's, and ours was given
        nevertheless, the event alone is written.
        """
        try:
            async with asyncio.timeout(COMMIT_SECONDS):
                with refusals_named():
                    while True:
                        with suppress(_OvertakenError):
                            return await self._bypass(fleet, those)
        except TimeoutError:
            self._connection.terminate()
            raise LogUnavailable(f"the log: no commit within {COMMIT_SECONDS} s") from None

    async def _bypass(self, fleet: Fleet, those: Sequence[Bypass]) -> dict[str, bytes]:
        connection = self._connection
        async with connection.transaction():
            head = await trees.lock(connection, fleet.number, "events")
            rows = await connection.fetch(
                "SELECT uid, bypassed, answer FROM ledger.admission_answers"
                " WHERE fleet = $1 AND uid = ANY($2::text[])",
                fleet.number,
                [one.uid for one in those],
            )
            stands: dict[str, bytes] = {row["uid"]: row["answer"] for row in rows}
            decided = {row["uid"] for row in rows if not row["bypassed"]}
            ours: dict[str, Bypass] = {}
            for one in those:
                if one.uid not in stands:
                    ours.setdefault(one.uid, one)
            told = [*ours.values(), *(one for one in those if one.sent and one.uid in decided)]
            messages = [(Message(_OWN, one.event, None, None), one.event) for one in told]
            done = await append(connection, fleet, messages, ask_first=True, head=head)
            answers = [
                Answer(
                    one.uid,
                    Position(done.known[one.event.identity][1]),
                    one.answer,
                    bypassed=True,
                )
                for one in ours.values()
            ]
            # Where the decider is about to give one, this waits for it.
            if await give(connection, fleet.number, answers) < len(answers):
                raise _OvertakenError
        return stands | {uid: one.answer for uid, one in ours.items()}

    async def replicasets(self, fleet: Fleet, subjects: Collection[str]) -> dict[str, bytes]:
        """The newest report of each of these ReplicaSets, by its subject."""
        with refusals_named():
            rows = await self._connection.fetch(
                "SELECT DISTINCT ON (subject) subject, payload FROM ledger.events"
                " WHERE fleet = $1 AND subject = ANY($2::text[])"
                "   AND type = 'ledger.workload.replicaset.upserted.v1'"
                " ORDER BY subject, position DESC",
                fleet.number,
                list(subjects),
            )
        return {row["subject"]: row["payload"] for row in rows}

    async def workloads(self, fleet: Fleet, subjects: Collection[str]) -> dict[str, bytes]:
        """What those of these workloads that are there were told to be last, by subject.

        What had no effect, like a report that was stale, does not count; what is not decided yet does.
        """
        with refusals_named():
            rows = await self._connection.fetch(
                "SELECT asked.subject, newest.payload FROM unnest($2::text[]) AS asked (subject)"
                " CROSS JOIN LATERAL ("
                "   SELECT e.type, e.payload FROM ledger.events e"
                "    WHERE e.fleet = $1 AND e.subject = asked.subject AND e.type = ANY($3::text[])"
                "      AND NOT EXISTS (SELECT FROM ledger.event_effects x"
                "                       WHERE x.fleet = e.fleet AND x.position = e.position)"
                "    ORDER BY e.position DESC LIMIT 1) AS newest"
                " WHERE newest.type = $4",
                fleet.number,
                list(subjects),
                [_WORKLOAD, _WORKLOAD_GONE],
                _WORKLOAD,
            )
        return {row["subject"]: row["payload"] for row in rows}

    async def record(self, fleet: Fleet, number: int) -> bytes | None:
        """The record of a decision."""
        with refusals_named():
            found: bytes | None = await self._connection.fetchval(
                "SELECT record FROM ledger.decisions WHERE fleet = $1 AND number = $2",
                fleet.number,
                number,
            )
        return found

    async def policies(self, fleet: Fleet, known: "Policies") -> "Policies":
        """What the fleet's policy is by now, from what it was."""
        size, _ = await trees.recorded_root(self._connection, fleet.number, "events")
        return await self._policies(fleet, known, size=size)

    async def _policies(self, fleet: Fleet, known: "Policies", *, size: int) -> "Policies":
        """What the policy is where the log has so many events."""
        if size == known.through + 1:
            return known
        default = known.default
        if default is None:
            born = await fleets.read_genesis(self._connection, fleet)
            if born is None:
                return known
            default = born.policy
            known = Policies(default, default, known.through)
        with refusals_named():
            rows = await self._connection.fetch(
                "SELECT position, payload, revision FROM ledger.events"
                " WHERE fleet = $1 AND subject = $2 AND type = $3"
                "   AND position > $4 AND position < $5 ORDER BY position",
                fleet.number,
                fleet.name,
                _POLICY,
                known.through,
                size,
            )
        policy = known.policy
        for row in rows:
            fact = decode(row["payload"], revision=row["revision"])
            assert isinstance(fact, PolicyChanged), f"position {row['position']} is no policy"
            policy = merge(policy, fact.change, default=default)
        return Policies(default, policy, size - 1)


class Policies(NamedTuple):
    """What a fleet's policy is, as far as it was read."""

    default: Policy | None
    """Its genesis's; None before its first event."""
    policy: Policy
    through: int
    """Position of the last event that was looked at."""

    @property
    def spot(self) -> SpotPolicy:
        """What it says of on-demand and spot nodes."""
        return self.policy.spot


NO_POLICIES: Final = Policies(None, Policy(), -1)
