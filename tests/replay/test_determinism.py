"""The same history has the same roots, however it is taken in and wherever it is decided.

Real processes with other hash seeds, time zones and locales, batches of other sizes, snapshots or
none, one decider or four, killed at random positions or not: a function of the log cannot depend on
what is not in the log.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from typing import get_args

import orjson
import pytest

from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Sizes
from ledger.facts.reason import Kind
from ledger.log import decisions, fleets
from ledger.log.database import connected
from ledger.units import FleetName
from ledger.views import reading
from tests.feeding import until
from tests.postgres import Postgres

HISTORY = 1200

SURROUNDINGS = (
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "4242", "TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"},
)
BATCHES = (1, 7, 1000)
SNAPSHOTS = {"LEDGER_SNAPSHOT_EVENTS": "100", "LEDGER_SNAPSHOT_SECONDS": "0"}

POLICY = "ledger.policy.policy.changed.v1"

OF_REPAIRED: dict[str, object] = {"cluster": "repaired", "namespace": "shop"}

REPAIRED: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("cluster.cluster.upserted", "repaired", {"name": "repaired"}),
    *(
        (
            "cluster.node.upserted",
            f"repaired/{name}",
            OF_REPAIRED
            | {
                "name": name,
                "labels": {"node.kubernetes.io/capacity": what},
                "cpu": "4",
                "memory": "8Gi",
            },
        )
        for name, what in (("n1", "on-demand"), ("n2", "spot"))
    ),
    (
        "workload.workload.upserted",
        "shop/repaired",
        {
            "namespace": "shop",
            "name": "repaired",
            "kind": "Deployment",
            "replicas": 2,
            "min_available": "1",
        },
    ),
    (
        "workload.replicaset.upserted",
        "repaired/shop/repaired-1",
        OF_REPAIRED
        | {
            "name": "repaired-1",
            "owner": {"kind": "Deployment", "name": "repaired"},
            "template_hash": "1",
            "replicas": 2,
        },
    ),
    *(
        (
            "workload.pod.observed",
            f"repaired/shop/repaired-1-{pod}",
            OF_REPAIRED
            | {
                "name": f"repaired-1-{pod}",
                "owner": {"kind": "ReplicaSet", "name": "repaired-1"},
                "template_hash": "1",
                "node": "n2",
                "phase": "Running",
                "ready": True,
            },
        )
        for pod in "ab"
    ),
    ("proposal.proposal.approved", "0", {"proposal": 0}),
    ("workload.workload.removed", "shop/repaired", {"namespace": "shop", "name": "repaired"}),
    ("cluster.cluster.removed", "repaired", {"name": "repaired"}),
)
"""One of two pods belongs on an on-demand node, and both are on a spot node. The repair that is proposed,
the first decision of all, is approved; then nothing is left that others could be divided to."""


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of every family, in which decisions of every kind are made."""
    file = tmp_path_factory.mktemp("history") / "events.jsonl"
    sizes = Sizes(clusters=4, nodes=2, workloads=40, disks=2)
    simulation = Simulation(8, fleet="demo", sizes=sizes)
    opened = simulation.opening
    events = [orjson.loads(line) for line in simulation.events(HISTORY - 2 - len(REPAIRED))]
    told = next(event for event in events if event["type"] == POLICY)
    for place, type_, data in (
        (opened, POLICY, {"fairshare": {"preempt": True, "reclaim": True}}),
        (opened + 10, "ledger.proposal.proposal.requested.v1", {"kind": "disks", "max_moves": 5}),
    ):
        more = {"id": f"{place}", "time": events[place]["time"], "type": type_, "data": data}
        events.insert(place, told | more)
    before = [
        events[0]
        | {
            "id": f"repaired-{place}",
            "type": f"ledger.{type_}.v1",
            "subject": subject,
            "data": data,
        }
        for place, (type_, subject, data) in enumerate(REPAIRED)
    ]
    events = [*before, *events]
    file.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in events))
    return file


async def ledger(url: str, surroundings: dict[str, str], *words: str) -> dict[str, object]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "ledger.cli.main",
        *words,
        "--json",
        env=os.environ | surroundings | {"LEDGER_DATABASE_URL": url, "LEDGER_FLEET_CREATE": "auto"},
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, words
    answer: dict[str, object] = json.loads(said)
    return answer


@asynccontextmanager
async def deciding_live(
    url: str, *surroundings: dict[str, str]
) -> AsyncIterator[list[asyncio.subprocess.Process]]:
    """Deciders that want the same lease, each in surroundings of its own."""
    started = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ledger.cli.main", "decide", "--quiet"),
            env=os.environ
            | SNAPSHOTS
            | each
            | {"LEDGER_DATABASE_URL": url, "LEDGER_LOG_LEVEL": "error"},
        )
        for each in surroundings
    ]
    try:
        yield started
    finally:
        for one in started:
            if one.returncode is None:
                with suppress(ProcessLookupError):
                    one.terminate()
        for one in started:
            await one.wait()


async def decided_in_sittings(url: str, luck: Random) -> None:
    """Decide, a process after the other, each in other surroundings and killed at its work."""
    reached, sittings = -1, 0
    for surroundings in cycle(SURROUNDINGS):
        reached = reached + luck.randint(1, 300)
        if reached >= HISTORY:
            break
        async with deciding_live(url, surroundings | {"LEDGER_DECIDE_BATCH": "20"}) as (one,):
            await until(partial(decided_through, url, reached), seconds=60)
            one.kill()
        async with connected(url, None) as connection:
            await connection.execute("UPDATE ledger.leases SET expires_at = '-infinity'")
        sittings += 1
    assert sittings > 2


async def decided_through(url: str, position: int) -> bool:
    async with connected(url, None) as connection:
        fleet = await fleets.find(connection, FleetName("demo"))
        assert fleet is not None
        through, _ = await decisions.cursor(connection, fleet)
        return through >= position


async def all_decided(url: str) -> bool:
    async with connected(url, "ledger_reader") as connection:
        rows = await reading.lags(connection)
    return [row.undecided for row in rows] == [0]


async def told(
    url: str, history: Path, *, batch: int, deciding: dict[str, str], replaying: dict[str, str]
) -> dict[str, object]:
    """Take the history in, decide it, replay it; what the replay said."""
    await taken_in(url, history, deciding, batch)
    return await ended(url, deciding | {"LEDGER_DECIDE_BATCH": str(batch)}, replaying)


async def taken_in(url: str, history: Path, surroundings: dict[str, str], batch: int) -> None:
    await ledger(
        url, surroundings, "ingest", str(history), "--clock", "event", "--batch", str(batch)
    )


async def ended(url: str, deciding: dict[str, str], replaying: dict[str, str]) -> dict[str, object]:
    """Decide what is left, ticks included, and replay all of it; what the replay said."""
    await ledger(url, deciding, "decide", "--until-idle")
    report = await ledger(url, replaying, "replay", "--fleet", "demo")
    shown = report.pop("shown")
    assert isinstance(shown, dict)
    assert shown["proves"], "however many segments the snapshots allow"
    return report


async def kinds(url: str) -> set[str]:
    async with connected(url, None) as connection:
        return {kind for (kind,) in await connection.fetch("SELECT kind FROM ledger.decisions")}


async def test_roots_depend_on_nothing_but_the_events(postgres: Postgres, history: Path) -> None:
    reports = []
    for place, batch in enumerate(BATCHES):
        async with postgres.database() as url:
            deciding = SURROUNDINGS[place] | (SNAPSHOTS if place else {"LEDGER_SNAPSHOTS": "off"})
            replaying = SURROUNDINGS[place - 1]
            reports.append(
                await told(url, history, batch=batch, deciding=deciding, replaying=replaying)
            )
            assert await kinds(url) == {*get_args(Kind)}
    async with postgres.database() as url:
        four = [SURROUNDINGS[place % len(SURROUNDINGS)] for place in range(4)]
        async with deciding_live(url, *four):
            await taken_in(url, history, SURROUNDINGS[0], 100)
            await until(lambda: all_decided(url), seconds=60)
        reports.append(await ended(url, SURROUNDINGS[0], SURROUNDINGS[1]))
    async with postgres.database() as url:
        await taken_in(url, history, SURROUNDINGS[1], 1000)
        await decided_in_sittings(url, Random(1))
        reports.append(await ended(url, SURROUNDINGS[1], SURROUNDINGS[2]))

    first = reports[0]
    assert first["diverged"] is None
    assert isinstance(first["events"], int)
    assert first["events"] >= HISTORY, "deadlines may be reached behind the last event"
    assert reports == [first] * (len(BATCHES) + 2)
