"""A signer is who signed before, or is told once that it is not; without a word it signs nothing."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio
from typer.testing import CliRunner

from ledger.cli.commands import as_asked
from ledger.cli.run import MISCONFIGURED
from ledger.errors import SetupProblem
from ledger.log import lines
from ledger.log.database import connect
from ledger.log.publishing import Directory
from ledger.log.recognition import NOTHING_NEW, New
from ledger.log.sealer import Sealer
from ledger.log.sealing import Seal, Site
from ledger.log.signed import memory
from ledger.log.signing_keys import make
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line

OLD, NEXT = bytes(32), bytes([7]) * 32
OURS = Site("ledger.example", (OLD,))
THEIRS = Site("other.example", (OLD,))


@pytest_asyncio.fixture
async def log(database_url: str) -> AsyncIterator["Log"]:
    """A log that nobody signed for yet."""
    async with opened(database_url) as log:
        yield log


@asynccontextmanager
async def opened(url: str) -> AsyncIterator["Log"]:
    connection = await connect(url, None)
    log = Log(url, connection)
    await log.grow()
    yield log
    await connection.close()


class Log:
    """A small log, growing event by event."""

    def __init__(self, url: str, connection: asyncpg.Connection) -> None:
        self.url = url
        self.connection = connection
        self._events = 0

    async def grow(self, fleet: str = "test", *, decided: bool = True) -> None:
        self._events += 1
        told = [cluster_line(self._events, fleet=fleet)]
        if decided:
            told.append(
                workload_line(self._events, replicas=self._events, weights={"c1": 1}, fleet=fleet)
            )
        await lines.ingest(self.connection, told)
        await decide_all(self.url)

    async def forget_notes(self) -> None:
        async with self.connection.transaction():
            await self.connection.execute("SET LOCAL session_replication_role = replica")
            await self.connection.execute("DELETE FROM ledger.checkpoints")

    async def sign(self, folder: Path, site: Site = OURS, *, new: New = NOTHING_NEW) -> list[Seal]:
        places = [Directory(folder / "published")]
        with memory(folder / "signed.json") as remembered:
            sealer = Sealer(site, remembered, places, new=new)
            made = await sealer.round(self.connection)
        assert not sealer.stopped
        return made


@pytest.mark.parametrize("evidence", ["the database", "published"])
async def test_ends_that_the_memory_has_forgotten_are_not_signed_over(
    log: Log, tmp_path: Path, evidence: str
) -> None:
    await log.sign(tmp_path)
    (tmp_path / "signed.json").unlink()
    if evidence == "published":
        await log.forget_notes()
    else:
        shutil.rmtree(tmp_path / "published")
    await log.grow()

    with pytest.raises(SetupProblem, match=f"{evidence} has ends.*--new-memory"):
        await log.sign(tmp_path)
    with pytest.raises(SetupProblem, match="--new-memory"):
        await log.sign(tmp_path, new=New(site=True, key=True))
    assert len(await log.sign(tmp_path, new=New(memory=True))) == 3

    await log.grow()
    assert len(await log.sign(tmp_path)) == 3, "it is said once"


async def test_another_site_is_not_signed_for_without_a_word(log: Log, tmp_path: Path) -> None:
    await log.sign(tmp_path)

    with pytest.raises(SetupProblem, match=r"signs as ledger\.example, not as other\.example"):
        await log.sign(tmp_path, THEIRS)
    assert len(await log.sign(tmp_path, THEIRS, new=New(site=True))) == 3

    await log.grow()
    assert len(await log.sign(tmp_path, THEIRS)) == 3
    with pytest.raises(SetupProblem, match=r"signs as other\.example, not as ledger\.example"):
        await log.sign(tmp_path)


@pytest.mark.parametrize("evidence", ["the database", "published"])
async def test_another_site_is_known_by_what_it_left_where_the_memory_is_new(
    log: Log, tmp_path: Path, evidence: str
) -> None:
    await log.sign(tmp_path)
    (tmp_path / "signed.json").unlink()
    if evidence == "published":
        await log.forget_notes()
    else:
        shutil.rmtree(tmp_path / "published")

    with pytest.raises(SetupProblem, match=f"{evidence} has ends signed as .*--new-site"):
        await log.sign(tmp_path, THEIRS)
    assert len(await log.sign(tmp_path, THEIRS, new=New(site=True))) == 3


async def test_another_key_does_not_sign_without_a_word(log: Log, tmp_path: Path) -> None:
    await log.sign(tmp_path)
    await log.grow()
    lost = Site("ledger.example", (NEXT,))

    with pytest.raises(SetupProblem, match=r"signed with other keys; .*--new-key"):
        await log.sign(tmp_path, lost)
    assert len(await log.sign(tmp_path, lost, new=New(key=True))) == 3
    with pytest.raises(SetupProblem, match="signed with other keys"):
        await log.sign(tmp_path)


@pytest.mark.parametrize("evidence", ["the database", "published"])
async def test_another_key_is_known_by_the_notes_where_the_memory_is_new(
    log: Log, tmp_path: Path, evidence: str
) -> None:
    await log.sign(tmp_path)
    (tmp_path / "signed.json").unlink()
    if evidence == "published":
        await log.forget_notes()
    else:
        shutil.rmtree(tmp_path / "published")
    lost = Site("ledger.example", (NEXT,))

    with pytest.raises(SetupProblem, match=r"signed with other keys; .*--new-key"):
        await log.sign(tmp_path, lost, new=New(memory=True))
    assert len(await log.sign(tmp_path, lost, new=New(key=True, memory=True))) == 3


async def test_a_key_is_rotated_without_a_word_with_both_for_a_while(
    log: Log, tmp_path: Path
) -> None:
    """Whether or not anything was signed with both."""
    both, after = Site("ledger.example", (NEXT, OLD)), Site("ledger.example", (NEXT,))
    await log.sign(tmp_path)
    await log.sign(tmp_path, both)
    await log.grow(decided=False)
    events, bound = await log.sign(tmp_path, after)
    assert (events.tree, bound.tree) == ("events", "both")
    assert len(events.note.signatures) == 1

    # Where the memory is lost then, the last decisions are still those that the old key signed.
    (tmp_path / "signed.json").unlink()
    assert len(await log.sign(tmp_path, after, new=New(memory=True))) == 3
    with pytest.raises(SetupProblem, match="signed with other keys"):
        await log.sign(tmp_path)


async def test_a_refused_signer_leaves_no_trace(log: Log, tmp_path: Path) -> None:
    await log.sign(tmp_path)
    remembered = (tmp_path / "signed.json").read_bytes()
    notes = await log.connection.fetchval("SELECT count(*) FROM ledger.checkpoints")
    await log.grow()

    with pytest.raises(SetupProblem):
        await log.sign(tmp_path, THEIRS)

    assert (tmp_path / "signed.json").read_bytes() == remembered
    assert await log.connection.fetchval("SELECT count(*) FROM ledger.checkpoints") == notes


async def test_a_fleet_that_turns_up_and_was_signed_for_by_others_stops_no_other(
    log: Log, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    with memory(tmp_path / "signed.json") as remembered:
        sealer = Sealer(OURS, remembered)
        await sealer.round(log.connection)
        await log.grow("zoo")
        with memory(elsewhere / "signed.json") as others:
            await Sealer(THEIRS, others, only=frozenset({"zoo"})).round(log.connection)
        await log.grow()

        made = await sealer.round(log.connection)

    assert {seal.origin for seal in made} == {
        f"ledger.example/test/1/{tree}" for tree in ("events", "decisions", "both")
    }
    assert "ends signed as other.example/zoo/1/both" in str(sealer.stopped["zoo"])


async def test_a_fleet_that_nobody_signed_for_is_taken_up_without_a_word(
    log: Log, tmp_path: Path
) -> None:
    await log.sign(tmp_path)
    await log.grow("zoo")

    made = await log.sign(tmp_path)

    assert {seal.origin.split("/")[1] for seal in made} == {"zoo"}


def test_the_command_says_it_and_takes_a_word(database_url: str, tmp_path: Path) -> None:
    async def begin() -> None:
        async with opened(database_url):
            pass

    asyncio.run(begin())
    for name in ("site.key", "other.key"):
        make(tmp_path / name)

    def seal(*more: str, key: str = "site.key", site: str = "ledger.example") -> tuple[int, str]:
        words = ["seal", "--once", "--key", str(tmp_path / key), "--site", site, *more]
        words += ["--database-url", database_url]
        done = CliRunner().invoke(as_asked(words), words)
        return done.exit_code, done.stderr

    kept, empty = ("--memory", str(tmp_path / "kept")), ("--memory", str(tmp_path / "empty"))
    assert seal(*kept)[0] == 0
    for code, said, word in (
        (*seal(*kept, site="other.example"), "--new-site"),
        (*seal(*kept, key="other.key"), "--new-key"),
        (*seal(*empty), "--new-memory"),
    ):
        assert code == MISCONFIGURED
        assert word in said
    assert seal(*empty, "--new-memory")[0] == 0
    assert seal(*empty, "--new-key", key="other.key")[0] == 0
    assert seal(*empty, "--new-site", key="other.key", site="other.example")[0] == 0
