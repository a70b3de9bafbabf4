"""A signer is who signed before, or is told once that it is not; without a word it signs nothing."""

import asyncio
import json
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
from ledger.log.checkpoints import Checkpoint
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

    async def sign(
        self, folder: Path, site: Site = OURS, *, new: New = NOTHING_NEW, only: str | None = None
    ) -> list[Seal]:
        places = [Directory(folder / "published")]
        fleets = None if only is None else frozenset({only})
        with memory(folder / "signed.json") as remembered:
            sealer = Sealer(site, remembered, places, only=fleets, new=new)
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


@pytest.mark.parametrize("evidence", ["the database", "published"])
async def test_a_key_that_was_rotated_away_does_not_come_back_with_a_memory_of_before(
    log: Log, tmp_path: Path, evidence: str
) -> None:
    await log.sign(tmp_path)
    before = (tmp_path / "signed.json").read_bytes()
    await log.sign(tmp_path, Site("ledger.example", (NEXT, OLD)))
    await log.grow()
    await log.sign(tmp_path, Site("ledger.example", (NEXT,)))
    (tmp_path / "signed.json").write_bytes(before)
    if evidence == "published":
        await log.forget_notes()
    else:
        shutil.rmtree(tmp_path / "published")

    with pytest.raises(SetupProblem, match=f"{evidence} has .* signed with other keys.*--new-key"):
        await log.sign(tmp_path)
    assert len(await log.sign(tmp_path, new=New(key=True))) == 3

    await log.grow()
    assert len(await log.sign(tmp_path)) == 3, "it is said once"


async def test_a_key_is_known_by_the_newest_note_also_where_a_tree_did_not_grow_since(
    log: Log, tmp_path: Path
) -> None:
    both, after = Site("ledger.example", (NEXT, OLD)), Site("ledger.example", (NEXT,))
    await log.sign(tmp_path)
    with memory(tmp_path / "signed.json") as remembered:
        remembered.sign_as(both.signs_as)
    before = (tmp_path / "signed.json").read_bytes()
    await log.grow()
    await log.sign(tmp_path)
    await log.grow(decided=False)
    await log.sign(tmp_path, both)
    await log.grow(decided=False)
    await log.sign(tmp_path, after)
    (tmp_path / "signed.json").write_bytes(before)

    assert len(await log.sign(tmp_path, after)) == 3
    (tmp_path / "signed.json").write_bytes(before)
    await log.grow()
    assert len(await log.sign(tmp_path, after)) == 3


async def test_an_end_that_somebody_else_published_as_ours_is_not_signed_over(
    log: Log, tmp_path: Path
) -> None:
    await log.sign(tmp_path)
    await log.grow()
    name = "ledger.example/test/1/events"
    forged = Site("ledger.example", (NEXT,)).sign(name, Checkpoint(name, 900, bytes(32)).text)
    place = tmp_path / "published" / name / "checkpoint"
    ours = place.read_bytes()
    place.write_bytes(forged.spelled)

    with pytest.raises(SetupProblem, match=f"published has .* {name} .* signed with other keys"):
        await log.sign(tmp_path)

    place.write_bytes(ours)
    assert len(await log.sign(tmp_path)) == 3


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


async def test_a_fleet_that_others_sign_for_is_left_to_them_after_a_restart_too(
    log: Log, tmp_path: Path
) -> None:
    await log.sign(tmp_path)
    await log.grow("zoo")
    await log.sign(tmp_path / "elsewhere", THEIRS, only="zoo")
    await log.grow()

    with memory(tmp_path / "signed.json") as remembered:
        sealer = Sealer(OURS, remembered)
        made = await sealer.round(log.connection)

    assert {seal.origin.split("/")[1] for seal in made} == {"test"}
    assert "other.example/zoo/1/both" in str(sealer.stopped["zoo"])
    assert "name yours with --fleet" in str(sealer.stopped["zoo"])
    # Where none is known to be ours, one that is free says nothing of who this is.
    await log.grow("new")
    with pytest.raises(SetupProblem, match="--new-memory"):
        await log.sign(tmp_path / "empty")


async def test_a_word_is_for_the_start_and_not_for_a_fleet_that_turns_up(
    log: Log, tmp_path: Path
) -> None:
    await log.sign(tmp_path)
    with memory(tmp_path / "signed.json") as remembered:
        sealer = Sealer(THEIRS, remembered, new=New(site=True))
        await sealer.round(log.connection)
        await log.grow("zoo")
        await log.sign(tmp_path / "elsewhere", OURS, only="zoo")

        made = await sealer.round(log.connection)

    assert "zoo" not in {seal.origin.split("/")[1] for seal in made}
    assert "ledger.example/zoo/1/both" in str(sealer.stopped["zoo"])


async def test_a_new_memory_lets_no_other_key_in(log: Log, tmp_path: Path) -> None:
    """Not by way of another fleet, which it remembers."""
    await log.sign(tmp_path, only="test")
    await log.grow("zoo")
    await log.sign(tmp_path / "elsewhere", Site("ledger.example", (NEXT,)), only="zoo")

    with pytest.raises(SetupProblem, match=r"zoo: .* signed with other keys; .*--new-key"):
        await log.sign(tmp_path, new=New(memory=True))
    assert len(await log.sign(tmp_path, new=New(memory=True, key=True))) == 3


@pytest.mark.parametrize("note", [b"\x00", b"", b"nobody\n\n\xe2\x80\x94 nobody AAAAAAA=\n"])
async def test_a_note_that_cannot_be_read_is_somebodys(
    log: Log, tmp_path: Path, note: bytes
) -> None:
    await log.sign(tmp_path)
    async with log.connection.transaction():
        await log.connection.execute("SET LOCAL session_replication_role = replica")
        await log.connection.execute("UPDATE ledger.checkpoints SET note = $1", note)
    stranger, empty = Site("other.example", (NEXT,)), tmp_path / "empty"

    for new in (NOTHING_NEW, New(memory=True), New(site=True, key=True)):
        with pytest.raises(SetupProblem, match=r"test: .* cannot be read"):
            await log.sign(empty, stranger, new=new)
    assert await log.sign(tmp_path) == [], "its own memory says who signed"
    with pytest.raises(SetupProblem, match="nothing of this signer is new"):
        await log.sign(tmp_path, new=New(site=True, key=True, memory=True))
    assert len(await log.sign(empty, stranger, new=New(site=True, key=True, memory=True))) == 3


async def test_a_spoiled_file_that_was_published_is_somebodys(log: Log, tmp_path: Path) -> None:
    await log.sign(tmp_path)
    await log.forget_notes()
    (tmp_path / "signed.json").unlink()
    for file in (tmp_path / "published").rglob("checkpoint"):
        file.write_bytes(b"\x00")

    with pytest.raises(SetupProblem, match=r"published has ends.*--new-site"):
        await log.sign(tmp_path, THEIRS)
    with pytest.raises(SetupProblem, match=r"published has ends.*--new-memory"):
        await log.sign(tmp_path)


WORDS = {"site": "--new-site", "key": "--new-key", "memory": "--new-memory"}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("before", ["nobody", "this signer"])
async def test_a_word_is_refused_where_nothing_is_new(
    log: Log, tmp_path: Path, word: str, before: str
) -> None:
    """One that is left in a unit file would let the next mistake pass."""
    if before == "this signer":
        await log.sign(tmp_path)
        await log.grow()

    with pytest.raises(SetupProblem, match=f"^{WORDS[word]}: nothing .* leave it out"):
        await log.sign(tmp_path, new=New(**{word: True}))
    assert len(await log.sign(tmp_path)) == 3


async def test_a_word_too_many_is_named(log: Log, tmp_path: Path) -> None:
    await log.sign(tmp_path)
    await log.grow()

    with pytest.raises(SetupProblem, match=r"^--new-site --new-memory: nothing"):
        await log.sign(
            tmp_path,
            Site("ledger.example", (NEXT,)),
            new=New(site=True, key=True, memory=True),
        )
    assert len(await log.sign(tmp_path / "empty", new=New(memory=True))) == 3


async def test_who_is_new_in_every_way_may_say_so(log: Log, tmp_path: Path) -> None:
    await log.sign(tmp_path)
    stranger, everything = Site("other.example", (NEXT,)), New(site=True, key=True, memory=True)

    assert len(await log.sign(tmp_path / "empty", stranger, new=everything)) == 3
    await log.grow()
    with pytest.raises(SetupProblem, match=r"^--new-site --new-key --new-memory: nothing"):
        await log.sign(tmp_path / "empty", stranger, new=everything)


@pytest.mark.parametrize("word", WORDS)
async def test_a_word_can_be_repeated_until_something_was_signed_with_it(
    log: Log, tmp_path: Path, word: str
) -> None:
    """Who was killed as it began has at most noted as whom it signs."""
    await log.sign(tmp_path)
    signer = {"site": THEIRS, "key": Site("ledger.example", (NEXT,)), "memory": OURS}[word]
    words = New(**{word: True, "memory": word != "site"})
    with memory(tmp_path / "empty" / "signed.json") as remembered:
        remembered.sign_as(signer.signs_as)

    assert len(await log.sign(tmp_path / "empty", signer, new=words)) == 3


async def test_a_new_key_that_a_kept_memory_has_noted_needs_no_word(
    log: Log, tmp_path: Path
) -> None:
    await log.sign(tmp_path)
    await log.grow()
    signer = Site("ledger.example", (NEXT,))
    with memory(tmp_path / "signed.json") as remembered:
        remembered.sign_as(signer.signs_as)

    with pytest.raises(SetupProblem, match=r"^--new-key: nothing"):
        await log.sign(tmp_path, signer, new=New(key=True))
    assert len(await log.sign(tmp_path, signer)) == 3


async def test_a_signer_that_the_memory_does_not_know_ends_before_there_is_a_fleet(
    database_url: str, tmp_path: Path
) -> None:
    connection = await connect(database_url, None)
    try:
        with memory(tmp_path / "signed.json") as remembered:
            assert await Sealer(OURS, remembered).round(connection) == []
            with pytest.raises(SetupProblem, match="--new-site"):
                await Sealer(THEIRS, remembered).round(connection)
    finally:
        await connection.close()


@pytest.mark.parametrize(
    "signs_as",
    [
        *(None, "x", [], 1, {}, {"site": "x"}, {"keys": ["00"]}, {"site": 1, "keys": ["00"]}),
        *({"site": "x", "keys": keys} for keys in ("00", [], [1], ["no"])),
    ],
)
def test_a_memory_that_does_not_say_who_signs_is_refused(tmp_path: Path, signs_as: object) -> None:
    path = tmp_path / "signed.json"
    path.write_text(json.dumps({"layout": 1, "signed": {}, "signs_as": signs_as}))

    with pytest.raises(SetupProblem, match="not what a signer wrote"), memory(path):
        pass


@pytest.mark.parametrize(
    "signed",
    [
        *(None, [], "x", {"a": None}, {"a": {"size": 1}}, {"a": {"size": "1", "root": "00"}}),
        *({"a": {"size": True, "root": "00"}}, {"a": {"size": 1, "root": "no"}}),
    ],
)
def test_a_memory_that_does_not_say_what_was_signed_is_refused(
    tmp_path: Path, signed: object
) -> None:
    path = tmp_path / "signed.json"
    path.write_text(json.dumps({"layout": 1, "signed": signed}))

    with pytest.raises(SetupProblem, match="not what a signer wrote"), memory(path):
        pass


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
    code, said = seal(*empty, "--new-memory")
    assert (code, "leave it out" in said) == (MISCONFIGURED, True)
    assert seal(*empty, "--new-key", key="other.key")[0] == 0
    assert seal(*empty, "--new-site", key="other.key", site="other.example")[0] == 0
