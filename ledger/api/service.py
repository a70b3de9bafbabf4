"""The application: which address leads where, and what is said of it in OpenAPI."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from ledger import __version__
from ledger.api import accounts, admission, documents, jobs, reads, stream
from ledger.api.accounts import Accounts
from ledger.api.admission import Door
from ledger.api.admitting import Admissions
from ledger.api.asked import caller_of, json, problems, refuse_unknown_parameters
from ledger.api.connections import Connections
from ledger.api.guard import UNFORESEEN, Gate, Guard, named
from ledger.api.heads import Heads
from ledger.api.intake import Events
from ledger.api.jobs import Jobs
from ledger.api.problems import MEDIA_TYPE, Code, Problem
from ledger.api.readers import Reader
from ledger.api.readiness import Readiness
from ledger.errors import LedgerError
from ledger.events import over_http
from ledger.log.admissions import AdmissionDesk
from ledger.log.desk import Desk

DESCRIPTION: Final = (
    "Events in, decisions out. Every answer to a request that is not what was asked for is a problem"
    " (RFC 9457) whose `code` does not change. Below /v1/ a query has the parameters that are told here and no"
    " others, each once: whatever else it has is refused (422, `invalid_parameter`). HEAD is answered as GET is."
)

_ROUTING: Final[Mapping[int, Code]] = {404: "unknown_route", 405: "wrong_method"}


@dataclass(frozen=True, slots=True)
class Behind:
    """What the routes stand on."""

    gate: Gate
    desks: Connections[Desk]
    readiness: Readiness
    readers: Connections[Reader]
    events: Events
    accounts: Accounts
    jobs: Jobs
    asked: Connections[AdmissionDesk]
    admissions: Admissions


def application(behind: Behind) -> Guard:
    """The whole of it, behind its guard."""
    return Guard(Door(Heads(_app(behind)), behind.admissions), behind.gate)


def openapi(behind: Behind) -> dict[str, Any]:
    """What can be asked, as an OpenAPI 3.1 document."""
    return _app(behind).openapi()


def _app(behind: Behind) -> FastAPI:
    app = FastAPI(
        title="Ledger",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        # A redirect would name the host that whoever asks has named.
        redirect_slashes=False,
        openapi_url="/openapi.json",
        dependencies=[Depends(refuse_unknown_parameters)],
    )
    _handle_problems(app)
    _health(app, behind)
    _intake(app, behind)
    app.include_router(reads.routes(behind.readers, behind.desks))
    app.include_router(accounts.routes(behind.readers, behind.accounts))
    app.include_router(jobs.routes(behind.readers, behind.jobs))
    app.include_router(stream.routes(behind.readers, behind.gate))
    app.include_router(admission.routes(behind.admissions))
    made = app.openapi

    def document() -> dict[str, Any]:
        return _completed(made())

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's own way to complete it
    return app


def _handle_problems(app: FastAPI) -> None:
    def answer(problem: Problem) -> Response:
        return Response(
            problem.body(),
            status_code=problem.status,
            media_type=MEDIA_TYPE,
            headers=dict(problem.headers),
        )

    async def counted(_: Request, error: Exception) -> Response:
        assert isinstance(error, Problem), "it is handled by its class"
        behind_gate(app).served.problems[error.code] += 1
        return answer(error)

    async def unforeseen(request: Request, error: Exception) -> Response:
        # One that is none of the ledger's is raised again behind this, and logged by the guard.
        problem = named(error) if isinstance(error, LedgerError) else UNFORESEEN
        return await counted(request, problem)

    async def misplaced(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException), "it is handled by its class"
        code = _ROUTING.get(error.status_code, "invalid_parameter")
        headers = {
            name: "GET, HEAD" if (name, value) == ("Allow", "GET") else value
            for name, value in (error.headers or {}).items()
        }
        return answer(Problem(HTTPStatus(error.status_code), code, str(error.detail), headers))

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError), "it is handled by its class"
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return answer(
            Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_parameter", f"{place}: {first['msg']}"
            )
        )

    app.add_exception_handler(Problem, counted)
    app.add_exception_handler(LedgerError, unforeseen)
    app.add_exception_handler(Exception, unforeseen)
    app.add_exception_handler(HTTPException, misplaced)
    app.add_exception_handler(RequestValidationError, invalid)


def behind_gate(app: FastAPI) -> Gate:
    """The gate of an application."""
    gate: Gate = app.state.gate
    return gate


def _health(app: FastAPI, behind: Behind) -> None:
    app.state.gate = behind.gate

    @app.get("/livez", response_model=documents.Standing, tags=["health"])
    async def livez() -> Response:
        """Whether the process answers at all."""
        return json({"status": "ok"})

    @app.get(
        "/readyz",
        response_model=documents.Standing,
        responses={503: {"model": documents.Standing}},
        tags=["health"],
    )
    async def readyz() -> Response:
        """Whether to send requests here: not once it is about to end, nor without its database."""
        status = "draining" if behind.gate.draining else await behind.readiness.of_log()
        answer = json({"status": status})
        if status != "ok":
            answer.status_code = HTTPStatus.SERVICE_UNAVAILABLE
        return answer


def _intake(app: FastAPI, behind: Behind) -> None:
    event = {
        "type": "object",
        "description": "A CloudEvent 1.0; docs/events.md has what each type says.",
    }
    bodies = {
        over_http.SINGLE: {"schema": event},
        over_http.BATCH: {"schema": {"type": "array", "items": event, "minItems": 1}},
        "application/json": {
            "schema": {"type": "object", "description": "The data, with ce- headers beside it."}
        },
    }

    @app.post(
        "/v1/events",
        response_model=documents.Items,
        responses=problems(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, HTTPStatus.TOO_MANY_REQUESTS),
        openapi_extra={"requestBody": {"required": True, "content": bodies}},
        tags=["ingest"],
    )
    async def events(request: Request) -> Response:
        """Take CloudEvents in: one, a batch, or one in binary mode. All of them, or none."""
        caller = caller_of(request, "ingest", "operate")
        told = await behind.events.take(
            caller,
            request.headers.get("content-type", ""),
            request.headers.raw,
            await request.body(),
        )
        return Response(told, media_type="application/json")


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    """What FastAPI cannot know: who may come in, and what every problem looks like."""
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas[documents.ProblemDocument.__name__] = documents.ProblemDocument.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "certificate": {"type": "mutualTLS"},
    }
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if path.startswith(("/v1/", "/admission/")):
                operation["security"] = [{"token": []}, {"certificate": []}]
    return document
