"""A refusal says of each amount by how much the nodes are short of it."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.facts.cluster import NodeUpserted
from ledger.facts.reason import LOSERS_NAMED, Losers
from ledger.facts.workload import DeployStrategy
from tests.histories import (
    History,
    cluster_up,
    deployed,
    each_takes,
    node_up,
    only,
    refusal_of,
    workload_up,
)


def up(name: str, *, share_base: int = 100, **has: Any) -> NodeUpserted:
    return replace(node_up("m1", name, **has), share_base=share_base)


def short(
    nodes: list[dict[str, Any]],
    takes: dict[str, Any],
    replicas: int = 3,
    *,
    strategy: DeployStrategy = "AUTO",
    **more: Any,
) -> dict[str, int]:
    """What the nodes are short of for so many, or for so many on each of them."""
    log = History()
    log.add(cluster_up("m1"))
    for place, has in enumerate(nodes):
        log.add(up(f"n{place}", **has))
    deploy = deployed(strategy, count=replicas, **more)
    wanted = replicas if strategy not in {"FILL", "EACH"} else 1
    made = log.add(
        workload_up("s/w", wanted, cluster="m1", deploy=deploy, request=each_takes(**takes))
    )
    told = dict(refusal_of(only(made)).detail)
    before = "growth_short_"
    return {what.removeprefix(before): told[what] for what in told if what.startswith(before)}


@pytest.mark.parametrize(
    ("has", "takes", "missing"),
    [
        ({"memory": 9}, {"memory": 4}, {"memory": 4}),
        ({"memory": 9, "pods": 1}, {"memory": 4}, {"memory": 4, "pods": 2}),
        ({"memory": 99, "storage": 5}, {"memory": 4, "storage": 2}, {"storage": 2}),
        ({"cpu": 2000, "memory": 9}, {"cpu": 3000, "memory": 1}, {"cpu": 9000}),
        ({"cpu": 2000, "memory": 9}, {"cpu": 1000, "bind": True, "memory": 1}, {"cpu": 1000}),
        (
            {"memory": 9, "storage": 99, "volumes": {"d": 5}},
            {"volumes": ["AUTO:/v:rw:2"]},
            {"volumes": 2},
        ),
        (
            {"storage": 2, "volumes": {"d": 5}},
            {"volumes": ["AUTO:/v:rw:2"]},
            {"storage": 4, "volumes": 2},
        ),
        ({"memory": 9}, {"volumes": ["AUTO:/v:rw"]}, {"volumes": 3}),
    ],
)
def test_each_amount_is_looked_at_by_itself(
    has: dict[str, Any], takes: dict[str, Any], missing: dict[str, int]
) -> None:
    assert short([has], takes) == missing


def test_what_only_no_node_has_of_everything_is_not_named() -> None:
    nodes = [{"memory": 9, "pods": 0}, {"memory": 0, "pods": 9}]
    assert short(nodes, {"memory": 1}) == {}


def test_so_many_on_each_node_are_short_on_those_that_miss_the_least() -> None:
    nodes = [{"memory": 2}, {"memory": 1}, {"memory": 5}]
    assert short(nodes, {"memory": 1}, strategy="EACH", nodes_limit=2) == {"memory": 1}
    assert short(nodes, {"memory": 1}, strategy="FILL") == {"memory": 3}
    assert short(nodes, {"memory": 1}, 1, strategy="EACH", nodes_limit=4) == {"nodes": 1}


def test_a_cordoned_node_has_nothing_and_is_no_node() -> None:
    nodes = [{"memory": 9}, {"memory": 9, "schedulable": False}]
    assert short(nodes, {"memory": 4}) == {"memory": 4}
    assert short(nodes, {"memory": 4}, 2, strategy="FILL") == {"nodes": 1}


def test_a_node_that_takes_nothing_new_and_holds_enough_is_no_node_too_few() -> None:
    log = History()
    log.add(cluster_up("m1"))
    log.add(node_up("m1", "n1", memory=2))
    deploy = deployed("FILL", count=2, nodes_limit=1)
    takes = each_takes(memory=1)
    log.add(workload_up("s/w", 1, cluster="m1", deploy=deploy, request=takes))
    log.add_all(
        node_up("m1", "n1", memory=2, schedulable=False),
        node_up("m1", "n2", memory=1),
    )

    more = deployed("FILL", count=2, nodes_limit=2)
    made = log.add(workload_up("s/w", 1, cluster="m1", deploy=more, request=takes))

    assert refusal_of(only(made)).detail == (
        ("growth_found", 1),
        ("growth_short_memory", 1),
        ("growth_wanted", 2),
    )


def test_a_limit_is_short_by_what_may_not_be_on_the_nodes_there_are() -> None:
    nodes = [{"memory": 99}, {"memory": 99}, {"memory": 99, "schedulable": False}]
    assert short(nodes, {"memory": 1}, 5, nodes_limit=2) == {"limit": 1}
    assert short(nodes, {"memory": 50}, 5, nodes_limit=2) == {"limit": 1, "memory": 150}
    assert short(nodes, {"memory": 50}, 3, nodes_limit=2) == {"memory": 50}


def test_cpu_that_is_whole_pieces_nowhere_is_not_short_of_cpu() -> None:
    odd = {"cpu": 333, "bind": True}
    assert short([{"cpu": 4000}, {"cpu": 4000}], odd) == {"whole_pieces": 3}
    assert short([{"cpu": 4000}], odd, 2, strategy="EACH", nodes_limit=1) == {"whole_pieces": 2}
    finer: list[dict[str, Any]] = [{"cpu": 4000}, {"cores": {"0": 400}, "share_base": 1000}]
    assert short(finer, odd) == {"cpu": 666}


def lost(nodes: list[dict[str, Any]], takes: dict[str, Any], replicas: int, limit: int) -> Losers:
    log = History()
    log.add(cluster_up("m1"))
    for place, has in enumerate(nodes):
        log.add(up(f"n{place}", **has))
    deploy = deployed("AUTO", nodes_limit=limit)
    request = each_takes(**takes)
    made = log.add(workload_up("s/w", replicas, cluster="m1", deploy=deploy, request=request))
    return refusal_of(only(made)).losers


def test_each_node_that_was_asked_says_what_it_runs_out_of_first() -> None:
    nodes: list[dict[str, Any]] = [
        {"memory": 9},
        {"memory": 0},
        {"memory": 1},
        {"memory": 9, "pods": 1},
        {"memory": 9, "schedulable": False},
        {"memory": 9, "cpu": 1000},
    ]
    assert lost(nodes, {"memory": 1, "cpu": 2000}, 9, 1).named == (
        ("n0", "at_limit"),
        ("n1", "memory"),
        ("n2", "memory"),
        ("n3", "pods"),
        ("n4", "unschedulable"),
        ("n5", "cpu"),
    )


def test_of_many_nodes_the_first_are_named_and_all_counted() -> None:
    told = lost([{"memory": 1}] * 7 + [{"memory": 9, "pods": 1}] * 20, {"memory": 2}, 50, 0)
    assert told.counts == (("memory", 7), ("pods", 20))
    assert told.named == tuple(
        sorted((f"n{at}", "memory" if at < 7 else "pods") for at in range(27))[:LOSERS_NAMED]
    )
