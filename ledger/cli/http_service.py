"""The HTTP service put together: connections, who may come in, metrics, and where it listens."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import structlog
import typer

from ledger.api import access as known
from ledger.api import kubernetes, server
from ledger.api.access import Access
from ledger.api.accounts import Account, Accounts, Asked
from ledger.api.admitting import Admissions, Lists
from ledger.api.bypasses import Bypasses
from ledger.api.connections import Connections
from ledger.api.guard import Gate
from ledger.api.intake import Events
from ledger.api.jobs import Command, Jobs
from ledger.api.readers import Reader
from ledger.api.readiness import Readiness
from ledger.api.server import Listening
from ledger.api.service import Behind, application, openapi
from ledger.cli.aside import aside
from ledger.cli.explain import diff
from ledger.cli.explain import main as explain
from ledger.cli.metrics import collecting
from ledger.cli.metrics.serving import serving
from ledger.errors import SetupProblem
from ledger.log.admissions import AdmissionDesk
from ledger.log.database import Connection
from ledger.log.desk import Desk
from ledger.log.read import Ear

DESKS: Final = 4
"""Requests with events that are written at a time; a fleet's lock lets in one of them."""

READERS: Final = 4

ADMISSION_DESKS: Final = 4
"""One that writes for each of the busiest fleets, one that reads answers, one for the policies."""

BYPASS_DESKS: Final = 2
"""For what comes too late, and for nothing else: two, because a fleet may keep one waiting."""

log = structlog.get_logger()


def document() -> str:
    """The OpenAPI document, spelled as it is kept in docs/openapi.json."""
    stands_on = behind("postgresql://", Gate(Access(())), create_fleets=False, most_undecided=1)
    return json.dumps(openapi(stands_on), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def behind(
    url: str,
    gate: Gate,
    *,
    create_fleets: bool,
    most_undecided: int,
    lists: Mapping[str, Lists] | None = None,
) -> Behind:
    """What the application stands on, with this database."""
    desks = Connections(lambda: Desk.open(url, create_fleets=create_fleets), DESKS)
    readiness = Readiness(Connections(lambda: Desk.open(url, create_fleets=False), 1))
    readers = Connections(lambda: Reader.open(url), READERS)
    events = Events(desks, gate.served, most_undecided=most_undecided)
    command = Command(
        [sys.executable, "-m", "ledger.cli.main"], os.environ | {"LEDGER_DATABASE_URL": url}
    )
    asked = Connections(lambda: AdmissionDesk.open(url), ADMISSION_DESKS)
    late = Connections(lambda: AdmissionDesk.open(url), BYPASS_DESKS)
    admissions = Admissions(asked, Bypasses(late), lambda: Ear.open(url), gate.served, lists)
    return Behind(
        gate,
        desks,
        readiness,
        readers,
        events,
        Accounts(_explained, diff.account),
        Jobs(command),
        asked,
        admissions,
    )


async def _explained(connection: Connection, fleet: str, asked: Asked) -> Account:
    return await explain.account(
        connection,
        fleet,
        asked.what,
        kind=asked.kind,
        at=asked.at,
        place=asked.place,
        checks=asked.checks,
    )


def certificate_of(
    certificate: Path | None, key: Path | None, client_ca: Path | None
) -> server.Certificate | None:
    """What the files of a certificate come to; None where there are none."""
    if certificate is None and key is None and client_ca is None:
        return None
    if certificate is None or key is None:
        raise typer.BadParameter("TLS takes a certificate and its key")
    try:
        return server.Certificate(server.Tls(certificate, key, client_ca))
    except SetupProblem as problem:
        raise typer.BadParameter(str(problem)) from problem


def lists_of(path: Path | None) -> Mapping[str, Lists]:
    """The clusters whose API servers may be asked."""
    try:
        return {} if path is None else kubernetes.read(path)
    except SetupProblem as problem:
        raise typer.BadParameter(str(problem)) from problem


def _access(path: Path | None) -> Access:
    if path is not None:
        return known.read(path)
    token, access = known.generated()
    aside.print(f"token for this run: {token}", markup=False, soft_wrap=True)
    return access


def gate_of(access: Path | None) -> Gate:
    """Who may come in: whom a file names, or whoever reads the token that is printed here."""
    return Gate(_access(access))


async def run(
    behind: Behind,
    at: Listening,
    stop: asyncio.Event,
    *,
    access: Path | None,
    metrics: tuple[int | None, str],
) -> None:
    """Answer until asked to stop."""
    gate = behind.gate
    try:
        with _told(*metrics, gate), _renewed(access, gate):
            await server.serve(application(behind), gate, at, stop, listens=_say_where)
    finally:
        await closed(behind)


async def closed(behind: Behind) -> None:
    """End everything that it stands on."""
    await behind.jobs.close()
    await behind.readiness.close()
    await behind.admissions.close()
    for connections in (behind.asked, behind.desks, behind.readers):
        await connections.close()


@contextmanager
def _renewed(path: Path | None, gate: Gate) -> Iterator[None]:
    """While the block runs, SIGHUP has the file of tokens read again."""

    def again() -> None:
        assert path is not None, "only a file can change"
        try:
            gate.access = known.read(path)
            log.info("access_read", entries=len(gate.access.tokens + gate.access.certificates))
        except SetupProblem as problem:
            log.warning("access_not_read", why=str(problem))

    if path is None:
        yield
        return
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, again)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


@contextmanager
def _told(port: int | None, address: str, gate: Gate) -> Iterator[None]:
    if port is None:
        yield
        return
    with serving(port, address, collecting.Serving(gate.served)):
        yield


def _say_where(where: str) -> None:
    aside.print(f"listening: {where}", markup=False, soft_wrap=True)
    log.info("listening", at=where, process=os.getpid())
