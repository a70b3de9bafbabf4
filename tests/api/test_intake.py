"""Events over HTTP: what each is told, what is refused whole, and that asking again does no harm."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio

from ledger.client import Client, Refused
from ledger.log import quarantine
from ledger.log.database import connect
from ledger.log.lines import FAMILIES
from ledger.units import Position
from tests.api.serving import BATCH, SINGLE, Service, serving
from tests.events_for_tests import cluster_line, policy_line, workload_line
from tests.postgres import Postgres

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(postgres: Postgres) -> AsyncIterator[str]:
    async with postgres.database() as own:
        yield own


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    async with serving(url, tmp_path_factory.mktemp("serve")) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def writer(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(url, "ledger_writer")
    yield connection
    await connection.close()


async def written(writer: asyncpg.Connection) -> int:
    """Rows of the log and of quarantine, of all fleets."""
    found: int = await writer.fetchval(
        "SELECT (SELECT count(*) FROM ledger.events) + (SELECT count(*) FROM ledger.quarantine)"
    )
    return found


async def test_each_event_is_told_its_place_and_asking_again_the_same(
    service: Service, writer: asyncpg.Connection
) -> None:
    sent = [
        *(cluster_line(1, fleet="first"), cluster_line(2, fleet="second")),
        *(cluster_line(1, fleet="first"), cluster_line(3, fleet="first")),
    ]
    before = await written(writer)

    first = await service.send(sent)
    again = await service.send(sent)

    assert first.status == 200, first.body
    assert first.json["items"] == [
        {"outcome": "appended", "fleet": "first", "position": 0},
        {"outcome": "appended", "fleet": "second", "position": 0},
        {"outcome": "duplicate", "fleet": "first", "position": 0},
        {"outcome": "appended", "fleet": "first", "position": 1},
    ]
    assert [(item["outcome"], item["position"]) for item in again.json["items"]] == [
        ("duplicate", 0),
        ("duplicate", 0),
        ("duplicate", 0),
        ("duplicate", 1),
    ]
    assert await written(writer) == before + 3


async def test_what_the_contract_refuses_is_in_quarantine_like_any_other(
    service: Service, writer: asyncpg.Connection
) -> None:
    own = json.dumps(
        json.loads(cluster_line(9, fleet="refused"))
        | {"type": "ledger.time.time.passed.v1", "data": {"now": 1}}
    ).encode()
    twice = cluster_line(8, fleet="refused").replace(
        b'"specversion"', b'"id": "x", "specversion"', 1
    )
    await service.send([cluster_line(1, fleet="refused")])
    begin = await writer.fetchval("SELECT coalesce(max(position) + 1, 0) FROM ledger.quarantine")

    told = await service.send(
        [
            cluster_line(
                1, fleet="refused", data={"name": "c1", "region": "elsewhere", "zone": "z"}
            ),
            own,
            policy_line(1, fleet="refused"),
            twice,
            b"7",
            cluster_line(2, fleet="refused"),
        ]
    )

    assert [(item["outcome"], item.get("reason")) for item in told.json["items"]] == [
        ("conflict", "identity_conflict"),
        ("quarantined", "reserved_type"),
        ("quarantined", "wrong_topic"),
        ("quarantined", "duplicate_key"),
        ("quarantined", "not_a_cloudevent"),
        ("appended", None),
    ]
    rows = await writer.fetch(
        "SELECT address, value FROM ledger.quarantine WHERE position >= $1 ORDER BY address", begin
    )
    assert [row["address"] for row in rows] == [f"http/agent@{place}" for place in range(5)]
    assert rows[3]["value"] == twice


async def test_who_operates_may_send_policies_too(service: Service) -> None:
    told = await service.send([policy_line(1, fleet="ruled")], token="operate-token")

    assert told.json["items"][0]["outcome"] == "appended"


async def test_an_event_comes_alone_and_in_binary_mode(
    service: Service, writer: asyncpg.Connection
) -> None:
    alone = await service.ask(
        "POST",
        "/v1/events",
        cluster_line(1, fleet="alone"),
        token="ingest-token",
        headers={"Content-Type": SINGLE},
    )
    event = json.loads(cluster_line(2, fleet="alone", source="/tests/%x"))
    data = json.dumps(event.pop("data")).encode()
    event["source"] = "/tests/%25%78"
    headers = {f"Ce-{name}": str(value) for name, value in event.items()}
    headers["Content-Type"] = "application/json"
    binary = await service.ask("POST", "/v1/events", data, token="ingest-token", headers=headers)

    assert alone.json["items"] == [{"outcome": "appended", "fleet": "alone", "position": 0}]
    assert binary.json["items"] == [{"outcome": "appended", "fleet": "alone", "position": 1}]
    said = await writer.fetchval(
        "SELECT source FROM ledger_api.events WHERE fleet = 'alone' AND position = 1"
    )
    assert said == "/tests/%x"


async def test_what_came_in_binary_mode_is_released_with_its_headers(
    service: Service, writer: asyncpg.Connection
) -> None:
    event = json.loads(policy_line(1, fleet="let-in"))
    data = json.dumps(event.pop("data")).encode()
    headers = {f"Ce-{name}": str(value) for name, value in event.items()}
    told = await service.ask("POST", "/v1/events", data, token="ingest-token", headers=headers)
    position = await writer.fetchval(
        "SELECT position FROM ledger.quarantine WHERE fleet = 'let-in'"
    )
    await service.send([cluster_line(1, fleet="let-in")])

    released = await quarantine.release(
        writer, Position(position), families=FAMILIES, by="test", why="it is ours"
    )

    assert told.json["items"][0]["reason"] == "wrong_topic"
    assert (released.fleet, released.position) == ("let-in", 1)


async def test_a_request_that_nobody_can_read_writes_nothing(
    service: Service, writer: asyncpg.Connection
) -> None:
    async def refused(
        body: bytes, content_type: str, token: str | None = "ingest-token"
    ) -> tuple[int, str]:
        answer = await service.ask(
            "POST", "/v1/events", body, token=token, headers={"Content-Type": content_type}
        )
        return answer.status, answer.code

    before = await written(writer)
    batch = "application/cloudevents-batch+json; charset=UTF-8"
    event = cluster_line(1)
    assert await refused(b"hello", SINGLE) == (400, "not_json")
    assert await refused(b"\xff", SINGLE) == (400, "not_utf8")
    assert await refused(b"[" * 50, SINGLE) == (400, "too_deep")
    assert await refused(b"[" + event, batch) == (400, "not_json")
    assert await refused(event, batch) == (400, "not_json")
    assert await refused(b"[" * 100_000, batch) == (400, "too_deep")
    assert await refused(b"[]", batch) == (400, "empty_batch")
    assert await refused(b"[" + b",".join([b"1"] * 5001) + b"]", batch) == (413, "batch_too_long")
    assert await refused(b" " * (1024 * 1024 + 1), SINGLE) == (413, "too_large")
    assert await refused(event, "application/json") == (415, "unsupported_mode")
    assert await refused(event, "application/cloudevents+avro") == (415, "unsupported_mode")
    for other in (f"{SINGLE}; charset=utf-16", f'{SINGLE}; v=1; Charset = "latin1"'):
        assert await refused(event, other) == (415, "unsupported_mode")
    assert await refused(b"[" + event + b"]", f"{BATCH};charset=UTF-16") == (
        415,
        "unsupported_mode",
    )
    assert await refused(event, SINGLE, "wrong-token") == (401, "unauthenticated")
    assert await refused(event, SINGLE, None) == (401, "unauthenticated")
    assert await refused(event, SINGLE, "read-token") == (403, "wrong_role")
    assert await refused(b"[" + event + b"]", batch, "scoped-token") == (403, "wrong_fleet")
    assert await written(writer) == before


async def test_a_fleet_of_ones_own_is_spoken_for(service: Service) -> None:
    told = await service.send([cluster_line(1, fleet="mine")], token="scoped-token")

    assert told.json["items"][0]["outcome"] == "appended"


def exchange(service: Service, sent: bytes, *, end: bool = False) -> bytes:
    """What comes back for these bytes, until the service closes."""
    with socket.create_connection((service.host, service.port), timeout=60) as connection:
        connection.sendall(sent)
        if end:
            connection.shutdown(socket.SHUT_WR)
        found = b""
        try:
            while part := connection.recv(65536):
                found += part
        except ConnectionResetError:
            pass
        return found


def head(length: int, token: str = "ingest-token") -> bytes:
    return (
        f"POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: {SINGLE}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


async def test_oversized_slow_and_truncated_requests_write_nothing(
    service: Service, writer: asyncpg.Connection
) -> None:
    before = await written(writer)
    event = cluster_line(1)

    unread = b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"
    oversized, slow_body, slow_head, truncated, nonsense, stranger, alive = await asyncio.gather(
        asyncio.to_thread(exchange, service, head(10**9)),
        asyncio.to_thread(exchange, service, head(len(event)) + event[:-1]),
        asyncio.to_thread(exchange, service, head(len(event))[:40]),
        asyncio.to_thread(exchange, service, head(len(event)) + event[:-1], end=True),
        asyncio.to_thread(exchange, service, b"hello\r\n\r\n"),
        asyncio.to_thread(exchange, service, head(10**9, "wrong-token")),
        asyncio.to_thread(exchange, service, unread),
    )

    assert oversized.startswith(b"HTTP/1.1 413")
    assert slow_body.startswith(b"HTTP/1.1 408")
    assert slow_head.startswith(b"HTTP/1.1 408")
    assert not truncated.startswith(b"HTTP/1.1 2")
    assert nonsense.startswith(b"HTTP/1.1 400")
    assert stranger.startswith(b"HTTP/1.1 401")
    assert alive.startswith(b"HTTP/1.1 405")
    assert await written(writer) == before


@pytest.mark.parametrize(
    ("token", "status", "code"),
    [("ingest-token", 413, "too_large"), ("wrong-token", 401, "unauthenticated")],
)
async def test_who_sends_too_much_reads_why_it_was_refused(
    service: Service, token: str, status: int, code: str
) -> None:
    # More than the buffers of both ends hold, so that it is refused while it is being sent.
    body = bytes(40 * 1024 * 1024)

    answer = await service.ask(
        "POST", "/v1/events", body, token=token, headers={"Content-Type": SINGLE}
    )

    assert (answer.status, answer.code) == (status, code)
    assert answer.headers["connection"] == "close"


async def test_the_client_sends_much_in_parts_and_is_told_what_is_too_large(
    service: Service,
) -> None:
    def padded(number: int, size: int) -> dict[str, object]:
        event: dict[str, object] = json.loads(cluster_line(number, fleet="much"))
        return event | {"padding": "x" * size}

    def send() -> list[str]:
        with Client(f"http://{service.host}:{service.port}", "ingest-token") as ledger:
            told = ledger.send([padded(number, 900_000) for number in range(10)])
            with pytest.raises(Refused, match="too_large") as refused:
                ledger.send([padded(10, 9_000_000)])
            assert refused.value.status == 413
            return [one.outcome for one in told]

    assert await asyncio.to_thread(send) == ["appended"] * 10


async def test_nonsense_behind_an_answer_is_answered_by_no_second_one(service: Service) -> None:
    def speak() -> bytes:
        with socket.create_connection((service.host, service.port), timeout=60) as connection:
            chunked = head(0, "wrong-token").replace(
                b"Content-Length: 0", b"Transfer-Encoding: chunked"
            )
            connection.sendall(chunked)
            found = connection.recv(65536)
            connection.sendall(b"no chunk\r\n")
            while part := connection.recv(65536):
                found += part
            return found

    found = await asyncio.to_thread(speak)

    assert found.startswith(b"HTTP/1.1 401")
    assert found.count(b"HTTP/1.1") == 1
    assert "Traceback" not in service.log.read_text()


async def test_whatever_is_no_request_is_answered_and_told_as_a_line_of_json(
    service: Service,
) -> None:
    def large(size: int) -> bytes:
        return b"GET /livez HTTP/1.1\r\nHost: x\r\nX: %b\r\n\r\n" % (b"y" * size)

    upgrade = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    fits, large_head, larger_head, garbage, upgraded = await asyncio.gather(
        asyncio.to_thread(exchange, service, large(30_000), end=True),
        asyncio.to_thread(exchange, service, large(33_792), end=True),
        asyncio.to_thread(exchange, service, large(256_000), end=True),
        asyncio.to_thread(exchange, service, b"\x00\x01garbage\r\n\r\n", end=True),
        asyncio.to_thread(exchange, service, upgrade, end=True),
    )

    assert fits.startswith(b"HTTP/1.1 200")
    assert large_head.startswith(b"HTTP/1.1 431")
    assert larger_head.startswith(b"HTTP/1.1 400")
    assert garbage.startswith(b"HTTP/1.1 400")
    assert upgraded.startswith(b"HTTP/1.1 200")
    said = [line for line in service.log.read_text().splitlines() if ": " in line]
    lines = [json.loads(line) for line in said if not line.startswith("listening: ")]
    assert {one["event"] for one in lines} >= {"uvicorn"}


async def test_a_fleet_whose_deciders_are_behind_has_to_wait(
    url: str, tmp_path: Path, writer: asyncpg.Connection
) -> None:
    before = await written(writer)
    async with serving(url, tmp_path, "--most-undecided", "3") as service:
        await service.send([cluster_line(number, fleet="behind") for number in range(3)])
        refused = await service.send([workload_line(1, fleet="behind", replicas=1)])
        elsewhere = await service.send([cluster_line(1, fleet="ahead")])

    assert (refused.status, refused.code) == (429, "backlog")
    assert int(refused.headers["retry-after"]) >= 1
    assert elsewhere.status == 200
    assert await written(writer) == before + 4
