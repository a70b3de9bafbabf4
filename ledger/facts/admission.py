"""To which capacity class a pod is admitted that is about to be created, and from what that follows.

It is a decision of kind ``capacity_class``, like the target that it keeps
(``ledger.facts.capacity_class``), and told from one by the admission that it names.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

from ledger.facts.canonical import Plain
from ledger.facts.own import UserPin
from ledger.facts.reason import Cause
from ledger.units import ClusterName, Uid

LIST_FIRST: Final = "list_first"
"""The flag of one that answers nothing before the pods are listed."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer to one admission, or the wish to have the pods listed before there is one."""

    namespace: str
    workload: str
    """Whose pod it is; its controller's name where the ledger knows no workload behind it."""
    uid: Uid | None
    """Of the workload; None where it is not known."""
    cluster: ClusterName
    template_hash: str
    admission_uid: str
    dry_run: bool
    capacity_class: UserPin | None
    """None leaves the pod as it is; also where the pods are to be listed first."""
    reservation: str | None
    """What the pod carries from now on: the name of the decision that opened it."""
    target: int | None
    """How many pods of a template, or of a StatefulSet, belong on on-demand nodes."""
    on_demand: int
    """How many of the template's counted as on-demand then, without those given up for this pod."""
    mode: str
    flags: tuple[str, ...]
    wanted: UserPin | None
    """What the rule said before the user's pin."""
    user_pin: UserPin | None
    index: int | None
    """The pod's place in a StatefulSet, counted from where the set begins."""
    live: int
    """How many pods of the template there were or would be, likewise."""
    told: int | None
    """How many the ReplicaSet is to have, as it was read for this pod or told; None where it was neither."""
    share: int | None
    """Of how many replicas the target is a part; None where no workload is known."""
    read: str | None
    """The text that counted: the workload's, the last one that could be read, or the policy's."""
    min_available: int | None
    majority: int | None
    retired: tuple[str, ...]
    """Reservations given up while open: there is no room for their pods beside this one."""
    assumed_lost: tuple[str, ...]
    """Reservations, or names of pods that had none, whose pods must have gone unheard of."""
    because: tuple[Cause, ...]

    kind: Literal["capacity_class"] = "capacity_class"


def result(decided: Admission) -> Plain:
    """The answer."""
    return {
        "namespace": decided.namespace,
        "workload": decided.workload,
        "uid": decided.uid,
        "cluster": decided.cluster,
        "template_hash": decided.template_hash,
        "admission_uid": decided.admission_uid,
        "dry_run": decided.dry_run,
        "class": decided.capacity_class,
        "reservation": decided.reservation,
        "target": decided.target,
        "on_demand": decided.on_demand,
        "mode": decided.mode,
        "flags": decided.flags,
    }


def reasons(decided: Admission) -> Plain:
    """The numbers behind it."""
    return {
        "because": decided.because,
        "wanted": decided.wanted,
        "user_pin": decided.user_pin,
        "index": decided.index,
        "live": decided.live,
        "told": decided.told,
        "share": decided.share,
        "read": decided.read,
        "min_available": decided.min_available,
        "majority": decided.majority,
        "retired": decided.retired,
        "assumed_lost": decided.assumed_lost,
    }


def is_one(answer: dict[str, Any]) -> bool:
    """Whether a result of kind ``capacity_class`` answers an admission."""
    return "admission_uid" in answer


def read(answer: dict[str, Any], why: dict[str, Any]) -> Admission:
    """What ``result`` and ``reasons`` spelled."""
    plain = answer | why
    capacity_class = plain.pop("class")
    lists = ("flags", "retired", "assumed_lost", "because")
    return Admission(
        **plain | {name: tuple(plain[name]) for name in lists}, capacity_class=capacity_class
    )
