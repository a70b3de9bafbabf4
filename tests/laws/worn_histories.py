"""Long random histories of disks that wear out and volumes that grow: each is a seed.

What Hypothesis draws (``tests.laws.disk_histories``) is drawn event by event, so that a long history
rarely follows anything up. Here somebody remembers what was told: disks fill up, are switched off and
on again, and are emptied; volumes grow by a quarter, want other disks and go; replicas fail whose
numbers there can be by then. Some fleets have zones and some have not, some say much of their nodes,
some have disks of another type among the rest, and a few have a policy that is rare.
"""

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Final

from ledger.facts import disk
from ledger.facts.cluster import InventoryListed
from ledger.facts.event import Fact
from ledger.facts.own import TimePassed
from ledger.facts.policy import PolicyValue
from ledger.units import Bytes, ClusterName, Microseconds, Subject
from tests.histories import (
    DAY,
    SECOND,
    cluster_gone,
    cluster_up,
    disk_gone,
    disk_up,
    node_gone,
    node_reclaimed,
    node_up,
    policy,
    replica_failed,
    replica_recovered,
    volume_gone,
    volume_up,
)
from tests.laws.job_histories import Happening

VOLUMES: Final = ("u", "v", "w", "x", "y")
DISKS: Final = ("d1", "d10", "d2")
SIZES: Final = (5, 10, 20, 20, 30, 45, 70)
MAXIMA: Final = (60, 100, 100, 200, 400)
SELECTORS: Final[tuple[tuple[str, ...], ...]] = ((), (), (), ("ssd",), ("big",), ("big", "ssd"))

SETTINGS: Final[tuple[tuple[str, tuple[PolicyValue, ...]], ...]] = (
    ("disk.replenish_wait", (0, 1500, 3000, None)),
    ("disk.scope", ("candidates", "node", None)),
    ("disk.alpha", (Fraction(0), Fraction(1, 2), None)),
    ("disk.node_soft", (True, None)),
    ("disk.zone_soft", (False, None)),
    ("disk.disk_soft", (False, None)),
    ("disk.auto_balance", ("best-effort", "least-effort", None)),
    ("disk.disk_pressure_pct", (50, 100, None)),
    ("disk.over_provisioning_pct", (50, 150, 200, None)),
    ("disk.min_available_pct", (0, 10, 60, None)),
    ("disk.rebuild_limit", (0, 1, 1, 2, None)),
    ("disk.default_reserved_pct", (0, 50, 100, None)),
    ("disk.allow_empty_node_selector", (False, None)),
    ("disk.allow_empty_disk_selector", (False, None)),
    ("retry.max_subjects", (1, 2, None)),
)


def history(seed: int, length: int) -> list[Happening]:
    """The history that this seed tells; always the same."""
    told = _Teller(Random(seed))
    return [Happening(fact, "east", 0) for fact in told.beginning()] + [
        Happening(told.next(), told.source(), told.pause()) for _ in range(length)
    ]


class _Teller:
    def __init__(self, random: Random) -> None:
        self.random = random
        several = [("c1", "n1"), ("c1", "n2"), ("c1", "n3"), ("c2", "n1"), ("c2", "n2"), ("", "n1")]
        self.places = sorted(random.sample(several, random.randint(3, len(several))))
        self.zones = random.choice([("",), ("", "a"), ("a", "b"), ("a", "b", "c")])
        self.selectors = random.choice([SELECTORS, SELECTORS[:3], SELECTORS[:4]])
        self.told = 0
        """Events so far: no volume has used as many numbers."""
        self.steady = random.choice([0.4, 0.8, 0.95])
        """How likely a switch stays on."""
        self.disks: dict[tuple[str, str, str], disk.DiskUpserted] = {}
        self.volumes: dict[str, disk.VolumeUpserted] = {}
        self.held = False
        self.patience = 0.25
        """How likely the next event lifts a hold: some last for days."""

    def beginning(self) -> list[Fact]:
        random = self.random
        settings: dict[str, PolicyValue] = {
            "disk.replenish_wait": random.choice([0, 2000, 60_000]),
            "disk.rebuild_limit": random.choice([None, 1]),
        }
        facts: list[Fact] = [policy(settings)]
        if random.random() < 0.3:
            facts.append(self._setting())
        facts += [cluster_up("c1"), node_up("c1", "n1")]
        facts += [self._new_disk(place, "d1") for place in self.places]
        facts += [self._new_volume(name) for name in VOLUMES[: random.randint(1, 4)]]
        return facts

    def source(self) -> str:
        return self.random.choice(["east", "east", "east", "west"])

    def pause(self) -> int:
        short = [0, 0, 0, SECOND, SECOND, 2 * SECOND, 90 * SECOND]
        return self.random.choice([*short, *short, DAY])

    def next(self) -> Fact:
        """What happens next."""
        self.told += 1
        if self.held and self.random.random() < self.patience:
            self.held = False
            return policy({"hold": self.random.choice([None, False])})
        what = self.random.choices(
            [
                self._any_disk,
                self._disk_wears,
                self._disk_flips,
                self._any_volume,
                self._volume_grows,
                self._volume_changes,
                self._replica_fails,
                self._replica_recovers,
                self._goes,
                self._node,
                self._reclaimed,
                self._policy,
                self._listed,
            ],
            [4, 14, 10, 6, 10, 10, 14, 7, 6, 7, 3, 5, 1],
        )[0]
        return what()

    def _stays(self) -> bool:
        return self.random.random() < self.steady

    def _new_disk(self, place: tuple[str, str], name: str, uid: str | None = None) -> Fact:
        random = self.random
        maximum = random.choice(MAXIMA)
        fact = disk_up(
            *place,
            name,
            uid=uid,
            zone=random.choice(self.zones),
            maximum=maximum,
            available=maximum * random.choice([100, 100, 90, 60]) // 100,
            reserved=random.choice([0, 0, None, maximum // 10, maximum + 1]),
            type_="block" if random.random() < 0.05 else "filesystem",
            tags=random.choice(self.selectors),
            node_tags=random.choice(self.selectors),
        )
        self.disks[(*place, name)] = fact
        return fact

    def _any_disk(self) -> Fact:
        random = self.random
        uid = random.choice([None] * 6 + ["other", "third"])
        return self._new_disk(random.choice(self.places), random.choice(DISKS), uid)

    def _disk_wears(self) -> Fact:
        random = self.random
        if not self.disks:
            return self._any_disk()
        key = random.choice(sorted(self.disks))
        was = self.disks[key]
        left = was.available - random.choice([0, 1, 5, 10, 30])
        if left <= random.choice([0, 0, 5, 20]):
            left = was.maximum * random.choice([0, 50, 100]) // 100
        self.disks[key] = replace(was, available=Bytes(max(0, left)), revision=self._revision())
        return self.disks[key]

    def _disk_flips(self) -> Fact:
        random = self.random
        if not self.disks:
            return self._any_disk()
        key = random.choice(sorted(self.disks))
        was = self.disks[key]
        now = replace(was, revision=None)
        match random.randrange(7):
            case 0:
                now = replace(now, schedulable=self._stays())
            case 1:
                now = replace(now, allow=self._stays())
            case 2 | 3:
                now = replace(now, evicting=not was.evicting)
            case 4:
                now = replace(now, node_ready=self._stays())
            case 5:
                now = replace(now, node_allow=self._stays(), zone=random.choice(self.zones))
            case _:
                now = replace(now, maximum=Bytes(random.choice(MAXIMA)), tags=now.node_tags)
        self.disks[key] = now
        return now

    def _revision(self) -> int | None:
        """Mostly none, and now and then one that is too late."""
        return self.random.choice([None] * 8 + [self.told, self.told // 2])

    def _new_volume(self, name: str, uid: str | None = None) -> Fact:
        random = self.random
        soft = [None, None, True, False]
        fact = volume_up(
            name,
            random.choice([0, 1, 2, 2, 3, 3, 4, 6]),
            size=random.choice(SIZES),
            uid=uid,
            node_soft=random.choice([*soft, True, True]),
            zone_soft=random.choice(soft),
            disk_soft=random.choice(soft),
            disk_selector=random.choice(self.selectors),
            node_selector=random.choice(self.selectors),
            alpha=random.choice([None, None, None, Fraction(0), Fraction(1, 3)]),
            workload_key=random.choice([None, "ns/a"]),
        )
        self.volumes[name] = fact
        return fact

    def _any_volume(self) -> Fact:
        uid = self.random.choice([None] * 6 + ["other", "third"])
        return self._new_volume(self.random.choice(VOLUMES), uid)

    def _some_volume(self) -> disk.VolumeUpserted | None:
        if not self.volumes:
            return None
        return self.volumes[self.random.choice(sorted(self.volumes))]

    def _volume_grows(self) -> Fact:
        was = self._some_volume()
        if was is None:
            return self._any_volume()
        more = self.random.choice([1, was.size // 4, was.size, -1])
        self.volumes[was.name] = replace(was, size=Bytes(max(1, was.size + more)))
        return self.volumes[was.name]

    def _volume_changes(self) -> Fact:
        random = self.random
        was = self._some_volume()
        if was is None:
            return self._any_volume()
        match random.randrange(5):
            case 0 | 1:
                now = replace(was, replicas=max(0, was.replicas + random.choice([-2, -1, 1, 1, 2])))
            case 2:
                now = replace(was, disk_selector=random.choice(self.selectors))
            case 3:
                now = replace(was, node_selector=random.choice(self.selectors))
            case _:
                now = replace(was, node_soft=random.choice([None, True, False]))
        self.volumes[was.name] = now
        return now

    def _replica(self) -> str:
        most = 3 + self.told // 8
        return f"{self.random.choice(VOLUMES)}-r{self.random.randint(1, most)}"

    def _replica_fails(self) -> Fact:
        name = self._replica()
        return replica_failed(name, reusable=self.random.random() < 0.6, uid=self._life(name))

    def _replica_recovers(self) -> Fact:
        name = self._replica()
        return replica_recovered(name, uid=self._life(name))

    def _life(self, replica: str) -> str | None:
        """Of its volume: mostly nobody says, sometimes it is another one."""
        volume = replica.rpartition("-r")[0]
        return self.random.choice([None] * 5 + ["other", "third", volume])

    def _goes(self) -> Fact:
        random = self.random
        kind = random.random()
        uid = random.choice([None, None, None, "other"])
        if kind < 0.45:
            place, name = random.choice(self.places), random.choice(DISKS)
            self.disks.pop((*place, name), None)
            return disk_gone(*place, name, uid=uid)
        if kind < 0.75:
            name = random.choice(VOLUMES)
            self.volumes.pop(name, None)
            return volume_gone(name, uid=uid)
        if kind < 0.95:
            return node_gone(*self._node_key())
        return cluster_gone(random.choice(["c1", "c2"]))

    def _node_key(self) -> tuple[str, str]:
        return self.random.choice([place for place in self.places if place[0]] or [("c1", "n1")])

    def _node(self) -> Fact:
        if self.random.random() < 0.1:
            return cluster_up(self.random.choice(["c1", "c2"]), ready=self._stays())
        return node_up(*self._node_key(), ready=self._stays(), schedulable=self._stays())

    def _reclaimed(self) -> Fact:
        place = self._node_key()
        return node_reclaimed(
            *place, uid=self.random.choice([None, None, "/".join(place), "other"])
        )

    def _policy(self) -> Fact:
        if self.random.random() < 0.25:
            self.held = True
            self.patience = self.random.choice([0.25, 0.25, 0.05])
            return policy({"hold": True})
        return self._setting()

    def _setting(self) -> Fact:
        name, values = self.random.choice(SETTINGS)
        return policy({name: self.random.choice(values)})

    def _listed(self) -> Fact:
        above = self.random.choice(["c1", "c2"])
        keys = [f"{above}/{node}/{name}" for home, node, name in self.disks if home == above]
        there = sorted(key for key in keys if self.random.random() < 0.8)
        if self.random.random() < 0.2:
            return TimePassed(Microseconds(0))
        return InventoryListed(ClusterName(above), "disk", tuple(map(Subject, there)), None)
