"""A directory without a ledger: who asks there is refused, and who begins one makes it.

An audit of a database that nobody has ever written to finds nothing wrong. Whoever mistyped the directory
must not read that as an answer.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ledger.cli.commands import as_asked
from ledger.errors import SetupProblem
from ledger.log.database import connect
from ledger.log.embedded import binaries, server
from tests.postgres import refuse

ASKING = [
    ("status",),
    ("watch",),
    ("sql", "SELECT 1"),
    ("explain", "409"),
    ("diff", "1", "2"),
    ("verify",),
    ("verify", "--deep", "--json"),
    ("replay", "--fleet", "demo"),
    ("what-if", "--set", "disk.alpha=1/2"),
    ("prove", "event", "demo/1"),
    ("fleets",),
    ("fleets", "bind", "somebody", "demo"),
    ("quarantine", "list"),
    ("partitions", "list"),
    ("readers", "list"),
    ("maintain",),
    ("recover", "demo", "--without-kafka"),
]


def ledger(*words: str, data: Path) -> Result:
    """``ledger`` where no URL is given."""
    surroundings = {"LEDGER_DATABASE_URL": None, "LEDGER_DATA": str(data)}
    return CliRunner().invoke(as_asked(words), list(words), env=surroundings)


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_who_asks_where_no_ledger_is_makes_none(words: tuple[str, ...], tmp_path: Path) -> None:
    mistyped = tmp_path / "nothere"

    answer = ledger(*words, data=mistyped)

    assert answer.exit_code == 78, (answer.output, answer.exception)
    assert answer.stdout == ""
    assert f"ledger: {mistyped}: there is no ledger here" in answer.stderr
    assert f"`ledger migrate --data {mistyped}`" in answer.stderr
    assert not mistyped.exists()


@pytest.mark.parametrize("user", [0, 1000])
def test_where_the_data_are_unless_somebody_says_otherwise_is_told(
    user: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LEDGER_DATA", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: user)

    there = str(server.default_data_directory()).replace(str(tmp_path), "~")

    said = CliRunner().invoke(as_asked(["sql"]), ["sql", "--help"], env={"COLUMNS": "200"}).stdout
    page = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    assert there in " ".join(said.split())
    assert f"`{there}`" in page


def test_an_empty_directory_stays_empty(tmp_path: Path) -> None:
    assert ledger("verify", data=tmp_path).exit_code == 78
    assert not list(tmp_path.iterdir())


@pytest.fixture
def data() -> Iterator[Path]:
    """A directory in which a server can be started; it ends with the test."""
    try:
        binaries.find("18")
    except SetupProblem as problem:
        refuse(str(problem))
    place = server.temporary_directory()
    yield place / "data"
    asyncio.run(server.stop(place / "data", mode="immediate"))


@pytest.mark.postgres
def test_who_begins_a_ledger_makes_it_and_nobody_changes_one_of_an_earlier_release(
    data: Path,
) -> None:
    assert ledger("fleets", "open", "test", data=data).exit_code == 0
    assert "fleet test is whole" in ledger("verify", data=data).stdout

    asyncio.run(_earlier(data))
    for words in (("verify",), ("fleets", "open", "other"), ("migrate",)):
        refused = ledger(*words, data=data)
        assert refused.exit_code == 78, refused.output
        assert "schema 0025 was made by a release before schema" in refused.stderr
        assert "`ledger ingest - --fleet NAME`" in refused.stderr


async def _earlier(data: Path) -> None:
    running = await server.start(data)
    connection = await connect(running.url, None)
    try:
        await connection.execute("UPDATE ledger.schema_version SET version_num = '0025'")
    finally:
        await connection.close()
