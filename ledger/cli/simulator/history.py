"""The history of an invented fleet, one event after the other, for as long as anybody asks.

A simulation is a function of its arguments: the same seed tells the same history on any machine.
It reads no clock. Its own time only moves forward, so a log on the clock of its events
(``--clock event``) takes the same history to the same root whenever it is ingested.

Not everything arrives in order. With ``Mix.late`` some events come behind others that happened
after them, as a slow agent sends them: with the time at which they happened, and, if the object
was reported meanwhile, with a revision that is stale by then.

With ``Mix.trouble`` some of what is sent should not have been: the same event twice, the same
identity with other content, half a line, a version that nobody knows. Those come right after a
good one and change nothing about the others.

What happens is ``ledger.cli.simulator.life``'s subject, to whom ``ledger.cli.simulator.fleet``'s.
"""

import heapq
from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Final

from ledger.cli.simulator.fleet import raised
from ledger.cli.simulator.life import Life
from ledger.cli.simulator.luck import uid
from ledger.cli.simulator.sizes import Mix, Shares, Sizes
from ledger.cli.simulator.spelling import Happening, Sent, sent
from ledger.units import Microseconds

BEGIN: Final = Microseconds(1_767_600_000_000_000)
"""When a simulation begins unless told otherwise: 2026-01-05T08:00:00Z, a Monday morning."""

USUAL_STEP: Final = 400_000
"""Microseconds between two events on average."""

_LATEST: Final = 60
"""Events that a late one may be behind its time."""


class Simulation:
    """A fleet in motion: each event it is asked for moves it on."""

    def __init__(
        self,
        seed: int,
        *,
        fleet: str = "demo",
        sizes: Sizes | None = None,
        shares: Shares | None = None,
        mix: Mix | None = None,
        begin: Microseconds = BEGIN,
        step: int = USUAL_STEP,
    ) -> None:
        """``step`` is how many microseconds an event moves time on average."""
        assert step > 0
        self.fleet = fleet
        self._mix = Mix() if mix is None else mix
        self._chance = Random(seed)
        things = raised(self._chance, sizes or Sizes(), shares or Shares())
        self._life = Life(self._chance, things, self._mix, name=fleet)
        self.opening: Final = self._life.opening
        """How many events it takes until the fleet stands."""
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

    def pods(self) -> Iterator[bytes]:
        """Every pod of every workload told once, as agents do that are all started at once."""
        return (self._sent(happened).value for happened in self._life.pods())

    def _messages(self) -> Iterator[Sent]:
        # Slowness and trouble draw from luck of their own, so that the same happens without them.
        slowness, mischief = self._other_luck(), self._other_luck()
        trouble = self._mix.trouble
        for good in self._in_order_of_arrival(slowness):
            yield good
            if trouble and mischief.random() * 1000 < trouble:
                yield _spoiled(good, mischief)

    def _in_order_of_arrival(self, slowness: Random) -> Iterator[Sent]:
        late = self._mix.late
        count = 0
        under_way: list[tuple[int, Sent]] = []
        while True:
            if under_way and under_way[0][0] <= count:
                yield heapq.heappop(under_way)[1]
                continue
            happened = self._sent(self._life.next(Microseconds(self._now)))
            count += 1
            if count > self.opening and slowness.random() * 1000 < late:
                arrives = count + 1 + int(slowness.random() * _LATEST)
                heapq.heappush(under_way, (arrives, happened))
            else:
                yield happened

    def _sent(self, happened: Happening) -> Sent:
        self._now += 1 + int(self._chance.random() * 2 * self._step)
        at = Microseconds(self._now)
        return sent(happened, fleet=self.fleet, id_=uid(self._chance), at=at)

    def _other_luck(self) -> Random:
        return Random(self._chance.getrandbits(64))


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
