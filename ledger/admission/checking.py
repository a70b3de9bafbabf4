"""What a validating webhook refuses where a fleet's policy is strict.

A pod that names a reservation has to be the one that it was given to: of that namespace, controller and
template. And it has to bear what it was given: patching it again would add nothing. A StatefulSet, or its
scale, is refused where its annotation names a minimum that no majority would follow. Whatever names no reservation
was created while nobody answered, or is not split; that is found and mended afterwards, and stops nobody.

One that is about to go, and one that is written with the minimum and the replicas that it had, is not stopped:
whoever else writes to it, its own deletion first of all, has changed nothing of that.

Where the policy is not strict the same is said as a warning, and so is what cannot be judged.
"""

import re
from dataclasses import dataclass
from typing import Final

from ledger.admission import answering
from ledger.admission.asking import excerpt
from ledger.admission.review import TEMPLATE_HASH, Controller, Json, Review, controller, of
from ledger.core.spot.labels import DELETION_COST, MIN_AVAILABLE, RESERVATION
from ledger.core.spot.target import Violation, Workload, violation
from ledger.errors import InvalidEvent, InvalidRequest
from ledger.facts.admission import Admission
from ledger.facts.policy import SpotPolicy

FORBIDDEN: Final = 403

UNREADABLE: Final = "spec.replicas cannot be read"

_RESERVATION: Final = re.compile(r"([^/]+)/[0-9]{1,9}/([0-9]{1,18})")


def named(review: Review, fleet: str) -> int | None:
    """The number of the decision that a pod's reservation is called after, if it is one of the fleet."""
    text = _carried(review)
    found = None if text is None else _RESERVATION.fullmatch(text)
    return int(found[2]) if found is not None and found[1] == fleet else None


def is_scale(review: Review) -> bool:
    """Whether a StatefulSet is about to have another number of replicas, and nothing else."""
    return review.resource == ("apps", "statefulsets", "scale")


@dataclass(frozen=True, slots=True)
class Given:
    """What is known of the decision that a pod names."""

    decided: Admission
    answer: bytes | None
    """What was answered then, if that is still there."""


def answer(review: Review, given: Given | None, workload: Json | None, spot: SpotPolicy) -> bytes:
    """Whether what is about to be written may be.

    ``given`` is what a pod names, ``workload`` what was told of one that is scaled: a scale does not bear
    its annotation.
    """
    stops = spot.strictness == "strict"
    match review.resource:
        case ("", "pods", ""):
            why = _of_pod(review, given, spot)
        case ("apps", "statefulsets", "" | "scale"):
            why = _of_set(review, workload)
            stops = stops and _is_changed(review) and why != UNREADABLE
        case _:
            why = None
    if why is None:
        return answering.allowed(review.uid)
    if stops:
        return answering.refused(review.uid, FORBIDDEN, f"ledger: {why}")
    return answering.allowed(review.uid, [f"ledger: {why}"])


def _of_pod(review: Review, given: Given | None, spot: SpotPolicy) -> str | None:
    carried, by = _carried(review), controller(review)
    if carried is None:
        return None
    if by is None or given is None or not _is_its(review, by, given.decided, carried):
        return "the pod carries a reservation that it was not given"
    pod = review.object
    assert pod is not None, "it carries something"
    try:
        lacking = answering.patched(excerpt(pod), given.decided, spot, of=by.kind).adds
    except (InvalidRequest, InvalidEvent) as invalid:
        return f"the pod cannot be read: {invalid}"[:200]
    if lacking:
        return f"the pod lacks what its reservation gave it: {lacking[0].path}"[:200]
    cost = None if given.answer is None else answering.cost(given.answer)
    if cost is not None and of(of(pod, "metadata"), "annotations").get(DELETION_COST) != cost:
        # Patching it again does not tell: who names the reservation is not raised a second time.
        return f"the pod lacks what its reservation gave it: {DELETION_COST} {cost}"[:200]
    return None


def _is_its(review: Review, by: Controller, decided: Admission, carried: str) -> bool:
    labels = of(of(review.object or {}, "metadata"), "labels")
    template = labels.get(TEMPLATE_HASH, "")
    return (
        decided.reservation == carried
        and decided.namespace == review.namespace
        and decided.template_hash == template
        and by.name in {decided.workload, f"{decided.workload}-{template}"}
    )


def _of_set(review: Review, workload: Json | None) -> str | None:
    about = review.object
    if about is None or review.operation not in {"CREATE", "UPDATE"}:
        return None
    if of(about, "metadata").get("deletionTimestamp") is not None:
        return None
    annotation = (workload or {}).get("min_available") if is_scale(review) else _wanted(about)
    replicas = of(about, "spec").get("replicas")
    if not isinstance(annotation, str):
        return None
    if not (replicas is None or isinstance(replicas, int)):
        return UNREADABLE
    try:
        found = violation(Workload("StatefulSet", replicas, annotation))
    except InvalidRequest:
        return UNREADABLE
    return None if found is None else _said(found)


def _is_changed(review: Review) -> bool:
    """Whether a StatefulSet had another minimum before, or other replicas, or was not there."""
    if review.object is None or review.old is None:
        return True
    parts = [(_wanted(one), of(one, "spec").get("replicas")) for one in (review.object, review.old)]
    return parts[0] != parts[1]


def _wanted(about: Json) -> object:
    return of(of(about, "metadata"), "annotations").get(MIN_AVAILABLE)


def _said(found: Violation) -> str:
    if found.code == "annotation_invalid":
        return f"{MIN_AVAILABLE} cannot be read"
    return f"{MIN_AVAILABLE} is {found.min_available}, it has to be {found.least} to {found.most}"


def _carried(review: Review) -> str | None:
    if review.object is None or review.operation != "CREATE":
        return None
    text = of(of(review.object, "metadata"), "annotations").get(RESERVATION)
    return text if isinstance(text, str) else None
