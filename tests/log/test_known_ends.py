"""A log that goes on from a restore is the one that was signed, as far as anything that was signed tells."""

import json
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from ledger.errors import FleetStopped, LedgerStopped, SetupProblem
from ledger.log import fleets, lines, recovery
from ledger.log.database import connected
from ledger.log.known_ends import KnownEnd, Signers
from ledger.log.publishing import Directory
from ledger.log.recognition import NOTHING_NEW, New
from ledger.log.recovery import Remembered
from ledger.log.sealer import Sealer
from ledger.log.sealing import Seal, Site
from ledger.log.signed import Signed, memory, recalled
from ledger.log.signing_keys import origin
from ledger.units import FleetName, Incarnation
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.postgres import Postgres
from tests.restored_logs import (
    NOTHING,
    SITE,
    assessed,
    by_the_signer,
    grow,
    recovered,
    restored,
    sealed,
    the_fleet,
)
from tests.restoring import Restorable, restorable

EVENTS = origin(SITE.name, FleetName("test"), Incarnation(1), "events")
BOTH_TREES = ["ledger.example/test/1/events", "ledger.example/test/1/decisions"]


@pytest_asyncio.fixture
async def log(postgres: Postgres, tmp_path: Path) -> AsyncIterator[Restorable]:
    """Four workloads were decided and signed for, and seven."""
    async with restorable(postgres) as database:
        await grow(database, 1, 4)
        assert await sealed(database, tmp_path) is None
        await grow(database, 5, 3)
        assert await sealed(database, tmp_path) is None
        yield database


async def forged(log: Restorable, postgres: Postgres, workloads: int = 6) -> None:
    """Another history in its place: the same ids, and each workload has a replica more."""
    await log.restore(postgres.template)
    async with connected(log.url, "ledger_writer") as connection:
        told = [cluster_line(number) for number in (1, 2)]
        told += [
            workload_line(number, replicas=number + 1, weights={"c1": 1, "c2": 1})
            for number in range(1, workloads + 1)
        ]
        await lines.ingest(connection, told)
    await decide_all(log.url)


async def recovered_whatever(log: Restorable, remembered: Remembered) -> None:
    """As somebody would with every right in the database."""
    async with connected(log.url, "ledger_writer") as connection:
        found = await recovery.assess(connection, await the_fleet(connection), remembered)
        found = replace(found, forked=(), as_signed={"events": 0, "decisions": 0})
        await recovery.begin(connection, found, why="because", by="mallory", unvouched=True)


async def signed_by(
    log: Restorable, folder: Path, *, new: New = NOTHING_NEW, site: Site = SITE
) -> tuple[list[Seal], Sealer]:
    with memory(folder / "signed.json") as kept:
        sealer = Sealer(site, kept, [Directory(folder / "notes")], new=new)
        async with connected(log.url, "ledger_signer") as connection:
            return await sealer.round(connection), sealer


def forget_ends_before_the_last(folder: Path) -> None:
    """A memory as it was before it kept them."""
    path = folder / "signed.json"
    plain = json.loads(path.read_text())
    del plain["before"]
    path.write_text(json.dumps(plain | {"layout": 1}))


async def test_another_history_is_neither_recovered_nor_signed_for(
    log: Restorable, postgres: Postgres, tmp_path: Path
) -> None:
    """It is shorter than the last end that was signed, and longer than the one before."""
    await forged(log, postgres)

    found = await assessed(log, by_the_signer(tmp_path))
    assert [sentence.partition(":")[0] for sentence in found.forked] == BOTH_TREES
    assert found.as_signed == {"events": 0, "decisions": 0}
    with pytest.raises(LedgerStopped, match="or is another one"):
        await recovered(log, by_the_signer(tmp_path))

    await recovered_whatever(log, by_the_signer(tmp_path))
    before = recalled(tmp_path / "signed.json")
    stopped = await sealed(log, tmp_path)
    assert isinstance(stopped, FleetStopped)
    assert "log_rewritten: ledger.example/test/1/events: what is there does not" in str(stopped)
    assert recalled(tmp_path / "signed.json") == before
    assert not (tmp_path / "notes" / "ledger.example" / "test" / "2").exists()


async def test_a_row_that_says_what_the_root_was_is_no_proof_of_it(
    log: Restorable, postgres: Postgres, tmp_path: Path
) -> None:
    """Heads of the true history are put in, and what is under them is another one."""
    async with connected(log.url, None) as connection:
        heads = await connection.fetch("SELECT * FROM ledger.heads WHERE size IN (4, 6)")
    await forged(log, postgres)
    async with connected(log.url, None) as connection, connection.transaction():
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute("DELETE FROM ledger.heads WHERE size < 6")
        columns = ", ".join(f"${number}" for number in range(1, len(heads[0]) + 1))
        names = ", ".join(heads[0].keys())
        for head in heads:
            await connection.execute(
                f"INSERT INTO ledger.heads ({names}) VALUES ({columns}) ON CONFLICT DO NOTHING",
                *head.values(),
            )

    found = await assessed(log, by_the_signer(tmp_path))

    assert [sentence.partition(":")[0] for sentence in found.forked] == BOTH_TREES


async def test_notes_that_were_published_tell_what_the_memory_does_not(
    log: Restorable, postgres: Postgres, tmp_path: Path
) -> None:
    forget_ends_before_the_last(tmp_path)
    await forged(log, postgres)
    assert (await assessed(log, by_the_signer(tmp_path))).forked == ()
    place = Directory(tmp_path / "notes")
    known = [
        Signers(site=SITE.signs_as).believe(note)
        for name in BOTH_TREES
        for note in place.kept(name, at_most=8)
    ]
    published = replace(
        by_the_signer(tmp_path), before=tuple(one for one in known if one is not None)
    )
    assert len((await assessed(log, published)).forked) == 2

    await recovered_whatever(log, by_the_signer(tmp_path))
    _, sealer = await signed_by(log, tmp_path, new=NOTHING_NEW)
    assert "log_rewritten" in str(sealer.stopped["test"])
    # An auditor who has the notes finds it in the later life as well.
    assert len((await assessed(log, published)).forked) == 2


async def test_what_nothing_tells_of_is_gone_on_from_only_where_that_is_said(
    log: Restorable, postgres: Postgres, tmp_path: Path
) -> None:
    """An old memory, no notes and a database of somebody else: nobody can know whose history that is."""
    forget_ends_before_the_last(tmp_path)
    shutil.rmtree(tmp_path / "notes")
    await forged(log, postgres)

    found = await assessed(log, by_the_signer(tmp_path))
    assert (found.forked, found.unvouched) == ((), ("events", "decisions"))
    with pytest.raises(SetupProblem, match=r"events and decisions that are left.*--unvouched"):
        await recovered(log, by_the_signer(tmp_path))

    await recovered_whatever(log, by_the_signer(tmp_path))
    before = recalled(tmp_path / "signed.json")
    with pytest.raises(SetupProblem, match=r"nothing is known that was signed.*--unvouched"):
        await signed_by(log, tmp_path)
    assert recalled(tmp_path / "signed.json") == before
    made, _ = await signed_by(log, tmp_path, new=New(unvouched=True))
    assert {seal.incarnation for seal in made} == {2}

    await grow(log, 50, 1)
    with pytest.raises(SetupProblem, match="--unvouched: nothing of this signer is new"):
        await signed_by(log, tmp_path, new=New(unvouched=True))
    assert len((await signed_by(log, tmp_path))[0]) == 3
    async with connected(log.url, "ledger_writer") as connection:
        found = await recovery.assess(
            connection, await the_fleet(connection), by_the_signer(tmp_path)
        )
        with pytest.raises(SetupProblem, match=r"--unvouched: what was signed .* is known"):
            await recovery.begin(connection, found, why="", by="anna", unvouched=True)


async def test_a_signer_at_work_leaves_what_nothing_tells_of_to_a_person(
    log: Restorable, postgres: Postgres, tmp_path: Path
) -> None:
    """Nobody is stopped: it may be the true history all the same."""
    forget_ends_before_the_last(tmp_path)
    shutil.rmtree(tmp_path / "notes")
    await forged(log, postgres)
    with memory(tmp_path / "signed.json") as kept:
        sealer = Sealer(SITE, kept)
        async with connected(log.url, "ledger_signer") as connection:
            assert await sealer.round(connection) == []
        assert "log_rewound" in str(sealer.stopped["test"])
        await recovered_whatever(log, by_the_signer(tmp_path))
        async with connected(log.url, "ledger_signer") as connection:
            assert await sealer.round(connection) == []
    stopped = sealer.stopped["test"]
    assert not isinstance(stopped, FleetStopped)
    assert "nothing is known that was signed of their events and decisions" in str(stopped)
    await grow(log, 60, 1)


async def test_notes_in_the_database_tell_what_an_old_memory_does_not(
    log: Restorable, tmp_path: Path
) -> None:
    """They were restored with it; and nobody without the key makes one."""
    await restored(log, tmp_path)
    forget_ends_before_the_last(tmp_path)
    shutil.rmtree(tmp_path / "notes")

    found = await recovered(log, by_the_signer(tmp_path))

    assert (found.as_signed, found.unvouched) == ({"events": 9, "decisions": 7}, ())
    assert await sealed(log, tmp_path) is None
    stranger = Site(SITE.name, (bytes([9]) * 32,))
    unknown = replace(by_the_signer(tmp_path), signers=Signers(site=stranger.signs_as))
    assert (await assessed(log, unknown)).as_signed == {"events": 10, "decisions": 7}


async def test_a_later_life_is_signed_for_once_what_was_kept_is_decided(
    log: Restorable, postgres: Postgres, tmp_path: Path
) -> None:
    """Until then nobody can hold the decisions of the life before against what was signed of them."""
    await log.restore(postgres.template)
    async with connected(log.url, "ledger_writer") as connection:
        told = [cluster_line(number) for number in (1, 2)]
        told += [
            workload_line(number, replicas=number, weights={"c1": 1, "c2": 1})
            for number in range(1, 5)
        ]
        await lines.ingest(connection, told)
    remembered = replace(
        by_the_signer(tmp_path),
        before=(KnownEnd("ledger.example/other/1/events", Signed(1, bytes(32))),),
    )
    assert (await assessed(log, remembered)).unvouched == ("events",)
    shutil.rmtree(tmp_path / "notes")
    forget_ends_before_the_last(tmp_path)
    await recovered_whatever(log, remembered)

    assert (await signed_by(log, tmp_path, new=New(unvouched=True)))[0] == []
    await decide_all(log.url)
    assert len((await signed_by(log, tmp_path, new=New(unvouched=True)))[0]) == 3


async def test_a_new_memory_is_held_against_what_was_published(
    log: Restorable, postgres: Postgres, tmp_path: Path
) -> None:
    (tmp_path / "signed.json").unlink()
    for workloads, why in ((6, "log_rewound"), (8, "log_rewritten")):
        await forged(log, postgres, workloads)
        _, sealer = await signed_by(log, tmp_path, new=New(memory=True))
        assert why in str(sealer.stopped["test"])
        assert recalled(tmp_path / "signed.json").last == {}


async def test_a_restore_to_before_anything_was_signed_is_told_as_one(
    log: Restorable, postgres: Postgres, tmp_path: Path
) -> None:
    """Of an empty log nothing was kept, so there is nothing to hold against anything."""
    await log.restore(postgres.template)
    async with connected(log.url, "ledger_writer") as connection:
        await fleets.open_(connection, FleetName("test"), clock="wall")

    found = await recovered(log, by_the_signer(tmp_path))

    assert (found.events, found.unvouched) == (0, ())
    assert await sealed(log, tmp_path) is None
    assert (await assessed(log, NOTHING)).unvouched == ()


async def test_a_life_that_names_nothing_is_no_first_one_where_notes_of_an_earlier_one_are_published(
    log: Restorable, postgres: Postgres, tmp_path: Path
) -> None:
    (tmp_path / "signed.json").unlink()
    await forged(log, postgres, workloads=3)
    await recovered(log, NOTHING)

    with pytest.raises(SetupProblem, match="nothing is known that was signed"):
        await signed_by(log, tmp_path, new=New(memory=True))
    made, _ = await signed_by(log, tmp_path, new=New(memory=True, unvouched=True))
    assert {seal.incarnation for seal in made} == {2}
