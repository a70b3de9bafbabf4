"""Start, adopt and stop the ledger's own PostgreSQL server.

``start`` is safe to call from anywhere, any number of times, at once: whoever comes first starts
the server, everybody else adopts it. Nobody owns it. It outlives the process that started it, is
found again after a ``kill -9`` of that process, is recovered after a ``kill -9`` of its own, and
ends when somebody calls ``stop``.

The rules:

* Never a second server on one directory. Three locks see to it, each where the others are blind:
  ours among starters and stoppers, ours inherited by the server, and PostgreSQL's own.
* The server listens on 127.0.0.1 and on a socket, and both ask for a password (SCRAM): on a machine
  with other users, loopback alone keeps nobody out. The password lies in the data directory.
* A signal is sent only to a process that proves to belong to this directory.
* No deadline ends a recovery that makes progress. Patience is counted from the last sign of life.
* What the surroundings refuse is a ``SetupProblem`` that begins with the directory and ends with
  what to do.

What is created, and where, is ``data_directory``'s subject.
"""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, assert_never

import asyncpg

from ledger.errors import LogUnavailable, SetupProblem
from ledger.log.embedded import account as accounts
from ledger.log.embedded import binaries as programs
from ledger.log.embedded import data_directory, processes
from ledger.log.embedded.account import ROOT, Account
from ledger.log.embedded.binaries import Binaries, Major
from ledger.log.embedded.data_directory import DataDirectory, Marker, Say, surroundings
from ledger.log.embedded.diagnosis import diagnose, latest
from ledger.log.embedded.processes import Postmaster

DATABASE: Final = "ledger"
USER: Final = "postgres"
HOST: Final = "127.0.0.1"

SETTINGS: Final[Mapping[str, str]] = {
    # Room for the hot end of the log and its indexes, still modest on a laptop.
    "shared_buffers": "256MB",
    # A checkpoint every 2 GB of log instead of every 1: bulk appends write fewer full pages.
    "max_wal_size": "2GB",
    # Files of the log that are kept to be written again: a commit that needs a new one waits for 16 MB of zeros.
    "min_wal_size": "512MB",
    "max_connections": "100",
    # What is acknowledged is on disk. These are the defaults; here they are a promise.
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "password_encryption": "scram-sha-256",
    # These programs come without a compiler for expressions.
    "jit": "off",
    # The same text for the same moment, wherever the machine stands.
    "timezone": "UTC",
    "log_timezone": "UTC",
    # A file for each day of the week: what is older goes by itself.
    "logging_collector": "on",
    "log_directory": "../log",
    "log_filename": "postgresql-%a.log",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    "log_truncate_on_rotation": "on",
    "log_line_prefix": "%m [%p] %q%u@%d ",
    # Recovery and the syncing before it say every two seconds how far they are.
    "log_startup_progress_interval": "2s",
}
"""What a new server is given. It stands in ``postgresql.conf`` and may be changed there, or with
ALTER SYSTEM; ``settings`` of ``start`` go before both."""

# These tell the server where it is and who may come in: they are this module's business.
_OURS: Final = {
    "cluster_name",
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "unix_socket_directories",
    "unix_socket_group",
    "unix_socket_permissions",
}

SECONDS_WITHOUT_A_SIGN: Final = 120
"""How long a server may say nothing while it starts. The checkpoint that ends a recovery is silent
and writes all of shared_buffers, on a slow disk for a minute."""

SECONDS_FOR_ORPHANS: Final = 3
"""How long processes of a dead server may take to notice, before they are told to go. Idle ones
notice at once; one that computes does not look."""

SECONDS_FOR_TERMINATED: Final = 30
"""How long processes that were told to go may take."""

_POLL: Final = 0.02

Mode = Literal["smart", "fast", "immediate"]
State = Literal["absent", "stopped", "crashed", "starting", "ready", "stopping"]


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; ``adopted`` when it ran before we came."""

    data: Path
    port: int
    socket_directory: Path
    pid: int
    adopted: bool
    password: str = field(repr=False)

    @property
    def url(self) -> str:
        """How SQLAlchemy reaches it. It carries the password: not for logs."""
        return _url(self.password, self.port)


@dataclass(frozen=True, slots=True)
class Status:
    """How things stand with a data directory; ``crashed`` is a server that left its file behind."""

    data: Path
    state: State
    postgresql: str | None
    pid: int | None
    port: int | None


def _silent(_line: str) -> None:
    """Tell nobody."""


def default_data_directory() -> Path:
    """Where the data lies unless somebody says otherwise."""
    chosen = os.environ.get("LEDGER_DATA")
    if chosen:
        return Path(chosen)
    if os.geteuid() == ROOT:
        return Path("/var/lib/ledger")
    # A relative XDG_DATA_HOME is to be ignored, says its specification.
    share = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (share if share.is_absolute() else Path.home() / ".local" / "share") / "ledger"


async def start(
    data: Path,
    *,
    version: Major = "18",
    settings: Mapping[str, str] | None = None,
    say: Say = _silent,
) -> Server:
    """Start the server of this directory, or adopt the one that runs there, and wait until it serves.

    ``settings`` are given to a server that is started and mean nothing to one that is adopted. A
    port is found, and kept for the next start, unless ``settings`` names one.
    """
    if not sys.platform.startswith("linux"):
        raise SetupProblem(
            f"{data}: the embedded PostgreSQL runs on Linux only; give LEDGER_DATABASE_URL a server"
        )
    settings = {} if settings is None else settings
    _check(settings)
    directory = data_directory.at(data)
    with surroundings(directory):
        while True:
            before = directory.log_sizes()
            found, adopted = await _found_or_launched(directory, version, settings, say)
            postmaster = await _ready(directory, before, say)
            if postmaster is not None:
                try:
                    return await _opened(directory, postmaster, adopted=adopted)
                except SetupProblem:
                    if not adopted or processes.running(directory.pgdata) == postmaster:
                        raise
            elif not adopted:
                raise _failure(directory, directory.log_since(before))
            # Somebody stopped it between our finding it and its answering: begin again.
            say(f"{directory.root}: server {found.pid} ended while it was being adopted")


async def stop(server: Server | Path, *, mode: Mode = "fast", say: Say = _silent) -> None:
    """Stop the server of this directory; nothing happens if none runs.

    ``smart`` waits until every client has left, ``fast`` cuts them off, ``immediate`` ends without a
    checkpoint, like a loss of power: the next start recovers. Whoever gives up waiting cancels this.
    """
    directory = data_directory.at(server.data if isinstance(server, Server) else server)
    with surroundings(directory):
        if directory.marker() is None:
            return
        directory.want_none()
        # Not under the lock: whoever waits for a slow end, or for a start to come through, must
        # not keep another from asking for a faster end.
        postmaster = processes.running(directory.pgdata)
        if postmaster is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(postmaster.pid, _signal(mode))
            await _gone(directory, postmaster, say)
        async with directory.exclusively(say):
            marker = directory.marker()
            if marker is not None and processes.recorded(directory.pgdata) is None:
                directory.discard_socket_directory(marker)


def status(data: Path) -> Status:
    """Look, without waiting and without changing anything."""
    directory = data_directory.at(data)
    with surroundings(directory):
        marker = directory.marker()
        if marker is None or not directory.pgdata.exists():
            return Status(directory.root, "absent", None, None, None)
        version = _version(directory)
        postmaster = processes.running(directory.pgdata)
        if postmaster is None:
            left = processes.recorded(directory.pgdata) is not None
            return Status(directory.root, "crashed" if left else "stopped", version, None, None)
        # Without a state yet it has not got as far as its port.
        named: Mapping[str, State] = {"ready": "ready", "stopping": "stopping"}
        state = named.get(postmaster.state, "starting")
        return Status(directory.root, state, version, postmaster.pid, postmaster.port or None)


def crashed(data: Path) -> bool:
    """Whether the server of this directory ended without having been told to, by ``stop`` or otherwise.

    One that PostgreSQL gave up itself, as on a full disk, has taken its file away like one that was told to end,
    but has not written the checkpoint that ends a shutdown.
    """
    found = status(data)
    if found.state not in {"stopped", "crashed"}:
        return False
    directory = data_directory.at(data)
    with surroundings(directory):
        if directory.wants_none:
            return False
        return found.state == "crashed" or not processes.was_shut_down(directory.pgdata)


def url(data: Path) -> str:
    """How the server that runs in this directory is reached, as its file says; nobody is asked."""
    directory = data_directory.at(data)
    with surroundings(directory):
        postmaster = processes.recorded(directory.pgdata)
        if postmaster is None:
            raise LogUnavailable(f"{directory.root}: PostgreSQL has ended")
        return _url(directory.password(), postmaster.port)


def _url(password: str, port: int) -> str:
    return f"postgresql+asyncpg://{USER}:{password}@{HOST}:{port}/{DATABASE}"


@contextlib.asynccontextmanager
async def temporary(
    *, version: Major = "18", settings: Mapping[str, str] | None = None
) -> AsyncIterator[Server]:
    """Run a server whose data disappear with it: for tests and trials.

    It does not wait for the disk (``fsync`` off), for nothing of it is to survive; ``settings`` may
    say otherwise.
    """
    data = temporary_directory()
    try:
        yield await start(data, version=version, settings={"fsync": "off"} | dict(settings or {}))
    finally:
        await stop(data, mode="immediate")
        shutil.rmtree(data, ignore_errors=True)


def temporary_directory() -> Path:
    """A new, empty directory that a server may use; root's is one that others can pass through."""
    place = Path(tempfile.gettempdir()).resolve()
    if not all(path.stat().st_mode & 0o001 for path in (place, *place.parents)):
        # Set to one below a closed home, where root's server could not follow.
        place = Path("/tmp")  # noqa: S108 - mkdtemp makes a name nobody else has
    data = Path(tempfile.mkdtemp(prefix="ledger-data-", dir=place))
    if os.geteuid() == ROOT:
        data.chmod(0o755)
    return data


def _check(settings: Mapping[str, str]) -> None:
    for name in sorted(settings):
        if name in _OURS:
            raise SetupProblem(f"setting {name}: is set by the ledger itself. Leave it out")
        if not re.fullmatch(r"[a-z_][a-z0-9_.]*", name):
            raise SetupProblem(f"setting {name!r}: is not the name of a PostgreSQL setting")
    port = settings.get("port")
    if port is not None and not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        raise SetupProblem(f"setting port={port}: is not a port. Give one between 1 and 65535")


async def _found_or_launched(
    directory: DataDirectory, version: Major, settings: Mapping[str, str], say: Say
) -> tuple[Postmaster, bool]:
    """The server of this directory, which has its port by now, and whether it ran already."""
    # Refuse what is not ours before anything is created in it, and again once nobody else can.
    directory.marker()
    account = accounts.choose(directory.root)
    if account.assumed:
        closed = await account.first_closed(directory.nearest())
        if closed is not None:
            raise SetupProblem(
                f"{directory.root}: PostgreSQL does not run as root, and user {account.name}, which"
                f" it runs as instead, cannot pass through {closed}. Use a directory that is open"
                " to it, such as /var/lib/ledger (LEDGER_DATA); no directory is opened for you"
            )
    directory.create()
    async with directory.exclusively(say) as lock:
        marker = directory.marker()
        if marker is None:
            marker = Marker(
                data_directory.LAYOUT, version, initialised=False, port=None, socket_directory=None
            )
        _check_version(directory, version)
        found = await _settled(directory, say)
        if found is not None:
            directory.want_one()
            return found, True
        binaries = await programs.reachable(programs.find(version), account)
        if not directory.pgdata.exists():
            if marker.initialised:
                raise SetupProblem(
                    f"{directory.pgdata}: is missing, though there was a database of PostgreSQL"
                    f" {marker.postgresql}. Restore it from a backup; to begin with an empty one, remove"
                    f" {directory.root / 'ledger.json'} and everything beside it"
                )
            marker = replace(marker, postgresql=version)
            directory.mark(marker)
            await _initialise(directory, binaries, account, lock, settings, say)
        marker = replace(marker, initialised=True)
        directory.mark(marker)
        directory.want_one()
        return await _launched(directory, binaries, account, marker, settings, say)


def _version(directory: DataDirectory) -> str | None:
    try:
        return (directory.pgdata / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        return None


def _check_version(directory: DataDirectory, wanted: Major) -> None:
    if not directory.pgdata.exists():
        return
    made_by = _version(directory)
    if made_by is None:
        raise SetupProblem(
            f"{directory.pgdata}: is damaged: it has no PG_VERSION. Restore a backup into another"
            " directory; nothing was changed here"
        )
    if made_by == wanted:
        return
    if made_by in programs.TREES:
        way_out = f"Ask for version {made_by}"
    else:
        known = " and ".join(sorted(programs.TREES))
        way_out = f"The ledger brings {known}: use the PostgreSQL {made_by} that made it"
    age = "newer" if _number(made_by) > int(wanted) else "too old"
    raise SetupProblem(
        f"{directory.pgdata}: was made by PostgreSQL {made_by}, which is {age} for {wanted}."
        f" {way_out}; or dump it there and restore it into a new directory"
    )


def _number(version: str) -> int:
    """The major version as a number, so that 9.6 is older than 16."""
    return int(re.sub(r"\D.*", "", version) or 0)


async def _settled(directory: DataDirectory, say: Say) -> Postmaster | None:
    """The server that runs here, or ``None`` once it is certain that nothing of one is left.

    What is left of a dead one is first given time, then told to go, then reported.
    """
    since, told_to_go, told = time.monotonic(), False, False
    while True:
        waited = time.monotonic() - since
        postmaster = processes.running(directory.pgdata)
        if postmaster is not None and postmaster.state not in {"", "stopping"}:
            if postmaster.single_user or not postmaster.on_loopback:
                raise SetupProblem(
                    f"{directory.root}: in use by process {postmaster.pid}, a PostgreSQL that the"
                    f" ledger did not start (it does not listen on {HOST} and a socket). Stop it"
                )
            return postmaster
        if postmaster is None:
            left = _left(directory)
            if not left and not directory.server_lives():
                return None
            if left and waited > SECONDS_FOR_ORPHANS and not told_to_go:
                told_to_go = True
                say(f"{directory.root}: ending processes of a dead server: {_list(left)}")
                for pid in left:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGTERM)
            if waited > SECONDS_FOR_ORPHANS + (SECONDS_FOR_TERMINATED if left else 0):
                raise SetupProblem(_in_use(directory, left))
        elif postmaster.single_user:
            raise SetupProblem(
                f"{directory.root}: in use by process {postmaster.pid}, a PostgreSQL for one user."
                " Leave it first"
            )
        elif waited > data_directory.LOCK_SECONDS_MAX:
            raise SetupProblem(
                f"{directory.root}: server {postmaster.pid} has neither ended nor started for"
                f" {waited:.0f} s. Cut its clients off (stop it with mode fast) and start again"
            )
        if not told and waited > 1:
            told = True
            say(f"{directory.root}: waiting for an earlier server to end")
        await asyncio.sleep(_POLL)


def _left(directory: DataDirectory) -> tuple[int, ...]:
    """Processes of a server that is dead. Only one that left its file behind can have any."""
    if processes.recorded(directory.pgdata) is None and not directory.server_lives():
        return ()
    return processes.at_work(directory.pgdata)


def _in_use(directory: DataDirectory, left: tuple[int, ...]) -> str:
    if left:
        return (
            f"{directory.root}: processes {_list(left)} of a dead server are still at work and did"
            " not end when told to. End them before you start again"
        )
    return (
        f"{directory.root}: in use by a server that cannot be seen from here, perhaps in another"
        " container with the same volume. Stop it there, or give this one a directory of its own"
    )


def _list(pids: tuple[int, ...]) -> str:
    return ", ".join(map(str, pids))


async def _initialise(
    directory: DataDirectory,
    binaries: Binaries,
    account: Account,
    lock: int,
    settings: Mapping[str, str],
    say: Say,
) -> None:
    """Make the database: aside, and into its place only when it is complete."""
    if not accounts.has_entry(account):
        raise SetupProblem(
            f"{directory.root}: user {account.uid} has no entry in /etc/passwd, and initdb needs"
            " one. Start as a user who has, or add one"
        )
    say(f"{directory.root}: making a new database, PostgreSQL {binaries.release}")
    directory.discard_unfinished()
    unfinished = directory.unfinished()
    try:
        password_file = unfinished / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(directory.new_password())
        account.give(password_file)
        account.give(unfinished)
        # Byte order on every machine: the builtin provider came with 17, and C means the same.
        if _number(binaries.release) >= 17:
            locale = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
        else:
            locale = ["--locale-provider=libc", "--locale=C"]
        finished = await account.run(
            [
                binaries.program("initdb"),
                f"--pgdata={unfinished / 'pgdata'}",
                f"--username={USER}",
                f"--pwfile={password_file}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                *locale,
                "--data-checksums",
                "--no-instructions",
                *(["--no-sync"] if settings.get("fsync") == "off" else []),
                *(word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")),
            ],
            # Should we be killed, the next one waits until this initdb is over.
            inherit=[lock],
        )
        if finished.code != 0:
            raise _failure(directory, finished.written)
        directory.install(unfinished / "pgdata")
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


async def _launched(
    directory: DataDirectory,
    binaries: Binaries,
    account: Account,
    marker: Marker,
    settings: Mapping[str, str],
    say: Say,
) -> tuple[Postmaster, bool]:
    """Start a server on a directory where none runs, and wait until it has its port."""
    directory.prepare_for(account)
    refused: set[int] = set()
    since = time.monotonic()
    while True:
        port = _port(directory, marker, settings, refused)
        sockets = directory.socket_directory(account, port, marker)
        short = None if sockets == directory.socket else str(sockets)
        _disown_what_is_stale(directory, marker, sockets, port)
        marker = replace(marker, port=port, socket_directory=short)
        directory.mark(marker)
        before = directory.log_sizes()
        await _spawn(directory, binaries, account, port, sockets, settings)
        postmaster = await _bound(directory)
        if postmaster is not None:
            return postmaster, False
        written = directory.log_since(before)
        cause = diagnose(written).cause
        if cause == "port_taken" and "port" not in settings and len(refused) < 10:
            refused.add(port)
        elif cause in {"orphans", "directory_in_use"}:
            # A server that somebody else started, or what is left of one: its processes do not
            # have our lock, and only PostgreSQL itself saw them.
            found = await _settled(directory, say)
            if found is not None:
                return found, True
            if time.monotonic() - since > SECONDS_FOR_TERMINATED:
                raise _failure(directory, written)
            await asyncio.sleep(_POLL)
        else:
            raise _failure(directory, written)


def _disown_what_is_stale(
    directory: DataDirectory, marker: Marker, sockets: Path, port: int
) -> None:
    """Take the name of a dead server of ours off the files it left, so that nobody is taken for it.

    Ours is one whose socket lay where we put it: such a server held our lock, and nobody does. What
    others started we leave to PostgreSQL to judge.
    """
    left = processes.recorded(directory.pgdata)
    places = {str(directory.socket), marker.socket_directory}
    if left is not None and left.socket_directory in places:
        processes.disown(directory.pgdata / "postmaster.pid")
    processes.disown(sockets / f".s.PGSQL.{port}.lock")


def _port(
    directory: DataDirectory, marker: Marker, settings: Mapping[str, str], refused: set[int]
) -> int:
    """The port asked for, else the one of last time if it is free, else any free one."""
    wanted = settings.get("port")
    if wanted is not None:
        if not _is_free(int(wanted)):
            raise SetupProblem(
                f"{directory.root}: port {wanted} of {HOST} is taken. Choose another one, or none"
                " to have a free one found"
            )
        return int(wanted)
    if marker.port is not None and marker.port not in refused and _is_free(marker.port):
        return marker.port
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the server does it: connections that are closing do not keep it from its old port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


async def _spawn(
    directory: DataDirectory,
    binaries: Binaries,
    account: Account,
    port: int,
    sockets: Path,
    settings: Mapping[str, str],
) -> None:
    given = {
        "listen_addresses": HOST,
        "port": str(port),
        # The value is a list of names, each of which may stand in quotes.
        "unix_socket_directories": '"' + str(sockets).replace('"', '""') + '"',
        "unix_socket_permissions": "0700",
        "cluster_name": processes.cluster_name(directory.pgdata),
    }
    lock = await directory.lock_for_server()
    if lock is None:
        raise SetupProblem(_in_use(directory, ()))
    try:
        # The shell ends at once, so that the server is nobody's child: nobody has to collect it,
        # and it is not ours to lose when we go.
        launched = await account.run(
            [
                "/bin/sh",
                "-c",
                'log=$1; shift; "$@" </dev/null >>"$log" 2>&1 &',
                "sh",
                directory.log / "start.log",
                binaries.program("postgres"),
                "-D",
                directory.pgdata,
                *(
                    word
                    for name, value in (given | dict(settings)).items()
                    for word in ("-c", f"{name}={value}")
                ),
            ],
            inherit=[lock],
        )
    finally:
        os.close(lock)
    if launched.code != 0 or launched.written:
        raise _failure(directory, launched.written)


async def _bound(directory: DataDirectory) -> Postmaster | None:
    """The server just launched once it has its port and socket, ``None`` if it ended before."""
    since = time.monotonic()
    while True:
        postmaster = processes.running(directory.pgdata)
        if postmaster is not None and postmaster.state:
            return postmaster
        if not directory.server_lives():
            return None
        if time.monotonic() - since > SECONDS_WITHOUT_A_SIGN:
            raise SetupProblem(
                f"{directory.root}: the server has not opened its port for"
                f" {SECONDS_WITHOUT_A_SIGN} s. Its log is in {directory.log}"
            )
        await asyncio.sleep(_POLL / 4)


async def _ready(
    directory: DataDirectory, before: Mapping[str, int], say: Say
) -> Postmaster | None:
    """The server once it takes connections, ``None`` if it ended before that."""
    sizes, last_sign, told = dict(before), time.monotonic(), time.monotonic()
    while True:
        postmaster = processes.running(directory.pgdata)
        if postmaster is None:
            return None
        if postmaster.state == "ready":
            return postmaster
        now, grown = time.monotonic(), directory.log_sizes()
        if grown != sizes:
            sizes, last_sign = grown, now
        if now - told > 2:
            told = now
            said = latest(directory.log_since(before))
            say(f"{directory.root}: server {postmaster.pid} is {postmaster.state}: {said}")
        if now - last_sign > SECONDS_WITHOUT_A_SIGN:
            raise SetupProblem(
                f"{directory.root}: server {postmaster.pid} is {postmaster.state} and has written"
                f" nothing to {directory.log} for {SECONDS_WITHOUT_A_SIGN} s. It still runs: start"
                " again to go on waiting"
            )
        await asyncio.sleep(_POLL)


async def _opened(directory: DataDirectory, postmaster: Postmaster, *, adopted: bool) -> Server:
    """Log in, make sure that it is the right server, and that it has our database."""
    password = directory.password()
    try:
        served = await _prepared(postmaster.port, password)
    except asyncpg.InvalidAuthorizationSpecificationError as error:
        raise SetupProblem(
            f"{directory.root}: the server does not accept the password in"
            f" {directory.root / 'password'} ({error}). Put the right one there"
        ) from error
    except asyncpg.DiskFullError as error:
        raise SetupProblem(data_directory.disk_full(directory.root)) from error
    except (asyncpg.PostgresError, TimeoutError, ConnectionError) as error:
        raise SetupProblem(
            f"{directory.root}: server {postmaster.pid} on port {postmaster.port} does not answer"
            f" ({str(error) or type(error).__name__}). Its log is in {directory.log}"
        ) from error
    # Another server may have taken the port in the moment since ours was seen on it.
    if served.resolve() != directory.pgdata:
        raise SetupProblem(
            f"{directory.root}: port {postmaster.port} leads to the server of {served}."
            " Stop the server of this directory and start again"
        )
    return Server(
        data=directory.root,
        port=postmaster.port,
        socket_directory=Path(postmaster.socket_directory),
        pid=postmaster.pid,
        adopted=adopted,
        password=password,
    )


async def _prepared(port: int, password: str) -> Path:
    """Create our database where it is missing, and say which directory is served there."""
    connection = await asyncpg.connect(
        host=HOST,
        port=port,
        user=USER,
        password=password,
        database="postgres",
        ssl=False,
        timeout=30,
    )
    try:
        if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", DATABASE):
            # Others who started at the same moment create it too; one of us succeeds.
            with contextlib.suppress(asyncpg.DuplicateDatabaseError, asyncpg.UniqueViolationError):
                await connection.execute(f"CREATE DATABASE {DATABASE}")
        return Path(await connection.fetchval("SELECT current_setting('data_directory')"))
    finally:
        await connection.close()


def _signal(mode: Mode) -> signal.Signals:
    match mode:
        case "smart":
            return signal.SIGTERM
        case "fast":
            return signal.SIGINT
        case "immediate":
            return signal.SIGQUIT
        case _:
            assert_never(mode)


async def _gone(directory: DataDirectory, postmaster: Postmaster, say: Say) -> None:
    """Wait until nothing of a server that was told to end is left."""
    told = time.monotonic()
    while processes.belongs(postmaster.pid, directory.pgdata) or (
        # Its log writer ends a moment later; but a new server may have been started meanwhile.
        directory.server_lives() and processes.running(directory.pgdata) is None
    ):
        if time.monotonic() - told > 2:
            told = time.monotonic()
            say(f"{directory.root}: waiting for server {postmaster.pid} to end")
        await asyncio.sleep(_POLL)


def _failure(directory: DataDirectory, written: str) -> SetupProblem:
    """What to tell the user about a server or an initdb that ended with these words."""
    diagnosis = diagnose(written)
    if diagnosis.cause == "disk_full" or (not diagnosis.line and data_directory.is_full(directory)):
        # A server that cannot write cannot say so either: its log lies on the same disk.
        return SetupProblem(data_directory.disk_full(directory.root))
    said = diagnosis.line or "it ended without a word"
    return SetupProblem(
        f"{directory.root}: PostgreSQL did not start: {said}. {diagnosis.advice}"
        f" (log: {directory.log})"
    )
