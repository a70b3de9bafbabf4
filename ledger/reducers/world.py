"""The World: everything about one fleet that a decision can depend on, as one frozen value.

A World is what a fleet's log adds up to at one position. It holds no clock, no connection and no
order of arrival beyond what the log fixed; two folds of the same log are equal, whoever made them.
Its maps are persistent, so that keeping an old World costs what has changed since. A map has no
order: whoever walks one to an outcome walks ``sorted(...)``.

``evolve`` makes the next World; this module only says what one is. Where a part is kept that could
be found by looking through the rest, it is there so that the cost of an event does not grow with
what the event does not touch.
"""

from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from immutables import Map

from ledger.facts.cluster import Labels, NodeUpserted
from ledger.facts.division import Division
from ledger.facts.genesis import Genesis, policy_digest
from ledger.facts.policy import Policy
from ledger.facts.reason import LOSERS_NAMED, Cause, Deadline, Kind
from ledger.facts.refusal import Refusal
from ledger.facts.workload import WorkloadUpserted
from ledger.reducers.book import Book
from ledger.reducers.deadlines import NO_DEADLINES, Deadlines, first
from ledger.reducers.incidents import NO_INCIDENTS, Incidents
from ledger.reducers.instances import NO_DEPLOYMENTS, Deployments
from ledger.reducers.objects import NO_OBJECTS, Effect, Objects
from ledger.reducers.open_proposals import NO_PROPOSALS, Proposals
from ledger.reducers.replicas import Disks, no_disks
from ledger.reducers.reservations import NO_ADMISSIONS, Admissions
from ledger.reducers.sightings import NO_PODS, Pods
from ledger.reducers.spelling import BESIDE
from ledger.reducers.tasks import Jobs, no_jobs
from ledger.reducers.trails import Trail
from ledger.units import (
    ClusterName,
    DecisionNumber,
    FleetName,
    Incarnation,
    Microseconds,
    NodeName,
    Position,
    Subject,
)


class Question(NamedTuple):
    """A decision that somebody may be waiting for: what kind, about what."""

    kind: Kind
    subject: Subject


Causes = frozenset[Cause]

Due = Map[Question, Causes]
"""Questions to be asked, each with why."""

NOTHING_DUE: Final[Due] = Map()


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster in force, as far as candidates go."""

    labels: Labels
    ready: bool
    grace: Deadline | None
    """Until when it counts although it became not ready; None: it does not, or need not."""

    @property
    def counts(self) -> bool:
        """Whether it can be a candidate."""
        return self.ready or self.grace is not None


@dataclass(frozen=True, slots=True)
class LastDivision:
    """The last division decision about a workload in its present life."""

    number: DecisionNumber
    position: Position
    division: Division
    in_force: bool
    """False once the wish to be divided was taken away: the result is remembered, the places are
    given up."""


@dataclass(frozen=True)
class Divisions:
    """What division remembers between one question and the next."""

    last: Map[Subject, LastDivision]
    epochs: Map[Subject, int]
    """How many decisions about the workload in its present life drew; none is not listed."""
    interested: Map[tuple[str, ...], Map[Subject, None]]
    """Which workloads to look at when a cluster changes (``ledger.reducers.candidates``)."""


class Claim(NamedTuple):
    """What replicas that were divided to a cluster and are on no node yet will take there."""

    cpu: int
    """Milli-cores of those that want cores of their own; the others take none from anybody."""
    memory: int
    storage: int
    pods: int
    volumes: Map[tuple[str, ...], int]
    """How many replicas bring these volumes, by their texts; how large they are is not read here."""


@dataclass(frozen=True, slots=True)
class Room:
    """What one cluster has for new work, and what was promised of it."""

    nodes: int
    """How many nodes take new work."""
    claim: Claim


NO_CLAIM: Final = Claim(0, 0, 0, 0, Map())
NO_ROOM: Final = Room(0, NO_CLAIM)


_NO_TRAILS: Final[Map[ClusterName, Trail]] = Map()


@dataclass(frozen=True)
class Rooms:
    """The room of every cluster that has nodes or holds replicas."""

    by_cluster: Map[ClusterName, Room]
    reclaiming: Map[Subject, None]
    """Nodes that are about to be taken away: they take no new work."""
    graces: Map[Subject, Deadline]
    """Nodes that became not ready, and until when what is on them is not lost."""
    told: Map[Subject, NodeUpserted]
    """What nodes say of themselves that keep the pieces that somebody is bound to, other than told."""
    trails: Map[ClusterName, Trail] = field(
        default=_NO_TRAILS, compare=False, repr=False, metadata={BESIDE: True}
    )
    """How nodes of clusters have changed, for whoever keeps what was found out about them."""

    def of(self, cluster: ClusterName) -> Room:
        """One cluster's room."""
        return self.by_cluster.get(cluster, NO_ROOM)


class Mark(NamedTuple):
    """That something which a refusal waits for grew: why to ask again, and since which decision."""

    causes: Causes
    since: DecisionNumber


@dataclass(frozen=True)
class Retries:
    """Refusals that may be served now (``ledger.reducers.retries``)."""

    waiting: Map[tuple[str, ...], Map[Subject, None]]
    """Which refused workloads to look at when a cluster's room grows, as ``Divisions.interested``."""
    listed: Map[tuple[str, ...], Map[Question, None]]
    """Open refusals of every other kind, by what they wait for."""
    marked: Map[Question, Mark]
    """Those to be asked again."""
    first: DecisionNumber
    """Of the decisions that the event or deadline just folded may lead to."""
    served: int
    """How many of these served a refusal that was asked again."""
    turns: Map[Kind, DecisionNumber]
    """The first of these of each kind."""


@dataclass(frozen=True, slots=True)
class OpenRefusal:
    """A question that could not be served, and still stands."""

    number: DecisionNumber
    refusal: Refusal


class Released(NamedTuple):
    """Places that an event by itself took from a decision that stays in force otherwise."""

    kind: Kind
    subject: Subject
    number: DecisionNumber
    """After which decision about the subject."""
    cluster: ClusterName
    node: NodeName
    places: int
    disk: str = ""
    """Which of the node's, where a volume's replicas are the places."""
    tasks: tuple[int, ...] = ()
    """Which ones, in order, where a job's tasks are."""


class Ended(NamedTuple):
    """A decision that an event by itself put out of force: a placement given up, a refusal moot.

    And a proposal that an event, or a decision because of it, withdrew.
    """

    kind: Kind
    subject: Subject
    number: DecisionNumber


class Account(NamedTuple):
    """Something of which the book says what it holds."""

    kind: Literal["node", "disk", "job", "queue"]
    name: Subject
    """A cluster/node, the same with a disk behind it, a namespace/job, a queue/namespace."""


NOTHING_TURNED: Final[Map[Account, None]] = Map()


@dataclass(frozen=True)
class World:
    """One fleet at one position."""

    genesis: Genesis
    incarnation: Incarnation
    position: Position
    """Of the next event to fold."""
    decisions: DecisionNumber
    """The number that the next decision gets."""
    now: Microseconds
    """Fleet time: when the last folded event was recorded, or the last deadline fell due."""
    policy: Policy
    policy_digest: str
    objects: Objects
    clusters: Map[ClusterName, Cluster]
    divisions: Divisions
    rooms: Rooms
    book: Book
    deployments: Deployments
    jobs: Jobs
    pods: Pods
    admissions: Admissions
    incidents: Incidents
    disks: Disks
    proposals: Proposals
    refusals: Map[Question, OpenRefusal]
    """The open ones, by what was wanted."""
    retries: Retries
    latest: Map[Subject, DecisionNumber]
    """The newest decision about a subject, of whatever kind but incident, proposal and repair, for as
    long as it is known or holds something. Those answer nobody who waits, and may be about a node or
    the fleet.
    Answers to admissions are many, and each names the one about the same pod template before it."""
    deadlines: Deadlines
    waiting: Due
    """What would have been asked but for ``hold``."""
    due: Due
    """What the event or deadline just folded asks; replaced by the next one."""
    last_effect: Effect
    """What the event just folded did."""
    ended: tuple[Ended, ...]
    """What the event or deadline just folded put out of force, in order."""
    released: tuple[Released, ...]
    """What it took away, in order."""
    turned: Map[Account, None]
    """Of what it, or a decision because of it, changed the page in the book."""
    losers_named: int = field(
        default=LOSERS_NAMED, compare=False, repr=False, metadata={BESIDE: True}
    )
    """How many of those who lose a decision names. Whoever makes one again to see all of them asks for
    more; nothing else depends on it."""

    @property
    def fleet(self) -> FleetName:
        """Whose World it is."""
        return self.genesis.fleet

    def workload(self, subject: Subject) -> WorkloadUpserted | None:
        """A workload in force, as its owner wants it."""
        fact = self.objects.fact("workload", subject)
        assert fact is None or isinstance(fact, WorkloadUpserted)
        return fact


def begin(genesis: Genesis, *, incarnation: Incarnation) -> World:
    """The World of a fleet before its first event."""
    return World(
        genesis=genesis,
        incarnation=incarnation,
        position=Position(0),
        decisions=DecisionNumber(0),
        now=Microseconds(0),
        policy=genesis.policy,
        policy_digest=policy_digest(genesis, genesis.policy),
        objects=NO_OBJECTS,
        clusters=Map(),
        divisions=Divisions(Map(), Map(), Map()),
        rooms=Rooms(Map(), Map(), Map(), Map()),
        book=Map(),
        deployments=NO_DEPLOYMENTS,
        jobs=no_jobs(),
        pods=NO_PODS,
        admissions=NO_ADMISSIONS,
        incidents=NO_INCIDENTS,
        disks=no_disks(),
        proposals=NO_PROPOSALS,
        refusals=Map(),
        retries=Retries(Map(), Map(), Map(), DecisionNumber(0), served=0, turns=Map()),
        latest=Map(),
        deadlines=NO_DEADLINES,
        waiting=NOTHING_DUE,
        due=NOTHING_DUE,
        last_effect="no_effect",
        ended=(),
        released=(),
        turned=NOTHING_TURNED,
    )


def next_deadline(world: World) -> Microseconds | None:
    """The moment at which something runs out next; None while nothing is set."""
    deadline = first(world.deadlines)
    return None if deadline is None else deadline.at
