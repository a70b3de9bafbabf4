"""The simulator's history as the World is handed it, for tests that want every family of events."""

from collections.abc import Iterable, Iterator

from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Sizes
from ledger.events.codec import CONTRACT_REVISION, Accepted, accept_line, decode
from ledger.facts.event import Event
from ledger.facts.genesis import born
from ledger.log.lines import FAMILIES
from ledger.reducers.world import World, begin
from ledger.units import FleetName, Incarnation, Microseconds, Position

FLEET = FleetName("demo")


def events(seed: int, count: int) -> Iterator[Event]:
    """So many events of a small fleet, each recorded at its own time."""
    simulation = Simulation(seed, fleet=FLEET, sizes=Sizes(clusters=5, nodes=3, workloads=25))
    yield from read(simulation.events(count))


def read(lines: Iterable[bytes]) -> Iterator[Event]:
    """What the log of a fleet on the clock of its events makes of them."""
    before = 0
    for position, line in enumerate(lines):
        accepted = accept_line(line, families=FAMILIES)
        assert isinstance(accepted, Accepted), accepted
        before = max(before, accepted.time or 0)
        yield Event(
            position=Position(position),
            recorded_at=Microseconds(before),
            source=accepted.source,
            id=accepted.id,
            type=accepted.type,
            subject=accepted.subject,
            fact=decode(accepted.stored, revision=CONTRACT_REVISION),
        )


def beginning() -> World:
    """The World before the first of them."""
    return begin(born(FLEET, salt=None, revision=CONTRACT_REVISION), incarnation=Incarnation(1))
