"""What holds of every patch between the review that asks and the answer's bytes, whatever the pod."""

import json
from base64 import b64decode
from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ledger.admission import answering, asking, json_patch
from ledger.admission import review as reviews
from ledger.core.spot.patch import patch
from ledger.events.codec import CONTRACT_REVISION, decode
from ledger.facts.admission import Admission
from ledger.facts.decision import Decision
from ledger.facts.own import AdmissionRequested
from ledger.facts.policy import SpotPolicy, Toleration
from ledger.units import ClusterName, DecisionNumber, FleetName, Incarnation, Position, Subject
from tests.laws import spot_model
from tests.laws.pod_schema import pods
from tests.laws.test_spot import LABEL, TOLERATIONS, VALUES, Asked, classes, modes, questions

FLEET = FleetName("shop")


def told(asked: Asked) -> tuple[dict[str, Any], dict[str, Any]]:
    """The pod that an API server sends, and what it is answered."""
    kind = "StatefulSet" if asked.mode in {"single_sts", "ordinal"} else "ReplicaSet"
    pod = deepcopy(asked.pod)
    pod["metadata"] = (pod.get("metadata") or {}) | {
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": kind, "name": "web-7", "controller": True}
        ]
    }
    request = {
        "uid": "u1",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "namespace": "shop",
        "object": pod,
    }
    body = {"apiVersion": reviews.API_VERSION, "kind": reviews.KIND, "request": request}
    review = reviews.read(json.dumps(body).encode())
    by = reviews.controller(review)
    assert by is not None
    spot = policy(asked)
    event = asking.requested(review, by, spot, fleet=FLEET, cluster="m1")
    fact = decode(event.stored, revision=CONTRACT_REVISION)
    assert isinstance(fact, AdmissionRequested)
    answer = answering.answer(fact, decided(asked, fact), spot)
    return pod, json.loads(answer)["response"]


def policy(asked: Asked) -> SpotPolicy:
    """Of the fleet."""
    return SpotPolicy(tolerations=tuple(map(tolerated, asked.tolerations)))


def tolerated(one: dict[str, Any]) -> Toleration:
    if "operator" in one:
        return Toleration(key=one["key"], operator=one["operator"])
    return Toleration(key=one["key"], value=one["value"])


def decided(asked: Asked, fact: AdmissionRequested) -> Decision:
    """What the decider makes of it, as far as an answer shows it."""
    reservation = "r1" if asked.mode in {"single", "slots"} else None
    outcome = Admission(
        namespace="shop",
        workload="web",
        uid=None,
        cluster=ClusterName("m1"),
        template_hash="7",
        admission_uid="u1",
        dry_run=False,
        capacity_class=fact.user_pin or asked.wanted,
        reservation=reservation,
        target=1,
        on_demand=0,
        mode="single" if asked.mode == "single_sts" else asked.mode,
        flags=(),
        wanted=asked.wanted,
        user_pin=fact.user_pin,
        index=None,
        live=0,
        told=None,
        share=None,
        read=None,
        min_available=None,
        majority=None,
        retired=(),
        assumed_lost=(),
        because=("admission",),
    )
    return Decision(
        fleet=FLEET,
        incarnation=Incarnation(1),
        number=DecisionNumber(1),
        position=Position(1),
        deadline=None,
        subject=Subject("shop/web@m1"),
        algorithm="spot",
        version=1,
        policy="",
        lot=None,
        inputs="",
        previous=None,
        branch=outcome.mode,
        outcome=outcome,
        moved=0,
    )


def patched(pod: dict[str, Any], response: dict[str, Any]) -> Any:
    """The pod as it is written, by two readers of the patch that have nothing in common."""
    operations = json.loads(b64decode(response.get("patch", NO_PATCH)))
    assert all(one["op"] == "add" for one in operations)
    result = spot_model.applied(pod, [(one["path"], one["value"]) for one in operations])
    again = deepcopy(pod)
    json_patch.apply(again, operations)
    assert again == result
    return result


NO_PATCH = "W10="


by_schema = st.builds(
    Asked, pods, classes, modes, st.lists(st.sampled_from(TOLERATIONS), max_size=3)
)


@given(questions)
def test_each_patch_applies_and_never_widens_where_a_pod_may_run(asked: Asked) -> None:
    _applies_and_never_widens(asked)


@given(by_schema)
def test_so_does_each_of_whatever_pod_the_schema_of_kubernetes_allows(asked: Asked) -> None:
    _applies_and_never_widens(asked)


def _applies_and_never_widens(asked: Asked) -> None:
    pod, response = told(asked)

    after = patched(pod, response)

    assert response["allowed"]
    assert ("patch" in response) == ("patchType" in response)
    kept = any("left" in warning for warning in response.get("warnings", ()))
    on_demand = response["auditAnnotations"]["class"] == "od"
    for name in ("n1", "n2"):
        for zone in ({}, {"zone": "a"}, {"zone": "3"}):
            for capacity in (None, *VALUES):
                labels = zone if capacity is None else {**zone, LABEL.key: capacity}
                was = spot_model.runs_on(pod, name, labels)
                is_now = spot_model.runs_on(after, name, labels)
                assert was or not is_now
                if on_demand and not kept:
                    assert is_now == (was and capacity == "on-demand")
                if not on_demand:
                    assert is_now == was


@given(questions)
def test_an_answer_is_the_patch_of_the_core_byte_by_byte_and_again(asked: Asked) -> None:
    pod, response = told(asked)

    operations = json.loads(b64decode(response.get("patch", NO_PATCH)))

    core = patch(
        pod,
        wanted=asked.wanted,
        mode=asked.mode,
        reservation="r1" if asked.mode in {"single", "slots"} else None,
        marks=answering.marks(policy(asked)),
    )
    assert operations == [{"op": "add", "path": one.path, "value": one.value} for one in core.adds]
    assert told(asked)[1] == response
