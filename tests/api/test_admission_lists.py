"""Where the log does not say enough, an API server's lists do: an emulated one, over a real socket."""

import asyncio
import http.client
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from ledger.admission import asking
from ledger.api import kubernetes
from ledger.api.braking import NoList
from ledger.errors import LogUnavailable, SetupProblem
from ledger.log.admissions import AdmissionDesk, Asked, Build, Policies
from ledger.log.fleets import Fleet
from tests.api.admitting import (
    CLUSTER,
    Answer,
    Json,
    Webhook,
    classes,
    deployment,
    hooked,
    pod,
    replicaset,
    review,
    told,
)
from tests.postgres import Postgres

pytestmark = pytest.mark.asyncio(loop_scope="module")


Clock = Callable[[], float]


@dataclass(slots=True)
class Objects:
    """What an API server has."""

    lists: dict[str, list[Json]] = field(default_factory=dict)
    broken: bool = False
    status: int = 500
    """What it says then."""
    hangs_up: bool = False
    """Whether it closes each connection behind its answer, and says nothing of that."""
    connections: set[tuple[str, int]] = field(default_factory=set)
    """From where it was asked: each connection has a port of its own."""
    said: Json | None = None
    """What it says whatever it is asked."""
    came: threading.Event = field(default_factory=threading.Event)
    """Set whenever it is asked."""
    may_say: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)

    def listed(self, path: str) -> Json | None:
        """A list; None where it is not to be had."""
        self.asked.append(path)
        self.came.set()
        self.may_say.wait(5.0)
        if self.broken:
            return None
        if self.said is not None:
            return self.said
        parts = urlsplit(path)
        noun = parts.path.rpartition("/")[2]
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        found = self.lists.get(noun, [])
        if label := query.get("labelSelector"):
            key, _, value = label.partition("=")
            found = [one for one in found if one["metadata"]["labels"].get(key) == value]
        if name := query.get("fieldSelector"):
            found = [one for one in found if f"metadata.name={one['metadata']['name']}" == name]
        return {"kind": "List", "items": found}


@pytest.fixture(scope="module")
def objects() -> Objects:
    made = Objects()
    made.may_say.set()
    return made


@pytest.fixture(scope="module")
def server(objects: Objects) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            assert self.headers["Authorization"] == "Bearer of-the-account"
            objects.connections.add(self.client_address)
            found = objects.listed(self.path)
            body = b"" if found is None else json.dumps(found).encode()
            self.send_response(objects.status if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = objects.hangs_up

        def log_message(self, *_: Any) -> None:  # type: ignore[explicit-override]  # Python 3.11 has no such decorator
            """Nobody reads it."""

    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.daemon_threads = True
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}"
    served.shutdown()
    thread.join()
    served.server_close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def webhook(
    postgres: Postgres, server: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Webhook]:
    directory = tmp_path_factory.mktemp("account")
    token, file = directory / "token", directory / "kubernetes.json"
    token.write_text("of-the-account\n")
    file.write_text(json.dumps({CLUSTER: {"server": server, "token": str(token)}}))
    async with postgres.database() as url, hooked(url, lists={**kubernetes.read(file)}) as running:
        await running.tell(told("cluster.cluster.upserted", CLUSTER, {"name": CLUSTER}))
        yield running


def created(answer: Answer, about: Json, name: str, **status: Any) -> Json:
    """The pod as it is there once it was admitted."""
    patched = answer.applied(about)
    patched["metadata"]["name"] = name
    patched["status"] = {"phase": "Running", **status}
    return patched


async def events(webhook: Webhook, *words: str) -> list[Json]:
    """What was told by these types."""
    rows = await webhook.rows(
        "SELECT convert_from(payload, 'utf8') FROM ledger.events WHERE type = ANY($1)"
        " ORDER BY position",
        [f"ledger.workload.{word}.v1" for word in words],
    )
    return [json.loads(payload)["data"] for (payload,) in rows]


@pytest.mark.parametrize(("lost", "class_"), [("first", "od"), ("second", "spot")])
async def test_where_a_pod_must_have_gone_they_are_listed_before_the_answer(
    webhook: Webhook, objects: Objects, lost: str, class_: str
) -> None:
    name = f"lists-{lost}"
    await webhook.tell(deployment(name, 2, "1"), replicaset(name, "7", 2))
    about = pod(("ReplicaSet", f"{name}-7"))
    first, second = [await webhook.mutate(review(about)) for _ in range(2)]
    assert classes([first, second]) == ["od", "spot"]
    there = created(second if lost == "first" else first, about, f"{name}-a")
    gone = created(first, about, f"{name}-b", phase="Failed")
    objects.lists["pods"] = [there, gone]
    objects.lists["replicasets"] = []
    objects.asked.clear()

    third = await webhook.mutate(review(about))

    assert classes([third]) == [class_]
    above = f"/apis/apps/v1/namespaces/shop/replicasets?fieldSelector=metadata.name%3D{name}-7"
    pods = "/api/v1/namespaces/shop/pods?labelSelector=pod-template-hash%3D7"
    assert objects.asked == [above, pods, above]
    listed = (await events(webhook, "pods.listed"))[-1]
    assert listed["present"] == [
        there["metadata"]["annotations"]["distributed-scheduling/reservation"]
    ]
    assert listed["others"] == []


def listed_replicaset(name: str, replicas: int, *, version: str) -> Json:
    """A ReplicaSet of a Deployment of that name, as an API server has it."""
    return {
        "metadata": {
            "namespace": "shop",
            "name": f"{name}-7",
            "uid": f"uid-of-{name}-7",
            "resourceVersion": version,
            "labels": {"pod-template-hash": "7"},
            "ownerReferences": [{"kind": "Deployment", "name": name, "controller": True}],
        },
        "spec": {"replicas": replicas},
    }


def listed_set(name: str, replicas: int, *, start: int = 0) -> Json:
    """A StatefulSet, as an API server has it."""
    return {
        "metadata": {"namespace": "shop", "name": name, "uid": f"uid-of-{name}", "labels": {}},
        "spec": {"replicas": replicas, "ordinals": {"start": start}},
    }


async def test_a_replicaset_that_has_more_than_was_told_is_read_and_its_pods_need_no_list(
    webhook: Webhook, objects: Objects
) -> None:
    await webhook.tell(deployment("grows", 4, "2"), replicaset("grows", "7", 1))
    about = pod(("ReplicaSet", "grows-7"))
    first = await webhook.mutate(review(about))
    objects.lists["pods"] = [created(first, about, "grows-7-a")]
    objects.lists["replicasets"] = [listed_replicaset("grows", 4, version="77")]

    others = [await webhook.mutate(review(about)) for _ in range(3)]

    assert classes([first, *others]) == ["od", "od", "spot", "spot"]
    listed = [one["present"] for one in await events(webhook, "pods.listed")]
    assert [first.audit["reservation"]] not in listed


@pytest.mark.parametrize("there", [True, False])
async def test_what_is_listed_counts_however_often_something_older_is_told_and_the_version_is_the_same(
    webhook: Webhook, objects: Objects, *, there: bool
) -> None:
    name = f"retold-{there}".lower()
    await webhook.tell(deployment(name, 10, "2"), replicaset(name, "7", 3))
    about = pod(("ReplicaSet", f"{name}-7"))
    objects.lists["replicasets"] = [listed_replicaset(name, 10, version="79")]
    objects.lists["pods"] = []
    answers: list[Answer] = []
    for number in range(10):
        if number == 4:
            await webhook.tell(replicaset(name, "7", 3))
        answers.append(await webhook.mutate(review(about)))
        if there:
            objects.lists["pods"].append(created(answers[-1], about, f"{name}-{number}"))

    assert classes(answers).count("od") == 2


async def test_those_who_want_the_same_list_at_once_share_one(
    webhook: Webhook, objects: Objects
) -> None:
    await webhook.tell(deployment("crowd", 9, "2"), replicaset("crowd", "7", 1))
    about = pod(("ReplicaSet", "crowd-7"))
    first = await webhook.mutate(review(about))
    objects.lists["pods"] = [created(first, about, "crowd-7-a")]
    objects.lists["replicasets"] = [listed_replicaset("crowd", 9, version="78")]
    objects.asked.clear()

    others = await asyncio.gather(*(webhook.mutate(review(about)) for _ in range(8)))

    assert classes([first, *others]).count("od") == 2
    assert len([path for path in objects.asked if "/pods?" in path]) <= 4
    assert len([path for path in objects.asked if "/replicasets?" in path]) <= 8


async def test_what_a_shared_list_says_of_the_replicaset_is_told_once_for_all_who_share_it(
    webhook: Webhook, objects: Objects
) -> None:
    await webhook.tell(deployment("shares", 4, "2"), replicaset("shares", "7", 4))
    about = pod(("ReplicaSet", "shares-7"))
    objects.lists["replicasets"] = [listed_replicaset("shares", 4, version="78")]
    objects.lists["pods"] = []
    await asyncio.gather(*(webhook.mutate(review(about)) for _ in range(4)))
    objects.asked.clear()

    again = await asyncio.gather(*(webhook.mutate(review(about)) for _ in range(4)))

    assert classes(again).count("od") == 2
    lists = len([path for path in objects.asked if "/pods?" in path])
    told_of = [one["name"] for one in await events(webhook, "replicaset.upserted")]
    assert 1 <= lists < 4
    assert told_of.count("shares-7") == 1 + lists
    assert len(await events(webhook, "pods.listed")) >= 4


async def test_a_pod_that_is_replaced_before_anybody_told_of_fewer_replicas_is_made_up_for(
    webhook: Webhook, objects: Objects
) -> None:
    await webhook.tell(deployment("fewer", 6, "1"), replicaset("fewer", "7", 6))
    about = pod(("ReplicaSet", "fewer-7"))
    objects.lists["replicasets"] = [listed_replicaset("fewer", 3, version="90")]
    objects.lists["pods"] = []
    three = [await webhook.mutate(review(about)) for _ in range(3)]
    assert classes(three) == ["od", "spot", "spot"]
    objects.lists["pods"] = [created(one, about, one.audit["number"]) for one in three[1:]]

    fourth = await webhook.mutate(review(about))

    assert classes([fourth]) == ["od"]


async def test_a_share_is_of_as_many_replicas_as_its_replicaset_says(
    webhook: Webhook, objects: Objects
) -> None:
    await webhook.tell(deployment("waved", 4, "50%"), replicaset("waved", "7", 4))
    listed = listed_replicaset("waved", 8, version="91")
    listed["metadata"]["annotations"] = {
        "deployment.kubernetes.io/desired-replicas": "8",
        "distributed-scheduling/min-available": "1",
    }
    objects.lists["replicasets"] = [listed]

    answers = [await webhook.mutate(review(pod(("ReplicaSet", "waved-7")))) for _ in range(8)]

    assert classes(answers).count("od") == 4, "the annotation is told, and the replicas were read"


async def test_a_replicaset_of_another_life_says_nothing(
    webhook: Webhook, objects: Objects
) -> None:
    await webhook.tell(deployment("lived", 2, "1"), replicaset("lived", "7", 2))
    objects.lists["replicasets"] = [listed_replicaset("lived", 1, version="92")]
    about = pod(("ReplicaSet", "lived-7"))
    about["metadata"]["ownerReferences"][0]["uid"] = "another"
    before = len(await events(webhook, "pods.listed"))

    answers = [await webhook.mutate(review(about)) for _ in range(2)]

    assert classes(answers) == ["od", "spot"]
    assert len(await events(webhook, "pods.listed")) == before


class Slow:
    """An API server that answers after everybody has gone, or a while before, or that fails."""

    def __init__(
        self, found: Json | None = None, *, seconds: float = 60.0, error: OSError | None = None
    ) -> None:
        self.asked = 0
        self.found = found
        self.seconds = seconds
        self.error = error

    async def pods(self, namespace: str, template_hash: str) -> list[Json]:
        """None."""
        await self._read()
        return []

    async def replicaset(self, namespace: str, name: str) -> Json | None:
        """What is there."""
        return await self._read()

    async def statefulset(self, namespace: str, name: str) -> Json | None:
        """What is there."""
        return await self._read()

    def close(self) -> None:
        """There is nothing to be let go."""

    async def _read(self) -> Json | None:
        self.asked += 1
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        return self.found


@asynccontextmanager
async def beside(postgres: Postgres, slow: Slow) -> AsyncIterator[Webhook]:
    """A webhook of its own, and an API server that is slow."""
    async with postgres.database() as url, hooked(url, lists={CLUSTER: slow}) as webhook:
        await webhook.tell(told("cluster.cluster.upserted", CLUSTER, {"name": CLUSTER}))
        yield webhook


async def test_an_api_server_that_is_slow_is_waited_for_once_and_then_what_was_told_counts(
    postgres: Postgres,
) -> None:
    slow = Slow()
    async with beside(postgres, slow) as webhook:
        await webhook.tell(deployment("slow", 3, "1"), replicaset("slow", "7", 3))
        about = pod(("ReplicaSet", "slow-7"))

        answers = [await webhook.mutate(review(about)) for _ in range(3)]

    assert classes(answers) == ["od", "spot", "spot"]
    assert not any(one.warnings for one in answers)
    assert slow.asked == 1
    assert webhook.app._gate.served.owners_read == {"late": 1, "skipped": 2}
    assert float(answers[0].headers["server-timing"].split(",")[0].removeprefix("read;dur=")) > 250


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (NoList("403 Forbidden", 403), 1),
        (NoList("404 Not Found", 404), 2),
        (ConnectionRefusedError("nobody is there"), 1),
    ],
)
async def test_an_api_server_that_gives_nothing_is_not_asked_by_each_review(
    postgres: Postgres, error: OSError, asked: int
) -> None:
    failing = Slow(seconds=0.0, error=error)
    async with beside(postgres, failing) as webhook:
        for name in ("given", "other"):
            await webhook.tell(deployment(name, 3, "1"), replicaset(name, "7", 3))
        abouts = [pod(("ReplicaSet", name)) for name in ["given-7"] * 3 + ["other-7"] * 3]

        with capture_logs() as logged:
            answers = [await webhook.mutate(review(about)) for about in abouts]

    assert classes(answers) == ["od", "spot", "spot"] * 2, "what was told counts"
    assert failing.asked == asked
    assert webhook.app._gate.served.owners_read == {"failed": asked, "skipped": 6 - asked}
    said = [one["why"] for one in logged if one["event"] == "owner_not_listed"]
    assert said == [repr(error)] * asked


async def test_who_shares_a_read_that_fails_tells_of_it_once(postgres: Postgres) -> None:
    failing = Slow(seconds=0.0, error=ConnectionRefusedError("nobody is there"))
    async with beside(postgres, failing) as webhook:
        await webhook.tell(deployment("crowded", 3, "1"), replicaset("crowded", "7", 3))
        about = pod(("ReplicaSet", "crowded-7"))

        with capture_logs() as logged:
            await asyncio.gather(*(webhook.mutate(review(about)) for _ in range(3)))

    assert [one["event"] for one in logged].count("owner_not_listed") == 1


async def test_an_api_server_that_gives_nothing_is_not_asked_for_what_nobody_told_either(
    postgres: Postgres,
) -> None:
    failing = Slow(seconds=0.0, error=NoList("403 Forbidden", 403))
    async with beside(postgres, failing) as webhook:
        answers = [
            await webhook.mutate(review(pod(("ReplicaSet", f"untold-{number}-7"))))
            for number in range(2)
        ]

    assert {warning for one in answers for warning in one.warnings} == {
        "ledger: the workload is not known, the pod is left as it is"
    }
    assert failing.asked == 1


async def test_a_statefulset_waits_for_an_api_server_no_longer_and_what_was_read_of_it_before_counts(
    postgres: Postgres,
) -> None:
    slow = Slow(listed_set("read-db", 5, start=10), seconds=0.0)
    async with beside(postgres, slow) as webhook:
        await webhook.tell(
            deployment("read-db", 5, "3", kind="StatefulSet"),
            deployment("told-db", 5, "3", kind="StatefulSet", ordinals_start=20),
        )

        async def asked(name: str, ordinal: int) -> Answer:
            about = pod(("StatefulSet", name), name=f"{name}-{ordinal}")
            return await webhook.mutate(review(about), query="timeout=3s")

        first = await asked("read-db", 10)
        slow.seconds = 60.0
        others = [
            await asked("told-db", 22),
            await asked("told-db", 23),
            await asked("read-db", 12),
            await asked("read-db", 13),
        ]

    assert classes([first, *others]) == ["od", "od", "spot", "od", "spot"]
    assert not any(one.warnings for one in (first, *others))
    assert slow.asked == 2


async def test_pods_of_a_set_that_come_at_once_share_what_is_read_of_it(postgres: Postgres) -> None:
    slow = Slow({"spec": {}}, seconds=0.05)
    async with beside(postgres, slow) as webhook:
        await webhook.tell(deployment("at-once", 9, "5", kind="StatefulSet"))
        abouts = [pod(("StatefulSet", "at-once"), name=f"at-once-{place}") for place in range(9)]

        answers = await asyncio.gather(*(webhook.mutate(review(about)) for about in abouts))

    assert classes(answers) == ["od"] * 5 + ["spot"] * 4
    # Two, where all of them come while the first is read; a busy machine lets some come later.
    assert slow.asked < len(abouts)


async def test_a_deployment_that_nobody_tells_of_is_read_however_slow_that_is(
    postgres: Postgres,
) -> None:
    listed = listed_replicaset("slowly", 3, version="96")
    listed["metadata"]["annotations"] = {
        "deployment.kubernetes.io/desired-replicas": "3",
        "distributed-scheduling/min-available": "1",
    }
    slow = Slow(listed, seconds=0.5)
    async with beside(postgres, slow) as webhook:
        about = pod(("ReplicaSet", "slowly-7"))

        answers = [await webhook.mutate(review(about)) for _ in range(3)]

    assert classes(answers) == ["od", "spot", "spot"]
    assert slow.asked == 2, "for nothing but what nobody told is it waited any longer"


@pytest.fixture
def lists(server: str, tmp_path: Path, objects: Objects) -> Iterator[kubernetes.Kubernetes]:
    """An API server that has one ReplicaSet, to be asked by ourselves."""
    token = tmp_path / "token"
    token.write_text("of-the-account")
    objects.lists["replicasets"] = [listed_replicaset("kept", 3, version="93")]
    objects.connections.clear()
    objects.asked.clear()
    made = kubernetes.Kubernetes(kubernetes.Server(server, None, token))
    yield made
    made.close()


async def test_a_connection_is_kept_and_another_one_opened_where_it_was_closed(
    lists: kubernetes.Kubernetes, objects: Objects
) -> None:
    async def found() -> bool:
        return await lists.replicaset("shop", "kept-7") is not None

    try:
        assert [await found() for _ in range(5)] == [True] * 5
        assert len(objects.connections) == 1
        objects.hangs_up = True
        assert [await found() for _ in range(3)] == [True] * 3
        assert len(objects.connections) == 3
    finally:
        objects.hangs_up = False


async def test_connections_that_nobody_needed_for_long_are_let_go(
    lists: kubernetes.Kubernetes, objects: Objects
) -> None:
    await lists.replicaset("shop", "kept-7")
    long_ago = monotonic() - 2 * kubernetes.IDLE_SECONDS
    lists._idle.appendleft((long_ago, http.client.HTTPConnection("127.0.0.1")))

    await lists.replicaset("shop", "kept-7")

    assert len(objects.connections) == 1
    assert len(lists._idle) == 1


async def test_a_connection_that_is_in_use_at_the_end_is_not_kept(
    lists: kubernetes.Kubernetes, objects: Objects
) -> None:
    objects.may_say.clear()
    objects.came.clear()
    try:
        reading = asyncio.create_task(lists.replicaset("shop", "kept-7"))
        assert await asyncio.to_thread(objects.came.wait, 5.0)
        lists.close()
    finally:
        objects.may_say.set()

    assert await reading is not None
    assert not lists._idle


@pytest.mark.parametrize("said", [{"items": 7}, {"items": {}}, {"kind": "Status"}])
async def test_an_answer_that_is_no_list_is_one_that_failed(
    lists: kubernetes.Kubernetes, objects: Objects, said: Json
) -> None:
    objects.said = said
    try:
        with pytest.raises(OSError, match="it is no list"):
            await lists.replicaset("shop", "kept-7")
    finally:
        objects.said = None


@pytest.mark.parametrize("status", [401, 403, 404, 503])
async def test_what_an_api_server_says_instead_of_a_list_is_told(
    lists: kubernetes.Kubernetes, objects: Objects, status: int
) -> None:
    objects.broken, objects.status = True, status
    try:
        with pytest.raises(NoList, match=f": {status} ") as refused:
            await lists.replicaset("shop", "kept-7")
    finally:
        objects.broken, objects.status = False, 500

    assert refused.value.status == status


@pytest.mark.parametrize("held", [b"", b"two\nlines", b"\xff\xfe"])
async def test_a_file_that_holds_no_token_is_one_that_cannot_be_read(
    lists: kubernetes.Kubernetes, tmp_path: Path, held: bytes
) -> None:
    (tmp_path / "token").write_bytes(held)

    with pytest.raises(OSError, match="it holds no token"):
        await lists.replicaset("shop", "kept-7")


@dataclass(slots=True)
class Late:
    """An API server that lists pods just when something old is told of their ReplicaSet."""

    above: Json
    pods_there: list[Json]
    old: bytes
    tell: Callable[[bytes], Awaitable[None]] | None = None

    async def pods(self, namespace: str, template_hash: str) -> list[Json]:
        """Those that are there."""
        assert self.tell is not None
        await self.tell(self.old)
        return self.pods_there

    async def replicaset(self, namespace: str, name: str) -> Json | None:
        """As it is now."""
        return self.above

    async def statefulset(self, namespace: str, name: str) -> Json | None:
        """There is none."""
        return None

    def close(self) -> None:
        """There is nothing to be let go."""


def seen(name: str, above: str, class_: str) -> bytes:
    """A pod that nobody admitted."""
    data = {
        "cluster": CLUSTER,
        "namespace": "shop",
        "name": name,
        "uid": f"uid-of-{name}",
        "owner": {"kind": "ReplicaSet", "name": above},
        "template_hash": "7",
        "node": "n1",
        "phase": "Running",
        "capacity_class": class_,
    }
    return told("workload.pod.observed", f"{CLUSTER}/shop/{name}", data)


async def test_what_is_told_with_a_list_is_news_also_where_the_replicaset_was_told_for_the_same_pod(
    postgres: Postgres,
) -> None:
    stays = {"metadata": {"name": "found-a"}, "status": {"phase": "Running"}}
    late = Late(
        listed_replicaset("found", 2, version="97"), [stays], old=replicaset("found", "7", 1)
    )
    async with postgres.database() as url, hooked(url, lists={CLUSTER: late}) as webhook:
        late.tell = webhook.tell
        await webhook.tell(
            told("cluster.cluster.upserted", CLUSTER, {"name": CLUSTER}),
            deployment("found", 2, "1"),
            seen("found-a", "found-7", "on-demand"),
            seen("found-b", "found-7", "spot"),
        )

        answer = await webhook.mutate(review(pod(("ReplicaSet", "found-7"))))
        replicas = [one["replicas"] for one in await events(webhook, "replicaset.upserted")]

    assert replicas == [2, 1, 2]
    assert classes([answer]) == ["spot"]


async def test_a_list_that_the_log_did_not_take_is_told_again(
    webhook: Webhook, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    await webhook.tell(deployment("twice", 2, "1"), replicaset("twice", "7", 2))
    about = pod(("ReplicaSet", "twice-7"))
    _, second = [await webhook.mutate(review(about)) for _ in range(2)]
    objects.lists["pods"] = [created(second, about, "twice-b")]
    objects.lists["replicasets"] = []
    ask, failures = AdmissionDesk.ask, [LogUnavailable("gone for a moment")]

    async def asked(
        desk: AdmissionDesk, fleet: Fleet, known: Policies, build: Build, clock: Clock
    ) -> Asked:
        if failures and any(one.type == asking.LISTED for one in build(known.spot)):
            raise failures.pop()
        return await ask(desk, fleet, known, build, clock)

    monkeypatch.setattr(AdmissionDesk, "ask", asked)

    third = await webhook.mutate(review(about), query="timeout=3s")

    assert not failures
    assert classes([third]) == ["od"]


async def test_a_list_that_fails_leaves_the_pod_and_its_slot(
    webhook: Webhook, objects: Objects
) -> None:
    await webhook.tell(deployment("fails", 1, "1"), replicaset("fails", "7", 1))
    about = pod(("ReplicaSet", "fails-7"))
    first = await webhook.mutate(review(about))
    objects.broken = True
    try:
        second = await webhook.mutate(review(about))
    finally:
        objects.broken = False

    assert classes([first]) == ["od"]
    assert second.warnings == ["ledger: the pods could not be listed, the pod is left as it is"]
    assert (await events(webhook, "admission.bypassed"))[-1]["reason"] == "list_failed"


async def test_a_replicaset_that_was_not_told_is_listed_and_told_first(
    webhook: Webhook, objects: Objects
) -> None:
    await webhook.tell(deployment("young", 3, "1"))
    objects.lists["replicasets"] = [
        {
            "metadata": {
                "namespace": "shop",
                "name": "young-7",
                "uid": "uid-of-young-7",
                "resourceVersion": "41",
                "labels": {"pod-template-hash": "7"},
                "ownerReferences": [
                    {"kind": "Deployment", "name": "young", "uid": "d1", "controller": True}
                ],
            },
            "spec": {"replicas": 3},
        }
    ]

    answers = [await webhook.mutate(review(pod(("ReplicaSet", "young-7")))) for _ in range(2)]

    assert classes(answers) == ["od", "spot"]
    found = [
        one for one in await events(webhook, "replicaset.upserted") if one["name"] == "young-7"
    ]
    assert [(one["replicas"], one["owner"]["name"]) for one in found] == [(3, "young")]


async def test_a_replicaset_that_is_listed_and_no_deployments_is_not_split(
    webhook: Webhook, objects: Objects
) -> None:
    await webhook.tell(deployment("rolled", 3, "1"))
    above = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Deployment", "name": "rolled"}
    objects.lists["replicasets"] = [
        {
            "metadata": {
                "namespace": "shop",
                "name": "rolled-7",
                "uid": "uid-of-rolled-7",
                "resourceVersion": "42",
                "labels": {"pod-template-hash": "7"},
                "ownerReferences": [{**above, "uid": "d1", "controller": True}],
            },
            "spec": {"replicas": 3},
        }
    ]
    before = await webhook.asked()

    answer = await webhook.mutate(review(pod(("ReplicaSet", "rolled-7"))))

    assert set(answer.response) == {"uid", "allowed"}
    assert await webhook.asked() == before
    objects.asked.clear()
    again = await webhook.mutate(review(pod(("ReplicaSet", "rolled-7"))))
    assert set(again.response) == {"uid", "allowed"}
    assert not objects.asked, "that it is not split is known by now"


async def test_a_deployment_that_nobody_tells_of_is_read_from_its_replicaset(
    webhook: Webhook, objects: Objects
) -> None:
    listed = listed_replicaset("untold", 4, version="80")
    listed["metadata"]["annotations"] = {
        "distributed-scheduling/min-available": " 2\n",
        "deployment.kubernetes.io/desired-replicas": "4",
    }
    objects.lists["replicasets"] = [listed]
    objects.lists["pods"] = []
    objects.asked.clear()

    answers = [await webhook.mutate(review(pod(("ReplicaSet", "untold-7")))) for _ in range(4)]

    assert classes(answers) == ["od", "od", "spot", "spot"]
    assert not any(one.warnings for one in answers)
    assert len(objects.asked) == 4, "once for each pod"
    elsewhere = await webhook.mutate(
        review(pod(("ReplicaSet", "untold-7"))), token="every", path="/shop/m2"
    )
    assert elsewhere.warnings == ["ledger: the workload is not known, the pod is left as it is"], (
        "nobody has read it there"
    )


async def test_a_statefulset_that_nobody_tells_of_is_read(
    webhook: Webhook, objects: Objects
) -> None:
    notes = {"distributed-scheduling/min-available": "4"}
    listed = listed_set("untold-db", 5, start=1)
    listed["metadata"]["annotations"] = notes
    objects.lists["statefulsets"] = [listed]

    answers = [
        await webhook.mutate(review(pod(("StatefulSet", "untold-db"), name=f"untold-db-{ordinal}")))
        for ordinal in (1, 4, 5)
    ]

    assert classes(answers) == ["od", "od", "spot"]


@pytest.mark.parametrize("text", [None, "4x", "-1"])
async def test_what_cannot_be_read_of_a_replicaset_leaves_its_pods(
    webhook: Webhook, objects: Objects, text: str | None
) -> None:
    listed = listed_replicaset("unread", 4, version="81")
    if text is not None:
        listed["metadata"]["annotations"] = {"deployment.kubernetes.io/desired-replicas": text}
    objects.lists["replicasets"] = [listed]

    answer = await webhook.mutate(review(pod(("ReplicaSet", "unread-7"))))

    assert answer.warnings == ["ledger: the workload is not known, the pod is left as it is"]


async def test_a_statefulset_that_grew_before_anybody_told_is_as_large_as_it_says(
    webhook: Webhook, objects: Objects
) -> None:
    await webhook.tell(deployment("grown-db", 3, "1", kind="StatefulSet"))
    objects.lists["statefulsets"] = [listed_set("grown-db", 9)]

    answers = [
        await webhook.mutate(review(pod(("StatefulSet", "grown-db"), name=f"grown-db-{ordinal}")))
        for ordinal in (1, 2, 4, 5)
    ]

    assert classes(answers) == ["od", "od", "od", "spot"], "more than half of nine"


async def test_ordinals_of_a_statefulset_begin_where_it_says(
    webhook: Webhook, objects: Objects
) -> None:
    await webhook.tell(deployment("late-db", 5, "3", kind="StatefulSet"))
    objects.lists["statefulsets"] = [listed_set("late-db", 5, start=10)]

    answers = [
        await webhook.mutate(review(pod(("StatefulSet", "late-db"), name=f"late-db-{ordinal}")))
        for ordinal in (10, 12, 13)
    ]

    assert classes(answers) == ["od", "od", "spot"]


async def test_where_ordinals_begin_is_remembered_where_it_cannot_be_read(
    webhook: Webhook, objects: Objects
) -> None:
    await webhook.tell(
        deployment("kept-db", 5, "3", kind="StatefulSet"),
        deployment("told-db", 5, "3", kind="StatefulSet", ordinals_start=10),
    )
    objects.lists["statefulsets"] = [listed_set("kept-db", 5, start=10)]

    async def asked(name: str, ordinal: int) -> Answer:
        return await webhook.mutate(review(pod(("StatefulSet", name), name=f"{name}-{ordinal}")))

    first = await asked("kept-db", 10)
    objects.broken = True
    try:
        others = [
            await asked("kept-db", 12),
            await asked("kept-db", 13),
            await asked("told-db", 12),
        ]
    finally:
        objects.broken = False

    assert classes([first, *others]) == ["od", "od", "spot", "od"]


@pytest.mark.parametrize(
    "said",
    [
        "[]",
        "{}",
        "{",
        '{"m1": {}}',
        '{"m1": {"server": "ftp://x"}}',
        '{"m1": {"server": "https://x", "password": "y"}}',
        '{"m1": {"server": "https://x", "token": 7}}',
        '{"m1": {"server": "https://x", "ca": "/nowhere/ca.pem"}}',
        '{"a/b": {"server": "https://x"}}',
        '{"m1": {"in_cluster": true}}',
    ],
)
async def test_a_file_of_api_servers_that_says_anything_else_is_refused(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    path = tmp_path / "kubernetes.json"
    path.write_text(said)

    with pytest.raises(SetupProblem):
        kubernetes.read(path)


async def test_a_call_that_is_repeated_after_its_replicaset_was_scaled_is_answered_as_before(
    webhook: Webhook, objects: Objects
) -> None:
    await webhook.tell(deployment("again", 3, "1"), replicaset("again", "7", 3))
    about = pod(("ReplicaSet", "again-7"))
    objects.lists["replicasets"] = [listed_replicaset("again", 3, version="94")]
    first = await webhook.mutate(review(about, asked="asked-again"))
    objects.lists["replicasets"] = [listed_replicaset("again", 1, version="95")]
    told_before = await webhook.rows("SELECT max(position) FROM ledger.events")

    again = await webhook.mutate(review(about, asked="asked-again"))

    assert again.response == first.response
    assert await webhook.rows("SELECT max(position) FROM ledger.events") == told_before
