"""``ledger explain --why-not``: of clusters, nodes and disks what is said is true."""

import json
from typing import Any

from tests.cli.test_explain import asked, line, settle
from tests.cli.test_explain_the_present import cart
from tests.events_for_tests import cluster_line


def why_not(url: str, subject: str, place: str, *more: str) -> tuple[str, str]:
    """The verdict on a place, and the first line of what is said."""
    answer = asked(url, subject, "--why-not", place, *more, "--json")
    assert answer.exit_code == 0, answer.stderr
    told: dict[str, Any] = json.loads(answer.stdout)["why_not"]
    return told["verdict"], told["lines"][0]


def node(cluster: str, name: str, *, of: str = "", memory: object = 100, **more: object) -> bytes:
    """A node as it is told, and told again: another heartbeat has another id."""
    data: dict[str, object] = {"cpu": "4", "memory": memory} | more
    told = json.loads(
        line("cluster.node.upserted", f"{cluster}/{name}", cluster=cluster, name=name, **data)
    )
    return json.dumps(told | {"id": f"{told['id']}-{of}"}).encode()


def disk(cluster: str, at: str, name: str, available: str) -> bytes:
    return line(
        "disk.disk.upserted",
        f"{cluster}/{at}/{name}",
        cluster=cluster,
        node=at,
        disk=name,
        maximum="100Gi",
        available=available,
        zone="a",
    )


WORKLOAD = [
    cluster_line(1),
    cluster_line(2),
    node("c1", "n1"),
    node("c1", "n2", ready=False),
    cart(1, 4),
]
FEWER = [*WORKLOAD, cart(2, 2), node("c1", "n3")]
"""What placed it asked the nodes; the newest decision took some away, and asked none."""


def test_a_node_is_told_of_by_the_newest_deployment_that_asked_nodes(database_url: str) -> None:
    settle(database_url, FEWER)

    for subject in ("shop/cart", "shop/cart@c1"):
        verdict, said = why_not(database_url, subject, "c1/n2")
        assert (verdict, said) == (
            "lost",
            "#1 did not put it there; c1/n2: is not ready (not_ready)",
        )
        assert why_not(database_url, subject, "n2") == (verdict, said)
        assert why_not(database_url, subject, "c1/n1")[0] == "it_is"
    assert why_not(database_url, "shop/cart", "c1/n2", "--at", "4")[0] == "lost"


def test_a_node_that_came_later_was_not_asked_by_the_deployment(database_url: str) -> None:
    settle(database_url, FEWER)

    later = why_not(database_url, "shop/cart", "c1/n3")

    assert later[0] == "not_asked"
    assert later[1].endswith("what is said of it now came after #3 was decided")


def test_what_has_no_deployment_in_a_cluster_says_so_of_its_nodes(database_url: str) -> None:
    settle(database_url, [*WORKLOAD[:2], node("c2", "n9"), *WORKLOAD[2:]])

    by_node = why_not(database_url, "shop/cart", "c2/n9")
    of_part = why_not(database_url, "shop/cart@c1", "c2/n9")
    by_cluster = why_not(database_url, "shop/cart", "c2")

    assert by_node == (
        "not_asked",
        "c2/n9 was not asked: there is no deployment of it on nodes of that cluster",
    )
    assert of_part[1].endswith("only nodes of c1 are asked for this part of the workload")
    assert by_cluster[0] == "lost"
    assert "its weight, or its room, is 0" in by_cluster[1]


def test_a_workload_has_no_place_on_disks(database_url: str) -> None:
    settle(database_url, [*WORKLOAD, disk("c1", "n1", "d1", "90Gi")])

    verdict, said = why_not(database_url, "shop/cart", "c1/n1/d1")

    assert (verdict, said) == (
        "not_asked",
        "c1/n1/d1 was not asked: only replicas of volumes have their places on disks",
    )


VOLUME = [
    *(cluster_line(number) for number in (1, 2)),
    *(node("c1", f"n{number}", memory="4Gi") for number in (1, 2, 3)),
    *(disk("c1", f"n{number}", "d1", f"{90 - number}Gi") for number in (1, 2, 3)),
    disk("c1", "n1", "d2", "50Gi"),
    line("disk.volume.upserted", "orders", name="orders", size="10Gi", replicas=1),
]


def test_a_disk_of_a_node_that_was_outranked_lost_with_it(database_url: str) -> None:
    settle(database_url, [*VOLUME, node("c1", "n3", of="beat", memory="4Gi")])

    by_node = why_not(database_url, "orders", "c1/n3")
    by_disk = why_not(database_url, "orders", "c1/n3/d1")
    other_disk = why_not(database_url, "orders", "c1/n1/d2")

    assert by_node == by_disk
    assert by_node[0] == "lost"
    assert "weighed c1/n3 for orders-r1, and it came 3 of 3" in by_node[1]
    assert other_disk[0] == "lost"
    assert "weighed c1/n1/d2 for orders-r1, and it came 2 of 2" in other_disk[1]
    assert why_not(database_url, "orders", "c1/n1/d1")[0] == "it_is"
    assert why_not(database_url, "orders", "c1")[0] == "it_is"
    assert why_not(database_url, "orders", "c2")[0] == "not_asked"


def test_the_wish_of_a_volume_is_told_as_people_spell_it(database_url: str) -> None:
    wish = json.loads(VOLUME[-1])
    wish["data"] |= {"size": 20 * 2**30, "disk_selector": ["nvme"], "zone_soft": True}
    settle(database_url, [*VOLUME[:-1], json.dumps(wish).encode()])

    said = asked(database_url, "orders").stdout

    assert "orders: for disks for its replicas\n  told by event 9: replicas 1, size 20Gi" in said


def test_a_disk_is_never_told_without_its_node(database_url: str) -> None:
    small = json.loads(disk("c1", "n1", "d3", "1Gi"))
    small["data"]["maximum"] = "1Gi"
    settle(database_url, [*VOLUME[:-1], json.dumps(small).encode(), VOLUME[-1]])

    said = json.loads(asked(database_url, "orders", "--json").stdout)["sections"]
    too_small = why_not(database_url, "orders", "n1/d3")
    there = why_not(database_url, "orders", "c1")
    went = line("disk.volume.removed", "orders", name="orders")
    settle(database_url, [went])
    was = why_not(database_url, "0", "c1")

    assert (
        "orders-r1 not on c1/n1/d2: was weighed, and another was better balanced"
        in (said["losers"])
    )
    assert any(one.startswith("c1/n1/d1 ") for one in said["steps"])
    assert not [one for name in ("steps", "losers") for one in said[name] if one.startswith("d1")]
    assert too_small == (
        "lost",
        (
            "#0 did not put orders-r1 there; c1/n1/d3: would be promised more than may be promised of"
            " it (scheduling_space, 10Gi against 1Gi)"
        ),
    )
    assert there == ("it_is", "it is: #0 has 1 of its replicas on c1/n1/d1")
    assert was == (
        "it_was",
        "it was: #0 put orders-r1 on c1/n1/d1, and nothing of it is in force there now: it is gone",
    )


def volume(number: int, replicas: int) -> bytes:
    told = json.loads(VOLUME[-1])
    told["data"]["replicas"] = replicas
    return json.dumps(told | {"id": f"orders-{number}"}).encode()


def test_a_volume_that_became_smaller_is_answered_by_what_placed_it(database_url: str) -> None:
    settle(database_url, [*VOLUME[:-1], volume(1, 2), volume(2, 1)])

    verdict, said = why_not(database_url, "orders", "c1/n3/d1")

    assert verdict == "lost"
    assert said == "#0 kept 2 of 2 replicas off c1/n3/d1, by reason: outranked 2"


def test_each_replica_that_was_kept_off_a_place_counts_for_its_reason(database_url: str) -> None:
    settle(database_url, [*VOLUME[:-1], volume(1, 3)])

    said = asked(database_url, "orders", "--why-not", "c1/n1/d2", "--json").stdout
    told = json.loads(said)["why_not"]

    assert told["verdict"] == "lost"
    assert told["reasons"] == {"outranked": 1, "anti_affinity": 2}
    counted, first, second = told["lines"]
    assert counted == (
        "#0 kept 3 of 3 replicas off c1/n1/d2, by reason: outranked 1, anti affinity 2"
    )
    assert first.startswith("#0 weighed c1/n1/d2 for orders-r1, and it came 2 of 2")
    assert second.startswith("#0 did not put orders-r2 there; c1/n1: is kept free of them by")


def test_a_node_that_had_gone_was_not_there(database_url: str) -> None:
    gone = line("cluster.node.removed", "c1/n5", cluster="c1", name="n5")
    settle(database_url, [*WORKLOAD[:-1], node("c1", "n5"), gone, WORKLOAD[-1]])

    verdict, said = why_not(database_url, "shop/cart", "c1/n5")

    assert verdict == "not_asked"
    assert said == "c1/n5 was not asked: it was not there any more when #1 was decided"


def test_a_disk_that_came_later_was_not_asked(database_url: str) -> None:
    settle(database_url, [*VOLUME, disk("c1", "n1", "d3", "99Gi")])

    verdict, said = why_not(database_url, "orders", "c1/n1/d3")

    assert verdict == "not_asked"
    assert "came after" in said


def job(number: int, replicas: int) -> bytes:
    """A job's wish."""
    told = json.loads(
        line(
            "workload.workload.upserted",
            "ml/train",
            namespace="ml",
            name="train",
            uid="uid-train",
            kind="Job",
            replicas=replicas,
            request={"cpu": "2", "memory": 1},
            queue="batch",
        )
    )
    return json.dumps(
        told | {"id": f"train-{number}", "time": f"2026-01-05T1{number}:00:00Z"}
    ).encode()


def beat(hour: int, cluster: str, name: str, **more: object) -> bytes:
    told = json.loads(node(cluster, name, of=str(hour), **more))
    return json.dumps(told | {"time": f"2026-01-05T{hour}:00:00Z"}).encode()


JOB = [
    cluster_line(1),
    cluster_line(2),
    line("quota.queue.upserted", "batch", name="batch"),
    node("c1", "n1"),
    node("c1", "n2", schedulable=False),
    node("c2", "n1", schedulable=False),
    job(2, 2),
    beat(13, "c1", "n2", schedulable=False),
    beat(14, "c1", "n4", cpu="8"),
    job(5, 4),
    beat(16, "c1", "n2", schedulable=False),
    beat(17, "c1", "n2", schedulable=False),
]


def test_a_round_says_that_it_names_no_nodes_whatever_they_told_since(database_url: str) -> None:
    settle(database_url, JOB)

    verdict, said = why_not(database_url, "ml/train", "c1/n2")

    assert verdict == "not_asked"
    assert "a round counts the nodes that lack something, and names none of them" in said


def test_tasks_are_told_with_the_decisions_that_put_them_there(database_url: str) -> None:
    settle(database_url, JOB)

    assert why_not(database_url, "ml/train", "c1/n1") == (
        "it_is",
        "it is: 2 of its tasks run on c1/n1, put there by #0",
    )
    assert why_not(database_url, "ml/train", "c1") == (
        "it_is",
        "it is: 4 of its tasks run on c1, put there by #0 and #1",
    )
    then = why_not(database_url, "ml/train", "c1/n1", "--at", "11")
    assert then == why_not(database_url, "ml/train", "c1/n1")
    told = asked(database_url, "ml/train", "--why-not", "c1/n1", "--json")
    assert json.loads(told.stdout)["why_not"]["decision"] == "test/1/0"


def test_a_name_that_several_clusters_have_is_refused_with_all_of_them(database_url: str) -> None:
    wide = json.loads(cart(1, 4))
    wide["data"]["division"]["weights"] = {"c1": 1, "c2": 1}
    both = [node("c1", "n1"), node("c2", "n1"), node("c2", "n2"), json.dumps(wide).encode()]
    settle(database_url, [*WORKLOAD[:2], *both])

    several = asked(database_url, "shop/cart", "--why-not", "n1")
    one = asked(database_url, "shop/cart", "--why-not", "n2")
    part = asked(database_url, "shop/cart@c1", "--why-not", "n1")

    assert several.exit_code == 64
    assert "ambiguous: n1 may be any of these places: c1/n1, c2/n1" in several.stderr
    assert one.exit_code == part.exit_code == 0
    assert "on c1/n1" in part.stdout


ROOMLESS = [
    *(disk("c1", f"n{number}", "d1", "90Gi") for number in (1, 2)),
    disk("c1", "n3", "d1", "35Gi"),
    line("disk.volume.upserted", "orders", name="orders", size="40Gi", replicas=1),
]
"""A disk that passes the filters and has too little room; its node is known by nothing else."""


def test_a_disk_that_passes_the_filters_and_has_too_little_room_lost(database_url: str) -> None:
    settle(database_url, ROOMLESS)

    told = json.loads(asked(database_url, "orders", "--json").stdout)["sections"]

    assert "for orders-r1: 2 of 3 disks that passed the filters had room for it" in told["known"]
    why = "has fewer usable bytes than a replica takes (infeasible, 35Gi against 40Gi)"
    assert f"orders-r1 not on c1/n3/d1: {why}" in told["losers"]
    for place in ("c1/n3", "c1/n3/d1", "n3"):
        assert why_not(database_url, "orders", place) == (
            "lost",
            f"#0 did not put orders-r1 there; c1/n3/d1: {why}",
        )


def test_a_disk_without_room_on_a_node_that_has_another_is_told_of_its_own_room(
    database_url: str,
) -> None:
    settle(database_url, [*ROOMLESS[:-1], disk("c1", "n2", "d2", "35Gi"), ROOMLESS[-1]])

    assert "infeasible, 35Gi against 40Gi" in why_not(database_url, "orders", "c1/n2/d2")[1]
    assert "infeasible, 35Gi" in why_not(database_url, "orders", "c1/n3")[1]


def test_a_node_that_is_known_by_its_disks_is_spoken_of(database_url: str) -> None:
    settle(database_url, [*WORKLOAD, disk("c1", "n7", "d1", "90Gi")])

    verdict, said = why_not(database_url, "shop/cart", "c1/n7")
    before = why_not(database_url, "shop/cart", "c1/n7", "--at", "4")

    assert verdict == "not_asked"
    assert said == "c1/n7 was not asked: what is said of it now came after #1 was decided"
    assert before == ("unknown", "c1/n7 was not asked: no event by then speaks of it")


def test_a_disk_went_with_its_node_or_its_cluster(database_url: str) -> None:
    gone = line("cluster.node.removed", "c1/n2", cluster="c1", name="n2")
    settle(database_url, [*VOLUME[:-1], gone, VOLUME[-1]])

    answer = asked(database_url, "orders", "--why-not", "c1/n2/d1", "--json")
    settle(database_url, [line("cluster.cluster.removed", "c1", name="c1")])
    later = asked(database_url, "orders", "--why-not", "c1/n3/d1", "--json")
    node_later = asked(database_url, "orders", "--why-not", "c1/n2/d1", "--json")

    assert json.loads(answer.stdout)["why_not"]["lines"] == [
        "c1/n2/d1 was not asked: it was not there any more when #0 was decided",
        "c1/n2 was removed by event 9",
    ]
    assert json.loads(later.stdout)["why_not"]["verdict"] == "lost"
    assert json.loads(node_later.stdout)["why_not"]["lines"][1:] == [
        "c1 was removed by event 11",
    ]


def test_a_node_that_may_have_been_weighed_behind_the_first_is_not_said_to_be_unasked(
    database_url: str,
) -> None:
    many = [disk("c1", f"n{number:02}", "d1", f"{90 - number}Gi") for number in range(30)]
    late = disk("c1", "n99", "d1", "1Gi")
    settle(database_url, [*many, VOLUME[-1], late])

    verdict, said = why_not(database_url, "orders", "c1/n29/d1")

    assert verdict == "not_named"
    assert said == (
        "if c1/n29/d1 was weighed for orders-r1 in #0, it came behind the first 17, which are those"
        " that the record names; `--full` has all"
    )
    assert why_not(database_url, "orders", "c1/n16/d1")[0] == "lost"
    assert why_not(database_url, "orders", "c1/n99/d1")[0] == "not_asked"
