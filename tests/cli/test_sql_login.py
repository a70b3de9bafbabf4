"""As whom ``ledger sql`` asks: no query can do more than a reader may, unless the login of an URL can."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import asyncpg
import pytest
from typer.testing import CliRunner, Result

from ledger.cli.commands import as_asked
from ledger.cli.sql import CAUTION
from ledger.cli.sql_login import LOGIN
from ledger.errors import SetupProblem
from ledger.log.database import Role, connect
from ledger.log.embedded import binaries, server
from ledger.views import readers
from tests.cli.test_explain import as_login, drop_login
from tests.postgres import refuse

OUT_OF_A_READERS_REACH = (
    "SET ROLE postgres",
    "SELECT set_config('role', 'postgres', false)",
    "SET SESSION AUTHORIZATION postgres",
    "RESET ROLE; SELECT count(*) FROM ledger.events",
    "SELECT set_config('role', 'none', false); SELECT count(*) FROM ledger.events",
    "SET ROLE ledger_writer",
    "SELECT count(*) FROM ledger.events",
    "BEGIN; SET TRANSACTION READ WRITE; CREATE TABLE public.mine (a int)",
    "BEGIN READ WRITE; DELETE FROM ledger.events",
    "SET default_transaction_read_only = off; CREATE SCHEMA mine",
    f"SET default_transaction_read_only = off; ALTER ROLE {LOGIN} SUPERUSER",
    "SET default_transaction_read_only = off; GRANT ledger_owner TO ledger_reader",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "SELECT pg_read_file('PG_VERSION')",
    "SELECT rolpassword FROM pg_authid",
)


pytestmark = pytest.mark.postgres


def test_whoever_has_another_role_of_the_ledger_is_more_than_a_reader() -> None:
    # The views do not know the log, so they list its roles themselves.
    assert {*readers.MORE_THAN_READING, "ledger_reader"} == {*get_args(Role)}


def ledger(*words: str, data: Path, said: str | None = None, code: int = 0) -> Result:
    """``ledger`` where no URL is given."""
    surroundings = {"LEDGER_DATABASE_URL": None, "LEDGER_DATA": str(data)}
    answer = CliRunner().invoke(as_asked(words), list(words), input=said, env=surroundings)
    assert answer.exit_code == code, (words, answer.output, answer.exception)
    return answer


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """An embedded server with a fleet; it ends with the tests."""
    try:
        binaries.find("18")
    except SetupProblem as problem:
        refuse(str(problem))
    place = server.temporary_directory()
    ledger("fleets", "open", "test", data=place / "data")
    yield place / "data"
    asyncio.run(server.stop(place / "data", mode="immediate"))


def touch(data: Path, statement: str) -> None:
    """Do something as whoever administers the server."""

    async def touched() -> None:
        connection = await connect((await server.start(data)).url, None)
        await connection.execute(statement)
        await connection.close()

    asyncio.run(touched())


def seen(data: Path) -> str:
    answer = ledger("sql", "SELECT fleet FROM fleets ORDER BY fleet", "--csv", data=data)
    assert CAUTION not in answer.stderr
    return answer.stdout


@pytest.mark.parametrize("asked", OUT_OF_A_READERS_REACH)
def test_a_query_does_no_more_than_a_reader_may(asked: str, data: Path) -> None:
    answer = ledger("sql", asked, data=data, code=64)

    assert answer.stderr.startswith("ledger: ")


def test_its_login_is_a_reader_and_nothing_else(data: Path) -> None:
    asked = (
        "SELECT session_user, current_user, rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication"
        " OR rolbypassrls, (SELECT count(*) FROM pg_auth_members WHERE member = pg_roles.oid)"
        " FROM pg_roles WHERE rolname = session_user"
    )

    answer = ledger("sql", asked, "--csv", data=data)

    assert answer.stdout.splitlines()[1] == f"{LOGIN},ledger_reader,False,1"


def test_it_is_not_the_prompt_either(data: Path) -> None:
    answer = ledger("sql", data=data, said="RESET ROLE;\nSET ROLE postgres;\n", code=64)

    assert "permission denied" in answer.stderr


def test_whoever_has_the_directory_sees_every_fleet(data: Path) -> None:
    before = seen(data)
    ledger("readers", "revoke", "ledger_reader", "*", data=data)
    after = seen(data)
    ledger("readers", "grant", "ledger_reader", "*", data=data)

    assert before == after == "fleet\ntest\n"


@pytest.mark.parametrize(
    "trouble",
    [
        f"ALTER ROLE {LOGIN} PASSWORD 'another'",
        f"ALTER ROLE {LOGIN} NOLOGIN",
        f"REVOKE ledger_reader FROM {LOGIN}",
    ],
)
def test_a_login_that_does_not_work_is_made_again(trouble: str, data: Path) -> None:
    before = seen(data)
    touch(data, trouble)

    assert seen(data) == before


def test_several_may_ask_first_at_once(data: Path) -> None:
    touch(
        data,
        f"DELETE FROM ledger.fleet_readers WHERE reader = '{LOGIN}'; DROP ROLE IF EXISTS {LOGIN}",
    )

    async def together() -> list[bytes]:
        asked = [
            await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "ledger.cli.main", "sql", "SELECT 1 AS one", "--csv"),
                *("--data", str(data)),
                stdout=asyncio.subprocess.PIPE,
            )
            for _ in range(3)
        ]
        return [(await one.communicate())[0] for one in asked]

    assert asyncio.run(together()) == [b"one\n1\n"] * 3


def test_where_the_login_of_an_url_may_do_more_it_is_said_once(database_url: str) -> None:
    def asked(url: str, *words: str, said: str | None = None) -> str:
        typed = ["sql", "--database-url", url, *words]
        answer = CliRunner().invoke(as_asked(typed), typed, input=said)
        assert answer.exit_code == 0, answer.output
        return answer.stderr

    for name, created in (("nobody_but_a_reader", ""), ("a_reader_that_writes", "ledger_writer")):
        login = as_login(database_url, name)
        try:
            if created:
                asyncio.run(_grant(database_url, created, name))
            said = asked(login, "SELECT 1"), asked(login, said="SELECT 1;\nSELECT 2;\n")
        finally:
            drop_login(database_url, name)
        assert [one.count(CAUTION) for one in said] == [1, 1] if created else [0, 0], name

    assert asked(database_url, "SELECT 1; SELECT 2").count(CAUTION) == 1
    assert asked(database_url, said="SELECT 1;\nSELECT 2;\n").count(CAUTION) == 1


async def _grant(url: str, role: str, login: str) -> None:
    connection: asyncpg.Connection = await connect(url, None)
    await connection.execute(f'GRANT {role} TO "{login}"')
    await connection.close()
