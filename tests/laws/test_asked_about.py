"""Asking a strategy about the nodes that matter gives what asking about all of them gives.

Also in the middle of a turn, where some nodes are not as they were when it began; and so are the losers,
most of whom are only counted.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.capacity.merge import load, mean_load
from ledger.core.placement.answer import Placement
from ledger.core.placement.place import place
from ledger.core.placement.question import Policy, Request, Strategy
from ledger.core.placement.reasons import left_out, outcomes
from ledger.decisions.asked_about import asked_about
from ledger.decisions.deployment_record import losers_of
from ledger.decisions.deployment_turn import Served
from ledger.decisions.fullness import height, load_of, weighed
from ledger.decisions.nodes import Nodes, nodes_of
from ledger.facts.deployment import Instance, Terms
from ledger.facts.reason import losers
from ledger.facts.workload import Request as Asks
from ledger.reducers.book import NOTHING_HELD
from ledger.units import Bytes, ClusterName, NodeName
from tests.histories import History, cluster_up, deployed, each_takes, node_up, workload_up

M1 = ClusterName("m1")
CLASS = "node.kubernetes.io/capacity"
ASKS = (
    each_takes(memory=1),
    each_takes(memory=3, storage=2),
    each_takes(cpu=1000, bind=True, memory=1),
)

drawn_nodes = st.lists(
    st.tuples(
        st.sampled_from([4, 8, 8, 12, 30]),
        st.sampled_from([0, 7, 20]),
        st.sampled_from(["on-demand", "spot"]),
        st.sampled_from([True, True, True, False]),
        st.integers(0, 12),
    ),
    min_size=1,
    max_size=14,
)
places = st.lists(st.tuples(st.integers(0, 13), st.integers(0, 2)), max_size=8)


def cluster_of(
    drawn: list[tuple[int, int, str, bool, int]], request: Asks, held: list[tuple[int, int]]
) -> tuple[Nodes, Counter[NodeName]]:
    """The nodes of a turn that has placed and given back some instances of its own already."""
    log = History()
    log.add(cluster_up("m1"))
    for place_, (memory, storage, kind, schedulable, others) in enumerate(drawn):
        name = f"n{place_}"
        labels = {CLASS: kind, "name": name}
        up = node_up("m1", name, memory=memory, storage=storage, cpu=9000, labels=labels)
        log.add(up)
        if others:
            takes = each_takes(memory=1)
            deploy = deployed(selector={"name": name})
            log.add(workload_up(f"ns/{name}", others, cluster="m1", request=takes, deploy=deploy))
        if not schedulable:
            log.add(replace(up, schedulable=False))
    deploy = deployed()
    asks = workload_up("ns/asks", 1, cluster="m1", request=request, deploy=deploy)
    nodes = nodes_of(log.world, M1, asks, deploy)
    nodes.open_to("all", 1, Counter(), limit=0)
    counts: Counter[NodeName] = Counter()
    terms = Terms(request, Bytes(request.storage), ())
    for number, (at, count) in enumerate(held):
        name = NodeName(f"n{at % len(drawn)}")
        for _ in range(count):
            if name in nodes.schedulable and nodes.capacity(name):
                (plan,) = nodes.plans(name, 1)
                nodes.take(Instance(number, name, terms, *plan))
                counts[name] += 1
    return nodes, counts


@settings(max_examples=300)
@given(
    drawn_nodes,
    st.sampled_from(ASKS),
    places,
    st.sampled_from(["AUTO", "FILL", "EACH", "GLOBAL", "DRAINED"]),
    st.sampled_from(["nearest_level", "after_usage"]),
    st.sampled_from(["all", "all", "od", "spot"]),
    st.integers(1, 9),
    st.integers(0, 4),
)
def test_the_others_would_get_nothing_and_lose_for_the_same_reasons(
    drawn: list[tuple[int, int, str, bool, int]],
    request: Asks,
    held: list[tuple[int, int]],
    strategy: Strategy,
    policy: Policy,
    among: str,
    wanted: int,
    limit: int,
) -> None:
    nodes, counts = cluster_of(drawn, request, held)

    def asked(names: list[NodeName]) -> Request:
        return Request(strategy, wanted, nodes.as_asked(names, counts, loaded=True), limit, policy)

    of_all = asked(list(nodes.pool(among)))
    few = asked(list(asked_about(nodes, strategy, policy, among, wanted, counts, limit=limit)))
    expected, found = place(of_all), place(few)

    if isinstance(expected, Placement):
        assert found == expected
        why = {**dict(left_out(of_all, expected)), **nodes.passed_over}
        for place_, (*_, kind, _, _) in enumerate(drawn):
            name = NodeName(f"n{place_}")
            if among not in {"all", "od" if kind == "on-demand" else "spot"}:
                # Who has some of the other part has won that.
                why.pop(name, None)
                if not counts[name]:
                    why[name] = "other_class"
        served = Served(few, found, among)
        assert losers_of(nodes, counts, served) == losers(sorted(why.items()))
        assert dict(left_out(of_all, expected)) == {
            one.node.name: one.reason for one in outcomes(of_all, expected) if not one.added
        }
    else:
        assert not isinstance(found, Placement)
        assert strategy == "AUTO" or found.code == expected.code


amounts = st.integers(0, 2**63 - 1)
some = st.one_of(st.integers(0, 3), amounts)


@given(st.lists(st.tuples(some, some, some, some, some, some), min_size=2, max_size=2))
def test_heights_compare_as_the_fractions_do(two: list[tuple[int, ...]]) -> None:
    one = each_takes(cpu=1, bind=True, memory=1, storage=1)
    heights, usages = [], []
    for cpu, memory, storage, *taken in two:
        node = node_up("m1", "n1", cpu=cpu, memory=memory, storage=storage)
        held = NOTHING_HELD._replace(cpu=taken[0], memory=taken[1], storage=taken[2])
        log = History()
        asks = workload_up("ns/asks", 1, request=one, deploy=deployed())
        wants = nodes_of(log.world, M1, asks, deployed()).one
        assert wants is not None
        heights.append(height(node, held, weighed(wants)))
        parts = ((cpu, taken[0], 100), (memory, taken[1], 1), (storage, taken[2], 1))
        plain = mean_load(
            [
                load(used=used, capacity=capacity, request=1, weight=weight)
                for capacity, used, weight in parts
            ]
        )
        assert load_of(node, held, wants) == plain
        usages.append(plain.usage)

    assert (heights[0] < heights[1]) == (usages[0] < usages[1])
    assert (heights[0] == heights[1]) == (usages[0] == usages[1])
    assert all(type(usage) is Fraction for usage in usages)
