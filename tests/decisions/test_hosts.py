"""What is kept of hosts is what would be made of them anew, whatever changed and was asked in between."""

from dataclasses import replace
from random import Random

import pytest

from ledger.core.disk.eligibility import Demands
from ledger.core.disk.ground import Footing, Ground, Total
from ledger.core.disk.scheduling import Rules, Volume
from ledger.decisions.gathered_digest import GatheredDigest
from ledger.decisions.hosts import Hosts, hosts_of, largest_taken
from ledger.facts.event import Fact
from ledger.reducers.trails import begun
from ledger.reducers.world import World
from tests.histories import History, disk_gone, disk_up, volume_up

HOSTS = 40
SIZES = (0, 10, 60, 70, 90, 95, 150)
"""Of some that all disks take, of some that few do not or have no room for, and of some that few do."""


def told(total: Total) -> tuple[object, ...]:
    return total.taking, total.nodes, total.disks, total.room, total.infeasible, +total.codes


def everything(ground: Ground) -> tuple[object, ...]:
    """All that a ground says; what it has of a zone without nodes is nothing."""
    zones = [zone for zone, names in ground.names.items() if names]
    return (
        ground.offers,
        ground.by_room,
        ground.losers,
        ground.short,
        {zone: ground.names[zone] for zone in zones},
        {zone: told(ground.zones[zone]) for zone in zones},
        told(ground.all),
    )


def change(random: Random) -> Fact:
    node, name = f"n{random.randrange(HOSTS)}", random.choice(["d1", "d2"])
    if random.random() < 0.1:
        return disk_gone("m1", node, name)
    return disk_up(
        "m1",
        node,
        name,
        zone=random.choice(["a", "b"]),
        maximum=random.choice([100, 100, 100, 100, 70, 200]),
        available=random.choice([100, 100, 100, 100, 80, 60, 10, 0]),
        tags=random.choice([(), ("ssd",)]),
        schedulable=random.random() < 0.9,
        node_ready=random.random() < 0.95,
    )


@pytest.mark.parametrize("seed", range(12))
def test_a_ground_that_is_kept_up_is_the_one_made_anew(seed: int) -> None:
    random = Random(seed)
    history = History()
    for number in range(HOSTS):
        history.add(disk_up("m1", f"n{number}", "d1", zone="a", maximum=100))
    rules = Rules()

    seen: set[tuple[bool, bool]] = set()
    """Whether a ground serves every size, and whether all nodes offer all they have to this one."""
    for _ in range(150):
        history.add_all(*[change(random) for _ in range(random.choice([0, 1, 1, 2, 15]))])
        selector = random.choice([(), ("ssd",)])
        volume = Volume(size=random.choice(SIZES), demands=Demands(disk_selector=selector))

        hosts = hosts_of(history.world)
        ground = hosts.ground(volume, rules)

        anew = Ground(
            Footing.of(hosts.node(name), volume, rules).at(volume.size) for name in hosts.names
        )
        assert everything(ground) == everything(anew)
        assert hosts.names == sorted(history.world.disks.hosts)
        whole = hosts.ground(Volume(size=0, demands=volume.demands), rules)
        offers = {name: Footing.of(hosts.node(name), volume, rules).offer for name in hosts.names}
        seen.add((ground is whole, anew.offers == offers))

    assert seen == {(True, True), (True, False), (False, False)}


@pytest.mark.parametrize("seed", range(12))
def test_whichever_world_is_asked_about_its_own_hosts_are_found(seed: int) -> None:
    random = Random(seed)
    history = History()
    for number in range(HOSTS):
        history.add(disk_up("m1", f"n{number}", "d1", zone="a", maximum=100))
    worlds = [history.world]

    for number in range(60):
        if random.random() < 0.3:
            worlds.append(history.add(volume_up(f"v{number}", 2)).world)
        else:
            worlds.append(history.add(change(random)).world)
        place = random.randrange(len(worlds) - 1)
        elsewhere = History(worlds[place], events=history.events[: HOSTS + place])
        branch = elsewhere.add(change(random)).world
        off_the_trail = replace(branch, disks=replace(branch.disks, trail=begun()))

        for world in random.sample([worlds[-1], random.choice(worlds), branch, off_the_trail], 4):
            assert_the_same(hosts_of(world), world)


def assert_the_same(kept: Hosts, world: World) -> None:
    """What is kept is what is made anew of these hosts."""
    anew = Hosts()
    anew.look(world.disks)
    demands, rules = Demands(), Rules()
    volume = Volume(size=10, demands=demands)
    together = GatheredDigest()
    for name in anew.names:
        together.add(anew.fingerprint(name))

    assert kept.names == anew.names == sorted(world.disks.hosts)
    assert [kept.node(name) for name in kept.names] == [anew.node(name) for name in anew.names]
    assert kept.fingerprints() == together.digest() == anew.fingerprints()
    assert everything(kept.ground(volume, rules)) == everything(anew.ground(volume, rules))
    changed = [name for name in sorted(world.disks.changed) if name in anew]
    policy = world.policy.disk
    assert kept.largest_of_changed(world, demands) == max(
        (largest_taken(anew.node(name), demands, policy) for name in changed), default=-1
    )
