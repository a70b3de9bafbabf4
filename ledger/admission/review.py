"""What an API server asks: an AdmissionReview of admission.k8s.io/v1, and whether it is ours to answer.

Only what an answer needs is read; whatever else stands there is left alone. A review that cannot be
read is the caller's fault (``InvalidRequest``). One that can is about a pod that is split, or it is
beyond us: pods that nobody controls, or somebody whose pods are not told apart, static pods that a
kubelet mirrors, and pods that have their node already.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

import orjson

from ledger.errors import InvalidRequest

Json = dict[str, Any]

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"

GROUP: Final = "apps"
OWNERS: Final = frozenset({"ReplicaSet", "StatefulSet"})
"""Whose pods are split, in that group: a ReplicaSet of another one is another thing."""

MIRROR: Final = "kubernetes.io/config.mirror"
TEMPLATE_HASH: Final = "pod-template-hash"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"

_WORD: Final = re.compile(r"[^\x00-\x1f\x7f]{1,253}")
_NAME: Final = re.compile(r"[^/@\x00-\x1f\x7f]{1,253}")


@dataclass(frozen=True, slots=True)
class Review:
    """A question."""

    uid: str
    resource: tuple[str, str, str]
    """Group, resource and subresource."""
    operation: str
    namespace: str
    name: str
    dry_run: bool
    object: Json | None
    """What is about to be written."""
    old: Json | None = None
    """What is there."""


@dataclass(frozen=True, slots=True)
class Controller:
    """Who has a pod made."""

    kind: str
    name: str
    uid: str | None


def read(body: bytes) -> Review:
    """What a request says; ``InvalidRequest`` where it is no review."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _no_review(f"it is no JSON: {error}") from None
    if not isinstance(review, dict) or (review.get("apiVersion"), review.get("kind")) != (
        API_VERSION,
        KIND,
    ):
        raise _no_review(f"a {KIND} of {API_VERSION} belongs here")
    request = review.get("request")
    if not isinstance(request, dict):
        raise _no_review("it has no request")
    uid = request.get("uid")
    if not isinstance(uid, str) or not _WORD.fullmatch(uid):
        raise _no_review("request.uid is no uid")
    resource = request.get("resource")
    if not isinstance(resource, dict):
        raise _no_review("request.resource says of what it is")
    about = request.get("object")
    if about is not None and not isinstance(about, dict):
        raise _no_review("request.object is no object")
    there = request.get("oldObject")
    return Review(
        uid=uid,
        resource=(
            _text(resource, "group"),
            _text(resource, "resource"),
            _text(request, "subResource"),
        ),
        operation=_text(request, "operation"),
        namespace=_text(request, "namespace"),
        name=_text(request, "name"),
        dry_run=request.get("dryRun") is True,
        object=about,
        old=there if isinstance(there, dict) else None,
    )


def controller(review: Review) -> Controller | None:
    """Who has the pod of a review made, if it is one that is split; None leaves it as it is."""
    pod = review.object
    if pod is None or review.operation != "CREATE" or review.resource != ("", "pods", ""):
        return None
    metadata = of(pod, "metadata")
    if MIRROR in of(metadata, "annotations") or of(pod, "spec").get("nodeName"):
        return None
    if not _NAME.fullmatch(review.namespace):
        return None
    owners = metadata.get("ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, dict) and owner.get("controller") is True:
            return _known(owner)
    return None


def of(parent: Json, name: str) -> Json:
    """The object under a name; an empty one where there is none."""
    found = parent.get(name)
    return found if isinstance(found, dict) else {}


def group(about: Json) -> str | None:
    """The API group that something says it is of: empty for the core's; None where it does not say."""
    version = about.get("apiVersion")
    if not isinstance(version, str):
        return None
    return version.rpartition("/")[0]


def word(value: object) -> str | None:
    """A text as an event may carry it; None where it is none."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else None


def _known(owner: Json) -> Controller | None:
    kind, name = _text(owner, "kind"), _text(owner, "name")
    if group(owner) != GROUP or kind not in OWNERS or not _NAME.fullmatch(name):
        return None
    return Controller(kind, name, word(owner.get("uid")))


def _text(parent: Json, name: str) -> str:
    value = parent.get(name)
    return value if isinstance(value, str) else ""


def _no_review(why: str) -> InvalidRequest:
    return InvalidRequest("invalid_review", why)
