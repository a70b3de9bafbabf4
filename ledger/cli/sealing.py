"""``ledger seal``, ``key``, ``prove``, ``verify-proof`` and ``witness``: what outsiders can check."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import structlog
import typer

from ledger.cli import logs
from ledger.cli.archiving import DetachedOption
from ledger.cli.database import (
    RECONNECT_SECONDS,
    AsJson,
    Data,
    DatabaseUrl,
    aside,
    locate,
    pause,
    waited_for,
)
from ledger.cli.logs import LogLevel
from ledger.cli.run import run, run_until_asked
from ledger.errors import InvalidRequest, LogUnavailable, SetupProblem
from ledger.log import fleets, proving, signing_keys
from ledger.log.database import connected
from ledger.log.detached import archive_of
from ledger.log.notes import COSIGNATURE, parse_key
from ledger.log.proofs import Proof, Shown, parse_proof, verify
from ledger.log.sealer import Sealer
from ledger.log.sealing import Site
from ledger.log.signed import memory
from ledger.log.trust import Trust, only, parse_policy
from ledger.log.witness_server import WitnessServer
from ledger.log.witnesses import Witness
from ledger.replay.report import INVALID
from ledger.units import FleetName, Incarnation

SiteOption = Annotated[
    str,
    typer.Option(
        "--site", help="Who you are, such as ledger.example: the first part of every origin."
    ),
]

log = structlog.get_logger()

key_app = typer.Typer(
    help="Signing keys: one secret a site, from which the key of every origin is made.",
    no_args_is_help=True,
)


@key_app.command("new")
def new_command(path: Path) -> None:
    """Make a secret. Keep it where the database's administrators cannot read it."""

    async def main() -> None:
        signing_keys.make(path)

    run(main)
    aside.print(f"{path} holds a new secret; `ledger key show` prints the keys to hand out")


@key_app.command("show")
def show_command(
    path: Path,
    site: SiteOption,
    fleet: Annotated[str, typer.Option("--fleet", help="The fleet.")],
    incarnation: Annotated[int, typer.Option(min=1, help="Of the fleet's log.")] = 1,
) -> None:
    """Print the public keys of a fleet's origins, as verifiers want them."""

    async def main() -> list[str]:
        seed = signing_keys.read(path)
        name = signing_keys.require_site(site)
        return [
            signing_keys.signing(
                seed, signing_keys.origin(name, FleetName(fleet), Incarnation(incarnation), tree)
            ).key.spelled
            for tree in ("events", "decisions", "both")
        ]

    for line in run(main):
        typer.echo(line)


def seal(
    key: Annotated[
        list[Path],
        typer.Option("--key", help="A secret of `ledger key new`; give two while you rotate."),
    ],
    site: SiteOption,
    remember: Annotated[
        Path,
        typer.Option(
            "--memory",
            help="File of what was signed. Keep it outside the database's machine and backups.",
        ),
    ],
    publish: Annotated[
        Path | None, typer.Option("--publish", help="Directory for the signed notes.")
    ] = None,
    witness: Annotated[
        list[str] | None,
        typer.Option(
            "--witness", help="A witness to ask, as VKEY=URL; may be given more than once."
        ),
    ] = None,
    fleet: Annotated[
        list[str] | None, typer.Option(help="Only this fleet; may be given more than once.")
    ] = None,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two rounds.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="One round, then exit.")] = False,
    detached: DetachedOption = None,
    log_level: LogLevel = "info",
    database_url: DatabaseUrl = None,
    data: Data = None,
) -> None:
    """Sign where each fleet's events and decisions end, and never two ends that do not fit.

    Run it on a machine of its own, with a login that is only in ledger_signer. Without a witness, or
    a copy of what is published where nobody can rewrite it, whoever has the key and the database can
    still tell two stories: docs/proofs.md says what is protected by what.
    """
    logs.configure_as_asked(log_level)

    async def main(stop: asyncio.Event) -> None:
        signer = Site(signing_keys.require_site(site), tuple(map(signing_keys.read, key)))
        asked = [_witness(told) for told in witness or []]
        url = await (locate(database_url, data) if once else waited_for(database_url, data, stop))
        if url is None:
            return
        with memory(remember) as remembered:
            only_these = frozenset(fleet) if fleet else None
            sealer = Sealer(signer, remembered, publish, asked, only_these, detached)
            while not stop.is_set():
                try:
                    async with connected(url, "ledger_signer") as connection:
                        while not stop.is_set():
                            await sealer.round(connection)
                            if once:
                                break
                            await pause(stop, every)
                except LogUnavailable as error:
                    if once:
                        raise
                    log.warning("log_unavailable", why=str(error))
                    await pause(stop, RECONNECT_SECONDS)
                if once:
                    break
        if once and sealer.stopped:
            raise sealer.stopped[min(sealer.stopped)]

    run_until_asked(main)


def prove(
    what: Annotated[Literal["event", "decision"], typer.Argument(help="What is to be shown.")],
    id_: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="FLEET/POSITION of an event, FLEET/INCARNATION/NUMBER of a decision.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="File; default: standard output.")
    ] = None,
    detached: DetachedOption = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
) -> None:
    """Write a proof that an event or a decision is in the log, for somebody without a database.

    The file is a c2sp.org/tlog-proof@v1; `ledger verify-proof` checks it, and so can anybody's
    program that knows the format.
    """

    async def main() -> Proof:
        parts = id_.split("/")
        if len(parts) != (2 if what == "event" else 3) or not all(p.isdecimal() for p in parts[1:]):
            raise SetupProblem(f"{id_!r} is no address of an {what}; see `ledger prove --help`")
        url = await locate(database_url, data)
        async with connected(url, "ledger_signer") as connection:
            fleet = await fleets.named(connection, parts[0])
            tree: Literal["events", "decisions"] = "events" if what == "event" else "decisions"
            made_in = None if what == "event" else Incarnation(int(parts[1]))
            archive = await archive_of(connection, fleet, detached)
            return await proving.prove(
                connection, fleet, tree, int(parts[-1]), made_in=made_in, archive=archive
            )

    proof = run(main)
    if out is None:
        sys.stdout.buffer.write(proof.spelled)
    else:
        out.write_bytes(proof.spelled)
        aside.print(f"{out} shows {what} {id_}")


def verify_proof(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The proof.")],
    key: Annotated[
        list[str] | None, typer.Option("--key", help="The log's key (`ledger key show`).")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy", exists=True, dir_okay=False, help="Whom you trust: a c2sp.org/tlog-policy."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a proof offline: no database, nothing but the file and whom you trust.

    Exit code 0: the entry it prints is in the log that the key signs for; 2: it shows nothing, and
    why.
    """
    try:
        proof = parse_proof(file.read_bytes())
        shown = verify(proof, proof.extra, _trust(key or [], policy))
    except InvalidRequest as refusal:
        if as_json:
            typer.echo(json.dumps({"shown": False, "why": refusal.code, "detail": refusal.message}))
        else:
            typer.echo(f"shows nothing: {refusal}")
        raise typer.Exit(INVALID) from refusal
    entry = json.loads(proof.extra)
    if as_json:
        typer.echo(json.dumps({"shown": True, **_shown(shown), "entry": entry}))
        return
    typer.echo(
        f"entry {shown.index} of {shown.checkpoint.origin}, which had {shown.checkpoint.size}"
    )
    typer.echo(f"signed by {shown.log.name}")
    for name, seconds in ((each.name, seconds) for each, seconds in shown.witnesses):
        typer.echo(f"seen by {name} at {seconds} seconds of Unix time")
    typer.echo(json.dumps(entry, indent=2))


def witness(
    key: Annotated[Path, typer.Option("--key", help="A secret of `ledger key new`.")],
    name: Annotated[
        str, typer.Option("--name", help="The witness's name, such as witness.example/w1.")
    ],
    log_key: Annotated[
        list[str], typer.Option("--log", help="The key of an origin to watch; one for each.")
    ],
    state: Annotated[Path, typer.Option("--state", help="File of what was vouched for.")],
    listen: Annotated[str, typer.Option("--listen", help="HOST:PORT.")] = "127.0.0.1:8801",
    log_level: LogLevel = "info",
) -> None:
    """Vouch for logs whose history only ever grows: run one where the log's people cannot reach.

    Speaks c2sp.org/tlog-witness over plain HTTP; put TLS in front of it.
    """
    logs.configure_as_asked(log_level)

    async def main(stop: asyncio.Event) -> None:
        signer = signing_keys.signing(signing_keys.read(key), name, type_=COSIGNATURE)
        host, _, port = listen.rpartition(":")
        if not port.isdecimal():
            raise SetupProblem(f"{listen!r} is not HOST:PORT")
        try:
            keys = [parse_key(told) for told in log_key]
        except InvalidRequest as error:
            raise SetupProblem(f"--log: {error.message}") from error
        with (
            memory(state) as remembered,
            WitnessServer(
                (host.strip("[]"), int(port)), signer=signer, logs=keys, memory=remembered
            ) as server,
        ):
            aside.print(
                f"{signer.key.spelled} answers at {server.url}", markup=False, soft_wrap=True
            )
            await stop.wait()

    run_until_asked(main)


def _witness(told: str) -> Witness:
    # A key holds equal signs only at its end, and no address begins with one.
    spelled, _, url = told.rpartition("=http")
    try:
        key = parse_key(spelled)
    except InvalidRequest as error:
        raise SetupProblem(f"--witness: {error.message}") from error
    return Witness(f"http{url}", key)


def _trust(keys: list[str], policy: Path | None) -> Trust:
    if bool(keys) == (policy is not None):
        raise InvalidRequest("no_trust", "say whom you trust: --key or --policy, one of them")
    return only(*map(parse_key, keys)) if policy is None else parse_policy(policy.read_bytes())


def _shown(shown: Shown) -> dict[str, object]:
    return {
        "origin": shown.checkpoint.origin,
        "index": shown.index,
        "size": shown.checkpoint.size,
        "root": shown.checkpoint.root.hex(),
        "log": shown.log.name,
        "witnesses": [[key.name, seconds] for key, seconds in shown.witnesses],
    }
