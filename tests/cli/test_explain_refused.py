"""``ledger explain`` around a refusal: what is wished since, which one says what is short, and what came back."""

import json
from collections.abc import Mapping

from tests.cli.test_explain import asked, line, settle
from tests.cli.test_explain_place import disk, node
from tests.cli.test_explain_the_present import explained
from tests.events_for_tests import cluster_line, policy_line

GI = 2**30


def web(number: int, replicas: int, *, cpu: str = "500m", weights: Mapping[str, int]) -> bytes:
    """A workload over clusters, and on the nodes of each."""
    told = json.loads(
        line(
            "workload.workload.upserted",
            "shop/web",
            namespace="shop",
            name="web",
            uid="uid-web",
            kind="Deployment",
            replicas=replicas,
            request={"cpu": cpu, "memory": GI},
            division={"strategy": "static", "weights": dict(weights)},
            deploy={"strategy": "AUTO"},
        )
    )
    return json.dumps(told | {"id": f"web-{number}"}).encode()


def again(told: bytes, of: str, **data: object) -> bytes:
    """The same said once more, or otherwise."""
    event = json.loads(told)
    event["data"] |= data
    return json.dumps(event | {"id": f"{event['id']}-{of}"}).encode()


def gone(name: str) -> bytes:
    return line("cluster.node.removed", f"c1/{name}", cluster="c1", name=name)


BOTH = {"c1": 1, "c2": 1}
NONE_READY = [
    cluster_line(1),
    cluster_line(2),
    web(1, 4, weights=BOTH),
    again(cluster_line(1), "down", ready=False),
    again(cluster_line(2), "down", ready=False),
]
"""The division is refused at position 4."""


def refused(told: dict[str, object]) -> list[str]:
    """What is told of the refusals that stand."""
    sections = told["sections"]
    assert isinstance(sections, dict)
    pending: list[str] = sections["pending"]
    return pending


def test_a_wish_that_came_after_its_refusal_is_told_with_the_refused_one(database_url: str) -> None:
    settle(database_url, [*NONE_READY, web(2, 6, weights=BOTH)])

    by_subject = explained(database_url, "shop/web", "--kind", "workload")
    number = next(
        one["record"]["number"]
        for one in by_subject["pending"]
        if one["record"]["subject"] == "shop/web"
    )
    by_number = explained(database_url, str(number))

    since = "wished since, by event 5: replicas 6 in place of 4"
    assert since in refused(by_subject)
    (division,) = [one for one in by_subject["pending"] if one["record"]["number"] == number]
    assert (division["wish"]["position"], division["newer_wish"]["position"]) == (2, 5)
    assert by_number["sections"]["asked"][1:] == ["told by event 2: replicas 4", since]


def test_a_wish_that_says_the_same_again_is_no_newer_one(database_url: str) -> None:
    settle(database_url, [*NONE_READY, web(2, 4, weights=BOTH)])

    told = explained(database_url, "shop/web")

    assert not [one for one in refused(told) if one.startswith("wished since")]
    assert [one["newer_wish"] for one in told["pending"]] == [None] * len(told["pending"])


def test_a_wish_of_which_only_the_revision_was_raised_is_no_newer_one(database_url: str) -> None:
    first, second = (again(web(1, 4, weights=BOTH), str(at), revision=at) for at in (1, 2))
    settle(database_url, [*NONE_READY[:2], first, *NONE_READY[3:], second])

    told = explained(database_url, "shop/web")
    records = [one["record"] for one in told["pending"]]
    (number,) = [one["number"] for one in records if one["subject"] == "shop/web"]
    by_number = explained(database_url, str(number))

    assert [one["newer_wish"] for one in told["pending"]] == [None] * len(records)
    assert not [one for one in refused(told) if one.startswith("wished since")]
    assert by_number["sections"]["asked"][1:] == ["told by event 2: replicas 4"]


def test_what_was_wished_later_is_not_told_of_an_earlier_position(database_url: str) -> None:
    settle(database_url, [*NONE_READY, web(2, 6, weights=BOTH)])

    told = explained(database_url, "shop/web", "--at", "4")

    assert not [one for one in refused(told) if one.startswith("wished since")]


def test_what_became_of_a_refusal_later_is_not_told_of_an_earlier_position(
    database_url: str,
) -> None:
    settle(database_url, [*NONE_READY, again(cluster_line(2), "up")])
    (number,) = [
        one["record"]["number"]
        for one in explained(database_url, "shop/web", "--at", "4")["pending"]
        if one["record"]["subject"] == "shop/web"
    ]

    then = explained(database_url, str(number), "--at", "4")
    now = explained(database_url, str(number))

    assert then["ended"]["open"]
    assert then["sections"]["then"] == ["it still stands"]
    assert now["sections"]["now"][0].startswith("it ended with decision #")
    assert now["sections"]["now"][0].endswith(" at position 5 (keep)")


ONLY = {"c1": 1}
ONE_NODE = [
    cluster_line(1),
    node("c1", "n1", memory="4Gi"),
    node("c1", "n2", memory="4Gi"),
    web(1, 6, weights=ONLY),
    gone("n2"),
]
"""Two of six instances are lost at position 4, and refused by #3."""


def test_a_refusal_that_came_before_is_told_as_that(database_url: str) -> None:
    settle(database_url, [*ONE_NODE, web(2, 6, cpu="400m", weights=ONLY)])

    after = explained(database_url, "2")
    before = explained(database_url, "shop/web@c1")

    assert after["sections"]["steps"][-1] == (
        "not all of it could be served: the refusal after it, #3, says what is short"
    )
    assert after["short"]["number"] == 3
    assert before["number"] > 3
    assert before["sections"]["steps"][-1] == (
        "not all of it could be served: #3 had refused that before, at position 4, and still stood"
    )
    assert before["short"]["number"] == 3


def test_a_disk_placement_names_the_refusal_of_the_rest(database_url: str) -> None:
    volume = line("disk.volume.upserted", "orders", name="orders", size="10Gi", replicas=2)
    settle(
        database_url,
        [cluster_line(1), node("c1", "n1", memory="4Gi"), disk("c1", "n1", "d1", "90Gi"), volume],
    )

    told = explained(database_url, "orders")

    assert told["sections"]["steps"][-1] == (
        "not all of it could be served: the refusal after it, #1, says what is short"
    )


def test_how_much_moved_agrees_with_the_moves_beside_it(database_url: str) -> None:
    hold = policy_line(1, hold=True)
    settle(
        database_url,
        [
            *ONE_NODE[:-1],
            hold,
            gone("n1"),
            gone("n2"),
            node("c1", "n1", of="again", memory="1Gi"),
            node("c1", "n2", of="again", memory="3Gi"),
            node("c1", "n3", memory="2Gi"),
            again(hold, "over", hold=False),
        ],
    )

    told = explained(database_url, "shop/web@c1")
    said = asked(database_url, "shop/web@c1").stdout

    assert "instance 4 from n2 to n3: its node was lost" in told["sections"]["steps"]
    assert told["record"]["moved"] == 2
    assert told["sections"]["changed"][-1].endswith(
        "; moved 2 net, node by node: 4 instances on another node than before"
    )
    assert "; moved 2 net\n" in said


def test_what_comes_back_to_its_node_beside_others_that_moved_is_told(database_url: str) -> None:
    settle(database_url, [*ONE_NODE, gone("n1"), node("c1", "n1", of="again", memory="8Gi")])

    told = explained(database_url, "shop/web@c1")

    assert "instance 4 from n2 to n1: its node was lost" in told["sections"]["steps"]
    assert told["record"]["moved"] == 2
    assert told["sections"]["changed"][-1].endswith(
        "; moved 2 net, node by node: 6 came and 6 left"
    )


def test_what_was_lost_and_came_to_the_same_node_again_says_so(database_url: str) -> None:
    settle(database_url, [*ONE_NODE, gone("n1"), node("c1", "n1", of="again", memory="4Gi")])

    told = explained(database_url, "shop/web@c1", "--kind", "deployment")
    said = asked(database_url, "shop/web@c1").stdout

    assert "replaced: what was lost was placed again" in said
    assert told["sections"]["changed"][-1].endswith(
        "; moved 0 net, node by node: 4 came and 4 left"
    )


def test_what_was_lost_earlier_moves_with_the_decision_that_places_it(database_url: str) -> None:
    settle(database_url, [*ONE_NODE, node("c1", "n3", memory="8Gi")])

    first, then = [
        explained(database_url, "shop/web@c1", "--kind", "deployment", "--at", at)
        for at in ("4", "5")
    ]

    assert first["record"]["moved"] == 1
    assert first["sections"]["changed"][-1].endswith("; moved 1")
    assert then["record"]["moved"] == 2
    assert then["sections"]["changed"][-1].endswith("; moved 2")


def test_what_was_lost_for_good_is_told_where_it_was(database_url: str) -> None:
    settle(database_url, [*ONE_NODE, gone("n1"), web(2, 0, weights={"c1": 1})])

    told = explained(database_url, "shop/web@c1")

    assert told["record"]["branch"] == "given_up"
    assert told["sections"]["changed"][1] == "n1         4    0    +0    -4"
    assert told["sections"]["changed"][-1].endswith("; moved 0")


def test_a_replica_that_comes_for_one_that_was_released_before_has_moved(
    database_url: str,
) -> None:
    volume = line("disk.volume.upserted", "orders", name="orders", size="10Gi", replicas=1)
    failed = line("disk.replica.failed", "orders/orders-r1", volume="orders", replica="orders-r1")
    off = disk("c1", "n1", "d1", "1Gi")
    settle(
        database_url,
        [
            cluster_line(1),
            node("c1", "n1", memory="4Gi"),
            disk("c1", "n1", "d1", "90Gi"),
            volume,
            again(off, "full"),
            failed,
            node("c1", "n2", memory="4Gi"),
            disk("c1", "n2", "d1", "90Gi"),
        ],
    )

    told = explained(database_url, "orders")

    assert told["record"]["moved"] == 1
    assert told["sections"]["changed"][0] == "orders-r2: nowhere -> c1/n2/d1"
    assert told["sections"]["changed"][-1].endswith("; moved 1")


def test_a_replica_in_place_of_one_on_the_same_disk_did_not_move_and_came(
    database_url: str,
) -> None:
    volume = line("disk.volume.upserted", "orders", name="orders", size="10Gi", replicas=1)
    failed = line("disk.replica.failed", "orders/orders-r1", volume="orders", replica="orders-r1")
    settle(
        database_url,
        [
            cluster_line(1),
            node("c1", "n1", memory="4Gi"),
            disk("c1", "n1", "d1", "90Gi"),
            volume,
            failed,
        ],
    )

    told = explained(database_url, "orders")

    assert told["record"]["moved"] == 0
    assert told["sections"]["changed"] == [
        "orders-r1: c1/n1/d1 -> nowhere",
        "orders-r2: nowhere -> c1/n1/d1",
        "against #0 (placed) at position 3; moved 0 net, disk by disk: 1 replica placed, 1 released",
    ]


def test_a_division_that_came_back_tells_what_came_back(database_url: str) -> None:
    settle(
        database_url,
        [*NONE_READY, again(cluster_line(2), "up"), again(cluster_line(1), "up")],
    )

    back = explained(database_url, "shop/web", "--at", "5")
    both = explained(database_url, "shop/web")
    said = asked(database_url, str(back["number"])).stdout

    assert back["record"]["branch"] == "keep"
    refusal = back["ended_refusal"]["number"]
    assert "\nkeep: the last result fits again, nothing moves; moved 0\n" in said
    assert back["sections"]["caused_by"][:3] == [
        "the clusters it may go to came or went.",
        f"c2 came back; #{refusal} had said of it: is not ready (not_ready)",
        (
            f"it had been refused by #{refusal} at position 4: no cluster it may go to is there and"
            " ready (no_candidate_cluster); that is over with this"
        ),
    ]
    assert both["sections"]["caused_by"][1] == (
        f"c1 came; #{back['number']} had said of it: is not ready (not_ready)"
    )
    assert both["ended_refusal"] is None


def test_a_division_that_a_cluster_left_names_it(database_url: str) -> None:
    settle(database_url, NONE_READY[:4])

    told = explained(database_url, "shop/web")["sections"]

    assert told["caused_by"][1] == "c1 went"


def test_what_is_short_is_spelled_in_units(database_url: str) -> None:
    settle(database_url, ONE_NODE)

    told = explained(database_url, "3")["sections"]["steps"]

    assert "short by 2Gi (lost memory)" in told
    assert "numbers: lost found 1, lost short memory 2Gi, lost wanted 3" in told


def by_room(number: int, replicas: int) -> bytes:
    """A workload that is divided by what is available."""
    told = json.loads(web(number, replicas, weights={}))
    told["data"]["division"] = {"strategy": "dynamic"}
    return json.dumps(told).encode()


def test_who_was_not_weighed_did_not_lose_to_a_stronger_claim(database_url: str) -> None:
    begun = [cluster_line(1), cluster_line(2), node("c1", "n1", memory="4Gi"), by_room(1, 2)]
    settle(database_url, [*begun, node("c2", "n1", memory="4Gi"), cluster_line(3), by_room(2, 1)])

    kept = explained(database_url, "shop/web", "--at", "5")
    fewer = explained(database_url, "shop/web")

    assert (kept["record"]["branch"], fewer["record"]["branch"]) == ("keep", "scale_down")
    assert kept["sections"]["losers"] == [
        f"{cluster}: got none: it had none, and what is wanted adds up without it (kept)"
        for cluster in ("c2", "c3")
    ]
    assert fewer["sections"]["losers"] == [
        f"{cluster}: got none: it had none, and fewer are divided by what is held (no_weight)"
        for cluster in ("c2", "c3")
    ]


def deployed(name: str, replicas: int, deploy: Mapping[str, object], **request: object) -> bytes:
    """A workload on the nodes of one cluster."""
    return line(
        "workload.workload.upserted",
        f"shop/{name}",
        namespace="shop",
        name=name,
        uid=f"uid-{name}",
        kind="Deployment",
        replicas=replicas,
        request=request,
        cluster="c1",
        deploy={"strategy": "AUTO", **deploy},
    )


def said_of(told: dict[str, object], section: str) -> list[str]:
    sections = told["sections"]
    assert isinstance(sections, dict)
    lines: list[str] = sections[section]
    return lines


OTHER_NODES = (
    "It waits for other nodes of c1, or for another wish: more room on those there are is not"
    " enough."
)


def test_where_no_room_helps_none_is_promised_to(database_url: str) -> None:
    limited = deployed("web", 3, {"nodes_limit": 1}, memory=1)
    odd = deployed("odd", 1, {}, memory=1, cpu="333m", cpu_bind=True)
    settle(database_url, [cluster_line(1), node("c1", "n1"), node("c1", "n2"), limited, odd])

    by_limit, by_pieces = (explained(database_url, number, "--full") for number in ("0", "1"))

    assert said_of(by_limit, "steps") == [
        "the limit on a node lets fewer be on the nodes there are (insufficient_resource).",
        "numbers: growth found 2, growth short limit 1, growth wanted 3",
        "short by 1 (growth limit)",
        "short by 1 (growth)",
        OTHER_NODES,
    ]
    assert said_of(by_limit, "losers") == [
        "n1: takes no more by the limit (at_limit)",
        "n2: takes no more by the limit (at_limit)",
    ]
    assert said_of(by_pieces, "steps")[0] == (
        "what it asks for of cpu is whole pieces of a core on no node (insufficient_resource)."
    )
    assert said_of(by_pieces, "steps")[-1] == OTHER_NODES
    assert said_of(by_pieces, "losers")[0] == (
        "n1: has cores in pieces of which what is wanted is no whole number (not_whole_pieces)"
    )


def test_where_room_helps_it_is_told_on_which_nodes(database_url: str) -> None:
    mixed = deployed("mix", 1, {}, memory=11)
    nodes = [node("c1", "n1", memory=1000, pods=0), node("c1", "n2", memory=1)]
    settle(database_url, [cluster_line(1), *nodes, mixed])

    told = explained(database_url, "0", "--full")

    assert said_of(told, "steps")[0] == "the nodes have too little room (insufficient_resource)."
    assert said_of(told, "steps")[-1] == "It waits for nodes of c1, or for room on them."
    assert said_of(told, "losers") == [
        "n1: has too few places for pods for what is wanted (pods)",
        "n2: has too little memory for what is wanted (memory)",
    ]


def test_nodes_that_take_no_new_work_are_told_to_be_of_no_help(database_url: str) -> None:
    away = deployed("away", 1, {"node_selector": {"k": "v"}}, memory=1)
    settle(database_url, [cluster_line(1), node("c1", "n1"), away])

    assert said_of(explained(database_url, "0"), "steps")[-1] == (
        "It waits for nodes of c1 that take new work for it."
    )


def test_caps_that_are_too_small_are_no_room(database_url: str) -> None:
    capped = again(web(1, 6, weights=BOTH), "capped", deploy=None)
    event = json.loads(capped)
    event["data"]["division"]["caps"] = {"c1": 3, "c2": 3}
    settle(database_url, [cluster_line(1), json.dumps(event).encode()])

    told = explained(database_url, "0")

    assert said_of(told, "steps")[0] == (
        "the caps of the clusters it may go to let fewer be there (insufficient_capacity)."
    )
    assert said_of(told, "steps")[-1] == "It waits for a cluster that it may go to."
