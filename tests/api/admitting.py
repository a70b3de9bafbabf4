"""An API server as the webhook meets it: reviews of pods, and what became of them.

The application is called without a socket, beside a decider in the same process, over a real log.
"""

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Any, Final

from ledger.admission import json_patch
from ledger.api.access import Access, Caller, Role
from ledger.api.admitting import Lists
from ledger.api.connections import Connections
from ledger.api.guard import Gate, Guard, Scope, Sent
from ledger.api.service import application
from ledger.cli import http_service
from ledger.engine.decider import decide
from ledger.log import lines
from ledger.log.admissions import AdmissionDesk
from ledger.log.database import connect

FLEET: Final = "shop"
CLUSTER: Final = "m1"
TOKEN: Final = "api-server"

Json = dict[str, Any]

_uids = count(1)


def uid() -> str:
    """One that no review had before."""
    return f"review-{next(_uids)}"


def pod(
    owner: tuple[str, str] = ("ReplicaSet", "web-7"),
    template: str = "7",
    *,
    name: str | None = None,
    annotations: Json | None = None,
    labels: Json | None = None,
    spec: Json | None = None,
) -> Json:
    """A pod as a controller creates it."""
    kind, above = owner
    metadata: Json = {
        "namespace": "shop",
        "labels": {"app": "web", "pod-template-hash": template, **(labels or {})},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": kind,
                "name": above,
                "uid": f"uid-of-{above}",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    if kind == "StatefulSet":
        del metadata["labels"]["pod-template-hash"]
    metadata |= {"name": name} if name else {"generateName": f"{above}-"}
    if annotations is not None:
        metadata["annotations"] = annotations
    containers = [{"name": "web", "image": "web:1", "env": [{"name": "SECRET", "value": "hush"}]}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers, **(spec or {})},
    }


def review(
    about: Json,
    *,
    asked: str | None = None,
    dry_run: bool = False,
    operation: str = "CREATE",
    resource: tuple[str, str] = ("", "pods"),
) -> Json:
    """The review of an object."""
    group, noun = resource
    gvr = {"group": group, "version": "v1", "resource": noun}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": asked or uid(),
            "kind": {"group": group, "version": "v1", "kind": about.get("kind", "")},
            "resource": gvr,
            "requestResource": gvr,
            "name": "",
            "namespace": "shop",
            "operation": operation,
            "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
            "object": about,
            "oldObject": None,
            "dryRun": dry_run,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    }


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def response(self) -> Json:
        """Of a review."""
        assert self.status == 200, self.body
        said = self.json
        assert (said["apiVersion"], said["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
        found: Json = said["response"]
        assert ("patch" in found) == ("patchType" in found)
        return found

    @property
    def operations(self) -> list[Json]:
        """The patch."""
        patch = self.response.get("patch")
        found: list[Json] = [] if patch is None else json.loads(b64decode(patch))
        return found

    @property
    def audit(self) -> Json:
        found: Json = self.response.get("auditAnnotations", {})
        return found

    @property
    def warnings(self) -> list[str]:
        found: list[str] = self.response.get("warnings", [])
        return found

    def applied(self, about: Json) -> Json:
        """The object as it is written."""
        patched: Json = json.loads(json.dumps(about))
        json_patch.apply(patched, self.operations)
        return patched


@dataclass(slots=True)
class Webhook:
    """The service, and its log."""

    app: Guard
    url: str
    desks: Connections[AdmissionDesk]
    """Those over which it asks."""

    async def ask(
        self,
        path: str,
        body: bytes,
        *,
        token: str | None = TOKEN,
        query: str = "",
    ) -> Answer:
        """One request."""
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
        if token is not None:
            headers.append((b"authorization", f"Bearer {token}".encode()))
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "https",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 443),
        }
        sent: list[Sent] = []
        given = asyncio.Event()

        async def receive() -> Sent:
            if given.is_set():
                await asyncio.Event().wait()
            given.set()
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Sent) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start = sent[0]
        named = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], named, b"".join(one.get("body", b"") for one in sent[1:]))

    async def mutate(
        self,
        question: Json,
        *,
        token: str | None = TOKEN,
        query: str = "timeout=10s",
        path: str = "",
    ) -> Answer:
        """Ask where a pod belongs; ``path`` names fleet and cluster where the token does not."""
        body = json.dumps(question).encode()
        return await self.ask(f"/admission/v1/mutate{path}", body, token=token, query=query)

    async def validate(self, question: Json, *, token: str | None = TOKEN) -> Answer:
        """Ask whether an object may be."""
        return await self.ask("/admission/v1/validate", json.dumps(question).encode(), token=token)

    async def tell(self, *events: bytes) -> None:
        """Let a cluster tell something."""
        connection = await connect(self.url, "ledger_writer")
        try:
            await lines.ingest(connection, list(events))
        finally:
            await connection.close()

    async def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """A look at the tables."""
        connection = await connect(self.url, None)
        try:
            return [tuple(row) for row in await connection.fetch(query, *values)]
        finally:
            await connection.close()

    async def asked(self) -> int:
        """How many admission events there are."""
        ((found,),) = await self.rows(
            "SELECT count(*) FROM ledger.events WHERE type LIKE 'ledger.workload.admission.%'"
        )
        return int(found)


def callers() -> Access:
    """Who may ask."""

    def known(token: str, caller: Caller) -> tuple[bytes, Caller]:
        return sha256(token.encode()).digest(), caller

    may: frozenset[Role] = frozenset({"admission"})
    return Access(
        (
            known(TOKEN, Caller(TOKEN, may, frozenset({FLEET}), CLUSTER)),
            known("every", Caller("every", may, None)),
            known("other", Caller("other", may, frozenset({"other"}), CLUSTER)),
            known("reader", Caller("reader", frozenset({"read"}), None)),
        )
    )


@asynccontextmanager
async def hooked(
    url: str,
    *,
    access: Access | None = None,
    lists: dict[str, Lists] | None = None,
    decides: bool = True,
) -> AsyncIterator[Webhook]:
    """A webhook, and unless it is to wait in vain somebody who decides."""
    stands_on = http_service.behind(
        url, Gate(access or callers()), create_fleets=False, most_undecided=1_000_000, lists=lists
    )
    stop = asyncio.Event()
    deciding = None
    if decides:
        deciding = asyncio.create_task(decide(url, holder="tests", until_idle=False, stop=stop))
    try:
        yield Webhook(application(stands_on), url, stands_on.asked)
    finally:
        await http_service.closed(stands_on)
        stop.set()
        if deciding is not None:
            await deciding


_numbers = count(1)


def told(what: str, subject: str, data: Json, *, fleet: str = FLEET) -> bytes:
    """An event of a cluster."""
    number = next(_numbers)
    event = {
        "specversion": "1.0",
        "id": f"e{number}",
        "source": "/tests",
        "type": f"ledger.{what}.v1",
        "subject": subject,
        "fleet": fleet,
        "data": data,
    }
    return json.dumps(event).encode() + b"\n"


def deployment(
    name: str, replicas: int, wanted: str | None, *, kind: str = "Deployment", **more: Any
) -> bytes:
    """A workload as its owner wants it."""
    data: Json = {
        "namespace": "shop",
        "name": name,
        "kind": kind,
        "replicas": replicas,
        "cluster": CLUSTER,
        **more,
    }
    if wanted is not None:
        data["min_available"] = wanted
    return told("workload.workload.upserted", f"shop/{name}", data)


def replicaset(name: str, template: str, replicas: int) -> bytes:
    """A ReplicaSet of a Deployment of that name."""
    data = {
        "cluster": CLUSTER,
        "namespace": "shop",
        "name": f"{name}-{template}",
        "uid": f"uid-of-{name}-{template}",
        "owner": {"kind": "Deployment", "name": name},
        "template_hash": template,
        "replicas": replicas,
    }
    subject = f"{CLUSTER}/shop/{name}-{template}"
    return told("workload.replicaset.upserted", subject, data)


def policy(**spot: Any) -> bytes:
    """A change of the fleet's policy."""
    return told("policy.policy.changed", FLEET, {"spot": spot})


def classes(answers: Sequence[Answer]) -> list[str]:
    """Of each answer the class that the pod was given."""
    return [one.audit["class"] for one in answers]
