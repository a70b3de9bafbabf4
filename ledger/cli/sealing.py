"""``ledger seal``, ``key``, ``prove``, ``verify-proof`` and ``witness``: what outsiders can check."""

import asyncio
import json
import sys
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import structlog
import typer

from ledger.cli import logs
from ledger.cli.archiving import DetachedOption
from ledger.cli.aside import aside
from ledger.cli.database import (
    RECONNECT_SECONDS,
    AsJson,
    Data,
    DatabaseUrl,
    complain,
    locate,
    pause,
    waited_for,
)
from ledger.cli.logs import LogLevel
from ledger.cli.run import exit_code, interrupted, run, run_until_asked
from ledger.errors import InvalidRequest, LedgerError, LogUnavailable, SetupProblem
from ledger.log import fleets, proving, signing_keys
from ledger.log import verify_proof as offline
from ledger.log.checkpoints import whole_number
from ledger.log.database import connected
from ledger.log.detached import archive_of
from ledger.log.notes import COSIGNATURE, parse_key
from ledger.log.proofs import Proof
from ledger.log.publishing import Directory, Place
from ledger.log.recognition import New
from ledger.log.sealer import Sealer
from ledger.log.sealing import Seal, Site
from ledger.log.signed import memory
from ledger.log.trust import parse_policy
from ledger.log.witness_server import WitnessServer
from ledger.log.witnesses import Witness
from ledger.units import FleetName, Incarnation

SiteOption = Annotated[
    str,
    typer.Option(
        "--site", help="Who you are, such as ledger.example: the first part of every origin."
    ),
]

HIGHEST_PORT: Final = 65535

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
    kafka: Annotated[
        bool,
        typer.Option(
            "--kafka",
            help="Also send the signed notes to the topic ledger.notes; reached as LEDGER_KAFKA_* say"
            " (docs/operating-kafka.md).",
        ),
    ] = False,
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
    new_site: Annotated[
        bool,
        typer.Option(
            "--new-site",
            help="This log, or this memory, was signed under another name until now.",
            rich_help_panel="Say once",
        ),
    ] = False,
    new_key: Annotated[
        bool,
        typer.Option(
            "--new-key",
            help="All keys are other ones than before. Not needed while you rotate: --key NEW --key OLD.",
            rich_help_panel="Say once",
        ),
    ] = False,
    new_memory: Annotated[
        bool,
        typer.Option(
            "--new-memory",
            help="What was signed so far is in no memory any more; it is believed as the database has it.",
            rich_help_panel="Say once",
        ),
    ] = False,
    unvouched: Annotated[
        bool,
        typer.Option(
            "--unvouched",
            help="After a restore: nothing that was signed is known of what was kept; it is believed as the"
            " database has it.",
            rich_help_panel="Say once",
        ),
    ] = False,
    detached: DetachedOption = None,
    log_level: LogLevel = "info",
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Sign where each fleet's events and decisions end, and never two ends that do not fit.

    Run it on a machine of its own, with a login that is only in ledger_signer. Without a witness, or
    a copy of what is published where nobody can rewrite it, whoever has the key and the database can
    still tell two stories: docs/proofs.md says what is protected by what.

    It signs only as who signed before: where the memory, the database or a place that is published to knows
    of another site, of other keys, or of ends that this memory has forgotten, it ends with 78 and signs
    nothing, until what is new is said once. A word that is said where nothing is new ends it likewise. Where
    that is so of some fleets only, and it signs for others, it leaves those alone and says why.

    What could not be published, or was not witnessed, is tried again in later rounds; with --once the
    exit code then is not 0.

    - `ledger seal --key site.key --site ledger.example --memory signed.json --publish notes`
    - `ledger seal --key new.key --key site.key --site ledger.example --memory signed.json --once`
      while a key is rotated
    """
    if as_json and not once:
        raise typer.BadParameter("it tells of one round: say --once, too", param_hint="--json")
    logs.configure_as_asked(log_level)
    looked = False

    signed: list[Seal] = []

    async def main(stop: asyncio.Event) -> LedgerError | None:
        nonlocal looked
        signer = Site(signing_keys.require_site(site), tuple(map(signing_keys.read, key)))
        asked = [_witness(told) for told in witness or []]
        url = await (locate(database_url, data) if once else waited_for(database_url, data, stop))
        if url is None:
            return None
        async with AsyncExitStack() as open_:
            remembered = open_.enter_context(memory(remember))
            places: list[Place] = [] if publish is None else [Directory(publish)]
            if kafka:
                places.append(await open_.enter_async_context(_notes_topic(remember)))
            only_these = frozenset(fleet) if fleet else None
            sealer = Sealer(
                signer,
                remembered,
                places,
                asked,
                only_these,
                detached,
                New(new_site, new_key, new_memory, unvouched),
            )
            while not stop.is_set():
                try:
                    async with connected(url, "ledger_signer") as connection:
                        while not stop.is_set():
                            made = await sealer.round(connection)
                            looked = True
                            if once:
                                signed.extend(made)
                                break
                            await pause(stop, every)
                except LogUnavailable as error:
                    if once:
                        raise
                    log.warning("log_unavailable", why=str(error))
                    await pause(stop, RECONNECT_SECONDS)
                if once:
                    break
        return sealer.trouble() if once else None

    trouble = run_until_asked(main)
    if as_json:
        told = [
            {"origin": one.origin, "size": one.head.size, "root": one.head.root.hex()}
            for one in signed
        ]
        typer.echo(json.dumps({"signed": told, "trouble": trouble and str(trouble)}))
    if trouble is not None:
        complain(trouble)
        raise typer.Exit(exit_code(trouble))
    if once and not looked:
        raise interrupted("nothing was looked at, and nothing signed")


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
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            exists=True,
            dir_okay=False,
            help="Whom the reader trusts: stand on the oldest signed end that is enough for that.",
        ),
    ] = None,
    detached: DetachedOption = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
) -> None:
    """Write a proof that an event or a decision is in the log, for somebody without a database.

    The file is a c2sp.org/tlog-proof@v1; `ledger verify-proof` checks it, and so can anybody's
    program that knows the format.

    - `ledger prove event shop/3 --out event-3.tlog-proof`
    - `ledger prove decision shop/1/7 > decision-7.tlog-proof`
    """

    async def main() -> Proof:
        parts = id_.split("/")
        if len(parts) != (2 if what == "event" else 3) or not all(p.isdecimal() for p in parts[1:]):
            one = "an event" if what == "event" else "a decision"
            raise SetupProblem(f"{id_!r} is no address of {one}; see `ledger prove --help`")
        try:
            trust = None if policy is None else parse_policy(policy.read_bytes())
        except InvalidRequest as error:
            raise SetupProblem(f"{policy}: {error.message}") from error
        url = await locate(database_url, data)
        async with connected(url, "ledger_signer") as connection:
            fleet = await fleets.named(connection, parts[0])
            tree: Literal["events", "decisions"] = "events" if what == "event" else "decisions"
            made_in = None if what == "event" else Incarnation(int(parts[1]))
            archive = await archive_of(connection, fleet, detached)
            proof = await proving.prove(
                connection,
                fleet,
                tree,
                int(parts[-1]),
                made_in=made_in,
                archive=archive,
                policy=trust,
            )

        if out is not None:
            try:
                out.write_bytes(proof.spelled)
            except OSError as error:
                raise SetupProblem(f"{out}: {error.strerror}") from error
        return proof

    proof = run(main)
    if out is None:
        sys.stdout.buffer.write(proof.spelled)
    else:
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
    why. `python -m ledger.log.verify_proof` is the same with nothing but Python and cryptography.
    """
    said = None if policy is None else policy.read_bytes()
    raise typer.Exit(
        offline.checked(file.read_bytes(), key or [], said, as_json=as_json, say=typer.echo)
    )


def witness(
    key: Annotated[Path, typer.Option("--key", help="A secret of `ledger key new`.")],
    name: Annotated[
        str, typer.Option("--name", help="The witness's name, such as witness.example/w1.")
    ],
    log_key: Annotated[
        list[str], typer.Option("--log", help="The key of an origin to watch; one for each.")
    ],
    state: Annotated[Path, typer.Option("--state", help="File of what was vouched for.")],
    listen: Annotated[
        str, typer.Option("--listen", help="HOST:PORT, or [IPV6]:PORT.")
    ] = "127.0.0.1:8801",
    log_level: LogLevel = "info",
) -> None:
    """Vouch for logs whose history only ever grows: run one where the log's people cannot reach.

    Speaks c2sp.org/tlog-witness over plain HTTP; put TLS in front of it. The keys of a
    log's origins are those that `ledger key show` prints where it is signed.

    - `ledger key new witness.key`, then
      `ledger witness --key witness.key --name witness.example/w1 --state seen.json --log "$EVENTS" --log "$DECISIONS"`
    - the same with `--listen 0.0.0.0:8801` answers other machines
    """
    logs.configure_as_asked(log_level)
    address = _address(listen)

    async def main(stop: asyncio.Event) -> None:
        signer = signing_keys.signing(signing_keys.read(key), name, type_=COSIGNATURE)
        try:
            keys = [parse_key(told) for told in log_key]
        except InvalidRequest as error:
            raise SetupProblem(f"--log: {error.message}") from error
        with (
            memory(state) as remembered,
            WitnessServer(address, signer=signer, logs=keys, memory=remembered) as server,
        ):
            aside.print(
                f"{signer.key.spelled} answers at {server.url}", markup=False, soft_wrap=True
            )
            await stop.wait()

    run_until_asked(main)


def _address(listen: str) -> tuple[str, int]:
    host, colon, told = listen.rpartition(":")
    port = whole_number(told)
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else None
    # Without brackets nobody can say where an IPv6 address ends and the port begins.
    if not colon or port is None or port > HIGHEST_PORT or (":" in host) != (bare is not None):
        raise typer.BadParameter(
            f"{listen!r} is not HOST:PORT, with a port up to {HIGHEST_PORT} and an IPv6 address in brackets,"
            " as in [::1]:8801",
            param_hint="--listen",
        )
    return host if bare is None else bare, port


def _notes_topic(remember: Path) -> AbstractAsyncContextManager[Place]:
    """The topic of the notes; what it has is remembered beside the signer's memory."""
    from consumers.notes import notes_topic
    from consumers.settings import Settings

    return notes_topic(Settings(), remember.with_name(f"{remember.name}.kafka"))


def _witness(told: str) -> Witness:
    # A key holds equal signs only at its end, and no address begins with one.
    spelled, place, url = told.rpartition("=http")
    if not place:
        spelled = told
    try:
        key = parse_key(spelled)
    except InvalidRequest as error:
        raise SetupProblem(f"--witness: {error.message}") from error
    if key.type != COSIGNATURE:
        raise SetupProblem(
            f"--witness: {key.name}: this key signs for a log and never vouches for one; a witness"
            " says its own when it starts"
        )
    if not place:
        raise SetupProblem(
            f"--witness: {key.name}: there is no address behind the key, as VKEY=URL"
        )
    try:
        _ = urlsplit(f"http{url}").port
    except ValueError as error:
        raise SetupProblem(f"--witness: {key.name}: http{url}: {error}") from error
    return Witness(f"http{url}", key)
