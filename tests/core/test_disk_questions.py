"""Disks as they are asked about from outside: what may be left out, what is refused, what is told."""

from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError

from ledger.cli.solve.asking import Refused
from ledger.cli.solve.disk_questions import OPS

BY_NAME = {op.name: op for op in OPS}

ROOM = {"maximum": 1000, "available": 600, "reserved": 100, "scheduled": 200}
NODES = [
    {"name": "n1", "zone": "z1", "disks": [{"id": "a", "maximum": 100, "available": 100}]},
    {"name": "n2", "zone": "z2", "disks": [{"id": "a", "maximum": 100, "available": 90}]},
]
TWO_DISKS = [
    {"id": "a", "node": "A", "maximum": 100, "available": 100},
    {"id": "b", "node": "B", "maximum": 80, "available": 80},
]

ONE_OF_EACH: dict[str, dict[str, Any]] = {
    "disk.fits": {**ROOM, "size": 701, "required": 100},
    "disk.fits_under_pressure": {**ROOM, "size": 100, "required": 340, "disk_pressure_pct": 60},
    "disk.under_pressure": {"maximum": 1000, "available": 99},
    "disk.expansion": {**ROOM, "required": 451},
    "disk.tags_match": {"tags": ["a"], "selector": ["a", "b"]},
    "disk.topology_match": {"zone": "z1", "terms": [{"zone": "z2"}, {"region": "r"}]},
    "disk.eligible": {"disk": {"allow": False}, "volume": {}},
    "disk.anti_affinity": {"disks": ["b", "a"], "replicas_on": ["a"]},
    "disk.used_nodes_zones": {
        "nodes": [{"name": "n1"}],
        "replicas": [{"name": "r", "node": "n1", "evicting": True}],
    },
    "disk.balance_score": {"usable": {"a": 1, "b": 3}, "total": {"a": 4}, "alpha": "1/2"},
    "disk.select": {"usable": {"a": 10, "b": 30}, "size": 5, "alpha": [1, 1]},
    "disk.pick": {"disks": TWO_DISKS, "size": 5},
    "disk.sequence": {"disks": {"a": 9, "b": 5}, "size": 2, "volumes": 3, "unit": "Gi"},
    "disk.schedule": {
        "nodes": NODES,
        "volume": {"size": 10},
        "existing_replicas": [{"name": "old", "node": "n1", "disk": "a"}],
        "schedule": ["r1", "r2"],
    },
    "disk.capacity": {"nodes": NODES},
    "disk.auto_balance": {
        "settings": {"auto_balance": "least-effort"},
        "nodes": NODES,
        "volume": {"size": 10, "number_of_replicas": 2},
        "replicas": [
            {"name": "r1", "node": "n1", "disk": "a"},
            {"name": "r2", "node": "n1", "disk": "a"},
            {"name": "r3", "node": "n1", "disk": "a"},
        ],
    },
    "disk.rebalance": {
        "nodes": NODES,
        "volumes": [{"name": "v", "size": 20}, {"name": "w", "size": 10}],
        "replicas": [
            {"volume": "v", "name": "r1", "node": "n1", "disk": "a"},
            {"volume": "w", "name": "r1", "node": "n1", "disk": "a"},
        ],
        "max_moves": 3,
    },
}


def answer(op: str, **changed: Any) -> dict[str, Any]:
    asked = BY_NAME[op].question.model_validate(ONE_OF_EACH[op] | changed)
    return dict(BY_NAME[op].answer(asked))


def explained(op: str, **changed: Any) -> str:
    return BY_NAME[op].explain(BY_NAME[op].question.model_validate(ONE_OF_EACH[op] | changed))


def test_there_is_a_question_for_every_op() -> None:
    assert list(ONE_OF_EACH) == [op.name for op in OPS]


@pytest.mark.parametrize(
    ("op", "words"),
    [
        ("disk.fits", "scheduling_space: 901 against 900"),
        ("disk.fits_under_pressure", "(340 + 200 + 100) * 100 = 64000, of 1000"),
        ("disk.under_pressure", "(99 - 0) * 100 / 1000 is 9 in whole percent"),
        ("disk.expansion", "1000 - 300 - 451 = 249; may equal the minimum"),
        ("disk.tags_match", "no: missing are b."),
        ("disk.topology_match", "zone z2, region any: no"),
        ("disk.eligible", "not_allowed: disks are unavailable"),
        ("disk.anti_affinity", "Without a replica: b."),
        ("disk.used_nodes_zones", "zone (none)  r   yes"),
        ("disk.balance_score", "(3 - 1) * 2 / 4."),
        ("disk.select", "b     30      25     0      6/7"),
        ("disk.pick", "a on node A for 5 bytes, by balance, alpha 1."),
        ("disk.sequence", "Usable then: a 3, b 5."),
        ("disk.schedule", "node n1 is kept free of them by old"),
        ("disk.auto_balance", "Replicas: z1 3, z2 0; to be moved: 1."),
        ("disk.rebalance", "no move would lower the score"),
        ("disk.capacity", "n1/a  100    0         100"),
    ],
)
def test_people_are_told_the_arithmetic(op: str, words: str) -> None:
    assert words in explained(op)


def test_a_verdict_has_the_numbers_that_were_compared() -> None:
    assert answer("disk.fits") == {
        "ok": False,
        "reason": "scheduling_space",
        "value": 901,
        "bound": 900,
    }
    assert answer("disk.fits", size=700) == {"ok": True, "reason": ""}
    assert answer("disk.fits_under_pressure")["reason"] == "disk_pressure"
    assert answer("disk.expansion")["reason"] == "physical_minimum"
    assert "It fits." in explained("disk.fits", size=700)


def test_what_a_map_has_null_for_is_not_there() -> None:
    assert answer("disk.balance_score", total={"a": None, "b": None})["ratio"] == "undefined"
    usable = {"a": 10, "b": None}
    assert answer("disk.select", usable=usable)["scores"] == {"a": 0}
    assert answer("disk.sequence", disks={"a": 9, "b": None})["picks"] == ["a", "a", "a"]


def test_usable_bytes_are_signed() -> None:
    assert answer("disk.select", usable={"a": -5, "b": 7})["scores"] == {"a": "infeasible", "b": 2}
    assert answer("disk.balance_score", usable={"a": -5, "b": 7})["absolute"] == 12
    assert answer("disk.balance_score", usable={"a": -5, "b": 3})["score"] == "undefined"


def test_a_pick_says_how_it_was_decided() -> None:
    assert answer("disk.pick") == {
        "pick": "a",
        "node": "A",
        "rule": "balance",
        "overcommitted": False,
        "usable": 100,
        "counted_twice": 0,
        "node_scores": {"A": Fraction(6, 35), "B": Fraction(2, 7)},
        "disk_scores": {"a": 0},
        "decided_by": {"node": "score", "disk": "only"},
    }
    assert answer("disk.pick", disks=TWO_DISKS[:1])["decided_by"] == {"node": None, "disk": None}
    assert answer("disk.pick", size=101)["rule"] == "most_usable"
    assert "Overcommitted: 100 usable is less than 101." in explained("disk.pick", size=101)


def test_net_accounting_counts_written_bytes_once() -> None:
    written = {
        "id": "a",
        "node": "A",
        "maximum": 40,
        "available": 24,
        "scheduled": 16,
        "written": 16,
    }
    other = {"id": "b", "node": "B", "maximum": 20, "available": 20}

    plain = answer("disk.pick", disks=[written, other])
    net = answer("disk.pick", disks=[written, other], accounting="net")

    assert (plain["pick"], plain["counted_twice"]) == ("b", 0)
    assert (net["pick"], net["usable"], net["counted_twice"]) == ("a", 24, 16)
    told = explained("disk.pick", disks=[written, other], accounting="net")
    assert "Counting written bytes once: 24." in told


def test_no_disk_is_an_answer_with_a_code() -> None:
    with pytest.raises(Refused) as refused:
        answer("disk.pick", disks=[])
    assert refused.value.code == "no_disk"
    with pytest.raises(Refused, match="no node with room has a score"):
        answer("disk.pick", size=101, scope="candidates")
    with pytest.raises(Refused, match="no disk for 2 Gi"):
        answer("disk.sequence", disks={})


def test_nothing_can_be_picked_from_nothing() -> None:
    nothing = answer("disk.select", usable={})

    assert nothing == {"scores": {}, "pick": None, "decided_by": None}
    assert "Nothing can be picked." in explained("disk.select", usable={})


def test_a_member_can_be_left_out_of_the_picking() -> None:
    assert answer("disk.select", restrict_to=["a"])["pick"] == "a"
    assert answer("disk.select", restrict_to=[])["pick"] is None
    with pytest.raises(ValidationError, match="of which usable says nothing"):
        answer("disk.select", restrict_to=["c"])


def test_a_step_names_the_rungs_and_who_was_in_the_way() -> None:
    first, second = answer("disk.schedule")["steps"]

    assert (first["pick"], first["node"], first["rung"]) == ("a", "n2", "unused_zone")
    assert second["reasons"] == []
    assert second["code"] == "anti_affinity"
    assert second["blocked"][0] == {
        "rung": "unused_zone",
        "replicas": ["old", "r1"],
        "kept": [
            {"node": "n1", "disk": "", "by": ["old"]},
            {"node": "n2", "disk": "", "by": ["r1"]},
        ],
    }
    assert answer("disk.schedule", schedule=[])["steps"] == []
    assert explained("disk.schedule", schedule=[]) == "Nothing was to be scheduled."


@pytest.mark.parametrize("mine", [None, "", "ignored"])
def test_a_volume_follows_the_fleet_unless_it_says_otherwise(mine: object) -> None:
    soft = {"node_soft": True, "zone_soft": True}
    follows = {"size": 10, "node_soft": mine, "zone_soft": mine, "auto_balance": mine}
    insists = {"size": 10, "node_soft": False}

    followed = answer("disk.schedule", settings=soft, volume=follows)["steps"]
    insisted = answer("disk.schedule", settings=soft, volume=insists)["steps"]

    assert [step["placed"] for step in followed] == [True, True]
    assert [step["placed"] for step in insisted] == [True, False]


def test_alpha_is_that_of_the_question_then_of_the_volume_then_of_the_fleet() -> None:
    # By bytes n1 has more room, by ratio n2.
    disks = [
        {"id": "x", "maximum": 4000, "available": 1500},
        {"id": "x", "maximum": 1000, "available": 900},
    ]
    fresh = {
        "nodes": [{"name": f"n{one + 1}", "disks": [disks[one]]} for one in range(2)],
        "existing_replicas": [],
        "schedule": ["r1"],
    }

    def node(**where: Any) -> str:
        step = answer("disk.schedule", **fresh, **where)["steps"][0]
        return str(step["node"])

    assert node() == "n1"
    assert node(settings={"alpha": "0"}) == "n2"
    assert node(settings={"alpha": "0"}, volume={"size": 10, "alpha": "1"}) == "n1"
    assert node(settings={"alpha": "1"}, volume={"size": 10, "alpha": "1"}, alpha="0") == "n2"


def test_a_volume_can_be_bound_to_a_node_or_drawn_to_one() -> None:
    fresh = {"existing_replicas": [], "schedule": ["r1"]}
    bound = {"size": 10, "hard_node_affinity": "n2"}
    drawn = {"size": 10, "data_locality": "best-effort", "attached_node": "n2"}

    for volume in (bound, drawn):
        [step] = answer("disk.schedule", **fresh, volume=volume)["steps"]
        assert step["node"] == "n2"
    [step] = answer("disk.schedule", **fresh, volume={"size": 10, "attached_node": "n2"})["steps"]
    assert step["node"] == "n1"


def test_auto_balance_adds_first_and_takes_away_only_what_is_not_wanted_again() -> None:
    wants = answer("disk.auto_balance")

    assert (wants["step"], wants["count"], wants["groups"]) == ("zone", 1, {"z1": 3, "z2": 0})
    assert wants["remove"] is None
    assert {one["replica"]: one["wanted_again"] for one in wants["considered"]} == dict.fromkeys(
        ("r1", "r2", "r3"), True
    )
    replicas = [
        {"name": "r1", "node": "n1", "disk": "a"},
        {"name": "r2", "node": "n1", "disk": "a"},
        {"name": "r3", "node": "n2", "disk": "a"},
    ]
    done = answer("disk.auto_balance", replicas=replicas)
    assert (done["step"], done["remove"]) == ("balanced", "r2")
    assert "To be taken away: r2." in explained("disk.auto_balance", replicas=replicas)


def test_auto_balance_relieves_a_disk_under_pressure() -> None:
    disks = [
        {"id": "a", "maximum": 100, "available": 5},
        {"id": "b", "maximum": 100, "available": 90},
    ]
    question = {
        "settings": {"auto_balance": "best-effort"},
        "nodes": [{"name": "n1", "disks": disks}],
        "volume": {"size": 10, "number_of_replicas": 1},
        "replicas": [{"name": "r1", "node": "n1", "disk": "a"}],
    }

    moved = answer("disk.auto_balance", **question)

    assert {key: moved[key] for key in ("step", "replica", "node", "from", "to")} == {
        "step": "disk_pressure",
        "replica": "r1",
        "node": "n1",
        "from": "a",
        "to": "b",
    }
    assert "r1 goes from a to b on node n1." in explained("disk.auto_balance", **question)


def test_a_plan_has_the_score_before_and_after_every_move() -> None:
    nodes = [
        {"name": "n1", "disks": [{"id": "a", "maximum": 100, "available": 100}]},
        {"name": "n2", "disks": [{"id": "a", "maximum": 100, "available": 100}]},
    ]

    found = answer("disk.rebalance", nodes=nodes)

    assert found == {
        "measure": "balance",
        "score_before": Fraction(6, 17),
        "score_after": Fraction(2, 17),
        "moves": [
            {
                "volume": "w",
                "replica": "r1",
                "from_node": "n1",
                "from_disk": "a",
                "to_node": "n2",
                "to_disk": "a",
                "bytes": 10,
                "score": Fraction(2, 17),
            }
        ],
        "bytes": 10,
        "ended": "no_better_move",
    }
    assert "w/r1     n1/a  n2/a  10     2/17" in explained("disk.rebalance", nodes=nodes)


def test_volumes_of_one_name_are_refused() -> None:
    with pytest.raises(ValidationError, match="the same name twice"):
        answer("disk.rebalance", volumes=[{"name": "v", "size": 1}, {"name": "v", "size": 2}])


def test_a_driver_reports_per_node_and_zone() -> None:
    assert answer("disk.capacity") == {
        "nodes": {
            "n1": {"largest": 100, "available": 100},
            "n2": {"largest": 100, "available": 100},
        },
        "zones": {
            "z1": {"largest": 100, "available": 100},
            "z2": {"largest": 100, "available": 100},
        },
    }


@pytest.mark.parametrize("volumes", [500_001, 10**12])
def test_a_sequence_that_would_take_hours_is_refused_at_the_door(volumes: int) -> None:
    with pytest.raises(ValidationError, match="volumes times disks"):
        answer("disk.sequence", volumes=volumes)
    with pytest.raises(ValidationError, match="volumes times disks"):
        answer("disk.sequence", disks={}, volumes=10**7)


@pytest.mark.parametrize(
    ("op", "wrong"),
    [
        ("disk.fits", {"size": -1}),
        ("disk.fits", {"size": True}),
        ("disk.fits", {"size": "1"}),
        ("disk.fits", {"maximum": None}),
        ("disk.select", {"size": 1.0}),
        ("disk.select", {"total": {"a": -1}}),
        ("disk.select", {"scope": "strict"}),
        ("disk.select", {"alpha": "one"}),
        ("disk.pick", {"disks": [{"id": "a", "node": "A", "maximum": 1, "available": -1}]}),
        ("disk.pick", {"accounting": "gross"}),
        ("disk.sequence", {"policy": "newest"}),
        ("disk.sequence", {"disks": {"a": -1}}),
        ("disk.schedule", {"schedule": None}),
        ("disk.schedule", {"volume": {"size": 1, "node_soft": "yes"}}),
        ("disk.schedule", {"settings": {"auto_balance": "always"}}),
        ("disk.rebalance", {"max_moves": -1}),
        ("disk.rebalance", {"measure": "feeling"}),
    ],
)
def test_what_does_not_belong_there_is_refused(op: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        answer(op, **wrong)
