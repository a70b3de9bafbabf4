"""``ledger serve``: the HTTP service as a process."""

import asyncio
import ipaddress
from pathlib import Path
from typing import Annotated, Final

import typer

from ledger.api.intake import MOST_UNDECIDED
from ledger.cli import logs
from ledger.cli.database import CreateFleets, Data, DatabaseUrl, opens_fleets, waited_for
from ledger.cli.logs import LogLevel
from ledger.cli.metrics.options import LOOPBACK, MetricsAddress, MetricsPort
from ledger.cli.run import run_until_asked

PORT: Final = 8080

File = Annotated[
    Path | None,
    typer.Option(
        "--access",
        envvar="LEDGER_ACCESS",
        help="Who may come in, a JSON file; read again on SIGHUP. docs/http.md tells its form.",
        show_default=False,
    ),
]


def serve(
    address: Annotated[
        str, typer.Option(envvar="LEDGER_HTTP_ADDRESS", help="The address to listen on.")
    ] = LOOPBACK,
    port: Annotated[
        int,
        typer.Option(
            envvar="LEDGER_HTTP_PORT",
            min=0,
            max=65535,
            help="0 is any free port, which is printed.",
        ),
    ] = PORT,
    access: File = None,
    tls_certificate: Annotated[
        Path | None,
        typer.Option(
            envvar="LEDGER_TLS_CERTIFICATE",
            help="A certificate chain; read again when it changes.",
            show_default=False,
        ),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(envvar="LEDGER_TLS_KEY", help="Its private key.", show_default=False),
    ] = None,
    tls_client_ca: Annotated[
        Path | None,
        typer.Option(
            envvar="LEDGER_TLS_CLIENT_CA",
            help="Who signs the certificates of clients that need no token.",
            show_default=False,
        ),
    ] = None,
    without_tls: Annotated[
        bool,
        typer.Option(
            "--without-tls",
            help="Listen beyond the loopback address in the clear: something else speaks TLS.",
        ),
    ] = False,
    create_fleets: CreateFleets = None,
    most_undecided: Annotated[
        int, typer.Option(min=1, help="Undecided events of a fleet above which it has to wait.")
    ] = MOST_UNDECIDED,
    kubernetes: Annotated[
        Path | None,
        typer.Option(
            envvar="LEDGER_KUBERNETES",
            help="API servers whose lists admissions may need, a JSON file; docs/admission.md.",
            show_default=False,
        ),
    ] = None,
    drain_seconds: Annotated[
        float, typer.Option(min=0, help="How long it goes on answering once it is asked to stop.")
    ] = 10.0,
    metrics_port: MetricsPort = None,
    metrics_address: MetricsAddress = LOOPBACK,
    log_level: LogLevel = "info",
    database_url: DatabaseUrl = None,
    data: Data = None,
    print_openapi: Annotated[
        bool, typer.Option("--openapi", help="Print what can be asked, as OpenAPI 3.1, and end.")
    ] = False,
) -> None:
    """Answer over HTTP: events in, decisions out.

    Without `--access` it listens on the loopback address only and prints a token that was made for
    this run; that is for an embedded database. docs/http.md has examples of every request.
    """
    # HTTP takes a third of a second to load, and every other command does without it.
    from ledger.api.server import Listening
    from ledger.cli import http_service

    if print_openapi:
        typer.echo(http_service.document(), nl=False)
        return
    logs.configure_as_asked(log_level)
    certificate = http_service.certificate_of(tls_certificate, tls_key, tls_client_ca)
    lists = http_service.lists_of(kubernetes)
    _refuse_open_doors(
        address, access, database_url, encrypted=certificate is not None, without_tls=without_tls
    )

    async def main(stop: asyncio.Event) -> None:
        gate = http_service.gate_of(access)
        url = await waited_for(database_url, data, stop, begins=True)
        if url is None:
            return
        await http_service.run(
            http_service.behind(
                url,
                gate,
                create_fleets=opens_fleets(create_fleets, database_url),
                most_undecided=most_undecided,
                lists=lists,
            ),
            Listening(address, port, certificate, drain_seconds=drain_seconds),
            stop,
            access=access,
            metrics=(metrics_port, metrics_address),
        )

    run_until_asked(main)


def _refuse_open_doors(
    address: str, access: Path | None, url: str | None, *, encrypted: bool, without_tls: bool
) -> None:
    try:
        loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        raise typer.BadParameter(f"{address} is no IP address") from None
    if access is None and url is not None:
        raise typer.BadParameter("a database of your own wants --access: no token is the default")
    if not loopback and access is None:
        raise typer.BadParameter("without --access it listens on the loopback address only")
    if not loopback and not encrypted and not without_tls:
        raise typer.BadParameter("tokens would go in the clear: give it a certificate")
