"""Which processes are at work on a PGDATA, and how we know.

A number in a file proves nothing: the process may be dead, a zombie that nobody has collected, or a
stranger who was given the number again. A process belongs to a PGDATA when it is alive, is called
``postgres``, runs as the owner of that directory, and either stands in it (every PostgreSQL process
does) or, where the kernel does not let us look (root in a container without the right to trace),
names it in its title. Nothing less is ever sent a signal.

What PostgreSQL writes into ``postmaster.pid``, line by line: its number, the directory, the second
it started, the port, the socket directory, the address it listens on, its shared memory, its state.
The lines come one after the other while it starts, so each of the later ones may be missing.
"""

import os
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from struct import Struct
from typing import Final

PROCESSES: Final = Path("/proc")

NOBODYS_NUMBER: Final = 4_194_305
"""One more than the largest process number the kernel gives (PID_MAX_LIMIT)."""


@dataclass(frozen=True, slots=True)
class Postmaster:
    """What ``postmaster.pid`` says; ``state`` is "" until the server has its port and socket."""

    pid: int
    port: int
    socket_directory: str
    address: str
    state: str
    single_user: bool

    @property
    def on_loopback(self) -> bool:
        """Whether it answers on 127.0.0.1 and on a socket, as one that we started does."""
        listens = self.address in {"127.0.0.1", "localhost", "0.0.0.0", "*"}  # noqa: S104 - only read
        return listens and self.port > 0 and self.socket_directory != ""


def parse(text: str) -> Postmaster | None:
    """Read ``postmaster.pid``; ``None`` when not even its first line is complete."""
    lines = text.split("\n")
    complete, lines = lines[:-1], [*lines, *[""] * 8]
    if not complete:
        return None
    try:
        pid = int(lines[0])
        port = int(lines[3] or "0")
    except ValueError:
        return None
    # A server for one user, as used for repairs, marks itself by a negative number.
    return Postmaster(abs(pid), port, lines[4], lines[5], lines[7].strip(), single_user=pid < 0)


def recorded(pgdata: Path) -> Postmaster | None:
    """What the directory says about its server, whether or not that is still true."""
    try:
        return parse((pgdata / "postmaster.pid").read_text(errors="replace"))
    except FileNotFoundError:
        return None


def running(pgdata: Path) -> Postmaster | None:
    """The server at work on this directory, if its process proves to be one."""
    postmaster = recorded(pgdata)
    if postmaster is None or not belongs(postmaster.pid, pgdata):
        return None
    return postmaster


def was_shut_down(pgdata: Path) -> bool:
    """Whether the last server here ended as one does that is told to: with a checkpoint that says so."""
    with (pgdata / "global" / "pg_control").open("rb") as control:
        _, _, _, state = _CONTROL.unpack(control.read(_CONTROL.size))
    return state in _SHUT_DOWN


_CONTROL: Final = Struct("=QIII")
"""How ``pg_control`` begins: the system's number, the versions of this file and of the catalogue, the state."""

_SHUT_DOWN: Final = {1, 2}
"""DB_SHUTDOWNED and DB_SHUTDOWNED_IN_RECOVERY, of PostgreSQL's DBState."""


def disown(lock_file: Path) -> None:
    """Make a stale ``postmaster.pid`` or socket lock name nobody, so that it is seen to be stale.

    PostgreSQL asks only whether the number is in use, and so refuses to start for a zombie, or for
    a stranger with the same number, which after the restart of a container is the rule. The rest of
    the file stays as it is: PostgreSQL goes on to check whether the shared memory it names is in
    use before it removes the file.
    """
    try:
        descriptor = os.open(lock_file, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        _, newline, rest = os.read(descriptor, 65_536).partition(b"\n")
        # No number is longer than this one, so nothing of the old text is left behind it.
        os.pwrite(descriptor, str(NOBODYS_NUMBER).encode() + newline + rest, 0)
    finally:
        os.close(descriptor)


def at_work(pgdata: Path) -> tuple[int, ...]:
    """Every process that belongs to this directory, the children of a dead server too."""
    numbers = sorted(int(entry.name) for entry in PROCESSES.iterdir() if entry.name.isdigit())
    return tuple(pid for pid in numbers if belongs(pid, pgdata))


def cluster_name(pgdata: Path) -> str:
    """The name a server carries in the titles of its processes."""
    return f"ledger-{sha256(os.fsencode(pgdata)).hexdigest()[:12]}"


def belongs(pid: int, pgdata: Path) -> bool:
    """Whether this process is a living PostgreSQL process of this directory."""
    process = PROCESSES / str(pid)
    try:
        about = dict(
            line.split(":\t", 1)
            for line in (process / "status").read_text(errors="replace").splitlines()
            if ":\t" in line
        )
        home = pgdata.stat()
        if about["Name"] != "postgres" or about["State"][0] in "ZX":
            return False
        if int(about["Uid"].split()[1]) != home.st_uid:
            return False
        try:
            return os.path.samestat((process / "cwd").stat(), home)
        except PermissionError:
            return is_titled((process / "cmdline").read_bytes(), pgdata)
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_titled(title: bytes, pgdata: Path) -> bool:
    """Whether a command line names the directory, or a title the cluster."""
    words = title.split(b"\0")
    if (b"-D", os.fsencode(pgdata)) in pairwise(words):
        return True
    return title.startswith(f"postgres: {cluster_name(pgdata)}: ".encode())
