"""Who is short of on-demand places is listed for as long as it is, so that growing room costs nobody else."""

from dataclasses import replace

from ledger.reducers import snapshot
from ledger.reducers.snapshot import Reading
from ledger.reducers.world import World
from tests.histories import (
    History,
    cluster_up,
    deployed,
    each_takes,
    node_gone,
    node_up,
    policy,
    workload_gone,
    workload_up,
)

CAPACITY = "node.kubernetes.io/capacity"
ON_DEMAND, SPOT = ({CAPACITY: word} for word in ("on-demand", "spot"))
WEB = workload_up(
    "ns/web",
    4,
    cluster="m1",
    deploy=deployed(),
    request=each_takes(memory=1),
    min_available="1",
)


def one_place_on_demand() -> History:
    log = History()
    log.add_all(
        cluster_up("m1"),
        node_up("m1", "n1", memory=1, labels=ON_DEMAND),
        node_up("m1", "n2", memory=9, labels=SPOT),
        WEB,
    )
    return log


def listed(log: History) -> list[str]:
    """Once whoever was looked at in the last event is no more."""
    log.add(policy({}))
    return [str(subject) for each in log.world.proposals.lacking.values() for subject in each]


def read_again(world: World) -> World:
    reading = Reading()
    for line in snapshot.spell(world):
        reading.take(line)
    return reading.world()


def test_nobody_is_listed_where_all_that_belong_there_are_on_demand() -> None:
    log = one_place_on_demand()

    assert not listed(log)


def test_nobody_is_listed_of_whom_the_policy_alone_says_how_many() -> None:
    log = History()
    log.add_all(
        policy({"spot.default_min_available": "25%"}),
        cluster_up("m1"),
        node_up("m1", "n1", memory=1, labels=ON_DEMAND),
        node_up("m1", "n2", memory=9, labels=SPOT),
        replace(WEB, min_available=None),
    )

    assert not listed(log)


def test_whoever_is_short_is_listed_until_it_is_not() -> None:
    log = one_place_on_demand()

    log.add(replace(WEB, min_available="2"))
    short = listed(log)
    log.add(WEB)

    assert short == ["ns/web@m1"]
    assert not listed(log)


def test_whoever_may_have_all_that_it_lacks_is_not_listed() -> None:
    log = one_place_on_demand()
    log.add(replace(WEB, min_available="2"))

    log.add(node_up("m1", "n3", memory=1, labels=ON_DEMAND))

    assert [len(one.moves) for one in log.world.proposals.open.values()] == [1]
    assert not listed(log)


def test_nobody_is_listed_who_has_nothing_any_more() -> None:
    log = one_place_on_demand()
    log.add(replace(WEB, min_available="2"))
    assert listed(log)

    log.add(policy({"hold": True}))
    log.add_all(node_gone("m1", "n1"), node_gone("m1", "n2"), workload_gone("ns/web"))

    assert not log.world.proposals.lacking


def test_a_node_that_grows_for_nobody_on_demand_makes_nobody_be_looked_at() -> None:
    log = one_place_on_demand()
    log.add(replace(WEB, min_available="2"))
    assert listed(log)

    log.add(node_up("m1", "n3", memory=9, labels=SPOT))
    after_spot = log.world.proposals.grown
    log.add(node_up("m1", "n1", memory=1, cpu=9000, labels=ON_DEMAND))

    assert not after_spot
    assert [*log.world.proposals.grown] == ["ns/web@m1"]


def test_whoever_is_short_is_still_after_a_restart() -> None:
    log = one_place_on_demand()
    log.add(replace(WEB, min_available="2"))
    assert listed(log)

    assert read_again(log.world) == log.world
