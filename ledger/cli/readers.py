"""``ledger readers``: who may see which fleets with SQL."""

import json
from typing import Annotated

import typer
from rich.table import Table

from ledger.cli.aside import aside
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.run import run
from ledger.cli.tables import print_table
from ledger.errors import InvalidRequest
from ledger.log.database import connected, refusals_named
from ledger.views import readers
from ledger.views.readers import EVERY_FLEET, Grant

app = typer.Typer(
    help=(
        "Who may see which fleets with SQL.\n\n"
        "Out of the box every member of ledger_reader sees every fleet. `ledger readers revoke"
        " ledger_reader '*'` ends that: from then on a role sees the fleets that it, or a role it is a"
        " member of, was granted."
    ),
    no_args_is_help=True,
)

Reader = Annotated[str, typer.Argument(help="A role of the database.")]
Fleet = Annotated[str, typer.Argument(help="A fleet, or '*' for every one.")]


@app.command("list")
def list_command(
    database_url: DatabaseUrl = None, data: Data = None, as_json: AsJson = False
) -> None:
    """List who sees which fleets."""

    async def main() -> list[Grant]:
        async with connected(await locate(database_url, data), "ledger_owner") as connection:
            with refusals_named():
                return await readers.granted(connection)

    found = run(main)
    if as_json:
        for one in found:
            typer.echo(json.dumps(one._asdict(), default=str))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("reader", "fleet", "granted by", "at"):
        table.add_column(name, overflow="fold")
    for one in found:
        table.add_row(one.reader, one.fleet, one.granted_by, str(one.granted_at))
    print_table(table)


@app.command("grant")
def grant_command(
    reader: Reader, fleet: Fleet, database_url: DatabaseUrl = None, data: Data = None
) -> None:
    """Let a role see a fleet. It becomes a member of ledger_reader, with a reader's limits.

    Its transactions are read-only, a statement ends after a minute, a transaction that nothing is
    asked in after 15 seconds, a session after half an hour. They begin with its next login. A role that
    is no login passes its fleets on to its members, but no limits.
    """

    async def main() -> None:
        async with connected(await locate(database_url, data), None) as connection:
            with refusals_named():
                limited = await readers.grant(connection, reader, fleet)
                open_ = [
                    one
                    for one in await readers.granted(connection)
                    if (one.reader, one.fleet) == ("ledger_reader", EVERY_FLEET)
                ]
        aside.print(f"{reader} sees {'every fleet' if fleet == EVERY_FLEET else fleet}")
        if not limited:
            aside.print(
                f"{reader} is no login: its members see that too, and have no limits of a reader unless"
                " they are granted a fleet themselves",
                soft_wrap=True,
            )
        if open_ and fleet != EVERY_FLEET:
            aside.print(
                "every reader still sees every fleet: `ledger readers revoke ledger_reader '*'`",
                soft_wrap=True,
            )

    run(main)


@app.command("revoke")
def revoke_command(
    reader: Reader, fleet: Fleet, database_url: DatabaseUrl = None, data: Data = None
) -> None:
    """Take back that a role sees a fleet; what else it was granted stays."""

    async def main() -> None:
        async with connected(await locate(database_url, data), None) as connection:
            with refusals_named():
                if not await readers.revoke(connection, reader, fleet):
                    raise InvalidRequest("not_granted", f"{reader} was not granted {fleet}")
        aside.print(f"{reader} no longer sees {fleet} by a grant of its own")

    run(main)
