"""Which fleets have to wait for their deciders.

A fleet is crowded while more of its events are undecided than the limit, until half of that is
left: in between nothing changes, so that partitions are not paused and resumed with every batch.
Kafka is the buffer meanwhile.
"""

from collections.abc import Collection, Mapping

from ledger.log.door import Door
from ledger.units import FleetName


class Crowd:
    """The crowded fleets, as far as we know."""

    def __init__(self, limit: int) -> None:
        """``limit`` 0 is none."""
        self._limit = limit
        self._fleets: set[FleetName] = set()
        self._decided: dict[FleetName, int] = {}

    def __bool__(self) -> bool:
        return bool(self._fleets)

    def among(self, fleets: Collection[FleetName]) -> set[FleetName]:
        """Which of these are crowded."""
        return self._fleets.intersection(fleets)

    def forget(self) -> None:
        """Know nothing any more."""
        self._fleets.clear()
        self._decided.clear()

    async def grew(self, door: Door, sizes: Mapping[FleetName, int]) -> None:
        """Take note of how long logs have become."""
        if not self._limit:
            return
        # What is known of the deciders is old, and they never go back: a tail is at most that long.
        long = [f for f, size in sizes.items() if size - self._decided.get(f, 0) > self._limit]
        if long:
            for fleet, undecided in (await door.undecided(long)).items():
                self._decided[fleet] = sizes[fleet] - undecided
                if undecided > self._limit:
                    self._fleets.add(fleet)

    async def look(self, door: Door) -> None:
        """Ask how far the deciders are now."""
        undecided = await door.undecided(self._fleets)
        enough = max(self._limit // 2, 1)
        self._fleets = {fleet for fleet, tail in undecided.items() if tail >= enough}
