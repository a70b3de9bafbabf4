"""``/admission/v1``: what an API server asks before it writes a pod.

The way of a webhook: an AdmissionReview in, one out, with status 200 whatever the answer is. Who asks says
by its token or certificate of which fleet and cluster it is; where it may speak for several, the address
says it. Of whatever is not split, nothing is recorded.

An API server asks hundreds of times a second while a workload grows, so the usual form of that question is
answered in front of the framework (``Door``), whose work for a request is more than all that is done for
it here. Whatever is unusual about a request is the framework's to judge.

A validating webhook asks as well, if the fleet's policy is strict: whether a pod carries what the ledger gave
it, and whether a StatefulSet can have the minimum that its annotation names.
"""

import re
from http import HTTPStatus
from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, Path, Query, Request, Response

from ledger.admission import answering, checking, review
from ledger.admission.review import Review
from ledger.api import documents
from ledger.api.access import Caller
from ledger.api.admitting import Admissions, Patience, Times
from ledger.api.asked import FLEET_PATTERN, FleetPath, allowed, caller_of, problems, unknown_fleet
from ledger.api.guard import Application, Receive, Scope, Send
from ledger.api.problems import Problem
from ledger.errors import InvalidRequest
from ledger.units import FleetName

USUAL_SECONDS: Final = 10.0
"""What an API server waits that does not say how long."""

LONGEST_SECONDS: Final = 30.0
"""What it waits at most: Kubernetes allows a webhook no more."""

SPARE_SECONDS: Final = 0.5
"""How much sooner than it would give up nothing more is waited for."""

TELLING: Final = 0.6
"""The part of that in which the log is told so; the rest is for the way there and back."""

CLUSTER_PATTERN: Final = r"^[^/@\x00-\x1f\x7f]{1,253}$"

ClusterPath = Annotated[
    str, Path(pattern=CLUSTER_PATTERN, description="Name of the cluster that asks.")
]
Timeout = Annotated[
    str | None,
    Query(
        pattern="^[0-9]{1,6}(ms|s|m)$",
        description="How long the API server waits, as it writes it: `3s`.",
    ),
]

_TIMEOUT: Final = re.compile("([0-9]+)(ms|s|m)")
_MUTATE: Final = re.compile(
    f"/admission/v1/mutate(/(?P<fleet>{FLEET_PATTERN[1:-1]})/(?P<cluster>{CLUSTER_PATTERN[1:-1]}))?"
)
_QUERY: Final = re.compile(rb"(timeout=(?P<timeout>[0-9]{1,6}(ms|s|m)))?")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}

RESPONSES: Final[dict[int | str, dict[str, Any]]] = problems(HTTPStatus.NOT_FOUND)
BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "description": "An AdmissionReview of admission.k8s.io/v1.",
                    "required": ["apiVersion", "kind", "request"],
                    "properties": {
                        "apiVersion": {"const": review.API_VERSION},
                        "kind": {"const": review.KIND},
                        "request": {
                            "type": "object",
                            "required": ["uid", "resource"],
                            "properties": {
                                "uid": {
                                    "type": "string",
                                    "pattern": "^[^\\x00-\\x1f\\x7f]{1,253}$",
                                },
                                "resource": {"type": "object"},
                                "object": {"type": ["object", "null"]},
                            },
                        },
                    },
                }
            }
        },
    }
}


class Door:
    """Answers ``mutate``, if it is asked for as it should be; all else is for the application behind."""

    def __init__(self, app: Application, admissions: Admissions) -> None:
        self._app = app
        self._admissions = admissions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        address = _MUTATE.fullmatch(scope["path"])
        asked = _QUERY.fullmatch(scope["query_string"])
        if address is None or asked is None or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        caller = allowed(scope, "admission")
        fleet, cluster = address["fleet"], address["cluster"]
        if fleet is None:
            fleet, cluster = _only(caller)
        else:
            _may(caller, fleet, cluster)
        timeout = None if asked["timeout"] is None else asked["timeout"].decode()
        # The guard has read it whole.
        body = (await receive()).get("body", b"")
        answer = await mutated(self._admissions, body, fleet, cluster, timeout)
        length = str(len(answer.body)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        if answer.times is not None:
            headers.append((b"server-timing", answer.times.header().encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})


class Mutated(NamedTuple):
    """What is sent, and how long it took where anything was to be decided."""

    body: bytes
    times: Times | None


async def mutated(
    admissions: Admissions, body: bytes, fleet: str, cluster: str, timeout: str | None
) -> Mutated:
    """The answer to a review."""
    asked = _read(body)
    by = review.controller(asked)
    if by is None:
        return Mutated(answering.unpatched(asked.uid), None)
    answer = await admissions.answer(
        FleetName(fleet), cluster, asked, by, patience=patience(timeout)
    )
    if answer is None:
        raise unknown_fleet(fleet)
    return Mutated(answer.body, answer.times)


def routes(admissions: Admissions) -> APIRouter:
    """All of them."""
    router = APIRouter(tags=["admission"])

    async def answered(request: Request, fleet: str, cluster: str, timeout: str | None) -> Response:
        answer = await mutated(admissions, await request.body(), fleet, cluster, timeout)
        timing = None if answer.times is None else {"Server-Timing": answer.times.header()}
        return _json(answer.body, timing)

    async def validated(request: Request, fleet: str) -> Response:
        asked = _read(await request.body())
        policies = await admissions.policies(FleetName(fleet))
        if policies is None:
            raise unknown_fleet(fleet)
        given = None
        number = checking.named(asked, fleet)
        if number is not None:
            given = await admissions.given(FleetName(fleet), number)
        workload = None
        if checking.is_scale(asked):
            subject = f"{asked.namespace}/{asked.name}"
            workload = await admissions.statefulset(FleetName(fleet), subject)
        return _json(checking.answer(asked, given, workload, policies.spot))

    @router.post(
        "/admission/v1/mutate",
        response_model=documents.AdmissionReview,
        responses=RESPONSES,
        openapi_extra=BODY,
    )
    async def mutate(request: Request, timeout: Timeout = None) -> Response:
        """Say on which capacity a pod belongs, as a patch, for the one cluster of the caller."""
        fleet, cluster = _only(caller_of(request, "admission"))
        return await answered(request, fleet, cluster, timeout)

    @router.post(
        "/admission/v1/mutate/{fleet}/{cluster}",
        response_model=documents.AdmissionReview,
        responses=RESPONSES,
        openapi_extra=BODY,
    )
    async def mutate_for(
        request: Request, fleet: FleetPath, cluster: ClusterPath, timeout: Timeout = None
    ) -> Response:
        """The same, for a caller that may speak for several."""
        _may(caller_of(request, "admission"), fleet, cluster)
        return await answered(request, fleet, cluster, timeout)

    @router.post(
        "/admission/v1/validate",
        response_model=documents.AdmissionReview,
        responses=RESPONSES,
        openapi_extra=BODY,
    )
    async def validate(request: Request) -> Response:
        """Refuse what a strict policy does not allow, for the one cluster of the caller."""
        fleet, _ = _only(caller_of(request, "admission"))
        return await validated(request, fleet)

    @router.post(
        "/admission/v1/validate/{fleet}/{cluster}",
        response_model=documents.AdmissionReview,
        responses=RESPONSES,
        openapi_extra=BODY,
    )
    async def validate_for(request: Request, fleet: FleetPath, cluster: ClusterPath) -> Response:
        """The same, for a caller that may speak for several."""
        _may(caller_of(request, "admission"), fleet, cluster)
        return await validated(request, fleet)

    return router


def patience(timeout: str | None) -> Patience:
    """How long there may be waited for an answer."""
    given = USUAL_SECONDS
    if timeout is not None and (found := _TIMEOUT.fullmatch(timeout)):
        given = min(int(found[1]) * _UNITS[found[2]], LONGEST_SECONDS)
    spare = min(SPARE_SECONDS, given / 2)
    return Patience(decided=given - spare, told=spare * TELLING)


def _read(body: bytes) -> Review:
    try:
        return review.read(body)
    except InvalidRequest as invalid:
        raise Problem(HTTPStatus.BAD_REQUEST, "invalid_review", invalid.message) from None


def _only(caller: Caller) -> tuple[str, str]:
    """The fleet and the cluster that a caller is of, where that is beyond doubt."""
    fleets = caller.fleets or ()
    if len(fleets) != 1 or caller.cluster is None:
        raise Problem(
            HTTPStatus.FORBIDDEN,
            "wrong_fleet",
            f"{caller.name} is not of one fleet and one cluster: the address has to name them",
        )
    (fleet,) = fleets
    return fleet, caller.cluster


def _may(caller: Caller, fleet: str, cluster: str) -> None:
    if not caller.may_see(fleet):
        raise Problem(
            HTTPStatus.FORBIDDEN, "wrong_fleet", f"{caller.name} may not speak for fleet {fleet}"
        )
    if caller.cluster not in {None, cluster}:
        raise Problem(
            HTTPStatus.FORBIDDEN,
            "wrong_cluster",
            f"{caller.name} may not speak for cluster {cluster}",
        )


def _json(body: bytes, headers: dict[str, str] | None = None) -> Response:
    return Response(body, media_type="application/json", headers=headers)
