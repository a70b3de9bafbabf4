"""The embedded server, started, killed and mistreated for real.

Every test has a server of its own on a directory of its own. What concerns another user needs root
to become one; as an ordinary user those tests are skipped, and all others run as that user.
"""

import asyncio
import fcntl
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from ledger.errors import SetupProblem
from ledger.log.embedded import account, binaries, data_directory, processes, server
from ledger.log.embedded.server import Server
from tests.postgres import refuse

pytestmark = pytest.mark.postgres

AS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not AS_ROOT, reason="only root can become another user or mount")

# Nothing here is to survive a loss of power, only of processes: no need to wait for the disk.
QUICK = {"fsync": "off"}

# What another process does first. One that gives up being root does so when all is imported,
# because the interpreter itself may lie in a home that is closed to everybody else.
PRELUDE = """
    import asyncio, ctypes, encodings.idna, json, os, signal, sys, time
    from pathlib import Path
    import asyncpg
    from ledger.errors import SetupProblem
    from ledger.log.embedded import server

    def become_nobody():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    QUICK = {"fsync": "off"}
    data = Path(sys.argv[1])
    sys.path[:0] = sys.argv[2:]
"""


@pytest.fixture(scope="module", autouse=True)
def _programs() -> None:
    try:
        binaries.find("18")
    except SetupProblem as problem:
        refuse(str(problem))


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty directory that a server's user can pass through; servers in it end with the test."""
    path = server.temporary_directory()
    yield path
    end_servers_below(path)
    for marker in path.rglob("ledger.json"):
        elsewhere = json.loads(marker.read_text())["socket_directory"]
        if elsewhere is not None:
            shutil.rmtree(elsewhere, ignore_errors=True)
    # What was killed may still be on its way out.
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def data(place: Path) -> Path:
    """A data directory that does not exist yet."""
    return place / "data"


@pytest.fixture(scope="module")
def original() -> Iterator[Path]:
    """A database to copy, which is faster than to make one."""
    path = server.temporary_directory()

    async def make() -> None:
        await server.stop(await server.start(path / "data", settings=QUICK))

    asyncio.run(make())
    yield path / "data"
    shutil.rmtree(path)


@pytest.fixture
def make(original: Path) -> Callable[[Path], Path]:
    """Makes a data directory with a database whose server is stopped."""

    def copy(data: Path) -> Path:
        data.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", original, data], check=True)
        return data

    return copy


@pytest.fixture
def made(make: Callable[[Path], Path], data: Path) -> Path:
    """A data directory with a database whose server is stopped."""
    return make(data)


@pytest.fixture
def small_disk(place: Path) -> Iterator[Callable[[int], Path]]:
    """Mounts filesystems of so many MiB."""
    with ExitStack() as mounted:

        def mount(mebibytes: int) -> Path:
            path = place / f"disk-of-{mebibytes}"
            path.mkdir()
            options = f"size={mebibytes}m,mode=0755"
            subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], check=True)
            mounted.callback(lambda: subprocess.run(["umount", "--lazy", path], check=True))
            mounted.callback(end_servers_below, path)
            return path

        yield mount


def end_servers_below(path: Path) -> None:
    for pgdata in path.rglob("postgres"):
        if (pgdata / "PG_VERSION").exists():
            for pid in processes.at_work(pgdata):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


async def connect(
    running: Server, host: str | Path = "127.0.0.1", password: str | None = None
) -> "asyncpg.Connection[Any]":
    return await asyncpg.connect(
        host=str(host),
        port=running.port,
        user="postgres",
        password=running.password if password is None else password,
        database="ledger",
        ssl=False,
    )


async def ask(running: Server, query: str, host: str | Path = "127.0.0.1") -> Any:
    connection = await connect(running, host)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


def python(script: str, *arguments: Path | str) -> subprocess.Popen[str]:
    """Another process of this interpreter, which prints what it found out as JSON."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PRELUDE) + textwrap.dedent(script), *arguments],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )


def as_user(user: account.Account, command: Sequence[str | Path]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stderr=subprocess.DEVNULL,
        user=user.uid if user.assumed else None,
        group=user.gid if user.assumed else None,
        extra_groups=[] if user.assumed else None,
    )


def told(process: subprocess.Popen[str]) -> Any:
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return json.loads(output)


def first_line(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - another process makes it true
            await asyncio.sleep(0.005)


def mark_as_made(data: Path) -> None:
    directory = data_directory.at(data)
    directory.create()
    directory.mark(
        data_directory.Marker(1, "18", initialised=True, port=None, socket_directory=None)
    )


def names_in(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def owners_below(path: Path) -> set[int]:
    return {each.stat().st_uid for each in (path, *path.iterdir())}


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def processes_of(data: Path) -> tuple[int, ...]:
    return processes.at_work(data / "postgres")


def postmasters(data: Path) -> list[int]:
    """Those that are nobody's child among the processes of a directory."""
    ours = set(processes_of(data))

    def parent(pid: int) -> int:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

    return [pid for pid in ours if parent(pid) not in ours]


async def test_a_stopped_server_comes_back_with_its_rows_on_its_port(made: Path) -> None:
    first = await server.start(made, settings=QUICK)
    await ask(first, "CREATE TABLE t AS SELECT 42 AS n")
    await server.stop(first)
    stopped = server.status(made)

    second = await server.start(made, settings=QUICK)

    assert await ask(second, "SELECT n FROM t") == 42
    assert stopped.state == "stopped"
    assert (second.port, second.adopted) == (first.port, False)
    assert second.pid != first.pid
    assert server.status(made) == server.Status(made, "ready", "18", second.pid, second.port)


@pytest.mark.parametrize("version", ["18", "16"])
async def test_a_new_server_is_what_it_should_be(data: Path, version: binaries.Major) -> None:
    running = await server.start(data, version=version, settings={"work_mem": "5MB"} | QUICK)

    async def shows(name: str) -> Any:
        return await ask(running, f"SELECT current_setting('{name}')")

    assert await shows("data_checksums") == "on"
    assert await shows("server_encoding") == "UTF8"
    assert await shows("server_version") == binaries.find(version).release
    assert await shows("listen_addresses") == "127.0.0.1"
    assert await shows("synchronous_commit") == "on"
    assert await shows("shared_buffers") == "256MB"
    assert await shows("timezone") == "UTC"
    assert await shows("work_mem") == "5MB"
    provider = await ask(running, "SELECT datlocprovider FROM pg_database WHERE datname = 'ledger'")
    assert provider == (b"b" if version == "18" else b"c")
    order = await ask(
        running, "SELECT string_agg(x, '' ORDER BY x) FROM unnest('{b,a,B,ä}'::text[]) x"
    )
    assert order == "Babä"
    assert list((data / "log").glob("postgresql-*.log"))


async def test_starting_again_adopts_the_server_that_runs(made: Path) -> None:
    first = await server.start(made, settings=QUICK)

    second = await server.start(made, settings={"port": "1"})

    assert not first.adopted
    assert second.adopted
    assert (second.pid, second.port, second.url) == (first.pid, first.port, first.url)


async def test_six_processes_that_start_at_once_share_one_server(data: Path) -> None:
    script = """
        started = asyncio.run(server.start(data, settings=QUICK))
        print(json.dumps([started.pid, started.port, started.adopted]))
    """

    starters = [python(script, data) for _ in range(6)]
    found = [told(starter) for starter in starters]

    assert len({(pid, port) for pid, port, _ in found}) == 1
    assert sorted(adopted for _, _, adopted in found) == [False] + [True] * 5
    assert postmasters(data) == [found[0][0]]


async def test_tasks_of_one_process_that_start_at_once_share_one_server(made: Path) -> None:
    started = await asyncio.gather(*(server.start(made, settings=QUICK) for _ in range(6)))

    assert len({each.pid for each in started}) == 1
    assert sorted(each.adopted for each in started) == [False] + [True] * 5


async def test_rows_survive_a_kill_of_the_server(made: Path) -> None:
    first = await server.start(made, settings=QUICK)
    await ask(first, "CREATE TABLE t AS SELECT FROM generate_series(1, 10000)")
    os.kill(first.pid, signal.SIGKILL)
    await until(lambda: not processes.belongs(first.pid, made / "postgres"))
    crashed = server.status(made)

    second = await server.start(made, settings=QUICK)

    assert await ask(second, "SELECT count(*) FROM t") == 10_000
    assert crashed.state == "crashed"
    assert not second.adopted
    assert postmasters(made) == [second.pid]


async def test_a_busy_process_of_a_killed_server_is_ended_before_the_next_one(made: Path) -> None:
    first = await server.start(made, settings=QUICK)
    await ask(first, "CREATE TABLE t AS SELECT 42 AS n")
    busy = asyncio.create_task(ask(first, "DO $$ BEGIN LOOP NULL; END LOOP; END $$"))
    at_it = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query ~ '^DO')"
    while not await ask(first, at_it):  # noqa: ASYNC110 - another process makes it true
        await asyncio.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    lines: list[str] = []

    second = await server.start(made, settings=QUICK, say=lines.append)

    assert await ask(second, "SELECT n FROM t") == 42
    assert any("ending processes of a dead server" in line for line in lines)
    with pytest.raises((OSError, asyncpg.PostgresError)):
        await busy


async def test_a_server_outlives_the_process_that_started_it_and_is_adopted(made: Path) -> None:
    starter = python(
        """
        started = asyncio.run(server.start(data, settings=QUICK))
        print(json.dumps(started.pid), flush=True)
        time.sleep(60)
        """,
        made,
    )
    pid = first_line(starter)
    end(starter)

    adopted = await server.start(made)

    assert (adopted.pid, adopted.adopted) == (pid, True)


async def test_a_database_killed_while_it_was_made_is_made_again(data: Path) -> None:
    starter = python("asyncio.run(server.start(data, settings=QUICK))", data)
    await until(lambda: any(data.glob("postgres.new-*/pgdata/global")))
    end(starter)
    assert server.status(data).state == "absent"

    running = await server.start(data, settings=QUICK)

    assert await ask(running, "SELECT 1") == 1
    assert not [name for name in names_in(data) if name.startswith("postgres.new-")]


async def test_a_starter_killed_just_after_it_launched_leaves_a_server_to_adopt(made: Path) -> None:
    starter = python("asyncio.run(server.start(data, settings=QUICK))", made)
    await until(lambda: processes.recorded(made / "postgres") is not None)
    end(starter)

    adopted = await server.start(made)

    assert adopted.adopted
    assert postmasters(made) == [adopted.pid]


async def test_a_foreign_directory_is_refused_and_left_alone(place: Path) -> None:
    (place / "thesis.tex").write_text("42")

    with pytest.raises(SetupProblem, match=f"^{place}: is not a data directory of ours"):
        await server.start(place)

    assert names_in(place) == ["thesis.tex"]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("16", "which is too old for 18. Ask for version 16;"),
        ("9.6", "which is too old for 18. The ledger brings 16 and 18"),
        ("19", "which is newer for 18. The ledger brings 16 and 18"),
    ],
)
async def test_a_database_of_another_version_is_refused_by_both_numbers(
    data: Path, found: str, said: str
) -> None:
    mark_as_made(data)
    (data / "postgres").mkdir()
    (data / "postgres" / "PG_VERSION").write_text(f"{found}\n")

    with pytest.raises(SetupProblem, match=f"^{data}/postgres: was made by .* {found}, {said}"):
        await server.start(data)


async def test_a_database_that_has_gone_is_not_replaced_by_an_empty_one(data: Path) -> None:
    mark_as_made(data)

    with pytest.raises(SetupProblem, match=f"^{data}/postgres: is missing"):
        await server.start(data)


async def test_a_database_without_its_version_is_said_to_be_damaged(data: Path) -> None:
    mark_as_made(data)
    (data / "postgres").mkdir()

    with pytest.raises(SetupProblem, match=f"^{data}/postgres: is damaged"):
        await server.start(data)

    assert names_in(data / "postgres") == []


async def test_nobody_comes_in_without_the_password(made: Path) -> None:
    running = await server.start(made, settings=QUICK)

    for host in ("127.0.0.1", running.socket_directory):
        with pytest.raises(asyncpg.InvalidPasswordError):
            await connect(running, host, password="guessed")
        assert await ask(running, "SELECT 1", host) == 1

    assert mode_of(made / "password") == 0o600
    assert (made / "password").stat().st_uid == os.geteuid()
    assert running.password not in repr(running)


async def test_a_changed_password_is_said_to_be_wrong(made: Path) -> None:
    await server.start(made, settings=QUICK)
    (made / "password").write_text("another\n")

    with pytest.raises(SetupProblem, match=f"^{made}: the server does not accept the password"):
        await server.start(made)


async def test_a_long_path_gets_a_short_socket_that_goes_with_the_server(
    place: Path, make: Callable[[Path], Path]
) -> None:
    deep = make(place / ("x" * 60) / ("y" * 60))

    running = await server.start(deep, settings=QUICK)
    again = await server.start(deep)

    assert again.socket_directory == running.socket_directory
    assert not running.socket_directory.is_relative_to(deep)
    assert mode_of(running.socket_directory) == 0o700
    assert await ask(running, "SELECT 1", running.socket_directory) == 1
    await server.stop(deep)
    assert not running.socket_directory.exists()


async def test_a_path_with_odd_characters_serves(place: Path) -> None:
    # Made here and not copied: initdb has to bear it too.
    data = place / "a b,c'd\"e$(f)ü"

    running = await server.start(data, settings=QUICK)

    assert await ask(running, "SELECT 1", running.socket_directory) == 1
    assert running.socket_directory == data / "socket"


async def test_a_port_that_is_taken_is_refused_when_asked_for_and_passed_over_when_not(
    made: Path,
) -> None:
    first = await server.start(made, settings=QUICK)
    await server.stop(first)
    with socket.socket() as somebody:
        somebody.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        somebody.bind(("127.0.0.1", first.port))
        somebody.listen()

        with pytest.raises(SetupProblem, match=f"^{made}: port {first.port} of 127.0.0.1 is taken"):
            await server.start(made, settings={"port": str(first.port)})
        second = await server.start(made, settings=QUICK)

    assert second.port != first.port


async def test_a_directory_in_use_where_we_cannot_see_is_refused(made: Path) -> None:

    with (made / "server.lock").open() as held_elsewhere:
        fcntl.flock(held_elsewhere, fcntl.LOCK_EX)
        with pytest.raises(SetupProblem, match=f"^{made}: in use by a server that cannot be seen"):
            await server.start(made)

    assert (await server.start(made, settings=QUICK)).pid


@pytest.fixture
def by_hand(made: Path) -> Iterator[Callable[..., int]]:
    """Starts the server without us, as somebody with these programs might."""
    user = account.choose(made)
    started: list[subprocess.Popen[bytes]] = []

    def start(*options: str | Path) -> int:
        postgres = binaries.find("18").program("postgres")
        command: list[str | Path] = [postgres, "-D", made / "postgres", "-F", *options]
        started.append(as_user(user, command))
        return started[-1].pid

    yield start
    for process in started:
        process.kill()
        process.wait()


async def test_a_server_somebody_else_started_is_adopted(
    made: Path, by_hand: Callable[..., int]
) -> None:
    (made / "socket").mkdir(exist_ok=True)
    account.choose(made).give(made / "socket")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    pid = by_hand("-h", "127.0.0.1", "-p", str(port), "-k", made / "socket")
    await until(lambda: processes.running(made / "postgres") is not None)

    found = await server.start(made)

    assert (found.pid, found.port, found.adopted) == (pid, port, True)


async def test_a_server_somebody_else_started_out_of_reach_is_refused_and_not_doubled(
    made: Path, by_hand: Callable[..., int]
) -> None:
    pid = by_hand("-h", "", "-k", made / "socket")
    await until(lambda: processes.running(made / "postgres") is not None)

    with pytest.raises(SetupProblem, match=f"^{made}: in use by process {pid}, a PostgreSQL that"):
        await server.start(made)

    assert postmasters(made) == [pid]


@pytest.fixture
def stranger(made: Path) -> Iterator[int]:
    """A process of the server's user that has nothing to do with a server."""
    sleeping = as_user(account.choose(made), ["sleep", "60"])
    yield sleeping.pid
    sleeping.kill()
    sleeping.wait()


async def test_a_stale_file_that_names_a_living_stranger_stops_nobody(
    made: Path, stranger: int
) -> None:
    # PostgreSQL itself would take the stranger for a server, and not start.
    left = f"{stranger}\n{made}/postgres\n1\n1\n{made}/socket\n127.0.0.1\n"
    (made / "postgres" / "postmaster.pid").write_text(left)
    account.choose(made).give(made / "postgres" / "postmaster.pid")

    running = await server.start(made, settings=QUICK)

    assert not running.adopted
    assert running.pid != stranger
    os.kill(stranger, 0)


async def test_a_patient_stop_does_not_keep_an_impatient_one_waiting(made: Path) -> None:
    running = await server.start(made, settings=QUICK)
    client = await connect(running)

    patient = asyncio.create_task(server.stop(running, mode="smart"))
    await until(lambda: server.status(made).state == "stopping")
    await server.stop(running)
    await patient

    assert server.status(made).state == "stopped"
    assert processes_of(made) == ()
    client.terminate()


async def test_stopping_what_does_not_run_does_nothing(made: Path) -> None:
    await server.stop(made / "never" / "there")
    running = await server.start(made, settings=QUICK)
    await server.stop(made, mode="immediate")
    await server.stop(running)

    assert server.status(made / "never").state == "absent"
    assert server.status(made).state == "stopped"


async def test_a_setting_the_server_does_not_know_is_named(made: Path) -> None:
    with pytest.raises(SetupProblem, match=f'^{made}: PostgreSQL did not start: .*"shared_bufers"'):
        await server.start(made, settings={"shared_bufers": "1GB"} | QUICK)

    assert (await server.start(made, settings=QUICK)).pid


async def test_a_temporary_server_leaves_nothing_behind() -> None:
    async with server.temporary() as running:
        assert await ask(running, "SHOW fsync") == "off"
        data = running.data

    assert not data.exists()


@needs_root
async def test_a_full_disk_is_said_while_a_database_is_made(
    small_disk: Callable[[int], Path],
) -> None:
    disk = small_disk(8)

    with pytest.raises(
        SetupProblem, match=rf"^{disk}/data: the filesystem mounted at {disk} is full"
    ):
        await server.start(disk / "data")

    assert not list((disk / "data").glob("postgres.new-*"))


@needs_root
async def test_a_full_disk_is_said_when_a_server_cannot_start_on_it(
    small_disk: Callable[[int], Path],
) -> None:
    disk = small_disk(80)
    await server.stop(await server.start(disk / "data"))
    room = shutil.disk_usage(disk).free
    (disk / "ballast").write_bytes(bytes(room))

    with pytest.raises(
        SetupProblem, match=rf"^{disk}/data: the filesystem mounted at {disk} is full"
    ) as full:
        await server.start(disk / "data")
    assert "a new server" not in str(full.value)

    (disk / "ballast").unlink()
    assert (await server.start(disk / "data")).pid


@needs_root
async def test_a_parent_that_is_closed_is_named_and_stays_closed(place: Path) -> None:
    closed = place / "home"
    closed.mkdir(mode=0o700)

    with pytest.raises(SetupProblem, match=f"cannot pass through {closed}. Use .*/var/lib/ledger"):
        await server.start(closed / "a" / "data")

    assert mode_of(closed) == 0o700
    assert list(closed.iterdir()) == []


@needs_root
async def test_root_runs_the_server_as_somebody_else_who_cannot_read_its_password(
    made: Path,
) -> None:
    running = await server.start(made, settings=QUICK)

    owner = (made / "postgres").stat().st_uid
    assert owner != 0
    assert processes.belongs(running.pid, made / "postgres")
    assert (made / "password").stat().st_uid == 0
    assert mode_of(made) == 0o755


@needs_root
async def test_root_acts_for_the_owner_of_a_directory(data: Path) -> None:
    os.mkdir(data)  # noqa: PTH102 - one call, and nothing else runs
    os.chown(data, 65534, 65534)

    await server.start(data, settings=QUICK)

    assert owners_below(data) == {65534}


@needs_root
async def test_programs_in_a_closed_home_are_copied_to_where_they_can_be_run(place: Path) -> None:
    found = binaries.find("18")
    package = found.prefix.parent
    home = place / "home"
    for name in (package.name, f"{package.name}.libs"):
        shutil.copytree(package.with_name(name), home / name, copy_function=os.link)
    home.chmod(0o700)
    closed = binaries.Binaries(home / package.name / found.prefix.name, found.release)
    nobody = account.Account("nobody", 65534, 65534, assumed=True)

    copy = await binaries.reachable(closed, nobody, cache=place / "cache")
    again = await binaries.reachable(closed, nobody, cache=place / "cache")
    initdb = await nobody.run([copy.program("initdb"), "--version"])
    psql = await nobody.run([copy.program("psql"), "--version"])

    assert copy == again
    assert copy.prefix.is_relative_to(place / "cache")
    assert len(list((place / "cache").iterdir())) == 1
    assert f"(PostgreSQL) {found.release}" in initdb.written
    assert f"(PostgreSQL) {found.release}" in psql.written
    assert mode_of(home) == 0o700
    assert not (copy.prefix / "include").exists()


@needs_root
async def test_root_that_may_not_trace_still_knows_its_server(made: Path) -> None:
    started = await server.start(made, settings=QUICK)
    script = """
        PR_CAPBSET_DROP, CAP_SYS_PTRACE = 24, 19
        if "confined" not in os.environ:
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0)
            os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "confined": "1"})
        try:
            os.stat(f"/proc/{sys.argv[2]}/cwd")
            seen = True
        except PermissionError:
            seen = False
        adopted = asyncio.run(server.start(data))
        asyncio.run(server.stop(adopted))
        print(json.dumps([seen, adopted.adopted, server.status(data).state]))
    """

    assert told(python(script, made, str(started.pid))) == [False, True, "stopped"]


@needs_root
async def test_another_user_is_refused_by_name(made: Path) -> None:
    await server.start(made, settings=QUICK)
    script = """
        become_nobody()
        try:
            asyncio.run(server.start(data))
        except SetupProblem as problem:
            print(json.dumps(str(problem)))
    """

    said = told(python(script, made))

    assert said.startswith(f"{made}: belongs to root and cannot be used by nobody")


async def test_an_ordinary_user_starts_recovers_and_stops(place: Path) -> None:
    home = place / "home"
    home.mkdir(mode=0o700)
    elsewhere = []
    if AS_ROOT:
        os.chown(home, 65534, 65534)
        nobody = account.Account("nobody", 65534, 65534, assumed=True)
        found = binaries.find("18")
        reached = await binaries.reachable(found, nobody, cache=place / "cache")
        if reached != found:
            (reached.prefix.parent / "__init__.py").touch()
            elsewhere = [reached.prefix.parent.parent]
    script = """
        become_nobody()

        async def main():
            started = await server.start(data, settings=QUICK)
            os.kill(started.pid, signal.SIGKILL)
            recovered = await server.start(data, settings=QUICK)
            adopted = await server.start(data)
            await server.stop(data)
            owners = {path.stat().st_uid for path in (data, *data.iterdir())}
            print(json.dumps([
                started.adopted, recovered.adopted, adopted.adopted, server.status(data).state,
                owners == {os.geteuid()}, oct(data.stat().st_mode),
            ]))

        asyncio.run(main())
    """

    found_out = told(python(script, home / "data", *elsewhere))

    assert found_out == [False, False, True, "stopped", True, "0o40700"]


def test_looking_for_the_programs_imports_nothing_of_their_package() -> None:
    script = """
        from ledger.log.embedded import binaries
        binaries.find("18"), binaries.find("16")
        print(json.dumps([name for name in sys.modules if name.startswith("pixeltable")]))
    """

    assert told(python(script, "-")) == []


def test_missing_programs_are_said_with_what_to_install() -> None:
    script = """
        import importlib.util
        from ledger.log.embedded import binaries
        sys.path[:] = [path for path in sys.path if "site-packages" not in path]
        try:
            binaries.find("18")
        except SetupProblem as problem:
            print(json.dumps(str(problem)))
    """

    assert "ledger-scheduling[embedded]" in told(python(script, "-"))


def test_the_surroundings_name_a_directory_that_cannot_be_written(place: Path) -> None:
    directory = data_directory.at(place / "data")

    with (
        pytest.raises(SetupProblem, match=f"^{place}/data: /proc/x: "),
        data_directory.surroundings(directory),
    ):
        Path("/proc/x").mkdir()
