"""Questions about spot as ``ledger solve`` gets them: defaults, refusals, and words for people."""

from typing import Any

import pytest
from pydantic import ValidationError

from ledger.cli.solve.spot_questions import OPS
from ledger.errors import InvalidRequest

OP = {op.name: op for op in OPS}


def ask(name: str, **given: Any) -> Any:
    return OP[name].answer(OP[name].question.model_validate(given))


def told(name: str, **given: Any) -> str:
    return OP[name].explain(OP[name].question.model_validate(given))


def refused(name: str, **given: Any) -> bool:
    try:
        ask(name, **given)
    except (ValidationError, InvalidRequest):
        return True
    return False


def play(*steps: dict[str, Any], replicas: int | None = 3, **owner: Any) -> list[Any]:
    asked = {"kind": "Deployment", "replicas": replicas, "annotation": "1", **owner}
    results: list[Any] = ask("spot.sequence", steps=[*steps], **asked)["results"]
    return results


def admission(uid: str, **more: Any) -> dict[str, Any]:
    return {"op": "admit", "uid": uid, "hash": "A", **more}


@pytest.mark.parametrize("name", OP)
def test_every_op_says_what_it_is_about_and_has_a_schema(name: str) -> None:
    assert OP[name].about
    assert OP[name].question.model_json_schema()["properties"]


def test_what_is_absent_has_a_default() -> None:
    assert ask("spot.parse_min_available", annotation="50%")["min_available"] == 1
    assert ask("spot.target", kind="Deployment")["mode"] == "single"
    assert ask("spot.ordinal", pod="db-0", statefulset="db", replicas=3)["class"] == "passthrough"
    assert ask("spot.deletion_cost") == {"valid": True, "cost": 0}
    assert ask("spot.node_selector_match", node={"labels": {"a": None}})["match"] is False
    pods = {"assigned": True, "phase": "Running", "ready": True}
    assert ask("spot.scale_down_order", a=pods, b=pods) == {"deleted_first": "a", "because": None}


def test_a_policy_can_be_asked_about() -> None:
    strict = ask("spot.target", kind="StatefulSet", replicas=5, annotation="2", strictness="strict")
    assert strict["T"] == 3
    assert strict["violation"]["code"] == "min_available_too_small"
    assert ask("spot.target", kind="Deployment", replicas=5, default="40%")["T"] == 2


def test_every_step_answers() -> None:
    results = play(
        {"op": "rs_replicas", "hash": "A", "n": 2},
        admission("u1"),
        admission("u2", carried="r1"),
        admission("u2"),
        {"op": "adopt", "hash": "A", "class": "spot"},
        {"op": "expire", "reservation": "r1"},
        {"op": "pod_seen", "reservation": "r1"},
        admission("u3", dry_run=True),
        admission("u4", carried="elsewhere"),
        {"op": "list", "hash": "A", "present": ["r1", "r3"]},
        {"op": "pod_seen", "reservation": "r3"},
        {"op": "pod_failed", "reservation": "r1"},
        {"op": "pod_seen", "reservation": "r1"},
        {"op": "scale", "replicas": 5},
        {"op": "annotate", "value": "60%"},
        {"op": "count", "hash": "A"},
        {"op": "annotate", "value": None},
        admission("u5", user_pin="od"),
        {"op": "count", "hash": "A"},
        {"op": "pod_deleted", "reservation": "r3"},
        {"op": "count", "hash": "B"},
    )

    again = {"class": "od", "reservation": "r1", "flags": ["reinvocation"]}
    assert results == [
        None,
        {"class": "od", "reservation": "r1", "flags": []},
        again,
        {**again, "replayed": True},
        None,
        None,
        {"flags": ["late_confirmation"], "on_demand": 1},
        {"class": "od", "reservation": None, "flags": ["dry_run"]},
        {
            "class": "od",
            "reservation": "r3",
            "flags": ["foreign_reservation_ignored", "assumed_loss"],
            "assumed_lost": ["r1"],
        },
        None,
        None,
        None,
        None,
        None,
        None,
        {"on_demand": 1, "live": 1, "target": 3, "deficit": 0, "surplus": 0},
        None,
        {"class": None, "reservation": None, "flags": []},
        {"on_demand": 1, "live": 1, "target": None, "deficit": 0, "surplus": 0},
        None,
        {"on_demand": 0, "live": 0, "target": None, "deficit": 0, "surplus": 0},
    ]


def test_who_was_retired_is_told_also_to_whom_asks_again() -> None:
    first, second, retried = play(
        {"op": "rs_replicas", "hash": "A", "n": 1},
        admission("u1"),
        admission("u2"),
        admission("u2"),
    )[1:]

    assert "retired" not in first
    assert second["retired"] == ["r1"]
    assert retried == {**second, "replayed": True}


@pytest.mark.parametrize(
    "step",
    [
        {"op": "sleep"},
        {"uid": "u1", "hash": "A"},
        {"op": "admit", "hash": "A"},
        {"op": "admit", "uid": "u1"},
        {"op": "admit", "uid": "u1", "hash": "A", "user_pin": "reserved"},
        {"op": "admit", "uid": "u1", "hash": "A", "dry_run": 1},
        {"op": "pod_seen", "reservation": "r1"},
        {"op": "pod_deleted", "reservation": "web"},
        {"op": "pod_failed", "reservation": ""},
        {"op": "expire", "reservation": "r99999999999999999999"},
        {"op": "list", "hash": "A", "present": ["r1"]},
        {"op": "list", "hash": "A"},
        {"op": "adopt", "hash": "A"},
        {"op": "rs_replicas", "hash": "A", "n": -1},
        {"op": "rs_replicas", "hash": "A", "n": True},
        {"op": "rs_replicas", "hash": "A"},
        {"op": "scale", "replicas": -1},
    ],
)
def test_a_step_that_means_nothing_is_refused(step: dict[str, Any]) -> None:
    assert refused("spot.sequence", kind="Deployment", replicas=3, steps=[step])


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("spot.parse_min_available", {"annotation": 3}),
        ("spot.parse_min_available", {"annotation": "3", "replicas": True}),
        ("spot.target", {"kind": "Deployment", "replicas": -1}),
        ("spot.target", {"replicas": 3}),
        ("spot.target", {"kind": "Deployment", "replicas": 3, "strictness": "lax"}),
        ("spot.ordinal", {"pod": "db-0"}),
        ("spot.ordinal", {"pod": "db-0", "statefulset": "db", "ordinals_start": -1}),
        ("spot.sequence", {"kind": "StatefulSet", "replicas": 3, "steps": []}),
        ("spot.patch", {"pod": [], "class": "od", "mode": "slots"}),
        ("spot.patch", {"pod": {}, "class": "ondemand", "mode": "slots"}),
        ("spot.patch", {"pod": {}, "class": "od", "mode": "slot"}),
        ("spot.patch", {"pod": {}, "class": "od", "mode": "slots", "reservation": 1}),
        ("spot.patch", {"pod": {}, "class": "od", "mode": "slots", "spot_tolerations": {}}),
        ("spot.patch", {"pod": {"spec": 1}, "class": "od", "mode": "slots"}),
        ("spot.deletion_cost", {"value": 1}),
        ("spot.node_selector_match", {"terms": [{"matchFields": 1}], "node": {"name": "n"}}),
        ("spot.node_selector_match", {"terms": [[]], "node": {"name": "n"}}),
        ("spot.node_selector_match", {"terms": []}),
    ],
)
def test_a_question_that_means_nothing_is_refused(name: str, given: dict[str, Any]) -> None:
    assert refused(name, **given)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("now", "1s"),
        ("same", "2 m ago"),
        ("59m", "3h"),
        ("12h", "1 day"),
        ("1d", "3 days ago"),
        ("15 days", "1 month"),
        ("29d", "2 months ago"),
        ("999999999s", "9999999999s"),
        (None, "now"),
    ],
)
def test_times_are_words(less: str | None, more: str) -> None:
    pod = {"assigned": True, "phase": "Running", "ready": True}

    answer = ask("spot.scale_down_order", a={**pod, "created": more}, b={**pod, "created": less})

    assert answer == {"deleted_first": "b", "because": "created"}


@pytest.mark.parametrize(
    "change",
    [
        {"phase": "Succeeded"},
        {"phase": None},
        {"ready_for": "soon"},
        {"created": "1.5h"},
        {"created": "2 weeks"},
        {"created": "9" * 41 + "s"},
        {"created": "1h "},
        {"deletion_cost": 2**31},
        {"restarts": -1},
        {"same_node_rank": True},
    ],
)
def test_a_pod_that_cannot_be_compared_is_refused(change: dict[str, Any]) -> None:
    pod = {"assigned": True, "phase": "Running", "ready": True}

    assert refused("spot.scale_down_order", a={**pod, **change}, b=pod)


def test_a_patch_is_written_as_json_patch() -> None:
    answer = ask("spot.patch", pod={"spec": {}}, **{"class": "od"}, mode="single_sts")

    selector = {"node.kubernetes.io/capacity": "on-demand"}
    labels = {"distributed-scheduling/desired-capacity": "on-demand"}
    assert answer == {
        "patch": [
            {"op": "add", "path": "/spec/nodeSelector", "value": selector},
            {"op": "add", "path": "/metadata", "value": {"labels": labels}},
        ],
        "flags": [],
        "class": "od",
        "user_pin": None,
    }


def test_people_are_told_the_arithmetic() -> None:
    assert told("spot.parse_min_available", annotation=" 50% ", replicas=5) == (
        "50% of 5 replicas, rounded up: 3 pods."
    )
    assert "3 // 2" not in told("spot.target", kind="Deployment", replicas=3, annotation="2")
    statefulset = told(
        "spot.target", kind="StatefulSet", replicas=5, annotation="2", strictness="strict"
    )
    assert "5 // 2 + 1 = 3" in statefulset
    assert "min_available_too_small, it may ask for 3 to 4 pods" in statefulset
    assert "cannot be read" in told("spot.target", kind="Deployment", replicas=3, annotation="x")
    assert "left as they are" in told("spot.target", kind="Job", replicas=3)


def test_people_are_told_about_ordinals_costs_and_selectors() -> None:
    placed = {"statefulset": "db", "replicas": 5, "annotation": "3"}
    assert "2 is from 0 to below 3: od" in told("spot.ordinal", pod="db-2", **placed)
    assert "is not from 0" in told("spot.ordinal", pod="db-3", **placed)
    assert "no pod of 'db'" in told("spot.ordinal", pod="web-3", **placed)
    assert "would refuse" in told("spot.deletion_cost", value="+1")
    assert "counts as 0" in told("spot.deletion_cost")
    assert "cost than 7" in told("spot.deletion_cost", value="7")
    assert "None of 1 term" in told("spot.node_selector_match", terms=[{}], node={})
    term = {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}
    assert "Term 0" in told("spot.node_selector_match", terms=[term], node={})


def test_people_are_told_a_sequence_step_by_step() -> None:
    asked = {"kind": "Deployment", "replicas": 3, "annotation": "0"}
    steps = [
        {"op": "rs_replicas", "hash": "A", "n": 1},
        admission("u1", user_pin="od"),
        admission("u2"),
        admission("u2"),
        admission("u3", carried="r2"),
        {"op": "pod_seen", "reservation": "r1"},
        {"op": "pod_deleted", "reservation": "r1"},
        {"op": "pod_seen", "reservation": "r2"},
        {"op": "annotate", "value": "1"},
        {"op": "count", "hash": "A"},
        {"op": "annotate", "value": None},
        {"op": "count", "hash": "A"},
        admission("u4"),
    ]

    lines = told("spot.sequence", steps=steps, **asked).splitlines()

    assert lines[:2] == [
        "'0' of 3 replicas asks for 0 pods.",
        "Target: min(0, 3) = 0 pods on on-demand nodes, counted for each pod template.",
    ]
    assert lines[2:] == [
        "1. rs_replicas hash=A n=1",
        (
            "2. admit uid=u1 hash=A user_pin=od -> od as its user has pinned it, holding r1;"
            " 0 of 0 pods were on-demand, 0 are due"
        ),
        (
            "3. admit uid=u2 hash=A -> spot, holding r2; no room was left for r1;"
            " 0 of 0 pods were on-demand, 0 are due"
        ),
        "4. admit uid=u2 hash=A -> spot, holding r2, as answered before",
        "5. admit uid=u3 hash=A carried=r2 -> spot, holding r2, which it holds already",
        "6. pod_seen reservation=r1 -> it had been given up, and counts again",
        "7. pod_deleted reservation=r1",
        "8. pod_seen reservation=r2",
        "9. annotate value=1",
        "   '1' of 3 replicas asks for 1 pod.",
        "   Target: min(1, 3) = 1 pod on on-demand nodes, counted for each pod template.",
        (
            "10. count hash=A -> 0 of 1 pod are on-demand; 1 is due, 1 short and 0 too many;"
            " evict 1 of the spot pods, in this order: r2"
        ),
        "11. annotate",
        "   Nothing is asked for, so the pods are left as they are.",
        "12. count hash=A -> 0 of 1 pod are on-demand",
        "13. admit uid=u4 hash=A -> left as it is",
    ]


def test_people_are_told_of_a_surplus_and_of_flags() -> None:
    steps = [
        {"op": "rs_replicas", "hash": "A", "n": 1},
        {"op": "adopt", "hash": "A", "class": "od"},
        {"op": "count", "hash": "A"},
        admission("u1", carried="elsewhere", dry_run=True),
    ]

    lines = told("spot.sequence", kind="Deployment", replicas=3, annotation="0", steps=steps)

    assert "lower the deletion cost of 1, in this order: r1" in lines
    assert lines.endswith("0 are due (foreign_reservation_ignored, dry_run)")


def test_people_are_told_a_patch() -> None:
    pinned = {"spec": {"nodeSelector": {"node.kubernetes.io/capacity": "spot"}}}

    conflict = told("spot.patch", pod=pinned, **{"class": "od"}, mode="slots", reservation="r1")
    nothing = told("spot.patch", pod=pinned, **{"class": "od"}, mode="passthrough")

    assert conflict.splitlines()[:2] == [
        "The pod's own selectors pin it: spot. They are left alone.",
        "Wanted od; the pod is spot.",
    ]
    assert 'add /metadata: {"annotations"' in conflict
    assert conflict.endswith("the user's own selectors exclude it")
    assert nothing.endswith("Nothing has to be added.")


def test_people_are_told_why_a_pod_goes_first() -> None:
    pod = {"assigned": True, "phase": "Running", "ready": True}

    cost = told("spot.scale_down_order", a={**pod, "deletion_cost": 1}, b=pod)
    unknown = told("spot.scale_down_order", a={**pod, "created": "now"}, b=pod)
    alike = told("spot.scale_down_order", a={**pod, "created": "5h"}, b={**pod, "created": "8h"})

    assert cost == "b goes first, because of deletion_cost: 1 of a, 0 of b."
    assert unknown == "b goes first, because of created: now of a, unknown of b."
    assert alike == "No criterion tells the two apart: a goes first."
