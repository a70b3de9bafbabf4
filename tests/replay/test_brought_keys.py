"""Whoever brings keys is told whether the log is signed with them: each note by one, each key in one."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio

from ledger.log import fleets, lines
from ledger.log.archive.writing import export
from ledger.log.database import connect
from ledger.log.merkle import leaf_hash
from ledger.log.notes import COSIGNATURE, Key, parse_note
from ledger.log.sealer import Sealer
from ledger.log.sealing import Site
from ledger.log.signed import memory
from ledger.log.signing_keys import origin, signing
from ledger.log.witness_server import WitnessServer
from ledger.log.witnesses import Witness
from ledger.replay import audit
from ledger.replay.report import INVALID, Report
from ledger.units import FleetName, Incarnation
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.postgres import Postgres

pytestmark = pytest.mark.asyncio(loop_scope="module")

OURS = Site("ledger.example", (bytes(32),))
EVIL = Site("evil.example", (bytes([6]) * 32,))
WATCHING = signing(bytes([5]) * 32, "witness.example/w", type_=COSIGNATURE)
FLEETS = ("demo", "sim")


def keys_of(fleet: str, *, site: Site = OURS, life: int = 1) -> list[Key]:
    return [
        signing(site.seeds[0], origin(site.name, FleetName(fleet), Incarnation(life), tree)).key
        for tree in ("events", "decisions", "both")
    ]


@dataclass(frozen=True, slots=True)
class Signed:
    """Two fleets that are signed for, and the archives of both."""

    connection: asyncpg.Connection
    url: str
    folder: Path

    @property
    def archives(self) -> Path:
        return self.folder / "archives"

    async def verified(self, keys: list[Key], *only: str) -> list[Report]:
        wanted = [await fleets.named(self.connection, name) for name in only or FLEETS]
        return [
            report
            async for report in audit.all_verified(self.connection, wanted, deep=False, keys=keys)
        ]

    async def of_archives(self, keys: list[Key], only: str | None = None) -> list[Report]:
        name = None if only is None else FleetName(only)
        return [report async for report in audit.archives_verified(self.archives, name, keys=keys)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def signed(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Signed]:
    """Three events with a decision each, signed twice; the second fleet is witnessed."""
    folder = tmp_path_factory.mktemp("brought")
    async with postgres.database() as url:
        connection = await connect(url, None)
        with (
            memory(folder / "witness.json") as vouched,
            WitnessServer(
                ("127.0.0.1", 0), signer=WATCHING, logs=keys_of("sim")[:2], memory=vouched
            ) as server,
            memory(folder / "signed.json") as remembered,
        ):
            sealer = Sealer(OURS, remembered, witnesses=[Witness(server.url, WATCHING.key)])
            for first in (1, 5):
                for name in FLEETS:
                    told = [cluster_line(first, fleet=name)]
                    told += [
                        workload_line(number, replicas=number, fleet=name, weights={"c1": 1})
                        for number in (first, first + 1)
                    ]
                    await lines.ingest(connection, told)
                await decide_all(url)
                await sealer.round(connection)
        for name in FLEETS:
            fleet = await fleets.named(connection, name)
            await export(
                connection, fleet, folder / "archives" / name, on_written=lambda _at, _end: None
            )
        yield Signed(connection, url, folder)
        await connection.close()


def found(reports: list[Report]) -> list[tuple[str, str | None]]:
    """The fleets with a finding, and of whom or of what it is."""
    troubles = [(one.fleet, one.diverged) for one in reports if one.diverged is not None]
    assert all(one.exit_code == INVALID for one in reports if one.diverged is not None)
    assert {trouble.trouble for _, trouble in troubles} <= {"checkpoint_mismatch"}
    return [(fleet, trouble.subject or trouble.recorded) for fleet, trouble in troubles]


async def test_with_the_keys_of_all_that_is_looked_at_it_is_whole_and_notes_are_counted(
    signed: Signed,
) -> None:
    every = [*keys_of("demo"), *keys_of("sim"), WATCHING.key]
    for reports in (await signed.verified(every), await signed.of_archives(every)):
        assert found(reports) == []
        assert [report.notes for report in reports] == [6, 6]
    for reports in (
        await signed.verified(keys_of("sim"), "sim"),
        await signed.of_archives(keys_of("sim"), "sim"),
    ):
        assert [report.notes for report in reports] == [6]
    assert [report.notes for report in await signed.verified([])] == [None, None]


async def test_a_note_whose_origin_has_no_key_is_a_finding(signed: Signed) -> None:
    for reports in (
        await signed.verified(keys_of("sim")),
        await signed.of_archives(keys_of("sim")),
    ):
        ((fleet, why),) = found(reports)
        assert fleet == "demo"
        assert why is not None
        assert why.startswith("no key of ledger.example/demo/1/")


async def test_notes_of_another_site_are_a_finding(signed: Signed) -> None:
    change = signed.connection.transaction()
    await change.start()
    try:
        await signed.connection.execute("SET LOCAL session_replication_role = replica")
        for row in await signed.connection.fetch("SELECT * FROM ledger.checkpoints"):
            text = parse_note(row["note"]).text.replace(OURS.name, EVIL.name)
            await signed.connection.execute(
                "UPDATE ledger.checkpoints SET note = $1, root = $2"
                " WHERE (fleet, incarnation, tree, size) = ($3, $4, $5, $6)",
                EVIL.sign(text.partition("\n")[0], text).spelled,
                leaf_hash(text.encode()) if row["tree"] == "both" else row["root"],
                *(row[name] for name in ("fleet", "incarnation", "tree", "size")),
            )
        evil = keys_of("sim", site=EVIL)
        assert found(await signed.verified(evil, "sim")) == [], "who trusts them may"
        ((_, why),) = found(await signed.verified(keys_of("sim"), "sim"))
        assert why == "no key of evil.example/sim/1/events was brought"
    finally:
        await change.rollback()


@pytest.mark.parametrize(
    ("keys", "subject"),
    [
        ([*keys_of("sim"), *keys_of("sim", life=2)], "ledger.example/sim/2/events"),
        ([*keys_of("sim"), *keys_of("demo")], "ledger.example/demo/1/events"),
        ([*keys_of("sim"), *keys_of("sim", site=EVIL)], "evil.example/sim/1/events"),
    ],
    ids=["of a later life", "of a fleet that is not looked at", "of another site"],
)
async def test_a_key_that_verified_nothing_is_a_finding(
    signed: Signed, keys: list[Key], subject: str
) -> None:
    assert found(await signed.verified(keys, "sim")) == [("sim", subject)]


async def test_no_note_at_all_is_a_finding(signed: Signed) -> None:
    change = signed.connection.transaction()
    await change.start()
    try:
        await signed.connection.execute("SET LOCAL session_replication_role = replica")
        await signed.connection.execute("DELETE FROM ledger.checkpoints")
        reports = await signed.verified(keys_of("sim"), "sim")
        assert found(reports) == [("sim", "ledger.example/sim/1/events")]
        assert found(await signed.verified([WATCHING.key], "sim")) == [("sim", "witness.example/w")]
    finally:
        await change.rollback()


async def test_a_witness_does_not_stand_for_the_log(signed: Signed) -> None:
    ((fleet, why),) = found(await signed.verified([WATCHING.key], "sim"))
    assert (fleet, why) == ("sim", "no key of ledger.example/sim/1/events was brought")


async def test_a_key_of_a_life_that_an_archive_ends_before_is_not_asked_for(signed: Signed) -> None:
    later = [*keys_of("sim"), *keys_of("sim", life=2)]
    assert found(await signed.of_archives(later, "sim")) == []
    only = keys_of("sim", life=2)
    assert len(found(await signed.of_archives(only, "sim"))) == 1
    assert len(found(await signed.of_archives(keys_of("sim", site=EVIL), "sim"))) == 1


async def test_the_command_says_how_many_notes_it_verified(signed: Signed) -> None:
    place = ("--archive", str(signed.archives))

    def verify(*arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "ledger.cli.main", "verify", *place, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    brought = [f"--key={key.spelled}" for key in keys_of("sim")]
    assert "6 signed notes verified" in verify("--fleet", "sim", *brought)
    (line,) = verify("--fleet", "sim", "--json", *brought).splitlines()
    assert json.loads(line)["notes_verified"] == 6
    assert "6 signed notes not verified: no --key" in verify("--fleet", "sim")
    (line,) = verify("--fleet", "sim", "--json").splitlines()
    assert json.loads(line)["notes_unchecked"] == 6
    unmet = verify("--fleet", "demo", f"--key={WATCHING.key.spelled}", code=INVALID)
    assert "fleet demo: checkpoint_mismatch" in unmet
    assert "no key of ledger.example/demo/1/events was brought" in unmet
    strange = keys_of("sim", site=EVIL)[0]
    idle = verify("--fleet", "sim", *brought, f"--key={strange.spelled}", code=INVALID)
    assert "no note that this key signed" in idle
    assert strange.spelled in idle
