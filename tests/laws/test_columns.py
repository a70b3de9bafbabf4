"""What is kept of a cluster's nodes from one question to the next is what looking at all of them says.

Whoever asks, and about whichever World: the newest, one that was left behind long ago, or one that
somebody made from it meanwhile.
"""

from dataclasses import replace
from functools import partial

from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from ledger.core.capacity.amounts import INFINITE
from ledger.core.capacity.cpu import cpu_capacity
from ledger.decisions import spare
from ledger.decisions.columns import MOST_COUNTED, Columns, columns
from ledger.decisions.fullness import Weighed, height
from ledger.decisions.room import Wanted, bound, capacity, counted, cpu_node, wanted, whole
from ledger.decisions.step import advance
from ledger.facts.cluster import Labels
from ledger.facts.event import Fact
from ledger.facts.workload import Request
from ledger.reducers.book import Offer
from ledger.reducers.rooms import free
from ledger.reducers.world import World
from ledger.units import Bytes, ClusterName, CpuMilli
from tests.histories import (
    History,
    cluster_up,
    deployed,
    each_takes,
    node_up,
    workload_up,
)
from tests.laws.test_deployments import histories, long_histories

CLUSTERS = (ClusterName("m1"), ClusterName("m2"), ClusterName("m3"))
SELECTORS: tuple[Labels, ...] = ((), (("tier", "gold"),))
WEIGHED = (
    Weighed(cpu=False, memory=True, storage=False),
    Weighed(cpu=True, memory=True, storage=True),
)
ASKED = (
    each_takes(),
    each_takes(memory=3),
    each_takes(cpu=3500, memory=1),
    each_takes(memory=2, storage=3),
    each_takes(cpu=500, bind=True),
    each_takes(cpu=1500, bind=True, memory=2),
    each_takes(memory=1, volumes=["AUTO:/a:rw:4"]),
)


@long_histories
@given(histories)
def test_columns_that_are_kept_are_those_that_are_made_anew(
    history: list[tuple[Fact, int]],
) -> None:
    log = History()
    worlds = [log.world]

    for place, (fact, after) in enumerate(history):
        worlds.append(log.add(fact, after=after).world)
        behind = worlds[place // 2]
        again = advance(behind, log.events[place // 2]).world

        for world in (worlds[-1], behind, again, worlds[-1])[place % 4 :]:
            assert_the_same(world)


def counted_of(nodes: spare.Nodes) -> list[tuple[int, int, list[int], list[int]]]:
    """What is counted of every column; asked for, so that the next World has it to put right."""
    plot = nodes.plot
    return [
        (column.total, column.least, [*column.ordered], [*column.most(2)])
        for column in (*plot.amounts.values(), plot.slots)
    ]


def assert_the_same(world: World) -> None:
    no_trails = replace(world, rooms=replace(world.rooms, trails=Map()))
    for cluster in CLUSTERS:
        assert spare.nodes(world, cluster) == spare.nodes(no_trails, cluster)
        assert counted_of(spare.nodes(world, cluster)) == counted_of(
            spare.nodes(no_trails, cluster)
        )
        for selector in SELECTORS:
            kept = columns(world, cluster, selector)
            anew = Columns(world, cluster, selector)
            assert kept.names == anew.names
            assert kept.facts == anew.facts
            assert kept.pools[:3] == anew.pools[:3]
            assert kept.left == anew.left
            for what in WEIGHED:
                of_kept, of_anew = (
                    each.used(what, partial(height, what=what)) for each in (kept, anew)
                )
                assert (of_kept.each, of_kept.ranks) == (of_anew.each, of_anew.ranks)
            for request in ASKED:
                assert_counted(world, kept, asked(world, request, selector))


def test_more_kinds_of_instances_than_are_kept_are_counted_as_they_are() -> None:
    log = History()
    log.add_all(cluster_up("m1"), node_up("m1", "n1", cpu=9000, memory=40))
    world = log.world
    nodes = columns(world, CLUSTERS[0], ())

    for _ in range(2):
        for memory in range(MOST_COUNTED + 3):
            for request in (
                each_takes(memory=memory),
                each_takes(cpu=1000, bind=True, memory=memory),
                each_takes(memory=memory, volumes=["AUTO:/a:rw:4"]),
            ):
                assert_counted(world, nodes, asked(world, request, ()))
                assert len(nodes._unbound) <= MOST_COUNTED
                assert len(nodes._bound) <= MOST_COUNTED


def asked(world: World, request: Request, selector: Labels) -> Wanted:
    deploy = deployed(selector=dict(selector))
    return wanted(world, workload_up("ns/asks", 1, request=request, deploy=deploy))


def assert_counted(world: World, nodes: Columns, one: Wanted) -> None:
    """Each node holds what the core says of what it has free."""
    found = counted(nodes, one)
    fits = {
        name: capacity(free(world, nodes.facts[name]), one) if name in nodes.pools.open else 0
        for name in nodes.names
    }
    assert dict(zip(nodes.names, found.each, strict=True)) == fits
    assert found.together == sum(fits.values())
    assert [nodes.names[found.place_of(rank)] for rank in found.ranks] == sorted(
        (name for name in fits if fits[name]), key=lambda name: (-fits[name], name)
    )


amounts = st.integers(0, 9)
cores = st.dictionaries(st.sampled_from("0123"), st.integers(-20, 230), min_size=1, max_size=4)
groups = st.dictionaries(st.sampled_from("0123"), st.sampled_from("ab"), max_size=4)
sizes = st.dictionaries(st.sampled_from("ab"), amounts, max_size=2)


@given(cores, groups, sizes, st.integers(-3, 20), amounts, st.sampled_from([500, 1000, 1500, 2250]))
def test_memory_that_is_ample_changes_no_count_of_cores(
    pieces: dict[str, int],
    numa: dict[str, str],
    near: dict[str, int],
    memory: int,
    each: int,
    cpu: int,
) -> None:
    offer = Offer(
        cores=tuple(sorted(pieces.items())),
        whole=0,
        cpu=CpuMilli(INFINITE),
        share_base=100,
        memory=Bytes(memory),
        numa=tuple(sorted(numa.items())),
        numa_memory=tuple((group, Bytes(near[group])) for group in sorted(near)),
        volumes=(),
        storage=Bytes(0),
        pods=None,
        in_use=(),
    )
    request = each_takes(cpu=cpu, bind=True, memory=each)
    one = asked(History().world, request, ())

    expected = cpu_capacity(cpu_node(offer), bound(offer, one)).capacity

    assert whole(offer, one)
    assert capacity(offer, one) == expected
