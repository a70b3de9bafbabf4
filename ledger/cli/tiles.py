"""``ledger tiles``: both trees of a fleet as static files."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ledger.cli.archiving import DetachedOption
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.run import run
from ledger.log import fleets, tiled
from ledger.log.database import connected
from ledger.log.detached import archive_of
from ledger.log.tiled import Tiled
from ledger.log.trees import TREES


def tiles(
    fleet: Annotated[str, typer.Argument(help="Whose trees.")],
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", file_okay=False, help="Directory of origins; each tree gets one in it."
        ),
    ],
    detached: DetachedOption = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Write a fleet's trees as files that clients of C2SP tlog-tiles read: checkpoint, tiles, entries.

    Up to the newest end that `ledger seal` signed. A directory that is there is continued where it ends,
    so the same command again adds what was signed since. Any web server can serve it; a client is told
    DIR/ORIGIN as prefix and the key of that origin. docs/proofs.md tells what the entries hold.
    """

    async def main() -> list[Tiled]:
        async with connected(await locate(database_url, data), "ledger_signer") as connection:
            found = await fleets.named(connection, fleet)
            archive = await archive_of(connection, found, detached)
            return [await tiled.export(connection, found, tree, folder, archive) for tree in TREES]

    for made in run(main):
        if as_json:
            typer.echo(json.dumps(asdict(made)))
            continue
        typer.echo(
            f"{made.size:>12,} entries of {made.origin}, {made.size - made.before:,} of them new"
        )
        if made.alone:
            typer.echo(f"{made.alone:>12,} lie alone: one beside them is too long for a bundle")
