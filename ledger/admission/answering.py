"""From a decision to what Kubernetes is told, byte by byte.

An answer is a function of the event that asked, the decision about it and the policy at its position:
whoever asks again, of whichever process, gets the same bytes. A pod is never refused here. What its owner
should know comes as warnings, and where the answer stands in the log as audit annotations.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from ledger.admission.review import API_VERSION, KIND
from ledger.core.spot.labels import DELETION_COST, NodeLabel
from ledger.core.spot.patch import Marks, Mode, Patch, patch
from ledger.errors import InvalidRequest
from ledger.facts.admission import Admission
from ledger.facts.decision import Decision
from ledger.facts.event import Event
from ledger.facts.own import AdmissionRequested
from ledger.facts.policy import SpotPolicy, Toleration
from ledger.reducers.admissions import is_listing
from ledger.reducers.world import World
from ledger.units import Position

WARNINGS: Final[Mapping[str, str]] = {
    "annotation_invalid": "distributed-scheduling/min-available cannot be read",
    "last_valid_used": "the last min-available that could be read counts",
    "raised_to_majority": "min-available of a StatefulSet was raised to more than half",
    "all_on_demand": "every pod of the workload runs on on-demand nodes",
    "conflict_user_pin": "an on-demand pod was due, but the pod's own selectors exclude it",
    "workload_unknown": "the workload is not known, the pod is left as it is",
    "ordinal_unknown": "the pod's place in its StatefulSet is not known, it is left as it is",
    "ordinal_beyond": "the ordinal is not below the replicas: tell where the set's ordinals begin",
    "foreign_reservation_ignored": "the pod carries a reservation that is not its own",
    "invalid_selector_left": "required node affinity without a term is left as it is",
    "selector_matches_nothing_left": "required node affinity selects no node and is left so",
    "cost_saturated": "the pod-deletion-cost is as high as it can be, on-demand is not raised",
    "cost_invalid_left": "the pod-deletion-cost cannot be read and is left as it is",
    "pod_unreadable": "something in the pod has the wrong type, it is left as it is",
    "patch_inapplicable": "the patch would not apply, the pod is left as it is",
    "deadline": "no decision came in time, the pod is left as it is",
    "busy": "too much is asked at once, the pod is left as it is",
    "log_unavailable": "the log cannot be reached, the pod is left as it is",
    "list_failed": "the pods could not be listed, the pod is left as it is",
}
"""What people are told, by flag or by reason; at most 120 characters, as Kubernetes asks."""


def answer(request: AdmissionRequested, decision: Decision, spot: SpotPolicy) -> bytes:
    """What is said to whoever asked, about the decision that answers it."""
    decided = decision.outcome
    assert isinstance(decided, Admission), f"{decision.kind} answers no admission"
    flags = decided.flags
    audit = {
        "fleet": decision.fleet,
        "position": str(decision.position),
        "number": str(decision.number),
    }
    operations: list[dict[str, Any]] = []
    if decided.capacity_class is not None:
        audit["class"] = decided.capacity_class
        try:
            made = patched(json.loads(request.pod), decided, spot, of=request.owner.kind)
        except InvalidRequest:
            flags = (*flags, "pod_unreadable")
        else:
            operations = [{"op": "add", "path": add.path, "value": add.value} for add in made.adds]
            flags = (*flags, *(flag for flag in made.flags if flag not in flags))
            audit["class"] = made.capacity_class
    if decided.reservation is not None:
        audit["reservation"] = decided.reservation
    return _review(request.uid, operations=operations, warnings=warned(flags), audit=audit)


def given(
    before: World, happened: Event, decisions: Iterable[Decision], spot: SpotPolicy
) -> Iterator[tuple[str, Position, bytes]]:
    """What is said where an event was the last thing that admissions waited for: uid, position, answer.

    ``before`` is the World before that event, ``spot`` the policy behind it.
    """
    for decision in decisions:
        decided = decision.outcome
        if not isinstance(decided, Admission) or is_listing(decided):
            continue
        asked = happened.fact
        if not isinstance(asked, AdmissionRequested):
            asked = before.admissions.waiting[decided.admission_uid].fact
        yield asked.uid, decision.position, answer(asked, decision, spot)


def patched(pod: dict[str, Any], decided: Admission, spot: SpotPolicy, *, of: str) -> Patch:
    """What a decision adds to a pod of a controller of kind ``of``."""
    assert decided.capacity_class is not None, "it leaves the pod as it is"
    return patch(
        pod,
        wanted=decided.wanted or decided.capacity_class,
        mode=_mode(decided.mode, of),
        reservation=decided.reservation,
        marks=marks(spot),
    )


def unpatched(uid: str, reason: str | None = None, audit: Mapping[str, str] | None = None) -> bytes:
    """The answer that leaves a pod as it is, and says why if there is something to say."""
    return _review(uid, warnings=warned(() if reason is None else (reason,)), audit=audit or {})


def bypassed(fleet: str, uid: str, reason: str) -> bytes:
    """The answer that is given, and recorded by an event, where no decision came in time."""
    return unpatched(uid, reason, {"fleet": fleet})


def operations(body: bytes) -> list[Any]:
    """The patch of an answer, as it was spelled here."""
    patch_ = orjson.loads(body)["response"].get("patch")
    return [] if patch_ is None else list(orjson.loads(b64decode(patch_)))


def cost(body: bytes) -> str | None:
    """The deletion cost that an answer gave its pod; None where it gave none."""
    for one in operations(body):
        parent, _, key = str(one["path"]).rpartition("/")
        if one["path"] in ("/metadata", "/metadata/annotations"):
            notes = one["value"] if key == "annotations" else one["value"].get("annotations", {})
            if DELETION_COST in notes:
                return str(notes[DELETION_COST])
        elif parent == "/metadata/annotations" and key.replace("~1", "/") == DELETION_COST:
            return str(one["value"])
    return None


def refused(uid: str, code: int, message: str) -> bytes:
    """The answer that refuses an object."""
    return _spelled(
        {"uid": uid, "allowed": False, "status": {"code": code, "message": message[:1024]}}
    )


def allowed(uid: str, warnings: Iterable[str] = ()) -> bytes:
    """The answer of a validating webhook that has nothing against an object."""
    return _review(uid, warnings=list(warnings))


def marks(spot: SpotPolicy) -> Marks:
    """How capacity is written into pods, as a policy says."""
    return Marks(
        NodeLabel(spot.label, spot.on_demand, spot.spot),
        spot.weight,
        tuple(_toleration(one) for one in spot.tolerations),
    )


def warned(flags: Iterable[str]) -> list[str]:
    """The warnings of these flags; most flags are for the record alone."""
    return [f"ledger: {WARNINGS[flag]}" for flag in flags if flag in WARNINGS]


def _mode(mode: str, of: str) -> Mode:
    if mode == "single":
        return "single_sts" if of == "StatefulSet" else "single"
    if mode == "slots":
        return "slots"
    assert mode == "ordinal", f"{mode} has no class"
    return "ordinal"


def _toleration(one: Toleration) -> dict[str, Any]:
    told = {
        "key": one.key,
        "operator": one.operator,
        "value": one.value,
        "effect": one.effect,
        "tolerationSeconds": one.seconds,
    }
    return {name: value for name, value in told.items() if value not in ("", None)}


def _review(
    uid: str,
    *,
    operations: list[dict[str, Any]] | None = None,
    warnings: list[str] | None = None,
    audit: Mapping[str, str] | None = None,
) -> bytes:
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    if operations:
        # Both or neither: Kubernetes takes anything else for a failure of ours.
        response["patchType"] = "JSONPatch"
        response["patch"] = b64encode(orjson.dumps(operations)).decode()
    if warnings:
        response["warnings"] = warnings
    if audit:
        response["auditAnnotations"] = dict(audit)
    return _spelled(response)


def _spelled(response: dict[str, Any]) -> bytes:
    return orjson.dumps({"apiVersion": API_VERSION, "kind": KIND, "response": response})
