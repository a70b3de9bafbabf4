"""A refusal says of each amount by how much the nodes are short of it."""

from typing import Any

import pytest

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
        log.add(node_up("m1", f"n{place}", **has))
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
