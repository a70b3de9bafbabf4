"""The histories that ``ledger bench engine`` decides, and rows of them that no server has to hold.

The mixed history is a fleet of middling size: twenty clusters, two thousand nodes, five thousand
workloads, thirty queues, four thousand disks. Seven in ten of its events are reports that nothing
follows from, two change something, one asks for an answer; the fleet is raised first.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from ledger.cli.bench.material import SEED
from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Mix, Sizes
from ledger.events.codec import CONTRACT_REVISION, Accepted, accept_line
from ledger.facts.genesis import born
from ledger.log.lines import FAMILIES
from ledger.log.read import StoredEvent
from ledger.reducers.world import World, begin
from ledger.units import FleetName, Incarnation

FLEET: Final = FleetName("bench")
MIX: Final = Mix(reports=700, changes=200, decisions=100)
MIXED: Final = Sizes(clusters=20, nodes=100, workloads=5_000, queues=30, disks=2)
MICROSECONDS_PER_EVENT: Final = 1_000
QUICK: Final = Sizes(clusters=4, nodes=5, workloads=50, disks=2)


def simulation(sizes: Sizes) -> Simulation:
    """A fleet of these sizes, always the same one, that tells a thousand events a second."""
    return Simulation(SEED, fleet=FLEET, sizes=sizes, mix=MIX, step=MICROSECONDS_PER_EVENT)


def rows(lines: Iterable[bytes], *, first: int = 0) -> Iterator[StoredEvent]:
    """Lines as a log on the clock of its events would hold them."""
    recorded_at = 0
    for position, line in enumerate(lines, first):
        accepted = accept_line(line, families=FAMILIES)
        assert isinstance(accepted, Accepted), accepted
        assert accepted.time is not None
        recorded_at = max(recorded_at, accepted.time)
        yield StoredEvent(
            position=position,
            incarnation=1,
            recorded_at_micros=recorded_at,
            event_time_micros=accepted.time,
            revision=CONTRACT_REVISION,
            channel="file",
            topic=None,
            partition=None,
            coordinate=None,
            source=accepted.source,
            id=accepted.id,
            type=accepted.type,
            subject=accepted.subject,
            payload=accepted.stored,
            leaf=b"",
        )


def beginning() -> World:
    """The World of the fleet before its first event."""
    return begin(born(FLEET, salt=None, revision=CONTRACT_REVISION), incarnation=Incarnation(1))
