"""How much is available on a cluster: what its nodes hold, less what was promised of it."""

from collections.abc import Sequence

import pytest

from ledger.decisions.room import available, wanted
from ledger.errors import InvalidRequest
from ledger.facts.cluster import NodeUpserted
from ledger.facts.event import Fact
from ledger.facts.workload import DeploySpec, Request
from ledger.units import ClusterName
from tests.histories import (
    History,
    cluster_gone,
    cluster_up,
    divided,
    each_takes,
    node_gone,
    node_reclaimed,
    node_up,
    workload_gone,
    workload_up,
)

INFINITE = 2**63 - 1


def room(history: History, request: Request, deploy: DeploySpec | None = None) -> int:
    workload = workload_up("ns/asks", 1, request=request, deploy=deploy)
    one = wanted(history.world, workload)
    return available(history.world, [ClusterName("m1")], workload, one)[ClusterName("m1")]


def with_nodes(*nodes: NodeUpserted) -> History:
    history = History()
    history.add_all(cluster_up("m1"), *nodes)
    return history


@pytest.mark.parametrize(
    ("node", "request_", "fits"),
    [
        (node_up("m1", "n", memory=10), each_takes(memory=3), 3),
        (node_up("m1", "n", memory=10), each_takes(), INFINITE),
        (node_up("m1", "n", memory=10, pods=2), each_takes(memory=3), 2),
        (node_up("m1", "n", storage=10), each_takes(storage=4), 2),
        (node_up("m1", "n", cpu=3900), each_takes(cpu=1000, bind=True), 3),
        (node_up("m1", "n", cpu=3900), each_takes(cpu=3000), INFINITE),
        (node_up("m1", "n", cpu=3900), each_takes(cpu=3500), 0),
        (node_up("m1", "n", cores={"0": 100, "1": 50}), each_takes(cpu=500, bind=True), 3),
        (node_up("m1", "n", cores={"0": 100, "1": 100}), each_takes(cpu=1005, bind=True), 0),
        (
            node_up("m1", "n", volumes={"/a": 10}, storage=99),
            each_takes(volumes=["AUTO:/d:rw:4"]),
            2,
        ),
        (
            node_up("m1", "n", volumes={"/a": 10}, storage=5),
            each_takes(volumes=["AUTO:/d:rw:4"]),
            1,
        ),
        (node_up("m1", "n", volumes={"/a": 9}), each_takes(volumes=["/data:/d:rw"]), INFINITE),
        (node_up("m1", "n", memory=10, schedulable=False), each_takes(memory=1), 0),
        (node_up("m1", "n", memory=10, ready=False), each_takes(memory=1), 0),
    ],
)
def test_a_node_holds_what_its_scarcest_resource_allows(
    node: NodeUpserted, request_: Request, fits: int
) -> None:
    assert room(with_nodes(node), request_) == fits


def test_a_cluster_holds_what_its_nodes_hold_each_by_itself() -> None:
    history = with_nodes(*(node_up("m1", f"n{place}", memory=5) for place in range(4)))

    assert room(history, each_takes(memory=3)) == 4


@pytest.mark.parametrize(
    "facts",
    [[], [cluster_up("m1")], [node_up("m1", "n", memory=5)], [cluster_up("m1", ready=False)]],
)
def test_without_a_node_in_a_ready_cluster_there_is_no_room(facts: Sequence[Fact]) -> None:
    history = History()
    history.add_all(*facts)

    assert room(history, each_takes()) == 0


def test_only_nodes_that_the_selector_matches_count() -> None:
    history = with_nodes(
        node_up("m1", "n1", memory=5, labels={"disk": "ssd", "host": "n1"}),
        node_up("m1", "n2", memory=9, labels={"host": "n2"}),
    )
    deploy = DeploySpec("AUTO", 0, 0, None, -1, (("disk", "ssd"),))

    assert room(history, each_takes(memory=1), deploy) == 5


def test_a_node_about_to_be_taken_away_stays_out_until_another_takes_its_name() -> None:
    history = with_nodes(node_up("m1", "n", memory=5))

    history.add(node_reclaimed("m1", "n"))
    taken = room(history, each_takes(memory=1))
    history.add(node_up("m1", "n", memory=6))
    still = room(history, each_takes(memory=1))
    history.add(node_up("m1", "n", memory=7, uid="another"))
    another = room(history, each_takes(memory=1))

    assert (taken, still, another) == (0, 0, 7)
    assert history.add(node_reclaimed("m1", "nobody")).effect == "no_effect"


def test_what_divisions_promised_is_taken_off_the_sum() -> None:
    history = with_nodes(node_up("m1", "n1", memory=5), node_up("m1", "n2", memory=5))
    history.add(workload_up("ns/a", 2, divided(), request=each_takes(memory=3)))

    # 4 of 10 bytes are left for anybody, wherever they lie.
    assert room(history, each_takes(memory=2)) == 2
    assert room(history, each_takes(memory=3)) == 1


def test_promises_follow_the_request_and_end_with_the_workload() -> None:
    history = with_nodes(node_up("m1", "n", memory=10, cpu=8000, pods=9))
    ask = each_takes(memory=1)
    history.add(workload_up("ns/a", 2, divided(), request=each_takes(memory=3)))

    seen = [room(history, ask)]
    for fact in (
        workload_up("ns/a", 2, divided(), request=each_takes(memory=4)),
        workload_up("ns/a", 2, request=each_takes(memory=4)),
        workload_up("ns/a", 1, divided(), request=each_takes(memory=4)),
        workload_gone("ns/a"),
    ):
        history.add(fact)
        seen.append(room(history, ask))

    assert seen == [4, 2, 9, 6, 9]
    assert history.world.rooms.of(ClusterName("m1")).claim.pods == 0


def test_only_bound_cores_are_promised() -> None:
    history = with_nodes(node_up("m1", "n", cpu=4000))
    bound = each_takes(cpu=1000, bind=True)
    history.add(workload_up("ns/a", 3, divided(), request=each_takes(cpu=1000)))
    shared = room(history, bound)
    history.add(workload_up("ns/b", 3, divided(), request=bound))

    assert (shared, room(history, bound)) == (4, 1)


def test_volumes_that_were_promised_take_of_devices_and_storage() -> None:
    history = with_nodes(node_up("m1", "n", volumes={"/a": 20}, storage=30))
    history.add(workload_up("ns/a", 2, divided(), request=each_takes(volumes=["AUTO:/d:rw:6"])))
    history.add(workload_up("ns/b", 1, divided(), request=each_takes(volumes=["no volume"])))

    assert room(history, each_takes(volumes=["AUTO:/d:rw:4"])) == 2
    assert room(history, each_takes(storage=6)) == 3


def test_nothing_is_left_behind_by_what_goes() -> None:
    history = with_nodes(node_up("m1", "n1", memory=5), node_up("m1", "n2", memory=5))
    history.add(node_reclaimed("m1", "n1"))

    history.add(node_gone("m1", "n1"))
    one = room(history, each_takes(memory=1))
    history.add(cluster_gone("m1"))

    assert one == 5
    assert not history.world.rooms.by_cluster
    assert not history.world.rooms.reclaiming


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (each_takes(bind=True), "invalid_cpu"),
        (each_takes(volumes=["AUTO"]), "invalid_volume"),
        (each_takes(volumes=["AUTO:/d:rw:1", "AUTO:/d:rw:1"]), "invalid_volume"),
    ],
)
def test_a_request_that_means_nothing_is_refused_by_its_code(request_: Request, code: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        room(with_nodes(), request_)

    assert refused.value.code == code
