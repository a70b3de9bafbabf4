"""How many pods of a workload have to be on on-demand nodes, its *target*, and in which way.

``single``       one replica or none: it runs on an on-demand node, annotation or not
``slots``        a Deployment: as many as the annotation says, whichever pods those are
``ordinal``      a StatefulSet: the pods with the lowest ordinals, and always a majority of them
``passthrough``  nothing was asked for: the pods are left as they are

A StatefulSet is held to a majority because its pods vote: with half of them on spot nodes, one bad
minute of the spot market ends the quorum. How strictly, the policy says: ``clamp`` raises too small
a number and says so, ``literal`` takes it as written, and ``strict`` clamps pods that exist already
and refuses the StatefulSet itself (``violation``).

An annotation that cannot be read never stops a pod. The last one that could be read counts instead.
"""

from dataclasses import dataclass, replace
from typing import Literal

from ledger.core.shares import require_count
from ledger.core.spot.min_available import read_min_available
from ledger.errors import InvalidRequest

Mode = Literal["single", "slots", "ordinal", "passthrough"]
"""In which way a target is kept. The names are public."""

Strictness = Literal["clamp", "strict", "literal"]
"""What becomes of a StatefulSet's annotation that no majority would follow."""

Flag = Literal[
    "annotation_invalid",
    "last_valid_used",
    "default_used",
    "raised_to_majority",
    "all_on_demand",
]
"""What a person should know about a target, always in this order. The names are public."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What is read of a workload. ``last_valid`` is the newest annotation that could be read."""

    kind: str
    replicas: int | None
    annotation: str | None
    last_valid: str | None = None

    @property
    def count(self) -> int:
        """Its replicas; Kubernetes takes an unset number for one."""
        return 1 if self.replicas is None else self.replicas

    def annotated(self, annotation: str | None) -> "Workload":
        """The workload with another annotation; what could be read before is remembered."""
        last_valid = self.annotation if _readable(self.annotation) else self.last_valid
        return replace(self, annotation=annotation, last_valid=last_valid)

    def scaled(self, replicas: int | None) -> "Workload":
        """The workload with another number of replicas."""
        return replace(self, replicas=replicas)


@dataclass(frozen=True, slots=True)
class Target:
    """``pods`` have to be on on-demand nodes; None leaves every pod as it is.

    ``read`` is the text that counted, ``min_available`` what it says, and ``majority`` the least
    that a StatefulSet of this size may have.
    """

    pods: int | None
    mode: Mode
    flags: tuple[Flag, ...] = ()
    read: str | None = None
    min_available: int | None = None
    majority: int | None = None


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a StatefulSet is refused where the policy is strict."""

    code: Literal["annotation_invalid", "min_available_too_small", "min_available_too_large"]
    min_available: int | None
    least: int
    most: int


def target(
    workload: Workload, *, default: str | None = None, strictness: Strictness = "clamp"
) -> Target:
    """The target of ``workload``; ``default`` is the annotation of workloads that carry none."""
    replicas = workload.count
    require_count("replicas", replicas)
    if workload.kind not in ("Deployment", "StatefulSet"):
        return Target(None, "passthrough")
    if replicas <= 1:
        return Target(1, "single")

    text, flags = _text(workload, default)
    wanted = read_min_available(text, replicas=replicas).pods
    if wanted is None:
        return Target(None, "passthrough", flags, text)
    majority = None
    pods = wanted
    if workload.kind == "StatefulSet":
        majority = _majority(replicas)
        if wanted < majority and strictness != "literal":
            flags = (*flags, "raised_to_majority")
            pods = majority
    if pods >= replicas:
        flags = (*flags, "all_on_demand")
        pods = replicas
    mode: Mode = "slots" if majority is None else "ordinal"
    return Target(pods, mode, flags, text, wanted, majority)


def violation(workload: Workload) -> Violation | None:
    """Why a strict policy refuses ``workload``, if it does.

    A StatefulSet has to name more than half of its replicas and fewer than all of them. Of two
    replicas no number is both, so there all of them may be named.
    """
    replicas = workload.count
    require_count("replicas", replicas)
    if workload.kind != "StatefulSet" or workload.annotation is None or replicas <= 1:
        return None
    least = _majority(replicas)
    most = max(least, replicas - 1)
    wanted = read_min_available(workload.annotation, replicas=replicas).pods
    if wanted is None:
        return Violation("annotation_invalid", None, least, most)
    if wanted < least:
        return Violation("min_available_too_small", wanted, least, most)
    if wanted > most:
        return Violation("min_available_too_large", wanted, least, most)
    return None


def _text(workload: Workload, default: str | None) -> tuple[str | None, tuple[Flag, ...]]:
    """Which text counts: the annotation, the last one that could be read, or the policy's."""
    if workload.annotation is None:
        if default is None:
            return None, ()
        if not _readable(default):
            raise InvalidRequest("invalid_request", f"default: {default!r} is no count of pods")
        return default, ("default_used",)
    if _readable(workload.annotation):
        return workload.annotation, ()
    if _readable(workload.last_valid):
        return workload.last_valid, ("annotation_invalid", "last_valid_used")
    return None, ("annotation_invalid",)


def _readable(annotation: str | None) -> bool:
    # Whether a text can be read does not depend on how many replicas there are.
    return read_min_available(annotation, replicas=1).pods is not None


def _majority(replicas: int) -> int:
    return replicas // 2 + 1
