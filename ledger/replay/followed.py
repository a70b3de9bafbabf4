"""Decided history folded once more, with what its events did by themselves.

``ledger.reducers.evolve.followed`` makes the Worlds; what is shown of a decision beyond the decision
itself hangs on what events put out of force, took away or did not change. This gathers that on the
way, as ``ledger.decisions.step`` does for who decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ledger.admission import answering
from ledger.facts.decision import Decision
from ledger.facts.event import Event
from ledger.log.decisions import Effect
from ledger.reducers import incidents
from ledger.reducers.disk_books import DiskBook, disk_books
from ledger.reducers.evolve import followed
from ledger.reducers.job_books import JobBook, QueueBook, job_books, queue_books
from ledger.reducers.owed import due_at
from ledger.reducers.world import Account, World
from ledger.units import Microseconds, Position, Subject
from ledger.views.released import Ended, Released, Righted


@dataclass(slots=True)
class Followed:
    """A World, and what some events and the decisions recorded for them came to."""

    world: World
    decisions: list[Decision] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    released: list[Released] = field(default_factory=list)
    righted: list[Righted] = field(default_factory=list)
    effects: dict[Position, Effect] = field(default_factory=dict)
    due_at: dict[Position, Microseconds | None] = field(default_factory=dict)
    """From when on, after each of them, the passing of time alone had something to do."""
    disks: list[tuple[Position, DiskBook]] = field(default_factory=list)
    """Pages of the book, each as it was after an event that turned it."""
    jobs: list[tuple[Position, JobBook]] = field(default_factory=list)
    queues: list[tuple[Position, QueueBook]] = field(default_factory=list)

    answers: list[tuple[str, Position, bytes]] = field(default_factory=list)
    """To admissions, with the position of what they waited for last."""

    def take(self, event: Event, decisions: Sequence[Decision]) -> None:
        """Fold one more event, and what was decided on it."""
        before = self.world
        turned: set[Account] = set()
        for world in followed(self.world, event, decisions):
            self._gather(world, event.position)
            turned.update(world.turned)
            self.world = world
        self._turn(self.world, event.position, turned)
        self.due_at[event.position] = due_at(self.world)
        if self.world.last_effect != "applied":
            self.effects[event.position] = self.world.last_effect
        self.decisions += decisions
        spot = self.world.policy.spot
        self.answers += answering.given(before, event, decisions, spot)

    def forget(self) -> None:
        """Begin anew with what was gathered; the World stays."""
        self.decisions, self.ended, self.released, self.righted = [], [], [], []
        self.effects, self.due_at = {}, {}
        self.disks, self.jobs, self.queues, self.answers = [], [], [], []

    def _gather(self, world: World, position: Position) -> None:
        self.ended += [(*one, position) for one in world.ended]
        self.released += [Released(*one, position) for one in world.released]
        over = incidents.righted(world.incidents, world.decisions)
        self.righted += [Righted(*one, position) for one in over]

    def _turn(self, world: World, position: Position, turned: set[Account]) -> None:
        of: dict[str, list[Subject]] = {"node": [], "disk": [], "job": [], "queue": []}
        for account in sorted(turned):
            of[account.kind].append(account.name)
        self.disks += [(position, page) for page in disk_books(world, of["disk"])]
        self.jobs += [(position, page) for page in job_books(world, of["job"])]
        self.queues += [(position, page) for page in queue_books(world, of["queue"])]
