"""A reader sees the fleets that it was granted, and there is no way around."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

import asyncpg
import pytest
import pytest_asyncio

from ledger.errors import InvalidRequest
from ledger.log import lines
from ledger.log.database import connect
from ledger.views import readers
from tests.engine.deciding import decide_all
from tests.engine.test_the_book_in_sql import story
from tests.postgres import Postgres

ITS_OWN = {"schema_version"}
"""Views that speak of no fleet, and of nobody."""

LEAK = """
CREATE FUNCTION pg_temp.leak(value text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001
  AS $$BEGIN RAISE NOTICE 'seen: %', value; RETURN true; END$$
"""


@dataclass
class Two:
    """A log of two fleets, of which one was granted to each of two logins."""

    operator: asyncpg.Connection
    url: str
    logins: dict[str, str]
    """By the fleet that it may see."""

    @asynccontextmanager
    async def reading(self, login: str) -> AsyncIterator[asyncpg.Connection]:
        """What a connection of this login is: both its roles are the login's own."""
        connection = await connect(self.url, None)
        try:
            await connection.execute(f"SET SESSION AUTHORIZATION {login}")
            await connection.execute("SET search_path = ledger_api")
            yield connection
        finally:
            await connection.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two(postgres: Postgres) -> AsyncIterator[Two]:
    async with postgres.database() as url:
        operator = await connect(url, None)
        logins = {fleet: f"reader_{fleet}_{uuid4().hex[:8]}" for fleet in ("shop", "bank")}
        try:
            for fleet in logins:
                told = [
                    line.replace(b"shop", f"of-{fleet}".encode())
                    .replace(b"m1", f"of-{fleet}-m1".encode())
                    .replace(b'"fleet": "test"', b'"fleet": "%s"' % fleet.encode())
                    for line in story().lines
                ]
                taken = await lines.ingest(operator, told)
                assert taken.appended == len(told)
            await lines.ingest(
                operator, [b'{"fleet": "shop", "of-shop": 1}', b'{"fleet": "bank"}', b"of-nobody"]
            )
            await decide_all(url)
            for fleet, login in logins.items():
                await operator.execute(f"CREATE ROLE {login} LOGIN")
                await readers.grant(operator, login, fleet)
            await readers.revoke(operator, "ledger_reader", "*")
            yield Two(operator, url, logins)
        finally:
            for login in logins.values():
                await operator.execute(f"DROP ROLE IF EXISTS {login}")
            await operator.close()


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def views(two: Two) -> dict[str, list[str]]:
    """Every view, and its columns."""
    found: dict[str, list[str]] = {}
    for view, column in await two.operator.fetch(
        "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
        " WHERE c.relnamespace = 'ledger_api'::regnamespace AND c.relkind = 'v' AND a.attnum > 0"
        " ORDER BY c.relname, a.attnum"
    ):
        found.setdefault(view, []).append(column)
    return found


async def test_each_sees_its_own_fleet_in_every_view_and_no_other(two: Two) -> None:
    empty = set()
    for fleet, login in two.logins.items():
        async with two.reading(login) as reader:
            for view, columns in (await views(two)).items():
                if "fleet" not in columns:
                    assert view in ITS_OWN | {"partitions"}, f"{view} says not whose it is"
                    continue
                found = {row[0] for row in await reader.fetch(f'SELECT fleet FROM "{view}"')}
                assert found <= {fleet}, view
                if not found:
                    empty.add(view)
            assert await reader.fetch("SELECT * FROM partitions") == []
    assert empty <= {
        *("capacity_classes", "checkpoints", "conservation", "leases", "snapshots", "evictions"),
        *("proposals", "proposal_moves", "quarantine", "stops"),
    }, "of what is there to be seen something is"


async def test_functions_answer_of_ones_own_fleet_only(two: Two) -> None:
    functions = await two.operator.fetch(
        "SELECT proname, pg_get_function_arguments(oid) AS asked, prosecdef FROM pg_proc"
        " WHERE pronamespace = 'ledger_api'::regnamespace ORDER BY proname, oid"
    )
    assert len(functions) > 20
    answered = set()
    async with two.reading(two.logins["shop"]) as reader:
        for name, asked, definer in functions:
            assert not definer, f"{name} looks with other eyes than its caller's"
            given = {
                'fleet text, "position" bigint': "20",
                "fleet text, moment timestamp with time zone": "now()",
                'fleet text, "from" bigint, "to" bigint': "0, 20",
                'fleet text, "from" timestamp with time zone, "to" timestamp with time zone': (
                    "'2000-01-01', now()"
                ),
            }[asked]
            refused = {}
            for fleet in ("shop", "bank", "nobody"):
                try:
                    rows = await reader.fetch(f"SELECT t FROM {name}('{fleet}', {given}) t")
                except asyncpg.PostgresError as error:
                    refused[fleet] = str(error).replace(fleet, "it")
                    continue
                told = [row[0] for row in rows if row[0] is not None]
                assert fleet == "shop" or not told, name
                if told:
                    answered.add(name)
            assert "shop" not in refused, name
            assert refused.get("bank") == refused.get("nobody"), "what is unseen looks unknown"
            assert refused, name
    assert {"placements_as_of", "placements_at", "position_at", "fleets_at"} <= answered


async def test_no_condition_is_asked_of_what_may_not_be_seen(two: Two) -> None:
    for fleet, login in two.logins.items():
        other = "bank" if fleet == "shop" else "shop"
        async with two.reading(login) as reader:
            said: list[str] = []
            reader.add_log_listener(lambda _, message, said=said: said.append(message.message))
            await reader.execute("SET default_transaction_read_only = off")
            await reader.execute(LEAK)
            for view, columns in (await views(two)).items():
                for column in columns:
                    await reader.fetch(
                        f'SELECT 1 FROM "{view}" WHERE pg_temp.leak(\'{view} {column} \' || "{column}"::text)'
                    )
            for function in ("placements_as_of", "running_tasks_as_of", "decisions_between"):
                more = ", 50" if function == "decisions_between" else ""
                for asked in (fleet, other):
                    with suppress(asyncpg.PostgresError):
                        await reader.fetch(
                            f"SELECT 1 FROM {function}('{asked}', 10{more}) t"
                            " WHERE pg_temp.leak(t::text)"
                        )
            assert any(fleet in one for one in said)
            leaked = [one for one in said if other in one or "nobody" in one]
            assert not leaked


async def test_no_error_tells_what_may_not_be_seen(two: Two) -> None:
    async with two.reading(two.logins["shop"]) as reader:
        for condition in (
            "subject::bigint = 1",
            "1 / (CASE fleet WHEN 'bank' THEN 0 ELSE 1 END) = 1",
            "fleet <> 'shop' AND pg_input_is_valid(subject, 'bigint') IS NULL",
        ):
            told = []
            try:
                await reader.fetch(f"SELECT 1 FROM decisions WHERE {condition}")
            except asyncpg.PostgresError as error:
                told.append(str(error))
            assert not [one for one in told if "bank" in one or "division" in one]


async def test_base_tables_are_closed_to_readers(two: Two) -> None:
    names = await two.operator.fetch(
        "SELECT c.oid::regclass::text FROM pg_class c"
        " WHERE c.relnamespace = 'ledger'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'S')"
    )
    assert len(names) > 50
    async with two.reading(two.logins["shop"]) as reader:
        for (name,) in names:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await reader.fetch(f"SELECT * FROM {name}")
        await reader.execute("SET default_transaction_read_only = off")
        for attempt in (
            "SET ROLE ledger_owner",
            "SELECT ledger.is_decided('bank', 1)",
            "INSERT INTO ledger_api.schema_version VALUES ('1')",
            "UPDATE ledger_api.schema_version SET version = '1'",
            "CREATE VIEW ledger_api.mine AS SELECT 1",
            "ALTER VIEW ledger_api.events RESET (security_barrier)",
        ):
            with pytest.raises(
                (
                    asyncpg.InsufficientPrivilegeError,
                    asyncpg.ReadOnlySQLTransactionError,
                    asyncpg.ObjectNotInPrerequisiteStateError,
                )
            ):
                await reader.execute(attempt)


async def test_every_view_looks_through_what_was_granted(two: Two) -> None:
    """Whoever adds a view to ledger_api is told here what it has to be made of."""
    for name, barrier, sources in await two.operator.fetch(
        "SELECT c.relname, c.reloptions @> '{security_barrier=true}'"
        "       AND pg_get_viewdef(c.oid) !~ '\\nUNION( ALL)?\\n' AS barrier,"
        "       array_agg(DISTINCT s.relname::text) AS sources"
        "  FROM pg_class c JOIN pg_rewrite w ON w.ev_class = c.oid"
        "  JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid"
        "  JOIN pg_class s ON d.refclassid = 'pg_class'::regclass AND s.oid = d.refobjid"
        " WHERE c.relkind = 'v' AND s.oid <> c.oid AND c.relname NOT IN"
        "       ('seen_fleets', 'granted_fleets')"
        "   AND c.relnamespace IN ('ledger'::regnamespace, 'ledger_api'::regnamespace)"
        " GROUP BY c.oid"
    ):
        assert barrier, f"{name} lets a reader's conditions look first"
        assert "fleets" not in sources, f"{name} shows fleets that nobody was granted"
        if name not in ITS_OWN:
            assert {"seen_fleets", "granted_fleets"} & set(sources), name


async def test_a_grant_to_a_group_is_one_to_its_members(two: Two) -> None:
    login = two.logins["shop"]
    group = f"group_{uuid4().hex[:8]}"
    seen = "SELECT array_agg(fleet ORDER BY fleet) FROM ledger_api.fleets"
    await two.operator.execute(f"CREATE ROLE {group} NOLOGIN; GRANT {group} TO {login}")
    try:
        assert not await readers.grant(two.operator, group, "bank"), "members inherit no limits"
        assert await limits_of(two, group) == {}
        async with two.reading(login) as reader:
            assert await reader.fetchval(seen) == ["bank", "shop"]
            await reader.execute("SET ROLE ledger_reader")
            assert await reader.fetchval(seen) == ["bank", "shop"], "it acts for its login"
            await reader.execute(f"RESET ROLE; SET ROLE {group}")
            assert await reader.fetchval(seen) == ["bank"]
        await readers.grant(two.operator, group, "*")
        async with two.reading(login) as reader:
            assert await reader.fetchval(seen) == ["_ledger", "bank", "shop"]
        for fleet in ("bank", "*"):
            assert await readers.revoke(two.operator, group, fleet)
        assert not await readers.revoke(two.operator, group, "bank")
        async with two.reading(login) as reader:
            assert await reader.fetchval(seen) == ["shop"]
    finally:
        await two.operator.execute(f"DROP ROLE {group}")


async def test_whoever_works_for_the_ledger_sees_every_fleet(two: Two) -> None:
    for role in ("ledger_decider", "ledger_writer", "ledger_signer", "ledger_reader"):
        connection = await connect(two.url, role)
        try:
            found = await connection.fetchval("SELECT count(*) FROM ledger_api.fleets")
        finally:
            await connection.close()
        assert found == 3, role


async def limits_of(two: Two, role: str) -> dict[str | None, dict[str, str]]:
    """The settings that Postgres keeps for a role, by the database; None for those of every database."""
    return {
        database: dict(one.split("=", 1) for one in settings)
        for database, settings in await two.operator.fetch(
            "SELECT d.datname, s.setconfig FROM pg_db_role_setting s"
            "  JOIN pg_roles r ON r.oid = s.setrole LEFT JOIN pg_database d ON d.oid = s.setdatabase"
            " WHERE r.rolname = $1",
            role,
        )
    }


async def test_a_login_has_the_limits_of_a_reader_here_until_its_last_grant_is_gone(
    two: Two,
) -> None:
    here = await two.operator.fetchval("SELECT current_database()")
    for login in two.logins.values():
        assert await limits_of(two, login) == {here: readers.LIMITS}
    login = two.logins["shop"]
    assert await readers.grant(two.operator, login, "bank")
    assert await readers.revoke(two.operator, login, "bank")
    assert await limits_of(two, login) == {here: readers.LIMITS}, "one grant is left"
    own = f"ALTER ROLE {login} IN DATABASE {here} SET statement_timeout = '5s'"
    await two.operator.execute(own)
    assert await readers.revoke(two.operator, login, "shop")
    assert await limits_of(two, login) == {here: {"statement_timeout": "5s"}}, "not of a grant"
    assert await readers.grant(two.operator, login, "shop")
    assert await limits_of(two, login) == {here: readers.LIMITS}

    connection = await connect(two.url, "ledger_reader")
    try:
        assert await connection.fetchval("SHOW transaction_read_only") == "on"
        assert await connection.fetchval("SHOW statement_timeout") == "1min"
        assert await connection.fetchval("SHOW idle_in_transaction_session_timeout") == "15s"
    finally:
        await connection.close()


async def test_what_is_not_there_cannot_be_granted(two: Two) -> None:
    with pytest.raises(InvalidRequest, match="CREATE ROLE it first"):
        await readers.grant(two.operator, "nobody-of-that-name", "shop")
    with pytest.raises(InvalidRequest, match="no fleet of this name"):
        await readers.grant(two.operator, two.logins["shop"], "bakery")


async def test_what_was_granted_can_be_taken_back_from_a_role_that_is_gone(two: Two) -> None:
    gone = f"gone_{uuid4().hex[:8]}"
    await two.operator.execute(f"CREATE ROLE {gone}")
    await readers.grant(two.operator, gone, "shop")
    await two.operator.execute(f"DROP ROLE {gone}")

    assert await readers.revoke(two.operator, gone, "shop")
    with pytest.raises(InvalidRequest, match="unknown_role"):
        await readers.revoke(two.operator, gone, "shop")


async def test_what_is_not_there_cannot_be_revoked(two: Two) -> None:
    with pytest.raises(InvalidRequest, match="no role of this name"):
        await readers.revoke(two.operator, "nobody-of-that-name", "shop")
    with pytest.raises(InvalidRequest, match="no fleet of this name"):
        await readers.revoke(two.operator, two.logins["shop"], "bakery")
