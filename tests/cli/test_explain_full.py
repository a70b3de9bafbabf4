"""``ledger explain --full``: a decision made again names everybody, and differs in nothing else."""

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import islice
from typing import Any

import pytest
import pytest_asyncio
from typer.testing import CliRunner, Result

from ledger.cli.commands import as_asked
from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Mix, Sizes
from ledger.errors import LedgerStopped
from ledger.facts.decision import Decision, from_record, record
from ledger.facts.reason import LOSERS_NAMED
from ledger.log import fleets, lines
from ledger.log.database import Connection, connect
from ledger.replay.everybody import with_everybody
from ledger.replay.histories import DatabaseHistory
from ledger.units import FleetName
from tests.engine.deciding import decide_all
from tests.postgres import Postgres

EVENTS = 2_000
FLEET = FleetName("demo")

MOST = {"named": LOSERS_NAMED, "nodes": LOSERS_NAMED + 1, "disks": LOSERS_NAMED + 1}
"""Lists of a record that hold so many at most: those who lost, and of who was weighed the best beside."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def simulated(postgres: Postgres) -> AsyncIterator[str]:
    """A history of few clusters with many nodes, decided."""
    sizes = Sizes(clusters=2, nodes=30, workloads=20)
    simulation = Simulation(3, fleet=FLEET, sizes=sizes, mix=Mix(trouble=2))
    async with postgres.database() as url:
        connection = await connect(url, None)
        await lines.ingest(
            connection, list(islice(simulation.events(EVENTS), EVENTS)), clock="event"
        )
        await connection.close()
        await decide_all(url)
        yield url


@pytest_asyncio.fixture(loop_scope="module")
async def log(simulated: str) -> AsyncIterator[Connection]:
    connection = await connect(simulated, "ledger_signer")
    yield connection
    await connection.close()


def explain(url: str, *words: str) -> Result:
    asked = ("explain", *words, "--database-url", url)
    return CliRunner().invoke(as_asked(asked), asked)


def as_recorded(plain: Any, name: str = "") -> Any:
    """What a record leaves of what names everybody."""
    if isinstance(plain, dict):
        return {key: as_recorded(value, key) for key, value in plain.items()}
    if isinstance(plain, list):
        return [as_recorded(one) for one in plain[: MOST.get(name)]]
    return plain


def left_out(plain: Any) -> int:
    """How many of those who lost are counted and not named."""
    if isinstance(plain, dict):
        if plain.keys() == {"counts", "named"}:
            counted: int = sum(plain["counts"].values())
            return counted - len(plain["named"])
        return sum(map(left_out, plain.values()))
    return sum(map(left_out, plain)) if isinstance(plain, list) else 0


async def cut_short(log: Connection) -> list[Decision]:
    """Of each kind and branch the last decision that does not name everybody."""
    found = await log.fetch("SELECT record FROM ledger.decisions ORDER BY number")
    newest = {}
    for row in found:
        decision = from_record(row["record"])
        if left_out(json.loads(row["record"])):
            newest[decision.kind, decision.branch] = decision
    return list(newest.values())


@pytest.mark.asyncio(loop_scope="module")
async def test_made_again_a_decision_names_everybody_and_is_otherwise_the_recorded_one(
    log: Connection,
) -> None:
    fleet = await fleets.find(log, FLEET)
    assert fleet is not None
    decisions = await cut_short(log)
    assert {"deployment", "disk_placement"} <= {one.kind for one in decisions}

    for decision in decisions:
        whole = await with_everybody(DatabaseHistory(log, fleet), decision)

        plain = json.loads(record(whole))
        assert left_out(plain) == 0
        assert as_recorded(plain) == json.loads(record(decision))


@pytest.mark.asyncio(loop_scope="module")
async def test_what_would_be_decided_otherwise_now_is_not_told(simulated: str) -> None:
    log = await connect(simulated, None)
    try:
        fleet = await fleets.find(log, FLEET)
        assert fleet is not None
        decision, *_ = await cut_short(log)
        # Rows of history are not changed: this one is behind the ledger's back, and taken back.
        await log.execute("SET session_replication_role = replica")
        await log.execute("BEGIN")
        otherwise = record(decision).replace(b'"moved":', b'"moved":1')
        await log.execute(
            "UPDATE ledger.decisions SET record = $1 WHERE number = $2", otherwise, decision.number
        )

        with pytest.raises(LedgerStopped, match="ledger replay"):
            await with_everybody(DatabaseHistory(log, fleet), decision)
    finally:
        await log.execute("ROLLBACK")
        await log.close()


def test_the_page_names_whom_the_record_only_counts(simulated: str) -> None:
    async def found() -> str:
        log = await connect(simulated, "ledger_signer")
        try:
            short = await cut_short(log)
        finally:
            await log.close()
        return next(str(one.number) for one in short if one.kind == "deployment")

    number = asyncio.run(found())

    short, full = explain(simulated, number), explain(simulated, number, "--full", "--check")

    assert short.exit_code == full.exit_code == 0
    assert f"the first {LOSERS_NAMED} of" in short.stdout
    assert f"the first {LOSERS_NAMED} of" not in full.stdout
    plain = json.loads(explain(simulated, number, "--full", "--json").stdout)
    assert left_out(plain["record"]) > 0
    assert left_out(plain["full"]) == 0
    assert json.loads(explain(simulated, number, "--json").stdout)["full"] is None
    last, _ = plain["full"]["reasons"]["losers"]["named"][-1]
    asked = explain(simulated, number, "--why-not", last, "--full").stdout
    assert "it is one of the" not in asked
    assert last in asked
