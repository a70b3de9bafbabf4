"""A signer signs what continues what it signed, remembers it first, and stops where it does not."""

import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio
from typer.testing import CliRunner

from ledger.cli.commands import MISUSED, as_asked
from ledger.cli.run import MISCONFIGURED, UNAVAILABLE
from ledger.errors import InvalidRequest, NotWitnessed, SetupProblem
from ledger.log import fleets, lines, proving
from ledger.log.checkpoints import parse_checkpoint
from ledger.log.database import connect, connected
from ledger.log.fleets import Fleet
from ledger.log.notes import COSIGNATURE, Key, open_note, parse_key
from ledger.log.proofs import Proof, parse_proof, verify
from ledger.log.publishing import Directory
from ledger.log.recognition import NOTHING_NEW, New
from ledger.log.sealer import REST_SECONDS, Sealer
from ledger.log.sealing import Site
from ledger.log.signed import memory
from ledger.log.signing_keys import make, origin, read, signing
from ledger.log.trust import only, parse_policy
from ledger.log.witness_server import WitnessServer
from ledger.log.witnesses import Witness
from ledger.replay import audit
from ledger.units import FleetName, Incarnation
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line

WEIGHTS = {"c1": 3, "c2": 2, "c3": 1}
SITE = Site("ledger.example", (bytes(32),))
EVENTS = origin("ledger.example", FleetName("test"), Incarnation(1), "events")
DECISIONS = origin("ledger.example", FleetName("test"), Incarnation(1), "decisions")
BOTH = origin("ledger.example", FleetName("test"), Incarnation(1), "both")


def key(name: str, seed: bytes = bytes(32)) -> Key:
    return signing(seed, name).key


@pytest_asyncio.fixture
async def decided(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Nine events with their decisions, over a connection that may do anything."""
    connection = await connect(database_url, None)
    await lines.ingest(
        connection,
        [cluster_line(number) for number in (1, 2, 3)]
        + [workload_line(number, replicas=number, weights=WEIGHTS) for number in range(4, 10)],
    )
    await decide_all(database_url)
    yield connection
    await connection.close()


async def more(connection: asyncpg.Connection, url: str, first: int, count: int) -> None:
    await lines.ingest(
        connection,
        [
            workload_line(number, replicas=3, weights=WEIGHTS)
            for number in range(first, first + count)
        ],
    )
    await decide_all(url)


async def the_fleet(connection: asyncpg.Connection) -> Fleet:
    fleet = await fleets.find(connection, FleetName("test"))
    assert fleet is not None
    return fleet


@contextmanager
def sealer(
    folder: Path, *witnesses: Witness, site: Site = SITE, new: New = NOTHING_NEW
) -> Iterator[Sealer]:
    with memory(folder / "signed.json") as remembered:
        places = [Directory(folder / "published")]
        yield Sealer(site, remembered, places, witnesses, new=new)


async def behind_our_back(connection: asyncpg.Connection, *statements: str) -> None:
    async with connection.transaction():
        await connection.execute("SET LOCAL session_replication_role = replica")
        for statement in statements:
            await connection.execute(statement)


async def test_both_trees_are_signed_and_bound_and_only_news_is_signed_again(
    decided: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    with sealer(tmp_path) as signer:
        first = await signer.round(decided)
        assert [seal.origin for seal in first] == [EVENTS, DECISIONS, BOTH]
        assert await signer.round(decided) == []
        await more(decided, database_url, 20, 3)
        second = await signer.round(decided)
    assert [seal.head.size for seal in second][:2] == [12, 7]
    opened = open_note((tmp_path / "published" / EVENTS / "checkpoint").read_bytes(), [key(EVENTS)])
    assert parse_checkpoint(opened.text).size == 12
    kept = sorted(path.name for path in (tmp_path / "published" / EVENTS / "checkpoints").iterdir())
    assert [int(name) for name in kept] == [9, 12]
    bound = open_note((tmp_path / "published" / BOTH / "checkpoint").read_bytes(), [key(BOTH)])
    assert bound.text.splitlines()[1] == "decided 11"
    assert await decided.fetchval("SELECT count(*) FROM ledger.checkpoints") == 6


async def test_a_fleet_without_news_keeps_no_other_from_being_signed(
    decided: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    with sealer(tmp_path) as signer:
        await signer.round(decided)
        await lines.ingest(decided, [cluster_line(1, fleet="zoo")])
        await decide_all(database_url)
        async with connected(database_url, "ledger_signer") as fresh:
            made = await signer.round(fresh)
    assert {seal.origin.split("/")[1] for seal in made} == {"zoo"}


async def test_what_was_remembered_and_not_recorded_is_signed_again_and_the_same(
    decided: asyncpg.Connection, tmp_path: Path
) -> None:
    with sealer(tmp_path) as signer:
        first = await signer.round(decided)
        await behind_our_back(decided, "DELETE FROM ledger.checkpoints")
        again = await signer.round(decided)
    assert [seal.note for seal in again] == [seal.note for seal in first]


async def test_a_log_that_was_rewound_is_not_signed(
    decided: asyncpg.Connection, tmp_path: Path
) -> None:
    with sealer(tmp_path) as signer:
        await signer.round(decided)
        await behind_our_back(
            decided,
            "DELETE FROM ledger.checkpoints",
            "DELETE FROM ledger.heads WHERE tree = 'decisions'",
            "DELETE FROM ledger.decided",
        )
        assert await signer.round(decided) == []
        assert "restored to an earlier point" in str(signer.stopped["test"])


@pytest.mark.parametrize("lost", ["memory", "database"])
async def test_a_log_that_was_rewritten_is_not_signed(
    decided: asyncpg.Connection, database_url: str, tmp_path: Path, lost: str
) -> None:
    """Either of the two memories is enough to notice."""
    with sealer(tmp_path) as signer:
        await signer.round(decided)
    await more(decided, database_url, 20, 1)
    if lost == "memory":
        (tmp_path / "signed.json").unlink()
    else:
        await behind_our_back(decided, "DELETE FROM ledger.checkpoints")
    await behind_our_back(
        decided,
        "UPDATE ledger.events SET leaf = sha256(leaf) WHERE position = 2",
        "UPDATE ledger.heads SET root = sha256(root) WHERE tree = 'events'",
    )
    with sealer(tmp_path, new=New(memory=lost == "memory")) as signer:
        assert await signer.round(decided) == []
        assert "does not continue" in str(signer.stopped["test"])


async def test_an_earlier_life_is_not_signed(decided: asyncpg.Connection, tmp_path: Path) -> None:
    (tmp_path / "signed.json").write_text(
        json.dumps(
            {
                "layout": 1,
                "signed": {"ledger.example/test/2/events": {"size": 1, "root": bytes(32).hex()}},
            }
        )
    )
    with sealer(tmp_path) as signer:
        assert await signer.round(decided) == []
        assert "incarnation 2 was signed" in str(signer.stopped["test"])


async def test_two_processes_do_not_share_a_memory(tmp_path: Path) -> None:
    path = tmp_path / "signed.json"
    with memory(path), pytest.raises(SetupProblem, match="another process"), memory(path):
        pass


async def test_every_entry_can_be_proven_to_somebody_without_a_database(
    decided: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    with sealer(tmp_path) as signer:
        await signer.round(decided)
        await more(decided, database_url, 20, 300)
        await signer.round(decided)
    fleet = await the_fleet(decided)
    for index in (0, 5, 8, 9, 255, 256, 308):
        proof = parse_proof((await proving.prove(decided, fleet, "events", index)).spelled)
        shown = verify(proof, proof.extra, only(key(EVENTS)))
        assert shown.checkpoint.size == (9 if index < 9 else 309)
        assert json.loads(proof.extra)[:2] == ["ledger-event-1", "test"]
    proof = parse_proof((await proving.prove(decided, fleet, "decisions", 4)).spelled)
    verify(proof, proof.extra, only(key(DECISIONS)))
    assert json.loads(proof.extra)["number"] == 4
    with pytest.raises(InvalidRequest):
        verify(proof, proof.extra.replace(b'"moved":0', b'"moved":1'), only(key(DECISIONS)))
    with pytest.raises(SetupProblem, match="no signed checkpoint"):
        await proving.prove(decided, fleet, "events", 309)
    with pytest.raises(SetupProblem, match="test is in life 1; no decision of life 2 was made"):
        await proving.prove(decided, fleet, "decisions", 4, made_in=Incarnation(2))


async def test_a_witness_vouches_for_growth_and_is_what_a_rewriter_with_the_key_cannot_get_around(
    decided: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    watching = signing(bytes([5]) * 32, "witness.example/w1", type_=COSIGNATURE)
    with (
        memory(tmp_path / "witness.json") as vouched,
        WitnessServer(
            ("127.0.0.1", 0),
            signer=watching,
            logs=[key(EVENTS), key(DECISIONS)],
            memory=vouched,
            clock=lambda: 1_700_000_000.5,
        ) as server,
    ):
        with sealer(tmp_path, Witness(server.url, watching.key)) as signer:
            await signer.round(decided)
            await more(decided, database_url, 20, 3)
        # A signer that starts anew learns from the witness how far that has seen.
        with sealer(tmp_path, Witness(server.url, watching.key)) as signer:
            await signer.round(decided)
        trust = parse_policy(
            f"log {key(EVENTS).spelled}\nwitness w {watching.key.spelled}\nquorum w\n".encode()
        )
        fleet = await the_fleet(decided)
        proof = await proving.prove(decided, fleet, "events", 11)
        shown = verify(proof, proof.extra, trust)
        assert shown.witnesses == ((watching.key, 1_700_000_000),)

        # Somebody with the key and every right rewrites all of it, and what was remembered and published.
        (tmp_path / "signed.json").unlink()
        shutil.rmtree(tmp_path / "published")
        await behind_our_back(
            decided,
            "DELETE FROM ledger.checkpoints",
            "UPDATE ledger.events SET leaf = sha256(leaf) WHERE position = 2",
            "UPDATE ledger.heads SET root = sha256(root) WHERE tree = 'events'",
        )
        witness = Witness(server.url, watching.key)
        with sealer(tmp_path, witness) as signer:
            forged = await signer.round(decided)
        assert len(forged[0].note.signatures) == 1, "the log's own, and no witness's"
        with pytest.raises(InvalidRequest) as refusal:
            verify(Proof(11, (), forged[0].note.spelled), b"", trust)
        assert refusal.value.code == "quorum_not_met"


async def test_a_witness_that_is_away_keeps_nobody_from_signing_and_is_asked_again(
    decided: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    """Nothing is news any more when it is back, and still the last end gets its word."""
    watching = signing(bytes([5]) * 32, "witness.example/w1", type_=COSIGNATURE)
    trust = parse_policy(
        f"log {key(EVENTS).spelled}\nwitness w {watching.key.spelled}\nquorum w\n".encode()
    )
    fleet = await the_fleet(decided)
    away = Witness("http://127.0.0.1:9", watching.key)
    with sealer(tmp_path, away) as signer:
        assert len(await signer.round(decided)) == 3
        trouble = signer.trouble()
        assert isinstance(trouble, NotWitnessed)
        assert DECISIONS in str(trouble)
        with pytest.raises(InvalidRequest, match="quorum_not_met"):
            verify(await proving.prove(decided, fleet, "events", 3), b"", trust)
        with (
            memory(tmp_path / "witness.json") as vouched,
            WitnessServer(
                ("127.0.0.1", 0),
                signer=watching,
                logs=[key(EVENTS), key(DECISIONS)],
                memory=vouched,
            ) as server,
        ):
            away.url = server.url
            assert await signer.round(decided) == []
            assert signer.trouble() is None
            notes = await decided.fetchval("SELECT count(*) FROM ledger.checkpoints")
            assert notes == 5, "those of both trees once more"
            assert await signer.round(decided) == []
            assert await decided.fetchval("SELECT count(*) FROM ledger.checkpoints") == notes
    proof = await proving.prove(decided, fleet, "events", 3)
    assert verify(proof, proof.extra, trust).witnesses[0][0] == watching.key
    published = tmp_path / "published" / EVENTS
    for path in (published / "checkpoint", *(published / "checkpoints").iterdir()):
        assert path.read_bytes() == proof.checkpoint
    keys = [key(EVENTS), key(DECISIONS), key(BOTH), watching.key]
    report = await audit.verified(decided, fleet, deep=False, keys=keys)
    assert (report.diverged, report.notes) == (None, 5)


async def test_a_proof_for_a_policy_stands_on_the_oldest_end_that_is_enough_for_it(
    decided: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    """The witness was away when the first end was signed, and vouches only for the next."""
    watching = signing(bytes([5]) * 32, "witness.example/w1", type_=COSIGNATURE)
    trust = parse_policy(
        f"log {key(EVENTS).spelled}\nwitness w {watching.key.spelled}\nquorum w\n".encode()
    )
    fleet = await the_fleet(decided)
    with sealer(tmp_path) as signer:
        await signer.round(decided)
    with pytest.raises(SetupProblem, match="enough for the policy"):
        await proving.prove(decided, fleet, "events", 3, policy=trust)
    await more(decided, database_url, 20, 3)
    with (
        memory(tmp_path / "witness.json") as vouched,
        WitnessServer(
            ("127.0.0.1", 0), signer=watching, logs=[key(EVENTS), key(DECISIONS)], memory=vouched
        ) as server,
        sealer(tmp_path, Witness(server.url, watching.key)) as signer,
    ):
        await signer.round(decided)
    for policy, size in ((None, 9), (only(key(EVENTS)), 9), (trust, 12)):
        proof = await proving.prove(decided, fleet, "events", 3, policy=policy)
        shown = verify(proof, proof.extra, policy or only(key(EVENTS)))
        assert shown.checkpoint.size == size


async def test_a_note_is_not_recorded_again_without_more_witnesses(
    decided: asyncpg.Connection, tmp_path: Path
) -> None:
    with sealer(tmp_path) as signer:
        await signer.round(decided)
    for tree, why in (("events", "recorded twice"), ("both", "recorded twice")):
        await behind_our_back(
            decided,
            "INSERT INTO ledger.checkpoints SELECT fleet, incarnation, tree, size, root, note,"
            f" signed_at, 1 FROM ledger.checkpoints WHERE tree = '{tree}'",
        )
        report = await audit.verified(decided, await the_fleet(decided), deep=False)
        assert report.diverged is not None
        assert why in str(report.diverged.recorded)
        await behind_our_back(decided, "DELETE FROM ledger.checkpoints WHERE again = 1")


async def test_what_could_not_be_published_is_as_soon_as_it_can(
    decided: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    """A fleet that falls silent then loses nothing, whether the signer goes on or starts anew."""
    folder = tmp_path / "published"
    folder.write_text("in the way")
    moment = 0.0
    with memory(tmp_path / "signed.json") as remembered:
        signer = Sealer(SITE, remembered, [Directory(folder)], clock=lambda: moment)
        assert len(await signer.round(decided)) == 3
        await more(decided, database_url, 20, 3)
        assert len(await signer.round(decided)) == 3, "it signs on"
        assert isinstance(signer.trouble(), SetupProblem)
        folder.unlink()
        assert await signer.round(decided) == []
        assert not folder.exists(), "it is left alone for a while"
        moment += REST_SECONDS
        assert await signer.round(decided) == []
        assert signer.trouble() is None
    kept = sorted(path.name for path in (folder / EVENTS / "checkpoints").iterdir())
    assert [int(name) for name in kept] == [9, 12]

    late = tmp_path / "named late"
    with memory(tmp_path / "signed.json") as remembered:
        places = [Directory(folder), Directory(late)]
        assert await Sealer(SITE, remembered, places).round(decided) == []
    assert [path.name for path in sorted((late / EVENTS / "checkpoints").iterdir())] == kept
    for name in (EVENTS, DECISIONS, BOTH):
        assert Directory(late).reached(name) == Directory(folder).reached(name) is not None


async def test_a_fleet_that_there_is_not_is_not_signed_for_silently(
    decided: asyncpg.Connection, tmp_path: Path
) -> None:
    with memory(tmp_path / "signed.json") as remembered:
        signer = Sealer(SITE, remembered, only=frozenset({"test", "tset"}))
        with pytest.raises(SetupProblem, match="fleet tset: there is none"):
            await signer.round(decided)


async def test_a_key_is_rotated_with_both_for_a_while(
    decided: asyncpg.Connection, tmp_path: Path
) -> None:
    new = bytes([7]) * 32
    with sealer(tmp_path, site=Site("ledger.example", (bytes(32), new))) as signer:
        (events, *_) = await signer.round(decided)
    for each in (key(EVENTS), key(EVENTS, new)):
        assert open_note(events.note.spelled, [each]).verified[0][0] == each


def test_a_secret_is_its_owner_s_alone_and_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    make(path)
    assert path.stat().st_mode & 0o777 == 0o600
    seed = read(path)
    with pytest.raises(SetupProblem, match="not replaced"):
        make(path)
    assert read(path) == seed
    path.chmod(0o640)
    with pytest.raises(SetupProblem, match="others may read it"):
        read(path)


async def test_the_commands_together(
    decided: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    assert await decided.fetchval("SELECT 1") == 1

    def ledger(*arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "ledger.cli.main", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    secret, proof = str(tmp_path / "secret"), str(tmp_path / "one.tlog-proof")
    at = ("--database-url", database_url)
    ledger("key", "new", secret)
    keys = ledger("key", "show", secret, "--site", "ledger.example", "--fleet", "test").split()
    assert [parse_key(one).name for one in keys] == [EVENTS, DECISIONS, BOTH]
    memory_file = str(tmp_path / "signed.json")
    sealing = ("seal", "--key", secret, "--site", "ledger.example", "--memory", memory_file)
    told = json.loads(ledger(*sealing, "--once", "--json", *at))
    assert [(one["origin"], one["size"]) for one in told["signed"]][:1] == [(EVENTS, 9)]
    assert told["trouble"] is None
    assert json.loads(ledger(*sealing, "--once", "--json", *at)) == {"signed": [], "trouble": None}
    ledger(*sealing, "--json", *at, code=MISUSED)
    ledger("prove", "event", "test/3", "--out", proof, *at)
    assert "entry 3 of ledger.example/test/1/events" in ledger(
        "verify-proof", proof, "--key", keys[0]
    )
    ledger("prove", "event", "test/3", "--out", "/nonexistent/x", *at, code=MISCONFIGURED)
    ledger(*sealing, "--once", "--fleet", "tset", *at, code=MISCONFIGURED)
    away = signing(bytes(32), "w", type_=COSIGNATURE).key.spelled
    ledger(*sealing, "--once", "--witness", f"{away}=http://127.0.0.1:9", *at, code=UNAVAILABLE)
    for told in (f"{keys[0]}=http://127.0.0.1:9", away):
        ledger(*sealing, "--once", "--witness", told, *at, code=MISCONFIGURED)
    wrong = ledger("verify-proof", proof, "--key", keys[1], "--json", code=2)
    assert json.loads(wrong)["why"] == "no_trusted_signature"
    ledger("prove", "decision", "test/1/2", "--out", proof, *at)
    shown = json.loads(ledger("verify-proof", proof, "--key", keys[1], "--json"))
    assert (shown["shown"], shown["index"], shown["entry"]["number"]) == (True, 2, 2)


def test_what_is_no_address_is_told_as_one() -> None:
    for what, told in (("event", "an event"), ("decision", "a decision")):
        said = CliRunner().invoke(as_asked(["prove"]), ["prove", what, "demo"])
        assert f"'demo' is no address of {told};" in said.stderr
