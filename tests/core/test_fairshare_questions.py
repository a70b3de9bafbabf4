"""The door to fair shares: defaults, nulls, what is refused, and what people are told."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError

from ledger.cli.solve.fairshare_questions import OPS
from ledger.errors import InvalidRequest

BY_NAME = {op.name.removeprefix("fairshare."): op for op in OPS}


def ask(name: str, asked: dict[str, Any]) -> Any:
    op = BY_NAME[name]
    return op.answer(op.question.model_validate(asked))


def told(name: str, asked: dict[str, Any]) -> str:
    op = BY_NAME[name]
    return op.explain(op.question.model_validate(asked))


def test_a_weight_may_be_anything_and_counts_if_it_is_one() -> None:
    values = [3, "12", "007", None, True, 0, -4, "2.5", Decimal("2.5"), [], "1e3", "4" * 5000]

    weights = [
        ask("namespace_weight", {"events": [{"op": "upsert", "quota": "a", "weight": value}]})
        for value in values
    ]

    assert [answer["weight"] for answer in weights] == [3, 12, 7] + [1] * 9
    assert [bool(answer["invalid"]) for answer in weights] == [False] * 4 + [True] * 8


def test_without_quotas_a_namespace_weighs_one() -> None:
    assert ask("namespace_weight", {}) == {
        "weight": 1,
        "weight_after_each_event": [],
        "invalid": [],
    }
    assert told("namespace_weight", {}) == "no quota: 1"


def test_every_question_about_wishes_has_a_default_namespace() -> None:
    round_ = {"total": {"cpu": 1}, "queues": [{"id": "q"}]}
    round_ |= {"jobs": [{"id": "j", "queue": "q", "tasks": [{"cpu": 1}]}]}
    side = {"allocated": {"cpu": 1}}

    assert ask("allocate", round_)["ns_cpu"] == {"q/default": 1}
    assert ask("compare_namespaces", {"total": {"cpu": 2}, "left": side, "right": side}) == {
        "cmp": 0,
        "left_weighted": Fraction(1, 2),
        "right_weighted": Fraction(1, 2),
        "first": "default",
    }
    assert ask("conformance_vote", {}) == {"evictable": True}
    drf = {"total": {"cpu": 9}, "preemptor": {"job": "p", "req": {"cpu": 1}}}
    drf |= {"job_alloc": {"c": {"cpu": 4}, "p": None}}
    drf |= {"candidates": [{"id": "c1", "job": "c", "req": {"cpu": 1}}]}
    assert ask("drf_vote", drf) == {"victims": ["c1"]}
    entitled = {"queue": "q", "namespaces": [{"requested": 2}]}
    assert ask("entitlement", {"total_cpu_milli": 5, "queues": [entitled]}) == {
        "queues": {"q": {"assigned": 2, "namespaces": {"default": 2}}}
    }


def test_null_is_as_good_as_absent() -> None:
    asked = {
        "total": {"cpu": 2, "gpu": None},
        "nodes": {"n1": {"cpu": 2, "pods": None}, "n2": None},
        "queues": [{"id": "q", "weight": None, "capability": {"cpu": None}}],
        "jobs": [{"id": "j", "queue": "q", "min": None, "tasks": [{"cpu": 1, "gpu": None}]}],
        "deserved": {"q": None},
        "running": None,
    }

    answer = ask("allocate", asked)

    assert answer["order"] == ["j[0]"]
    assert answer["deserved"] == {"q": {"cpu": 1}}


def test_pods_are_slots_of_nodes_and_no_resource() -> None:
    asked = {
        "total": {"cpu": 9, "pods": 9},
        "nodes": {"n1": {"cpu": 9, "pods": 1}},
        "queues": [{"id": "q"}],
        "jobs": [{"id": "j", "queue": "q", "tasks": [{"cpu": 1, "pods": 1}, {}]}],
    }

    answer = ask("allocate", asked)

    assert answer["order"] == ["j[0]"]
    assert answer["deserved"] == {"q": {"cpu": 1}}
    assert answer["losers"][0]["code"] == "queue_overused"


def test_every_whole_number_of_a_node_is_an_amount() -> None:
    asked = {
        "queues": [{"id": "q"}],
        "nodes": [{"name": "n1", "gpu": 1, "labels": {"a": "b"}, "ready": True}],
        "jobs": [{"id": "j", "queue": "q"}],
        "tasks": [{"id": "t", "job": "j", "req": {"gpu": 1}}],
    }

    answer = ask("preempt", asked)

    assert answer["pipelined"] == {"t": "n1"}
    assert answer["deserved"] == {"q": {"gpu": 1}}


def test_too_many_guarantees_are_flagged_and_few_are_not() -> None:
    queues = [{"id": name, "guarantee": {"cpu": 2}} for name in ("a", "b")]

    assert ask("queue_deserved", {"total": {"cpu": 3}, "queues": queues})["flags"] == [
        "GUARANTEE_INFEASIBLE"
    ]
    assert "flags" not in ask("queue_deserved", {"total": {"cpu": 4}, "queues": queues})


def test_a_resource_that_only_a_capability_names_is_none() -> None:
    queue = {"id": "q", "request": {"cpu": 1}, "capability": {"gpu": 1}, "guarantee": {"mem": 1}}

    answer = ask("queue_deserved", {"total": {"cpu": 3}, "queues": [queue]})

    assert answer["deserved"] == {"q": {"cpu": 1, "mem": 0}}


NODE: dict[str, Any] = {"name": "n1", "cpu": 1}
QUEUE: dict[str, Any] = {"id": "q"}


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("namespace_weight", {"events": [{"op": "patch", "quota": "a"}]}),
        ("dominant_share", {"total": {"cpu": Decimal("1.5")}}),
        ("dominant_share", {"total": {"cpu": 1}, "allocated": {"cpu": -1}}),
        ("dominant_share", {"total": {"cpu": True}}),
        ("queue_deserved", {"total": {}, "queues": [QUEUE, QUEUE]}),
        ("queue_deserved", {"total": {}, "queues": [{"id": "q", "weight": 0}]}),
        ("queue_deserved", {"total": {}, "queues": [{"id": 1}]}),
        ("entitlement", {"total_cpu_milli": -1, "queues": []}),
        ("gang_vote", {"candidates": [{"id": "a", "job": "j"}, {"id": "a", "job": "k"}]}),
        ("intersect_victims", {"candidates": ["a", "a"]}),
        ("intersect_victims", {"candidates": [], "votes": [{"voter": "x"}, {"voter": "x"}]}),
        ("eviction_order", {"victims": [{"id": "a"}, {"id": "a"}]}),
        ("allocate", {"total": {}, "queues": [], "max_tasks": 0}),
        ("allocate", {"total": {}, "queues": [], "job_order": ["luck"]}),
        ("preempt", {"queues": [QUEUE], "voters": ["luck"]}),
        ("preempt", {"queues": [QUEUE], "voters": ["drf", "drf"]}),
        ("preempt", {"queues": [QUEUE], "nodes": [NODE, NODE]}),
        ("preempt", {"queues": [QUEUE], "nodes": [NODE | {"gpu": -1}]}),
        ("preempt", {"queues": [QUEUE], "nodes": [NODE | {"gpu": Decimal("0.5")}]}),
        ("preempt", {"queues": [QUEUE], "tasks": [{"id": "t", "job": "j", "status": "lost"}]}),
        ("reclaim", {"queues": [QUEUE], "require_gang_pipelined": 1}),
    ],
)
def test_what_means_nothing_is_refused(name: str, asked: dict[str, Any]) -> None:
    with pytest.raises((InvalidRequest, ValidationError)):
        ask(name, asked)


def test_people_are_told_of_a_round() -> None:
    asked = {
        "total": {"cpu": 3},
        "nodes": {"n1": {"cpu": 2}},
        "queues": [{"id": "q"}, {"id": "shut", "open": False}],
        "ns_weights": {"a": 2},
        "jobs": [
            {"id": "one", "queue": "q", "ns": "a", "tasks": [{"cpu": 1}, {"cpu": 1}]},
            {"id": "two", "queue": "q", "ns": "b", "min": 2, "tasks": [{"cpu": 1}, {"cpu": 1}]},
            {"id": "few", "queue": "q", "min": 2, "tasks": [{"cpu": 1}]},
            {"id": "lost", "queue": "nowhere", "tasks": [{"cpu": 1}]},
            {"id": "late", "queue": "shut", "tasks": [{"cpu": 1}]},
        ],
    }

    text = told("allocate", asked)

    assert text.startswith("cpu: 3 at 2 for each unit of weight\n")
    assert "q 0, a 0, one 0: one[0] on n1" in text
    assert "few waits with 1: too_few_tasks\n  it has 1 task and needs 2" in text
    assert "lost waits with 1: unknown_queue\n  there is no queue nowhere" in text
    assert "late waits with 1: queue_closed\n  queue shut is not open" in text


def test_people_are_told_of_evictions() -> None:
    asked = {
        "queues": [QUEUE],
        "nodes": [{"name": "n1", "cpu": 2}],
        "jobs": [
            {"id": "rich", "queue": "q", "ns": "b", "min": 0},
            {"id": "poor", "queue": "q", "ns": "a"},
            {"id": "shy", "queue": "q", "ns": "a", "seq": 1},
        ],
        "tasks": [
            *(
                {"id": f"r{n}", "job": "rich", "node": "n1", "status": "running"}
                | {"preemptable": True, "req": {"cpu": 1}}
                for n in range(2)
            ),
            {"id": "p", "job": "poor", "req": {"cpu": 1}},
            {"id": "s", "job": "shy", "req": {"cpu": 1}, "never": True},
        ],
    }

    text = told("preempt", asked)

    assert "r1 (n1, q/rich) goes for p" in text
    assert "  drf grants r1: by job, 1/2 against 1/2, before that 1" in text
    assert "p waits for n1" in text
    assert "  task s is to have nobody evicted" in text


@pytest.mark.parametrize(
    ("name", "asked", "line"),
    [
        (
            "namespace_weight",
            {"events": [{"op": "upsert", "quota": "a", "weight": "lots"}]},
            "upsert a: max(1, a 1) = 1",
        ),
        (
            "dominant_share",
            {"total": {"cpu": 4, "gpu": 0}, "allocated": {"cpu": 1}},
            "largest part 1/4, of cpu",
        ),
        ("dominant_share", {"total": {"gpu": 0}}, "gpu: 0 of 0, passed over: there is none"),
        (
            "compare_namespaces",
            {"total": {"cpu": 4}, "left": {"ns": "b", "weight": 2}, "right": {"ns": "a"}},
            "a goes first: equal shares, the first name",
        ),
        (
            "entitlement",
            {"total_cpu_milli": 3, "queues": [{"queue": "q", "namespaces": [{"requested": 9}]}]},
            "    default: 3",
        ),
        ("gang_state", {"min": 2, "counts": {"running": 1}}, "needs 2, has 1 running"),
        (
            "gang_vote",
            {"jobs": {"j": {"ready": 2, "min": 1}}, "candidates": [{"id": "t", "job": "j"}]},
            "gang grants t: by gang, 1 against 2",
        ),
        (
            "conformance_vote",
            {"priority_class": "system-node-critical"},
            "a task in default of class system-node-critical may be evicted: no",
        ),
        (
            "intersect_victims",
            {"candidates": ["a"], "votes": [{"voter": "x", "abstain": True}]},
            "all who vote grant nobody",
        ),
        ("eviction_order", {"victims": [{"id": "a"}]}, "a: job priority 0, task priority 0, seq 0"),
    ],
)
def test_people_are_told_the_arithmetic(name: str, asked: dict[str, Any], line: str) -> None:
    assert line in told(name, asked).splitlines()


@pytest.mark.parametrize(
    ("scope", "in_q2"), [("per_queue", (3, 9)), ("global", (0, 12)), (None, (3, 9))]
)
def test_a_namespace_counts_in_each_queue_or_over_all_queues(
    scope: str | None, in_q2: tuple[int, int]
) -> None:
    demands = [("q1", "ns1", 4), ("q2", "ns1", 5), ("q2", "ns2", 20)]
    answer = ask(
        "allocate",
        {
            "total": {"cpu": 16},
            "queues": [{"id": "q1", "weight": 1}, {"id": "q2", "weight": 3}],
            "jobs": [
                {"id": f"{queue}/{ns}", "queue": queue, "ns": ns, "tasks": [{"cpu": 1}] * many}
                for queue, ns, many in demands
            ],
            "ns_weights": {"ns1": 2, "ns2": 6},
            "scope": scope,
        },
    )

    of_ns1, of_ns2 = in_q2
    assert answer["ns_cpu"] == {"q1/ns1": 4, "q2/ns1": of_ns1, "q2/ns2": of_ns2}


def test_there_is_no_other_scope() -> None:
    with pytest.raises(ValidationError, match="scope"):
        ask("allocate", {"total": {}, "queues": [], "scope": "cluster"})
