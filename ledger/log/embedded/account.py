"""Who the server runs as, and what that user can reach.

PostgreSQL refuses to run as root. Started by an ordinary user it runs as that user. Started by root
it runs as an unprivileged user who exists already: the owner of the data directory, else
``postgres``, else ``nobody``. No user is added to the machine and no directory is opened up for
one: what that user cannot reach is said, by name, and left for a person to decide.

Reaching is tried and not computed from mode bits, because access lists, mount options and security
modules have a say in it too.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ledger.errors import SetupProblem

if sys.platform != "win32":
    import pwd

ROOT = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended, and what it wrote to both its outputs."""

    code: int
    written: str


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this machine; ``assumed`` when it is another one than we are."""

    name: str
    uid: int
    gid: int
    assumed: bool

    async def run(
        self,
        command: Sequence[str | Path],
        *,
        inherit: Sequence[int] = (),
    ) -> Finished:
        """Run a program to its end as this user; file descriptors in ``inherit`` stay open in it.

        It has a session of its own: no signal of our terminal reaches it. Where Ctrl-C ended it beside us, it would
        be collected before asyncio does that, which asyncio complains of.
        """
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=_environment(),
            # Ours may lie where the assumed user cannot go.
            cwd="/",
            umask=0o077,
            pass_fds=tuple(inherit),
            start_new_session=True,
            user=self.uid if self.assumed else None,
            group=self.gid if self.assumed else None,
            # None of our own groups stays with somebody we have become.
            extra_groups=[] if self.assumed else None,
        )
        try:
            output, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        return Finished(process.returncode, output.decode(errors="replace"))

    def give(self, path: Path) -> None:
        """Make this user the owner of something we have just created."""
        if self.assumed:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    async def first_closed(self, path: Path) -> Path | None:
        """The outermost directory on the way to ``path``, itself included, that is shut."""
        way = [*reversed(path.parents), path]
        script = 'for each; do cd -- "$each" 2>/dev/null || { echo "$each"; exit 1; }; done'
        try:
            walk = await self.run(["/bin/sh", "-c", script, "sh", *way])
        except OSError as error:
            raise SetupProblem(
                f"user {self.name} (uid {self.uid}): cannot be assumed by root here"
                f" ({error.strerror}). A container without the right to change its user, or without"
                " that user, cannot run PostgreSQL as root: start the ledger as an ordinary user"
            ) from error
        return None if walk.code == 0 else Path(walk.written.rstrip("\n"))


def choose(data: Path) -> Account:
    """Who the server of this data directory runs as."""
    uid = os.geteuid()
    if uid != ROOT:
        return Account(name_of(uid), uid, os.getegid(), assumed=False)
    owner = _owner_below_root(data)
    if owner is not None:
        return owner
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid, assumed=True)
    raise SetupProblem(
        f"{data}: PostgreSQL does not run as root, and this machine has neither a user postgres nor"
        " nobody. Start the ledger as an ordinary user"
    )


def has_entry(account: Account) -> bool:
    """Whether the machine knows this user by name, which initdb insists on."""
    try:
        pwd.getpwuid(account.uid)
    except KeyError:
        return False
    return True


def name_of(uid: int) -> str:
    """The user's name, or its number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _owner_below_root(data: Path) -> Account | None:
    """Whoever owns the database, else the directory, unless that is root.

    Root acts for the owner, so that somebody whose server was once started with sudo still owns all
    of it afterwards.
    """
    for path in (data / "postgres", data):
        try:
            found = path.stat()
        except FileNotFoundError:
            continue
        if found.st_uid == ROOT:
            continue
        try:
            gid = pwd.getpwuid(found.st_uid).pw_gid
        except KeyError:
            gid = found.st_gid
        return Account(name_of(found.st_uid), found.st_uid, gid, assumed=True)
    return None


def _environment() -> dict[str, str]:
    """What a server needs of our surroundings, and no more.

    Variables such as PGPORT or PGDATA would speak past what is asked for here, and a server's
    environment is open to every superuser of the database: our own secrets stay out of it.
    """
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return {"PATH": os.defpath} | kept | {"LC_ALL": "C"}
