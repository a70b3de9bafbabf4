"""The directory a user gives us: what lies in it, whose it is, and who may act on it now.

    DATA/ledger.json     says that this is ours: layout, PostgreSQL version, port, socket directory
    DATA/password        of the database user ``postgres``, readable by the owner only
    DATA/stopped         there while somebody wants no server: from a stop to the next start
    DATA/lock            held while somebody starts or stops the server
    DATA/server.lock     held by the server's processes themselves, as long as one of them lives
    DATA/postgres/       PGDATA
    DATA/log/            what the server writes; seven files, one for each day of the week
    DATA/socket/         its Unix socket

Both locks are ``flock`` and so belong to an open file: the kernel lets go of them when the last
process that holds it open is gone, however it went. ``server.lock`` is opened by us and inherited
by the server, which knows nothing of it. It answers whether *anything* of a server is left, also
where process numbers say nothing: in another container that has the same volume.

A directory with contents and without ``ledger.json`` is somebody else's, and is left untouched.
Everything here is created with the owner of the directory as its owner, so that a start with sudo
takes nothing away from anybody; what the server writes belongs to the server's account.
"""

import asyncio
import contextlib
import errno
import json
import os
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ledger.errors import SetupProblem
from ledger.log.embedded.account import ROOT, Account, name_of

if sys.platform != "win32":
    import fcntl

Say = Callable[[str], None]
"""Takes one line about what is going on, for a person who waits."""

FORMAT: Final = "ledger data directory"
LAYOUT: Final = 1
SOCKET_PATH_BYTES_MAX: Final = 107
"""What the kernel takes as the name of a socket (sun_path, without its closing zero)."""

# What another process leaves here while it creates the directory, and what a new filesystem has.
_HARMLESS: Final = {"lock", "ledger.json.new", "lost+found"}

LOCK_SECONDS_MAX: Final = 600
"""How long another start or stop is waited for: the longest is an initdb on a slow disk, or the
last checkpoint of a large server."""


@dataclass(frozen=True, slots=True)
class Marker:
    """What ``ledger.json`` says.

    ``initialised`` becomes true once and stays: a missing database is made before and never after,
    for then it is a lost one. ``socket_directory`` is set when the usual one has too long a name.
    """

    layout: int
    postgresql: str
    initialised: bool
    port: int | None
    socket_directory: str | None


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """The places below one data directory, whose path is absolute and free of symbolic links."""

    root: Path

    @property
    def pgdata(self) -> Path:
        """Where the database lies."""
        return self.root / "postgres"

    @property
    def log(self) -> Path:
        """Where the server writes what it has to say."""
        return self.root / "log"

    @property
    def socket(self) -> Path:
        """Where the socket lies, if its name is short enough."""
        return self.root / "socket"

    def marker(self) -> Marker | None:
        """What the directory says about itself, ``None`` while it is absent or empty.

        A directory that is neither empty nor ours is refused here.
        """
        if not self.root.exists():
            return None
        if not self.root.is_dir():
            raise SetupProblem(f"{self.root}: is not a directory. Give the path of one")
        try:
            return _read_marker(self.root, (self.root / "ledger.json").read_text())
        except FileNotFoundError:
            found = sorted(entry.name for entry in self.root.iterdir())
        foreign = [name for name in found if name not in _HARMLESS]
        if foreign:
            raise _not_ours(self.root, f"it holds {foreign[0]} and no ledger.json")
        return None

    def mark(self, marker: Marker) -> None:
        """Write ``ledger.json``, unless it says so already: a full disk must not stop a start."""
        if self.marker() == marker:
            return
        content = {"format": FORMAT} | {name: getattr(marker, name) for name in Marker.__slots__}
        self._write("ledger.json", json.dumps(content, indent=2) + "\n", 0o644)

    def want_none(self) -> None:
        """Note that the server was told to stop, so that what runs on it does not start it again."""
        # One that ends as it was told to says the same by its last checkpoint: a full disk must not keep it up.
        with contextlib.suppress(OSError):
            self._write("stopped", "", 0o644)

    def want_one(self) -> None:
        """Take that back: somebody started it, or uses the one that runs."""
        (self.root / "stopped").unlink(missing_ok=True)

    @property
    def wants_none(self) -> bool:
        """Whether the server was told to stop, whatever became of it."""
        return (self.root / "stopped").exists()

    def create(self) -> None:
        """Make the directory; where root makes it, everybody may pass through it."""
        way = (self.root, *self.root.parents)
        missing = [path for path in way if not path.exists()]
        for path in reversed(missing):
            with contextlib.suppress(FileExistsError):
                path.mkdir()
                if os.geteuid() == ROOT:
                    path.chmod(0o755)
                elif path == self.root:
                    path.chmod(0o700)

    def nearest(self) -> Path:
        """The directory itself, or the first one above it that exists."""
        return next(path for path in (self.root, *self.root.parents) if path.exists())

    def password(self) -> str:
        """The password of the database user ``postgres``."""
        try:
            return (self.root / "password").read_text().strip()
        except FileNotFoundError as error:
            raise SetupProblem(
                f"{self.root / 'password'}: is missing, and without it nobody can log in. Put the"
                " file back from a backup; or set a new password (a line 'local all all peer' in"
                " postgres/pg_hba.conf lets the server's user in by the socket) and write it there"
            ) from error

    def new_password(self) -> str:
        """Choose a password for a database about to be made, and keep it."""
        password = secrets.token_urlsafe(32)
        self._write("password", password + "\n", 0o600)
        return password

    def discard_unfinished(self) -> None:
        """Remove what an initdb that never came to its end has left."""
        for left in self.root.glob("postgres.new-*"):
            shutil.rmtree(left, ignore_errors=True)

    def unfinished(self) -> Path:
        """A new directory to make a database in."""
        return Path(tempfile.mkdtemp(prefix="postgres.new-", dir=self.root))

    def install(self, finished: Path) -> None:
        """Put a database that is complete in its place, for good."""
        finished.rename(self.pgdata)
        _make_durable(self.root)

    def prepare_for(self, account: Account) -> None:
        """Make the directories the server writes to."""
        for path in (self.log, self.socket):
            if not path.exists():
                path.mkdir(mode=0o700)
                account.give(path)

    def socket_directory(self, account: Account, port: int, marker: Marker) -> Path:
        """Where the socket goes: here, or in a private directory with a short name."""
        if _fits(self.socket, port):
            return self.socket
        if marker.socket_directory is not None:
            recorded = Path(marker.socket_directory)
            if _fits(recorded, port) and _is_private(recorded, account.uid):
                return recorded
        short = Path(tempfile.mkdtemp(prefix="ledger-", dir="/tmp"))
        account.give(short)
        return short

    def discard_socket_directory(self, marker: Marker) -> None:
        """Remove the private directory of a server that has ended."""
        if marker.socket_directory is not None:
            # Not empty, not there, not ours: then it is not our rubbish.
            with contextlib.suppress(OSError):
                Path(marker.socket_directory).rmdir()
            self.mark(replace(marker, socket_directory=None))

    def log_sizes(self) -> dict[str, int]:
        """How long each log file is now, to tell later what was added."""
        try:
            return {path.name: path.stat().st_size for path in self.log.glob("*.log")}
        except FileNotFoundError:
            return {}

    def log_since(self, sizes: Mapping[str, int]) -> str:
        """What was written to the logs since; at most the end of it."""
        written = ""
        # start.log ends where the other files take over.
        for name, size in sorted(self.log_sizes().items(), key=lambda item: item[0] != "start.log"):
            # The file of last week's same day is emptied when its turn comes again.
            start = sizes.get(name, 0) if size >= sizes.get(name, 0) else 0
            with (self.log / name).open("rb") as log:
                log.seek(max(start, size - 65_536))
                written += log.read().decode(errors="replace")
        return written

    @contextlib.asynccontextmanager
    async def exclusively(self, say: Say) -> AsyncIterator[int]:
        """Be the only one who starts or stops this server, and yield the lock's file descriptor.

        Whoever inherits that descriptor holds the lock with us: an initdb that survives us must be
        over before the next one begins.
        """
        descriptor = self._open_lock("lock")
        try:
            waited_since, told = time.monotonic(), False
            while not _lock(descriptor):
                waited = time.monotonic() - waited_since
                if waited > LOCK_SECONDS_MAX:
                    raise SetupProblem(
                        f"{self.root}: another process has been starting or stopping this server"
                        f" for {LOCK_SECONDS_MAX} s. See what holds {self.root / 'lock'} (fuser)"
                    )
                if waited > 2 and not told:
                    told = True
                    say(f"{self.root}: waiting for another process that starts or stops the server")
                await asyncio.sleep(0.02)
            yield descriptor
        finally:
            os.close(descriptor)

    async def lock_for_server(self) -> int | None:
        """Take the lock a server is to inherit; ``None`` if something of an old one lives."""
        descriptor = self._open_lock("server.lock")
        # Whoever asks just now whether a server lives holds it for the moment of asking.
        for _ in range(50):
            if _lock(descriptor):
                return descriptor
            await asyncio.sleep(0.02)
        os.close(descriptor)
        return None

    def server_lives(self) -> bool:
        """Whether any process of a server that we started is left."""
        try:
            descriptor = os.open(self.root / "server.lock", os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            return False
        try:
            # A shared lock, so that two who ask at once do not take each other for a server.
            return not _lock(descriptor, shared=True)
        finally:
            os.close(descriptor)

    def _open_lock(self, name: str) -> int:
        path = self.root / name
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except PermissionError as error:
            raise SetupProblem(
                f"{self.root}: belongs to {name_of(self.root.stat().st_uid)} and cannot be used by"
                f" {name_of(os.geteuid())}. Run as that user, use a directory of your own"
                " (LEDGER_DATA), or reach the running server by its address (LEDGER_DATABASE_URL)"
            ) from error
        self._hand_over(descriptor)
        return descriptor

    def _write(self, name: str, content: str, mode: int) -> None:
        """Replace a file as a whole: after a crash it has its old or its new contents."""
        new = self.root / f"{name}.new"
        # What a crash left under this name may have another mode.
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "w") as file:
            self._hand_over(descriptor)
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        new.rename(self.root / name)
        _make_durable(self.root)

    def _hand_over(self, descriptor: int) -> None:
        if os.geteuid() == ROOT:
            owner = self.root.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)


def at(data: Path) -> DataDirectory:
    """The data directory at this path, which need not exist yet."""
    root = data.expanduser().resolve()
    if "\n" in str(root):
        raise SetupProblem(f"{root!r}: PostgreSQL cannot work below a name with a line break in it")
    return DataDirectory(root)


@contextlib.contextmanager
def surroundings(directory: DataDirectory) -> Iterator[None]:
    """Turn what the operating system refuses into a message that names the directory."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise SetupProblem(disk_full(directory.root)) from error
        where = error.filename if error.filename is not None else directory.root
        raise SetupProblem(
            f"{directory.root}: {where}: {error.strerror} (as user {name_of(os.geteuid())})."
            " Use a directory you may write to (LEDGER_DATA)"
        ) from error


def is_full(directory: DataDirectory) -> bool:
    """Whether there is no room for even one segment of PostgreSQL's log."""
    return shutil.disk_usage(directory.nearest()).free < 16 << 20


def disk_full(path: Path) -> str:
    """Say that there is no room at this path: on which filesystem, and how much is free."""
    existing = next(place for place in (path, *path.parents) if place.exists())
    mount = next(place for place in (existing, *existing.parents) if place.is_mount())
    room = shutil.disk_usage(existing)
    # A start needs room for its log; who begins has to be told how much a database takes altogether.
    takes = "" if (path / "postgres").exists() else ", a new server takes about 60"
    return (
        f"{path}: the filesystem mounted at {mount} is full:"
        f" {room.free >> 20} MiB of {room.total >> 20} MiB are free{takes}."
        " Free some space there, or use a directory on another filesystem (LEDGER_DATA)"
    )


def _read_marker(root: Path, text: str) -> Marker:
    try:
        content: Any = json.loads(text)
    except ValueError:
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _not_ours(root, "its ledger.json was not written by the ledger")
    layout = content.get("layout")
    if layout != LAYOUT:
        raise SetupProblem(
            f"{root}: has layout {layout}, and this ledger knows layout {LAYOUT}."
            " Use the release of the ledger that made it"
        )
    try:
        return Marker(**{name: content[name] for name in Marker.__slots__})
    except KeyError as error:
        raise _not_ours(root, f"its ledger.json lacks {error}") from error


def _not_ours(root: Path, evidence: str) -> SetupProblem:
    return SetupProblem(
        f"{root}: is not a data directory of ours: {evidence}. Nothing in it was touched; give a"
        " directory that is empty or does not exist yet (LEDGER_DATA)"
    )


def _lock(descriptor: int, *, shared: bool = False) -> bool:
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _fits(directory: Path, port: int) -> bool:
    return len(os.fsencode(directory / f".s.PGSQL.{port}")) <= SOCKET_PATH_BYTES_MAX


def _is_private(directory: Path, uid: int) -> bool:
    try:
        found = directory.lstat()
    except FileNotFoundError:
        return False
    return (
        stat.S_ISDIR(found.st_mode) and found.st_uid == uid and stat.S_IMODE(found.st_mode) == 0o700
    )


def _make_durable(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
