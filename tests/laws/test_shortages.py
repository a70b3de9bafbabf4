"""Why nodes could not take what was wanted of them, counted up node by node and amount by amount.

Also in the middle of a turn, where some of it is placed already.
"""

from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.core.placement.answer import Shortage
from ledger.core.placement.place import place
from ledger.core.placement.question import Request, Strategy
from ledger.decisions.nodes import Nodes, nodes_of
from ledger.decisions.shortages import Sought, lacking
from ledger.facts.deployment import Instance, Terms
from ledger.facts.reason import LOSERS_NAMED, losers
from ledger.facts.workload import Request as Asks
from ledger.units import Bytes, ClusterName, NodeName, Subject
from tests.histories import History, cluster_up, deployed, each_takes, node_up, workload_up

M1 = ClusterName("m1")
CLASS = "node.kubernetes.io/capacity"
WITHOUT_END = 10**9


class Drawn(NamedTuple):
    memory: int
    storage: int
    pods: int | None
    cores: int
    share_base: int
    kind: str
    schedulable: bool
    others: int


ASKS = (
    each_takes(memory=2),
    each_takes(memory=3, storage=2),
    each_takes(cpu=2000, memory=1),
    each_takes(cpu=1000, bind=True, memory=1),
    each_takes(cpu=333, bind=True),
)

drawn_nodes = st.lists(
    st.builds(
        Drawn,
        memory=st.sampled_from([0, 1, 4, 9, 30]),
        storage=st.sampled_from([0, 3, 20]),
        pods=st.sampled_from([None, None, 0, 2, 5]),
        cores=st.integers(0, 3),
        share_base=st.sampled_from([100, 100, 1000]),
        kind=st.sampled_from(["on-demand", "spot"]),
        schedulable=st.sampled_from([True, True, True, False]),
        others=st.sampled_from([0, 0, 1, 2]),
    ),
    min_size=1,
    max_size=20,
)
held_places = st.lists(st.integers(0, 19), max_size=8)


def in_the_middle(
    drawn: list[Drawn], request: Asks, held: list[int]
) -> tuple[Nodes, Counter[NodeName], Counter[NodeName]]:
    """The nodes of a turn that placed some already, how many of its own, and how many others' are there."""
    log = History()
    log.add(cluster_up("m1"))
    others = Counter[NodeName]()
    for at, one in enumerate(drawn):
        name = f"n{at}"
        up = node_up(
            "m1",
            name,
            memory=one.memory,
            storage=one.storage,
            pods=one.pods,
            cpu=1000 * one.cores,
            labels={CLASS: one.kind, "name": name},
        )
        up = replace(up, share_base=one.share_base)
        log.add(up)
        if one.others:
            takes, deploy = each_takes(memory=1), deployed(selector={"name": name})
            log.add(
                workload_up(f"o/{name}", one.others, cluster="m1", request=takes, deploy=deploy)
            )
            there = log.world.deployments.of[Subject(f"o/{name}@m1")]
            others[NodeName(name)] = len(there.instances)
        if not one.schedulable:
            log.add(replace(up, schedulable=False))
    deploy = deployed()
    asks = workload_up("ns/asks", 1, cluster="m1", request=request, deploy=deploy)
    nodes = nodes_of(log.world, M1, asks, deploy)
    counts = Counter[NodeName]()
    for number, at in enumerate(held):
        name = NodeName(f"n{at % len(drawn)}")
        if name not in nodes.schedulable:
            counts[name] += 1
        elif nodes.capacity(name):
            (plan,) = nodes.plans(name, 1)
            nodes.take(Instance(number, name, Terms(request, Bytes(request.storage), ()), *plan))
            counts[name] += 1
    return nodes, counts, others


def fits(one: Drawn, request: Asks, own: int, others: int) -> dict[str, int]:
    """How many more have a place by every amount alone."""
    found = {
        "memory": WITHOUT_END,
        "storage": WITHOUT_END,
        "pods": WITHOUT_END if one.pods is None else one.pods - own - others,
        "cpu": WITHOUT_END,
    }
    if request.memory:
        found["memory"] = (one.memory - others - own * request.memory) // request.memory
    if request.storage:
        found["storage"] = (one.storage - own * request.storage) // request.storage
    if request.cpu_bind:
        # So many share a core, and none is on two.
        found["cpu"] = one.cores * (1000 // request.cpu) - own if whole(one, request) else 0
    elif request.cpu > 1000 * one.cores:
        found["cpu"] = 0
    return found


def whole(one: Drawn, request: Asks) -> bool:
    return request.cpu * one.share_base % 1000 == 0


@settings(max_examples=400)
@given(
    drawn_nodes,
    st.sampled_from(ASKS),
    held_places,
    st.sampled_from(["AUTO", "AUTO", "FILL", "EACH", "GLOBAL", "DRAINED"]),
    st.sampled_from(["all", "all", "od", "spot"]),
    st.one_of(st.integers(1, 4), st.integers(1, 40)),
    st.integers(0, 4),
)
def test_what_is_short_and_who_lost_is_as_if_each_node_was_looked_at_by_itself(
    drawn: list[Drawn],
    request: Asks,
    held: list[int],
    strategy: Strategy,
    among: str,
    wanted: int,
    limit: int,
) -> None:
    nodes, counts, others = in_the_middle(drawn, request, held)
    pool = list(nodes.pool(among))
    asked = nodes.as_asked(pool, counts, loaded=True)
    if nodes.schedulable.isdisjoint(pool):
        return
    answer = place(Request(strategy, wanted, asked, limit, "nearest_level"))
    if not isinstance(answer, Shortage) or answer.code == "already_filled":
        return

    found = lacking(nodes, counts, Sought(strategy, wanted, limit, among), most=LOSERS_NAMED)

    why: dict[str, str] = {}
    able: list[dict[str, int]] = []
    owns: list[int] = []
    filled = 0
    for at, one in enumerate(drawn):
        name = NodeName(f"n{at}")
        own = counts[name]
        kind = {"on-demand": "od", "spot": "spot"}[one.kind]
        if among not in {"all", kind}:
            why[name] = "other_class"
        elif not one.schedulable:
            why[name] = "unschedulable"
            filled += strategy == "FILL" and own >= wanted
        else:
            room = fits(one, request, own, others[name])
            able.append(room)
            owns.append(own)
            first = min(sorted(room), key=room.__getitem__)
            least = room[first]
            if request.cpu_bind and not whole(one, request):
                first = "not_whole_pieces"
            if strategy == "AUTO" and 0 < limit < own + least:
                first = "at_limit"
            needs = wanted - (own if strategy == "FILL" else 0)
            if strategy not in {"FILL", "EACH"} or least < needs:
                why[name] = first
    assert found.losers == losers(sorted(why.items()))
    asked_of = [one for at, one in enumerate(drawn) if f"n{at}" in nodes.schedulable & set(pool)]
    assert dict(found.short) == expected_short(
        request,
        strategy,
        wanted,
        limit,
        able,
        owns,
        places=(limit or len(pool)) - filled,
        nowhere_whole=request.cpu_bind and not any(whole(one, request) for one in asked_of),
    )


def expected_short(
    request: Asks,
    strategy: str,
    wanted: int,
    limit: int,
    able: list[dict[str, int]],
    owns: list[int],
    *,
    places: int,
    nowhere_whole: bool,
) -> dict[str, Any]:
    each = {"cpu": request.cpu, "memory": request.memory, "storage": request.storage, "pods": 1}
    found = {}
    for what, amount in each.items():
        if strategy in {"FILL", "EACH"}:
            missing = [
                max(0, wanted - (own if strategy == "FILL" else 0) - max(0, room[what]))
                for room, own in zip(able, owns, strict=True)
            ]
            short = sum(sorted(missing)[: max(0, places)])
        else:
            short = max(0, wanted - sum(max(0, room[what]) for room in able))
        found[what] = short * amount
    if nowhere_whole and request.cpu:
        found["whole_pieces"] = found.pop("cpu") // request.cpu
    if strategy == "AUTO" and limit:
        found["limit"] = max(0, wanted - sum(max(0, limit - own) for own in owns))
    if strategy in {"FILL", "EACH"}:
        found["nodes"] = max(0, places - len(able))
    return {what: short for what, short in found.items() if short}
