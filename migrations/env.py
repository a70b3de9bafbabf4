"""Run Ledger's migrations: forward only, each in one transaction, one migrator at a time.

``ledger migrate`` hands its connection in by ``config.attributes["connection"]``; ``alembic``
itself works too, with LEDGER_DATABASE_URL. Before any migration the roles and the schema must be
there, because Alembic keeps its own version table inside that schema.
"""

import asyncio
import os
from pathlib import Path

from alembic import context
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from ledger.log.database import NEWEST_SCHEMA, OLDEST_SCHEMA, another_schema, parse

HERE = Path(__file__).parent
MIGRATOR_LOCK = 0x1ED6E4
"""Key of the advisory lock that keeps two migrators apart; any fixed number would do."""


def migrate(connection: Connection) -> None:
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATOR_LOCK})
    connection.exec_driver_sql((HERE / "sql" / "roles.sql").read_text())
    connection.exec_driver_sql((HERE / "sql" / "become_owner.sql").read_text())
    connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS ledger AUTHORIZATION ledger_owner")
    connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS ledger_api AUTHORIZATION ledger_owner")
    connection.exec_driver_sql("SET LOCAL ROLE ledger_owner")
    refuse_foreign_schema(connection)
    context.configure(
        connection=connection,
        version_table="schema_version",
        version_table_schema="ledger",
        transaction_per_migration=False,
    )
    context.run_migrations()


def refuse_foreign_schema(connection: Connection) -> None:
    """Alembic has no word for whoever runs a ledger where a database has a migration that is not here."""
    if connection.exec_driver_sql("SELECT to_regclass('ledger.schema_version')").scalar() is None:
        return
    found = connection.exec_driver_sql("SELECT version_num FROM ledger.schema_version").scalar()
    if found is not None and not OLDEST_SCHEMA <= found <= NEWEST_SCHEMA:
        url = connection.engine.url.render_as_string(hide_password=False)
        raise another_schema(parse(url).shown, found, "ledger migrate")


async def migrate_by_url(url: str) -> None:
    engine = create_async_engine(url, poolclass=NullPool)
    async with engine.begin() as connection:
        await connection.run_sync(migrate)
    await engine.dispose()


def print_sql() -> None:
    context.configure(
        dialect_name="postgresql", version_table="schema_version", version_table_schema="ledger"
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if context.is_offline_mode():
    print_sql()
elif given is not None:
    migrate(given)
else:
    asyncio.run(migrate_by_url(os.environ["LEDGER_DATABASE_URL"]))
