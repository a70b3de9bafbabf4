"""The same decisions, whatever dies: randomised runs with real deciders and a real Postgres.

    python -m tests.services.deciding_through_crashes --runs 200 --seed 1

A run is a seed. Two ``ledger decide`` processes, each with its own ideas about snapshots, want the
lease of one fleet on the clock of its events, while its history comes in bit by bit.
Meanwhile things happen: deciders are killed, frozen until another has taken over and then let go on
as if nothing had happened, lose their lease while they hold it, lose their connections in the midst
of a commit; snapshots are damaged; Postgres is stopped without a checkpoint. In the end both decide
what is left, ticks included, and the books are balanced against an undisturbed run of the same
history, decided by one process from its first event without any snapshot:

* both trees have the same roots, so every event and every decision is there once, byte for byte
* a replay from position 0 finds what was recorded, and numbers have no gaps
* what people see is the same: placements, divisions, open refusals, what nodes, disks and queues hold
* the sums of that are those of the decisions in force
* each snapshot ever written has the digest of the World that folding from position 0 gives there
* whoever hands decisions on, and is interrupted at that, hands on each at least once, in order

Who hands them on is no Kafka client here: what is under test is the cursor (``ledger.log.outbox``).
"""

import argparse
import asyncio
import logging
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Final, Literal, get_args

import asyncpg
import orjson
import structlog
import typer

from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Sizes
from ledger.errors import LedgerError
from ledger.facts.decision import from_record
from ledger.log import decisions, fleets, leases, lines, outbox
from ledger.log.database import connect, connected
from ledger.log.embedded import server
from ledger.log.fleets import Fleet
from ledger.log.folding import event
from ledger.log.history import decided_pages
from ledger.reducers import lives, snapshot
from ledger.reducers.evolve import follow
from ledger.reducers.world import begin
from ledger.replay.replay import replay
from ledger.views.conservation import unequal
from tests.engine.deciding import decide_all
from tests.feeding import until
from tests.postgres import Postgres, migrate, named

Fault = Literal[
    "kill decider",
    "kill both",
    "freeze decider",
    "take lease",
    "cut connections",
    "damage snapshot",
    "lose snapshots",
    "stop postgres",
]

WEIGHTS: Final[dict[Fault, int]] = {
    "kill decider": 8,
    "kill both": 2,
    "freeze decider": 4,
    "take lease": 6,
    "cut connections": 4,
    "damage snapshot": 3,
    "lose snapshots": 1,
    "stop postgres": 1,
}

FLEET: Final = "demo"
HISTORIES: Final = 8
"""Different ones; each is decided once without disturbance, and its outcome held against many runs."""

EVENTS: Final = 700
BITES: Final = (1, 7, 30, 120, 1000)
"""How many events come in at once."""

BATCHES: Final = (7, 500, 40, 1)
"""How many events a decider decides in a transaction, one decider after the other."""

SETTLED_SECONDS: Final = 90.0

NO_POSTGRES: Final = 75
"""What a decider gives that finds none when it starts."""

SERVER: Final = {"fsync": "off"}
"""Processes die here and the machine does not: what was handed to the kernel survives them."""

FELT: Final = {
    *("lease_taken", "lease_lost", "fenced", "log_unavailable", "snapshot_read"),
    *("snapshot_written", "snapshot_ignored", "snapshot_failed"),
}

WRONG: Final = {"fleet_stopped", "snapshots_differ"}
"""What no decider may have said."""

SEEN: Final = (
    "SELECT kind, subject, cluster, node, count, number, since_position FROM ledger_api.placements",
    "SELECT number, cluster, weight, replicas, residual, branch FROM ledger_api.divisions",
    "SELECT number, position, kind_wanted, subject, reason FROM ledger_api.open_refusals",
    "SELECT position, kind, address, open, ended_position FROM ledger_api.incidents",
    "SELECT position, type, subject, effect FROM ledger_api.events",
    "SELECT namespace, job, task, queue, cluster, node, number FROM ledger_api.running_tasks",
    "SELECT * FROM ledger_api.node_books",
    "SELECT * FROM ledger_api.disk_books",
    "SELECT * FROM ledger_api.queue_books",
)


class BooksDoNotBalance(AssertionError):
    """What a run found."""


@dataclass(slots=True)
class Report:
    """What happened in a run."""

    seed: int
    seconds: float = 0
    events: int = 0
    decisions: int = 0
    deciders: int = 0
    snapshots: int = 0
    handed_on: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    felt: Counter[str] = field(default_factory=Counter)
    """What the deciders said about them."""
    trouble: str = ""

    def line(self) -> str:
        """One line for people."""
        return (
            f"seed {self.seed}: {'FAILED' if self.trouble else 'ok'} in {self.seconds:.1f} s;"
            f" {self.events} events, {self.decisions} decisions, {self.deciders} deciders,"
            f" {self.snapshots} snapshots, {self.handed_on} handed on; {listed(self.faults)};"
            f" {listed(self.felt)}{self.trouble and ': ' + self.trouble}"
        )


def listed(counted: Counter[str]) -> str:
    return ", ".join(f"{n}x {what}" for what, n in sorted(counted.items())) or "nothing"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What there is to see of a fleet once all is decided."""

    events: int
    decisions: int
    roots: tuple[str, str]
    seen: tuple[tuple[str, ...], ...]


async def outcome(connection: asyncpg.Connection) -> Outcome:
    report = await replay(connection, await the_fleet(connection))
    if report.diverged is not None or report.decided_through != report.events - 1:
        raise BooksDoNotBalance(f"replay: {report}")
    differ = await unequal(connection)
    if differ:
        raise BooksDoNotBalance(f"the book: {differ}")
    rows = [sorted(map(repr, await connection.fetch(query))) for query in SEEN]
    return Outcome(
        report.events,
        report.decisions,
        (report.event_root, report.decision_root),
        tuple(tuple(of_query) for of_query in rows),
    )


async def the_fleet(connection: asyncpg.Connection) -> Fleet:
    (fleet,) = await fleets.every(connection)
    return fleet


def history(number: int) -> list[bytes]:
    sizes = Sizes(clusters=3 + number % 3, nodes=2, workloads=12 + 5 * (number % 4))
    return list(Simulation(number, fleet=FLEET, sizes=sizes, step=900_000).events(EVENTS))


@dataclass(slots=True)
class Arena:
    """What runs share: a Postgres that may be stopped, and what came of undisturbed runs."""

    postgres: Path
    template: Postgres
    logs: Path
    undisturbed: dict[int, Outcome] = field(default_factory=dict)

    async def expected(self, number: int) -> Outcome:
        """What comes of a history when nothing happens."""
        if number not in self.undisturbed:
            async with (
                self.template.database() as url,
                connected(url, None) as connection,
            ):
                await lines.ingest(connection, history(number), clock="event")
                await decide_all(url)
                self.undisturbed[number] = await outcome(connection)
        return self.undisturbed[number]

    async def restart_postgres(self) -> None:
        """Stop it as a loss of power would, and start it again where it was."""
        await server.stop(self.postgres, mode="immediate")
        await server.start(self.postgres, settings=SERVER)


@asynccontextmanager
async def arena(directory: Path) -> AsyncIterator[Arena]:
    """Start Postgres; it ends with the block."""
    data = server.temporary_directory()
    try:
        running = await server.start(data, settings=SERVER)
        template = "chaos_template"
        async with connected(running.url, None) as connection:
            await connection.execute(f"CREATE DATABASE {template}")
        await migrate(named(running.url, template))
        logs = directory / "logs"
        logs.mkdir()
        yield Arena(data, Postgres(running.url, template), logs)
    finally:
        await server.stop(data, mode="immediate")
        shutil.rmtree(data, ignore_errors=True)


class Patient:
    """Asks until there is an answer: Postgres may be away, or go away meanwhile."""

    def __init__(self, url: str) -> None:
        """Not connected yet."""
        self._url = url
        self._connection: asyncpg.Connection | None = None

    async def ask(self, question: Callable[[asyncpg.Connection], Awaitable[Any]]) -> Any:
        """Ask, again where nobody knows what became of it."""
        deadline = time.monotonic() + 30
        while True:
            try:
                if self._connection is None:
                    self._connection = await connect(self._url, None)
                return await question(self._connection)
            except (LedgerError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
                self.leave()
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.05)

    def leave(self) -> None:
        """Be connected no more."""
        if self._connection is not None:
            self._connection.terminate()
        self._connection = None


def _decide(options: list[str], environment: dict[str, str], log: str) -> None:
    """What a decider process does: the same as ``ledger decide``."""
    from ledger.cli.main import main  # noqa: PLC0415 - in the child, where it is loaded already

    os.environ.update(environment)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(target, 1)
    os.dup2(target, 2)
    sys.argv = ["ledger", "decide", "--quiet", *options]
    main()


class Run:
    """One seed."""

    def __init__(self, arena: Arena, seed: int) -> None:
        """Nothing has happened yet."""
        self._arena = arena
        self._luck = random.Random(seed)
        self._number = seed % HISTORIES
        self._url = ""
        self._patient = Patient("")
        self._deciders: list[ForkServerProcess] = []
        self._delivered: dict[int, bytes] = {}
        self.report = Report(seed)
        self._nursery = multiprocessing.get_context("forkserver")
        self._nursery.set_forkserver_preload(["ledger.cli.main", "ledger.cli.deciding"])

    async def play(self) -> Report:
        """Let it happen, and balance the books."""
        started = time.monotonic()
        expected = await self._arena.expected(self._number)
        try:
            async with self._arena.template.database() as self._url:
                self._patient = Patient(self._url)
                try:
                    await self._happen()
                    await self._settle(expected.events)
                finally:
                    self._end_all()
                    self._patient.leave()
                await self._balance(expected)
        except* (AssertionError, LedgerError, OSError, TimeoutError) as errors:
            self.report.trouble = "; ".join(f"{type(e).__name__}: {e}" for e in _all(errors))
        finally:
            self.report.seconds = time.monotonic() - started
            self._listen()
        return self.report

    async def _happen(self) -> None:
        for _ in range(2):
            self._add_decider()
        over = asyncio.Event()
        handing_on = asyncio.create_task(self._hand_on(over))
        kinds = get_args(Fault)
        faults = self._luck.choices(
            kinds, [WEIGHTS[kind] for kind in kinds], k=self._luck.randint(3, 7)
        )
        taking_in = asyncio.create_task(self._take_in())
        for fault in faults:
            if self._luck.random() < 0.7:
                await self._progress()
            await asyncio.sleep(self._luck.uniform(0, 0.3))
            await self._fault(fault)
            self.report.faults[fault] += 1
        await taking_in
        over.set()
        await handing_on

    async def _take_in(self) -> None:
        """Take the history in, in bites of any size; again where nobody knows what became of one."""
        # Its own luck: what comes in must not depend on what happens meanwhile.
        luck = random.Random(self.report.seed + 1)
        events = history(self._number)
        most = luck.choice(BITES)
        taken = 0
        patient = Patient(self._url)
        while taken < len(events):
            bite = events[taken : taken + luck.randint(1, most)]
            # The number of its line is part of an event's leaf.
            take = partial(lines.ingest, lines=bite, clock="event", first_line=taken + 1)
            await patient.ask(take)
            taken += len(bite)
            await asyncio.sleep(luck.uniform(0, 0.004 * len(bite)))
        patient.leave()

    async def _hand_on(self, over: asyncio.Event) -> None:
        """Hand decisions on, and be interrupted now and then before the cursor has moved."""
        luck = random.Random(self.report.seed + 2)
        while not over.is_set():
            with suppress(LedgerError, asyncpg.PostgresError, OSError):
                async with connected(self._url, "ledger_publisher") as connection:
                    while not over.is_set():
                        await self._hand_on_some(connection, luck)
                        await asyncio.sleep(luck.uniform(0, 0.05))
            await asyncio.sleep(0.05)

    async def _hand_on_some(
        self, connection: asyncpg.Connection, luck: random.Random | None
    ) -> bool:
        found = await fleets.every(connection)
        if not found:
            return False
        lease = await leases.acquire(connection, found[0], "publish", holder="hands")
        if lease is None:
            return False
        first = await outbox.next_number(connection, lease.fleet)
        async for page in decisions.pages(connection, lease.fleet, first=first):
            some = page[: luck.randint(1, 40)] if luck is not None else page
            for decision in some:
                if self._delivered.setdefault(decision.number, decision.record) != decision.record:
                    raise BooksDoNotBalance(f"{decision.number} was handed on in two forms")
            if luck is None or luck.random() < 0.7:
                await outbox.move(connection, lease, before=first, after=some[-1].number + 1)
            return True
        return False

    async def _cursor(self) -> int:
        through: int = await self._patient.ask(
            lambda c: c.fetchval("SELECT coalesce(max(through), -1) FROM ledger.decided")
        )
        return through

    async def _progress(self) -> None:
        """Wait a while until something more is decided."""
        before = await self._cursor()

        async def more() -> bool:
            return await self._cursor() > before

        with suppress(AssertionError):
            await until(more, seconds=3)

    async def _fault(self, fault: Fault) -> None:
        self._supervise()
        match fault:
            case "kill decider":
                self._kill(self._luck.choice(self._deciders))
                await self._lease_runs_out()
                await asyncio.sleep(self._luck.uniform(0, 0.5))
                self._add_decider()
            case "kill both":
                for victim in list(self._deciders):
                    self._kill(victim)
                for _ in range(2):
                    self._add_decider()
                await self._lease_runs_out()
            case "freeze decider":
                victim = self._luck.choice(self._deciders)
                assert victim.pid is not None
                os.kill(victim.pid, signal.SIGSTOP)
                await self._lease_runs_out()
                await asyncio.sleep(self._luck.uniform(0.1, 1.5))
                os.kill(victim.pid, signal.SIGCONT)
            case "take lease":
                for _ in range(self._luck.randint(1, 6)):
                    await self._lease_runs_out()
                    await asyncio.sleep(self._luck.uniform(0, 0.4))
            case "cut connections":
                await self._patient.ask(
                    lambda c: c.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE datname = current_database() AND application_name = 'ledger decider'"
                        "   AND pid <> pg_backend_pid() AND random() < 0.7"
                    )
                )
            case "damage snapshot":
                await self._patient.ask(
                    lambda c: c.execute(
                        "UPDATE ledger.snapshot_parts"
                        " SET content = set_byte(content, 9, (get_byte(content, 9) + 1) % 256)"
                        " WHERE snapshot = (SELECT max(snapshot) FROM ledger.snapshot_parts)"
                    )
                )
            case "lose snapshots":
                await self._patient.ask(lambda c: c.execute("DELETE FROM ledger.snapshot_parts"))
            case "stop postgres":
                await self._arena.restart_postgres()

    async def _lease_runs_out(self) -> None:
        """As if its holder had been silent for long enough, whether or not it was."""
        await self._patient.ask(
            lambda c: c.execute(
                "UPDATE ledger.leases SET expires_at = '-infinity' WHERE duty = 'decide'"
            )
        )

    def _add_decider(self, *options: str) -> ForkServerProcess:
        environment = {
            "LEDGER_DATABASE_URL": self._url,
            "LEDGER_SNAPSHOT_EVENTS": str(self._luck.choice((1, 40, 150))),
            "LEDGER_SNAPSHOT_SECONDS": "0",
            "LEDGER_SNAPSHOTS": self._luck.choice(("on", "on", "on", "off")),
            # In small ones the next is folded while the one before it is being written.
            "LEDGER_DECIDE_BATCH": str(BATCHES[self.report.deciders % len(BATCHES)]),
        }
        log = self._arena.logs / f"{self.report.seed}-{self.report.deciders}.log"
        decider = self._nursery.Process(target=_decide, args=([*options], environment, str(log)))
        decider.start()
        self._deciders.append(decider)
        self.report.deciders += 1
        return decider

    def _supervise(self) -> None:
        """Who found no Postgres when it started has given up, and is started again."""
        for decider in list(self._deciders):
            if decider.exitcode == NO_POSTGRES:
                self._deciders.remove(decider)
                self._add_decider()
            elif decider.exitcode is not None:
                raise BooksDoNotBalance(f"a decider ended by itself with {decider.exitcode}")

    def _kill(self, victim: ForkServerProcess) -> None:
        self._deciders.remove(victim)
        victim.kill()
        victim.join()

    async def _settle(self, events: int) -> None:
        """Let them decide what came in, then ask them to stop; the last ones reach the deadlines."""
        reached, deadline = -1, time.monotonic() + SETTLED_SECONDS
        while (through := await self._cursor()) < EVENTS - 1:
            self._supervise()
            if through > reached:
                # A machine that has much else to do is slow; only standing still is wrong.
                reached, deadline = through, time.monotonic() + SETTLED_SECONDS
            if time.monotonic() > deadline:
                raise BooksDoNotBalance(f"decided through {through} of {events}")
            await asyncio.sleep(0.05)
        for decider in self._deciders:
            decider.terminate()
        # By the signal itself ends who had not yet come so far as to listen for it.
        await self._all_end(may_give={0, -signal.SIGTERM, NO_POSTGRES})
        for _ in range(2):
            self._add_decider("--until-idle")
        await self._all_end(may_give={0})

    async def _all_end(self, *, may_give: set[int]) -> None:
        for decider in self._deciders:
            await asyncio.to_thread(decider.join, SETTLED_SECONDS)
            if decider.exitcode not in may_give:
                raise BooksDoNotBalance(f"a decider gave {decider.exitcode} at its end")
        self._deciders.clear()

    def _end_all(self) -> None:
        for decider in self._deciders:
            decider.kill()
            decider.join()
        self._deciders.clear()

    async def _balance(self, expected: Outcome) -> None:
        async with connected(self._url, None) as connection:
            found = await outcome(connection)
            self.report.events, self.report.decisions = found.events, found.decisions
            if found.seen != expected.seen:
                for query, ours, theirs in zip(SEEN, found.seen, expected.seen, strict=True):
                    differ = sorted(set(ours) ^ set(theirs))
                    if differ:
                        raise BooksDoNotBalance(f"{query}: {differ[:3]}")
            if found.roots != expected.roots:
                raise BooksDoNotBalance(f"{found.roots} for {expected.roots}")
            await self._check_snapshots(connection)
            while await self._hand_on_some(connection, None):
                pass
        self.report.handed_on = len(self._delivered)
        if sorted(self._delivered) != list(range(found.decisions)):
            raise BooksDoNotBalance(f"handed on {len(self._delivered)} of {found.decisions}")

    async def _check_snapshots(self, connection: asyncpg.Connection) -> None:
        """Every one ever written is of the World that a fold from the first event gives."""
        rows = await connection.fetch("SELECT through, digest FROM ledger.snapshots")
        written = {row["through"]: row["digest"] for row in rows}
        self.report.snapshots = len(rows)
        fleet = await the_fleet(connection)
        genesis = await fleets.read_genesis(connection, fleet)
        assert genesis is not None
        world = begin(genesis, incarnation=lives.FIRST)
        through, _ = await decisions.cursor(connection, fleet)
        async for page in decided_pages(connection, fleet, through=through):
            for stored, decided in page:
                made = [from_record(decision.record) for decision in decided]
                world = follow(world, event(stored), made)
                wanted = written.pop(stored.position, None)
                if wanted is not None and snapshot.digest(world) != wanted.hex():
                    raise BooksDoNotBalance(f"the snapshot at {stored.position} is of no World")
        if written:
            raise BooksDoNotBalance(f"snapshots at {sorted(written)}, behind the end")

    def _listen(self) -> None:
        """What the deciders said."""
        for log in self._arena.logs.glob(f"{self.report.seed}-*.log"):
            for line in log.read_text(errors="replace").splitlines():
                said = orjson.loads(line) if line.startswith("{") else {}
                if said.get("event") in FELT:
                    self.report.felt[said["event"]] += 1
                if said.get("event") in WRONG or line.startswith("Traceback"):
                    self.report.trouble += f"; {log.name} said: {line}"


def _all(errors: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in errors.exceptions:
        found += _all(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


async def play(seeds: Sequence[int]) -> int:
    """Run every seed, one after the other; how many failed."""
    reports: list[Report] = []
    with tempfile.TemporaryDirectory(prefix="ledger-chaos-") as directory:
        async with arena(Path(directory)) as shared:
            for seed in seeds:
                report = await Run(shared, seed).play()
                reports.append(report)
                typer.echo(report.line())
                for log in sorted(shared.logs.glob(f"{seed}-*.log")):
                    if report.trouble:
                        tail = log.read_text(errors="replace").splitlines()[-25:]
                        typer.echo("\n".join([f"--- {log.name}", *tail]))
                    log.unlink()
    failed = [report.seed for report in reports if report.trouble]
    faults: Counter[str] = sum((report.faults for report in reports), Counter())
    felt: Counter[str] = sum((report.felt for report in reports), Counter())
    typer.echo(
        f"{len(reports)} runs, {len(failed)} failed {failed};"
        f" {sum(report.decisions for report in reports)} decisions,"
        f" {sum(report.deciders for report in reports)} deciders,"
        f" {sum(report.snapshots for report in reports)} snapshots; {listed(faults)};"
        f" {listed(felt)}; {sum(report.seconds for report in reports) / len(reports):.1f} s each"
    )
    return len(failed)


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="The same decisions, whatever dies.")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="the first seed; they count up")
    chosen = parser.parse_args()
    # The undisturbed runs decide in this process, and have nothing to say.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    return 1 if asyncio.run(play(range(chosen.seed, chosen.seed + chosen.runs))) else 0


if __name__ == "__main__":
    sys.exit(main())
