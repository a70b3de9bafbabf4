"""What is written as a proof is one: to whoever verifies it, whatever it is of, or nothing is written."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio

from ledger.cli.run import NEEDS_A_PERSON
from ledger.errors import LedgerStopped
from ledger.log import fleets, lines, proving
from ledger.log.database import connect
from ledger.log.fleets import Fleet
from ledger.log.proofs import parse_proof, verify
from ledger.log.sealer import Sealer
from ledger.log.sealing import Site
from ledger.log.signed import memory
from ledger.log.signing_keys import origin, signing
from ledger.log.trees import Tree
from ledger.log.trust import only
from ledger.units import FleetName, Incarnation
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.log import independent_verifier

SITE = Site("ledger.example", (bytes(32),))
EVENTS, DECISIONS = (
    signing(SITE.seeds[0], origin(SITE.name, FleetName("test"), Incarnation(1), tree)).key
    for tree in ("events", "decisions")
)


class Log:
    """A log that is signed for, over a connection that may do anything."""

    def __init__(self, connection: asyncpg.Connection, fleet: Fleet) -> None:
        self.connection = connection
        self.fleet = fleet

    async def change(self, statement: str) -> None:
        async with self.connection.transaction():
            await self.connection.execute("SET LOCAL session_replication_role = replica")
            await self.connection.execute(statement)


@pytest_asyncio.fixture
async def log(database_url: str, tmp_path: Path) -> AsyncIterator[Log]:
    """A small division and one over as many clusters as make a record of 64 KiB and more."""
    connection = await connect(database_url, None)
    clusters = range(1, 501)
    await lines.ingest(
        connection,
        [cluster_line(number) for number in clusters]
        + [
            workload_line(1, replicas=3, weights={"c1": 2, "c2": 1}),
            workload_line(2, replicas=900, weights={f"c{number}": 1 for number in clusters}),
        ],
    )
    await decide_all(database_url)
    with memory(tmp_path / "signed.json") as remembered:
        await Sealer(SITE, remembered).round(connection)
    fleet = await fleets.find(connection, FleetName("test"))
    assert fleet is not None
    yield Log(connection, fleet)
    await connection.close()


async def test_a_long_decision_is_proven_as_a_short_one_is(log: Log) -> None:
    for number, is_long in ((0, False), (1, True)):
        proof = await proving.prove(log.connection, log.fleet, "decisions", number)

        assert (len(proof.extra) > 64 * 1024) == is_long
        read = parse_proof(proof.spelled)
        assert verify(read, read.extra, only(DECISIONS)).index == number
        assert json.loads(read.extra)["number"] == number
        assert independent_verifier.shows(
            proof.spelled, proof.extra, DECISIONS.spelled, [], quorum=0
        )


@pytest.mark.parametrize(
    ("tree", "index", "changed"),
    [
        ("decisions", 0, "UPDATE ledger.decisions SET record = set_byte(record, 40, 33)"),
        ("decisions", 0, "UPDATE ledger.decisions SET digest = sha256(digest) WHERE number = 1"),
        ("events", 3, "UPDATE ledger.events SET subject = 'c9' WHERE position = 3"),
        ("events", 3, "UPDATE ledger.events SET leaf = sha256(leaf) WHERE position = 2"),
        ("events", 3, "UPDATE ledger.checkpoints SET note = overlay(note placing 'AAAA' from 40)"),
        ("events", 3, "UPDATE ledger.checkpoints SET note = 'spoiled'"),
        ("events", 3, "UPDATE ledger.checkpoints SET size = 400 WHERE tree = 'events'"),
    ],
)
async def test_what_does_not_lead_to_the_signed_end_is_not_written_as_a_proof(
    log: Log, tree: Tree, index: int, changed: str
) -> None:
    await log.change(changed)

    with pytest.raises(LedgerStopped, match=f"test: {tree} {index} .*`ledger verify`"):
        await proving.prove(log.connection, log.fleet, tree, index)


async def test_the_command_writes_nothing_then(log: Log, database_url: str, tmp_path: Path) -> None:
    await log.change("UPDATE ledger.decisions SET record = set_byte(record, 40, 33)")
    out = tmp_path / "one.tlog-proof"
    words = ["prove", "decision", "test/1/0", "--out", str(out), "--database-url", database_url]

    done = ledger(words)

    assert (done.returncode, done.stdout, out.exists()) == (NEEDS_A_PERSON, "", False)
    assert "decisions 0 is not what was signed" in done.stderr


def ledger(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ledger.cli.main", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
