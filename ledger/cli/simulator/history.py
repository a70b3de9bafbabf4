"""The history of an invented fleet, one event after the other, for as long as anybody asks.

A simulation is a function of its arguments: the same seed tells the same history on any machine.
It reads no clock. Its own time only moves forward, so a log on the clock of its events
(``--clock event``) takes the same history to the same root whenever it is ingested.

With ``Mix.trouble`` some of what is sent should not have been: the same event twice, the same
identity with other content, half a line, a version that nobody knows. Those come right after a
good one and change nothing about the others.

What happens is ``ledger.cli.simulator.life``'s subject, to whom ``ledger.cli.simulator.fleet``'s.
"""

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Final

from ledger.cli.simulator.fleet import raised, uid
from ledger.cli.simulator.life import Life, Mix
from ledger.cli.simulator.spelling import Sent, sent
from ledger.units import Microseconds

BEGIN: Final = Microseconds(1_767_600_000_000_000)
"""When a simulation begins unless told otherwise: 2026-01-05T08:00:00Z, a Monday morning."""

USUAL_STEP: Final = 400_000
"""Microseconds between two events on average."""


class Simulation:
    """A fleet in motion: each event it is asked for moves it on."""

    def __init__(
        self,
        seed: int,
        *,
        fleet: str = "demo",
        clusters: int = 6,
        nodes: int = 4,
        workloads: int = 40,
        mix: Mix | None = None,
        begin: Microseconds = BEGIN,
        step: int = USUAL_STEP,
    ) -> None:
        """``nodes`` are those of each cluster; ``step`` is how far an event moves time on average."""
        assert step > 0
        self.fleet = fleet
        self._mix = Mix() if mix is None else mix
        self._chance = Random(seed)  # noqa: S311 - repeatable is what is wanted of it
        things = raised(self._chance, clusters=clusters, nodes=nodes, workloads=workloads)
        self._life = Life(self._chance, things, self._mix)
        self._now: int = begin
        self._step = step
        self._stream = self._messages()

    def endless(self) -> Iterator[Sent]:
        """Message after message, each with the Kafka topic it would go to."""
        return self._stream

    def messages(self, count: int) -> Iterator[Sent]:
        """The next ``count`` of them."""
        return islice(self._stream, count)

    def events(self, count: int) -> Iterator[bytes]:
        """The next ``count`` messages as lines without line ends."""
        return (message.value for message in self.messages(count))

    def _messages(self) -> Iterator[Sent]:
        chance, trouble = self._chance, self._mix.trouble
        # Trouble draws from luck of its own, so that the good events are the same without it.
        mischief = Random(chance.getrandbits(64))  # noqa: S311 - as above
        while True:
            self._now += 1 + int(chance.random() * 2 * self._step)
            now = Microseconds(self._now)
            good = sent(self._life.next(now), fleet=self.fleet, id_=uid(chance), at=now)
            yield good
            if trouble and mischief.random() * 1000 < trouble:
                yield _spoiled(good, mischief)


def _spoiled(good: Sent, mischief: Random) -> Sent:
    """What a broken producer makes of an event that it has sent."""
    value = good.value
    match mischief.randrange(5):
        case 0 | 1:
            return good
        case 2:
            return good._replace(value=value.replace(b'"data":{', b'"data":{"retried":true,', 1))
        case 3:
            return good._replace(value=value[: len(value) // 2])
        case _:
            return good._replace(value=value.replace(b'.v1","subject"', b'.v99","subject"', 1))
