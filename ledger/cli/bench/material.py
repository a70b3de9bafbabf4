"""The events that benchmarks feed in: a simulated fleet, the same for everybody.

Drawing a history takes longer than taking it in, so it is drawn before anything is measured. Where
millions are needed a drawn history is told over and over, each time under new identities: for the
log these are other events.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Sizes

SEED: Final = 20_260_105
FLEET: Final = "bench"
_BUSIEST: Final = "ledger.workload"
_ID_FIRST: Final = len(b'{"specversion":"1.0","id":"')
_ID_LENGTH: Final = 36


def simulation(fleet: str) -> Simulation:
    """A fleet of ordinary size: six clusters of ten nodes, two hundred workloads."""
    return Simulation(SEED, fleet=fleet, sizes=Sizes(clusters=6, nodes=10, workloads=200))


def lines(count: int, *, fleet: str = FLEET) -> list[bytes]:
    """So many events of one fleet, without line ends."""
    return list(simulation(fleet).events(count))


def workload_lines(count: int) -> list[bytes]:
    """So many events of the workload family: what its topic, the busiest one, carries."""
    stream = (m.value for m in simulation(FLEET).endless() if m.topic == _BUSIEST)
    return list(islice(stream, count))


def renamed(drawn: list[bytes], fleet: str) -> list[bytes]:
    """The same events as those of another fleet."""
    before, after = b'"fleet":"%b"' % FLEET.encode(), b'"fleet":"%b"' % fleet.encode()
    return [line.replace(before, after, 1) for line in drawn]


def write(path: Path, drawn: list[bytes]) -> None:
    """Events as the file that ``ledger ingest`` reads."""
    with path.open("wb") as file:
        file.writelines(line + b"\n" for line in drawn)


def endless(drawn: list[bytes]) -> Iterator[bytes]:
    """The drawn events, and then again and again under new identities."""
    yield from drawn
    turn = 0
    while True:
        turn += 1
        for number, line in enumerate(drawn):
            id_ = b"%012x-%023x" % (turn, number)
            yield line[:_ID_FIRST] + id_ + line[_ID_FIRST + _ID_LENGTH :]
