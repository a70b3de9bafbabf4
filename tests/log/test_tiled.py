"""What lies in the directory is the tree that was signed, to somebody who knows only the C2SP texts."""

import json
import subprocess
import sys
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio

from ledger.errors import LedgerStopped, SetupProblem
from ledger.log import fleets, lines, tiled
from ledger.log.database import connect
from ledger.log.fleets import Fleet
from ledger.log.notes import Key, open_note
from ledger.log.publishing import Directory
from ledger.log.sealer import Sealer
from ledger.log.sealing import Site
from ledger.log.signed import memory
from ledger.log.signing_keys import signing
from ledger.log.tiled import Tiled
from ledger.log.trees import Tree
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line

SITE = Site("ledger.example", (bytes(32),))
EVENTS = "ledger.example/test/1/events"
DECISIONS = "ledger.example/test/1/decisions"


def numbered(index: int, width: int) -> str:
    """The path of a tile: three digits a part, all but the last with an x; a partial one says how wide."""
    digits = f"{index:03d}"
    digits = digits.rjust(-(-len(digits) // 3) * 3, "0")
    parts = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    path = "/".join([*(f"x{part}" for part in parts[:-1]), parts[-1]])
    return path if width == 256 else f"{path}.p/{width}"


def widths(size: int, level: int) -> list[int]:
    """How wide the tiles of a level are."""
    full, rest = divmod(size // 256**level, 256)
    return [256] * full + [rest] * (rest > 0)


def root_of(hashes: list[bytes]) -> bytes:
    """RFC 6962, 2.1: the left subtree is the largest full one."""
    if len(hashes) < 2:
        return hashes[0] if hashes else sha256().digest()
    left = 1 << (len(hashes) - 1).bit_length() - 1
    return sha256(b"\x01" + root_of(hashes[:left]) + root_of(hashes[left:])).digest()


def entries_in(bundle: bytes) -> list[bytes]:
    found = []
    while bundle:
        length = int.from_bytes(bundle[:2], "big")
        assert len(bundle) >= 2 + length
        found.append(bundle[2 : 2 + length])
        bundle = bundle[2 + length :]
    return found


def entries_of(prefix: Path, size: int) -> list[bytes]:
    """Every entry; those of a bundle that cannot be are looked for where our page says."""
    found = []
    for index, width in enumerate(widths(size, 0)):
        bundle = prefix / "tile/entries" / numbered(index, width)
        if bundle.exists():
            entries = entries_in(bundle.read_bytes())
        else:
            first = 256 * index
            entries = [
                (prefix / "entry" / numbered(at, 256)).read_bytes()
                for at in range(first, first + width)
            ]
            assert max(map(len, entries)) > 65535
        assert len(entries) == width
        found += entries
    return found


def read_tree(prefix: Path) -> tuple[int, bytes, list[bytes]]:
    """Size, root and entries of the tree in a directory, each tile held against the one below."""
    origin, told, root, *_ = (prefix / "checkpoint").read_text().split("\n")
    assert prefix.as_posix().endswith(origin)
    size = int(told)
    entries = entries_of(prefix, size)
    hashes = [sha256(b"\x00" + entry).digest() for entry in entries]
    level = 0
    while hashes:
        for index, width in enumerate(widths(size, level)):
            tile = (prefix / "tile" / str(level) / numbered(index, width)).read_bytes()
            assert tile == b"".join(hashes[256 * index : 256 * index + width])
        if level == 0:
            assert root_of(hashes) == b64decode(root)
        full = len(hashes) // 256
        hashes = [root_of(hashes[256 * index : 256 * (index + 1)]) for index in range(full)]
        level += 1
    return size, b64decode(root), entries


class Log:
    """A log that grows and is signed for."""

    def __init__(self, connection: asyncpg.Connection, url: str, folder: Path) -> None:
        self.connection = connection
        self.url = url
        self.folder = folder
        self.next = 1

    @property
    def tiles(self) -> Path:
        return self.folder / "tiles"

    async def grow(self, count: int) -> None:
        told = [
            workload_line(number, replicas=number, weights={"c1": 1, "c2": 2})
            for number in range(self.next, self.next + count)
        ]
        self.next += count
        await lines.ingest(self.connection, told)
        await decide_all(self.url)
        await self.seal()

    async def seal(self) -> None:
        with memory(self.folder / "signed.json") as remembered:
            await Sealer(SITE, remembered).round(self.connection)

    async def export(self, tree: Tree = "events") -> Tiled:
        return await tiled.export(self.connection, await self.fleet(), tree, self.tiles)

    async def fleet(self) -> Fleet:
        return await fleets.named(self.connection, "test")

    @asynccontextmanager
    async def changed(self, *statements: str) -> AsyncIterator[None]:
        """With rows as nobody should have made them."""
        change = self.connection.transaction()
        await change.start()
        try:
            await self.connection.execute("SET LOCAL session_replication_role = replica")
            for statement in statements:
                await self.connection.execute(statement)
            yield
        finally:
            await change.rollback()


@pytest_asyncio.fixture
async def log(database_url: str, tmp_path: Path) -> AsyncIterator[Log]:
    connection = await connect(database_url, None)
    await lines.ingest(connection, [cluster_line(number) for number in (1, 2)])
    yield Log(connection, database_url, tmp_path)
    await connection.close()


def key(origin: str) -> Key:
    return signing(bytes(32), origin).key


async def test_the_files_alone_lead_to_the_root_that_was_signed(log: Log) -> None:
    await log.grow(300)
    for tree, origin in (("events", EVENTS), ("decisions", DECISIONS)):
        made = await log.export("events" if tree == "events" else "decisions")
        size, _, entries = read_tree(log.tiles / origin)
        assert made == Tiled(origin, 0, size, 0)
        opened = open_note((log.tiles / origin / "checkpoint").read_bytes(), [key(origin)])
        assert [who.name for who, _ in opened.verified] == [origin]
        stored = [json.loads(entry) for entry in entries]
        if tree == "events":
            assert {one[0] for one in stored} == {"ledger-event-1"}
            payload = await log.connection.fetchval(
                "SELECT payload FROM ledger.events WHERE position = 7"
            )
            assert stored[7][-1] == sha256(payload).hexdigest()
        else:
            assert [one["number"] for one in stored] == list(range(size))


@pytest.mark.parametrize("steps", [(1, 1), (250, 4, 3), (254, 256), (3, 600, 1)])
async def test_an_export_goes_on_where_the_last_one_ended(log: Log, steps: tuple[int, ...]) -> None:
    before = 0
    for count in steps:
        await log.grow(count)
        made = await log.export()
        assert (made.before, read_tree(log.tiles / EVENTS)[0]) == (before, made.size)
        full = {
            path: path.stat().st_mtime_ns
            for path in (log.tiles / EVENTS / "tile").rglob("*")
            if path.is_file() and path.parent.suffix != ".p"
        }
        before = made.size
        assert (await log.export()).before == before, "there is nothing new"
        assert all(path.stat().st_mtime_ns == then for path, then in full.items())


async def test_an_export_that_was_interrupted_goes_on(log: Log) -> None:
    """Files without a checkpoint that speaks of them are no part of the tree."""
    await log.grow(10)
    await log.export()
    then = (log.tiles / EVENTS / "checkpoint").read_bytes()
    await log.grow(600)
    await log.export()
    (log.tiles / EVENTS / "checkpoint").write_bytes(then)
    (log.tiles / EVENTS / "tile/0/001").write_bytes(b"half")
    assert (await log.export()).before == 12
    assert read_tree(log.tiles / EVENTS)[0] == 612


async def test_an_entry_too_long_for_a_bundle_lies_alone_with_those_beside_it(log: Log) -> None:
    names = [f"c{number}" for number in range(1500)]
    await lines.ingest(log.connection, [cluster_line(number) for number in range(1500)])
    wide = workload_line(9999, replicas=3000, weights=dict.fromkeys(names, 1), name="wide")
    await lines.ingest(log.connection, [wide])
    await log.grow(3)
    longest = await log.connection.fetchval("SELECT max(length(record)) FROM ledger.decisions")
    assert longest > 65535
    made = await log.export("decisions")
    assert read_tree(log.tiles / DECISIONS)[0] == made.size == made.alone


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger.events SET source = source || 'x' WHERE position = 3",
        "UPDATE ledger.events SET source = source || 'x' WHERE position = 301",
        "UPDATE ledger.tile_hashes SET hash = sha256(hash) WHERE tree = 'events' AND level = 1",
        "DELETE FROM ledger.tile_hashes WHERE tree = 'events' AND level = 1",
        "DELETE FROM ledger.events WHERE position = 301",
    ],
)
async def test_rows_that_are_not_what_was_signed_are_not_given_out(
    log: Log, statement: str
) -> None:
    await log.grow(300)
    async with log.changed(statement):
        with pytest.raises(LedgerStopped):
            await log.export()
    assert not (log.tiles / EVENTS / "checkpoint").exists()
    await log.export()
    assert read_tree(log.tiles / EVENTS)[0] == 302


async def test_a_directory_is_not_continued_with_another_history(log: Log) -> None:
    await log.grow(5)
    await log.export()
    path = log.tiles / EVENTS / "checkpoint"
    lines_ = path.read_text().split("\n")
    path.write_text("\n".join([*lines_[:2], "A" * 43 + "=", *lines_[3:]]))
    await log.grow(1)
    with pytest.raises(LedgerStopped, match="does not continue the 7"):
        await log.export()


async def test_what_is_not_signed_is_not_exported_nor_among_published_notes(log: Log) -> None:
    with pytest.raises(SetupProblem, match="no end of its events is signed"):
        await log.export()
    with memory(log.folder / "signed.json") as remembered:
        await Sealer(SITE, remembered, [Directory(log.tiles)]).round(log.connection)
    with pytest.raises(SetupProblem, match="directory of their own"):
        await log.export()


async def test_the_command_exports_both_trees(log: Log) -> None:
    await log.grow(4)

    def ledger() -> list[dict[str, object]]:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "ledger.cli.main", "tiles", "test", str(log.tiles)),
                *("--json", "--database-url", log.url),
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    assert ledger() == [
        {"origin": EVENTS, "before": 0, "size": 6, "alone": 0},
        {"origin": DECISIONS, "before": 0, "size": 4, "alone": 0},
    ]
    assert [one["before"] for one in ledger()] == [6, 4]
    for origin in (EVENTS, DECISIONS):
        read_tree(log.tiles / origin)
