"""A database is restored to an earlier point while Kafka, the signer and readers remember more.

Everything real: PostgreSQL, a Kafka broker, the poll loop, the decider, the publisher, the signer with
its memory in a file, and the command. What was handed on before and after is held together: no id may
ever have had two contents.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from consumers import publisher
from consumers.local_kafka import topics
from ledger.engine import decider
from ledger.errors import FleetStopped, LedgerStopped
from ledger.log import fleets, outbox, proving
from ledger.log.database import Connection, connected
from ledger.log.notes import Key, open_note
from ledger.log.proofs import parse_proof, verify
from ledger.log.publishing import Directory
from ledger.log.sealer import Sealer
from ledger.log.sealing import Site
from ledger.log.signed import memory, recalled
from ledger.log.signing_keys import Sealed, origin, signing
from ledger.log.trees import Tree
from ledger.log.trust import only
from ledger.replay.deep import deep
from ledger.replay.replay import replay
from ledger.units import FleetName, Incarnation
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.feeding import FLEET, Stream, fed, feeding, looking, until
from tests.kafka import Kafka
from tests.postgres import Postgres
from tests.restoring import Restorable, restorable

WEIGHTS = {"c1": 3, "c2": 2, "c3": 1}
SITE = Site("ledger.example", (bytes(32),))
BEFORE, UNDECIDED, LOST, AFTER = 12, 4, 9, 5
"""Workloads decided before the backup, in the log of it but undecided, behind it, after the recovery."""


def key(life: int, tree: Sealed) -> Key:
    return signing(bytes(32), name(life, tree)).key


def name(life: int, tree: Sealed) -> str:
    return origin(SITE.name, FleetName(FLEET), Incarnation(life), tree)


def workloads(first: int, count: int) -> list[bytes]:
    return [
        workload_line(number, replicas=number, name=f"w{number % 5}", weights=WEIGHTS, fleet=FLEET)
        for number in range(first, first + count)
    ]


@dataclass(slots=True)
class Installation:
    """A database with its Kafka topics and its signer's files."""

    database: Restorable
    stream: Stream
    folder: Path

    @property
    def url(self) -> str:
        return self.database.url

    async def send(self, first: int, count: int) -> None:
        await self.stream.send(workloads(first, count), family="workload")

    async def seal(self) -> dict[str, LedgerStopped]:
        with memory(self.folder / "signed.json") as remembered:
            sealer = Sealer(SITE, remembered, [Directory(self.folder / "notes")])
            async with connected(self.url, "ledger_signer") as connection:
                await sealer.round(connection)
        return sealer.stopped

    async def publish(self, wanted: int) -> None:
        async with self.publishing():

            async def done() -> bool:
                async with connected(self.url, "ledger_publisher") as connection:
                    fleet = await fleets.find(connection, FleetName(FLEET))
                    return (
                        fleet is not None and await outbox.next_number(connection, fleet) == wanted
                    )

            await until(done)

    @asynccontextmanager
    async def publishing(self) -> AsyncIterator[None]:
        stop = asyncio.Event()
        running = asyncio.create_task(
            publisher.run(self.stream.settings(), self.url, holder="tests", stop=stop)
        )
        try:
            yield
        finally:
            stop.set()
            with suppress(asyncio.CancelledError):
                await running

    async def handed_on(self) -> list[tuple[str, bytes]]:
        return [
            (json.loads(record.value)["id"], record.value)
            for record in await self.stream.records("decisions")
        ]

    async def stops(self) -> dict[str, str]:
        async with looking(self.url) as log:
            rows = await log.rows("SELECT component, reason FROM ledger_api.stops WHERE stands")
        return dict(rows)

    def notes(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in (self.folder / "notes").rglob("*")
            if path.is_file()
        }

    def ledger(self, *words: str, code: int = 0) -> str:
        settings = self.stream.settings()
        done = subprocess.run(
            [sys.executable, "-m", "ledger.cli.main", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=os.environ
            | {
                "LEDGER_DATABASE_URL": self.url,
                "LEDGER_KAFKA_BOOTSTRAP": settings.kafka_bootstrap,
                "LEDGER_KAFKA_GROUP": settings.kafka_group,
                "LEDGER_KAFKA_TOPIC_PREFIX": settings.kafka_topic_prefix,
            },
        )
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout

    def recover(self, *words: str, code: int = 0) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(
            self.ledger(
                "recover",
                FLEET,
                "--memory",
                str(self.folder / "signed.json"),
                "--json",
                *words,
                code=code,
            )
        )
        return told

    async def prove(self, tree: Tree, index: int) -> bytes:
        async with connected(self.url, "ledger_signer") as connection:
            fleet = await self.fleet(connection)
            return (await proving.prove(connection, fleet, tree, index)).spelled

    async def fleet(self, connection: Connection) -> fleets.Fleet:
        found = await fleets.find(connection, FleetName(FLEET))
        assert found is not None
        return found


@pytest_asyncio.fixture
async def site(kafka: Kafka, postgres: Postgres, tmp_path: Path) -> AsyncIterator[Installation]:
    stream = await Stream.create(kafka.bootstrap, partitions=1)
    for topic in ("decisions", "deadletter"):
        await topics.create_topic(kafka.bootstrap, stream.topic(topic))
    async with restorable(postgres) as database:
        yield Installation(database, stream, tmp_path)


@asynccontextmanager
async def deciding(site: Installation) -> AsyncIterator[asyncio.Task[decider.Progress]]:
    """A decider that runs on, whatever becomes of the database."""
    stop = asyncio.Event()
    running = asyncio.create_task(
        decider.decide(site.url, holder="runs on", until_idle=False, stop=stop)
    )
    try:
        yield running
    finally:
        stop.set()
        await running


async def decided(site: Installation) -> int:
    """How many decisions there are, once everything is decided."""
    async with looking(site.url) as log:

        async def all_of_it() -> bool:
            undecided = await log.value(
                "SELECT undecided FROM ledger_api.fleets WHERE fleet = $1", FLEET
            )
            return bool(undecided == 0)

        await until(all_of_it)
        return int(
            await log.value("SELECT decisions FROM ledger_api.fleets WHERE fleet = $1", FLEET)
        )


async def test_a_restored_fleet_stops_and_goes_on_in_its_next_life(site: Installation) -> None:
    stream = site.stream
    await stream.send([cluster_line(number, fleet=FLEET) for number in (1, 2, 3)])
    await site.send(1, BEFORE)
    await fed(stream, site.url, 3 + BEFORE)
    await decide_all(site.url)
    kept = await decided(site)
    await site.publish(kept)
    assert await site.seal() == {}
    await site.send(1 + BEFORE, UNDECIDED)
    await fed(stream, site.url, UNDECIDED)
    backup = await site.database.back_up()
    ends = 3 + BEFORE + UNDECIDED
    """Of the log as it is in the backup."""

    async with deciding(site):
        await site.send(1 + BEFORE + UNDECIDED, LOST)
        await fed(stream, site.url, LOST)
        made = await decided(site)
        await site.publish(made)
        assert await site.seal() == {}
        lost_event, lost_decision = (
            await site.prove("events", ends),
            await site.prove("decisions", made - 1),
        )
        told_before, notes_before = await site.handed_on(), site.notes()

        # Each of those who remember more notices by itself, and the fleet stops for everybody.
        await site.database.restore(backup)
        assert isinstance((await site.seal())[FLEET], FleetStopped)
        assert (await site.stops())["signer"] == "log_rewound"

        await site.database.restore(backup)
        async with site.publishing():
            await until(lambda: _stopped_by(site, "publisher"))

        await site.database.restore(backup)
        await until(lambda: _stopped_by(site, "decider"))

        await site.database.restore(backup)
        async with feeding(stream.settings(), site.url) as running:
            await running.until(lambda totals: totals.halted == 1)
            assert (await site.stops())["consumer"] == "log_rewound"
            with pytest.raises(FleetStopped, match="log_rewound"):
                await decide_all(site.url, holder="another")
            async with looking(site.url) as log:
                assert await log.size() == ends
            assert {id_ for id_, _ in await site.handed_on()} == {id_ for id_, _ in told_before}
            assert site.notes() == notes_before

            # What was lost is said, and nothing is changed by asking.
            told = site.recover(code=76)
            assert (told["incarnation"], told["next"], told["recovered"]) == (1, 2, False)
            assert [(one["origin"], one["lost"]) for one in told["signed"]] == [
                (name(1, "events"), LOST),
                (name(1, "decisions"), made - kept),
            ]
            assert told["published"] == {
                "newest": f"{FLEET}/1/{made - 1}",
                "first_lost": f"{FLEET}/1/{kept}",
                "lost": made - kept,
            }
            (workload_topic,) = [
                one for one in told["partitions"] if one["topic"].endswith("workload")
            ]
            assert workload_topic["told"] - workload_topic["next"] == LOST

            # It goes on, and everybody who still ran goes on with it.
            told = site.recover("--yes", "--why", "the disk was lost")
            assert told["recovered"]
            assert not site.recover()["rewound"]
            await site.send(100, AFTER)
            size = ends + 1 + LOST + AFTER

            async def all_of_them() -> bool:
                async with looking(site.url) as log:
                    return await log.size() == size

            await until(all_of_them)
            again = await decided(site)
            await site.publish(again)
            assert await site.seal() == {}

    await _everything_is_once(site, ends)
    await _no_id_has_two_contents(site, told_before, kept=kept)
    _no_fork_was_signed(site, notes_before, recalled(site.folder / "signed.json").last)
    await _all_of_it_verifies(site)

    # What was proven of the log before is still what it was: signed then, in a life that is over.
    shown = verify(parse_proof(lost_event), parse_proof(lost_event).extra, only(key(1, "events")))
    assert (shown.index, shown.checkpoint.origin) == (ends, name(1, "events"))
    entry = parse_proof(lost_decision)
    shown = verify(entry, entry.extra, only(key(1, "decisions")))
    assert json.loads(entry.extra)["incarnation"] == 1
    site.ledger("prove", "decision", f"{FLEET}/1/{made - 1}", code=78)
    site.ledger("explain", f"{FLEET}/1/{made - 1}", code=64)
    trees: tuple[tuple[Tree, int, int], ...] = (("events", 5, 1), ("decisions", again - 1, 2))
    for tree, index, life in trees:
        proof = parse_proof(await site.prove(tree, index))
        verify(proof, proof.extra, only(key(life, tree)))

    told = site.recover()
    assert (told["rewound"], told["incarnation"]) == (False, 2)


async def _stopped_by(site: Installation, component: str) -> bool:
    return (await site.stops()).get(component) == "log_rewound"


async def _everything_is_once(site: Installation, ends: int) -> None:
    async with looking(site.url) as log:
        rows = await log.rows(
            "SELECT id, incarnation, position FROM ledger.events e"
            "  JOIN ledger.fleets f ON f.number = e.fleet WHERE f.name = $1 ORDER BY position",
            FLEET,
        )
        assert "log_recovered" in await log.incidents()
    sent = [f"cluster-{number}" for number in (1, 2, 3)]
    sent += [f"workload-{number}" for number in range(1, 1 + BEFORE + UNDECIDED + LOST)]
    sent += [f"workload-{number}" for number in range(100, 100 + AFTER)]
    assert sorted(id_ for id_, _, _ in rows) == sorted([*sent, "2"])
    assert rows[ends][0] == "2", "the next life begins with the event that says so"
    assert {life for _, life, position in rows if position < ends} == {1}
    assert {life for _, life, position in rows if position >= ends} == {2}


async def _no_id_has_two_contents(
    site: Installation, told_before: list[tuple[str, bytes]], *, kept: int
) -> None:
    told: dict[str, set[bytes]] = {}
    for id_, value in await site.handed_on():
        told.setdefault(id_, set()).add(value)
    assert all(len(values) == 1 for values in told.values())
    assert told.keys() > {id_ for id_, _ in told_before}
    async with looking(site.url) as log:
        recorded = await log.rows(
            "SELECT decision, digest FROM ledger_api.decisions WHERE fleet = $1", FLEET
        )
    for id_, digest in recorded:
        (value,) = told[id_]
        assert json.loads(value)["digest"] == digest
    lives = {id_.split("/")[1] for id_, _ in recorded}
    assert lives == {"1", "2"}
    # What was in the log and not decided was decided again: the same, under the same ids.
    again = {id_ for id_, _ in recorded} & {
        f"{FLEET}/1/{number}" for number in range(kept, kept + UNDECIDED)
    }
    assert len(again) == UNDECIDED


def _no_fork_was_signed(site: Installation, before: dict[str, bytes], remembered: Any) -> None:
    after = site.notes()
    assert before.items() <= after.items(), "nothing was signed for what is over"
    bound = open_note(
        (site.folder / "notes" / name(2, "both") / "checkpoint").read_bytes(), [key(2, "both")]
    )
    lines = bound.text.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        "decided",
        "events",
        "decisions",
        "began",
        "after",
        "after",
    ]
    assert lines[5].split()[1:3] == [name(1, "events"), str(remembered[name(1, "events")].size)]
    assert lines[6].split()[1:3] == [
        name(1, "decisions"),
        str(remembered[name(1, "decisions")].size),
    ]


async def _all_of_it_verifies(site: Installation) -> None:
    keys = [key(life, tree) for life in (1, 2) for tree in ("events", "decisions", "both")]
    async with connected(site.url, None) as connection:
        fleet = await site.fleet(connection)
        report = await deep(connection, fleet, keys=keys)
        assert report.diverged is None, report.diverged
        replayed = await replay(connection, fleet)
        assert replayed.diverged is None, replayed.diverged
        assert (replayed.events, replayed.decision_root) == (report.events, report.decision_root)
