"""How long an API server waits for the webhook: at a rate, beside reports of pods, and in a burst.

A service and a decider are processes of their own, the asker is a third: it sends each review at its own
moment, whether the ones before are answered or not, over as many connections as a client of Kubernetes
keeps (25), and counts from that moment. So a review that had to wait for a connection has waited. TLS
is left out: a kept connection pays for it once.

With an API server to be read (``api_server``) each review costs its ReplicaSet's reading too, shared by those
that come at once.

Where the time went is what the service says of each answer: in its line, at the fleet's lock, until the
commit, until the decision was read, until the answer was ready. What is left is the socket and the
asker. Afterwards every split is counted: a quick answer that is wrong is none.
"""

import asyncio
import json
import re
from base64 import b64decode
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from time import perf_counter
from typing import Any, Final

from ledger.cli.bench.api_server import listing
from ledger.cli.bench.engine_finding import Bar, Finding, digits, percentile
from ledger.cli.bench.servers import Postgres
from ledger.cli.bench.services import TOKEN, deciding, serving
from ledger.events.over_http import BATCH
from ledger.log import lines
from ledger.log.database import connect

FLEET: Final = "bench"
CLUSTER: Final = "m1"

P99_MS: Final = 25
BURST_P99_MS: Final = 250

CONNECTIONS: Final = 25
REPLICAS: Final = 250
"""Of each Deployment; as many of them take turns as it takes."""
PERCENT: Final = 30
"""Of them on on-demand nodes."""
BURST_ON_DEMAND: Final = 75
REPORTERS: Final = 8
"""Who report pods: whoever waits for an answer keeps the others from nothing."""
FEW: Final = 10
"""Reports in a batch that a review can wait for."""
MANY: Final = 500
WARM_SECONDS: Final = 2.0

PARTS: Final = ("read", "wait", "lock", "append", "decide", "reply")

_TIMED: Final = re.compile(rb"(\w+);dur=([0-9.]+)")


@dataclass(slots=True)
class _Answered:
    """What was heard."""

    waits: list[float] = field(default_factory=list)
    """Milliseconds."""
    parts: dict[str, list[float]] = field(default_factory=lambda: {part: [] for part in PARTS})
    classes: dict[str, Counter[str]] = field(default_factory=dict)
    """By Deployment."""
    unpatched: int = 0
    reservations: deque[tuple[str, str]] = field(default_factory=deque)
    """Of pods that nobody reported yet, with their Deployments."""


class _Connection:
    """One that is kept, for one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> "_Connection":
        """One that has said something: the service does not wait long for those that never do."""
        opened = cls(*await asyncio.open_connection("127.0.0.1", port))
        await opened._said(b"GET /livez HTTP/1.1\r\nhost: bench\r\n\r\n")
        return opened

    async def post(self, path: str, kind: str, body: bytes) -> tuple[bytes, bytes]:
        """Headers and body of an answer that is well."""
        return await self._said(
            f"POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {TOKEN}\r\n"
            f"content-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
            + body
        )

    async def _said(self, request: bytes) -> tuple[bytes, bytes]:
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None, head
        said = await self._reader.readexactly(int(length[1]))
        assert head.startswith(b"HTTP/1.1 200"), (head, said)
        return head, said

    def close(self) -> None:
        self._writer.close()


class _Asker:
    """An API server, as far as the webhook sees one."""

    def __init__(self, connections: Sequence[_Connection]) -> None:
        self._idle: asyncio.Queue[_Connection] = asyncio.Queue()
        for one in connections:
            self._idle.put_nowait(one)
        self._uids = count()
        self.answered = _Answered()

    def review(self, deployment: str) -> bytes:
        """The next one about a pod of a Deployment."""
        return _review(f"bench-{next(self._uids)}", deployment)

    async def ask(self, deployment: str, due: float, body: bytes) -> None:
        """One review, which is due at a moment."""
        connection = await self._idle.get()
        try:
            head, said = await connection.post(
                "/admission/v1/mutate?timeout=10s", "application/json", body
            )
        finally:
            self._idle.put_nowait(connection)
        answered = self.answered
        answered.waits.append(1000 * (perf_counter() - due))
        for part, milliseconds in _TIMED.findall(head):
            answered.parts[part.decode()].append(float(milliseconds))
        response = json.loads(said)["response"]
        if "patch" not in response:
            answered.unpatched += 1
            return
        assert json.loads(b64decode(response["patch"])), "a patch adds something"
        audit = response["auditAnnotations"]
        answered.classes.setdefault(deployment, Counter())[audit["class"]] += 1
        answered.reservations.append((deployment, audit["reservation"]))

    async def ask_at(self, rate: int, seconds: float, deployments: "_Deployments") -> None:
        """So many a second, for so long."""
        began = perf_counter()
        async with asyncio.TaskGroup() as asking:
            for number in range(round(rate * seconds)):
                due = began + number / rate
                deployment = deployments.next()
                body = self.review(deployment)
                await asyncio.sleep(max(0.0, due - perf_counter()))
                asking.create_task(self.ask(deployment, due, body))

    async def forget(self) -> None:
        """Begin to count."""
        classes, reservations = self.answered.classes, self.answered.reservations
        self.answered = _Answered(classes=classes, reservations=reservations)


class _Deployments:
    """Which one is next: each has room for its replicas."""

    def __init__(self, reviews: int) -> None:
        self.names = [f"web-{number}" for number in range(-(-reviews // REPLICAS))]
        self._asked = count()

    def next(self) -> str:
        """Each in its turn."""
        return self.names[next(self._asked) % len(self.names)]


async def steady(postgres: Postgres, part: str, *, rate: int, seconds: float) -> Finding:
    """Reviews at a rate, and nothing else."""

    async def run(asker: _Asker, deployments: _Deployments, _: int) -> None:
        await asker.ask_at(rate, seconds, deployments)

    return await _at_rate(postgres, run, part, rate=rate, seconds=seconds)


async def beside(
    postgres: Postgres, part: str, *, rate: int, seconds: float, reports: int, at_once: int
) -> Finding:
    """The same, while so many reports of pods a second come in over HTTP, so many in a batch.

    What stands in the log before a review is decided before it. So a bar is set for batches that are
    decided in less time than the bar, and the others show what they cost.
    """

    async def run(asker: _Asker, deployments: _Deployments, port: int) -> None:
        done = asyncio.Event()
        reporting = asyncio.create_task(_report(asker, port, reports, at_once, done))
        try:
            await asker.ask_at(rate, seconds, deployments)
        finally:
            done.set()
            await reporting

    found = await _at_rate(postgres, run, part, rate=rate, seconds=seconds, reports=reports)
    return found if at_once <= FEW else replace(found, bars=found.bars[1:])


async def burst(postgres: Postgres, part: str, *, pods: int) -> Finding:
    """All pods of one Deployment at once, as a ReplicaSet's controller creates them at its largest."""
    deployments = _Deployments(REPLICAS)
    wanted = min(BURST_ON_DEMAND, pods)
    async with postgres.database() as url:
        await _tell(url, deployments.names, replicas=pods, wanted=str(wanted))
        async with deciding(url), _asking(url, pods, _reads(part)) as (asker, _):
            await asker.ask_at(50, WARM_SECONDS, _Deployments(1))
            asker.answered = _Answered()
            await _tell(url, ["burst"], replicas=pods, wanted=str(wanted))
            bodies = [asker.review("burst") for _ in range(pods)]
            due = perf_counter()
            await asyncio.gather(*(asker.ask("burst", due, body) for body in bodies))
    answered = asker.answered
    return Finding(
        part=part,
        about=f"{pods} pods of one Deployment at once" + _with_reads(part),
        figures=_figures(answered),
        bars=[
            Bar("p99 ms", percentile(sorted(answered.waits), 99), at_most=BURST_P99_MS),
            Bar("off", abs(answered.classes["burst"]["od"] - wanted), at_most=0),
        ],
        postgres=postgres.version,
        bench="admission",
    )


async def _at_rate(
    postgres: Postgres,
    run: Callable[["_Asker", _Deployments, int], Awaitable[None]],
    part: str,
    *,
    rate: int,
    seconds: float,
    reports: int = 0,
) -> Finding:
    deployments = _Deployments(round(rate * (seconds + WARM_SECONDS)))
    async with postgres.database() as url:
        await _tell(url, deployments.names, replicas=REPLICAS, wanted=f"{PERCENT}%")
        async with deciding(url), _asking(url, CONNECTIONS, _reads(part)) as (asker, port):
            # What the first reviews take is a process's beginning, and not counted.
            await asker.ask_at(rate, WARM_SECONDS, deployments)
            await asker.forget()
            began = perf_counter()
            await run(asker, deployments, port)
            took = perf_counter() - began
            decided = await _reported(url)
    answered = asker.answered
    figures = _figures(answered) | {"per_second": round(len(answered.waits) / took)}
    if reports:
        figures |= {"reports": decided, "reports_per_second": round(decided / took)}
    wanted = -(-PERCENT * REPLICAS // 100)
    off = sum(abs(found["od"] - min(wanted, found.total())) for found in answered.classes.values())
    return Finding(
        part=part,
        about=f"{rate} reviews a second"
        + (f" beside {reports:,} reports of pods a second" if reports else "")
        + _with_reads(part),
        figures=figures,
        bars=[
            Bar("p99 ms", percentile(sorted(answered.waits), 99), at_most=P99_MS),
            Bar("reviews a second", figures["per_second"], at_least=rate * 95 // 100),
            Bar("off", off + answered.unpatched, at_most=0),
        ],
        postgres=postgres.version,
        bench="admission",
    )


def _figures(answered: _Answered) -> dict[str, Any]:
    waits = sorted(answered.waits)
    parts = {part: sorted(times) for part, times in answered.parts.items()}
    return {
        "reviews": len(waits),
        "p50_ms": digits(percentile(waits, 50)),
        "p99_ms": digits(percentile(waits, 99)),
        "max_ms": digits(waits[-1]),
        "p50_ms_of": {part: digits(percentile(of, 50)) for part, of in parts.items()},
        "p99_ms_of": {part: digits(percentile(of, 99)) for part, of in parts.items()},
        "unpatched": answered.unpatched,
    }


def _reads(part: str) -> bool:
    return part.endswith("reading")


def _with_reads(part: str) -> str:
    return ", each ReplicaSet read" if _reads(part) else ""


@asynccontextmanager
async def _asking(url: str, connections: int, reads: bool) -> AsyncIterator[tuple[_Asker, int]]:
    """A service, and somebody who asks it."""
    async with AsyncExitStack() as ends:
        servers = await ends.enter_async_context(listing(CLUSTER, REPLICAS)) if reads else None
        port = await ends.enter_async_context(
            serving(
                url,
                kubernetes=servers,
                roles=["admission", "ingest"],
                fleets=[FLEET],
                cluster=CLUSTER,
            )
        )
        kept = [await _Connection.open(port) for _ in range(connections)]
        try:
            yield _Asker(kept), port
        finally:
            for one in kept:
                one.close()


async def _report(asker: _Asker, port: int, rate: int, at_once: int, done: asyncio.Event) -> None:
    """Tell of admitted pods, each several times, as their cluster would, over a few connections in turn."""
    numbers, began, apart = count(), perf_counter(), at_once / rate

    async def tell(place: int) -> None:
        connection = await _Connection.open(port)
        try:
            due = began + place * apart
            while not done.is_set():
                await asyncio.sleep(max(0.0, due - perf_counter()))
                batch = [_pod(asker, next(numbers)) for _ in range(at_once)]
                await connection.post("/v1/events", BATCH, b"[" + b",".join(batch) + b"]")
                due += REPORTERS * apart
        finally:
            connection.close()

    async with asyncio.TaskGroup() as telling:
        for place in range(REPORTERS):
            telling.create_task(tell(place))


def _pod(asker: _Asker, number: int) -> bytes:
    """A report of a pod; those that were admitted first come first, and again."""
    waiting = asker.answered.reservations
    deployment, reservation = waiting[0]
    waiting.rotate(-1)
    data = {
        "cluster": CLUSTER,
        "namespace": "shop",
        "name": reservation.replace("/", "-"),
        "owner": {"kind": "ReplicaSet", "name": f"{deployment}-7", "uid": f"{deployment}-7"},
        "template_hash": "7",
        "reservation": reservation,
        "phase": "Running",
        "ready": bool(number % 2),
    }
    subject = f"{CLUSTER}/shop/{data['name']}"
    return _event(f"report-{number}", "workload.pod.observed", subject, data)


async def _reported(url: str) -> int:
    connection = await connect(url, None)
    try:
        found: int = await connection.fetchval(
            "SELECT count(*) FROM ledger.events WHERE type = 'ledger.workload.pod.observed.v1'"
        )
        return found
    finally:
        await connection.close()


async def _tell(url: str, names: Sequence[str], *, replicas: int, wanted: str) -> None:
    told = [_event("cluster", "cluster.cluster.upserted", CLUSTER, {"name": CLUSTER})]
    for name in names:
        workload = {
            "namespace": "shop",
            "name": name,
            "kind": "Deployment",
            "replicas": replicas,
            "cluster": CLUSTER,
            "min_available": wanted,
        }
        above = {
            "cluster": CLUSTER,
            "namespace": "shop",
            "name": f"{name}-7",
            "uid": f"{name}-7",
            "owner": {"kind": "Deployment", "name": name},
            "template_hash": "7",
            "replicas": replicas,
        }
        told.append(_event(name, "workload.workload.upserted", f"shop/{name}", workload))
        told.append(
            _event(f"{name}-7", "workload.replicaset.upserted", f"{CLUSTER}/shop/{name}-7", above)
        )
    connection = await connect(url, "ledger_writer")
    try:
        await lines.ingest(connection, [one + b"\n" for one in told], clock="wall")
    finally:
        await connection.close()


def _event(id_: str, what: str, subject: str, data: dict[str, Any]) -> bytes:
    return json.dumps(
        {
            "specversion": "1.0",
            "id": id_,
            "source": "bench",
            "type": f"ledger.{what}.v1",
            "subject": subject,
            "fleet": FLEET,
            "data": data,
        },
        separators=(",", ":"),
    ).encode()


def _review(uid: str, deployment: str) -> bytes:
    """As large as usual ones are: four kilobytes, most of which nobody here reads."""
    pods = {"group": "", "version": "v1", "resource": "pods"}
    container = {
        "name": "web",
        "image": "registry.local/web:1.2.3",
        "env": [{"name": f"SETTING_{number}", "value": "x" * 60} for number in range(24)],
        "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{deployment}-7-",
            "namespace": "shop",
            "labels": {"app": deployment, "pod-template-hash": "7"},
            "annotations": {"prometheus.io/scrape": "true"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": f"{deployment}-7",
                    "uid": f"{deployment}-7",
                    "controller": True,
                }
            ],
        },
        "spec": {"containers": [container], "restartPolicy": "Always"},
    }
    request = {
        "uid": uid,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": pods,
        "requestResource": pods,
        "namespace": "shop",
        "operation": "CREATE",
        "object": pod,
        "dryRun": False,
    }
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request},
        separators=(",", ":"),
    ).encode()
