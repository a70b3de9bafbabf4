"""From a question of Kubernetes to the event that asks the decider.

The event holds what the decision and its patch need of the pod and nothing else: no environment, no
annotations of others, nobody's name. What the API server's lists show while it waits, the ReplicaSet
and the pods of its template, become events too: what is decided is decided from the log alone.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from ledger.admission.review import (
    GROUP,
    POD_INDEX,
    TEMPLATE_HASH,
    Controller,
    Json,
    Review,
    group,
    of,
    word,
)
from ledger.core.spot.labels import (
    DELETION_COST,
    DESIRED_CAPACITY,
    MIN_AVAILABLE,
    RESERVATION,
    NodeLabel,
)
from ledger.core.spot.pins import user_pin
from ledger.errors import InvalidEvent
from ledger.events.codec import Accepted, Rejected, accept_line, own_event
from ledger.events.contract_values import MOST_REPLICAS
from ledger.events.strict_json import canonical
from ledger.facts.policy import SpotPolicy
from ledger.units import EventType, FleetName, Subject

REQUESTED: Final = EventType("ledger.workload.admission.requested.v1")
BYPASSED: Final = EventType("ledger.workload.admission.bypassed.v1")
LISTED: Final = EventType("ledger.workload.pods.listed.v1")
REPLICASET: Final = EventType("ledger.workload.replicaset.upserted.v1")

SOURCE: Final = "ledger/admission"

DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
"""Where the Deployment controller writes on each ReplicaSet how many pods the Deployment is to have."""

_COUNT: Final = re.compile("[0-9]{1,10}")

DEEPEST: Final = 16
"""Selectors, affinity and tolerations need eleven."""


def requested(
    review: Review,
    by: Controller,
    spot: SpotPolicy,
    *,
    fleet: FleetName,
    cluster: str,
    ordinals_start: int | None = None,
    can_list: bool = False,
    read: "Wanted | None" = None,
    above: Json | None = None,
) -> Accepted:
    """The event of a question; ``read`` is its workload and ``above`` its ReplicaSet, as they were read for it.

    Raises ``InvalidRequest`` where the pod has something of the wrong type, and ``InvalidEvent``
    where it does not fit into an event.
    """
    pod = review.object
    assert pod is not None, "whoever has a controller is there"
    metadata = of(pod, "metadata")
    labels = of(metadata, "labels")
    label = NodeLabel(spot.label, spot.on_demand, spot.spot)
    owner = {"kind": by.kind, "name": by.name, "uid": by.uid}
    kept = excerpt(pod)
    data: dict[str, Any] = {
        "uid": review.uid,
        "cluster": cluster,
        "namespace": review.namespace,
        "owner": _told(owner),
        "template_hash": word(labels.get(TEMPLATE_HASH)) or "",
        "dry_run": review.dry_run,
        "carried": word(of(metadata, "annotations").get(RESERVATION)),
        "user_pin": user_pin(pod, label),
        "pod": kept,
        "name": word(metadata.get("name")),
        "pod_index": word(labels.get(POD_INDEX)),
        "ordinals_start": ordinals_start,
        "can_list": can_list,
        "replicas": None if read is None else read.replicas,
        "min_available": None if read is None else read.min_available,
        "replicaset_replicas": None if above is None else pods_wanted(above),
    }
    return own_event(
        type=REQUESTED,
        source=f"{SOURCE}/{cluster}",
        id=review.uid,
        subject=Subject(f"{review.namespace}/{by.name}"),
        fleet=fleet,
        data=_told(data),
    )


def excerpt(pod: Json) -> Json:
    """What a patch needs of a pod: where it may run, and which of our words it bears.

    ``InvalidEvent`` where it is nested deeper than anything that Kubernetes has.
    """
    kept: Json = {}
    spec, metadata = pod.get("spec"), pod.get("metadata")
    if isinstance(spec, dict):
        kept["spec"] = {
            name: spec[name] for name in ("nodeSelector", "tolerations") if name in spec
        }
        affinity = spec.get("affinity")
        if isinstance(affinity, dict):
            kept["spec"]["affinity"] = {
                name: affinity[name] for name in ("nodeAffinity",) if name in affinity
            }
    if isinstance(metadata, dict):
        kept["metadata"] = {}
        for name, ours in (
            ("annotations", (DELETION_COST, RESERVATION)),
            ("labels", (DESIRED_CAPACITY,)),
        ):
            found = metadata.get(name)
            if isinstance(found, dict):
                kept["metadata"][name] = {key: found[key] for key in ours if key in found}
    _refuse_depth(kept, DEEPEST)
    return kept


def _refuse_depth(value: object, deepest: int) -> None:
    if not isinstance(value, dict | list):
        return
    if deepest == 0:
        raise InvalidEvent("too_deep", f"nested over {DEEPEST} deep")
    for one in value.values() if isinstance(value, dict) else value:
        _refuse_depth(one, deepest - 1)


def bypassed(uid: str, reason: str, *, fleet: FleetName, cluster: str) -> Accepted:
    """The event that says that a question was answered without a decision."""
    return own_event(
        type=BYPASSED,
        source=f"{SOURCE}/{cluster}",
        id=f"{uid}/bypassed",
        subject=Subject(uid),
        fleet=fleet,
        data={"uid": uid, "reason": reason},
    )


def pods_listed(
    uid: str, template_hash: str, pods: Iterable[Json], *, fleet: FleetName, cluster: str
) -> Accepted:
    """The event of a list of a template's pods; those that are going or done are not told."""
    present: list[str] = []
    others: list[str] = []
    for pod in pods:
        metadata = of(pod, "metadata")
        if metadata.get("deletionTimestamp") or of(pod, "status").get("phase") in DONE:
            continue
        reservation = word(of(metadata, "annotations").get(RESERVATION))
        name = word(metadata.get("name"))
        if reservation is not None:
            present.append(reservation)
        elif name is not None:
            others.append(name)
    return own_event(
        type=LISTED,
        source=f"{SOURCE}/{cluster}",
        id=f"{uid}/listed",
        subject=Subject(uid),
        fleet=fleet,
        data={
            "admission_uid": uid,
            "template_hash": template_hash,
            "present": sorted(present),
            "others": sorted(others),
        },
    )


DONE: Final = ("Succeeded", "Failed")


def replicaset(found: Json, *, asked: str, fleet: FleetName, cluster: str) -> Accepted:
    """The event of a ReplicaSet as an API server has it; ``InvalidEvent`` where it is none.

    It is told for an admission, whose uid is ``asked``, and once for each: what is told in between may be
    older than what was listed, so the same version, listed again, is news again.
    """
    metadata = of(found, "metadata")
    namespace, name = metadata.get("namespace"), metadata.get("name")
    owners = metadata.get("ownerReferences")
    above = [
        {
            "kind": one.get("kind"),
            "name": one.get("name"),
            "uid": one.get("uid"),
            "group": group(one),
        }
        for one in (owners if isinstance(owners, list) else ())
        if isinstance(one, dict) and one.get("controller") is True
    ]
    replicas = of(found, "spec").get("replicas")
    data = {
        "cluster": cluster,
        "namespace": namespace,
        "name": name,
        "uid": metadata.get("uid"),
        "owner": _told(above[0]) if above else None,
        "template_hash": of(metadata, "labels").get(TEMPLATE_HASH, ""),
        "replicas": 1 if replicas is None else replicas,
    }
    event = {
        "specversion": "1.0",
        "type": REPLICASET,
        "source": f"{SOURCE}/{cluster}/lists",
        "id": f"{asked}/{metadata.get('uid')}/{metadata.get('resourceVersion')}",
        "subject": f"{cluster}/{namespace}/{name}",
        "fleet": fleet,
        "data": _told(data),
    }
    verdict = accept_line(canonical(event), families=frozenset({"workload"}))
    if isinstance(verdict, Rejected):
        raise InvalidEvent(verdict.reason, verdict.detail)
    return verdict


def pods_wanted(above: Json) -> int | None:
    """How many pods a ReplicaSet or a StatefulSet is to have; None where that cannot be read."""
    replicas = of(above, "spec").get("replicas")
    replicas = 1 if replicas is None else replicas
    return replicas if type(replicas) is int and 0 <= replicas <= MOST_REPLICAS else None


def ordinals_start(statefulset: Json) -> int:
    """At which ordinal the pods of a StatefulSet begin."""
    start = of(of(statefulset, "spec"), "ordinals").get("start")
    return start if type(start) is int and 0 <= start <= MOST_REPLICAS else 0


class Wanted(NamedTuple):
    """How many pods a workload wants, and how many of them on on-demand nodes, as its annotation says."""

    replicas: int
    min_available: str | None


def wanted_behind(replicaset_: Json) -> Wanted | None:
    """What the Deployment of a ReplicaSet wants: its controller writes that there; None where it did not."""
    notes = of(of(replicaset_, "metadata"), "annotations")
    replicas = notes.get(DESIRED_REPLICAS)
    if not isinstance(replicas, str) or not _COUNT.fullmatch(replicas):
        return None
    return _wanted(int(replicas), notes)


def wanted_by(statefulset: Json) -> Wanted | None:
    """What a StatefulSet wants; None where that cannot be read."""
    replicas = pods_wanted(statefulset)
    if replicas is None:
        return None
    return _wanted(replicas, of(of(statefulset, "metadata"), "annotations"))


def _wanted(replicas: int, notes: Json) -> Wanted | None:
    text = notes.get(MIN_AVAILABLE)
    if isinstance(text, str):
        # The core trims white space; what is no word besides it could not be read there either.
        text = word(text.strip(" \t\n\v\f\r")) or "-"
    if replicas > MOST_REPLICAS:
        return None
    return Wanted(replicas, text if isinstance(text, str) else None)


def is_split(replicaset_: Json) -> bool:
    """Whether the pods of a ReplicaSet, as it was told, are told apart: a Deployment's are."""
    owner = of(replicaset_, "owner")
    return owner.get("kind") == "Deployment" and owner.get("group") in {None, GROUP}


def _told(data: dict[str, Any]) -> dict[str, Any]:
    """Without what is not there: an event says nothing of it."""
    return {name: value for name, value in data.items() if value is not None}
