"""Who may read which fleets: what an operator grants to roles and takes back.

A grant is a row. Views look at it for the role that asks and for those whose rights it has, so a grant to
a role is one to all its members. What a login gets with its first grant are the limits of a reader too:
read-only transactions, and ends for statements and sessions that take too long. They are settings of the
login in this database, kept by Postgres, and go with its last grant; a login could change them, what it may
see it could not. Members of a role have its grants and not its settings, so one that is no login gets none.
"""

from datetime import datetime
from typing import Final, NamedTuple

import asyncpg

from ledger.errors import InvalidRequest

EVERY_FLEET: Final = "*"

LIMITS: Final = {
    "default_transaction_read_only": "on",
    "statement_timeout": "60s",
    "idle_in_transaction_session_timeout": "15s",
    "idle_session_timeout": "30min",
    "search_path": "ledger_api",
}

MORE_THAN_READING: Final = (
    "ledger_owner",
    "ledger_maintainer",
    "ledger_writer",
    "ledger_decider",
    "ledger_publisher",
    "ledger_signer",
)
"""The roles of the ledger's own duties."""


class Grant(NamedTuple):
    """A role, and a fleet that it sees; or all of them."""

    reader: str
    fleet: str
    granted_by: str
    granted_at: datetime


async def granted(connection: asyncpg.Connection) -> list[Grant]:
    """Every grant, by role and fleet, but for those of the ledger's own duties."""
    rows = await connection.fetch(
        "SELECT reader, fleet, granted_by, granted_at FROM ledger.fleet_readers"
        " WHERE reader = 'ledger_reader' OR reader NOT LIKE 'ledger\\_%' ORDER BY reader, fleet"
    )
    return [Grant(*row) for row in rows]


async def grant(connection: asyncpg.Connection, reader: str, fleet: str) -> bool:
    """Let a role see a fleet, and make it a reader; over a connection of an operator's own login.

    False where the role is no login: whoever logs in as a member of it has no limits by this.
    InvalidRequest where there is no such role or no such fleet.
    """
    async with connection.transaction():
        role = await connection.fetchrow(
            "SELECT quote_ident(rolname) AS name, rolsuper, rolcanlogin,"
            " pg_has_role(oid, 'ledger_reader', 'USAGE') AS reads FROM pg_roles WHERE rolname = $1",
            reader,
        )
        if role is None:
            raise InvalidRequest("unknown_role", f"{reader}: CREATE ROLE it first, with LOGIN")
        await _require(connection, fleet)
        if not role["reads"]:
            await connection.execute(f"GRANT ledger_reader TO {role['name']}")
        if role["rolcanlogin"] and not role["rolsuper"] and not reader.startswith("ledger_"):
            here = await connection.fetchval("SELECT quote_ident(current_database())")
            for setting, value in LIMITS.items():
                await connection.execute(
                    f"ALTER ROLE {role['name']} IN DATABASE {here} SET {setting} = '{value}'"
                )
        await connection.execute("SET LOCAL ROLE ledger_owner")
        await connection.execute(
            "INSERT INTO ledger.fleet_readers (reader, fleet) VALUES ($1, $2)"
            " ON CONFLICT DO NOTHING",
            reader,
            fleet,
        )
    return bool(role["rolcanlogin"])


async def revoke(connection: asyncpg.Connection, reader: str, fleet: str) -> bool:
    """Take a grant back, and the limits with the last one; False where there was none.

    The role stays a reader, of what is left. What was granted to a role that is gone can be taken back too;
    InvalidRequest where nothing was, and there is no such role or no such fleet.
    """
    async with connection.transaction():
        await connection.execute("SET LOCAL ROLE ledger_owner")
        gone = await connection.fetchval(
            "DELETE FROM ledger.fleet_readers WHERE reader = $1 AND fleet = $2 RETURNING true",
            reader,
            fleet,
        )
        more = await connection.fetchval(
            "SELECT true FROM ledger.fleet_readers WHERE reader = $1 LIMIT 1", reader
        )
        if gone and not more:
            await connection.execute("SET LOCAL ROLE NONE")
            await _unlimit(connection, reader)
        if not gone:
            there = "SELECT true FROM pg_roles WHERE rolname = $1"
            if not await connection.fetchval(there, reader):
                raise InvalidRequest("unknown_role", f"{reader}: there is no role of this name")
            await _require(connection, fleet)
    return bool(gone)


async def _require(connection: asyncpg.Connection, fleet: str) -> None:
    """Refuse a fleet that is not there."""
    known = await connection.fetchval("SELECT true FROM ledger.fleets WHERE name = $1", fleet)
    if fleet != EVERY_FLEET and not known:
        raise InvalidRequest("unknown_fleet", f"{fleet}: there is no fleet of this name")


async def let_in(connection: asyncpg.Connection, login: str, password: str) -> None:
    """Make a login that is a reader and sees every fleet, or make it that again; by an administrator."""
    async with connection.transaction():
        # Others may do so at the same moment.
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", login)
        spelled = await connection.fetchrow(
            "SELECT quote_ident($1) AS login, quote_literal($2) AS password,"
            " EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS there",
            login,
            password,
        )
        assert spelled is not None, "it is of one row"
        how = "ALTER" if spelled["there"] else "CREATE"
        await connection.execute(
            f"{how} ROLE {spelled['login']} LOGIN PASSWORD {spelled['password']}"
        )
        await grant(connection, login, EVERY_FLEET)


async def more_than_a_reader(connection: asyncpg.Connection) -> str | None:
    """The login of a connection, if it may do more than a reader."""
    login: str | None = await connection.fetchval(
        "SELECT session_user WHERE has_database_privilege(session_user, current_database(), 'CREATE')"
        " OR EXISTS (SELECT FROM pg_roles"
        "             WHERE rolname = ANY($1) AND pg_has_role(session_user, oid, 'MEMBER'))",
        MORE_THAN_READING,
    )
    return login


async def _unlimit(connection: asyncpg.Connection, reader: str) -> None:
    """Take back those settings that are still as they were given."""
    limited = await connection.fetch(
        "SELECT quote_ident(r.rolname) AS name, quote_ident(d.datname) AS here,"
        "       split_part(one, '=', 1) AS setting"
        "  FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole"
        "  JOIN pg_database d ON d.oid = s.setdatabase AND d.datname = current_database()"
        " CROSS JOIN unnest(s.setconfig) AS one"
        " WHERE r.rolname = $1 AND one = ANY($2::text[])",
        reader,
        [f"{setting}={value}" for setting, value in LIMITS.items()],
    )
    for name, here, setting in limited:
        await connection.execute(f"ALTER ROLE {name} IN DATABASE {here} RESET {setting}")
