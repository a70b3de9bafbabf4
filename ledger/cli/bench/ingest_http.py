"""How fast ``ledger serve`` takes batches over HTTP, against raw COPY of the same events.

The service is a process of its own, spoken to over a loopback socket as a client would, by a few
connections at a time; each request is one batch and is answered once it is on disk.
"""

import asyncio
import http.client
from collections.abc import Sequence
from time import perf_counter
from typing import Final

from ledger.cli.bench import copying, figures, material
from ledger.cli.bench.servers import Postgres
from ledger.cli.bench.services import TOKEN, serving
from ledger.events.over_http import BATCH
from ledger.log.database import connect

CONNECTIONS: Final = 2
"""While one request is written the next one is judged; more only wait for the fleet's lock."""

MOST: Final = str(2**31)
"""Nobody decides, so nobody is behind."""


async def ingest_http(postgres: Postgres, *, events: int, rounds: int, batch: int) -> str:
    """Each round copies the events into one new database, and sends them to another."""
    drawn = material.lines(events)
    mean_size = sum(map(len, drawn)) // events
    streams = copying.encoded(drawn, batch=batch)
    bodies = [
        b"[" + b",".join(line.strip() for line in drawn[start : start + batch]) + b"]"
        for start in range(0, events, batch)
    ]
    del drawn
    taken: list[figures.Round] = []
    for _ in range(rounds):
        async with postgres.database() as url:
            floor = await copying.copied(url, streams)
        async with (
            postgres.database() as url,
            serving(url, "--most-undecided", MOST, roles=["ingest"]) as port,
        ):
            began = perf_counter()
            await asyncio.gather(
                *(
                    asyncio.to_thread(_send, port, bodies[one::CONNECTIONS])
                    for one in range(CONNECTIONS)
                )
            )
            seconds = perf_counter() - began
            await _check(url, events)
        taken.append(figures.Round(events, seconds, events, floor))
    told = {"bytes_per_event": mean_size, "batch": batch, "connections": CONNECTIONS}
    return figures.line("ingest-http", taken, postgres=postgres.version, more=told)


async def _check(url: str, events: int) -> None:
    connection = await connect(url, "ledger_writer")
    try:
        found = await connection.fetchval("SELECT count(*) FROM ledger.events")
    finally:
        await connection.close()
    assert found == events, f"{found}: all events of a benchmark are new and good"


def _send(port: int, bodies: Sequence[bytes]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": BATCH}
    try:
        for body in bodies:
            connection.request("POST", "/v1/events", body, headers)
            response = connection.getresponse()
            said = response.read()
            assert response.status == 200, said
    finally:
        connection.close()
